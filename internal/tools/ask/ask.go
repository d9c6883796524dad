// Package ask is the AskUserQuestion tool: a few questions with named answers, put to the person.
//
// How they are put belongs to the surfaces: either the permission gate has them answered and the
// answers arrive in the changed input, or the tool asks through the function it was built with. A
// model cannot answer its own questions. Begin with [New].
package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Name is the name of the tool.
const Name = "AskUserQuestion"

// Question is one question, in the public shape of the tool's input.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header"`
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multiSelect"`
}

// Option is one answer a person can choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Preview     string `json:"preview,omitempty"`
}

// Answers are the answers by question: labels or the person's own words, several joined with ", ".
// Annotations are what the person noted beside them, and what they looked at.
type Answers struct {
	Answers     map[string]string     `json:"answers,omitempty"`
	Annotations map[string]Annotation `json:"annotations,omitempty"`
}

// Annotation is what a person added to one answer.
type Annotation struct {
	Notes   string `json:"notes,omitempty"`
	Preview string `json:"preview,omitempty"`
}

// ErrDeclined is what an asker returns when the person does not want to answer.
var ErrDeclined = errors.New("the person declined to answer")

// World is what the tool is built with.
type World struct {
	// Ask puts the questions and waits for the answers. nil: answers only come with the input.
	Ask func(ctx context.Context, call tool.Call, questions []Question) (Answers, error)
}

const description = `Asks the person one to four questions with two to four named answers each; they can also answer in their own words, so add no "other". Use it only where the answer changes what you do and you cannot find it out yourself. Put the answer you recommend first and say so in its label.`

const schema = `{"type":"object","required":["questions"],"properties":{"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","required":["question","header","options"],"properties":{
"question":{"type":"string","minLength":1},
"header":{"type":"string","minLength":1,"description":"title, at most 12 characters"},
"multiSelect":{"type":"boolean","description":"several answers may be chosen"},
"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object","required":["label","description"],"properties":{
"label":{"type":"string","minLength":1},"description":{"type":"string","description":"what it means"},
"preview":{"type":"string","description":"text to compare"}}}}}}}}}`

// input is the whole input. The answers only count when somebody changed the input that the model
// wrote.
type input struct {
	Questions []Question `json:"questions"`
	Answers
}

// maxHeader is the longest header surfaces show, in characters.
const maxHeader = 12

// New returns the tool.
func New(w World) tool.Tool {
	return &questions{World: w, base: tool.New(
		tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), NeedsPerson: true, Deferred: true, Keywords: "question choose clarify", Asks: tool.AsksForm, Plans: true},
		w.run, tool.Normaliser(normalise), tool.Always[input](tool.Traits{ReadOnly: true, NoEffect: true, NeedsPerson: true}),
	)}
}

// questions takes answers out of the input the model wrote, and leaves those in a changed one.
type questions struct {
	World
	base tool.Tool

	mu    sync.Mutex // guards first and order
	first map[string]json.RawMessage
	order []string
}

// Spec implements tool.Tool.
func (q *questions) Spec() tool.Spec { return q.base.Spec() }

// Traits implements tool.Tool.
func (q *questions) Traits(call tool.Call) tool.Traits { return q.base.Traits(call) }

// Run implements tool.Tool.
func (q *questions) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return q.base.Run(ctx, call)
}

// Normalise implements tool.Tool. The first input of a call is the model's; another one was made
// by a person, host or hook.
func (q *questions) Normalise(call tool.Call) (tool.Call, error) {
	out, err := q.base.Normalise(call)
	if err != nil || !q.written(call) {
		return out, err
	}
	out.Input, err = withoutAnswers(out.Input)
	return out, err
}

// remembered bounds how many open calls are known.
const remembered = 256

// written tells whether this input is the one the model wrote.
func (q *questions) written(call tool.Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first == nil {
		q.first = map[string]json.RawMessage{}
	}
	first, known := q.first[call.ID]
	if known {
		return bytes.Equal(first, call.Literal)
	}
	q.first[call.ID] = bytes.Clone(call.Literal)
	q.order = append(q.order, call.ID)
	if len(q.order) > remembered {
		delete(q.first, q.order[0])
		q.order = q.order[1:]
	}
	return true
}

func withoutAnswers(raw json.RawMessage) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		return raw, err
	}
	if in["answers"] == nil && in["annotations"] == nil {
		return raw, nil
	}
	delete(in, "answers")
	delete(in, "annotations")
	return json.Marshal(in)
}

func normalise(in input, _ tool.Call) (input, error) {
	seen := map[string]bool{}
	for i, q := range in.Questions {
		if seen[q.Question] {
			return in, fmt.Errorf("the question %q stands twice; answers are told by question", q.Question)
		}
		seen[q.Question] = true
		var labels []string
		for _, o := range q.Options {
			if slices.Contains(labels, o.Label) {
				return in, fmt.Errorf("the answer %q of %q stands twice", o.Label, q.Question)
			}
			labels = append(labels, o.Label)
		}
		if r := []rune(q.Header); len(r) > maxHeader { // a title, not worth another round
			in.Questions[i].Header = string(r[:maxHeader-1]) + "…"
		}
	}
	return in, nil
}

func (w World) run(ctx context.Context, in input, call tool.Call) (tool.Result, error) {
	answers := in.Answers
	if len(answers.Answers) == 0 {
		if w.Ask == nil {
			return tool.Failed("Nobody can answer questions in this session. Decide by yourself and say what you decided."), nil
		}
		var err error
		if answers, err = w.Ask(ctx, call, in.Questions); errors.Is(err, ErrDeclined) {
			return declined(), nil
		} else if err != nil {
			return tool.Result{}, fmt.Errorf("ask the person: %w", err)
		}
	}
	return show(in.Questions, answers)
}

func declined() tool.Result {
	return tool.Failed("The person declined to answer. Do not ask again; go on with what is known, or stop and say what you need.")
}

// output is the structured output.
type output struct {
	Questions []Question `json:"questions"`
	Answers
}

func show(questions []Question, a Answers) (tool.Result, error) {
	var b strings.Builder
	b.WriteString("The person answered:\n")
	any := false
	for _, q := range questions {
		answer, ok := a.Answers[q.Question]
		if !ok || strings.TrimSpace(answer) == "" {
			fmt.Fprintf(&b, "- %s: (no answer)\n", q.Question)
			continue
		}
		any = true
		fmt.Fprintf(&b, "- %s: %s\n", q.Question, answer)
		if note := a.Annotations[q.Question].Notes; note != "" {
			fmt.Fprintf(&b, "  Note: %s\n", note)
		}
	}
	if !any {
		return declined(), nil
	}
	structured, err := json.Marshal(output{questions, a})
	return tool.Result{Content: []msg.Block{msg.Text{Text: strings.TrimSuffix(b.String(), "\n")}}, Structured: structured}, err
}
