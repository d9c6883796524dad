package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// errIdle cancels a stream that brought no data for too long.
var errIdle = errors.New("the service sent nothing for too long")

// answer is what one request brought: the blocks of the answer and the results of its calls.
type answer struct {
	messages []msg.Message // recorded: blocks as they came, results as they ended
	calls    int           // calls that were complete
	done     []tool.Done   // finished calls, in call order
	ends     []*tool.End   // what calls, hooks or persons ended the turn with, in call order
	stop     msg.Stop
	usage    msg.Usage
	stopping Stopping
	err      error // how the request failed, nil when the answer is whole
	text     bool  // text was shown, whole or in part
	cutText  bool  // … and it is the last thing shown, incomplete
	thought  bool  // thinking was complete before it failed
}

// end is the first reason a call or the stop function gave to end the turn.
func (a answer) end() *tool.End {
	if a.stopping.End != nil {
		return a.stopping.End
	}
	if len(a.ends) > 0 {
		return a.ends[0]
	}
	return nil
}

// streaming is an answer while it comes in.
type streaming struct {
	*run
	answer
	model    provider.Model
	exec     *executor
	response string
	name     string // model that answers
	began    time.Time
	heard    time.Time // wall time of the last real data
	started  bool      // the service confirmed the request
	billed   bool
}

// ask makes one request and runs the calls of its answer. It returns when the answer is over and
// no call of it runs any more.
func (r *run) ask(model provider.Model, req provider.Request, tools []tool.Tool, s state) answer {
	r.emit(proto.RequestStarted{Model: model.Info().Ref(), Round: s.rounds + 1, Attempt: s.tries.attempts + 1})
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	now := r.cfg.Effects.Now()
	st := &streaming{run: r, model: model, began: now, heard: now.Round(0), name: model.Info().Ref()}
	st.exec = newExecutor(r, index(tools))
	st.consume(ctx, cancel, req, s)
	st.done, st.ends = st.exec.results()
	st.bill()
	return st.answer
}

// consume is the meeting point of the stream, the calls and the watchdog.
func (st *streaming) consume(ctx context.Context, cancel context.CancelCauseFunc, req provider.Request, s state) {
	events := read(ctx, st.model, req)
	idle := time.NewTicker(max(st.cfg.Limits.Idle/20, time.Millisecond))
	defer idle.Stop()
	interrupted := st.ctx.Done()
	var grace, abandon <-chan time.Time
	for events != nil || st.exec.busy() {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				st.streamEnded(s)
				continue
			}
			st.take(e)
		case o := <-st.exec.outcomes:
			st.finish(st.exec.settle(o))
		case <-st.exec.signs:
			st.exec.tellProgress()
		case <-idle.C:
			// What waits to be read came while a reader held the run: that was no silence of the service.
			silent := st.cfg.Effects.Now().Round(0).Sub(st.heard)
			if events != nil && len(events) == 0 && abandon == nil && silent > st.cfg.Limits.Idle {
				cancel(errIdle)
				abandon = time.After(st.cfg.Limits.Grace)
			}
		case <-interrupted:
			interrupted = nil
			t := time.NewTimer(st.cfg.Limits.Grace)
			defer t.Stop()
			grace = t.C
			st.finish(st.exec.abort(context.Cause(st.ctx)))
		case <-grace:
			st.finish(st.exec.giveUp())
			events = st.leave(ctx, events, s)
		case <-abandon:
			events = st.leave(ctx, events, s)
		}
	}
}

// leave stops listening to a stream that goes on although its context ended. It is read to its end
// elsewhere, and what it brings counts for nothing.
func (st *streaming) leave(ctx context.Context, events <-chan any, s state) <-chan any {
	if events == nil {
		return nil
	}
	go func() { // ends with the stream
		for range events { //nolint:revive // only its end matters
		}
	}()
	st.take(context.Cause(ctx))
	st.streamEnded(s)
	return nil
}

// read pulls the stream in a goroutine of its own, so that a question or a slow reader never stops
// it. The channel must be drained; the goroutine ends with the stream.
func read(ctx context.Context, model provider.Model, req provider.Request) <-chan any {
	ch := make(chan any, 256)
	go func() {
		defer close(ch)
		for e, err := range model.Stream(ctx, req) {
			if err != nil {
				if cause := context.Cause(ctx); ctx.Err() != nil && cause != nil {
					err = cause
				}
				ch <- err
				return
			}
			ch <- e
		}
	}()
	return ch
}

// take handles one event of the stream.
func (st *streaming) take(e any) {
	if _, ping := e.(provider.Ping); !ping {
		st.heard = st.cfg.Effects.Now().Round(0)
	}
	switch e := e.(type) {
	case provider.Start:
		st.started, st.response, st.usage = true, e.ID, e.Usage
		if st.response == "" || st.kept.responses[st.response] { // an id from outside is no identity
			st.response = st.cfg.Effects.NewID()
		}
		st.kept.responses[st.response] = true
		st.emit(proto.AnswerStarted{
			Response: st.response, Model: st.name, Usage: e.Usage,
			TTFTMS: st.cfg.Effects.Now().Sub(st.began).Milliseconds(),
		})
	case provider.BlockStart:
		b := proto.BlockStarted{Index: e.Index, Kind: e.Block.Type()}
		if c, ok := e.Block.(msg.ToolCall); ok {
			b.Call, b.Tool = c.ID, c.Name
		}
		st.emit(b)
	case provider.Delta:
		st.text = st.text || e.Kind == provider.TextDelta
		st.emit(proto.Delta{Index: e.Index, Kind: string(e.Kind), Text: e.Text})
	case provider.BlockDone:
		st.block(e)
	case provider.Done:
		st.stop, st.usage = e.Stop, e.Usage
		st.closed()
	case error:
		st.err = e
	}
}

// block keeps one block of the answer and starts its call.
func (st *streaming) block(e provider.BlockDone) {
	m := msg.Message{Role: msg.Assistant, Response: st.response, Model: st.name, Partial: e.Partial}
	if known := st.usage; known != (msg.Usage{}) { // as told at the start; what it came to is told after the last block
		m.Usage = &known
	}
	call, isCall := e.Block.(msg.ToolCall)
	switch b := e.Block.(type) {
	case msg.ToolCall:
		if e.Partial { // half a call is never run, and so never kept
			st.emit(proto.BlockEnded{Index: e.Index})
			return
		}
		call = st.identify(b)
		m.Content = []msg.Block{call}
	case msg.Text:
		if b.Text == "" {
			st.emit(proto.BlockEnded{Index: e.Index})
			return
		}
		st.text, st.cutText = true, e.Partial
		m.Content = []msg.Block{msg.Text{Text: msg.CleanText(b.Text)}}
	case msg.Thinking, msg.RedactedThinking:
		if e.Partial { // without its signature it cannot be sent again
			st.emit(proto.BlockEnded{Index: e.Index})
			return
		}
		st.thought = true
		m.Content = []msg.Block{b}
	default:
		m.Content = []msg.Block{b}
	}
	if !e.Partial {
		st.cutText = false
	}
	st.messages = append(st.messages, st.keep(m))
	st.emit(proto.BlockEnded{Index: e.Index})
	if isCall && st.fail == nil {
		st.calls++
		st.finish(st.exec.add(call))
	}
}

// identify gives a call an id that no other call of the conversation has.
func (st *streaming) identify(c msg.ToolCall) msg.ToolCall {
	if c.ID == "" {
		c.ID = "call_" + st.cfg.Effects.NewID()
	}
	for n, id := 2, c.ID; st.kept.ids[c.ID]; n++ {
		c.ID = fmt.Sprintf("%s_%d", id, n)
	}
	st.kept.ids[c.ID] = true
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	return c
}

// closed marks the last block of the answer with its stop reason and usage, for the history; the
// record of the block was written when it came.
func (st *streaming) closed() {
	for i := len(st.messages) - 1; i >= 0; i-- {
		if st.messages[i].Role == msg.Assistant {
			u := st.usage
			st.messages[i].Stop, st.messages[i].Usage = st.stop, &u
			break
		}
	}
	st.emit(proto.AnswerEnded{Response: st.response, Stop: st.stop, Usage: st.usage})
}

// streamEnded is called once, when the stream is over, whole or broken.
func (st *streaming) streamEnded(s state) {
	if st.err == nil && st.stop == "" && st.ctx.Err() == nil {
		st.err = &provider.Error{
			Kind: provider.KindStream, Provider: st.model.Info().Provider,
			Message: "the stream ended without its end marker",
		}
	}
	if st.err != nil {
		if st.started {
			st.emit(proto.AnswerEnded{Response: st.response, Usage: st.usage, Cut: st.err.Error()})
		}
		return
	}
	if st.cfg.Stop == nil || st.fail != nil || st.ctx.Err() != nil {
		return
	}
	if st.calls == 0 && st.stop == msg.StopMaxTokens { // cut, not finished: nobody's turn to stop yet
		return
	}
	st.bill() // who decides about going on must know what this request used
	stopping, err := st.cfg.Stop(st.ctx, Turn{
		Rounds: s.rounds + 1, Calls: st.calls, Answer: st.messages, Usage: st.usage, Continued: s.continued,
	})
	if err != nil && st.ctx.Err() == nil {
		st.failWith(err)
		return
	}
	if st.stopping = stopping; stopping.End != nil {
		st.finish(st.exec.refuseRest("Not run: " + stopping.End.Reason))
	}
}

// finish keeps the results of calls that ended.
func (st *streaming) finish(ended []*slot) {
	for _, s := range ended {
		content := append([]msg.Block{msg.ToolResult{
			CallID: s.call.ID, Content: s.result.Content, IsError: s.result.IsError,
		}}, s.note...)
		st.messages = append(st.messages, st.keep(msg.Message{
			Role: msg.User, Origin: msg.FromTool, Content: content, Structured: s.result.Structured,
		}))
		st.emit(proto.CallEnded{
			Call: s.call.ID, Tool: s.call.Name, Outcome: s.outcome, Display: s.result.Display, Seconds: s.seconds,
		})
		if s.fault != nil {
			st.emit(proto.Notice{Level: "error", Text: fmt.Sprintf("%s: %v", s.call.Name, s.fault)})
		}
	}
}

// bill reports what the request used, once, also when it failed after the service took it up.
func (st *streaming) bill() {
	if st.cfg.Spent != nil && st.started && !st.billed {
		st.billed = true
		st.cfg.Spent(Spending{
			Lane: st.cfg.Lane, Model: st.model.Info(), Usage: st.usage,
			Took: st.cfg.Effects.Now().Sub(st.began), Failed: st.err != nil,
		})
	}
}
