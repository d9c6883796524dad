package app

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// gate is where calls are authorised: hooks, then rules and safety checks, then whoever settles
// what is asked. It decides nothing itself.
type gate struct {
	s        *Session
	compiled permission.Compiled
	ledger   permission.Ledger
	early    permission.Speculations

	mu      sync.Mutex              // guards the rest
	hooked  map[string]hook.Outcome // what PreToolUse said, by call: a call that is authorised twice fires once
	changed chan struct{}           // closed at the next change of rules or mode
}

func newGate(s *Session) *gate {
	return &gate{s: s, hooked: map[string]hook.Outcome{}, changed: make(chan struct{})}
}

// tightened tells open questions that rules or mode changed.
func (g *gate) tightened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
	g.early.DropAll()
}

func (g *gate) watch() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// authorize is engine.Config.Authorize of the main conversation.
func (g *gate) authorize(t *turn) func(context.Context, tool.Call) (engine.Verdict, error) {
	return func(ctx context.Context, call tool.Call) (engine.Verdict, error) {
		literal := call.Literal
		hooked := g.before(ctx, &call)
		if ctx.Err() != nil {
			return engine.Verdict{}, context.Cause(ctx)
		}
		if hooked.Decision == "defer" {
			return g.deferred(t, call), nil
		}
		req := g.request(call)
		if g.s.rooms.readOnly.Load() && !req.Traits.ReadOnly && !req.Traits.NoEffect {
			return g.refused(t, call, permission.Outcome{Message: "The folder is not trusted: nothing is changed in it.", Reason: permission.Reason{Kind: permission.ByOther, Text: "the folder is not trusted"}}), nil
		}
		q := permission.Question{ID: g.s.effects.NewID(), CallID: call.ID, Agent: call.Scope.Agent, Request: req}
		if hooked.Decision != "" {
			q.Decision = permission.AfterHook(g.decide(req), permission.Behavior(hooked.Decision), hooked.Reason)
		}
		out, err := g.handler(t, call).Settle(ctx, q)
		if err != nil {
			return engine.Verdict{}, err
		}
		g.ledger.Add(permission.NewEntry(g.s.effects.Now(), q, g.s.part.permission.Get().Mode, out))
		v := g.verdict(t, call, literal, out)
		if out.Behavior != permission.Allow && out.Reason.Kind == permission.ByClassifier {
			v.Message += g.denied(ctx, call, out.Reason.Text)
		}
		v.Note = append(v.Note, reminders(hooked.Context)...)
		if hooked.Stop || hooked.EndTurn {
			v.End = &tool.End{Reason: orText(hooked.StopReason, "a hook ended the turn"), Outcome: string(proto.EndHook)}
		}
		return v, nil
	}
}

// request describes a call for the decision.
func (g *gate) request(call tool.Call) permission.Request {
	req := permission.Request{Tool: call.Name, Literal: call.Literal, Input: call.Input, Cwd: call.Scope.Cwd()}
	if t := g.s.rooms.tool(call.Name); t != nil {
		req.Traits = t.Traits(call)
	}
	return req
}

// decide decides under the rules and the mode of this moment. Input that somebody changed is
// normalised first, so that what is decided is what runs.
func (g *gate) decide(req permission.Request) permission.Decision {
	p := g.policy()
	if req.Traits.Command != "" { // only shell commands are confined, and only they need to know what the machine can do
		p.Sandbox = g.s.rooms.box.Policy()
	}
	return permission.Decide(req, p)
}

// again decides about a call whose input may have been changed.
func (g *gate) again(call tool.Call) func(permission.Request) permission.Decision {
	return func(req permission.Request) permission.Decision {
		if !bytes.Equal(req.Literal, call.Literal) {
			if t := g.s.rooms.tool(call.Name); t != nil {
				changed := call
				changed.Literal, changed.Input = req.Literal, req.Literal
				if fixed, err := t.Normalise(changed); err == nil {
					req = g.request(fixed)
				}
			}
		}
		return g.decide(req)
	}
}

// policy is what every decision depends on.
func (g *gate) policy() permission.Policy {
	s, st := g.s, g.s.part.permission.Get()
	dirs := g.dirs()
	return permission.Policy{
		Rules: g.compiled.Rules(st, permission.Env{Dirs: dirs, Resolve: permission.ResolveLinks}),
		Mode:  st.Mode, Dirs: dirs, Resolve: permission.ResolveLinks, Files: permission.Disk(),
		AutoAvailable: st.AutoAvailable, AutoInPlan: setting(s.config(), "useAutoModeDuringPlan", true),
		ManagedOnly:   setting(s.config(), "allowManagedPermissionRulesOnly", false),
		ClassifyShell: s.autoRules().ClassifyAllShell,
	}
}

func (g *gate) dirs() permission.Dirs {
	s := g.s
	p := s.rooms.settings.places
	return permission.Dirs{
		Cwd: p.Start, Project: s.part.session.Get().ProjectRoot, Home: p.UserHome, More: s.part.permission.Get().WorkDirs(),
		Protected: []string{p.Home, p.StateFile}, PlanFile: s.planFile(), Temp: s.rooms.temp(),
	}
}

// handler settles what is asked.
func (g *gate) handler(t *turn, call tool.Call) *permission.Handler {
	s := g.s
	h := &permission.Handler{
		Branch: permission.Alone, Decide: g.again(call), Changed: g.watch, Hooks: g.permissionHooks, Refusals: &t.refusals,
		NoReadOnly: g.planShell(call) && !s.rooms.box.ReadOnly(),
		Allowed: func() {
			s.part.permission.Set(func(p *permission.State) *permission.State { return p.Allowed() })
		},
	}
	if s.opts.Answers {
		h.Branch, h.Ask = permission.Interactive, g.ask
	}
	if s.part.permission.Get().AutoAvailable {
		h.Classify, h.Blocked = g.classify, g.blocked
	}
	return h
}

// planShell says whether a call is a shell command in plan mode.
func (g *gate) planShell(call tool.Call) bool { return call.Name == bash.Name && g.s.planning() }

// ask puts a question. Questions that are no permission in themselves get their own kind, so that
// surfaces show a form or a plan.
func (g *gate) ask(ctx context.Context, a proto.Ask) (proto.Answer, error) {
	switch a.Tool {
	case "AskUserQuestion":
		a.Kind = proto.AskQuestion
	case "ExitPlanMode":
		a.Kind = proto.AskPlan
		a.Options = g.planOptions()
	}
	answer, err := g.s.asks.Put(ctx, a)
	answer.By = g.s.answeredBy(answer.By)
	if err == nil && a.Kind == proto.AskQuestion && len(answer.Values) > 0 && len(answer.Input) == 0 {
		answer.Input = withAnswers(a.Input, answer.Values)
	}
	for _, o := range a.Options { // what the option grants
		if o.ID == answer.Option && len(answer.Updates) == 0 && a.Kind == proto.AskPlan {
			answer.Behavior, answer.Updates = o.Behavior, o.Updates
		}
	}
	return answer, err
}

// answeredBy says who sat behind the surface that answered: a person's no means more than a host's.
func (s *Session) answeredBy(surface string) string {
	switch s.part.surface.Get().ByID[surface].Kind {
	case "":
		return surface // a hook, a time limit
	case "headless", "sdk":
		return "host"
	}
	return "user"
}

// planOptions are the ways out of plan mode.
func (g *gate) planOptions() []proto.Option {
	st := g.s.part.permission.Get()
	to := func(m permission.Mode) []proto.PermissionUpdate {
		return []proto.PermissionUpdate{{Type: "setMode", Mode: string(m), Destination: "session"}}
	}
	first := proto.Option{ID: "edits", Label: "Yes, and accept edits", Behavior: "allow", Updates: to(permission.AcceptEdits)}
	if st.AutoAvailable {
		first = proto.Option{ID: "auto", Label: "Yes, and go on in auto mode", Behavior: "allow", Updates: to(permission.Auto)}
	}
	out := []proto.Option{first, {ID: "manual", Label: "Yes, and ask before each edit", Behavior: "allow", Updates: to(permission.Default)}}
	if st.BypassAvailable {
		out = append(out, proto.Option{ID: "bypass", Label: "Yes, and bypass permissions", Behavior: "allow", Updates: to(permission.Bypass)})
	}
	return append(out, proto.Option{ID: "no", Label: "No, keep planning", Behavior: "deny"})
}

// withAnswers puts a person's answers into the input of AskUserQuestion.
func withAnswers(input, values json.RawMessage) json.RawMessage {
	var in, given map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(values, &given) != nil {
		return input
	}
	if _, whole := given["answers"]; whole {
		for k, v := range given {
			in[k] = v
		}
	} else {
		in["answers"] = values
	}
	out, err := json.Marshal(in)
	if err != nil {
		return input
	}
	return out
}

// verdict turns the outcome into what the engine acts on, and applies what was granted with it.
func (g *gate) verdict(t *turn, call tool.Call, literal json.RawMessage, out permission.Outcome) engine.Verdict {
	if out.Behavior != permission.Allow {
		return g.refused(t, call, out)
	}
	for _, u := range out.Updates {
		g.s.grant(u)
	}
	v := engine.Verdict{Allow: true, Confine: out.Confine}
	if out.Input != nil {
		call.Literal = out.Input
	}
	if !bytes.Equal(call.Literal, literal) {
		v.Changed, v.Call = true, call
	}
	if out.Comment != "" {
		v.Note = []msg.Block{msg.Text{Text: "The user allowed this and adds: " + out.Comment}}
	}
	return v
}

func (g *gate) refused(t *turn, call tool.Call, out permission.Outcome) engine.Verdict {
	t.deny(call)
	if !out.Asked {
		g.s.emit(proto.Denied{
			Call: call.ID, Tool: call.Name, Message: out.ForPeople(), Rule: out.Rule,
			ReasonKind: permission.OutwardKind(out.Reason.Kind), Reason: out.Reason.Text,
		})
	}
	g.s.part.permission.Set(func(p *permission.State) *permission.State {
		return p.Refused(permission.Denied{Tool: call.Name, Summary: msg.Cut(string(call.Input), 200), Reason: out.Reason.Text, At: g.s.effects.Now()})
	})
	v := engine.Verdict{Message: out.Message}
	if out.End != "" {
		v.End = &tool.End{Reason: out.End, Outcome: string(proto.EndTools)}
	}
	return v
}

// denied tells hooks that auto mode denied a call, and returns what they let the model know.
func (g *gate) denied(ctx context.Context, call tool.Call, reason string) string {
	o := g.s.fire(ctx, toolEvent(hook.PermissionDenied, call, map[string]any{"tool_use_id": call.ID, "reason": reason}))
	if o.Retry {
		return " You may try it again."
	}
	return ""
}

func (g *gate) deferred(t *turn, call tool.Call) engine.Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deferred = &proto.DeferredCall{ID: call.ID, Name: call.Name, Input: call.Literal}
	return engine.Verdict{Hold: true, End: &tool.End{Reason: "a hook deferred the call to the host", Outcome: string(proto.EndDeferred)}}
}

// classify asks the auto-mode classifier, or what it said of the same call before.
func (g *gate) classify(ctx context.Context, q permission.Question) permission.Verdict {
	s := g.s
	st := s.part.permission.Get()
	key := permission.VerdictKey(q.Request, st.Mode, st.Revision, int(s.prompts.Load()))
	if v, ok := st.Verdict(key); ok {
		return v
	}
	v, early := g.early.Wait(ctx, q.CallID)
	if !early {
		v = s.rooms.classifier.Judge(ctx, q.Request, s.scene(ctx, q.Request))
	}
	if kept, ok := v.Keep(s.effects.Now()); ok {
		s.part.permission.Set(func(p *permission.State) *permission.State { return p.WithVerdict(key, kept) })
	}
	return v
}

// blocked counts a block of the classifier.
func (g *gate) blocked(name, summary, reason string) (pause bool) {
	g.s.part.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		next, pause = p.Blocked(permission.Denied{Tool: name, Summary: summary, Reason: reason, At: g.s.effects.Now()})
		return next
	})
	return pause
}

// speculate starts to classify a call while the answer still streams.
func (g *gate) speculate(ctx context.Context, call tool.Call) {
	st := g.s.part.permission.Get()
	if st.Mode != permission.Auto || !st.AutoAvailable {
		return
	}
	req := g.request(call)
	if d := g.decide(req); !d.Classify {
		return
	}
	g.early.Start(ctx, call.ID, func(ctx context.Context) permission.Verdict {
		return g.s.rooms.classifier.Judge(ctx, req, g.s.scene(ctx, req))
	})
}

// reminders wrap texts of hooks for the model.
func reminders(texts []string) []msg.Block {
	var out []msg.Block
	for _, t := range texts {
		out = append(out, msg.Text{Text: "<system-reminder>\n" + t + "\n</system-reminder>"})
	}
	return out
}

// reminder is the message that tells the model texts of the harness; none when there are none.
func reminder(texts []string) []msg.Message {
	if len(texts) == 0 {
		return nil
	}
	return []msg.Message{{Role: msg.User, Origin: msg.FromHarness, Content: reminders(texts)}}
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// scene is what the classifier may see: the user's words and the agent's calls.
func (s *Session) scene(ctx context.Context, req permission.Request) permission.Scene {
	var out permission.Scene
	s.sceneMu.Lock()
	for _, m := range s.sceneMessages {
		if m.Role == msg.User && (m.Origin == msg.FromHuman) {
			out.Messages = append(out.Messages, msg.TextOf(m.Content))
		}
		for _, c := range msg.Calls(m) {
			out.Calls = append(out.Calls, permission.PriorCall{Tool: c.Name, Input: c.Input})
		}
	}
	out.Notes = slices.Clone(s.classifierNotes)
	s.sceneMu.Unlock()
	out.Instructions = s.instructionTexts(ctx)
	if permission.DiscardsWork(req.Traits.Command) {
		out.GitStatus = s.rooms.gitStatus(ctx)
	}
	return out
}
