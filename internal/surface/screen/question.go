package screen

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// AnswerGuard is how long a question must have been in front of a person before a key answers it. Keys typed
// earlier were meant for something else.
const AnswerGuard = 250 * time.Millisecond

// Question is one open question and how far its answering is.
type Question struct {
	Ask    proto.Ask
	Shown  time.Time                    // since when keys are meant for it; zero: they are not
	Parts  []part                       // the questions of an AskUserQuestion, or the fields of a form
	Reason bool                         // the person is writing why not
	Local  func(option string) []string // the interface's own question: what to do; empty: nothing chosen

	by      string // the surface that answers
	answers []answer
	at      int // part that is asked now
	values  map[string]any
	input   json.RawMessage // of the call, as the person changed it
	whole   []string        // lines that were left out of a long preview, with the rest
}

// answer is one answer of a question about a right, with its key.
type answer struct {
	key string
	proto.Option
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
	q.answers = keyed(a.Options)
	return q
}

// NewList is a choice of the interface's own, by number.
func NewList(a proto.Ask, chosen func(option string) []string) *Question {
	q := &Question{Ask: a, Local: chosen}
	for i, o := range a.Options {
		q.answers = append(q.answers, answer{strconv.Itoa(i + 1), o})
	}
	return q
}

// widths are the digits of a yes by how long it holds. They mean the same in every question.
func widths() map[string]string {
	return map[string]string{"once": "1", "session": "2", "always": "3", "trust": "3"}
}

// keyed gives each answer its key: digits say yes, n says no, x says a further no, such as to leave. Where
// no answers came, there are still yes and no.
func keyed(options []proto.Option) []answer {
	if len(options) == 0 {
		options = []proto.Option{{ID: "once", Label: "Yes, once", Behavior: "allow"}, {ID: "no", Label: "No", Behavior: "deny"}}
	}
	byWidth := true
	for _, o := range options {
		byWidth = byWidth && (o.Behavior == "deny" || widths()[o.ID] != "")
	}
	out := make([]answer, 0, len(options))
	yes, no := 0, 0
	for _, o := range options {
		switch {
		case o.Behavior == "deny":
			out = append(out, answer{[]string{"n", "x"}[min(no, 1)], o})
			no++
		case byWidth:
			out = append(out, answer{widths()[o.ID], o})
		default:
			yes++
			out = append(out, answer{strconv.Itoa(yes), o})
		}
	}
	return out
}

func (q *Question) find(key string) (answer, bool) {
	for _, a := range q.answers {
		if a.key == key {
			return a, true
		}
	}
	return answer{}, false
}

func questionParts(input json.RawMessage) []part {
	var in struct {
		Questions []struct {
			Question string `json:"question"`
			Options  []struct {
				Label       string `json:"label"`
				Description string `json:"description"`
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

// Single reports whether one key without Enter answers now.
func (q *Question) Single() bool { return len(q.Parts) == 0 && !q.Reason && len(q.answers) <= 9 }

// Verdict is what an answer comes to.
type Verdict struct {
	Answer *proto.Answer // to be sent
	Again  string        // why the answer cannot be taken
	Said   string        // what was chosen, for the record on the screen
	Open   string        // a file to be edited before the answer is sent; empty: none
	Back   bool          // an earlier part is asked again
}

// Key answers by one key.
func (q *Question) Key(k string) Verdict {
	if a, ok := q.find(k); ok {
		return q.choose(a)
	}
	switch {
	case q.Local != nil:
	case k == "y" || k == "Y":
		for _, a := range q.answers {
			if a.Behavior != "deny" {
				return q.choose(a)
			}
		}
	case k == "n":
		return q.refuse("")
	case k == "N":
		q.Reason = true
		return Verdict{}
	}
	return Verdict{Again: fmt.Sprintf("%q answers nothing here", k)}
}

func (q *Question) choose(a answer) Verdict {
	return Verdict{
		Answer: &proto.Answer{ID: q.Ask.ID, Behavior: a.Behavior, Option: a.ID, Updates: a.Updates, Input: q.input, By: q.by},
		Said:   a.Label, Open: a.Open,
	}
}

// refuse is the question's own no, with the reason if there is one.
func (q *Question) refuse(message string) Verdict {
	v := q.Refuse(message, false)
	if a, ok := q.find("n"); ok {
		v.Answer.Option, v.Said = a.ID, a.Label
		if message != "" {
			v.Said += ": " + message
		}
	}
	return v
}

// Refuse answers no; stop ends the turn with it.
func (q *Question) Refuse(message string, stop bool) Verdict {
	said := "No"
	if message != "" {
		said += ": " + message
	}
	return Verdict{Answer: &proto.Answer{ID: q.Ask.ID, Behavior: "deny", Message: message, Interrupt: stop, By: q.by}, Said: said}
}

// GiveUp is Esc or Ctrl-C: no, and the turn stops; the interface's own question just closes.
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
		return q.refuse(text)
	case len(q.Parts) == 0:
		return q.lineKey(text)
	case text == "<" && q.at > 0:
		q.at--
		return Verdict{Back: true}
	}
	value, err := q.Parts[q.at].value(text)
	if err != nil {
		return Verdict{Again: err.Error()}
	}
	delete(q.values, q.Parts[q.at].key) // of an answer given before
	if value != nil {
		q.values[q.Parts[q.at].key] = value
		text = fmt.Sprint(value)
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

// lineKey is an answer to a question about a right, typed as a line: its key, or no with the reason behind it.
func (q *Question) lineKey(text string) Verdict {
	if rest, ok := strings.CutPrefix(text, "N "); ok {
		return q.refuse(strings.TrimSpace(rest))
	}
	if rest, ok := strings.CutPrefix(text, "n "); ok {
		return q.refuse(strings.TrimSpace(rest))
	}
	switch strings.ToLower(text) {
	case "no":
		return q.refuse("")
	case "yes":
		text = "y"
	}
	return q.Key(text)
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

// chosen reads numbers as choices and anything else as own words; a number in quotes is own words too.
func (p part) chosen(text string) (any, error) {
	if text == "" {
		return nil, fmt.Errorf("choose one of 1-%d", len(p.choices))
	}
	var labels []string
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		switch {
		case err != nil && p.free:
			return strings.Trim(text, `"`), nil
		case err != nil:
			return nil, fmt.Errorf("choose one of 1-%d", len(p.choices))
		case n < 1 || n > len(p.choices):
			return nil, fmt.Errorf("there is no answer %d; choose one of 1-%d", n, len(p.choices))
		}
		labels = append(labels, p.choices[n-1].label)
	}
	switch {
	case len(labels) == 0:
		return nil, fmt.Errorf("choose one of 1-%d", len(p.choices))
	case len(labels) > 1 && !p.multi:
		return nil, fmt.Errorf("choose one")
	}
	return strings.Join(labels, ", "), nil
}

// Plan is the plan that is asked about, as it stands; empty: it is no question about one.
func (q *Question) Plan() string {
	if q.Ask.Kind != proto.AskPlan {
		return ""
	}
	raw := q.input
	if raw == nil {
		raw = q.Ask.Input
	}
	var in struct {
		Plan string `json:"plan"`
	}
	if json.Unmarshal(raw, &in) == nil && in.Plan != "" {
		return in.Plan
	}
	return q.Ask.Text
}

// SetPlan puts another plan in the place of the one that is asked about; approving approves it.
func (q *Question) SetPlan(text string) error {
	in := map[string]json.RawMessage{}
	if len(q.Ask.Input) > 0 {
		if err := json.Unmarshal(q.Ask.Input, &in); err != nil {
			return fmt.Errorf("change the plan: %w", err)
		}
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return fmt.Errorf("change the plan: %w", err)
	}
	in["plan"] = raw
	q.input, err = json.Marshal(in)
	return err
}
