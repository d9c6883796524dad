package screen

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// guard is how long a question must have been on the screen before a key answers it. Keys typed
// earlier were meant for the draft.
const AnswerGuard = 250 * time.Millisecond

// Question is one open question and how far its answering is.
type Question struct {
	Ask    proto.Ask
	by     string    // the surface that answers
	Shown  time.Time // when it was painted
	Parts  []part    // the questions of an AskUserQuestion, or the fields of a form
	at     int       // part that is asked now
	values map[string]any
	Reason bool                         // the person is writing why not
	Local  func(option string) []string // the face's own question: what to do; empty: nothing chosen
}

// part is one thing to answer inside a question.
type part struct {
	key     string // under which the answer is sent
	text    string
	detail  string
	choices []choice
	multi   bool
	free    bool   // an answer in own words is welcome
	kind    string // of a form's field: string, number, integer, boolean
	need    bool   // a form's field must be given
}

type choice struct{ label, detail string }

// NewQuestion prepares a question for answering at a surface.
func NewQuestion(a proto.Ask, by string) *Question {
	q := &Question{Ask: a, by: by, values: map[string]any{}}
	switch a.Kind {
	case proto.AskQuestion:
		q.Parts = questionParts(a.Input)
	case proto.AskForm:
		q.Parts = formParts(a.Schema)
	}
	return q
}

func questionParts(input json.RawMessage) []part {
	var in struct {
		Questions []struct {
			Question string `json:"question"`
			Header   string `json:"header"`
			Options  []struct {
				Label       string `json:"label"`
				Description string `json:"description"`
				Preview     string `json:"preview"`
			} `json:"options"`
			MultiSelect bool `json:"multiSelect"`
		} `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	var out []part
	for _, q := range in.Questions {
		p := part{key: q.Question, text: q.Question, multi: q.MultiSelect, free: true}
		for _, o := range q.Options {
			p.choices = append(p.choices, choice{o.Label, o.Description})
		}
		out = append(out, p)
	}
	return out
}

// options are the answers of a question about a right. Where none came with it, there are still
// yes and no.
func (q *Question) options() []proto.Option {
	if len(q.Ask.Options) > 0 {
		return q.Ask.Options
	}
	return []proto.Option{{ID: "yes", Label: "Yes, once", Behavior: "allow"}, {ID: "no", Label: "No", Behavior: "deny"}}
}

// Lines show the question, whole: nothing that would run is left out or hidden.
func (q *Question) Lines(s Style, cells int) []string {
	a := q.Ask
	title := a.Title
	if title == "" {
		title = string(a.Kind)
		if a.Tool != "" {
			title = a.Tool + " asks for permission"
		}
	}
	lead := s.Sign("? ", "question: ")
	out := []string{""}
	out = append(out, Wrap(s.Bold(s.Yellow(lead+visible.ExactLine(title))), cells)...)
	if a.Kind == proto.AskPlan {
		out = append(out, markdown(planText(a), cells, s)...)
	} else {
		out = append(out, body(s, a, cells)...)
	}
	for _, u := range a.Understood {
		out = append(out, "    "+s.Sign("├ ", "- ")+visible.ExactLine(u))
	}
	if a.Path != "" {
		out = append(out, "  path: "+visible.ExactLine(a.Path))
	}
	if a.Reason != "" {
		out = append(out, Wrap(s.Dim("  why: "+visible.ExactLine(a.Reason)), cells)...)
	}
	if len(q.Parts) > 0 {
		return append(out, q.PartLines(s, cells)...)
	}
	for i, o := range q.options() {
		out = append(out, choiceLines(s, i+1, o.Label, o.Detail, cells)...)
	}
	return out
}

// choiceLines are one numbered answer, wrapped below its label.
func choiceLines(s Style, n int, label, detail string, cells int) []string {
	mark := fmt.Sprintf("  %d  ", n)
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

// body is what is asked about: the change for a file, the text for a command, prose wrapped for
// anything else.
func body(s Style, a proto.Ask, cells int) []string {
	if lines := changeLines(s, a); lines != nil {
		return lines
	}
	if a.Kind == proto.AskPermission || a.Kind == proto.AskHost {
		return bodyLines(a)
	}
	var out []string
	for _, l := range bodyLines(a) {
		out = append(out, Wrap(l, cells)...)
	}
	return out
}

// changeRows is how much of a change is shown; the mark behind it says how much is left.
const changeRows = 120

// changeLines shows what an edit or a write would do to a file, as a diff of the call's own input.
func changeLines(s Style, a proto.Ask) []string {
	if a.Kind != proto.AskPermission {
		return nil
	}
	type edit struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
		All bool   `json:"replace_all"`
	}
	var in struct {
		edit
		File    string  `json:"file_path"`
		Content *string `json:"content"`
		Edits   []edit  `json:"edits"`
	}
	if json.Unmarshal(a.Input, &in) != nil || in.File == "" {
		return nil
	}
	var out []string
	side := func(sign string, look func(string) string, text string) {
		for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			out = append(out, look("    "+sign+visible.Exact(l)))
		}
	}
	switch {
	case a.Tool == "Write" && in.Content != nil:
		side("+", s.Green, *in.Content)
	case a.Tool == "Edit":
		for _, e := range append([]edit{in.edit}, in.Edits...) {
			if e.Old == "" && e.New == "" {
				continue
			}
			if e.All {
				out = append(out, "    everywhere:")
			}
			side("-", s.Red, e.Old)
			side("+", s.Green, e.New)
		}
	}
	if n := len(out) - changeRows; n > 0 {
		out = append(out[:changeRows], fmt.Sprintf("    %s %d more lines", s.Sign("…", "..."), n))
	}
	return out
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

func planText(a proto.Ask) string {
	var in struct {
		Plan string `json:"plan"`
	}
	if json.Unmarshal(a.Input, &in) == nil && in.Plan != "" {
		return in.Plan
	}
	return a.Text
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
		out = append(out, choiceLines(s, i+1, c.label, c.detail, cells)...)
	}
	return out
}

// Hint says how to answer.
func (q *Question) Hint() string {
	if q.Reason {
		return "why not? (Enter: no reason) "
	}
	if len(q.Parts) == 0 {
		return fmt.Sprintf("answer 1-%d, n: no and say why, Esc: no and stop ", len(q.options()))
	}
	p := q.Parts[q.at]
	switch {
	case len(p.choices) > 0 && p.multi:
		return fmt.Sprintf("numbers 1-%d with commas, or your own words: ", len(p.choices))
	case len(p.choices) > 0 && p.free:
		return fmt.Sprintf("number 1-%d, or your own words: ", len(p.choices))
	case len(p.choices) > 0:
		return fmt.Sprintf("number 1-%d: ", len(p.choices))
	case !p.need:
		return "answer (empty: leave out): "
	}
	return "answer: "
}

// Single reports whether one key without Enter answers now.
func (q *Question) Single() bool { return len(q.Parts) == 0 && !q.Reason && len(q.options()) <= 9 }

// Verdict is what an answer comes to.
type Verdict struct {
	Answer *proto.Answer // to be sent
	Again  string        // why the answer cannot be taken
	Said   string        // what was chosen, for the record on the screen
	Open   string        // a file to be edited before the answer is sent; empty: none
}

// Key answers by one key.
func (q *Question) Key(k string) Verdict {
	if n, err := strconv.Atoi(k); err == nil && n >= 1 && n <= len(q.options()) {
		return q.choose(n - 1)
	}
	switch strings.ToLower(k) {
	case "y":
		for i, o := range q.options() {
			if o.Behavior == "allow" || o.Behavior == "" {
				return q.choose(i)
			}
		}
	case "n":
		q.Reason = true
		return Verdict{}
	}
	return Verdict{Again: "that is none of the answers"}
}

func (q *Question) choose(i int) Verdict {
	o := q.options()[i]
	return Verdict{
		Answer: &proto.Answer{ID: q.Ask.ID, Behavior: o.Behavior, Option: o.ID, Updates: o.Updates, By: q.by},
		Said:   o.Label, Open: o.Open,
	}
}

// Refuse answers no; stop ends the turn with it.
func (q *Question) Refuse(message string, stop bool) Verdict {
	said := "No"
	if message != "" {
		said += ": " + message
	}
	return Verdict{Answer: &proto.Answer{ID: q.Ask.ID, Behavior: "deny", Message: message, Interrupt: stop, By: q.by}, Said: said}
}

// GiveUp is Esc or Ctrl-C: no, and the turn stops; the face's own question just closes.
func (q *Question) GiveUp() Verdict {
	if q.Local != nil {
		return Verdict{Answer: &proto.Answer{ID: q.Ask.ID}}
	}
	return q.Refuse("", true)
}

// Line answers by a typed line.
func (q *Question) Line(text string) Verdict {
	text = strings.TrimSpace(text)
	switch {
	case q.Reason:
		return q.Refuse(text, false)
	case len(q.Parts) == 0:
		if rest, ok := strings.CutPrefix(text, "n "); ok {
			return q.Refuse(strings.TrimSpace(rest), false)
		}
		switch strings.ToLower(text) {
		case "no":
			return q.Refuse("", false)
		case "yes":
			text = "y"
		}
		return q.Key(text)
	}
	value, err := q.Parts[q.at].value(text)
	if err != nil {
		return Verdict{Again: err.Error()}
	}
	if value != nil {
		q.values[q.Parts[q.at].key] = value
	}
	if q.at++; q.at < len(q.Parts) {
		return Verdict{Said: text}
	}
	var values any = q.values
	if q.Ask.Kind == proto.AskQuestion {
		values = map[string]any{"answers": q.values} // as the tool's input has them
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return Verdict{Again: err.Error()}
	}
	return Verdict{Answer: &proto.Answer{ID: q.Ask.ID, Behavior: "allow", Values: raw, By: q.by}, Said: text}
}

// value reads the answer to one part; nil leaves it out.
func (p part) value(text string) (any, error) {
	if len(p.choices) > 0 {
		return p.chosen(text)
	}
	if text == "" {
		if p.need {
			return nil, fmt.Errorf("%s is needed", p.text)
		}
		return nil, nil
	}
	switch p.kind {
	case "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true", "1":
			return true, nil
		case "n", "no", "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("answer yes or no")
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", text)
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", text)
		}
		return n, nil
	}
	return text, nil
}

func (p part) chosen(text string) (any, error) {
	if text == "" {
		return nil, fmt.Errorf("choose one of 1-%d", len(p.choices))
	}
	var labels []string
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 || n > len(p.choices) {
			labels = nil
			break
		}
		labels = append(labels, p.choices[n-1].label)
	}
	switch {
	case len(labels) == 0 && p.free:
		return text, nil
	case len(labels) == 0:
		return nil, fmt.Errorf("choose one of 1-%d", len(p.choices))
	case len(labels) > 1 && !p.multi:
		return nil, fmt.Errorf("choose one")
	}
	return strings.Join(labels, ", "), nil
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
