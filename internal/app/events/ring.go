package events

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// Size is how many events the ring keeps for readers that come back, and how far a reader that
// must have everything may be behind before the loop waits for it.
const Size = 1024

// Reading says how a session's events are read.
type Reading struct {
	// After is the sequence number of the last event the reader has; 0: it begins with what comes next.
	After uint64
	// MayLose is for a reader that can take a new snapshot, such as a full screen or a remote one: the
	// loop never waits for it, and what it is too slow for is told as [proto.Missed].
	MayLose bool
}

// ring is the stream of one session's events, by sequence number. Loop, questions, hooks, notices
// and subagents append to it and never wait. There are two kinds of readers. One that must have
// everything holds the loop at its yield when it is a ring behind ([ring.hold]). One that may lose
// is told what it missed and goes on with the rest. Deltas and progress that nobody has read yet
// are merged.
type ring struct {
	session func() string // id that events carry

	mu       sync.Mutex // guards the rest
	last     uint64     // sequence number of the newest event
	entries  []entry    // in order
	readers  map[*reader]bool
	closed   bool
	advanced chan struct{} // closed when a reader read or left, or at the end
}

// reader is one reader's place in the ring.
type reader struct {
	after   uint64        // it has read up to here; guarded by the ring's mutex
	mayLose bool          //
	news    chan struct{} // holds one
}

// entry is one event with the texts that were merged into it.
type entry struct {
	event proto.Event // Seq is the newest sequence number in it
	from  uint64      // the oldest
	more  []string
	read  bool // somebody has it: nothing is merged into it any more
}

func newRing(session func() string) *ring {
	return &ring{session: session, readers: map[*reader]bool{}, advanced: make(chan struct{})}
}

// append puts an event at the end. It never waits, and does nothing once the ring is closed.
func (q *ring) append(e proto.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.last++
	e.Seq, e.Session = q.last, q.session()
	if n := len(q.entries); n == 0 || q.entries[n-1].read || !q.entries[n-1].merge(e) {
		q.entries = append(q.entries, entry{event: e, from: e.Seq})
	}
	q.trim()
	for r := range q.readers {
		r.wake()
	}
}

// trim drops the oldest events beyond the size that no reader must have any more.
func (q *ring) trim() {
	excess := len(q.entries) - Size
	for r := range q.readers {
		if !r.mayLose && excess > 0 {
			excess = min(excess, q.index(r.after))
		}
	}
	if excess > 0 {
		clear(q.entries[:excess])
		q.entries = q.entries[excess:]
	}
}

// index is the place of the first entry with something newer than seq.
func (q *ring) index(seq uint64) int {
	lo, hi := 0, len(q.entries)
	for lo < hi {
		if mid := (lo + hi) / 2; q.entries[mid].event.Seq <= seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// hold waits while a reader that must have everything is a ring behind. It returns when ctx ends or
// the ring is closed. Only the loop calls it, at its yield.
func (q *ring) hold(ctx context.Context) {
	for {
		q.mu.Lock()
		behind := false
		for r := range q.readers {
			if q.last-r.after < Size { // the usual case, without a search
				continue
			}
			behind = behind || (!r.mayLose && len(q.entries)-q.index(r.after) >= Size)
		}
		advanced, closed := q.advanced, q.closed
		q.mu.Unlock()
		if !behind || closed {
			return
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return
		}
	}
}

func (r *reader) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// merge takes e into the entry when both continue the same text.
func (en *entry) merge(e proto.Event) bool {
	if en.event.Agent != e.Agent {
		return false
	}
	switch b := e.Body.(type) {
	case proto.Delta:
		last, ok := en.event.Body.(proto.Delta)
		if !ok || last.Index != b.Index || last.Kind != b.Kind {
			return false
		}
		en.more = append(en.more, b.Text)
	case proto.CallProgress:
		last, ok := en.event.Body.(proto.CallProgress)
		if !ok || last.Call != b.Call {
			return false
		}
		last.Seconds = b.Seconds
		en.event.Body = last
		en.more = append(en.more, b.Text)
	default:
		return false
	}
	en.event.Seq = e.Seq
	return true
}

// whole is the event with everything that was merged into it.
func (en entry) whole() proto.Event {
	if len(en.more) == 0 {
		return en.event
	}
	switch b := en.event.Body.(type) {
	case proto.Delta:
		b.Text += strings.Join(en.more, "")
		en.event.Body = b
	case proto.CallProgress:
		b.Text += strings.Join(en.more, "")
		en.event.Body = b
	}
	return en.event
}

// read joins at once and returns the events that are wanted, until ctx ends or the ring is closed
// and read to its end. What the ring no longer has is told as [proto.Missed]. The sequence
// can be read once.
func (q *ring) read(ctx context.Context, how Reading) iter.Seq[proto.Event] {
	r := &reader{mayLose: how.MayLose, news: make(chan struct{}, 1)}
	q.mu.Lock()
	if r.after = min(how.After, q.last); how.After == 0 {
		r.after = q.last
		if n := len(q.entries); n > 0 {
			q.entries[n-1].read = true // what comes next is an event of its own
		}
	}
	q.readers[r] = true
	q.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { q.leave(r) })
	return func(yield func(proto.Event) bool) {
		defer q.leave(r)
		defer stop()
		for {
			batch, over := q.take(r)
			for _, e := range batch {
				if !yield(e) {
					return
				}
			}
			if over && len(batch) == 0 {
				return
			}
			if len(batch) > 0 {
				continue
			}
			select {
			case <-r.news:
			case <-ctx.Done():
				return
			}
		}
	}
}

// maxBatch bounds what a reader takes at once, so that it counts as behind while it works on it.
const maxBatch = 256

// take hands a reader the next events, and reports whether the stream is over.
func (q *ring) take(r *reader) (batch []proto.Event, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.index(r.after)
	if at < len(q.entries) && q.entries[at].from > r.after+1 {
		first := q.entries[at].from
		missed := proto.E(proto.Missed{From: r.after + 1, To: first - 1})
		missed.Seq, missed.Session, missed.Time = first-1, q.session(), q.entries[at].event.Time
		batch = append(batch, missed)
		r.after = first - 1
	}
	for ; at < len(q.entries) && len(batch) < maxBatch; at++ {
		en := &q.entries[at]
		en.read = true
		batch = append(batch, en.whole())
		r.after = en.event.Seq
	}
	q.advance()
	return batch, q.closed
}

// advance tells the loop that a reader moved.
func (q *ring) advance() {
	close(q.advanced)
	q.advanced = make(chan struct{})
}

func (q *ring) leave(r *reader) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.readers[r] {
		delete(q.readers, r)
		q.advance()
	}
}

// close ends the stream; readers still get what was appended before.
func (q *ring) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.advance()
	for r := range q.readers {
		r.wake()
	}
}
