package app

import (
	"context"
	"fmt"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/app/tasks"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/tools/structured"
)

// turns is what happens around the turns of the main conversation: the questions before the first, and the
// hooks before and after each. The conversation's worker alone calls it.
type turns struct {
	settings     *settings
	consent      *consent
	permission   store.Slice[permission.State]
	session      store.Slice[session.State]
	events       *events.Stream
	hooks        *hooks
	instructions *instructions
	tasks        *tasks.Tasks
	history      *transcript.History                           // of prompts
	output       *structured.Output                            // nil: no schema was given
	rename       func(title string)                            // of the conversation; empty changes nothing
	recall       func(ctx context.Context, prompt []msg.Block) // of what the agent noted

	source string // of the SessionStart hooks that are still to fire
	setup  string // trigger of the Setup hooks that are still to fire
}

// open comes before the messages of a turn.
func (t *turns) open(ctx context.Context, prompted bool) (out conversation.Opening) {
	t.consent.before(ctx)
	if t.output != nil {
		t.output.Begin()
	}
	t.permission.Set(func(p *permission.State) *permission.State { return p.NewTurn(prompted) })
	out.Context = append(t.setupHooks(ctx), t.instructions.changed()...)
	start := t.startHooks(ctx)
	out.Context = append(out.Context, start.Context...)
	if !t.session.Get().Interactive {
		out.Prompt = start.InitialMessage
	}
	return out
}

// submit lets the UserPromptSubmit hooks add to a prompt or block it.
func (t *turns) submit(ctx context.Context, content []msg.Block) conversation.Submitted {
	text := msg.TextOf(content)
	o := t.hooks.Fire(ctx, hook.Event{Name: hook.UserPromptSubmit, Fields: t.titled(map[string]any{"prompt": text})})
	t.rename(o.Title)
	if !o.Block && !o.Stop && !o.EndTurn {
		t.recall(ctx, content)
		return conversation.Submitted{Context: o.Context}
	}
	reason := orText(o.BlockReason, o.StopReason)
	notice := "A hook blocked the prompt: " + reason
	if !o.SuppressPrompt {
		notice += "\nThe prompt was: " + msg.Cut(text, 2000)
	}
	return conversation.Submitted{Notice: notice, Ended: &proto.Ended{Reason: proto.EndHook, Detail: reason, Text: reason}}
}

// startHooks fires SessionStart, once a session and source.
func (t *turns) startHooks(ctx context.Context) hook.Outcome {
	source := t.source
	if source == "" {
		return hook.Outcome{}
	}
	t.source = ""
	o := t.hooks.Fire(ctx, hook.Event{Name: hook.SessionStart, Match: source, Fields: t.titled(map[string]any{
		"source": source, "model": t.session.Get().Model,
	})})
	if source != "clear" && source != "compact" {
		t.rename(o.Title)
	}
	return o
}

// setupHooks fires Setup, once, where the program was started to prepare or to tend the project.
func (t *turns) setupHooks(ctx context.Context) []string {
	trigger := t.setup
	if t.setup = ""; trigger == "" {
		return nil
	}
	return t.hooks.Fire(ctx, hook.Event{Name: hook.Setup, Match: trigger, Fields: map[string]any{"trigger": trigger}}).Context
}

// compacted sees to what a compaction changes beside the conversation.
func (t *turns) compacted(ctx context.Context) []string {
	t.instructions.reload()
	t.permission.Set(func(p *permission.State) *permission.State { return p.NewContent(true) })
	t.source = "compact"
	return t.startHooks(ctx).Context
}

// titled adds the session's title to the fields of an event, where it has one.
func (t *turns) titled(fields map[string]any) map[string]any {
	now := t.session.Get()
	if title := orText(now.Name, now.Title); title != "" {
		fields["session_title"] = title
	}
	return fields
}

// owed is what the model must be reminded of before it ends.
func (t *turns) owed() string {
	if t.output == nil || t.output.Given() {
		return ""
	}
	return structured.Reminder
}

// stop lets the Stop hooks make the turn go on, up to a limit.
func (t *turns) stop(ctx context.Context, turn engine.Turn) (engine.Stopping, error) {
	if !t.hooks.Any(hook.Stop) {
		return engine.Stopping{}, nil
	}
	last := ""
	for _, m := range turn.Answer {
		if m.Role == msg.Assistant {
			last += msg.TextOf(m.Content)
		}
	}
	o := t.hooks.Fire(ctx, hook.Event{Name: hook.Stop, Fields: map[string]any{
		"stop_hook_active": turn.Continued > 0, "last_assistant_message": last,
		"background_tasks": t.tasks.Background(), "session_crons": []any{},
	}})
	limit := numbered(t.settings.env(), "MYELIN_STOP_HOOK_BLOCK_CAP", 8)
	switch {
	case o.Stop:
		return engine.Stopping{End: &tool.End{Reason: o.StopReason, Outcome: string(proto.EndHook)}}, nil
	case !o.Block && len(o.Context) == 0:
		return engine.Stopping{}, nil
	case limit > 0 && turn.Continued >= limit:
		t.events.Emit(proto.Notice{Level: "warning", Text: fmt.Sprintf("A Stop hook made the turn go on %d times in a row; it ends now.", limit)})
		return engine.Stopping{}, nil
	case o.Block:
		return engine.Stopping{Again: []msg.Message{{
			Role: msg.User, Origin: msg.FromHarness, Content: []msg.Block{msg.Text{Text: "Stop hook feedback:\n" + o.BlockReason}},
		}}}, nil
	}
	return engine.Stopping{Again: msg.Reminder(o.Context)}, nil
}

// failed tells hooks that the model's service ended the turn.
func (t *turns) failed(ctx context.Context, ended proto.Ended) {
	if ended.API == nil {
		return
	}
	kind := hook.FailureKind(ended.API.Kind)
	t.hooks.Fire(ctx, hook.Event{Name: hook.StopFailure, Match: kind, Fields: map[string]any{
		"error": kind, "error_details": ended.API.Message, "last_assistant_message": "API Error: " + ended.API.Message,
	}})
}

// display returns what lets the MessageDisplay hooks rewrite what is shown; nil: none wants to.
func (t *turns) display(turn string) func(context.Context, conversation.Batch) *string {
	if !t.hooks.Any(hook.MessageDisplay) {
		return nil
	}
	return func(ctx context.Context, b conversation.Batch) *string {
		return t.hooks.Fire(ctx, hook.Event{Name: hook.MessageDisplay, Fields: map[string]any{
			"turn_id": turn, "message_id": b.Message, "index": b.Index, "final": b.Final, "delta": b.Text,
		}}).Display
	}
}
