package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Recording is a recording that was read. It is immutable but for how far it has been played, and
// safe for concurrent use.
type Recording struct {
	Program string
	Started time.Time
	Infos   []provider.Info // the models that were asked, in the order of their first request
	Results []Result        // tool results in order
	Changes []Change        // changes of state in order
	Torn    bool            // the last line was cut off: the recording ended badly

	name string

	mu       sync.Mutex // guards all below
	answers  map[provider.Lane][]*answer
	clock    []time.Time
	ids      []string
	jitters  []float64
	diverged int
	digests  digests
}

// Result is the recorded result of a tool call.
type Result struct {
	Call    string
	Tool    string
	Content []msg.Block
	Failed  bool
	Took    time.Duration
}

// Change is a recorded change of state.
type Change struct {
	Revision uint64
	Slice    string
	Value    json.RawMessage
}

// answer is one recorded answer.
type answer struct {
	request int
	digest  string
	began   int64
	events  []timedEvent
	fault   *fault
	cut     bool
	whole   bool // its end was recorded
}

type timedEvent struct {
	event provider.Event
	at    int64
}

// Open reads the recording at path.
func Open(path string) (*Recording, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads a recording; name is its name for messages. A last line without an end is left out
// and noted in Torn. Records of an unknown kind are passed over.
func Parse(name string, data []byte) (*Recording, error) {
	r := &Recording{name: name, answers: map[provider.Lane][]*answer{}}
	open := map[int]*answer{}
	line := 0
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			r.Torn = true
			break
		}
		line++
		raw := data[:end]
		data = data[end+1:]
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("read recording %s:%d: expected a JSON object: %w", name, line, err)
		}
		if err := r.take(line, e, open); err != nil {
			return nil, fmt.Errorf("read recording %s:%d: %w", name, line, err)
		}
	}
	if line == 0 {
		return nil, fmt.Errorf("read recording %s: the file holds no record", name)
	}
	return r, nil
}

// take adds one record.
func (r *Recording) take(line int, e entry, open map[int]*answer) error {
	if line == 1 {
		if e.Kind != kindHead {
			return fmt.Errorf("expected a record of kind %q first, found %q", kindHead, e.Kind)
		}
		if e.Version < 1 || e.Version > Version {
			return fmt.Errorf("the recording has version %d; this program reads up to %d", e.Version, Version)
		}
		r.Program, r.Started = e.Program, e.Time
		return nil
	}
	switch e.Kind {
	case kindModel:
		if e.Info != nil {
			r.Infos = append(r.Infos, *e.Info)
		}
	case kindRequest:
		lane := laneOf(e.Lane)
		t := &answer{request: e.Request, digest: e.Digest, began: e.Micros}
		open[e.Request] = t
		r.answers[lane] = append(r.answers[lane], t)
	case kindEvent, kindEnd:
		t := open[e.Request]
		if t == nil {
			return fmt.Errorf("request %d is not open", e.Request)
		}
		return t.add(e, open)
	case kindResult:
		content, err := msg.UnmarshalBlocks(json.RawMessage(e.Content))
		if err != nil {
			return err
		}
		r.Results = append(r.Results, Result{e.Call, e.Tool, content, e.Failed, time.Duration(e.Micros) * time.Microsecond})
	case kindClock:
		r.clock = append(r.clock, e.Time)
	case kindID:
		r.ids = append(r.ids, e.Text)
	case kindJitter:
		r.jitters = append(r.jitters, e.Number)
	case kindChange:
		r.Changes = append(r.Changes, Change{e.Revision, e.Slice, e.Value})
	}
	return nil
}

func (t *answer) add(e entry, open map[int]*answer) error {
	if e.Kind == kindEnd {
		t.fault, t.cut, t.whole = e.Error, e.Cut, true
		delete(open, e.Request)
		return nil
	}
	if e.Event == nil {
		return errors.New(`expected "event"`)
	}
	event, err := e.Event.event()
	if err != nil {
		return err
	}
	t.events = append(t.events, timedEvent{event, e.Micros})
	return nil
}

func laneOf(l provider.Lane) provider.Lane {
	if l == "" {
		return provider.LaneMain
	}
	return l
}

// Pace says how fast a recording is played. The zero Pace plays without waiting.
type Pace struct {
	Sleep func(ctx context.Context, d time.Duration) error // nil: do not wait at all
}

// Model returns the model that says again what was said, lane by lane. Its Info is that of the
// first model of the recording. All models of one Recording share how far it was played.
func (r *Recording) Model(p Pace) provider.Model {
	info := provider.Info{Provider: "replay", ID: "recording"}
	if len(r.Infos) > 0 {
		info = r.Infos[0]
	}
	return &replay{rec: r, info: info, pace: p}
}

// Now returns a clock that reads the recorded times and then goes on with after.
func (r *Recording) Now(after func() time.Time) func() time.Time { return again(r, &r.clock, after) }

// NewID returns the recorded ids and then goes on with after.
func (r *Recording) NewID(after func() string) func() string { return again(r, &r.ids, after) }

// Jitter returns the recorded chances and then goes on with after.
func (r *Recording) Jitter(after func() float64) func() float64 { return again(r, &r.jitters, after) }

func again[T any](r *Recording, list *[]T, after func() T) func() T {
	return func() T {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(*list) == 0 {
			return after()
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return v
	}
}

// Diverged is the number of the first request, from 1 and of the recorded session, that was asked
// with another conversation than then; 0 when none was.
func (r *Recording) Diverged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.diverged
}

// Left is the number of recorded answers of a lane that have not been played.
func (r *Recording) Left(lane provider.Lane) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.answers[laneOf(lane)])
}

// next takes the next answer of a lane, nil when there is none.
func (r *Recording) next(req provider.Request) *answer {
	lane := laneOf(req.Lane)
	digest := r.digests.of(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.answers[lane]
	if len(list) == 0 {
		return nil
	}
	r.answers[lane] = list[1:]
	if list[0].digest != digest && r.diverged == 0 {
		r.diverged = list[0].request
	}
	return list[0]
}

type replay struct {
	rec  *Recording
	info provider.Info
	pace Pace
}

// Info implements provider.Model.
func (m *replay) Info() provider.Info { return m.info }

// Stream implements provider.Model.
func (m *replay) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		t := m.rec.next(req)
		if t == nil {
			yield(nil, m.over(fmt.Sprintf("recording %s has no further answer for lane %q", m.rec.name, string(laneOf(req.Lane)))))
			return
		}
		last := t.began
		for _, e := range t.events {
			if err := m.wait(ctx, e.at-last); err != nil {
				yield(nil, err)
				return
			}
			last = e.at
			if !yield(e.event, nil) {
				return
			}
		}
		switch {
		case t.fault != nil:
			yield(nil, t.fault.err())
		case t.cut || !t.whole:
			yield(nil, m.over(fmt.Sprintf("recording %s: answer %d was interrupted here", m.rec.name, t.request)))
		}
	}
}

func (m *replay) over(text string) error {
	return &provider.Error{Kind: provider.KindScript, Provider: "replay", Message: text}
}

func (m *replay) wait(ctx context.Context, micros int64) error {
	if m.pace.Sleep == nil || micros <= 0 {
		return ctx.Err()
	}
	return m.pace.Sleep(ctx, time.Duration(micros)*time.Microsecond)
}
