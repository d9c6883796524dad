package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

const forever = "model: {id: m, context_window: 1000000, max_output: 128000}\nturns:\n  - content: [{text: ok}]\nloop: true\n"

// sent asks once and returns the body that went out.
func sent(t testing.TB, cfg anthropic.Config, req provider.Request) fakeapi.Recorded {
	t.Helper()
	fake, url := serve(t, forever)
	cfg.BaseURL, cfg.APIKey = url, "key"
	a, err := contract.Check(anthropic.New(cfg).Stream(t.Context(), req))
	if err != nil || a.Err != nil {
		t.Fatalf("%v %v", err, a.Err)
	}
	all := fake.Requests()
	return all[len(all)-1]
}

func TestGoldenBodies(t *testing.T) {
	for _, id := range []string{"claude-sonnet-4-5", "claude-opus-5-5"} {
		req := contract.Conversation(fakeapi.Sign)
		req.Options = provider.Options{Thinking: 2048, Effort: "high", SessionID: "session-1", StopSequences: []string{"STOP"}, MaxTokens: 5000}
		contract.Golden(t, id, sent(t, anthropic.Config{Info: info(id)}, req).Body)
	}
	req := contract.Request()
	req.Options = provider.Options{
		NoStream: true, NoCache: true, ToolChoice: "Bash", Betas: []string{"files-api-2025-04-14"},
		WebSearch: &provider.WebSearch{MaxUses: 3, AllowedDomains: []string{"go.dev"}}, Schema: json.RawMessage(`{"type":"object"}`),
	}
	rec := sent(t, anthropic.Config{Info: info("claude-haiku-4-5")}, req)
	contract.Golden(t, "options", rec.Body)
	if got := rec.Header.Get("Anthropic-Beta"); got != "files-api-2025-04-14" {
		t.Errorf("betas are %q", got)
	}
}

// What was sent before is sent again byte for byte, but for the marks of the cache.
func TestPrefixIsByteStable(t *testing.T) {
	req := contract.Conversation(fakeapi.Sign)
	bare := func(n int, cfg anthropic.Config) (prefix, messages string) {
		part := req
		part.Messages = req.Messages[:n]
		body := string(sent(t, cfg, part).Body)
		body = strings.NewReplacer(`,"cache_control":{"type":"ephemeral"}`, "", `,"cache_control":{"type":"ephemeral","ttl":"1h"}`, "").Replace(body)
		prefix, messages, ok := strings.Cut(body, `"messages":[`)
		if !ok {
			t.Fatal("no messages")
		}
		return prefix, strings.TrimSuffix(messages, "]}")
	}
	for _, long := range []bool{false, true} {
		cfg := anthropic.Config{Info: info("claude-opus-4-6"), LongCache: long}
		head, before := "", ""
		for n := 1; n <= len(req.Messages); n += 2 {
			prefix, messages := bare(n, cfg)
			if head != "" && prefix != head {
				t.Errorf("what stands before the messages changed:\n%s\n%s", head, prefix)
			}
			if !strings.HasPrefix(messages, before) {
				t.Errorf("%d messages do not begin with the bytes of the messages before", n)
			}
			head, before = prefix, messages
		}
	}
}

func TestCacheBreakpoints(t *testing.T) {
	count := func(body []byte) int { return bytes.Count(body, []byte(`"cache_control":{"type":"ephemeral"}`)) }
	req := contract.Conversation(fakeapi.Sign)
	body := sent(t, anthropic.Config{Info: info("claude-opus-4-6")}, req).Body
	if count(body) != 4 {
		t.Errorf("%d breakpoints, want 4", count(body))
	}
	var in struct {
		System, Tools []map[string]json.RawMessage
		Messages      []struct{ Content []map[string]json.RawMessage }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	marked := func(blocks []map[string]json.RawMessage) bool { return blocks[len(blocks)-1]["cache_control"] != nil }
	n := len(in.Messages)
	if !marked(in.System) || !marked(in.Tools) || !marked(in.Messages[n-1].Content) || !marked(in.Messages[n-3].Content) {
		t.Errorf("breakpoints stand elsewhere: %s", body)
	}
	req.Options.NoCache = true
	if n := count(sent(t, anthropic.Config{Info: info("claude-opus-4-6")}, req).Body); n != 0 {
		t.Errorf("%d breakpoints although none were wanted", n)
	}
}

func TestThinkingByModel(t *testing.T) {
	efforts := []string{"low", "medium", "high", "xhigh", "max"}
	tests := []struct {
		id      string
		options provider.Options
		want    string // thinking
		effort  string
	}{
		{"claude-sonnet-4-5", provider.Options{}, ``, ""},
		{"claude-sonnet-4-5", provider.Options{Thinking: 4000, Effort: "high"}, `{"type":"enabled","budget_tokens":4000}`, ""},
		{"claude-sonnet-4-5", provider.Options{Thinking: -1}, ``, ""},
		{"claude-sonnet-4-5", provider.Options{Thinking: 10}, `{"type":"enabled","budget_tokens":1024}`, ""},
		{"claude-sonnet-4-5", provider.Options{Thinking: 50_000}, `{"type":"enabled","budget_tokens":31999}`, ""},
		{"claude-sonnet-4-5", provider.Options{Thinking: 5000, MaxTokens: 3000, UserSetMaximum: true}, `{"type":"enabled","budget_tokens":2999}`, ""},
		{"claude-sonnet-4-5", provider.Options{Thinking: 5000, MaxTokens: 500, UserSetMaximum: true}, ``, ""},
		{"claude-3-7-sonnet-20250219", provider.Options{Thinking: 2000}, `{"type":"enabled","budget_tokens":2000}`, ""},
		{"claude-opus-4-6", provider.Options{}, ``, ""},
		{"claude-opus-4-6", provider.Options{Effort: "max"}, `{"type":"adaptive","display":"summarized"}`, "max"},
		{"claude-opus-4-6", provider.Options{Thinking: 3000}, `{"type":"enabled","budget_tokens":3000}`, ""},
		{"claude-opus-4-7", provider.Options{Thinking: 3000}, `{"type":"adaptive","display":"summarized"}`, ""},
		{"claude-opus-4-7", provider.Options{Thinking: -1}, ``, ""},
		{"claude-sonnet-5", provider.Options{}, `{"type":"adaptive","display":"summarized"}`, ""},
		{"claude-sonnet-5", provider.Options{Thinking: -1}, `{"type":"disabled"}`, ""},
		{"claude-opus-5", provider.Options{Thinking: -1, Effort: "high"}, `{"type":"disabled"}`, "high"},
		{"claude-opus-5", provider.Options{Thinking: -1, Effort: "max"}, ``, "max"},
		{"claude-opus-5-5", provider.Options{}, `{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, ""},
		{"claude-opus-5-5", provider.Options{Thinking: -1}, ``, ""},
		{"claude-sonnet-5-5", provider.Options{Thinking: -1}, `{"type":"between_tools"}`, ""},
		{"claude-haiku-5-5", provider.Options{Thinking: -1}, `{"type":"disabled"}`, ""},
		{"claude-fable-5-1", provider.Options{Thinking: -1}, ``, ""},
		{"claude-mythos-5", provider.Options{Thinking: 9000}, `{"type":"adaptive","display":"summarized"}`, ""},
		{"my-own-name", provider.Options{}, `{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %+d %s", tt.id, tt.options.Thinking, tt.options.Effort), func(t *testing.T) {
			i := info(tt.id)
			if tt.id != "claude-sonnet-4-5" && tt.id != "claude-3-7-sonnet-20250219" {
				i.Efforts = efforts
			}
			req := contract.Request()
			req.Options = tt.options
			rec := sent(t, anthropic.Config{Info: i}, req)
			var got struct {
				Thinking json.RawMessage
				Config   struct{ Effort string } `json:"output_config"`
				Max      int                     `json:"max_tokens"`
			}
			if err := json.Unmarshal(rec.Body, &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Thinking) != tt.want || got.Config.Effort != tt.effort {
				t.Errorf("thinking %s, effort %q\n    want %s, effort %q", got.Thinking, got.Config.Effort, tt.want, tt.effort)
			}
			if tt.options.UserSetMaximum && got.Max != tt.options.MaxTokens {
				t.Errorf("the user's limit became %d", got.Max)
			}
		})
	}
}

// A budget is not asked for in the middle of a turn that began without thinking: the service would
// refuse the request.
func TestThinkingIsNotBegunBetweenCalls(t *testing.T) {
	req := contract.Request()
	req.Options.Thinking = 2000
	req.Messages = append(req.Messages,
		msg.Message{Role: msg.Assistant, Model: "openai/gpt-5", Content: []msg.Block{
			msg.Thinking{Thinking: "not shown", Provider: "openai", Data: json.RawMessage(`{"type":"reasoning"}`)},
			msg.ToolCall{ID: "a", Name: "Bash", Input: json.RawMessage(`{}`)},
		}},
		msg.Message{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a"}}})
	if body := sent(t, anthropic.Config{Info: info("claude-sonnet-4-5")}, req).Body; bytes.Contains(body, []byte(`"thinking"`)) {
		t.Errorf("body is %s", body)
	}
}

func TestForcedCalls(t *testing.T) {
	for id, want := range map[string]string{"claude-sonnet-4-5": `{"type":"tool","name":"Bash"}`, "claude-sonnet-5": `{"type":"tool","name":"Bash"}`, "claude-opus-5-5": "", "claude-fable-5": ""} {
		req := contract.Request()
		req.Options = provider.Options{ToolChoice: "Bash", Thinking: 2000}
		var got struct {
			Choice json.RawMessage `json:"tool_choice"`
		}
		if err := json.Unmarshal(sent(t, anthropic.Config{Info: info(id)}, req).Body, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Choice) != want {
			t.Errorf("%s: tool choice %s, want %s", id, got.Choice, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	fake, url := serve(t, forever)
	keys := 0
	m := anthropic.New(anthropic.Config{
		Info: info("claude-sonnet-4-5[1m]"), BaseURL: url + "/v1/",
		Key:    func(ctxT) (string, error) { keys++; return fmt.Sprint("key", keys), nil },
		Header: http.Header{"x-team": {"blue"}}, Betas: []string{"a-2025-01-01", " b-2025-01-01"},
		ExtraBody: json.RawMessage(`{"service_tier":"auto"}`),
	})
	for range 2 {
		req := contract.Request()
		req.Lane = "title"
		req.Options.Betas = []string{"b-2025-01-01"}
		if a, err := contract.Check(m.Stream(t.Context(), req)); err != nil || a.Err != nil {
			t.Fatal(err, a.Err)
		}
	}
	rec := fake.Requests()[1]
	if diff := cmp.Diff("context-1m-2025-08-07,a-2025-01-01,b-2025-01-01", rec.Header.Get("Anthropic-Beta")); diff != "" {
		t.Error(diff)
	}
	if rec.Header.Get("X-Team") != "blue" || rec.Lane != "title" || keys != 2 || rec.Model != "claude-sonnet-4-5" {
		t.Errorf("header %v, %d keys asked, model %s", rec.Header, keys, rec.Model)
	}
	if !bytes.Contains(rec.Body, []byte(`"service_tier":"auto"`)) {
		t.Errorf("body is %s", rec.Body)
	}
	if m.Info().ContextWindow != 1_000_000 {
		t.Errorf("window is %d", m.Info().ContextWindow)
	}
}

func TestBetasByModel(t *testing.T) {
	for _, tt := range []struct {
		cfg  anthropic.Config
		want string
	}{
		{anthropic.Config{Info: info("claude-sonnet-4-5")}, "interleaved-thinking-2025-05-14"},
		{anthropic.Config{Info: info("claude-3-7-sonnet-20250219")}, ""},
		{anthropic.Config{Info: info("claude-opus-5-5")}, "thinking-binding-controls-2026-08-01"},
		{anthropic.Config{Info: info("claude-sonnet-4-5"), NoBetas: true}, ""},
		{anthropic.Config{Info: info("claude-opus-5-5"), NoBetas: true}, ""},
	} {
		req := contract.Request()
		req.Options.Thinking = 2000
		if got := sent(t, tt.cfg, req).Header.Get("Anthropic-Beta"); got != tt.want {
			t.Errorf("%s: betas %q, want %q", tt.cfg.Info.ID, got, tt.want)
		}
	}
}

func TestCountTokens(t *testing.T) {
	_, url := serve(t, forever)
	m := anthropic.New(anthropic.Config{Info: info("claude-opus-5-5"), BaseURL: url, APIKey: "key"})
	req := contract.Conversation(fakeapi.Sign)
	req.Options.SessionID = "s"
	n, err := m.CountTokens(t.Context(), req)
	if err != nil || n < 100 {
		t.Errorf("%d tokens, error %v", n, err)
	}
}

func TestUnknownBlocksTravelUntouched(t *testing.T) {
	raw := json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go <1.27>"},"future":{"x":[1, 2]}}`)
	req := contract.Request()
	req.Messages = append(req.Messages,
		msg.Message{Role: msg.Assistant, Content: []msg.Block{
			msg.Unknown{Kind: "server_tool_use", Raw: raw, Provider: "anthropic"},
			msg.Unknown{Kind: "web_search_call", Raw: json.RawMessage(`{"type":"web_search_call"}`)},
			msg.Text{Text: "Found."},
		}},
		msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{Text: "Good."}}})
	body := sent(t, anthropic.Config{Info: info("claude-sonnet-4-5")}, req).Body
	if !bytes.Contains(body, raw) {
		t.Errorf("the block is not in %s", body)
	}
	if bytes.Contains(body, []byte("web_search_call")) {
		t.Error("a block of another service was sent")
	}
}
