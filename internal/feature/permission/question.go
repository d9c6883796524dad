package permission

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// The ids of the answers a permission question offers.
const (
	AnswerOnce    = "once"
	AnswerSession = "session"
	AnswerAlways  = "always"
	AnswerNo      = "no"
)

// Question is a call that waits for an answer.
type Question struct {
	ID       string // of the question
	CallID   string
	Agent    string // name of the agent that asks; empty: the main conversation
	Request  Request
	Decision Decision
}

// Ask is the question as surfaces show it: what exactly would run with nothing hidden, why it is asked,
// the rule that is missing, how a command was understood, and the answers with what each would also
// allow.
func (q Question) Ask() proto.Ask {
	d := q.Decision
	out := proto.Ask{
		ID: q.ID, Kind: proto.AskPermission, Call: q.CallID, Tool: q.Request.Tool, Input: q.Request.Input,
		Title: q.title(), Text: q.text(), Reason: d.Reason.Text, ReasonKind: OutwardKind(d.Reason.Kind),
		Rule: strings.Join(d.Missing, ", "), Path: d.Reason.Path, Understood: d.Understood,
		Options: Options(d), Suggestions: d.Suggestions, NeedsPerson: d.NeedsPerson,
	}
	for _, m := range d.Matched {
		if m.List == AskList {
			out.Reason += fmt.Sprintf(" (%s)", matchPlace(m))
			break
		}
	}
	return out
}

func (q Question) title() string {
	who := ""
	if q.Agent != "" {
		who = "The agent " + q.Agent + " wants to "
	}
	verb := "use " + q.Request.Tool
	switch {
	case q.Request.Traits.Command != "":
		verb = "run a command"
	case q.Request.Tool == "WebFetch":
		verb = "fetch a page"
	case len(q.Request.Traits.Paths) > 0 && q.writes():
		verb = "change " + visible.Exact(q.Request.Traits.Paths[0].Path)
	case len(q.Request.Traits.Paths) > 0:
		verb = "read " + visible.Exact(q.Request.Traits.Paths[0].Path)
	}
	if who == "" {
		return strings.ToUpper(verb[:1]) + verb[1:] + "?"
	}
	return who + verb
}

func (q Question) writes() bool {
	e := eval{req: &q.Request}
	return e.writes()
}

// text is what would run, with control and invisible characters made visible and nothing cut.
func (q Question) text() string {
	if c := q.Request.Traits.Command; c != "" {
		return visible.Exact(c)
	}
	return visible.Exact(compact(q.Request.Input))
}

func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}

// OutwardKind is the name hosts know a kind of reason by.
func OutwardKind(k ReasonKind) string {
	switch k {
	case ByRule, ByMode, ByHook, ByClassifier, BySafety, ByDirectory:
		return string(k)
	case BySandbox:
		return "sandboxOverride"
	case Unattended:
		return "asyncAgent"
	}
	return "other"
}

// Options are the answers to a question, from the narrowest to the widest, then no. Each tells what it
// would also allow. What cannot be remembered is offered once alone.
func Options(d Decision) []proto.Option {
	out := []proto.Option{{ID: AnswerOnce, Label: "Yes, once", Behavior: string(Allow), Detail: "this call alone"}}
	if !d.Once && !d.NeedsPerson {
		if session := toDestination(d.Suggestions, FromSession); len(session) > 0 {
			out = append(out, proto.Option{
				ID: AnswerSession, Label: sessionLabel(session), Behavior: string(Allow), Updates: session,
				Detail: "until the session ends: " + alsoAllows(session),
			})
		}
		if always := lasting(d.Suggestions); len(always) > 0 {
			out = append(out, proto.Option{
				ID: AnswerAlways, Label: "Yes, and don't ask again in this project", Behavior: string(Allow), Updates: always,
				Detail: "kept in the local settings of the project: " + alsoAllows(always),
			})
		}
	}
	return append(out, proto.Option{ID: AnswerNo, Label: "No", Behavior: string(Deny), Detail: "nothing is remembered"})
}

func sessionLabel(updates []proto.PermissionUpdate) string {
	if len(updates) > 0 && updates[0].Type == "setMode" {
		return "Yes, and allow edits this session"
	}
	return "Yes, and don't ask again this session"
}

// toDestination turns suggestions into grants for the session. When a rule does, the mode is left
// alone: it is the narrower of the two.
func toDestination(list []proto.PermissionUpdate, to Source) []proto.PermissionUpdate {
	var rules, rest []proto.PermissionUpdate
	for _, u := range list {
		u.Destination = string(to)
		if u.Type == "addRules" {
			rules = append(rules, u)
		} else {
			rest = append(rest, u)
		}
	}
	if len(rules) > 0 {
		return rules
	}
	return rest
}

// lasting are the suggestions that are written to a file.
func lasting(list []proto.PermissionUpdate) []proto.PermissionUpdate {
	var out []proto.PermissionUpdate
	for _, u := range list {
		if u.Type == "addRules" && u.Destination != string(FromSession) {
			out = append(out, u)
		}
	}
	return out
}

// alsoAllows tells in words all that a set of updates lets run.
func alsoAllows(updates []proto.PermissionUpdate) string {
	var parts []string
	for _, u := range updates {
		switch u.Type {
		case "addRules":
			for _, r := range u.Rules {
				parts = append(parts, ruleMeaning(r))
			}
		case "setMode":
			parts = append(parts, "all file edits, and mkdir, touch, rm, rmdir, mv, cp and sed, in the working directories")
		case "addDirectories":
			parts = append(parts, "the tools may work in "+strings.Join(u.Directories, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// ruleMeaning tells in words what one allow rule lets run.
func ruleMeaning(r proto.RuleValue) string {
	switch r.ToolName {
	case "Bash", "PowerShell":
		if r.RuleContent == "" {
			return "every command (" + r.String() + ")"
		}
		if head, ok := strings.CutSuffix(r.RuleContent, " *"); ok {
			return fmt.Sprintf("“%s” with any arguments (%s)", head, r.String())
		}
		if strings.Contains(r.RuleContent, "*") && ruletext.ParseShell(r.RuleContent).Exact == "" {
			return fmt.Sprintf("every command of the form “%s” (%s)", r.RuleContent, r.String())
		}
		return fmt.Sprintf("exactly “%s”, also as a part of a longer command (%s)", r.RuleContent, r.String())
	case "Edit":
		return fmt.Sprintf("every change of %s, by any tool or redirection (%s)", strings.TrimPrefix(r.RuleContent, "/"), r.String())
	case "Read":
		return fmt.Sprintf("reading %s, by any tool or command that only reads (%s)", strings.TrimPrefix(r.RuleContent, "/"), r.String())
	case "WebFetch":
		return fmt.Sprintf("fetching every page of %s (%s)", strings.TrimPrefix(r.RuleContent, "domain:"), r.String())
	}
	if r.RuleContent == "" {
		return "every call of " + r.ToolName + ", with any input"
	}
	return r.String()
}

func matchPlace(m Match) string {
	return fmt.Sprintf("%s, %s", m.Rule, Rule{Source: m.Source, File: m.File, Line: m.Line}.Where())
}
