package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
)

// The errors callers tell apart.
var (
	// ErrBusy is returned when another session, of this process or another, writes the transcript.
	ErrBusy = errors.New("another session writes this conversation")
	// ErrExists is returned by [Create] when there is a transcript already.
	ErrExists = errors.New("this session id is in use already")
	// ErrRemoved is returned by [Transcript.Sync] when the file is no longer where it was.
	ErrRemoved = errors.New("the transcript was removed or replaced while it was written")
)

// State is the slice "transcript".
type State struct {
	Path     string `json:"path"`
	LastID   string `json:"lastId,omitempty"` // of the newest record
	Records  int64  `json:"records"`          // written or read by this process
	Bytes    int64  `json:"bytes"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	Error    string `json:"error,omitempty"` // why the last write failed
}

// Options say what a transcript writes into each record and whom it tells. Only Session is needed.
type Options struct {
	Session string        // id of the session
	Agent   string        // id of the subagent whose sidechain it is; empty: the main conversation
	Version string        // of the program
	Cwd     func() string // the working directory now, absolute; nil: empty
	Branch  func() string // the git branch now; cheap, called for every record; nil: empty
	Now     func() time.Time
	NewID   func() string // for records that are no messages; nil: random UUIDs

	// Mirror is told every record after it was written, in order, for hosts that keep a copy. It
	// must not call the transcript.
	Mirror func(path string, entry json.RawMessage)
	// State is kept up to date where not nil.
	State store.Slice[State]
}

func (o Options) withDefaults() Options {
	if o.Cwd == nil {
		o.Cwd = func() string { return "" }
	}
	if o.Branch == nil {
		o.Branch = func() string { return "" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return o
}

// Transcript appends to one file. It is safe for concurrent use; records stand in the file in the
// order of the calls. A nil Transcript keeps nothing and fails never, for sessions that shall not
// be kept.
type Transcript struct {
	path string
	opts Options

	mu      sync.Mutex // guards all below
	file    *os.File   // nil until the first record
	lock    *flock.Flock
	buf     []byte
	last    string    // newest record of the chain
	pending *Boundary // written with the next summary
	glue    bool      // the file may end in the middle of a line
	state   State
	meta    metadata
	kept    keptNotes
	closed  bool
}

// Create returns a transcript that does not exist yet; the file and its folders are made with the
// first record, for the user alone, so that a session in which nothing was said leaves nothing.
// When the file exists it returns [ErrExists].
func Create(path string, opts Options) (*Transcript, error) {
	if exists(path) {
		return nil, fmt.Errorf("create transcript %s: %w", path, ErrExists)
	}
	t := &Transcript{path: path, opts: opts.withDefaults(), state: State{Path: path}}
	t.publish(t.state)
	return t, nil
}

// Open reads an existing transcript and goes on writing it. Results that were missing at its end
// are added to the file. When somebody else writes it, it returns [ErrBusy]; it can then still be
// read with [Load] or forked with [Fork].
func Open(path string, load LoadOptions, opts Options) (*Transcript, *Loaded, error) {
	if !exists(path) {
		return nil, nil, fmt.Errorf("open transcript %s: %w", path, fs.ErrNotExist)
	}
	t := &Transcript{path: path, opts: opts.withDefaults(), state: State{Path: path}}
	if err := t.openFile(); err != nil {
		return nil, nil, err
	}
	loaded, err := t.resume(load)
	if err != nil {
		_ = t.Close() // the other error says what is wrong
		return nil, nil, err
	}
	t.publish(t.state)
	return t, loaded, nil
}

func (t *Transcript) resume(load LoadOptions) (*Loaded, error) {
	loaded, err := loadPath(t.path, load)
	if err != nil {
		return nil, err
	}
	info, err := ReadInfo(t.path)
	if err != nil {
		return nil, err
	}
	t.meta = metadata{custom: info.CustomTitle, ai: info.AITitle, tag: info.Tag, prompt: info.LastPrompt, seen: info.Size}
	for _, n := range loaded.Notes {
		if n.Key != "" {
			t.kept.put(n)
		}
	}
	t.glue = !loaded.cleanEnd
	t.last = loaded.LastID
	t.state.LastID, t.state.Records, t.state.Bytes = loaded.LastID, loaded.Records, loaded.Bytes
	if len(loaded.filled) == 0 {
		return loaded, nil
	}
	t.last = loaded.beforeFilled
	for _, m := range loaded.filled {
		if err := t.write(m, true); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// Path is where the transcript is, or will be.
func (t *Transcript) Path() string {
	if t == nil {
		return ""
	}
	return t.path
}

// LastID is the id of the newest record of the conversation.
func (t *Transcript) LastID() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Append writes one message in one write, behind the last one. Empty texts are left out; a message
// with nothing else is not written. The message needs an id.
func (t *Transcript) Append(m msg.Message) error {
	if t == nil {
		return nil
	}
	if m.ID == "" || (m.Role != msg.User && m.Role != msg.Assistant) {
		return fmt.Errorf("write transcript %s: a message needs an id and a role", t.path)
	}
	if m.Content = withoutEmpty(m.Content); len(m.Content) == 0 {
		return nil
	}
	t.mu.Lock()
	err := t.write(m, false)
	state := t.state
	t.mu.Unlock()
	t.publish(state)
	return err
}

func withoutEmpty(content []msg.Block) []msg.Block {
	for i, b := range content {
		if b != msg.Block(msg.Text{}) {
			continue
		}
		out := append([]msg.Block(nil), content[:i]...)
		for _, b := range content[i:] {
			if b != msg.Block(msg.Text{}) {
				out = append(out, b)
			}
		}
		return out
	}
	return content
}

// write appends the record of a message; before a summary a boundary and behind it the kept notes.
// All of it is one write.
func (t *Transcript) write(m msg.Message, filled bool) error {
	now := t.opts.Now()
	if m.Time.IsZero() {
		m.Time = now
	}
	e, parent := t.envelope(), t.last
	t.begin()
	from := len(t.buf)
	summary := m.Origin == msg.FromSummary
	if summary {
		b, id := t.boundary(m.ID), t.opts.NewID()
		t.buf = append(encodeBoundary(t.buf, e, b, id, t.last, now), '\n')
		parent = id
	}
	var err error
	if t.buf, err = encodeMessage(t.buf, e, m, parent, filled); err != nil {
		return err
	}
	t.buf = append(t.buf, '\n')
	if summary {
		for _, n := range t.kept {
			t.buf = append(encodeNote(t.buf, e, n), '\n')
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	t.written(from)
	t.last, t.pending = m.ID, nil
	t.state.LastID = m.ID
	if m.Role == msg.User && m.Origin == msg.FromHuman {
		t.meta.setPrompt(msg.TextOf(m.Content))
	}
	return nil
}

// written counts the records in the buffer from a place on, and tells the mirror of them.
func (t *Transcript) written(from int) {
	for line := range bytes.Lines(t.buf[from:]) {
		t.state.Records++
		if t.opts.Mirror != nil {
			t.opts.Mirror(t.path, json.RawMessage(bytes.Clone(line[:len(line)-1])))
		}
	}
}

// boundary completes what the caller of Boundary said.
func (t *Transcript) boundary(anchor string) Boundary {
	b := Boundary{Trigger: "auto"}
	if t.pending != nil {
		b = *t.pending
	}
	b.Anchor = anchor
	if b.FirstKept != "" {
		b.LastKept = t.last
	}
	return b
}

// Boundary says that the next message of origin summary stands for what came before. Both are
// written in one write, so no crash leaves one without the other.
func (t *Transcript) Boundary(b Boundary) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = &b
}

// Rewind makes the conversation go on behind the record with the id to; empty: from the beginning.
// What came after stays in the file, on a branch of its own.
func (t *Transcript) Rewind(to string) error {
	if t == nil {
		return nil
	}
	if err := t.Note(rewindNote, to); err != nil {
		return err
	}
	t.mu.Lock()
	t.last, t.state.LastID, t.pending = to, to, nil
	state := t.state
	t.mu.Unlock()
	t.publish(state)
	return nil
}

// line appends a record that is no message.
func (t *Transcript) line(encode func(out []byte) ([]byte, error)) error {
	t.mu.Lock()
	err := t.writeLine(encode)
	state := t.state
	t.mu.Unlock()
	t.publish(state)
	return err
}

func (t *Transcript) writeLine(encode func(out []byte) ([]byte, error)) error {
	t.begin()
	from := len(t.buf)
	var err error
	if t.buf, err = encode(t.buf); err != nil {
		return err
	}
	t.buf = append(t.buf, '\n')
	if err := t.flush(); err != nil {
		return err
	}
	t.written(from)
	return nil
}

func (t *Transcript) envelope() envelope {
	return envelope{session: t.opts.Session, cwd: t.opts.Cwd(), branch: t.opts.Branch(), version: t.opts.Version, agent: t.opts.Agent}
}

// begin empties the buffer. After a torn line it begins with a line end, so that nothing is ever
// glued to a piece of a record.
func (t *Transcript) begin() {
	if cap(t.buf) > 1<<20 { // one large record must not be paid for ever
		t.buf = nil
	}
	t.buf = t.buf[:0]
	if t.glue {
		t.buf = append(t.buf, '\n')
	}
}

// flush writes the buffer in one write.
func (t *Transcript) flush() error {
	if t.closed {
		return fmt.Errorf("write transcript %s: %w", t.path, os.ErrClosed)
	}
	if t.file == nil {
		if err := t.openFile(); err != nil {
			t.state.Error = err.Error()
			return err
		}
	}
	n, err := t.file.Write(t.buf)
	t.state.Bytes += int64(n)
	if err != nil {
		t.glue = t.glue || n > 0
		t.state.Error = err.Error()
		return fmt.Errorf("write transcript %s: %w", t.path, err)
	}
	t.glue, t.state.Error = false, ""
	t.meta.since += n
	return nil
}

// openFile opens the file for appending, makes it when needed, and takes its lock.
func (t *Transcript) openFile() error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return fmt.Errorf("open transcript: %w", err)
	}
	file, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open transcript: %w", err)
	}
	lock := flock.New(t.path, flock.SetFlag(os.O_RDWR)) // on the file itself: it leaves nothing behind
	got, err := lock.TryLock()
	if err == nil && !got {
		err = ErrBusy
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return fmt.Errorf("open transcript %s: %w", t.path, err)
	}
	t.file, t.lock = file, lock
	return nil
}

// publish writes the state into its slice. Of two at once the one with more records stays.
func (t *Transcript) publish(s State) {
	if t == nil || t.opts.State == nil {
		return
	}
	t.opts.State.Set(func(prev *State) *State {
		if prev != nil && (*prev == s || prev.Path == s.Path && prev.Records > s.Records) {
			return prev
		}
		return &s
	})
}

// Sync makes all that was written survive a failure of the machine. It also writes titles and the
// last prompt again when they have moved far from the end of the file, where lists look for them.
func (t *Transcript) Sync() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil || t.closed {
		return nil
	}
	if err := t.meta.refresh(t); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("sync transcript %s: %w", t.path, err)
	}
	there, err := os.Stat(t.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sync transcript: %w", err)
	}
	mine, errMine := t.file.Stat()
	if errMine == nil && (err != nil || !os.SameFile(there, mine)) {
		return fmt.Errorf("sync transcript %s: %w", t.path, ErrRemoved)
	}
	return nil
}

// Close writes what Sync writes, without waiting for the disk, and gives the file up. Appending
// afterwards is an error. Closing twice does nothing.
func (t *Transcript) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.file == nil {
		t.closed = true
		return nil
	}
	err := t.meta.refresh(t)
	t.closed = true
	return errors.Join(err, t.file.Close(), t.lock.Close())
}
