package engine

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// executor runs the calls of one answer: those that may run beside others together, any other
// alone, in the order they came. Only the run's goroutine touches it and its slots; a call's
// goroutine hands back an outcome.
type executor struct {
	run      *run
	tools    map[string]tool.Tool
	slots    []*slot
	outcomes chan outcome  // from the calls' goroutines
	signs    chan struct{} // some call has progress to tell
	gone     chan struct{} // closed when calls were given up
	refusing string        // why calls that have not started shall not run; empty: they shall
}

// slot is one call on its way.
type slot struct {
	call   tool.Call
	tool   tool.Tool
	traits tool.Traits
	phase  phase
	solo   bool // authorising took its right to run beside others
	cancel context.CancelCauseFunc
	began  time.Time
	signs  progress

	// once it ended:
	result  tool.Result
	outcome string // ok, error, refused, interrupted, not_run
	end     *tool.End
	note    []msg.Block
	fault   error // ours
	seconds float64
}

type phase int

const (
	waiting phase = iota
	running
	finished
)

func newExecutor(r *run, tools map[string]tool.Tool) *executor {
	return &executor{
		run: r, tools: tools,
		outcomes: make(chan outcome), signs: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

// add announces a call and starts it as soon as its turn has come. Like every method that returns
// slots, it returns those that ended by it.
func (x *executor) add(c msg.ToolCall) []*slot {
	s := &slot{call: tool.Call{ID: c.ID, Name: c.Name, Literal: c.Input, Input: c.Input, Scope: x.run.cfg.Agent}}
	x.slots = append(x.slots, s)
	problem := x.prepare(s, c)
	x.run.emit(proto.CallAnnounced{Call: s.call.ID, Tool: s.call.Name, Input: s.call.Input})
	if problem != "" {
		s.ends("error", tool.Misuse(problem))
		return []*slot{s}
	}
	if x.refusing != "" {
		s.ends("not_run", tool.Failed(x.refusing))
		return []*slot{s}
	}
	x.pump()
	return nil
}

// prepare finds the tool and normalises the input; the problem it returns is the model's.
func (x *executor) prepare(s *slot, c msg.ToolCall) (problem string) {
	t, ok := x.tools[c.Name]
	if !ok {
		return "Error: No such tool available: " + c.Name
	}
	s.tool, s.call.Name = t, t.Spec().Name
	if c.Malformed != "" {
		return "InputValidationError: " + s.call.Name + " failed: the input is not valid JSON: " + msg.Cut(c.Malformed, 500)
	}
	call, traits, err := tool.Prepare(t, s.call)
	if err != nil {
		return err.Error()
	}
	s.call, s.traits = call, traits
	return ""
}

// pump starts every call whose turn has come.
func (x *executor) pump() {
	active := 0
	for _, s := range x.slots {
		switch s.phase {
		case finished:
			continue
		case running:
			if !s.beside() {
				return
			}
			active++
			continue
		}
		if active > 0 && (!s.beside() || active >= x.run.cfg.Limits.Beside) {
			return
		}
		x.start(s)
		active++
		if !s.beside() {
			return
		}
	}
}

func (s *slot) beside() bool { return s.traits.Beside && !s.solo }

func (x *executor) start(s *slot) {
	ctx, cancel := context.WithCancelCause(x.run.ctx)
	s.phase, s.cancel = running, cancel
	if s.began.IsZero() {
		s.began = x.run.cfg.Effects.Now()
	}
	s.call.Progress = s.signs.teller(x.signs)
	p := &performance{cfg: &x.run.cfg, tool: s.tool, call: s.call, traits: s.traits, beside: s.beside()}
	go func() {
		o := p.perform(ctx)
		o.slot = s
		select {
		case x.outcomes <- o:
		case <-x.gone: // nobody waits any more
			if x.run.cfg.Late != nil {
				x.run.cfg.Late(o.done(0))
			}
		}
		cancel(nil)
	}()
}

// settle takes the outcome of one call.
func (x *executor) settle(o outcome) []*slot {
	s := o.slot
	if s.phase == finished { // was given up
		return nil
	}
	s.call = o.call
	if o.again {
		s.traits, s.solo, s.phase = o.traits, true, waiting
		x.pump()
		return nil
	}
	s.end, s.note, s.fault = o.end, o.note, o.fault
	s.seconds = x.run.cfg.Effects.Now().Sub(s.began).Seconds()
	s.ends(o.word, o.result)
	ended := []*slot{s}
	switch {
	case o.word == "error" && o.traits.Shell:
		ended = append(ended, x.refuseRest("Not run: an earlier command of the same answer failed.")...)
		x.cancelRunning(errSibling)
	case s.end != nil:
		ended = append(ended, x.refuseRest("Not run: the turn was ended.")...)
	}
	x.pump()
	return ended
}

func (s *slot) ends(word string, result tool.Result) {
	s.phase, s.outcome, s.result = finished, word, result
}

// refuseRest gives every call that has not started, now or later, a result that says why.
func (x *executor) refuseRest(why string) []*slot {
	if x.refusing == "" {
		x.refusing = why
	}
	var ended []*slot
	for _, s := range x.slots {
		if s.phase == waiting {
			s.ends("not_run", tool.Failed(x.refusing))
			ended = append(ended, s)
		}
	}
	return ended
}

// abort ends what has not started; what runs is cancelled with the run's context.
func (x *executor) abort(cause error) []*slot {
	return x.refuseRest("Not run: " + cause.Error() + ".")
}

func (x *executor) cancelRunning(cause error) {
	for _, s := range x.slots {
		if s.phase == running {
			s.cancel(cause)
		}
	}
}

// giveUp stops waiting for calls that do not return after they were cancelled. Their outcome goes
// to Config.Late when it comes.
func (x *executor) giveUp() []*slot {
	var ended []*slot
	for _, s := range x.slots {
		if s.phase == running {
			s.ends("interrupted", tool.Failed("Interrupted, but it did not stop; it may still have an effect. Its outcome is told when it is known."))
			ended = append(ended, s)
		}
	}
	close(x.gone)
	return ended
}

// busy says whether a call runs or waits.
func (x *executor) busy() bool {
	for _, s := range x.slots {
		if s.phase != finished {
			return true
		}
	}
	return false
}

// results returns the finished calls, and what ended the turn, in call order.
func (x *executor) results() ([]tool.Done, []*tool.End) {
	var done []tool.Done
	var ends []*tool.End
	for _, s := range x.slots {
		refused := s.outcome == "refused" || s.outcome == "not_run"
		done = append(done, tool.Done{Call: s.call, Traits: s.traits, Result: s.result, Refused: refused, Seconds: s.seconds})
		if s.end != nil {
			ends = append(ends, s.end)
		}
	}
	return done, ends
}

// tellProgress yields what running calls have to tell.
func (x *executor) tellProgress() {
	for _, s := range x.slots {
		if text, ok := s.signs.take(); ok && s.phase == running {
			x.run.emit(proto.CallProgress{
				Call: s.call.ID, Tool: s.call.Name, Text: text,
				Seconds: x.run.cfg.Effects.Now().Sub(s.began).Seconds(),
			})
		}
	}
}

// progress collects the signs of life of one call until they are told. It keeps the newest 64 KiB.
type progress struct {
	mu   sync.Mutex // guards text and news
	text strings.Builder
	news bool
}

const maxProgress = 64 << 10

// teller returns the function a call reports through; it never blocks.
func (p *progress) teller(signs chan<- struct{}) func(tool.Progress) {
	return func(sign tool.Progress) {
		p.mu.Lock()
		if p.text.Len()+len(sign.Text) > maxProgress {
			kept := msg.CutTail(p.text.String()+sign.Text, maxProgress/2)
			p.text.Reset()
			p.text.WriteString(kept)
		} else {
			p.text.WriteString(sign.Text)
		}
		p.news = true
		p.mu.Unlock()
		select {
		case signs <- struct{}{}:
		default:
		}
	}
}

func (p *progress) take() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, news := msg.CleanText(p.text.String()), p.news
	p.text.Reset()
	p.news = false
	return text, news
}
