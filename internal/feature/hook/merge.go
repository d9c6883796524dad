package hook

import (
	"encoding/json"
	"slices"
	"strings"
)

// Outcome is what all handlers of one event together want. The zero Outcome wants nothing.
type Outcome struct {
	// Decision is the strictest answer to a PreToolUse (or a relative of it): deny > defer > ask >
	// allow; empty: nobody decided. Reason is for the model, Label names the source of the decision.
	Decision string
	Reason   string
	Label    string
	// Guard says that a guarding handler failed: the call must be asked for, nothing may approve it
	// by itself, and where nobody can be asked it is refused. Reason says which and how.
	Guard bool

	Block       bool     // an answer blocks what the event is about
	BlockReason string   // the reasons of all that block
	EndTurn     bool     // … and the turn ends with it
	Stop        bool     // "continue": false
	StopReason  string   // for the user
	Context     []string // for the model, each beginning with the name of its hook
	Messages    []string // for the user
	Notices     []string // what went wrong, for the user

	Input      json.RawMessage // replaces the tool's input; nil: unchanged
	Output     json.RawMessage // replaces the tool's output; nil: unchanged
	MCPOutput  json.RawMessage // the same, for tools of servers only
	Request    *PermissionAnswer
	Retry      bool
	Classifier []string // for the auto-mode classifier alone

	Title          string
	InitialMessage string
	SuppressPrompt bool
	WatchPaths     *[]string // replaces the dynamic watch list; nil: unchanged
	ReloadSkills   bool
	Action         string // Elicitation: accept, decline, cancel
	Content        json.RawMessage
	WorktreePath   string
	Display        *string // MessageDisplay: what is shown instead
	Terminal       string  // an allowed terminal sequence

	Plain []string // plain output, where the event makes nothing of it by itself (PreCompact)
	Runs  []Run    // what ran, in order of sources
}

// strictness orders decisions.
func strictness(decision string) int {
	return slices.Index([]string{"", "allow", "ask", "defer", "deny"}, decision)
}

// merge makes one outcome of all answers. They are in order of sources.
func merge(spec Spec, name string, answers []answer) Outcome {
	var o Outcome
	for _, a := range answers {
		o.failure(spec, a)
		o.decide(spec, a)
		o.texts(spec, name, a)
		o.values(a)
	}
	byEnd := slices.Clone(answers)
	slices.SortStableFunc(byEnd, func(a, b answer) int { return a.order - b.order })
	for _, a := range byEnd { // the last to finish wins
		o.rewrite(a)
	}
	return o
}

// failure turns a handler without usable answer into what the event makes of it.
func (o *Outcome) failure(spec Spec, a answer) {
	if a.failure == "" {
		return
	}
	o.Notices = append(o.Notices, a.handler.Title()+" ("+a.handler.At.String()+"): "+a.failure)
	why := "hook error: " + a.handler.Title() + ": " + a.failure
	switch {
	case a.handler.OnFailure == "block":
		o.block(spec, a.handler, why)
	case spec.Guard && (a.unsafe || !a.soft && a.handler.OnFailure != "continue"):
		o.Guard = true
		o.stricter("ask", why, a.handler)
	}
}

// block counts as exit 2 does.
func (o *Outcome) block(spec Spec, h *Handler, why string) {
	switch {
	case spec.Name == PreToolUse || spec.Name == PreModelSwitch || spec.Name == PreSkillShellCommand:
		o.stricter("deny", why, h)
	case spec.Name == PermissionRequest:
		o.Request = &PermissionAnswer{Behavior: "deny", Message: why}
	case spec.Blocks || spec.Feeds:
		o.Block = true
		o.BlockReason = joinText(o.BlockReason, why)
	}
}

func (o *Outcome) stricter(decision, reason string, h *Handler) {
	if strictness(decision) > strictness(o.Decision) {
		o.Decision, o.Reason, o.Label = decision, reason, h.Source.Label
		return
	}
	if decision == o.Decision && decision != "allow" {
		o.Reason = joinText(o.Reason, reason)
	}
}

func (o *Outcome) decide(spec Spec, a answer) {
	if a.blocks {
		o.block(spec, a.handler, orText(a.reason, "blocked by a hook ("+a.handler.Title()+")"))
	}
	if a.decision != "" {
		reason := a.reason
		if a.decision == "deny" {
			reason = orText(reason, "denied by a hook ("+a.handler.Title()+")")
		}
		o.stricter(a.decision, reason, a.handler)
	}
	if a.request != nil && (o.Request == nil || a.request.Behavior == "deny" && o.Request.Behavior != "deny") {
		o.Request = a.request
	}
	o.EndTurn = o.EndTurn || a.endsTurn
	if a.stop && !o.Stop {
		o.Stop, o.StopReason = true, a.stopReason
	}
	order := []string{"", "accept", "cancel", "decline"}
	if slices.Index(order, a.specific.Action) > slices.Index(order, o.Action) {
		o.Action, o.Content = a.specific.Action, a.specific.Content
	}
}

func (o *Outcome) texts(spec Spec, name string, a answer) {
	text := a.context
	if a.plain != "" {
		if spec.Context && spec.Name != PreCompact {
			text = joinText(text, a.plain)
		} else {
			o.Plain = append(o.Plain, a.plain)
		}
	}
	if text != "" {
		o.Context = append(o.Context, name+" hook: "+text)
	}
	if a.message != "" {
		o.Messages = append(o.Messages, a.message)
	}
	if a.specific.ClassifierContext != "" {
		o.Classifier = append(o.Classifier, cutText(a.specific.ClassifierContext, 2000))
	}
}

func (o *Outcome) values(a answer) {
	s := a.specific
	o.Retry = o.Retry || s.Retry
	o.ReloadSkills = o.ReloadSkills || s.ReloadSkills
	o.SuppressPrompt = o.SuppressPrompt || s.SuppressPrompt
	o.Title = orText(s.Title, o.Title)
	o.InitialMessage = orText(s.InitialMessage, o.InitialMessage)
	o.WorktreePath = orText(s.WorktreePath, o.WorktreePath)
	o.Terminal += s.terminal
	if s.DisplayContent != nil {
		o.Display = s.DisplayContent
	}
	if s.WatchPaths != nil {
		all := append([]string{}, *s.WatchPaths...)
		if o.WatchPaths != nil {
			all = append(*o.WatchPaths, all...)
		}
		o.WatchPaths = &all
	}
}

// rewrite takes over rewritten input and output. Handlers run side by side, so which of two wins is
// no contract; that two differ is told.
func (o *Outcome) rewrite(a answer) {
	take := func(into *json.RawMessage, value json.RawMessage, what string) {
		if len(value) == 0 || string(value) == "null" {
			return
		}
		if *into != nil && string(*into) != string(value) {
			o.Notices = append(o.Notices, "two hooks rewrote the "+what+" differently; that of "+a.handler.Title()+" counts")
		}
		*into = value
	}
	take(&o.Input, a.specific.UpdatedInput, "input")
	take(&o.Output, a.specific.UpdatedOutput, "output")
	take(&o.MCPOutput, a.specific.UpdatedMCPOutput, "output")
}

func joinText(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "" || a == b:
		return a
	}
	return a + "\n" + b
}

// cutText bounds a text at a character boundary.
func cutText(s string, chars int) string {
	if len(s) <= chars {
		return s
	}
	r := []rune(s)
	if len(r) <= chars {
		return s
	}
	return strings.TrimSpace(string(r[:chars])) + "…"
}
