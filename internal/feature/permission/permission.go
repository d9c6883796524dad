// Package permission decides whether a tool call may run: allow, deny or ask, with the reason, and
// the rule, file and line behind it.
//
// [Decide] is the heart: a pure function of a request and a policy. Around it stand the rules
// ([ParseRule], [Compile]), the slice of the session's state with the functions that change it ([State]),
// questions and their answers ([Question], [Answered]), the classifier of auto mode ([Classifier]), the record of what
// was decided ([Ledger]), and the reports that check a policy from the command line ([ReadVectors],
// [Explain]). Tools are known by name, by what they say of a call (tool.Traits) and by fields
// of their input; no tool is imported. The package reads no settings file, resolves no link and asks nobody
// itself: paths are resolved by a [Resolver] that is handed in, and answers come from functions.
//
// What holds: deny beats ask beats allow, whatever the source; what cannot be understood asks.
package permission

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Behavior is the outcome of a decision. The zero Behavior is no outcome; who meets it must treat it
// as Ask.
type Behavior string

// The outcomes.
const (
	Allow Behavior = "allow"
	Deny  Behavior = "deny"
	Ask   Behavior = "ask"
)

// Mode is a permission mode.
type Mode string

// The modes. Bubble is internal: a subagent that hands every question to its parent's surface.
const (
	Default     Mode = "default"
	AcceptEdits Mode = "acceptEdits"
	Plan        Mode = "plan"
	Auto        Mode = "auto"
	DontAsk     Mode = "dontAsk"
	Bypass      Mode = "bypassPermissions"
	Bubble      Mode = "bubble"
)

// ParseMode reads a mode as written in a flag, a setting or by a host: the canonical names and the alias
// "manual". Bubble cannot be set from outside.
func ParseMode(s string) (Mode, bool) {
	switch m := Mode(s); m {
	case Default, AcceptEdits, Plan, Auto, DontAsk, Bypass:
		return m, true
	}
	if s == "manual" {
		return Default, true
	}
	return "", false
}

// Outward is the mode as it is shown outside: a bubble is shown as its parent's mode.
func Outward(m, parent Mode) Mode {
	if m == Bubble {
		if parent == Bubble || parent == "" {
			return Default
		}
		return parent
	}
	if m == "" {
		return Default
	}
	return m
}

// Label is the name of a mode for people.
func (m Mode) Label() string {
	switch m {
	case AcceptEdits:
		return "accept edits"
	case Plan:
		return "plan"
	case Auto:
		return "auto"
	case DontAsk:
		return "don't ask"
	case Bypass:
		return "bypass permissions"
	case Bubble:
		return "bubble"
	}
	return "manual"
}

// Request is one call to decide about.
type Request struct {
	Tool    string          // canonical name
	Literal json.RawMessage // what the model or a hook wrote; rules on parameters compare this
	Input   json.RawMessage // normalised; nil: as Literal
	Traits  tool.Traits
	Cwd     string // where the agent (for shell calls: its shell) stands, absolute; empty: the policy's
}

// Policy is everything a decision depends on. It is read, never changed; one value may serve many
// decisions at once.
type Policy struct {
	Rules   *Rules // nil: none
	Mode    Mode   // empty: Default
	Dirs    Dirs
	Resolve Resolver // nil: no path is a link
	Files   Files
	Sandbox Sandbox
	// Git says why git may not run unasked in a directory: nobody trusts it, and its repository might
	// run something. Empty: it may. Nil: it may anywhere.
	Git func(dir string) string

	Accounts *Accounts // of command lines that were read already; nil: none

	AutoAvailable bool // the classifier may be used
	AutoInPlan    bool // in plan mode it is asked before the person
	ClassifyShell bool // in auto mode every shell allow rule is set aside
	ManagedOnly   bool // only managed rules exist: nothing can be saved

	Folds func(dir string) bool // whether names in a folder ignore case; nil: nowhere
}

// Dirs are the places a decision refers to. All are absolute and clean.
type Dirs struct {
	Cwd       string                       // the original working directory of the session
	Project   string                       // root of the project
	Home      string                       //
	More      []string                     // further working directories
	Protected []string                     // never written without asking: the session's transcript, the program's state
	Temp      string                       // the session's own temporary folder, which commands may use freely
	Notes     func(path, real string) bool // the agent's own, which file tools use unasked in every mode; nil: none
}

// Sandbox is what is known of the shell sandbox.
type Sandbox struct {
	Enabled         bool     // on and working: shell commands run inside
	NoAutoAllow     bool     // commands inside are not allowed for that reason alone
	NoEscape        bool     // the parameter that asks to run outside is ignored
	Excluded        []string // patterns of commands that run outside
	ReadOnlyMissing bool     // no read-only sandbox can be had (plan mode)
}

// ReasonKind says what settled a decision.
type ReasonKind string

// The kinds of reasons.
const (
	ByRule       ReasonKind = "rule"
	ByMode       ReasonKind = "mode"
	ByHook       ReasonKind = "hook"
	ByClassifier ReasonKind = "classifier"
	BySafety     ReasonKind = "safetyCheck"
	ByDirectory  ReasonKind = "workingDir"
	ByReadOnly   ReasonKind = "readOnly"
	BySandbox    ReasonKind = "sandbox"
	ByParse      ReasonKind = "parse"
	ByLimit      ReasonKind = "limit"
	Unattended   ReasonKind = "unattended"
	ByOther      ReasonKind = "other"
)

// Reason says why.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	Text string     `json:"text"`           // a sentence for people
	Path string     `json:"path,omitempty"` // the path in question
	Part string     `json:"part,omitempty"` // the part of a command in question
}

// Match is one rule that matched, with where it stands.
type Match struct {
	List   List   `json:"list"`
	Rule   string `json:"rule"`
	Source Source `json:"source"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Part   string `json:"part,omitempty"` // the part of a command it matched
}

// Decision is the outcome with its explanation. It is data.
type Decision struct {
	Behavior    Behavior                 `json:"behavior"`
	Reason      Reason                   `json:"reason"`
	Matched     []Match                  `json:"matched,omitempty"`
	Suggestions []proto.PermissionUpdate `json:"suggestions,omitempty"` // what would allow this call for good
	Missing     []string                 `json:"missing,omitempty"`     // the allow rules that are missing
	Understood  []string                 `json:"understood,omitempty"`  // how a command was understood, a line a part
	Confine     tool.Confinement         `json:"confine,omitzero"`      // level and reason; the directories are filled in by the caller
	Mode        Mode                     `json:"mode,omitempty"`        // it was decided in
	// Firm: neither a hook's allow nor an allow rule nor the classifier lifts it.
	Firm bool `json:"firm,omitempty"`
	// Leaves: the call asks to run outside of the sandbox. Neither a hook before it nor the classifier lets it.
	Leaves bool `json:"leaves,omitempty"`
	// Classify: auto mode passes the call to the classifier before it asks anybody.
	Classify bool `json:"classify,omitempty"`
	// NeedsPerson: only a person's answer counts.
	NeedsPerson bool `json:"needs_person,omitempty"`
	// Once: the question must not offer to remember the answer.
	Once bool `json:"once,omitempty"`
}

// Decide decides one call. It is pure but for the resolver it was handed.
func Decide(req Request, pol Policy) Decision {
	if req.Input == nil {
		req.Input = req.Literal
	}
	if req.Cwd == "" {
		req.Cwd = pol.Dirs.Cwd
	}
	if pol.Mode == "" || pol.Mode == Bubble {
		pol.Mode = Default
	}
	if pol.Rules == nil {
		pol.Rules = &Rules{}
	}
	e := newEval(&req, &pol)
	d := e.settle(e.decide())
	d.Mode = pol.Mode
	return d
}

// settle turns what the mode makes of a question into the outcome.
func (e *eval) settle(d Decision) Decision {
	if d.Behavior != Ask {
		return d
	}
	switch e.pol.Mode {
	case DontAsk:
		d.Behavior = Deny
		d.Reason.Text += "; in the mode “don't ask” every question is answered no"
	case Auto:
		d.Classify = !d.Firm || d.critical()
		if d.NeedsPerson || d.Leaves || (d.Reason.Kind == ByRule && len(d.Matched) > 0) {
			d.Classify = false
		}
	case Plan:
		d.Classify = e.pol.AutoAvailable && e.pol.AutoInPlan && !d.NeedsPerson && d.Reason.Kind != ByRule && d.Reason.Kind != ByParse
		d.Once = true
		d.Suggestions = nil
	}
	if e.pol.ManagedOnly {
		d.Once, d.Suggestions = true, nil
	}
	return d
}

// critical tells whether the question is about a removal that no rule approves; the classifier may
// still judge it.
func (d *Decision) critical() bool {
	return d.Reason.Kind == BySafety
}

// Held is what deny and ask rules alone make of a decision; the zero Decision when none of them holds.
func Held(d Decision) Decision {
	if d.Behavior == Allow || d.Reason.Kind != ByRule || len(d.Matched) == 0 {
		return Decision{}
	}
	return Decision{Behavior: d.Behavior, Reason: d.Reason, Matched: d.Matched}
}

// Stricter is d, or what another input of the same call is held to, whichever is stricter. The confinement
// stays that of d.
func Stricter(d, held Decision) Decision {
	switch {
	case held.Behavior == "" || d.Behavior == Deny:
		return d
	case held.Behavior == Deny || d.Mode == DontAsk:
		d.Behavior = Deny
	case d.Behavior == Ask && d.Firm: // it is asked for its own sake
		d.Once, d.Classify, d.Suggestions = true, false, nil
		return d
	default:
		d.Behavior = Ask
	}
	d.Reason, d.Matched, d.Missing, d.Suggestions = held.Reason, held.Matched, nil, nil
	d.Reason.Text += "; a hook changed the call"
	d.Firm, d.Once, d.Classify = true, true, false
	return d
}

// AfterHook applies the answer of a PreToolUse hook to a decision. A deny settles it; an ask is a floor
// that nothing lifts; an allow skips the question of the mode alone: what is denied, asked for by a
// rule, critical, unreadable or a person's to answer stays.
func AfterHook(d Decision, hook Behavior, why string) Decision {
	switch hook {
	case Deny:
		d.Behavior, d.Reason = Deny, Reason{Kind: ByHook, Text: why}
	case Ask:
		if d.Behavior != Deny {
			d.Behavior, d.Reason = Ask, Reason{Kind: ByHook, Text: why}
			d.Firm, d.Classify, d.Once, d.Suggestions = true, false, true, nil
			if d.Mode == DontAsk {
				d.Behavior = Deny
			}
		}
	case Allow:
		if d.Behavior == Ask && !d.Firm && !d.NeedsPerson && !d.Leaves {
			d.Behavior, d.Reason = Allow, Reason{Kind: ByHook, Text: why}
			d.Classify, d.Suggestions, d.Missing = false, nil, nil
		}
	}
	return d
}
