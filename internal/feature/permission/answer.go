package permission

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Outcome is how a call was settled. It belongs to the input that was decided, and to no other.
type Outcome struct {
	Behavior Behavior // Allow or Deny
	Reason   Reason
	Matched  []Match
	Message  string                   // denied: what the model is told
	Comment  string                   // allowed with a comment: it follows the result
	Input    json.RawMessage          // the input that is wanted instead; nil: unchanged
	Updates  []proto.PermissionUpdate // what was granted with it, to be applied before the call runs
	Option   string                   // the option that was taken, where the updates are that option's
	By       string                   // user, host, hook, classifier, rule, mode, …
	End      string                   // not empty: the turn ends, and why
	Rule     string                   // denied: the rule that would allow it, where one would
	Confine  tool.Confinement
	Asked    bool // somebody was asked
}

// Settled is the outcome of a decision that needs no answer. What still asks is refused.
func Settled(d Decision) Outcome {
	out := Outcome{Behavior: d.Behavior, Reason: d.Reason, Matched: d.Matched, By: string(d.Reason.Kind), Confine: d.Confine}
	if d.Behavior != Allow {
		out.Behavior, out.Confine, out.Rule = Deny, tool.Confinement{}, strings.Join(d.Missing, ", ")
	}
	return out
}

// Answered turns the answer to a question into an outcome. Updates that the answer names are taken as they
// are; else they are those of the option that was taken, as the question offered it. refusals counts a
// person's refusals in one turn; nil: they are not counted.
func Answered(q Question, a proto.Answer, refusals *Refusals) Outcome {
	by := a.By
	if by == "" {
		by = "user"
	}
	out := Outcome{Asked: true, By: by, Input: a.Input, Updates: a.Updates, Confine: q.Decision.Confine}
	if o, ok := optionOf(q.Decision, a.Option); ok {
		if len(out.Updates) == 0 {
			out.Updates, out.Option = o.Updates, o.ID
		}
		if a.Behavior == "" {
			a.Behavior = o.Behavior
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
	case a.Interrupt, a.Message == "" && q.Agent == "" && by == "user":
		out.End = "refused by " + by
	case refusals != nil && refusals.Add(q):
		out.End = "the same kind of call was refused three times in this turn"
	}
	return out
}

func optionOf(d Decision, id string) (proto.Option, bool) {
	if id == "" {
		return proto.Option{}, false
	}
	for _, o := range Options(d) {
		if o.ID == id {
			return o, true
		}
	}
	return proto.Option{}, false
}

// For is an answer that came with another input, now that this input was decided: confined as that
// decision has it, and granting what the option that was taken means for it.
func (o Outcome) For(d Decision) Outcome {
	o.Input, o.Confine = nil, d.Confine
	if o.Option != "" {
		taken, _ := optionOf(d, o.Option)
		o.Updates = taken.Updates
	}
	return o
}

// Explained is a refusal with what the model is told, where nobody has said it yet.
func (o Outcome) Explained(d Decision) Outcome {
	if o.Behavior == Allow {
		return o
	}
	o.Behavior = Deny
	if o.Rule == "" {
		o.Rule = strings.Join(d.Missing, ", ")
	}
	if o.Message == "" {
		o.Message = DenialMessage(o.Reason, o.Rule)
	}
	return o
}

// Summary is what would run, shortened.
func (q Question) Summary() string {
	s := q.text()
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
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
		key += " " + path.Dir(q.Request.Traits.Paths[0].Path)
	}
	r.counts[key]++
	return r.counts[key] >= refusalLimit
}
