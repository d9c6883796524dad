package screen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Window is what a question is laid out for.
type Window struct {
	Cells int
	Rows  int    // 0: unknown, and nothing has to stay in sight
	Cwd   string // paths below it are shown relative to it
}

// Lines show the question, whole: nothing that would run is left out or hidden. A change of a file that is longer
// than the window is cut so that title and answers stay in sight; [Question.Whole] has the rest.
func (q *Question) Lines(s Style, w Window) []string {
	title := s.Bold(s.Yellow(s.Sign("? ", "question: ") + visible.ExactLine(q.title(w.Cwd))))
	out := append([]string{""}, Wrap(title, w.Cells)...)
	body := q.body(s, w.Cells)
	foot := q.foot(s, w.Cells)
	q.whole = nil
	if room := w.Rows - len(out) - len(foot) - 3; w.Rows > 0 && len(body) > max(room, 4) {
		if q.Ask.Kind == proto.AskPermission && changeOf(q.Ask) != nil {
			q.whole = append(slices.Clone(out), body...)
			n := len(body) - max(room, 4) + 1
			body = append(body[:len(body)-n], s.Dim(fmt.Sprintf("    %s %d more lines; v shows all", s.Sign("…", "..."), n)))
		} else { // a command is never cut: the title is said again where it is answered
			foot = append(Wrap(title, w.Cells), foot...)
		}
	}
	return append(append(out, body...), foot...)
}

// Whole is the whole of what [Question.Lines] showed in part; nil where nothing was left out.
func (q *Question) Whole() []string { return q.whole }

// title says what is asked. What the kind of a question says better than its tool is said so.
func (q *Question) title(cwd string) string {
	switch a := q.Ask; {
	case a.Kind == proto.AskPlan:
		return "Carry out this plan?"
	case a.Kind == proto.AskQuestion:
		if len(q.Parts) > 1 {
			return fmt.Sprintf("The model asks %d questions", len(q.Parts))
		}
		return "The model asks"
	case changeOf(a) != nil:
		c := changeOf(a)
		return c.verb() + " " + relative(c.File, cwd) + "?"
	case a.Title != "":
		return a.Title
	case a.Tool != "":
		return a.Tool + " asks for permission"
	default:
		return string(a.Kind)
	}
}

// body is what is asked about: the change for a file, the text for a command, prose wrapped for anything else.
func (q *Question) body(s Style, cells int) []string {
	a := q.Ask
	if a.Kind == proto.AskPlan {
		return markdown(q.Plan(), cells, s)
	}
	if a.Kind == proto.AskQuestion && len(q.Parts) > 0 {
		return nil
	}
	var out []string
	if about := description(a); about != "" {
		out = append(out, Wrap("  "+s.italic(visible.ExactLine(about)), cells)...)
	}
	switch c := changeOf(a); {
	case c != nil:
		out = append(out, c.lines(s)...)
	case a.Kind == proto.AskPermission || a.Kind == proto.AskHost:
		if !strings.Contains(a.Title, strings.TrimSpace(a.Text)) || a.Text == "" {
			out = append(out, bodyLines(a)...)
		}
	default:
		for _, l := range bodyLines(a) {
			out = append(out, Wrap(l, cells)...)
		}
	}
	return out
}

// foot is how the matter was understood, why it is asked, and the answers. A reason that stands in a line before
// is not said again.
func (q *Question) foot(s Style, cells int) []string {
	a := q.Ask
	var out []string
	said := a.Title + "\n" + a.Text + "\n" + string(a.Input)
	for _, u := range a.Understood {
		out = append(out, "    "+s.Sign("├ ", "- ")+visible.ExactLine(u))
		said += "\n" + u
	}
	if a.Path != "" && !strings.Contains(said, a.Path) {
		out = append(out, "  path: "+visible.ExactLine(a.Path))
	}
	if a.Reason != "" && len(q.Parts) == 0 && a.Kind != proto.AskPlan && !strings.Contains(said, a.Reason) {
		out = append(out, Wrap(s.Dim("  why: "+visible.ExactLine(a.Reason)), cells)...)
	}
	if len(q.Parts) > 0 {
		return append(out, q.PartLines(s, cells)...)
	}
	for _, o := range q.answers {
		out = append(out, choiceLines(s, o.key, o.Label, o.Detail, cells)...)
	}
	return out
}

// description is what the model says that its command does.
func description(a proto.Ask) string {
	var in struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	if json.Unmarshal(a.Input, &in) != nil || in.Command == "" {
		return ""
	}
	return in.Description
}

// choiceLines are one answer behind its key, wrapped below its label.
func choiceLines(s Style, key, label, detail string, cells int) []string {
	mark := fmt.Sprintf("  %s  ", key)
	text := visible.ExactLine(label)
	if detail != "" {
		text += s.Dim("  " + visible.ExactLine(detail))
	}
	lines := Wrap(text, max(cells-len(mark), 1))
	for i := range lines {
		if i == 0 {
			lines[i] = mark + lines[i]
			continue
		}
		lines[i] = strings.Repeat(" ", len(mark)) + strings.TrimLeft(lines[i], " ")
	}
	return lines
}

// bodyLines are what exactly is asked. Line ends stay line ends; runs of blanks that would push
// text out of sight are shown as their number.
func bodyLines(a proto.Ask) []string {
	text := a.Text
	if text == "" {
		text = Decisive(a.Input)
	}
	if text == "" && len(a.Input) > 0 && string(a.Input) != "{}" {
		text = string(a.Input)
	}
	if text == "" {
		return nil
	}
	var out []string
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, "    "+visible.Exact(l))
	}
	return out
}

// PartLines show the part that is asked now.
func (q *Question) PartLines(s Style, cells int) []string {
	p := q.Parts[q.at]
	var out []string
	if len(q.Parts) > 1 {
		out = append(out, s.Dim(fmt.Sprintf("  %d of %d", q.at+1, len(q.Parts))))
	}
	out = append(out, Wrap("  "+s.Bold(visible.ExactLine(p.text)), cells)...)
	if p.detail != "" {
		out = append(out, Wrap(s.Dim("  "+visible.ExactLine(p.detail)), cells)...)
	}
	for i, c := range p.choices {
		out = append(out, choiceLines(s, fmt.Sprint(i+1), c.label, c.detail, cells)...)
	}
	return out
}

// Hint says how to answer by keys, in at most so many rows of so many cells; what matters most goes last.
func (q *Question) Hint(cells, rows int) []string {
	if text := q.asking(); text != "" {
		return Wrap(text, cells)
	}
	if q.Local != nil {
		return Wrap(fmt.Sprintf("1-%d, Esc: none of them ", len(q.answers)), cells)
	}
	parts := []string{"Esc: no, and stop", "n: no", q.yes(), "N: no, and why"}
	switch {
	case q.whole != nil:
		parts = append(parts, "v: view all")
	case q.Ask.Kind == proto.AskPlan:
		parts = append(parts, "e: edit the plan")
	}
	for n := len(parts); n > 0; n-- {
		shown := slices.Clone(parts[:n])
		slices.SortStableFunc(shown, func(a, b string) int { return slices.Index(hintOrder(parts), a) - slices.Index(hintOrder(parts), b) })
		if out := Wrap(strings.Join(shown, " · ")+" ", cells); len(out) <= rows || n == 1 {
			return out
		}
	}
	return nil
}

// hintOrder is the order in which what the keys do is said: yes first, Esc last.
func hintOrder(parts []string) []string {
	out := append([]string{parts[2], parts[1]}, parts[3:]...)
	return append(out, parts[0])
}

// LineHint says how to answer by a typed line.
func (q *Question) LineHint() string {
	switch text := q.asking(); {
	case text != "":
		return text
	case q.Local != nil:
		return fmt.Sprintf("number 1-%d: ", len(q.answers))
	}
	text := "answer " + q.yes() + ", n: no, n and a reason: no, and why"
	if q.whole != nil {
		text += ", v: view all"
	}
	return text + ": "
}

// yes are the keys that say yes.
func (q *Question) yes() string {
	var keys []string
	other := ""
	for _, a := range q.answers {
		switch {
		case a.Behavior != "deny":
			keys = append(keys, a.key)
		case a.key != "n":
			other = " · " + a.key + ": " + strings.ToLower(visible.ExactLine(a.Label))
		}
	}
	return strings.Join(keys, ", ") + ": yes" + other
}

// asking is the hint where a line is awaited.
func (q *Question) asking() string {
	if q.Reason {
		return "why not? (Enter: no reason) "
	}
	if len(q.Parts) == 0 {
		return ""
	}
	p, back := q.Parts[q.at], ""
	if q.at > 0 {
		back = "; <: back"
	}
	switch {
	case len(p.choices) > 0 && p.multi:
		return fmt.Sprintf("numbers 1-%d with commas, or your own words%s: ", len(p.choices), back)
	case len(p.choices) > 0 && p.free:
		return fmt.Sprintf("number 1-%d, or your own words%s: ", len(p.choices), back)
	case len(p.choices) > 0:
		return fmt.Sprintf("number 1-%d%s: ", len(p.choices), back)
	case !p.need:
		return fmt.Sprintf("answer (empty: leave out)%s: ", back)
	}
	return fmt.Sprintf("answer%s: ", back)
}

// Decisive is the argument that says most of what a call does.
func Decisive(input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, key := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "subject", "description", "skill", "prompt"} {
		if key == "path" && in["pattern"] != nil {
			continue
		}
		if s, ok := in[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}
