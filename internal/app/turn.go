package app

import (
	"context"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/app/display"
	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/session"
)

// turn is what is kept of one turn until its result is told.
type turn struct {
	id      string // of the prompt that opened it
	origin  string
	started time.Time
	api     time.Duration // of the session when it began
	usage   msg.Usage     // of its requests
	view    []msg.Message // what the last of them showed; nil: there was none

	reminded bool // of the output that is owed
	gate     gate.Turn

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

// turn answers prompts, or tells the model news it is owed, and tells the result.
func (s *Session) turn(batch []proto.Prompt, owed []msg.Message) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.ending = cancel
	s.mu.Unlock()
	t := &turn{started: s.rooms.clock.now(), api: s.rooms.part.cost.Get().Durations.API}
	cost.BeginTurn(s.rooms.part.cost, t.started)
	session.SetActivity(s.rooms.part.session, session.Running)
	ended := s.answer(ctx, t, batch, owed)
	s.mu.Lock()
	s.ending = nil
	s.mu.Unlock()
	cost.EndTurn(s.rooms.part.cost, s.rooms.clock.now())
	if c := s.rooms.part.cost.Get(); c.Total.Requests > 0 {
		s.keep(noteCost, noteCost, c)
	}
	s.rooms.limits.spending.Account()
	if t.view != nil {
		s.rooms.instructions.prompt.Measure(s.rooms.pool.Offer(), t.view)
	}
	s.tellFailure(ended)
	s.tell(t, ended)
	session.SetActivity(s.rooms.part.session, session.Idle)
	if s.rooms.opts.Interactive {
		s.rooms.hooks.notifyAfter(idleWait, idleKey, "idle_prompt", "Myelin waits for your next prompt.")
	}
}

// answer runs the turn and returns how it ended.
func (s *Session) answer(ctx context.Context, t *turn, batch []proto.Prompt, owed []msg.Message) proto.Ended {
	t.origin = "task-notification"
	if len(batch) > 0 {
		t.id, t.origin = batch[0].ID, batch[0].Origin
		if name, args, ok := s.command(batch[0]); ok {
			s.started(t, batch)
			s.runCommand(ctx, name, args)
			return proto.Ended{}
		}
	}
	opening, ended := s.opening(ctx, t, batch, owed)
	if ended != nil {
		return *ended
	}
	history, err := s.opened(ctx, opening)
	if err != nil {
		return proto.Ended{Reason: proto.EndReason("error"), Detail: err.Error()}
	}
	if len(batch) == 1 && batch[0].NoQuery {
		return proto.Ended{}
	}
	if ended := s.rooms.limits.mayAsk(ctx, s.rooms.models.now().Info().Ref()); ended != nil {
		return *ended
	}
	return s.run(ctx, t, history)
}

// started tells surfaces that a turn begins and with what.
func (s *Session) started(t *turn, batch []proto.Prompt) {
	ids := make([]string, len(batch))
	for i, p := range batch {
		ids[i] = p.ID
	}
	now := s.rooms.store.Get()
	s.rooms.events.Emit(proto.TurnStarted{
		Prompts: ids, Cwd: now.Session.Cwd, Model: now.Session.Model, Mode: s.rooms.rights.mode(),
		Tools: s.rooms.pool.Names(), Origin: t.origin,
	})
}

// opened records the messages that open a turn and returns the history they end.
func (s *Session) opened(ctx context.Context, opening []msg.Message) ([]msg.Message, error) {
	if mode := s.rooms.rights.mode(); len(opening) > 0 && orText(s.rooms.recorded, "default") != mode { // it began in this one
		s.keep(noteMode, noteMode, mode)
		s.rooms.recorded = mode
	}
	for _, m := range opening {
		if m.ID == "" {
			m.ID = s.rooms.clock.newID()
		}
		if m.Time.IsZero() {
			m.Time = s.rooms.clock.now()
		}
		if err := s.rooms.record(ctx, m); err != nil {
			return nil, err
		}
		s.rooms.events.Emit(proto.Message{Message: m, Replay: m.Origin == msg.FromHuman})
		s.history = append(s.history, m)
	}
	return s.history, nil
}

// run lets the engine take the turn.
func (s *Session) run(ctx context.Context, t *turn, history []msg.Message) (ended proto.Ended) {
	var shown *display.Display // nil: no hook wants to see what is shown
	if s.rooms.hooks.Any(hook.MessageDisplay) {
		shown = display.New(s.rooms.hooks.Fire, orText(t.id, history[len(history)-1].ID), s.rooms.opts.Interactive)
	}
	open := 0 // calls that were announced and have no result
	for e, err := range engine.Run(ctx, s.engineConfig(t), history) {
		if err != nil {
			return proto.Ended{Reason: "error", Detail: err.Error()}
		}
		switch b := e.Body.(type) {
		case proto.CallAnnounced:
			s.rooms.pool.Called(b.Tool)
			if s.rooms.pool.EndsTurn(b.Tool) {
				t.output = b.Call
			}
			if open++; open > 1 { // it waits, or runs beside others; the first is decided at once
				s.rooms.gate.Speculate(ctx, tool.Call{ID: b.Call, Name: b.Tool, Literal: b.Input, Input: b.Input, Scope: s.rooms.scope})
			}
		case proto.Ended:
			ended = b
			ended.Text = shown.Result(b.Text)
			continue // told after the costs are booked, with the result
		case proto.Message:
			if o := b.Message.Origin; o == msg.FromTool || o == msg.FromInterrupt {
				open = max(open-1, 0)
				t.result(b.Message)
			}
		}
		s.rooms.events.Hold(ctx)
		if shown == nil {
			s.rooms.events.Tell(e)
			continue
		}
		for _, e := range shown.Pass(ctx, e) {
			s.rooms.events.Tell(e)
		}
	}
	return ended
}

// failureKind is the kind of an error of a model's service in the words hooks know.
func failureKind(kind string) string {
	switch kind {
	case "rate_limit", "overloaded", "authentication_failed", "oauth_org_not_allowed", "billing_error",
		"invalid_request", "model_not_found", "server_error", "max_output_tokens":
		return kind
	}
	return "unknown"
}

// tellFailure tells hooks that the model's service ended the turn.
func (s *Session) tellFailure(ended proto.Ended) {
	if ended.API == nil {
		return
	}
	kind := failureKind(ended.API.Kind)
	s.rooms.hooks.Fire(s.ctx, hook.Event{Name: hook.StopFailure, Match: kind, Fields: map[string]any{
		"error": kind, "error_details": ended.API.Message, "last_assistant_message": "API Error: " + ended.API.Message,
	}})
}

// tell closes the turn for everybody: how it ended, and its result.
func (s *Session) tell(t *turn, ended proto.Ended) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ended.Reason != "" {
		s.rooms.events.Emit(ended)
	}
	c := s.rooms.part.cost.Get()
	r := proto.Result{
		Ended: ended, Text: ended.Text, Usage: t.usage, Denials: t.gate.Denials(), Origin: t.origin,
		Structured: t.structured, Deferred: t.gate.Deferred(),
		DurationMS: s.rooms.clock.now().Sub(t.started).Milliseconds(),
		APIMS:      (c.Durations.API - t.api).Milliseconds(),
		CostUSD:    c.Total.USD.Float(),
		Models:     cost.Models(c, s.rooms.modelInfo),
	}
	if ended.Reason != "" {
		r.Turns = 1 + t.results
	}
	r.Subtype, r.IsError, r.Errors = outcome(ended, s.rooms.opts)
	if ended.API != nil {
		r.Text = "API Error: " + ended.API.Message
	}
	s.rooms.events.Emit(r)
}
