package gate

import (
	"context"
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// before fires PreToolUse for a call, once. An input that hooks want in place of the model's is taken over
// by [walk.rule].
func (w *walk) before(ctx context.Context, call tool.Call) {
	p := w.p
	if p.fired {
		return
	}
	o := w.fire(ctx, callEvent(hook.PreToolUse, call, map[string]any{"tool_use_id": call.ID}))
	if ctx.Err() != nil {
		return // whoever was cut short has not spoken
	}
	if o.Guard && o.Decision == "ask" { // a broken guard: nothing but a person may let it through
		o.Reason = orText(o.Reason, "a guarding hook failed")
	}
	if o.Stop && o.Decision == "" {
		o.Decision, o.Reason = "deny", orText(o.StopReason, "a hook stopped the agent")
	}
	p.fired, p.hooked, p.own = true, o, call.Literal
	if o.Input != nil {
		p.own = o.Input
		if !call.Holds(o.Input) {
			p.rewrite = o.Input
		}
	}
}

// fire runs the hooks of an event and shows what they have for people.
func (g *Gate) fire(ctx context.Context, e hook.Event) hook.Outcome {
	h := g.given.Hooks()
	if !h.Any(e.Name) {
		return hook.Outcome{}
	}
	o := h.Fire(ctx, e)
	g.given.TellHook(o)
	return o
}

// hooks lets the PermissionRequest hooks answer a question. They answer everything but what only a person
// can, and what a hook before the call asked for; a deny of theirs always counts. A guard that fails approves
// nothing.
func (w *walk) hooks(ctx context.Context, q permission.Question) (out permission.Outcome, done bool, err error) {
	o := w.fire(ctx, hook.Event{
		Name: hook.PermissionRequest, Match: q.Request.Tool, Tool: q.Request.Tool, Input: q.Request.Input,
		Fields: map[string]any{"tool_name": q.Request.Tool, "tool_input": q.Request.Input, "permission_suggestions": q.Decision.Suggestions},
	})
	if ctx.Err() != nil {
		return out, false, context.Cause(ctx)
	}
	a := o.Request
	if a == nil {
		return out, false, nil
	}
	out = permission.Outcome{
		Behavior: permission.Behavior(a.Behavior), Reason: permission.Reason{Kind: permission.ByHook, Text: "answered by a hook"},
		Input: a.Input, Updates: a.Updates, By: "hook", Confine: q.Decision.Confine,
	}
	switch out.Behavior {
	case permission.Allow:
		return out, !q.Decision.NeedsPerson && w.p.hooked.Decision != "ask", nil
	case permission.Deny:
		out.Input, out.Updates, out.Message = nil, nil, a.Message
		if a.Message != "" {
			out.Reason.Text = a.Message
		}
		if a.Interrupt {
			out.End = "a hook ended the turn"
		}
		return out, true, nil
	}
	return permission.Outcome{}, false, nil
}

func callEvent(name hook.Name, call tool.Call, more map[string]any) hook.Event {
	fields := map[string]any{"tool_name": call.Name, "tool_input": call.Input}
	for k, v := range more {
		fields[k] = v
	}
	return hook.Event{Name: name, Match: call.Name, Tool: call.Name, Input: call.Input, Fields: fields}
}

// Amend runs the hooks after a call, which may add to its result or replace it.
func (g *Gate) Amend(ctx context.Context, call tool.Call, r tool.Result) (tool.Result, *tool.End, error) {
	name, more := hook.PostToolUse, map[string]any{"tool_use_id": call.ID, "tool_response": response(r)}
	if r.IsError {
		name, more = hook.PostToolUseFailure, map[string]any{"tool_use_id": call.ID, "error": msg.TextOf(r.Content)}
	}
	if !g.given.Hooks().Any(name) {
		return r, nil, nil
	}
	o := g.given.Hooks().Fire(ctx, callEvent(name, call, more))
	r = g.drifted(call, r)
	g.given.TellHook(o)
	if o.Output != nil && json.Valid(o.Output) && !r.IsError {
		r.Structured = o.Output
		r.Content = []msg.Block{msg.Text{Text: string(o.Output)}}
	}
	if o.Block {
		r.Content = append(r.Content, msg.Text{Text: "A hook objects: " + o.BlockReason})
	}
	r.Content = append(r.Content, msg.Reminders(o.Context)...)
	g.given.Note(o.Classifier)
	return r, ended(o), nil
}

func ended(o hook.Outcome) *tool.End {
	if !o.Stop && !o.EndTurn {
		return nil
	}
	return &tool.End{Reason: orText(o.StopReason, orText(o.BlockReason, "a hook ended the turn")), Outcome: string(proto.EndHook)}
}

// drifted tells the model what a hook (a formatter) made of a file that was just changed.
func (g *Gate) drifted(call tool.Call, r tool.Result) tool.Result {
	t := g.given.Tool(call.Name)
	if t == nil || r.IsError {
		return r
	}
	for _, p := range t.Traits(call).Paths {
		if p.Intent != tool.Write {
			continue
		}
		if text := g.given.Drift(call.Scope, p.Path); text != "" {
			r.Content = append(r.Content, msg.Text{Text: text})
		}
	}
	return r
}

// response is a result as hooks see it.
func response(r tool.Result) any {
	if len(r.Structured) > 0 {
		return r.Structured
	}
	return msg.TextOf(r.Content)
}

// Batch closes a round: what was kept of its calls is dropped, and the hooks after all of them run.
func (g *Gate) Batch(ctx context.Context, calls []tool.Done) *tool.End {
	g.forget()
	if !g.given.Hooks().Any(hook.PostToolBatch) {
		return nil
	}
	var list []map[string]any
	for _, c := range calls {
		list = append(list, map[string]any{
			"tool_name": c.Call.Name, "tool_input": c.Call.Input, "tool_use_id": c.Call.ID, "tool_response": msg.TextOf(c.Result.Content),
		})
	}
	o := g.fire(ctx, hook.Event{Name: hook.PostToolBatch, Fields: map[string]any{"tool_calls": list}})
	g.given.Later(o.Context...)
	o.EndTurn = o.EndTurn || o.Block
	return ended(o)
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
