package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/openai"
)

// choosy answers "ok" to a body that pleases it, else 400 with what displeases.
func choosy(t *testing.T, displeases func(body map[string]json.RawMessage) string) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var refusals atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if why := displeases(body); why != "" {
			refusals.Add(1)
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": why, "type": "invalid_request_error"}})
			return
		}
		_, _ = w.Write([]byte(`{"id":"x","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`))
	}))
	t.Cleanup(s.Close)
	return s, &refusals
}

func TestKF131_RefusalsTeachTheDialect(t *testing.T) {
	thought := func() provider.Request {
		req := contract.Request()
		req.Messages = append(req.Messages,
			msg.Message{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "a", Name: "Bash", Input: json.RawMessage(`{}`), Extra: json.RawMessage(`{"status":"done"}`)}}},
			msg.Message{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "fine"}}}}})
		return req
	}
	for _, c := range []struct {
		name       string
		dialect    openai.Dialect
		displeases func(body map[string]json.RawMessage) string
		refusals   int32 // of two requests
		fails      bool
	}{
		{"the newer limit", openai.Dialect{}, func(b map[string]json.RawMessage) string {
			if b["max_tokens"] != nil {
				return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
			}
			return ""
		}, 1, false},
		{"the older limit and role", openai.OpenAIChat(), func(b map[string]json.RawMessage) string {
			switch {
			case b["max_completion_tokens"] != nil:
				return "max_completion_tokens: Extra inputs are not permitted"
			case strings.Contains(string(b["messages"]), `"developer"`):
				return "Unexpected role: developer"
			}
			return ""
		}, 2, false},
		{"reasoning that is missed after a resume", openai.Dialect{}, func(b map[string]json.RawMessage) string {
			if !strings.Contains(string(b["messages"]), `"reasoning_content":""`) {
				return "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
			}
			return ""
		}, 1, false},
		{"reasoning that is refused", openai.Dialect{KeepReasoning: true}, func(b map[string]json.RawMessage) string {
			if strings.Contains(string(b["messages"]), `"reasoning_content"`) {
				return "messages.2.reasoning_content: Extra inputs are not permitted"
			}
			return ""
		}, 1, false},
		{"reasoning, whatever is done", openai.Dialect{}, func(map[string]json.RawMessage) string { return "reasoning_content is odd" }, 4, true},
		{"members of calls that are refused", openai.Dialect{}, func(b map[string]json.RawMessage) string {
			if strings.Contains(string(b["messages"]), `"status"`) {
				return "unknown field `status` in tool_calls[0]"
			}
			return ""
		}, 1, false},
		{"neither limit", openai.Dialect{}, func(b map[string]json.RawMessage) string {
			for _, name := range []string{"max_tokens", "max_completion_tokens"} {
				if b[name] != nil {
					return "Unknown parameter: '" + name + "'"
				}
			}
			return ""
		}, 3, true},
		{"nothing we could leave out", openai.Dialect{}, func(map[string]json.RawMessage) string { return "the messages are odd" }, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, refusals := choosy(t, c.displeases)
			m := openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: s.URL, Dialect: c.dialect})
			for range 2 {
				a, err := contract.Check(m.Stream(t.Context(), thought()))
				if err != nil || (a.Err != nil) != c.fails {
					t.Fatalf("%v, %v", err, a.Err)
				}
			}
			if n := refusals.Load(); n != c.refusals {
				t.Errorf("%d refusals, want %d", n, c.refusals)
			}
		})
	}
}

// A list of what is wrong repeats the request; neither its words nor its fields mislead.
func TestKF131_AListOfWhatIsWrong(t *testing.T) {
	var asked int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if body["stream_options"] == nil {
			_, _ = w.Write([]byte(`{"id":"x","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`))
			return
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(map[string]any{"detail": []any{map[string]any{
			"type": "extra_forbidden", "loc": []any{"body", "stream_options"}, "msg": "Extra inputs are not permitted",
			"input": map[string]any{"max_tokens": 1, "messages": "prompt is too long: 3 tokens > 2 maximum"},
		}}})
	}))
	defer s.Close()
	m := openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: s.URL})
	for range 2 {
		if a, err := contract.Check(m.Stream(t.Context(), contract.Request())); err != nil || a.Err != nil {
			t.Fatal(err, a.Err)
		}
	}
	if asked != 3 {
		t.Errorf("%d requests, want one refusal and two answers", asked)
	}
}

func TestKF131_WhatAServerAddedGoesToItsModelAlone(t *testing.T) {
	var last string
	s, _ := choosy(t, func(b map[string]json.RawMessage) string { last = string(b["messages"]); return "" })
	m := openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: s.URL})
	ref := m.Info().Ref()
	for model, want := range map[string]bool{ref: true, "": true, "openai/another": false} {
		req := contract.Request()
		call := msg.ToolCall{ID: "a", Name: "Bash", Input: json.RawMessage(`{}`), Extra: json.RawMessage(`{"extra_content":{"sign":"S1"}}`)}
		req.Messages = append(req.Messages,
			msg.Message{Role: msg.Assistant, Model: model, Content: []msg.Block{call}},
			msg.Message{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "fine"}}}, msg.Text{Text: "Go on."}}})
		if a, err := contract.Check(m.Stream(t.Context(), req)); err != nil || a.Err != nil {
			t.Fatal(err, a.Err)
		}
		if got := strings.Contains(last, `"extra_content":{"sign":"S1"}`); got != want {
			t.Errorf("said by %q: sent back %t, want %t\n%s", model, got, want, last)
		}
		if strings.Contains(last, `"tool_call_id":"a"},{"role":"user"`) || !strings.Contains(last, "Go on.") {
			t.Errorf("a user message stands directly behind results: %s", last)
		}
	}
}

func TestKF131_SettingsGoBeforeWhatIsSeen(t *testing.T) {
	no := false
	var last string
	s, _ := choosy(t, func(b map[string]json.RawMessage) string { last = string(b["messages"]); return "" })
	i := info()
	i.Compat = provider.Compat{Reasoning: &no, Behind: new(bool)}
	m := openai.New(openai.Config{Info: i, API: openai.Chat, BaseURL: s.URL, Dialect: openai.Dialect{KeepReasoning: true, UserBehindResults: true}})
	req := contract.Request()
	req.Messages = append(req.Messages,
		msg.Message{Role: msg.Assistant, Content: []msg.Block{msg.Thinking{Thinking: "Hm."}, msg.ToolCall{ID: "a", Name: "Bash", Input: json.RawMessage(`{}`)}}},
		msg.Message{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "fine"}}}, msg.Text{Text: "Go on."}}})
	if a, err := contract.Check(m.Stream(t.Context(), req)); err != nil || a.Err != nil {
		t.Fatal(err, a.Err)
	}
	if strings.Contains(last, "reasoning_content") || strings.Contains(last, `"tool_call_id":"a"},{"role":"user"`) {
		t.Errorf("the settings do not hold: %s", last)
	}
}
