package gate

import (
	"context"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// classified asks the classifier where the mode has it speak first. done is false when a person must
// be asked all the same.
func (w *walk) classified(ctx context.Context, q permission.Question) (out permission.Outcome, done bool, err error) {
	if w.given.Classify == nil || !w.given.State.Get().AutoAvailable {
		return permission.Outcome{}, false, nil
	}
	v := w.judged(ctx, q.Request)
	switch { // a withdrawn verdict counts for nothing, nor is it counted
	case ctx.Err() != nil:
		return permission.Outcome{}, false, context.Cause(ctx)
	case w.stale():
		return permission.Outcome{}, false, errChanged
	}
	out = permission.Outcome{Behavior: permission.Deny, Reason: permission.Reason{Kind: permission.ByClassifier, Text: v.Text()}, By: "classifier"}
	canAsk := w.branch() != Alone
	switch v.Kind {
	case permission.VerdictAllow:
		out.Behavior, out.Confine = permission.Allow, q.Decision.Confine
		return out, true, nil
	case permission.VerdictBlock, permission.VerdictRefused, permission.VerdictUnreadable:
		pause := v.Kind == permission.VerdictBlock && w.blocked(q, v.Reason)
		if (pause || q.Decision.Confine.Level == tool.ReadOnly) && canAsk {
			return permission.Outcome{}, false, nil
		}
		return out, true, nil
	}
	return out, !canAsk, nil
}

// verdictKey is what a verdict about a request counts for: its input and directory, under the mode, the
// rules and the user messages of this moment.
func (g *Gate) verdictKey(req permission.Request, st *permission.State) string {
	return permission.VerdictKey(req, st.Mode, st.Revision, g.given.Prompts())
}

// judged is what the classifier says of a call, or what it said of the same call before. A verdict is
// remembered only while everything it counts for is as it was when it was asked for.
func (g *Gate) judged(ctx context.Context, req permission.Request) permission.Verdict {
	st := g.given.State.Get()
	key := g.verdictKey(req, st)
	if v, ok := st.Verdict(key); ok {
		return v
	}
	v, early := g.early.Wait(ctx, key)
	if !early {
		v = g.given.Classify(ctx, req)
	}
	kept, ok := v.Keep(g.given.Now())
	if !ok || ctx.Err() != nil {
		return v
	}
	kept.Tool, kept.Summary = req.Tool, permission.Question{Request: req}.Summary()
	g.given.State.Set(func(p *permission.State) *permission.State {
		if g.verdictKey(req, p) != key {
			return p
		}
		return p.WithVerdict(key, kept)
	})
	return v
}

// blocked counts a block of the classifier; pause tells that a person must be asked now.
func (w *walk) blocked(q permission.Question, reason string) (pause bool) {
	d := permission.Denied{Tool: q.Request.Tool, Summary: q.Summary(), Reason: reason, At: w.given.Now()}
	w.given.State.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		next, pause = p.Blocked(d)
		return next
	})
	return pause
}

// Speculate starts to classify a call that waits for its turn, so that the verdict is there when it comes.
// The verdict counts for this input in this directory alone.
func (g *Gate) Speculate(ctx context.Context, call tool.Call) {
	st := g.given.State.Get()
	t := g.given.Tool(call.Name)
	if st.Mode != permission.Auto || !st.AutoAvailable || g.given.Classify == nil || t == nil {
		return
	}
	call, traits, err := tool.Prepare(t, call)
	if err != nil {
		return
	}
	req := Request(call, traits)
	if !g.Decide(req).Classify {
		return
	}
	g.early.Start(ctx, g.verdictKey(req, st), func(ctx context.Context) permission.Verdict { return g.given.Classify(ctx, req) })
}
