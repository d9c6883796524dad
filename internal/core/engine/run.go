package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// ErrInterrupt is the cause with which a person's interrupt cancels a run. Any other cause (a
// shutdown) leaves no mark in the conversation.
var ErrInterrupt = errors.New("interrupted by the user")

// The marks an interrupt leaves in the conversation. Readers of transcripts know these strings.
const (
	MarkInterrupted      = "[Request interrupted by user]"
	MarkInterruptedTools = "[Request interrupted by user for tool use]"
)

// Run takes one turn from the end of the history, which is a user message, to its end, and yields
// what happens. The sequence is yielded from one goroutine; its last event is [proto.Ended]. A
// message is recorded before it is yielded, and a call is authorised only after the event that
// announces it was yielded.
//
// Ending ctx interrupts: calls end, every call gets a result, the remaining events are yielded.
// Breaking out of the loop interrupts too and yields nothing more: Run returns when no goroutine of
// its own lives and every call has its result recorded. An error comes last and alone, instead of
// Ended; it is ours (a message that cannot be recorded, a system prompt that cannot be built), never
// the model's or its service's.
func Run(ctx context.Context, cfg Config, history []msg.Message) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		cfg.Effects, cfg.Limits = cfg.Effects.withDefaults(), cfg.Limits.withDefaults()
		if cfg.Lane == "" {
			cfg.Lane = provider.LaneMain
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		r := &run{cfg: cfg, ctx: ctx, cancel: cancel, yield: yield, kept: cfg.Kept}
		if r.kept == nil {
			r.kept, history = &Kept{}, slices.Clip(history)
		}
		r.kept.begin(history)
		s, ended := r.loop(state{history: history})
		r.kept.seen = msg.PrefixOf(s.history)
		if cfg.Keep != nil {
			cfg.Keep(s.history)
		}
		if cfg.Sync != nil && r.fail == nil {
			r.fail = cfg.Sync(context.WithoutCancel(ctx))
		}
		if r.fail != nil {
			r.emitError(r.fail)
			return
		}
		r.emit(ended)
	}
}

// run is one call of Run. Only its goroutine touches it.
type run struct {
	cfg     Config
	ctx     context.Context // ends with the turn
	cancel  context.CancelCauseFunc
	yield   func(proto.Event, error) bool
	stopped bool  // the reader broke off: yield nothing more
	fail    error // ours, ends the run
	kept    *Kept
}

// emit yields an event, unless the run has failed. A reader that breaks off interrupts the run.
func (r *run) emit(body proto.EventBody) {
	if r.stopped || r.fail != nil {
		return
	}
	e := proto.E(body)
	e.Agent = r.cfg.Agent.Agent
	if !r.yield(e, nil) {
		r.stopped = true
		r.cancel(ErrInterrupt)
	}
}

func (r *run) emitError(err error) {
	if !r.stopped {
		r.stopped = true
		r.yield(proto.Event{}, err)
	}
}

// keep records a message and then yields it. It records also after the run was cancelled, since
// the conversation must stay whole.
func (r *run) keep(m msg.Message) msg.Message {
	if m.ID == "" {
		m.ID = r.cfg.Effects.NewID()
	}
	if m.Time.IsZero() {
		m.Time = r.cfg.Effects.Now()
	}
	if r.fail != nil {
		return m
	}
	if err := r.cfg.Record(context.WithoutCancel(r.ctx), m); err != nil {
		r.failWith(err)
		return m
	}
	r.emit(proto.Message{Message: m})
	return m
}

// failWith ends the run with an error of ours.
func (r *run) failWith(err error) {
	if r.fail == nil {
		r.fail = err
		r.cancel(err)
	}
}

// say keeps a text of the harness in the conversation.
func (r *run) say(origin msg.Origin, text string) msg.Message {
	return r.keep(msg.Message{Role: msg.User, Origin: origin, Content: []msg.Block{msg.Text{Text: text}}})
}

// index finds tools by their names, today's and those they had before.
func index(tools []tool.Tool) map[string]tool.Tool {
	out := make(map[string]tool.Tool, len(tools))
	for _, t := range tools {
		for _, older := range tool.Older(t.Spec().Name) {
			out[older] = t
		}
	}
	for _, t := range tools { // a name beats an older one
		out[t.Spec().Name] = t
	}
	return out
}

// Describe is what a model is told of tools.
func Describe(tools []tool.Tool) []provider.Tool {
	out := make([]provider.Tool, len(tools))
	for i, t := range tools {
		s := t.Spec()
		out[i] = provider.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema, Deferred: s.Deferred, Finds: s.Finds}
	}
	return out
}
