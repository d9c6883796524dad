package trust

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// The answers to the question.
const (
	AnswerTrust   = "trust"   // keep it
	AnswerSession = "session" // for this session
	AnswerDecline = "decline" // go on, read-only, without anything the folder supplies
	AnswerExit    = "exit"
)

// Question words the question: where, why, and everything the folder would be given, each with its
// file and line. It needs a person; no hook and no classifier answers it.
func Question(id string, in Input, d Decision) proto.Ask {
	ask := proto.Ask{
		ID: id, Kind: proto.AskTrust, Title: "Trust this folder?", Path: in.Folder.Key,
		Text: text(in), Reason: d.Why, ReasonKind: "trust", NeedsPerson: true,
		Options: []proto.Option{
			{ID: AnswerTrust, Label: "Yes, trust it", Detail: "everything listed takes effect; changes are asked about again"},
			{ID: AnswerSession, Label: "Yes, for this session", Detail: "nothing is remembered"},
			{ID: AnswerDecline, Label: "No, go on without", Behavior: "deny", Detail: "read-only, and nothing the folder supplies takes effect but what restricts"},
			{ID: AnswerExit, Label: "Exit", Behavior: "deny"},
		},
	}
	if in.Folder.Home {
		ask.Options = slices.Delete(ask.Options, 0, 1) // home is never trusted for longer
	}
	for _, i := range in.Items {
		ask.Understood = append(ask.Understood, line(i))
	}
	if raw, err := json.Marshal(listed(in.Items)); err == nil { // strings and numbers only
		ask.Input = raw
	}
	return ask
}

// listed is the list as data, for screens that lay it out themselves.
func listed(items []Item) any {
	type entry struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
		File string `json:"file"`
		Line int    `json:"line"`
	}
	out := make([]entry, 0, len(items))
	for _, i := range items {
		out = append(out, entry{i.Kind, visible.ExactLine(i.Text), i.At.File, i.At.Line})
	}
	return map[string]any{"items": out}
}

func line(i Item) string {
	return fmt.Sprintf("%s: %s  (%s)", i.Kind, visible.ExactLine(i.Text), visible.ExactLine(i.At.Place()))
}

// headings say what a kind means.
func heading(kind string) string {
	switch kind {
	case KindHooks:
		return "Hooks it would run"
	case KindHelpers:
		return "Helper commands it would run"
	case KindMCP:
		return "Servers it would start or approve"
	case KindPlugins:
		return "Plugins and marketplaces it would enable"
	case KindEnv:
		return "Environment it would set"
	case KindAllow:
		return "Things it would allow without asking"
	}
	return kind
}

func text(in Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", visible.ExactLine(in.Folder.Key))
	if in.Folder.Doubt != "" {
		fmt.Fprintf(&b, "Note: %s.\n", visible.ExactLine(in.Folder.Doubt))
	}
	if len(in.Items) == 0 {
		b.WriteString("Its settings want nothing that waits for trust. Trusting it lets the program run git here and read its instructions.\n")
		return b.String()
	}
	for _, kind := range Kinds() {
		first := true
		for _, i := range in.Items {
			if i.Kind != kind {
				continue
			}
			if first {
				fmt.Fprintf(&b, "%s:\n", heading(kind))
				first = false
			}
			fmt.Fprintf(&b, "  %s  (%s)\n", visible.ExactLine(i.Text), visible.ExactLine(i.At.Place()))
		}
	}
	return b.String()
}

// Answered is what an answer leads to.
type Answered struct {
	Decision Decision
	Mark     *Mark // to be kept with [Save]; nil: nothing
	ReadOnly bool  // the person declined: the session changes nothing
	Exit     bool
}

// Answer turns the person's answer into a decision about what was shown, whose prints were taken when
// the question was put. An answer nobody knows declines.
func Answer(in Input, shown FolderPrints, option string, now time.Time) Answered {
	no := Decision{State: State{State: Untrusted, Fingerprint: shown.Whole()}, Why: "a person declined"}
	no.State.Withheld = withheld(in.Items, no)
	switch option {
	case AnswerTrust, AnswerSession:
		d := granted(SessionOnly, ByDialog, Kinds())
		d.State.Fingerprint, d.Why = shown.Whole(), "a person agreed"
		if option == AnswerSession || in.Folder.Home {
			return Answered{Decision: d}
		}
		d.State.State = Trusted
		return Answered{Decision: d, Mark: &Mark{Rel: in.Folder.Rel, Shared: shown.Shared, Local: shown.Local, At: now.UTC()}}
	case AnswerExit:
		return Answered{Decision: no, ReadOnly: true, Exit: true}
	}
	return Answered{Decision: no, ReadOnly: true}
}

// Line is what a headless run says of a folder on stderr: what was left out, and how to change it.
// It is empty when nothing was.
func Line(in Input, d Decision) string {
	if len(d.State.Withheld) == 0 {
		return ""
	}
	var parts []string
	missing := map[string]bool{}
	for _, kind := range Kinds() {
		var of []Withheld
		for _, w := range d.State.Withheld {
			if w.Kind == kind {
				of = append(of, w)
			}
		}
		if len(of) == 0 {
			continue
		}
		missing[kind] = true
		parts = append(parts, fmt.Sprintf("%d × %s (%s:%d%s)", len(of), kind, of[0].File, of[0].Line, more(len(of))))
	}
	how := "--trust"
	if len(missing) == 1 || d.State.State != Untrusted {
		var names []string
		for _, kind := range Kinds() {
			if missing[kind] {
				names = append(names, kind)
			}
		}
		how += "=" + strings.Join(names, ",")
	}
	return fmt.Sprintf("folder %s is not trusted with all it supplies (%s); left out: %s; to use it give %s or set MYELIN_TRUST, or trust the folder in an interactive session",
		visible.ExactLine(in.Folder.Key), d.Why, strings.Join(parts, ", "), how)
}

func more(n int) string {
	if n > 1 {
		return ", …"
	}
	return ""
}
