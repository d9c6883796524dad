package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// walk is one way of a call through the gate.
type walk struct {
	*Gate
	turn *Turn
	p    *passage

	q        permission.Question // as it was settled last
	revision int                 // of rules and mode, under which it was decided
	paths    []tool.PathUse      // of its request, with where each led
	out      permission.Outcome
}

// Authorize decides a call of a conversation. The call must come from [tool.Prepare].
func (g *Gate) Authorize(ctx context.Context, t *Turn, call tool.Call, traits tool.Traits) (engine.Verdict, error) {
	w := &walk{Gate: g, turn: t, p: g.passage(call.ID), q: permission.Question{CallID: call.ID, Agent: call.Scope.Agent, Request: Request(call, traits)}}
	w.before(ctx, call)
	if ctx.Err() != nil {
		return engine.Verdict{}, context.Cause(ctx)
	}
	hooked := w.p.hooked
	if hooked.Decision == "defer" {
		t.hold(call)
		return engine.Verdict{Hold: true, End: &tool.End{Reason: "a hook deferred the call to the host", Outcome: string(proto.EndDeferred)}}, nil
	}
	handled := g.given.Tool(call.Name)
	if handled == nil {
		return engine.Verdict{}, fmt.Errorf("decide a call: there is no tool %s", call.Name)
	}
	decided, err := tool.Decide(handled, call, traits, func(call tool.Call, traits tool.Traits) (tool.Ruling, error) {
		return w.rule(ctx, call, traits)
	})
	var unfit *tool.InputError
	switch {
	case errors.As(err, &unfit), errors.Is(err, tool.ErrChanges):
		w.refuse(err)
	case err != nil:
		return engine.Verdict{}, err
	}
	v := w.verdict(ctx, call, decided)
	v.Note = append(v.Note, msg.Reminders(hooked.Context)...)
	if hooked.Stop || hooked.EndTurn {
		v.End = &tool.End{Reason: orText(hooked.StopReason, "a hook ended the turn"), Outcome: string(proto.EndHook)}
	}
	return v, nil
}

// rule is the procedure that every input of the call goes through. Nothing of what was found about an
// earlier input is used but what the hooks before the call said of it, and the answer that brought the input.
func (w *walk) rule(ctx context.Context, call tool.Call, traits tool.Traits) (tool.Ruling, error) {
	req := Request(call, traits)
	if input := w.p.rewrite; input != nil {
		w.p.rewrite, w.p.model = nil, &req
		return tool.Ruling{Input: input}, nil
	}
	w.q = permission.Question{ID: w.given.NewID(), CallID: call.ID, Agent: call.Scope.Agent, Request: req}
	if err := w.settle(ctx); err != nil {
		return tool.Ruling{}, err
	}
	if w.out.Behavior == permission.Allow && w.out.Input != nil {
		w.p.answer = &answer{out: w.out, input: w.out.Input, cwd: call.Dir()}
		return tool.Ruling{Input: w.out.Input}, nil
	}
	return tool.Ruling{
		Allow: w.out.Behavior == permission.Allow, Confine: w.out.Confine, Paths: w.paths, By: w.out.By, Reason: w.out.Reason.Text,
	}, nil
}

// refuse settles a call whose changed input cannot be used.
func (w *walk) refuse(err error) {
	by := orText(w.out.By, "hook")
	w.out = permission.Outcome{By: by, Reason: permission.Reason{Kind: permission.ByOther, Text: fmt.Sprintf("%s changed the input, and %v", who(by), err)}}
	w.out = w.out.Explained(permission.Decision{})
}

func who(by string) string {
	switch by {
	case "hook":
		return "a hook"
	case "user":
		return "the user"
	case "host":
		return "the host"
	}
	return by
}

// verdict turns what was decided into what the engine acts on, books it, and applies what was granted with it.
func (w *walk) verdict(ctx context.Context, call tool.Call, decided tool.Decided) engine.Verdict {
	w.ledger.Add(permission.NewEntry(w.given.Now(), w.q, w.q.Decision.Mode, w.out))
	if !decided.Valid() {
		return w.refused(ctx, call)
	}
	w.given.State.Set(func(p *permission.State) *permission.State { return p.Allowed() })
	for _, u := range w.out.Updates {
		w.given.Grant(u)
	}
	v := engine.Verdict{Run: decided}
	if w.out.Comment != "" {
		v.Note = []msg.Block{msg.Text{Text: "The user allowed this and adds: " + w.out.Comment}}
	}
	return v
}

func (w *walk) refused(ctx context.Context, call tool.Call) engine.Verdict {
	out := w.out
	if in := w.q.Request.Input; in != nil {
		call.Input = in
	}
	w.turn.deny(call)
	if !out.Asked {
		w.given.Tell(proto.Denied{
			Call: call.ID, Tool: call.Name, Message: out.ForPeople(), Rule: out.Rule,
			ReasonKind: permission.OutwardKind(out.Reason.Kind), Reason: out.Reason.Text,
		})
	}
	w.given.State.Set(func(p *permission.State) *permission.State {
		return p.Refused(permission.Denied{Tool: call.Name, Summary: msg.Cut(string(call.Input), 200), Reason: out.Reason.Text, At: w.given.Now()})
	})
	v := engine.Verdict{Message: out.Message}
	if out.End != "" {
		v.End = &tool.End{Reason: out.End, Outcome: string(proto.EndTools)}
	}
	if out.Reason.Kind == permission.ByClassifier {
		v.Message += w.denied(ctx, call, out.Reason.Text)
	}
	return v
}

// denied tells hooks that auto mode denied a call, and returns what they let the model know.
func (w *walk) denied(ctx context.Context, call tool.Call, reason string) string {
	if w.fire(ctx, callEvent(hook.PermissionDenied, call, map[string]any{"tool_use_id": call.ID, "reason": reason})).Retry {
		return " You may try it again."
	}
	return ""
}

// answer is an answer that came with another input, until that input was decided.
type answer struct {
	out   permission.Outcome
	input json.RawMessage
	cwd   string
	asked *permission.Reason // the question it answered, where that was about this very input; nil: it was about another
	paths []tool.PathUse     // of the question it settled, with where each led: it settles no other; nil: none yet
}

// covers says whether an answer settles a question about the input that came with it. Whoever wrote the
// input wants it run; but what asks for the sake of the new input (a rule, what cannot be read, leaving the
// sandbox) was not yet asked, and the classifier sees what a hook wrote as it sees the model's.
func (a *answer) covers(q permission.Question, paths []tool.PathUse) bool {
	d := q.Decision
	if a == nil || d.Behavior != permission.Ask || a.cwd != q.Request.Cwd || !a.is(q.Request) {
		return false
	}
	if a.paths != nil && !slices.Equal(a.paths, paths) {
		return false
	}
	a.paths = paths
	switch {
	case a.asked != nil:
		return *a.asked == d.Reason && (a.out.Asked || !d.NeedsPerson)
	case d.NeedsPerson:
		return a.out.Asked
	}
	return !d.Firm && !d.Leaves && (a.out.Asked || !d.Classify)
}

func (a *answer) is(req permission.Request) bool {
	return tool.Call{Literal: req.Literal, Input: req.Input}.Holds(a.input)
}
