package shaping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
)

func text(s string) msg.Block { return msg.Text{Text: s} }

func person(id, s string) msg.Message {
	return msg.Message{ID: id, Role: msg.User, Content: []msg.Block{text(s)}}
}

func says(id, s string) msg.Message {
	return msg.Message{ID: id, Role: msg.Assistant, Response: "r-" + id, Content: []msg.Block{text(s)}}
}

// calls is an answer that makes calls, and their results.
func calls(id, tool string, results ...string) []msg.Message {
	var out, back []msg.Message
	for i, r := range results {
		call := fmt.Sprintf("%s-%d", id, i)
		out = append(out, msg.Message{ID: call, Role: msg.Assistant, Response: "r-" + id, Content: []msg.Block{msg.ToolCall{ID: call, Name: tool, Input: json.RawMessage(`{}`)}}})
		back = append(back, msg.Message{ID: call + "r", Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: call, Content: []msg.Block{text(r)}}}})
	}
	return append(out, back...)
}

func join(parts ...any) []msg.Message {
	var out []msg.Message
	for _, p := range parts {
		switch p := p.(type) {
		case msg.Message:
			out = append(out, p)
		case []msg.Message:
			out = append(out, p...)
		}
	}
	return out
}

func stateSlice() store.Slice[State] {
	type root struct{ shaping *State }
	s := store.New(root{&State{}}, nil, nil)
	return store.Focus(s, func(r *root) *State { return r.shaping }, func(_ *root, p *State) *root { return &root{p} })
}

func model(window int) provider.Info {
	return provider.Info{Provider: "t", ID: "m", ContextWindow: window, MaxOutput: 4000}
}

func shape(t testing.TB, s *Shaper, history []msg.Message, p engine.Pressure) engine.View {
	t.Helper()
	if p.Model.ID == "" {
		p.Model = model(200_000)
	}
	view, err := s.Shape(context.Background(), history, p)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func resultOf(t testing.TB, history []msg.Message, call string) string {
	t.Helper()
	for _, m := range history {
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok && r.CallID == call {
				return msg.TextOf(r.Content)
			}
		}
	}
	t.Fatalf("no result of %s", call)
	return ""
}

func TestALargeResultBecomesHeadTailAndPath(t *testing.T) {
	for _, tc := range []struct {
		name, tool string
		chars      int
		replaced   bool
	}{
		{"below", "Bash", 49_999, false},
		{"at", "Bash", 50_000, false},
		{"above", "Bash", 50_001, true},
		{"read bounds itself", "Read", 90_000, false},
		{"server below", "mcp__s__t", 100_000, false},
		{"server above", "mcp__s__t", 100_001, true},
		{"given bound", "Grep", 101, true},
		{"no bound", "Glob", 150_000, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spilled := map[string]string{}
			s := New(Config{
				Limits: Limits{ByTool: map[string]int{"Grep": 100, "Glob": -1}, Preview: 40},
				Spill:  func(name, text string) (string, error) { spilled[name] = text; return "/s/" + name, nil },
			})
			whole := strings.Repeat("é", tc.chars)
			history := join(person("p", "go"), calls("a", tc.tool, whole))
			view := shape(t, s, history, engine.Pressure{})
			got := resultOf(t, view.Messages, "a-0")
			if !tc.replaced {
				if got != whole || len(view.Events) > 0 {
					t.Errorf("%d characters were replaced", tc.chars)
				}
				return
			}
			if spilled["a-0.txt"] != whole || !strings.Contains(got, "the whole text is in /s/a-0.txt") || len(got) > 300 {
				t.Errorf("got %q", got)
			}
			if resultOf(t, history, "a-0") != whole {
				t.Error("the history itself was changed")
			}
			if len(view.Events) != 1 || view.Events[0].(proto.Shaped).Stage != "budget" {
				t.Errorf("events %v", view.Events)
			}
			again := shape(t, s, history, engine.Pressure{})
			if diff := cmp.Diff(view.Messages, again.Messages); diff != "" || len(again.Events) > 0 {
				t.Errorf("the second time: %v %s", again.Events, diff)
			}
		})
	}
}

func TestResultsOfOneRoundAreBoundedTogether(t *testing.T) {
	s := New(Config{Limits: Limits{Round: 100_000, Preview: 100}})
	history := join(
		person("p", "go"), calls("a", "Bash", strings.Repeat("a", 40_000), strings.Repeat("b", 45_000), strings.Repeat("c", 30_000)),
		calls("b", "Bash", strings.Repeat("d", 49_000), strings.Repeat("e", 49_000)),
	)
	got := shape(t, s, history, engine.Pressure{}).Messages
	for call, whole := range map[string]bool{"a-0": true, "a-1": false, "a-2": true, "b-0": true, "b-1": true} {
		if n := len(resultOf(t, got, call)); n > 1000 != whole {
			t.Errorf("%s has %d bytes", call, n)
		}
	}
}

func TestReplacementsAreHandedInAgain(t *testing.T) {
	var made []Replacement
	config := Config{Spill: func(name, _ string) (string, error) { return "/old/" + name, nil }, Replaced: func(r Replacement) { made = append(made, r) }}
	history := join(person("p", "go"), calls("a", "Bash", strings.Repeat("x\n", 40_000)))
	first := shape(t, New(config), history, engine.Pressure{}).Messages
	resumed := New(Config{Spill: func(string, string) (string, error) { t.Error("spilled again"); return "", nil }})
	resumed.Remember(made...)
	if diff := cmp.Diff(first, shape(t, resumed, history, engine.Pressure{}).Messages); diff != "" {
		t.Error(diff)
	}
}

func TestAFailingFileIsSaid(t *testing.T) {
	s := New(Config{Spill: func(string, string) (string, error) { return "", errors.New("disk full") }})
	got := resultOf(t, shape(t, s, join(person("p", "go"), calls("a", "Bash", strings.Repeat("x", 60_000))), engine.Pressure{}).Messages, "a-0")
	if !strings.Contains(got, "the rest could not be kept: disk full") {
		t.Error(got)
	}
}

// Cuts fall on characters at every offset, and what is sent is valid.
func TestKF005_BytesThatAreCut(t *testing.T) {
	for offset := range 4 {
		whole := strings.Repeat("a", offset) + strings.Repeat("😀", 60_000)
		s := New(Config{})
		view := shape(t, s, join(person("p", "go"), calls("a", "Bash", whole)), engine.Pressure{})
		got := resultOf(t, view.Messages, "a-0")
		raw, err := json.Marshal(view.Messages)
		if err != nil || !utf8.ValidString(got) || !utf8.Valid(raw) || strings.Contains(got, "\uFFFD") {
			t.Errorf("offset %d: %v", offset, err)
		}
		if !strings.Contains(got, fmt.Sprintf("of %d characters left out", 60_000+offset)) {
			t.Errorf("offset %d does not say how much is missing", offset)
		}
	}
}

func TestPreviewIsNeverLongerAndAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringN(0, 400, -1).Draw(t, "text")
		chars := rapid.IntRange(1, 300).Draw(t, "chars")
		got := Preview(whole, chars, "note")
		if len(got) > len(whole) || utf8.ValidString(whole) && !utf8.ValidString(got) {
			t.Fatalf("%q became %q", whole, got)
		}
		if utf8.RuneCountInString(whole) <= chars && got != whole {
			t.Fatalf("%q was cut", whole)
		}
	})
}

func TestTheRatioIsLearned(t *testing.T) {
	s := New(Config{})
	history := join(person("p", strings.Repeat("x", 9000)), says("a", strings.Repeat("y", 1000)))
	m := model(200_000)
	if got := s.Tokens(m, 8000); got != 2001 {
		t.Errorf("at first %d", got)
	}
	shape(t, s, history, engine.Pressure{Model: m, Used: 5000, UsedAt: 2})
	if got := s.Tokens(m, 8000); got != 4001 {
		t.Errorf("after 2 bytes a token: %d", got)
	}
	if got := s.Tokens(provider.Info{Provider: "other"}, 8000); got != 2001 {
		t.Errorf("another model: %d", got)
	}
}

func TestNumbersAreEntered(t *testing.T) {
	slice := stateSlice()
	s := New(Config{State: slice, Limits: Limits{Preview: 100}})
	history := join(person("p", "go"), calls("a", "Bash", strings.Repeat("x", 60_000)))
	shape(t, s, history, engine.Pressure{Model: model(100_000), Overhead: 1000})
	got := slice.Get()
	if got.Window != 100_000 || got.Reserve != 8000 || got.Used < 1000 || got.Used > 1200 || got.Saved["budget"] < 14_000 {
		t.Errorf("%+v", got)
	}
	before := slice.Get()
	shape(t, s, history, engine.Pressure{Model: model(100_000), Overhead: 1000})
	if slice.Get() != before {
		t.Error("the same numbers were a change")
	}
	shape(t, s, append(history, person("q", strings.Repeat("y", 4000))), engine.Pressure{Model: model(100_000), Used: 1050, UsedAt: 3})
	if used := slice.Get().Used; used < 2000 || used > 2150 {
		t.Errorf("used %d", used)
	}
}

func TestAPromptTooLongIsFirstProjected(t *testing.T) {
	s := New(Config{})
	var parts []any
	parts = append(parts, msg.Message{ID: "p", Role: msg.User, Content: []msg.Block{text("look"), msg.Image{MediaType: "image/png", Data: []byte("1234")}}}, says("s", "yes"))
	parts = append(parts, msg.Message{ID: "q", Role: msg.User, Content: []msg.Block{text("and this"), msg.Image{MediaType: "image/png", Data: []byte("5678")}}})
	for i := range 12 {
		parts = append(parts, calls(fmt.Sprint("c", i), "Read", strings.Repeat("line\n", 2000)))
	}
	history := join(parts...)
	view := shape(t, s, history, engine.Pressure{Reactive: true, Project: true})
	if !view.Freed || view.History != nil {
		t.Fatalf("freed %t", view.Freed)
	}
	if n := len(resultOf(t, view.Messages, "c3-0")); n > 700 {
		t.Errorf("an older result has %d bytes", n)
	}
	if n := len(resultOf(t, view.Messages, "c4-0")); n != 10_000 {
		t.Errorf("one of the newest results has %d bytes", n)
	}
	if view.Messages[0].Content[1] != text("[a picture stood here (image/png, 4 bytes)]") {
		t.Errorf("the older picture: %v", view.Messages[0].Content[1])
	}
	if _, ok := view.Messages[2].Content[1].(msg.Image); !ok {
		t.Error("the picture of the last message is gone")
	}
	next := shape(t, s, history, engine.Pressure{})
	if diff := cmp.Diff(view.Messages, next.Messages); diff != "" {
		t.Errorf("the next request is another: %s", diff)
	}
	if again := shape(t, s, history, engine.Pressure{Reactive: true, Project: true}); again.Freed {
		t.Error("projected twice")
	}
	if small := shape(t, New(Config{}), join(person("p", "go")), engine.Pressure{Reactive: true, Project: true}); small.Freed || len(small.Events) > 0 {
		t.Error("nothing was there to be freed")
	}
}

func BenchmarkShape(b *testing.B) {
	s := New(Config{})
	var history []msg.Message
	for i := range 3000 {
		history = append(history, join(person(fmt.Sprint("p", i), "do it"), calls(fmt.Sprint("c", i), "Bash", strings.Repeat("x", 2000)))...)
	}
	p := engine.Pressure{Model: model(200_000)}
	for b.Loop() {
		if _, err := s.Shape(b.Context(), history, p); err != nil {
			b.Fatal(err)
		}
	}
}

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
