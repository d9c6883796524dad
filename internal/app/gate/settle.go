package gate

import (
	"context"
	"errors"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// errChanged withdraws a question because rules or mode changed.
var errChanged = errors.New("the rules or the mode changed")

// settle decides the question at hand and, where the decision is to ask, gets the answer. What is open
// when rules or mode change is withdrawn and decided anew, and so is an answer that came at the same moment.
// The error is the context's.
func (w *walk) settle(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		watch, cancel := w.watched(ctx)
		w.revision = w.given.State.Get().Revision
		noReadOnly := w.decide()
		out, err := w.once(watch, w.q)
		cancel(nil)
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, errChanged):
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		if out.Input != nil && w.at().Holds(out.Input) {
			out.Input = nil
		}
		if !w.stale() || out.Input != nil || out.Asked && out.Behavior != permission.Allow {
			w.out = w.finish(out, noReadOnly)
			return nil
		}
		w.keep(out)
	}
}

// stale says whether rules or mode changed since the input at hand was decided.
func (w *walk) stale() bool { return w.given.State.Get().Revision != w.revision }

// at is the call whose input is at hand.
func (w *walk) at() tool.Call {
	return tool.Call{Literal: w.q.Request.Literal, Input: w.q.Request.Input}
}

// keep remembers a yes that came when rules or mode had just changed: it still counts where the question
// is the same.
func (w *walk) keep(out permission.Outcome) {
	if out.Behavior != permission.Allow || !out.Asked {
		return
	}
	reason := w.q.Decision.Reason
	w.p.answer = &answer{out: out, input: w.q.Request.Literal, cwd: w.q.Request.Cwd, asked: &reason, paths: w.paths}
}

// decide decides the input at hand, once: by rules and mode, by what hooks said of it before, and by what
// deny and ask rules make of the call as the model made it.
func (w *walk) decide() (noReadOnly bool) {
	w.paths = nil
	if w.given.ReadOnly() && !w.q.Request.Traits.ReadOnly && !w.q.Request.Traits.NoEffect {
		w.q.Decision = permission.Decision{
			Behavior: permission.Deny, Firm: true, Mode: w.given.State.Get().Mode,
			Reason: permission.Reason{Kind: permission.ByOther, Text: "the folder is not trusted: nothing is changed in it"},
		}
		return false
	}
	found := w.Gate.decide(w.q.Request)
	d := found.Decision
	w.paths = found.paths
	if w.p.model != nil {
		d = permission.Stricter(d, permission.Held(w.Decide(*w.p.model)))
	}
	switch b := permission.Behavior(w.p.hooked.Decision); {
	case b == permission.Allow && !w.at().Holds(w.p.own): // it was said of another input
	case b != "":
		d = permission.AfterHook(d, b, w.p.hooked.Reason)
	}
	w.q.Decision = d
	return found.noReadOnly
}

// watched is the context of the call, ended with errChanged when rules or mode change.
func (w *walk) watched(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	watch, cancel := context.WithCancelCause(ctx)
	changed := w.watch()
	go func() { // ends with watch
		select {
		case <-changed:
			cancel(errChanged)
		case <-watch.Done():
		}
	}()
	return watch, cancel
}

// finish fills in what every outcome has.
func (w *walk) finish(out permission.Outcome, noReadOnly bool) permission.Outcome {
	d := w.q.Decision
	if out.Behavior == permission.Allow && out.Input == nil && noReadOnly && d.Behavior == permission.Ask && d.Confine.Level == tool.ReadOnly {
		out = permission.Outcome{By: "mode", Reason: permission.Reason{Kind: permission.ByMode, Text: "in plan mode it would have to run in a read-only sandbox, and there is none on this machine"}}
	}
	return out.Explained(d)
}

// once settles a decision under one state of rules and mode.
func (w *walk) once(ctx context.Context, q permission.Question) (permission.Outcome, error) {
	d := q.Decision
	if d.Behavior == permission.Allow || d.Behavior == permission.Deny {
		return permission.Settled(d), nil
	}
	if w.p.answer.covers(q, w.paths) {
		return w.p.answer.out.For(d), nil
	}
	if d.Classify {
		if out, done, err := w.classified(ctx, q); done || err != nil {
			return out, err
		}
	}
	switch w.branch() {
	case Worker:
		return w.person(ctx, q, w.turn.Mailbox, "the leader")
	case Coordinator:
		if out, done, err := w.hooks(ctx, q); done || err != nil {
			return out, err
		}
		return w.person(ctx, q, w.put, "the one who was asked")
	case Alone:
		return w.nobody(ctx, q)
	}
	return w.interactive(ctx, q)
}

func (w *walk) branch() Branch {
	b := w.turn.Branch
	switch {
	case b == Worker && w.turn.Mailbox == nil, b != Worker && w.given.Ask == nil:
		return Alone
	case b == "":
		return Interactive
	}
	return b
}

// nobody lets hooks speak and refuses.
func (w *walk) nobody(ctx context.Context, q permission.Question) (permission.Outcome, error) {
	if out, done, err := w.hooks(ctx, q); done || err != nil {
		return out, err
	}
	out := permission.Settled(q.Decision)
	why := orText(w.given.Silent, "nobody can be asked here")
	out.Reason.Kind, out.Reason.Text, out.By = permission.Unattended, why+": "+out.Reason.Text, "unattended"
	return out, nil
}

// person asks and waits.
func (w *walk) person(ctx context.Context, q permission.Question, ask Asker, whom string) (permission.Outcome, error) {
	a, err := ask(ctx, q.Ask())
	switch {
	case ctx.Err() != nil:
		return permission.Outcome{}, context.Cause(ctx)
	case err != nil: // an answerer that does not work counts as no
		return permission.Outcome{
			Reason:  permission.Reason{Kind: permission.ByOther, Text: fmt.Sprintf("%s could not answer: %v", whom, err)},
			Message: "Tool permission request failed: " + err.Error(), By: "host", Asked: true,
		}, nil
	}
	return permission.Answered(q, a, &w.turn.refusals), nil
}

// interactive shows the dialog and lets the hooks run beside it; the first definite answer wins.
func (w *walk) interactive(ctx context.Context, q permission.Question) (permission.Outcome, error) {
	dialog, withdraw := context.WithCancelCause(ctx)
	defer withdraw(nil)
	type reply struct {
		out permission.Outcome
		err error
	}
	asked := make(chan reply, 1)
	go func() { // ends with the question
		out, err := w.person(dialog, q, w.put, "the one who was asked")
		asked <- reply{out, err}
	}()
	hooked := make(chan permission.Outcome, 1)
	if w.given.Hooks().Any(hook.PermissionRequest) {
		go func() { // ends with the question
			if out, done, err := w.hooks(dialog, q); done && err == nil {
				hooked <- out
			}
		}()
	}
	for {
		select {
		case r := <-asked:
			return r.out, r.err
		case out := <-hooked:
			if w.given.Engaged != nil && w.given.Engaged(q.ID) {
				continue // the person is at it
			}
			withdraw(errors.New("answered by a hook"))
			return out, nil
		}
	}
}

// put puts the question, in the form of its kind.
func (w *walk) put(ctx context.Context, a proto.Ask) (proto.Answer, error) {
	answer, err := w.given.Ask(ctx, w.formed(&a))
	answer.By = w.given.Answerer(answer.By)
	if err == nil {
		filled(a, &answer)
	}
	return answer, err
}
