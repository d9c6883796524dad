package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

func question(text string, labels ...string) Question {
	q := Question{Question: text, Header: "H"}
	for _, l := range labels {
		q.Options = append(q.Options, Option{Label: l, Description: "d"})
	}
	return q
}

func literal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// put runs a call as the model wrote it.
func put(t *testing.T, w World, v any) (tool.Result, error) {
	t.Helper()
	q := New(w)
	call, err := q.Normalise(tool.Call{ID: "c", Literal: literal(t, v)})
	if err != nil {
		return tool.Result{}, err
	}
	return q.Run(t.Context(), call)
}

func TestThePersonIsAskedAndTheAnswersTold(t *testing.T) {
	questions := []Question{question("Which?", "A", "B"), question("How?", "x", "y")}
	var asked []Question
	w := World{Ask: func(_ context.Context, _ tool.Call, q []Question) (Answers, error) {
		asked = q
		return Answers{Answers: map[string]string{"Which?": "A, B"}, Annotations: map[string]Annotation{"Which?": {Notes: "both"}}}, nil
	}}
	r, err := put(t, w, map[string]any{"questions": questions})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := msg.TextOf(r.Content), "The person answered:\n- Which?: A, B\n  Note: both\n- How?: (no answer)"; got != want {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(questions, asked); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(r.Structured), `"answers":{"Which?":"A, B"},"annotations":{"Which?":{"notes":"both"}}`) {
		t.Errorf("%s", r.Structured)
	}
}

// What the model writes as an answer does not count; what replaces its input does.
func TestOnlyAChangedInputHoldsAnswers(t *testing.T) {
	q := New(World{})
	written := literal(t, map[string]any{"questions": []Question{question("Which?", "A", "B")}, "answers": map[string]string{"Which?": "A"}})
	call := tool.Call{ID: "c", Literal: written}
	for range 2 { // also when its traits are taken anew
		normal, err := q.Normalise(call)
		if err != nil {
			t.Fatal(err)
		}
		r, err := q.Run(t.Context(), normal)
		if err != nil || !r.IsError {
			t.Fatalf("the model answered itself: %+v, %v", r, err)
		}
	}
	call.Literal = literal(t, map[string]any{"questions": []Question{question("Which?", "A", "B")}, "answers": map[string]string{"Which?": "B"}})
	normal, err := q.Normalise(call)
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Run(t.Context(), normal)
	if err != nil || r.IsError || !strings.Contains(msg.TextOf(r.Content), "Which?: B") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCallsAreForgottenInTheEnd(t *testing.T) {
	q := New(World{}).(*questions)
	for i := range 1000 {
		if _, err := q.Normalise(tool.Call{ID: fmt.Sprint(i), Literal: literal(t, map[string]any{"questions": []Question{question("Which?", "A", "B")}})}); err != nil {
			t.Fatal(err)
		}
	}
	if len(q.first) > remembered || len(q.order) > remembered {
		t.Errorf("%d calls are remembered", len(q.first))
	}
}

func TestNobodyAnswers(t *testing.T) {
	in := map[string]any{"questions": []Question{question("Which?", "A", "B")}}
	for name, w := range map[string]World{
		"nobody":   {},
		"declined": {Ask: func(context.Context, tool.Call, []Question) (Answers, error) { return Answers{}, ErrDeclined }},
		"empty":    {Ask: func(context.Context, tool.Call, []Question) (Answers, error) { return Answers{}, nil }},
	} {
		if r, err := put(t, w, in); err != nil || !r.IsError {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	broken := errors.New("gone")
	if _, err := put(t, World{Ask: func(context.Context, tool.Call, []Question) (Answers, error) { return Answers{}, broken }}, in); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestInputsAreChecked(t *testing.T) {
	five := question("Q", "1", "2", "3", "4", "5")
	for name, tc := range map[string]struct {
		questions []Question
		want      string
	}{
		"none":         {nil, "questions"},
		"five":         {[]Question{question("1", "a", "b"), question("2", "a", "b"), question("3", "a", "b"), question("4", "a", "b"), question("5", "a", "b")}, "questions"},
		"one option":   {[]Question{question("1", "a")}, "options"},
		"five options": {[]Question{five}, "options"},
		"twice":        {[]Question{question("1", "a", "b"), question("1", "c", "d")}, "stands twice"},
		"label twice":  {[]Question{question("1", "a", "a")}, `"a" of "1" stands twice`},
	} {
		if _, err := put(t, World{}, map[string]any{"questions": tc.questions}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestALongHeaderIsCut(t *testing.T) {
	for header, want := range map[string]string{"exactly 12 c": "exactly 12 c", "thirteen char": "thirteen ch…", "äöüäöüäöüäöüä": "äöüäöüäöüäö…"} {
		q := question("Which?", "A", "B")
		q.Header = header
		call, err := New(World{}).Normalise(tool.Call{ID: "c", Literal: literal(t, map[string]any{"questions": []Question{q}})})
		if err != nil {
			t.Fatal(err)
		}
		var in input
		if err := json.Unmarshal(call.Input, &in); err != nil {
			t.Fatal(err)
		}
		if got := in.Questions[0].Header; got != want {
			t.Errorf("%q became %q", header, got)
		}
	}
}

func TestItIsAQuestionItself(t *testing.T) {
	q := New(World{})
	if !q.Spec().NeedsPerson || !q.Traits(tool.Call{Input: json.RawMessage(`{}`)}).NeedsPerson {
		t.Error("it can be answered by a rule")
	}
}
