package permission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Asker puts a question to whoever can answer and waits. It returns the context's cause when the
// question is withdrawn.
type Asker func(ctx context.Context, ask proto.Ask) (proto.Answer, error)

// HookAnswer is what the PermissionRequest hooks say. An empty Behavior is no opinion.
type HookAnswer struct {
	Behavior  Behavior
	Message   string
	Input     json.RawMessage // replaces the input
	Updates   []proto.PermissionUpdate
	Interrupt bool
}

// Branch says in whose name a question is settled.
type Branch string

// The branches.
const (
	Interactive Branch = "interactive" // somebody sits behind it
	Coordinator Branch = "coordinator" // automated checks first, the dialog only when they do not settle
	Worker      Branch = "worker"      // the request goes to the leader
	Alone       Branch = "alone"       // nobody can be asked
)

// Handler settles questions. All functions may be nil but Decide; what is missing is skipped. A
// Handler is safe for concurrent use when its functions are.
type Handler struct {
	Branch Branch
	// Decide decides the request anew, under the rules and the mode of this moment.
	Decide func(Request) Decision
	// Ask puts the question to a person or host.
	Ask Asker
	// Mailbox sends the question to the leader of a worker.
	Mailbox Asker
	// Hooks runs the PermissionRequest hooks.
	Hooks func(ctx context.Context, q Question) (HookAnswer, error)
	// Classify asks the classifier.
	Classify func(ctx context.Context, q Question) Verdict
	// Speculated waits for a classification of the call that was started while it streamed in; ok is
	// false when there is none.
	Speculated func(ctx context.Context, callID string) (v Verdict, ok bool)
	// Deadline bounds the wait for a speculated verdict; 0: a second.
	Deadline time.Duration
	// Changed returns a channel that is closed at the next change of rules or mode.
	Changed func() <-chan struct{}
	// Engaged tells whether a person is busy with the question: then automatic answers are ignored.
	Engaged func(askID string) bool
	// Blocked is told each block of the classifier; it returns whether auto mode must ask a person now.
	Blocked func(tool, summary, reason string) (pause bool)
	// Allowed is told when a call is allowed.
	Allowed func()
	// NoReadOnly tells that no read-only sandbox can be had: what plan mode would run in one does not run.
	NoReadOnly bool
	// Refusals counts a person's refusals in one turn; nil: they are not counted.
	Refusals *Refusals
}

// Outcome is how a question was settled.
type Outcome struct {
	Behavior Behavior // Allow or Deny
	Reason   Reason
	Matched  []Match
	Message  string                   // denied: what the model is told
	Comment  string                   // allowed with a comment: it follows the result
	Input    json.RawMessage          // the input to run when it was changed; nil: unchanged
	Updates  []proto.PermissionUpdate // what was granted with it, to be applied before the call runs
	By       string                   // user, host, hook, classifier, rule, mode, …
	End      string                   // not empty: the turn ends, and why
	Rule     string                   // denied: the rule that would allow it, where one would
	Confine  tool.Confinement
	Asked    bool // somebody was asked
}

// defaultDeadline is how long a speculated verdict is waited for.
const defaultDeadline = time.Second

// maxRounds bounds how often one call is asked about anew after its input was changed.
const maxRounds = 4

// errChanged withdraws a question because rules or mode changed.
var errChanged = errors.New("the rules or the mode changed")

// Settle decides a call and, where the decision is to ask, gets the answer. A question that is open
// when rules or mode change is withdrawn and decided anew. The error is the context's.
func (h *Handler) Settle(ctx context.Context, q Question) (Outcome, error) {
	literal := q.Request.Literal
	var changed json.RawMessage
	var floor *Decision
	if q.Decision.Reason.Kind == ByHook {
		d := q.Decision // a hook's answer does not go away when rules change
		floor = &d
	}
	for round := 0; ; round++ {
		if err := ctx.Err(); err != nil {
			return Outcome{}, context.Cause(ctx)
		}
		watch, cancel := h.watched(ctx)
		d := h.Decide(q.Request)
		if floor != nil && d.Behavior != Deny {
			d = mergeFloor(d, *floor)
		}
		q.Decision = d
		out, err := h.once(watch, q)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, errChanged):
			continue
		case err != nil:
			return Outcome{}, err
		case out.Behavior != Allow || out.Input == nil || sameJSON(out.Input, q.Request.Literal):
			if changed != nil && out.Input == nil && out.Behavior == Allow {
				out.Input = changed
			}
			return h.finish(q, out), nil
		}
		// Somebody changed the input: what it is now is checked like any other call.
		changed = out.Input
		q.Request = changedRequest(q.Request, out.Input)
		again := h.Decide(q.Request)
		if again.Behavior == Deny {
			return h.finish(q, denied(again)), nil
		}
		if again.Behavior == Allow || !again.Firm || round >= maxRounds {
			if round >= maxRounds && again.Firm {
				again.Behavior = Deny
				again.Reason.Text += "; its input was changed too often"
				return h.finish(q, denied(again)), nil
			}
			return h.finish(q, out), nil
		}
		if sameJSON(changed, literal) {
			return h.finish(q, out), nil
		}
	}
}

// changedRequest is a request with another input. Its traits must be taken anew by the caller's
// Decide; the command of a shell call is known here.
func changedRequest(r Request, input json.RawMessage) Request {
	r.Literal, r.Input = input, input
	if r.Traits.Command != "" {
		var in struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(input, &in) == nil && in.Command != "" {
			r.Traits.Command = in.Command
		}
	}
	return r
}

func mergeFloor(d, floor Decision) Decision {
	if floor.Behavior == Allow {
		return AfterHook(d, Allow, floor.Reason.Text)
	}
	return AfterHook(d, floor.Behavior, floor.Reason.Text)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// watched is ctx, ended with errChanged when rules or mode change.
func (h *Handler) watched(ctx context.Context) (context.Context, func()) {
	watch, cancel := context.WithCancelCause(ctx)
	if h.Changed == nil {
		return watch, func() { cancel(nil) }
	}
	changed := h.Changed()
	go func() { // ends with watch
		select {
		case <-changed:
			cancel(errChanged)
		case <-watch.Done():
		}
	}()
	return watch, func() { cancel(nil) }
}

// finish tells the trackers and fills in what every outcome has.
func (h *Handler) finish(q Question, out Outcome) Outcome {
	if out.Behavior == Allow && h.NoReadOnly && q.Decision.Behavior == Ask && q.Decision.Confine.Level == tool.ReadOnly {
		out = Outcome{Behavior: Deny, By: "mode", Reason: Reason{Kind: ByMode, Text: "in plan mode it would have to run in a read-only sandbox, and there is none on this machine"}}
	}
	if out.Behavior == Allow {
		if h.Allowed != nil {
			h.Allowed()
		}
		if out.Confine.Level == "" && out.Confine.Reason == "" {
			out.Confine = q.Decision.Confine
		}
		return out
	}
	out.Behavior = Deny
	if out.Rule == "" {
		out.Rule = strings.Join(q.Decision.Missing, ", ")
	}
	if out.Message == "" {
		out.Message = DenialMessage(out.Reason, out.Rule)
	}
	return out
}

// once settles a decision under one state of rules and mode.
func (h *Handler) once(ctx context.Context, q Question) (Outcome, error) {
	switch q.Decision.Behavior {
	case Allow:
		return Outcome{Behavior: Allow, Reason: q.Decision.Reason, Matched: q.Decision.Matched, By: string(q.Decision.Reason.Kind), Confine: q.Decision.Confine}, nil
	case Deny:
		return denied(q.Decision), nil
	}
	if q.Decision.Classify {
		if out, done, err := h.classified(ctx, q); done || err != nil {
			return out, err
		}
	}
	switch h.Branch {
	case Worker:
		return h.viaLeader(ctx, q)
	case Coordinator:
		if out, done, err := h.hooks(ctx, q); done || err != nil {
			return out, err
		}
		return h.person(ctx, q)
	case Alone:
		return h.nobody(ctx, q)
	}
	return h.interactive(ctx, q)
}

func denied(d Decision) Outcome {
	return Outcome{Behavior: Deny, Reason: d.Reason, Matched: d.Matched, By: string(d.Reason.Kind), Rule: strings.Join(d.Missing, ", ")}
}

// classified asks the classifier where the mode has it speak first. done is false when a person must
// be asked all the same.
func (h *Handler) classified(ctx context.Context, q Question) (Outcome, bool, error) {
	if h.Classify == nil {
		return Outcome{}, false, nil
	}
	v := h.Classify(ctx, q)
	if ctx.Err() != nil {
		return Outcome{}, false, context.Cause(ctx) // a stale verdict counts for nothing
	}
	switch v.Kind {
	case VerdictAllow:
		return Outcome{Behavior: Allow, Reason: Reason{Kind: ByClassifier, Text: v.text()}, By: "classifier", Confine: q.Decision.Confine}, true, nil
	case VerdictBlock, VerdictRefused, VerdictUnreadable:
		pause := false
		if v.Kind == VerdictBlock && h.Blocked != nil {
			pause = h.Blocked(q.Request.Tool, q.summary(), v.Reason)
		}
		if (pause || q.Decision.Confine.Level == tool.ReadOnly) && h.canAsk() {
			return Outcome{}, false, nil
		}
		return Outcome{Behavior: Deny, Reason: Reason{Kind: ByClassifier, Text: v.text()}, By: "classifier"}, true, nil
	}
	if h.canAsk() {
		return Outcome{}, false, nil
	}
	return Outcome{Behavior: Deny, Reason: Reason{Kind: ByClassifier, Text: v.text()}, By: "classifier"}, true, nil
}

func (q Question) summary() string {
	s := q.text()
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

func (h *Handler) canAsk() bool {
	switch h.Branch {
	case Alone:
		return false
	case Worker:
		return h.Mailbox != nil
	}
	return h.Ask != nil
}

// hooks asks the PermissionRequest hooks. They answer everything but what only a person can; a deny of
// theirs always counts.
func (h *Handler) hooks(ctx context.Context, q Question) (Outcome, bool, error) {
	if h.Hooks == nil {
		return Outcome{}, false, nil
	}
	a, err := h.Hooks(ctx, q)
	if ctx.Err() != nil {
		return Outcome{}, false, context.Cause(ctx)
	}
	if err != nil { // a broken guard is loud and approves nothing
		return Outcome{}, false, nil
	}
	out := Outcome{
		Behavior: a.Behavior, Reason: Reason{Kind: ByHook, Text: "answered by a hook"}, Message: a.Message,
		Input: a.Input, Updates: a.Updates, By: "hook",
	}
	switch a.Behavior {
	case Allow:
		out.Message = ""
		return out, !q.Decision.NeedsPerson && q.Decision.Reason.Kind != ByHook, nil
	case Deny:
		if a.Message != "" {
			out.Reason.Text = a.Message
		}
		if a.Interrupt {
			out.End = "a hook ended the turn"
		}
		return out, true, nil
	}
	return Outcome{}, false, nil
}

// viaLeader sends the question to the leader and waits.
func (h *Handler) viaLeader(ctx context.Context, q Question) (Outcome, error) {
	if h.Mailbox == nil {
		return h.nobody(ctx, q)
	}
	a, err := h.Mailbox(ctx, q.Ask())
	if err != nil {
		return h.failed(ctx, err, "the leader")
	}
	return h.answered(q, a), nil
}

// nobody lets hooks speak and refuses.
func (h *Handler) nobody(ctx context.Context, q Question) (Outcome, error) {
	if out, done, err := h.hooks(ctx, q); done || err != nil {
		return out, err
	}
	text := "nobody can be asked here: " + q.Decision.Reason.Text
	return Outcome{Behavior: Deny, Reason: Reason{Kind: Unattended, Text: text, Path: q.Decision.Reason.Path, Part: q.Decision.Reason.Part}, Matched: q.Decision.Matched, By: "unattended"}, nil
}

// person asks and waits.
func (h *Handler) person(ctx context.Context, q Question) (Outcome, error) {
	if h.Ask == nil {
		return h.nobody(ctx, q)
	}
	a, err := h.Ask(ctx, q.Ask())
	if err != nil {
		return h.failed(ctx, err, "the one who was asked")
	}
	return h.answered(q, a), nil
}

// failed tells a withdrawn question from an answerer that does not work, which counts as no.
func (h *Handler) failed(ctx context.Context, err error, who string) (Outcome, error) {
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	text := fmt.Sprintf("%s could not answer: %v", who, err)
	return Outcome{Behavior: Deny, Reason: Reason{Kind: ByOther, Text: text}, Message: "Tool permission request failed: " + err.Error(), By: "host", Asked: true}, nil
}

// interactive shows the dialog and lets hooks and a speculated verdict run beside it; the first
// definite answer wins.
func (h *Handler) interactive(ctx context.Context, q Question) (Outcome, error) {
	if out, done, err := h.race(ctx, q); done || err != nil {
		return out, err
	}
	if h.Ask == nil {
		return h.nobody(ctx, q)
	}
	dialog, withdraw := context.WithCancelCause(ctx)
	defer withdraw(nil)
	type reply struct {
		out Outcome
		err error
	}
	asked := make(chan reply, 1)
	go func() { // ends with the question
		a, err := h.Ask(dialog, q.Ask())
		if err != nil {
			out, err := h.failed(dialog, err, "the one who was asked")
			asked <- reply{out, err}
			return
		}
		asked <- reply{h.answered(q, a), nil}
	}()
	hooked := make(chan Outcome, 1)
	if h.Hooks != nil {
		go func() { // ends with the question
			if out, done, err := h.hooks(dialog, q); done && err == nil {
				hooked <- out
			}
		}()
	}
	for {
		select {
		case r := <-asked:
			return r.out, r.err
		case out := <-hooked:
			if h.Engaged != nil && h.Engaged(q.ID) {
				continue // the person is at it
			}
			withdraw(fmt.Errorf("answered by a hook"))
			return out, nil
		}
	}
}

// race waits a moment for a verdict that was asked for while the call streamed in. Nothing but a sure
// allow counts.
func (h *Handler) race(ctx context.Context, q Question) (Outcome, bool, error) {
	if h.Speculated == nil || q.Decision.Firm || q.Decision.NeedsPerson || q.Request.Traits.Command == "" {
		return Outcome{}, false, nil
	}
	deadline := h.Deadline
	if deadline <= 0 {
		deadline = defaultDeadline
	}
	short, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	v, ok := h.Speculated(short, q.CallID)
	if ctx.Err() != nil {
		return Outcome{}, false, context.Cause(ctx)
	}
	if ok && short.Err() == nil && v.Kind == VerdictAllow && v.Sure {
		return Outcome{Behavior: Allow, Reason: Reason{Kind: ByClassifier, Text: v.text()}, By: "classifier", Confine: q.Decision.Confine}, true, nil
	}
	return Outcome{}, false, nil
}

// answered turns an answer into an outcome.
func (h *Handler) answered(q Question, a proto.Answer) Outcome {
	by := a.By
	if by == "" {
		by = "user"
	}
	out := Outcome{Asked: true, By: by, Input: a.Input, Updates: a.Updates, Confine: q.Decision.Confine}
	if len(out.Updates) == 0 && a.Option != "" {
		for _, o := range Options(q.Decision) {
			if o.ID == a.Option {
				out.Updates = o.Updates
				if a.Behavior == "" {
					a.Behavior = o.Behavior
				}
			}
		}
	}
	switch a.Behavior {
	case string(Allow):
		out.Behavior, out.Comment = Allow, a.Message
		out.Reason = Reason{Kind: ByOther, Text: "allowed by " + by}
		return out
	case string(Deny):
		out.Behavior, out.Message, out.Updates = Deny, a.Message, nil
		out.Reason = Reason{Kind: ByOther, Text: "refused by " + by}
	default:
		out.Behavior, out.Updates = Deny, nil
		out.Reason = Reason{Kind: ByOther, Text: fmt.Sprintf("the answer was neither allow nor deny but %q", a.Behavior)}
		out.Message = "Tool permission request failed: the answer was neither allow nor deny"
		return out
	}
	switch {
	case a.Interrupt:
		out.End = "refused by " + by
	case a.Message == "" && q.Agent == "" && by == "user":
		out.End = "refused by " + by
	case h.Refusals != nil && h.Refusals.Add(q):
		out.End = "the same kind of call was refused three times in this turn"
	}
	return out
}

// DenialMessage is what the model is told of a refusal.
func DenialMessage(r Reason, rule string) string {
	var b strings.Builder
	b.WriteString(notRun + r.Text + ".")
	if r.Part != "" {
		b.WriteString(" The part in question: " + r.Part)
		if !strings.HasSuffix(r.Part, ".") {
			b.WriteString(".")
		}
	}
	if rule != "" && r.Kind != ByRule {
		b.WriteString(wouldAllow(rule))
	}
	return b.String() + advice
}

// advice ends what the model is told of a refusal.
const advice = " Do not work around the refusal by other means. Choose a safer way, go on with what does not need this, or ask the user."

// ForPeople is what a denial says to people: without what is addressed to the model, and without the
// rule, which surfaces name in their own way.
func (o Outcome) ForPeople() string {
	text := strings.TrimSuffix(o.Message, advice)
	if o.Rule != "" {
		text = strings.TrimSuffix(text, wouldAllow(o.Rule))
	}
	return strings.TrimPrefix(text, notRun)
}

const notRun = "This call was not run: "

func wouldAllow(rule string) string {
	return " An allow rule such as " + rule + " in the settings would let it run."
}

// Refusals counts how often a person refused the same kind of call in one turn. The zero value is
// ready; one turn needs a new one. It is safe for concurrent use.
type Refusals struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

// refusalLimit is how many refusals of the same kind end a turn.
const refusalLimit = 3

// Add counts a refusal and reports whether the turn should end.
func (r *Refusals) Add(q Question) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	key := q.Request.Tool
	if c := q.Request.Traits.Command; c != "" {
		first, _, _ := strings.Cut(strings.TrimSpace(c), " ")
		key += " " + first
	} else if len(q.Request.Traits.Paths) > 0 {
		key += " " + parent(q.Request.Traits.Paths[0].Path)
	}
	r.counts[key]++
	return r.counts[key] >= refusalLimit
}
