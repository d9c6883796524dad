package conversation

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/session"
)

// turn is what is kept of one turn until its result is told.
type turn struct {
	c      *Conversation
	id     string // of the prompt that opened it
	origin string
	begun  time.Time
	api    time.Duration // of the session when it began
	usage  msg.Usage     // of its requests
	view   []msg.Message // what the last of them showed; nil: there was none
	calls  Calls

	reminded bool // of what is owed

	mu         sync.Mutex // guards the rest: calls side by side write it
	results    int        // tool results and interrupt marks, for num_turns
	output     string     // id of the last call that ends the turn
	structured []byte
}

// result counts a tool result or mark, and takes the structured output when it is one.
func (t *turn) result(m msg.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results++
	for _, b := range m.Content {
		if r, ok := b.(msg.ToolResult); ok && r.CallID == t.output && !r.IsError {
			t.structured = m.Structured
		}
	}
}

// main says whether this is the main conversation: what a session's totals are about.
func (c *Conversation) main() bool { return c.given.Scope.Agent == "" }

// turn answers prompts, or tells the model news it is owed, and tells the result.
func (c *Conversation) turn(batch []proto.Prompt, owed []msg.Message) {
	ctx, cancel := context.WithCancelCause(c.given.Context)
	defer cancel(nil)
	c.mu.Lock()
	c.ending = cancel
	c.mu.Unlock()
	t := &turn{c: c, begun: c.given.Effects.Now(), api: c.given.Cost.Get().Durations.API, calls: c.given.Calls()}
	if c.main() {
		cost.BeginTurn(c.given.Cost, t.begun)
	}
	session.SetActivity(c.given.Session, session.Running)
	ended := t.answer(ctx, batch, owed)
	c.mu.Lock()
	c.ending = nil
	c.mu.Unlock()
	if c.main() {
		cost.EndTurn(c.given.Cost, c.given.Effects.Now())
		if totals := c.given.Cost.Get(); totals.Total.Requests > 0 {
			c.Keep(NoteCost, NoteCost, totals)
		}
	}
	if c.given.Budget.Account != nil {
		c.given.Budget.Account()
	}
	if c.given.Turns.Ended != nil {
		c.given.Turns.Ended(ended, t.view)
	}
	t.tell(ended)
	session.SetActivity(c.given.Session, session.Idle)
	if c.given.Turns.Idle != nil {
		c.given.Turns.Idle()
	}
}

// answer runs the turn and returns how it ended.
func (t *turn) answer(ctx context.Context, batch []proto.Prompt, owed []msg.Message) proto.Ended {
	c := t.c
	t.origin = "task-notification"
	if len(batch) > 0 {
		t.id, t.origin = batch[0].ID, batch[0].Origin
		if command := c.waits.command(batch[0]); command != nil {
			t.started(batch)
			command.Run(ctx)
			return proto.Ended{}
		}
	}
	opening, ended := t.opening(ctx, batch, owed)
	if ended != nil {
		return *ended
	}
	if err := t.open(ctx, opening); err != nil {
		return proto.Ended{Reason: proto.EndReason("error"), Detail: err.Error()}
	}
	if len(batch) == 1 && batch[0].NoQuery {
		return proto.Ended{}
	}
	if ended := c.given.Budget.May(ctx); ended != nil {
		return *ended
	}
	return t.run(ctx)
}

// opening turns prompts into the messages that open the turn; hooks may add to them or block them.
func (t *turn) opening(ctx context.Context, batch []proto.Prompt, owed []msg.Message) ([]msg.Message, *proto.Ended) {
	c := t.c
	out, extra := owed, []string(nil)
	if c.given.Turns.Open != nil {
		o := c.given.Turns.Open(ctx, len(batch) > 0)
		extra = append(c.waits.takeAside(), o.Context...)
		if o.Prompt != "" {
			batch = append([]proto.Prompt{{ID: c.given.Effects.NewID(), Content: []msg.Block{msg.Text{Text: o.Prompt}}}}, batch...)
		}
	} else {
		extra = c.waits.takeAside()
	}
	for _, p := range batch {
		c.prompts.Add(1)
		if c.given.Turns.Submit != nil {
			s := c.given.Turns.Submit(ctx, p.Content)
			if s.Ended != nil {
				t.started(batch)
				c.emit(proto.Notice{Level: "warning", Key: "prompt_blocked", Text: s.Notice})
				return nil, s.Ended
			}
			extra = append(extra, s.Context...)
		}
		out = append(out, msg.Message{ID: p.ID, Role: msg.User, Content: p.Content})
	}
	t.started(batch)
	return append(out, msg.Reminder(extra)...), nil
}

// started tells surfaces that a turn begins and with what.
func (t *turn) started(batch []proto.Prompt) {
	c := t.c
	ids := make([]string, len(batch))
	for i, p := range batch {
		ids[i] = p.ID
	}
	now := c.given.Session.Get()
	c.emit(proto.TurnStarted{
		Prompts: ids, Cwd: now.Cwd, Model: now.Model, Mode: c.given.Model.Mode(), Tools: c.given.Model.Names(), Origin: t.origin,
	})
}

// open records the messages that open a turn at the end of the history.
func (t *turn) open(ctx context.Context, opening []msg.Message) error {
	c := t.c
	if mode := c.given.Model.Mode(); len(opening) > 0 && cmp.Or(c.mode, "default") != mode { // it began in this one
		c.Keep(NoteMode, NoteMode, mode)
		c.mode = mode
	}
	for _, m := range opening {
		if m.ID == "" {
			m.ID = c.given.Effects.NewID()
		}
		if m.Time.IsZero() {
			m.Time = c.given.Effects.Now()
		}
		if err := c.record(ctx, m); err != nil {
			return err
		}
		c.emit(proto.Message{Message: m, Replay: m.Origin == msg.FromHuman})
		c.history = append(c.history, m)
	}
	return nil
}

// run lets the engine take the turn.
func (t *turn) run(ctx context.Context) (ended proto.Ended) {
	c := t.c
	shown := newDisplay(c.given, cmp.Or(t.id, c.history[len(c.history)-1].ID))
	open := 0 // calls that were announced and have no result
	for e, err := range engine.Run(ctx, t.engine(), c.history) {
		if err != nil {
			return proto.Ended{Reason: "error", Detail: err.Error()}
		}
		switch b := e.Body.(type) {
		case proto.CallAnnounced:
			if ends := c.given.Turns.EndsTurn; ends != nil && ends(b.Tool) {
				t.output = b.Call
			}
			open++
			if t.calls.Announced != nil {
				t.calls.Announced(ctx, tool.Call{ID: b.Call, Name: b.Tool, Literal: b.Input, Input: b.Input, Scope: c.given.Scope}, open > 1)
			}
		case proto.Ended:
			ended = b
			ended.Text = shown.result(b.Text)
			continue // told after the costs are booked, with the result
		case proto.Message:
			if o := b.Message.Origin; o == msg.FromTool || o == msg.FromInterrupt {
				open = max(open-1, 0)
				t.result(b.Message)
			}
		}
		c.given.Stream.Hold(ctx)
		if shown == nil {
			c.given.Stream.Tell(e)
			continue
		}
		for _, e := range shown.pass(ctx, e) {
			c.given.Stream.Tell(e)
		}
	}
	return ended
}

// tell closes the turn for everybody: how it ended, and its result.
func (t *turn) tell(ended proto.Ended) {
	c := t.c
	t.mu.Lock()
	defer t.mu.Unlock()
	if ended.Reason != "" {
		c.emit(ended)
	}
	totals := c.given.Cost.Get()
	denials, deferred := t.calls.Outcome()
	r := proto.Result{
		Ended: ended, Text: ended.Text, Usage: t.usage, Denials: denials, Origin: t.origin, Structured: t.structured, Deferred: deferred,
		DurationMS: c.given.Effects.Now().Sub(t.begun).Milliseconds(),
		APIMS:      (totals.Durations.API - t.api).Milliseconds(),
		CostUSD:    totals.Total.USD.Float(),
		Models:     cost.Models(totals, c.given.Model.Info),
	}
	if ended.Reason != "" {
		r.Turns = 1 + t.results
	}
	r.Subtype, r.IsError, r.Errors = outcome(ended, c.given.Limits().Rounds)
	if ended.API != nil {
		r.Text = "API Error: " + ended.API.Message
	}
	c.emit(r)
}

// outcome is how the end of a turn is told in the public words: the subtype of the result, whether
// it is an error, and the sentences that say why.
func outcome(e proto.Ended, rounds int) (subtype string, isError bool, errors []string) {
	switch e.Reason {
	case "", proto.EndCompleted, proto.EndHook, proto.EndDeferred, proto.EndStructured, proto.EndRefusal:
		return "success", false, nil
	case proto.EndAPI, proto.EndOverflow: // the service failed: the text says so
		return "success", true, nil
	case proto.EndMaxRounds:
		return "error_max_turns", true, []string{fmt.Sprintf("Reached maximum number of turns (%d)", rounds)}
	case proto.EndBudget:
		return "error_max_budget_usd", true, []string{e.Detail}
	case proto.EndStructRetry:
		return "error_max_structured_output_retries", true, []string{e.Detail}
	}
	if e.Detail != "" {
		errors = []string{e.Detail}
	}
	return "error_during_execution", true, errors
}
