package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// before fires PreToolUse for a call, once, and puts what it rewrote into the call.
func (g *gate) before(ctx context.Context, call *tool.Call) hook.Outcome {
	h := g.s.rooms.hooks
	if !h.Any(hook.PreToolUse) {
		return hook.Outcome{}
	}
	g.mu.Lock()
	o, done := g.hooked[call.ID]
	g.mu.Unlock()
	if !done {
		o = h.Fire(ctx, toolEvent(hook.PreToolUse, *call, map[string]any{"tool_use_id": call.ID}))
		g.s.tellHook(o)
		if o.Guard && o.Decision == "ask" { // a broken guard: nothing but a person may let it through
			o.Reason = orText(o.Reason, "a guarding hook failed")
		}
		if o.Input != nil {
			if t := g.s.rooms.tool(call.Name); t != nil {
				changed := *call
				changed.Literal, changed.Input = o.Input, o.Input
				if fixed, err := t.Normalise(changed); err == nil {
					*call = fixed
				} else {
					o.Decision, o.Reason = "deny", "a hook rewrote the input and "+err.Error()
				}
			}
		}
		if o.Stop && o.Decision == "" {
			o.Decision, o.Reason = "deny", orText(o.StopReason, "a hook stopped the agent")
		}
		g.mu.Lock()
		g.hooked[call.ID] = o
		g.mu.Unlock()
	}
	return o
}

// forget drops what hooks said of the calls of a finished round.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.hooked)
}

// permissionHooks lets the PermissionRequest hooks answer a question.
func (g *gate) permissionHooks(ctx context.Context, q permission.Question) (permission.HookAnswer, error) {
	h := g.s.rooms.hooks
	if !h.Any(hook.PermissionRequest) {
		return permission.HookAnswer{}, nil
	}
	o := h.Fire(ctx, hook.Event{
		Name: hook.PermissionRequest, Match: q.Request.Tool, Tool: q.Request.Tool, Input: q.Request.Input,
		Fields: map[string]any{"tool_name": q.Request.Tool, "tool_input": q.Request.Input, "permission_suggestions": q.Decision.Suggestions},
	})
	g.s.tellHook(o)
	switch {
	case o.Request != nil:
		return permission.HookAnswer{
			Behavior: permission.Behavior(o.Request.Behavior), Message: o.Request.Message, Input: o.Request.Input,
			Updates: o.Request.Updates, Interrupt: o.Request.Interrupt,
		}, nil
	case o.Guard:
		return permission.HookAnswer{}, fmt.Errorf("%s", o.Reason)
	}
	return permission.HookAnswer{}, nil
}

func toolEvent(name hook.Name, call tool.Call, more map[string]any) hook.Event {
	fields := map[string]any{"tool_name": call.Name, "tool_input": call.Input}
	for k, v := range more {
		fields[k] = v
	}
	return hook.Event{Name: name, Match: call.Name, Tool: call.Name, Input: call.Input, Fields: fields}
}

// amend is engine.Config.Amend: the hooks after a call, and what the call changed.
func (s *Session) amend(ctx context.Context, call tool.Call, r tool.Result) (tool.Result, *tool.End, error) {
	s.rooms.booked(call, r)
	r = s.withInstructions(call, r)
	h := s.rooms.hooks
	name := hook.PostToolUse
	more := map[string]any{"tool_use_id": call.ID, "tool_response": responseOf(r)}
	if r.IsError {
		name = hook.PostToolUseFailure
		more = map[string]any{"tool_use_id": call.ID, "error": msg.TextOf(r.Content)}
	}
	if !h.Any(name) {
		return r, nil, nil
	}
	o := h.Fire(ctx, toolEvent(name, call, more))
	r = s.drifted(call, r)
	s.tellHook(o)
	if o.Output != nil && json.Valid(o.Output) && !r.IsError {
		r.Structured = o.Output
		r.Content = []msg.Block{msg.Text{Text: string(o.Output)}}
	}
	if o.Block {
		r.Content = append(r.Content, msg.Text{Text: "A hook objects: " + o.BlockReason})
	}
	r.Content = append(r.Content, reminders(o.Context)...)
	s.noteForClassifier(o.Classifier)
	if o.Stop || o.EndTurn {
		return r, &tool.End{Reason: orText(o.StopReason, orText(o.BlockReason, "a hook ended the turn")), Outcome: string(proto.EndHook)}, nil
	}
	return r, nil, nil
}

// drifted tells the model what a hook (a formatter) made of a file that was just changed.
func (s *Session) drifted(call tool.Call, r tool.Result) tool.Result {
	t := s.rooms.tool(call.Name)
	if t == nil || r.IsError {
		return r
	}
	for _, p := range t.Traits(call).Paths {
		if p.Intent != tool.Write {
			continue
		}
		if text := s.rooms.files.Drift(call.Scope, p.Path); text != "" {
			r.Content = append(r.Content, msg.Text{Text: text})
		}
	}
	return r
}

// responseOf is a result as hooks see it.
func responseOf(r tool.Result) any {
	if len(r.Structured) > 0 {
		return r.Structured
	}
	return msg.TextOf(r.Content)
}

// batch is engine.Config.Batch: the hooks after all calls of a round.
func (s *Session) batch(ctx context.Context, calls []tool.Done) (*tool.End, error) {
	s.rooms.gate.forget()
	for _, c := range calls {
		cost.BookCall(s.part.cost, time.Duration(c.Seconds*float64(time.Second)), cost.Lines{})
	}
	h := s.rooms.hooks
	if !h.Any(hook.PostToolBatch) {
		return nil, nil
	}
	var list []map[string]any
	for _, c := range calls {
		list = append(list, map[string]any{
			"tool_name": c.Call.Name, "tool_input": c.Call.Input, "tool_use_id": c.Call.ID, "tool_response": msg.TextOf(c.Result.Content),
		})
	}
	o := h.Fire(ctx, hook.Event{Name: hook.PostToolBatch, Fields: map[string]any{"tool_calls": list}})
	s.tellHook(o)
	s.later(o.Context...)
	if o.Block || o.Stop || o.EndTurn {
		return &tool.End{Reason: orText(o.StopReason, orText(o.BlockReason, "a hook ended the turn")), Outcome: string(proto.EndHook)}, nil
	}
	return nil, nil
}

// tellHook shows what hooks have for the user.
func (s *Session) tellHook(o hook.Outcome) {
	for _, n := range o.Notices {
		s.emit(proto.Notice{Level: "warning", Text: n})
	}
	for _, m := range o.Messages {
		s.emit(proto.Notice{Level: "info", Text: m})
	}
	if o.Terminal != "" {
		s.emit(proto.Terminal{Sequence: o.Terminal})
	}
	s.rooms.watched.ask(o.WatchPaths)
}

// fire runs the hooks of an event and shows what they have for the user.
func (s *Session) fire(ctx context.Context, e hook.Event) hook.Outcome {
	if !s.rooms.hooks.Any(e.Name) {
		return hook.Outcome{}
	}
	o := s.rooms.hooks.Fire(ctx, e)
	s.tellHook(o)
	return o
}

// loadHooks reads the hooks of the settings in force, and tells what is wrong with them.
func (s *Session) loadHooks(state *config.State) []hook.Problem {
	var sources []hook.Source
	for _, b := range state.Hooks() {
		sources = append(sources, hook.Source{
			Label: label(b.At.Scope), At: b.At, Lines: b.Lines, JSON: b.JSON, Managed: b.At.Scope == origin.Managed,
			Confine: b.At.Scope == origin.Project || b.At.Scope == origin.Local,
		})
	}
	_, at, off := config.Value[bool](state, "disableAllHooks")
	off = off && setting(state, "disableAllHooks", false)
	wrong := s.rooms.hooks.Load(sources, hook.Switches{
		All: off && at.Scope == origin.Managed, Ordinary: off && at.Scope != origin.Managed,
		ManagedOnly: setting(state, "allowManagedHooksOnly", false), PluginsOnly: pluginsOnly(state, "hooks"),
	})
	s.rooms.watched.name(hook.WatchNames(s.rooms.hooks.Handlers()))
	return wrong
}

// pluginsOnly says whether a kind of customization may come from plugins and the administrator alone.
func pluginsOnly(state *config.State, kind string) bool {
	const key = "strictPluginOnlyCustomization"
	return setting(state, key, false) || slices.Contains(setting[[]string](state, key, nil), kind)
}

func label(scope origin.Scope) string {
	switch scope {
	case origin.Managed, origin.Policy:
		return "Managed"
	case origin.User:
		return "User"
	case origin.Project:
		return "Project"
	case origin.Local:
		return "Local"
	}
	return "Flag"
}

// vetoConfig lets ConfigChange hooks keep a changed settings file from taking effect.
func (s *Session) vetoConfig(ctx context.Context, change config.Change) error {
	if s.rooms.hooks == nil {
		return nil
	}
	for _, src := range change.Files {
		what := string(src.Scope) + "_settings"
		o := s.fire(ctx, hook.Event{Name: hook.ConfigChange, Match: what, Fields: map[string]any{"source": what, "file_path": src.Path}})
		if o.Block {
			s.emit(proto.Notice{Level: "warning", Text: "A hook keeps the change of " + src.Path + " from taking effect."})
			return fmt.Errorf("a hook refused it")
		}
	}
	return nil
}
