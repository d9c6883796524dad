package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Request is a plain question with one tool, which every model can be asked.
func Request() provider.Request {
	return provider.Request{
		System:   []msg.Block{msg.Text{Text: "You are helpful.\nWorking directory: /work"}},
		Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: "Say hello."}}}},
		Tools: []provider.Tool{{
			Name: "Bash", Description: "Run a command.",
			Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
		}},
	}
}

// Any runs what any model must pass. open returns a model that can answer several plain requests.
func Any(t *testing.T, open func(t *testing.T) provider.Model) {
	t.Run("events follow the grammar", func(t *testing.T) {
		a, err := Check(open(t).Stream(t.Context(), Request()))
		if err != nil {
			t.Fatal(err)
		}
		if a.Err != nil || a.Done == nil {
			t.Fatalf("a plain question failed: %v", a.Err)
		}
	})
	t.Run("info names the model", func(t *testing.T) {
		if i := open(t).Info(); i.Provider == "" || i.ID == "" {
			t.Errorf("info is incomplete: %+v", i)
		}
	})
	t.Run("no more events after a break", func(t *testing.T) {
		m := open(t)
		for stop := 1; stop <= 4; stop++ {
			n := 0
			m.Stream(t.Context(), Request())(func(provider.Event, error) bool {
				n++
				if n > stop {
					t.Errorf("event %d came after the reader had stopped at %d", n, stop)
				}
				return n < stop
			})
		}
	})
	t.Run("a context that has ended is the error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a, err := Check(open(t).Stream(ctx, Request()))
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(a.Err, context.Canceled) {
			t.Errorf("error is %v, want the context's", a.Err)
		}
	})
	t.Run("several at once", func(t *testing.T) {
		m := open(t)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if a, err := Check(m.Stream(t.Context(), Request())); err != nil || a.Err != nil {
					t.Errorf("one of several: %v, %v", err, a.Err)
				}
			})
		}
		all.Wait()
	})
	t.Run("the request is not changed", func(t *testing.T) {
		req, same := Request(), Request()
		if _, err := Check(open(t).Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(same, req); diff != "" {
			t.Error(diff)
		}
	})
}

// Able says what an interface can carry of a script.
type Able struct {
	Malformed bool // a call's input that is no JSON
	Status    bool // HTTP statuses are told
}

// Played runs what a model must pass that plays a script (the text of a file as
// internal/providers/script reads it).
func Played(t *testing.T, able Able, open func(t *testing.T, text string) provider.Model) {
	Any(t, func(t *testing.T) provider.Model {
		return open(t, "turns:\n  - content: [{thinking: \"Hm.\"}, {text: \"Hello, wörld 😀, how are you today?\"}]\n    chunk: 3\nloop: true\n")
	})
	for _, stream := range []bool{true, false} {
		t.Run(map[bool]string{true: "streamed", false: "whole"}[stream], func(t *testing.T) {
			played(t, able, stream, open)
		})
	}
	t.Run("cut", func(t *testing.T) { broken(t, open) })
	t.Run("refused", func(t *testing.T) { refused(t, able, open) })
}

// ask asks one request.
func ask(t *testing.T, m provider.Model, stream bool) Answer {
	t.Helper()
	req := Request()
	req.Options.NoStream = !stream
	a, err := Check(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func played(t *testing.T, able Able, stream bool, open func(*testing.T, string) provider.Model) {
	t.Run("text, thinking and calls", func(t *testing.T) {
		m := open(t, `
turns:
  - content:
      - thinking: "Let me think about 😀 it."
      - text: "I look at both."
      - {tool: Bash, id: toolu_a, input: {command: "ls -l", n: 1}}
      - {tool: Bash, id: toolu_b, input: {command: "echo 'ä'"}}
    usage: {input: 120, output: 40, cache_read: 30, cache_write: 0}
    chunk: 2
`)
		a := ask(t, m, stream)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		if a.Text() != "I look at both." {
			t.Errorf("text is %q", a.Text())
		}
		calls := a.Calls()
		if len(calls) != 2 || calls[0].Name != "Bash" || !sameJSON(`{"command":"ls -l","n":1}`, calls[0].Input) || !sameJSON(`{"command":"echo 'ä'"}`, calls[1].Input) {
			t.Errorf("calls are %+v", calls)
		}
		if len(calls) == 2 && calls[0].ID == calls[1].ID {
			t.Error("both calls have one id")
		}
		if th, ok := a.Blocks[0].(msg.Thinking); !ok || th.Thinking != "Let me think about 😀 it." {
			t.Errorf("first block is %+v", a.Blocks[0])
		}
		if a.Done.Stop != msg.StopToolUse {
			t.Errorf("stop is %s", a.Done.Stop)
		}
		want := msg.Usage{Input: 120, Output: 40, CacheRead: 30}
		if a.Done.Usage != want {
			t.Errorf("usage is %+v, want %+v", a.Done.Usage, want)
		}
	})
	t.Run("stop reasons", func(t *testing.T) {
		for _, stop := range []msg.Stop{msg.StopEndTurn, msg.StopMaxTokens, msg.StopRefusal} {
			a := ask(t, open(t, fmt.Sprintf("turns:\n  - {content: [{text: hello}], stop: %s}\n", stop)), stream)
			if a.Err != nil || a.Done.Stop != stop {
				t.Errorf("stop %s: got %+v, error %v", stop, a.Done, a.Err)
			}
		}
	})
	t.Run("a call without input", func(t *testing.T) {
		a := ask(t, open(t, "turns:\n  - content: [{tool: Bash, input: {}}]\n"), stream)
		if c := a.Calls(); a.Err != nil || len(c) != 1 || string(c[0].Input) != "{}" || c[0].Malformed != "" {
			t.Errorf("calls %+v, error %v", c, a.Err)
		}
	})
	if able.Malformed && stream {
		t.Run("KF-065 input that is no JSON", func(t *testing.T) {
			a := ask(t, open(t, "turns:\n  - content: [{tool: Bash, input: '{\"command\": \"ls'}]\n"), stream)
			if c := a.Calls(); a.Err != nil || len(c) != 1 || string(c[0].Input) != "{}" || c[0].Malformed != `{"command": "ls` {
				t.Errorf("calls %+v, error %v", c, a.Err)
			}
		})
	}
}

// broken is KF-062 and KF-063 at the level of one answer.
func broken(t *testing.T, open func(*testing.T, string) provider.Model) {
	t.Run("in a text", func(t *testing.T) {
		a := ask(t, open(t, "turns:\n  - {content: [{text: \"half of a sentence\"}], chunk: 4, then: drop}\n"), true)
		if k := provider.KindOf(a.Err); k != provider.KindStream && k != provider.KindNetwork {
			t.Errorf("kind is %s (%v)", k, a.Err)
		}
		if len(a.Blocks) != 0 || msg.TextOf(a.Partly) != "half of a sentence" {
			t.Errorf("complete %v, partial %v", a.Blocks, a.Partly)
		}
		if a.Done != nil {
			t.Error("a broken stream has a Done")
		}
	})
	t.Run("in a call", func(t *testing.T) {
		a := ask(t, open(t, "turns:\n  - {content: [{text: \"I look.\"}, {tool: Bash, input: {command: ls}}], then: drop}\n"), true)
		if k := provider.KindOf(a.Err); k != provider.KindStream {
			t.Errorf("kind is %s (%v)", k, a.Err)
		}
		if a.Text() != "I look." {
			t.Errorf("the complete text is %q", a.Text())
		}
	})
	t.Run("while nothing comes", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := open(t, "turns:\n  - {content: [{text: \"and then nothing\"}], chunk: 4, then: hang}\n")
		text := ""
		var last error
		for e, err := range m.Stream(ctx, Request()) {
			if d, ok := e.(provider.Delta); ok {
				if text += d.Text; text == "and then nothing" {
					cancel()
				}
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("error is %v, want the context's", last)
		}
	})
}

func refused(t *testing.T, able Able, open func(*testing.T, string) provider.Model) {
	tests := []struct {
		status int
		typ    string
		kind   provider.Kind
	}{
		{529, "overloaded_error", provider.KindOverloaded},
		{429, "rate_limit_error", provider.KindRateLimit},
		{401, "authentication_error", provider.KindAuth},
		{500, "api_error", provider.KindServer},
		{400, "invalid_request_error", provider.KindInvalid},
		{404, "not_found_error", provider.KindNotFound},
	}
	for _, tt := range tests {
		a := ask(t, open(t, fmt.Sprintf("turns:\n  - error: {status: %d, type: %s, message: \"no luck\", retry_after: 2}\n", tt.status, tt.typ)), true)
		var e *provider.Error
		if !errors.As(a.Err, &e) || e.Kind != tt.kind {
			t.Errorf("%d %s: error %v, want kind %s", tt.status, tt.typ, a.Err, tt.kind)
			continue
		}
		if able.Status && e.Status != tt.status || e.RetryAfter.Seconds() != 2 || !strings.Contains(e.Message, "no luck") {
			t.Errorf("%d: error %+v", tt.status, e)
		}
	}
	a := ask(t, open(t, "turns:\n  - error: {type: invalid_request_error, status: 400, message: \"prompt is too long: 210000 tokens > 200000 maximum\"}\n"), true)
	var e *provider.Error
	if !errors.As(a.Err, &e) || e.Kind != provider.KindTooLong || e.Max != 200000 || e.Input != 210000 {
		t.Errorf("prompt too long: error %+v", a.Err)
	}
}
