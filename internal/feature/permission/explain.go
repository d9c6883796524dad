package permission

import (
	"fmt"
	"strings"
)

// Explain tells in words what was decided about a request and why: for "permissions why" and for whoever
// asks after a refusal. The text ends in a line end.
func Explain(req Request, pol Policy, d Decision) string {
	var b strings.Builder
	q := Question{Request: req, Decision: d}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("call", "%s %s", req.Tool, strings.ReplaceAll(q.text(), "\n", "\n             "))
	mode := pol.Mode
	if mode == "" {
		mode = Default
	}
	line("mode", "%s (%s)", mode, mode.Label())
	line("decision", "%s", d.Behavior)
	line("because", "%s [%s]", d.Reason.Text, d.Reason.Kind)
	if d.Reason.Part != "" {
		line("part", "%s", d.Reason.Part)
	}
	if d.Reason.Path != "" {
		line("path", "%s", d.Reason.Path)
	}
	for _, m := range d.Matched {
		place := Rule{Source: m.Source, File: m.File, Line: m.Line}.Where()
		if m.Part != "" {
			line("rule", "%s %s, %s, matched %s", m.List, m.Rule, place, m.Part)
		} else {
			line("rule", "%s %s, %s", m.List, m.Rule, place)
		}
	}
	if len(d.Understood) > 0 {
		line("understood", "%s", strings.Join(d.Understood, "\n             "))
	}
	if len(d.Missing) > 0 {
		line("missing", "%s", strings.Join(d.Missing, ", "))
	}
	if d.Behavior == Ask {
		for _, o := range Options(d) {
			line("answer", "%s: %s", o.Label, o.Detail)
		}
		if d.Firm {
			line("note", "no allow rule, mode or hook answers this question")
		}
		if d.Classify {
			line("note", "the classifier is asked first")
		}
	}
	if d.Confine.Level != "" {
		line("runs", "%s (%s)", d.Confine.Level, d.Confine.Reason)
	} else if d.Confine.Reason != "" {
		line("runs", "unconfined: %s", d.Confine.Reason)
	}
	return b.String()
}
