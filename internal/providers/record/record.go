// Package record keeps what a model said, with its timing, and says it again: the same events, byte
// for byte, without a model. Beside the answers a recording holds what a session needs to be played
// again to the same states: tool results, the clock and the ids it used, and changes of state.
//
// The file is JSON Lines: a head with the version, then one record a line in the order in which
// things happened (see entry.go). Requests are not kept, only a digest of them. Secrets are taken
// out before anything is written. Begin with [Create] and [Open].
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Version is the major version of the file. A reader refuses a newer one.
const Version = 1

// Options are what a [Recorder] takes of the world. The zero value is usable.
type Options struct {
	Secrets map[string]string // name and value of what must never be written; see [SecretsOf]
	Now     func() time.Time  // nil: the real clock
	Program string            // name and version of the program, for readers
	Report  func(error)       // told once, when the file cannot be written any more; nil: nobody
}

// Recorder writes a recording. It is safe for concurrent use. When writing fails it stops writing
// and goes on otherwise: a full disk must not end a session.
type Recorder struct {
	opts   Options
	hide   redactor
	start  time.Time
	closer io.Closer

	digests digests

	mu     sync.Mutex // guards all below
	out    io.Writer
	asked  int // requests so far
	models map[string]bool
	err    error
}

// Create begins a recording in a new file at path, readable by its owner alone. A file that exists
// is an error: an older recording is not overwritten.
func Create(path string, opts Options) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record to %s: %w", path, err)
	}
	r := New(f, opts)
	r.closer = f
	if r.err != nil {
		return nil, errors.Join(fmt.Errorf("record to %s: %w", path, r.err), f.Close())
	}
	return r, nil
}

// New begins a recording on w, which gets one write a record.
func New(w io.Writer, opts Options) *Recorder {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	r := &Recorder{opts: opts, hide: newRedactor(opts.Secrets), start: opts.Now(), out: w, models: map[string]bool{}}
	r.write(entry{Kind: kindHead, Version: Version, Program: opts.Program, Time: r.start.UTC()})
	return r
}

// Close ends the recording and returns the first error of writing it.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = nil
	if r.closer == nil {
		return r.err
	}
	closer := r.closer
	r.closer = nil
	return errors.Join(r.err, closer.Close())
}

// Result keeps the result of a tool call, and how long the call took.
func (r *Recorder) Result(callID, tool string, content []msg.Block, isError bool, took time.Duration) {
	raw, err := msg.MarshalBlocks(content)
	if err != nil {
		r.fail(fmt.Errorf("record the result of %s: %w", callID, err))
		return
	}
	r.write(entry{Kind: kindResult, Call: callID, Tool: tool, Content: string(r.hide.json(raw)), Failed: isError, Micros: took.Microseconds()})
}

// Change keeps a change of state that came from outside the conversation (settings, policy, a
// plugin, a server), at the revision where it took effect. value is what encoding/json can write.
func (r *Recorder) Change(revision uint64, slice string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		r.fail(fmt.Errorf("record a change of %s: %w", slice, err))
		return
	}
	r.write(entry{Kind: kindChange, Revision: revision, Slice: slice, Value: r.hide.json(raw)})
}

// Now returns a clock that reads from now and keeps what it read.
func (r *Recorder) Now(now func() time.Time) func() time.Time {
	return func() time.Time {
		t := now()
		r.write(entry{Kind: kindClock, Time: t})
		return t
	}
}

// NewID returns a source of ids that keeps what newID made.
func (r *Recorder) NewID(newID func() string) func() string {
	return func() string {
		id := newID()
		r.write(entry{Kind: kindID, Text: id})
		return id
	}
}

// Jitter returns a source of chance that keeps what jitter gave.
func (r *Recorder) Jitter(jitter func() float64) func() float64 {
	return func() float64 {
		v := jitter()
		r.write(entry{Kind: kindJitter, Number: v})
		return v
	}
}

// Model returns m, recorded. It counts tokens when m does; counts are not kept.
func (r *Recorder) Model(m provider.Model) provider.Model {
	wrapped := &model{Model: m, rec: r}
	if c, ok := m.(provider.Counter); ok {
		return struct {
			*model
			provider.Counter
		}{wrapped, c}
	}
	return wrapped
}

// write appends one record.
func (r *Recorder) write(e entry) {
	line, err := e.encode()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out == nil || r.err != nil {
		return
	}
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if err != nil {
		r.failLocked(fmt.Errorf("write the recording: %w", err))
	}
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failLocked(err)
}

func (r *Recorder) failLocked(err error) {
	if r.err != nil {
		return
	}
	r.err = err
	if r.opts.Report != nil {
		go r.opts.Report(err) // not under the lock; ends with the report
	}
}

// begin numbers a request and keeps which model it goes to.
func (r *Recorder) begin(info provider.Info, req provider.Request) int {
	r.mu.Lock()
	r.asked++
	n := r.asked
	known := r.models[info.Ref()]
	r.models[info.Ref()] = true
	r.mu.Unlock()
	if !known {
		r.write(entry{Kind: kindModel, Info: &info})
	}
	r.write(entry{Kind: kindRequest, Request: n, Lane: req.Lane, Model: info.Ref(), Digest: r.digests.of(req), Micros: r.since()})
	return n
}

func (r *Recorder) since() int64 { return r.opts.Now().Sub(r.start).Microseconds() }

type model struct {
	provider.Model
	rec *Recorder
}

// Stream implements provider.Model.
func (m *model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		t := &take{rec: m.rec, number: m.rec.begin(m.Info(), req)}
		for e, err := range m.Model.Stream(ctx, req) {
			if err != nil {
				t.end(err)
				yield(nil, err)
				return
			}
			t.event(e)
			if !yield(e, nil) {
				t.cut()
				return
			}
		}
		t.end(nil)
	}
}

// take writes the events of one answer. Deltas are held until their block ends: a secret may be
// spread over several of them.
type take struct {
	rec    *Recorder
	number int
	held   []heldDelta
}

type heldDelta struct {
	delta provider.Delta
	at    int64
}

func (t *take) event(e provider.Event) {
	at := t.rec.since()
	if d, ok := e.(provider.Delta); ok {
		t.held = append(t.held, heldDelta{d, at})
		return
	}
	t.release()
	t.put(e, at)
}

func (t *take) put(e provider.Event, at int64) {
	rec, err := eventOf(e, t.rec.hide)
	if err != nil {
		t.rec.fail(err)
		return
	}
	t.rec.write(entry{Kind: kindEvent, Request: t.number, Micros: at, Event: rec})
}

// release writes the held deltas. When together they hold a secret, they become one delta without
// it.
func (t *take) release() {
	for from := 0; from < len(t.held); {
		to, whole := from, ""
		for to < len(t.held) && t.held[to].delta.Kind == t.held[from].delta.Kind {
			whole += t.held[to].delta.Text
			to++
		}
		if clean := t.rec.hide.text(whole); clean != whole {
			d := t.held[from].delta
			d.Text = clean
			t.put(d, t.held[from].at)
		} else {
			for _, h := range t.held[from:to] {
				t.put(h.delta, h.at)
			}
		}
		from = to
	}
	t.held = nil
}

func (t *take) end(err error) {
	t.release()
	t.rec.write(entry{Kind: kindEnd, Request: t.number, Micros: t.rec.since(), Error: faultOf(err, t.rec.hide)})
}

// cut notes that the reader broke off.
func (t *take) cut() {
	t.release()
	t.rec.write(entry{Kind: kindEnd, Request: t.number, Micros: t.rec.since(), Cut: true})
}
