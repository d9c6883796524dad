package app

import (
	"context"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/app/summary"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/tools/plan"
)

// newConversation binds a conversation to the rooms of its session: the main one, or an agent's, which has
// its own scope and slices and takes no part in what is the session's. It ends with ctx.
func newConversation(ctx context.Context, r *rooms, scope *tool.Scope, own agentSlices) *conversation.Conversation {
	purse := r.limits.spending.Purse(scope.Agent)
	g := conversation.Given{
		Context: ctx, Scope: scope, Effects: r.clock.Effects, Limits: func() engine.Limits { return engineLimits(r.opts, r.settings.env()) },
		Session: own.session, Cost: r.part.cost, Shaping: shapingConfig(r, own.shaping),
		Stream: conversation.Stream{Tell: r.events.Tell, Early: r.events.Early, Hold: r.events.Hold},
		Model: conversation.Model{
			Now: r.models.round, Info: r.models.info, Mode: r.rights.mode,
			System: func(ctx context.Context) ([]msg.Block, error) { return system(ctx, r) },
			Tools:  func() []tool.Tool { return r.pool.Offer() },
			Names:  func() []string { return r.pool.Names() },
			Front: func(ctx context.Context, messages []msg.Message) ([]msg.Message, error) {
				return r.instructions.prompt.InFront(ctx, messages)
			},
			Ask: func(ctx context.Context, req provider.Request) ([]msg.Block, error) {
				return r.models.ask(ctx, r.models.now(), req, "")
			},
		},
		Budget: conversation.Budget{
			May: func(ctx context.Context) *proto.Ended {
				ended := r.limits.mayAsk(ctx, r.models.now().Info().Ref())
				if why := purse.UsedUp(); ended == nil && why != "" {
					ended = &proto.Ended{Reason: proto.EndBudget, Detail: why}
				}
				return ended
			},
			Admit: purse.Admit, After: purse.After, Spent: purse.Spent,
		},
		Calls: func() conversation.Calls { return calls(r) },
	}
	if scope.Agent == "" {
		g.Turns, g.Budget.Account = turnsOf(r), r.limits.spending.Account
	}
	return conversation.New(g)
}

// agentSlices are the slices of state that every conversation has of its own.
type agentSlices struct {
	session session.Slice
	shaping shapingSlice
}

// turnsOf is what happens around turns of the main conversation.
func turnsOf(r *rooms) conversation.Turns {
	t := r.turns
	out := conversation.Turns{
		Command: func(p proto.Prompt) *conversation.Command { return commandOf(r, p) },
		Queued:  func(p proto.Prompt) { queued(r, p) },
		Open:    t.open, Submit: t.submit, Owed: t.owed, Stop: t.stop, Display: t.display,
		Compacted: func(ctx context.Context) []string {
			r.pool.Compacted()
			return t.compacted(ctx)
		},
		Bordered: func(made []string) {
			undo := summary.Undo{Before: r.part.transcript.Get().LastID, Made: made}
			r.main.Keep(summary.NoteKind, summary.NoteKind, undo)
		},
		Ended: func(ended proto.Ended, view []msg.Message) {
			if view != nil {
				r.instructions.prompt.Measure(r.pool.Offer(), view)
			}
			t.failed(r.ctx, ended)
		},
		EndsTurn: func(name string) bool { return r.pool.EndsTurn(name) },
	}
	if r.opts.Interactive {
		out.Idle = func() { r.hooks.notifyAfter(idleWait, idleKey, "idle_prompt", "Myelin waits for your next prompt.") }
	}
	return out
}

// calls are the doors of one turn to the gate.
func calls(r *rooms) conversation.Calls {
	g, turn := r.gate, &gate.Turn{}
	return conversation.Calls{
		Announced: func(ctx context.Context, call tool.Call, beside bool) {
			r.pool.Called(call.Name)
			if beside { // it waits, or runs beside others; the first is decided at once
				g.Speculate(ctx, call)
			}
		},
		Authorize: func(ctx context.Context, call tool.Call, traits tool.Traits) (engine.Verdict, error) {
			return g.Authorize(ctx, turn, call, traits)
		},
		Amend: func(ctx context.Context, call tool.Call, result tool.Result) (tool.Result, *tool.End, error) {
			booked(r, call, result)
			return g.Amend(ctx, call, r.instructions.with(call, result))
		},
		Batch: func(ctx context.Context, done []tool.Done) (*tool.End, error) {
			for _, c := range done {
				cost.BookCall(r.part.cost, time.Duration(c.Seconds*float64(time.Second)), cost.Lines{})
			}
			return g.Batch(ctx, done), nil
		},
		Outcome: func() ([]proto.Denial, *proto.DeferredCall) { return turn.Denials(), turn.Deferred() },
	}
}

// booked keeps what a call changed beside its result: lines, time, working directory.
func booked(r *rooms, call tool.Call, res tool.Result) {
	cost.BookCall(r.part.cost, 0, cost.Lines{Added: res.Added, Removed: res.Removed})
	if r.models.recorder != nil {
		r.models.recorder.Result(call.ID, call.Name, res.Content, res.IsError, 0)
	}
	old := call.Scope.Cwd()
	if res.Cwd == "" || res.Cwd == old {
		return
	}
	call.Scope.SetCwd(res.Cwd)
	if call.Scope.Agent == "" {
		session.SetCwd(r.part.session, res.Cwd)
	}
	r.hooks.Fire(r.ctx, hook.Event{Name: hook.CwdChanged, Fields: map[string]any{"old_cwd": old, "new_cwd": res.Cwd}})
}

// system is the system prompt, and in plan mode what holds there.
func system(ctx context.Context, r *rooms) ([]msg.Block, error) {
	blocks, err := r.instructions.prompt.System(ctx)
	if err == nil && r.rights.planning() {
		blocks = append(slices.Clone(blocks), msg.Text{Text: plan.Instructions(r.rights.planFile())})
	}
	return blocks, err
}

// engineLimits bound the run of one turn.
func engineLimits(o Options, env config.Environ) engine.Limits {
	l := engine.Limits{
		Rounds: o.MaxTurns, Retries: retries(env), Beside: numbered(env, "MYELIN_MAX_TOOL_USE_CONCURRENCY", 0),
		Idle: time.Duration(numbered(env, "CLAUDE_STREAM_IDLE_TIMEOUT_MS", 0)) * time.Millisecond, Wait: time.Minute,
		StreamOnly: flagged(env, "MYELIN_DISABLE_NONSTREAMING_FALLBACK"),
	}
	if o.Interactive || flagged(env, "MYELIN_RETRY_WATCHDOG") { // a person sees it and can end it, or it was asked for
		l.Wait = 0
	}
	return l
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

// scene is what the classifier may see: the user's words, the agent's calls, and what the request is about.
func scene(ctx context.Context, r *rooms, req permission.Request) permission.Scene {
	out := r.main.Scene()
	out.Instructions = r.instructions.texts(ctx)
	if permission.DiscardsWork(req.Traits.Command) {
		out.GitStatus = gitStatus(ctx, r)
	}
	return out
}
