package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/tools/plan"
	"github.com/myelin-agent/myelin/internal/tools/structured"
)

// engineConfig is what the engine is given for one turn.
func (s *Session) engineConfig(t *turn) engine.Config {
	r := s.rooms
	cfg := engine.Config{
		Model:  s.modelNow,
		System: s.system,
		Tools:  r.pool.Offer,
		Shape:  s.shape(t),
		Admit:  s.rooms.limits.spending.Admit,
		Record: r.record,
		Sync:   func(context.Context) error { return s.durable() },
		Steer:  s.steer,
		Stop:   s.stopping(t),
		Spent: func(x engine.Spending) {
			s.rooms.limits.spending.Spent(x)
			t.usage = t.usage.Add(x.Usage)
		},
		Late:    s.late,
		Keep:    func(history []msg.Message) { s.history = history },
		Kept:    &s.kept,
		Agent:   s.rooms.scope,
		Effects: s.rooms.clock.Effects,
		Limits: engine.Limits{
			Rounds: s.rooms.opts.MaxTurns, Retries: retries(r.settings.env()), Beside: numbered(r.settings.env(), "MYELIN_MAX_TOOL_USE_CONCURRENCY", 0),
			Idle:       time.Duration(numbered(r.settings.env(), "CLAUDE_STREAM_IDLE_TIMEOUT_MS", 0)) * time.Millisecond,
			Wait:       s.longestWait(),
			StreamOnly: flagged(r.settings.env(), "MYELIN_DISABLE_NONSTREAMING_FALLBACK"),
		},
	}
	s.gated(&cfg, t)
	return cfg
}

// durable makes the transcript durable.
func (s *Session) durable() error {
	if err := s.rooms.transcript().Sync(); err != nil {
		return fmt.Errorf("make the transcript durable: %w", err)
	}
	return nil
}

// longestWait is how long a service may make the session wait: for ever where a person sees it and
// can end it, or where it was asked for.
func (s *Session) longestWait() time.Duration {
	if s.rooms.opts.Interactive || flagged(s.rooms.settings.env(), "MYELIN_RETRY_WATCHDOG") {
		return 0
	}
	return time.Minute
}

// retries reads how often a failing request is tried again.
func retries(env config.Environ) int {
	if _, ok := env.Get("MYELIN_MAX_RETRIES"); !ok {
		return 0 // the engine's own number
	}
	if n := min(numbered(env, "MYELIN_MAX_RETRIES", 10), 15); n > 0 {
		return n
	}
	return -1
}

// modelNow is the model of the next round with its options.
func (s *Session) modelNow() (provider.Model, provider.Options) {
	now := s.rooms.part.session.Get()
	opts := provider.Options{
		MaxTokens: s.rooms.opts.MaxTokens, UserSetMaximum: s.rooms.opts.MaxTokens > 0, Effort: now.Effort, Betas: s.rooms.opts.Betas,
		SessionID: now.ID, NoCache: flagged(s.rooms.settings.env(), "DISABLE_PROMPT_CACHING"),
	}
	if n := numbered(s.rooms.settings.env(), "MYELIN_MAX_OUTPUT_TOKENS", 0); opts.MaxTokens == 0 && n > 0 {
		opts.MaxTokens, opts.UserSetMaximum = n, true
	}
	if budget := s.thinking.Load(); budget != nil {
		opts.Thinking = *budget
		if *budget == 0 {
			opts.Thinking = -1
		}
	}
	for _, ref := range now.FallbackModels {
		if m := s.rooms.models.ref(ref); m != nil && s.rooms.limits.forbiddenModel(ref) == "" {
			opts.Fallbacks = append(opts.Fallbacks, m)
		}
	}
	return s.rooms.models.now(), opts
}

// system is the system prompt, and in plan mode what holds there.
func (s *Session) system(ctx context.Context) ([]msg.Block, error) {
	blocks, err := s.rooms.instructions.prompt.System(ctx)
	if err == nil && s.rooms.rights.planning() {
		blocks = append(slices.Clone(blocks), msg.Text{Text: plan.Instructions(s.rooms.rights.planFile())})
	}
	return blocks, err
}

// shape fits the history in, and sees to what a compaction changes elsewhere.
func (s *Session) shape(t *turn) func(context.Context, []msg.Message, engine.Pressure) (engine.View, error) {
	return func(ctx context.Context, history []msg.Message, p engine.Pressure) (engine.View, error) {
		v, err := s.rooms.shaper.Shape(ctx, history, p)
		if err == nil && v.History != nil {
			s.compacted(v)
		}
		s.remember(history)
		if err == nil {
			t.view = v.Messages
			v.Messages, err = s.rooms.instructions.prompt.InFront(ctx, v.Messages)
		}
		return v, err
	}
}

// stopping is engine.Config.Stop: budgets after every answer, the output that is owed and the stop
// hooks when the turn is about to end.
func (s *Session) stopping(t *turn) func(context.Context, engine.Turn) (engine.Stopping, error) {
	return func(ctx context.Context, turn engine.Turn) (engine.Stopping, error) {
		if end := s.rooms.limits.spending.After(s.rooms.models.now().Info(), turn.Calls > 0); end != nil {
			return engine.Stopping{End: end}, nil
		}
		if turn.Calls > 0 {
			return engine.Stopping{}, nil
		}
		if o := s.rooms.output; o != nil && !o.Given() && !t.reminded {
			t.reminded = true
			return again(structured.Reminder), nil
		}
		return s.stopHooks(ctx, turn)
	}
}

func again(text string) engine.Stopping {
	return engine.Stopping{Again: []msg.Message{{Role: msg.User, Origin: msg.FromHarness, Content: []msg.Block{msg.Text{Text: text}}}}}
}

// stopHooks lets the Stop hooks make the turn go on, up to a limit.
func (s *Session) stopHooks(ctx context.Context, turn engine.Turn) (engine.Stopping, error) {
	if !s.rooms.hooks.Any(hook.Stop) {
		return engine.Stopping{}, nil
	}
	o := s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.Stop, Fields: map[string]any{
		"stop_hook_active": turn.Continued > 0, "last_assistant_message": textOf(turn.Answer),
		"background_tasks": s.rooms.tasks.background(), "session_crons": []any{},
	}})
	limit := numbered(s.rooms.settings.env(), "MYELIN_STOP_HOOK_BLOCK_CAP", 8)
	switch {
	case o.Stop:
		return engine.Stopping{End: &tool.End{Reason: o.StopReason, Outcome: string(proto.EndHook)}}, nil
	case !o.Block && len(o.Context) == 0:
		return engine.Stopping{}, nil
	case limit > 0 && turn.Continued >= limit:
		s.rooms.events.Emit(proto.Notice{Level: "warning", Text: fmt.Sprintf("A Stop hook made the turn go on %d times in a row; it ends now.", limit)})
		return engine.Stopping{}, nil
	case o.Block:
		return again("Stop hook feedback:\n" + o.BlockReason), nil
	}
	return engine.Stopping{Again: reminder(o.Context)}, nil
}

func textOf(answer []msg.Message) string {
	out := ""
	for _, m := range answer {
		if m.Role == msg.Assistant {
			out += msg.TextOf(m.Content)
		}
	}
	return out
}

// late tells the model of a call that ended after it was given up.
func (s *Session) late(d tool.Done) {
	s.later(fmt.Sprintf("The interrupted call %s of %s has ended after all: %s", d.Call.ID, d.Call.Name, msg.Cut(msg.TextOf(d.Result.Content), 2000)))
}

// opening turns prompts into the messages that open the turn; hooks may add to them or block them.
func (s *Session) opening(ctx context.Context, t *turn, batch []proto.Prompt, owed []msg.Message) ([]msg.Message, *proto.Ended) {
	s.rooms.consent.before(ctx)
	if s.rooms.output != nil {
		s.rooms.output.Begin()
	}
	s.rooms.part.permission.Set(func(p *permission.State) *permission.State { return p.NewTurn(len(batch) > 0) })
	out := owed
	extra := append(s.takeAside(), s.setupHooks(ctx)...)
	extra = append(extra, s.rooms.instructions.changed()...)
	start := s.startHooks(ctx)
	extra = append(extra, start.Context...)
	if start.InitialMessage != "" && !s.rooms.opts.Interactive {
		batch = append([]proto.Prompt{{ID: s.rooms.clock.newID(), Content: []msg.Block{msg.Text{Text: start.InitialMessage}}}}, batch...)
	}
	for _, p := range batch {
		s.prompts.Add(1)
		m := msg.Message{ID: p.ID, Role: msg.User, Content: p.Content}
		o := s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.UserPromptSubmit, Fields: s.titled(map[string]any{"prompt": msg.TextOf(p.Content)})})
		s.retitle(o.Title)
		if o.Block || o.Stop || o.EndTurn {
			s.started(t, batch)
			reason := orText(o.BlockReason, o.StopReason)
			text := "A hook blocked the prompt: " + reason
			if !o.SuppressPrompt {
				text += "\nThe prompt was: " + msg.Cut(msg.TextOf(p.Content), 2000)
			}
			s.rooms.events.Emit(proto.Notice{Level: "warning", Key: "prompt_blocked", Text: text})
			return nil, &proto.Ended{Reason: proto.EndHook, Detail: reason, Text: reason}
		}
		extra = append(extra, o.Context...)
		out = append(out, m)
		s.rooms.rights.notes.Recall(ctx, p.Content)
	}
	s.started(t, batch)
	return append(out, reminder(extra)...), nil
}

// startHooks fires SessionStart, once a session and source.
func (s *Session) startHooks(ctx context.Context) hook.Outcome {
	source := s.rooms.source
	if source == "" {
		return hook.Outcome{}
	}
	s.rooms.source = ""
	o := s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.SessionStart, Match: source, Fields: s.titled(map[string]any{
		"source": source, "model": s.rooms.part.session.Get().Model,
	})})
	if source != "clear" && source != "compact" {
		s.retitle(o.Title)
	}
	return o
}

// setupHooks fires Setup, once, where the program was started to prepare or to tend the project.
func (s *Session) setupHooks(ctx context.Context) []string {
	trigger := s.rooms.opts.Setup
	if s.rooms.opts.Setup = ""; trigger == "" {
		return nil
	}
	return s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.Setup, Match: trigger, Fields: map[string]any{"trigger": trigger}}).Context
}

// titled adds the session's title to the fields of an event, where it has one.
func (s *Session) titled(fields map[string]any) map[string]any {
	now := s.rooms.part.session.Get()
	if title := orText(now.Name, now.Title); title != "" {
		fields["session_title"] = title
	}
	return fields
}

// retitle gives the session the name a hook wants; empty changes nothing.
func (s *Session) retitle(title string) {
	if title == "" {
		return
	}
	session.Rename(s.rooms.part.session, title)
	if err := s.rooms.transcript().SetTitle(title); err != nil {
		s.rooms.events.Emit(proto.Notice{Level: "warning", Key: "title", Text: err.Error()})
	}
}
