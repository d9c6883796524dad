package proc

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// The bounds of a [Capture] where its config leaves them out.
const (
	DefaultKeep = 64 << 10  // bytes in memory before a file is made
	DefaultHead = 63 << 20  // bytes at the front of the file
	DefaultTail = 256 << 10 // last bytes, in memory and at the end of the file
)

// flushEvery is how old the tail in the file may be while a program still writes.
const flushEvery = time.Second

// CaptureConfig bounds a [Capture]. The zero value keeps head and tail in memory and writes no file.
type CaptureConfig struct {
	Keep  int                // bytes kept in memory from the front; 0: [DefaultKeep]
	Path  string             // file for output that is longer; its folder is made when missing. Empty: none
	Head  int64              // bytes of the front in the file; 0: [DefaultHead]
	Tail  int                // bytes of the end, in memory and in the file; 0: [DefaultTail]
	Limit int64              // after this many bytes [Capture.Over] is closed; 0: never
	Quota *Quota             // shared bound on bytes in files; nil: none
	Seen  func(chunk []byte) // called with each piece of output, must be quick and not keep it; nil: nobody
}

// Quota bounds the bytes that several captures write to files together. The zero Quota allows
// nothing. It is safe for concurrent use.
type Quota struct{ left atomic.Int64 }

// NewQuota allows n bytes.
func NewQuota(n int64) *Quota {
	q := &Quota{}
	q.left.Store(n)
	return q
}

// Left is what may still be written.
func (q *Quota) Left() int64 { return max(0, q.left.Load()) }

// take returns how much of n may be written.
func (q *Quota) take(n int64) int64 {
	if q == nil {
		return n
	}
	rest := q.left.Add(-n)
	if rest >= 0 {
		return n
	}
	give := min(n, -rest)
	q.left.Add(give)
	return n - give
}

// Capture keeps the output of a program: all of it while it is short, front and end of it when it
// is long, in bounded memory and in a file of bounded size that can be read while it grows. It is
// an [io.Writer] that never fails and never blocks on anything but the disk. It is safe for
// concurrent use.
type Capture struct {
	cfg  CaptureConfig
	over chan struct{}

	mu     sync.Mutex // guards all below
	total  int64
	front  []byte // the first Keep bytes
	ring   []byte // the last bytes behind front, at most Tail of them, oldest at ringAt once full
	ringAt int
	file   *os.File
	onDisk int64 // bytes of the front that are in the file
	cut    bool  // the file takes no more of the front
	dirty  bool  // the ring has bytes that the file has not
	timer  *time.Timer
	fail   error
	closed bool
}

// NewCapture returns an empty capture.
func NewCapture(cfg CaptureConfig) *Capture {
	if cfg.Keep <= 0 {
		cfg.Keep = DefaultKeep
	}
	if cfg.Head <= 0 {
		cfg.Head = DefaultHead
	}
	if cfg.Tail <= 0 {
		cfg.Tail = DefaultTail
	}
	return &Capture{cfg: cfg, over: make(chan struct{})}
}

// Write takes a piece of output. It always returns len(b) and nil; what could not be written to the
// file is told by [Capture.Err].
func (c *Capture) Write(b []byte) (int, error) {
	if c.cfg.Seen != nil {
		c.cfg.Seen(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.total
	c.total += int64(len(b))
	rest := b
	if room := c.cfg.Keep - len(c.front); room > 0 {
		n := min(room, len(b))
		c.front = append(c.front, b[:n]...)
		rest = b[n:]
	}
	if len(rest) > 0 {
		c.push(rest)
		c.spill()
	}
	if c.file != nil {
		c.toFile(b)
	}
	if c.cfg.Limit > 0 && was <= c.cfg.Limit && c.total > c.cfg.Limit {
		close(c.over)
	}
	return len(b), nil
}

// push puts bytes into the ring. Caller holds mu.
func (c *Capture) push(b []byte) {
	size := c.cfg.Tail
	if len(b) >= size {
		c.ring, c.ringAt = append(c.ring[:0], b[len(b)-size:]...), 0
		return
	}
	if room := size - len(c.ring); room > 0 {
		n := min(room, len(b))
		c.ring = append(c.ring, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(c.ring[c.ringAt:], b)
		c.ringAt = (c.ringAt + n) % size
		b = b[n:]
	}
}

// last returns the ring in order. Caller holds mu.
func (c *Capture) last() []byte {
	if len(c.ring) < c.cfg.Tail {
		return c.ring
	}
	return append(append(make([]byte, 0, len(c.ring)), c.ring[c.ringAt:]...), c.ring[:c.ringAt]...)
}

// spill makes the file, still empty. Caller holds mu.
func (c *Capture) spill() {
	if c.file != nil || c.cfg.Path == "" || c.fail != nil || c.closed {
		return
	}
	f, err := nolink.NewFile(c.cfg.Path, 0)
	if err != nil {
		c.fail = fmt.Errorf("keep output: %w", err)
		return
	}
	c.file = f
}

// toFile brings the file up to date: the front up to Head directly, the end now and then. b is the
// newest piece of output. Caller holds mu.
func (c *Capture) toFile(b []byte) {
	before := c.total - int64(len(b))
	if c.onDisk < min(before, int64(len(c.front))) {
		c.append(c.front[c.onDisk:min(before, int64(len(c.front)))])
	}
	if c.onDisk == before {
		c.append(b)
	}
	if c.onDisk < c.total && !c.dirty && !c.closed {
		c.dirty = true
		c.timer = time.AfterFunc(flushEvery, c.Flush)
	}
}

// append writes to the front part of the file as much as head and quota allow. Caller holds mu.
func (c *Capture) append(b []byte) {
	if c.cut || len(b) == 0 {
		return
	}
	n := min(int64(len(b)), c.cfg.Head-c.onDisk)
	allowed := c.cfg.Quota.take(n)
	written, err := c.file.WriteAt(b[:allowed], c.onDisk)
	c.onDisk += int64(written)
	c.note(err)
	if err != nil || allowed < int64(len(b)) {
		c.cut = true
	}
}

func (c *Capture) note(err error) {
	if err != nil && c.fail == nil {
		c.fail = fmt.Errorf("keep output: %w", err)
	}
}

// Flush brings the end of the file up to date. Readers of the file need not call it: it happens by
// itself once a second while output comes.
func (c *Capture) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
}

func (c *Capture) flush() {
	if c.file == nil || !c.dirty || c.closed {
		return
	}
	c.dirty = false
	end := c.last()
	gap := c.total - int64(len(end)) - c.onDisk
	mark := ""
	if gap > 0 {
		mark = fmt.Sprintf("\n\n[%d bytes left out here]\n\n", gap)
	} else {
		end = end[-gap:]
	}
	at := c.onDisk
	n, err := c.file.WriteAt(append([]byte(mark), end...), at)
	c.note(err)
	c.note(c.file.Truncate(at + int64(n)))
}

// Spill makes the file now, however short the output is; for work in the background, whose output
// somebody reads from the file.
func (c *Capture) Spill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spill()
	if c.file != nil && c.onDisk < c.total {
		c.toFile(nil)
	}
	return c.fail
}

// Total is the number of bytes that came.
func (c *Capture) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Path is the file that holds the output; empty while none was needed.
func (c *Capture) Path() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return ""
	}
	return c.cfg.Path
}

// Over is closed when more came than the limit allows.
func (c *Capture) Over() <-chan struct{} { return c.over }

// Err tells what could not be kept in the file; nil: nothing.
func (c *Capture) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fail
}

// Ends returns copies of the front and the end of the output, at most head and tail bytes, and how
// many bytes lie between them. When nothing lies between, end is what follows front; together they
// are all of it. Cuts fall between any two bytes.
func (c *Capture) Ends(head, tail int) (front, end []byte, between int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	front = append(front, c.front[:min(max(head, 0), len(c.front))]...)
	last := c.last()
	rest := c.total - int64(len(front))
	want := min(int64(max(tail, 0)), rest)
	if have := int64(len(last)); want <= have {
		end = append(end, last[have-want:]...)
	} else {
		end = append(end, c.beforeRing(want-have)...)
		end = append(end, last...)
	}
	return front, end, c.total - int64(len(front)) - int64(len(end))
}

// beforeRing returns the n bytes before the ring, as far as front has them. Caller holds mu.
func (c *Capture) beforeRing(n int64) []byte {
	if c.total-int64(len(c.ring)) != int64(len(c.front)) {
		return nil // a gap lies between
	}
	return c.front[max(0, int64(len(c.front))-n):]
}

// Close brings the file up to date and closes it; later output is counted and kept in memory only.
func (c *Capture) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.flush()
	c.closed = true
	if c.file != nil {
		c.note(c.file.Close())
	}
	return c.fail
}
