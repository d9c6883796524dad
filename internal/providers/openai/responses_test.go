package openai_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/openai"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

func TestGoldenResponsesBodies(t *testing.T) {
	req := contract.Conversation(fakeapi.Sign)
	req.Options = provider.Options{Effort: "high", SessionID: "session-1", MaxTokens: 5}
	contract.Golden(t, "responses", sent(t, fakeapi.OpenAIResponses, openai.Config{Info: info(), API: openai.Responses}, req).Body)

	plain := info()
	plain.ID, plain.Thinking, plain.Efforts = "gpt-4.1", false, nil
	req = contract.Request()
	req.Options = provider.Options{NoStream: true, ToolChoice: "Bash", Schema: json.RawMessage(`{"type":"object"}`), WebSearch: &provider.WebSearch{AllowedDomains: []string{"go.dev"}}}
	contract.Golden(t, "responses-options", sent(t, fakeapi.OpenAIResponses, openai.Config{Info: plain, API: openai.Responses}, req).Body)
}

func TestResponsesPrefixIsByteStable(t *testing.T) {
	req := contract.Conversation(fakeapi.Sign)
	before := ""
	for n := 1; n <= len(req.Messages); n += 2 {
		part := req
		part.Messages = req.Messages[:n]
		body := strings.TrimSuffix(string(sent(t, fakeapi.OpenAIResponses, openai.Config{Info: info(), API: openai.Responses}, part).Body), "]}")
		if !strings.HasPrefix(body, before) {
			t.Errorf("%d messages do not begin with the bytes of the messages before", n)
		}
		before = body
	}
}

// responses hears what a stream of these bytes amounts to.
func responses(t testing.TB, body string) contract.Answer {
	t.Helper()
	client, _ := catching(body)
	return hear(t, openai.New(openai.Config{Info: info(), API: openai.Responses, BaseURL: "http://x", HTTP: client}), contract.Request())
}

func TestARecordedResponse(t *testing.T) {
	body, err := os.ReadFile("testdata/responses.sse")
	if err != nil {
		t.Fatal(err)
	}
	a := responses(t, string(body))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	want := []msg.Block{
		msg.Thinking{Thinking: "**First**\n\n**Second** 😀", Provider: "openai", Data: json.RawMessage(`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"**First**"},{"type":"summary_text","text":"**Second** 😀"}],"encrypted_content":"gAAAA"}`)},
		msg.Unknown{Kind: "web_search_call", Provider: "openai", Raw: json.RawMessage(`{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}`)},
		msg.Text{Text: "I look."},
		msg.ToolCall{ID: "call_1", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
		msg.ToolCall{ID: "call_2", Name: "Bash", Input: json.RawMessage(`{}`)},
	}
	if diff := cmp.Diff(want, a.Blocks); diff != "" {
		t.Error(diff)
	}
	usage := msg.Usage{Input: 300, Output: 90, CacheRead: 1000, CacheWrite: 200, Thinking: 64, WebSearches: 1}
	if a.Done.Stop != msg.StopToolUse || a.Done.Usage != usage || a.Start.ID != "resp_1" || a.Start.Model != "gpt-5-2025-08-07" {
		t.Errorf("start %+v, done %+v", a.Start, *a.Done)
	}
}

func TestWhatWasFoundIsTold(t *testing.T) {
	client, _ := catching(`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Go.","annotations":[{"type":"url_citation","url":"https://go.dev/","title":"Go"},{"type":"file_citation"}]}]}}` + "\n\n" +
		`data: {"type":"response.completed","response":{"id":"r","status":"completed"}}` + "\n\n")
	req := contract.Request()
	for _, search := range []*provider.WebSearch{nil, {}} {
		req.Options.WebSearch = search
		a := hear(t, openai.New(openai.Config{Info: info(), API: openai.Responses, BaseURL: "http://x", HTTP: client}), req)
		found := ""
		for _, b := range a.Blocks {
			if u, ok := b.(msg.Unknown); ok && u.Kind == "web_search_tool_result" {
				found = string(u.Raw)
			}
		}
		if want := `"content":[{"type":"web_search_result","url":"https://go.dev/","title":"Go"}]`; (search != nil) != strings.Contains(found, want) {
			t.Errorf("search %v: found %s", search, found)
		}
	}
}

func TestResponsesThatEndBadly(t *testing.T) {
	created := "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\"}}\n\n"
	text := `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"half"}` + "\n\n"
	tests := []struct {
		name, body string
		kind       provider.Kind
		stop       msg.Stop
	}{
		{"KF-063 no end", created + text, provider.KindStream, ""},
		{"failed", created + text + `data: {"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}` + "\n\n", provider.KindRateLimit, ""},
		{"flat error", created + text + `data: {"type":"error","code":"server_error","message":"oh","param":null}` + "\n\n", provider.KindServer, ""},
		{"nested error", created + text + `data: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}` + "\n\n", provider.KindTooLong, ""},
		{"incomplete", created + text + `data: {"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2}}}` + "\n\n", "", msg.StopMaxTokens},
		{"filtered", created + text + `data: {"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"content_filter"}}}` + "\n\n", "", msg.StopRefusal},
		{"refused", created + `data: {"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"half"}` + "\n\n" + `data: {"type":"response.completed","response":{"id":"r","status":"completed"}}` + "\n\n", "", msg.StopRefusal},
	}
	for _, tt := range tests {
		a := responses(t, tt.body)
		if tt.kind != "" {
			if provider.KindOf(a.Err) != tt.kind || msg.TextOf(a.Partly) != "half" {
				t.Errorf("%s: error %v, partial %v", tt.name, a.Err, a.Partly)
			}
			continue
		}
		if a.Err != nil || a.Done.Stop != tt.stop || a.Text() != "half" {
			t.Errorf("%s: %+v, error %v, text %q", tt.name, a.Done, a.Err, a.Text())
		}
	}
}

func TestResponsesCountTokens(t *testing.T) {
	_, url := serve(t, fakeapi.OpenAIResponses, forever)
	m := openai.New(openai.Config{Info: info(), API: openai.Responses, BaseURL: url, APIKey: "key"})
	c, ok := m.(provider.Counter)
	if !ok {
		t.Fatal("the model does not count")
	}
	if n, err := c.CountTokens(t.Context(), contract.Conversation(fakeapi.Sign)); err != nil || n < 50 {
		t.Errorf("%d tokens, error %v", n, err)
	}
	if _, ok := openai.New(openai.Config{Info: info(), API: openai.Chat}).(provider.Counter); ok {
		t.Error("a chat model says it counts")
	}
}

func TestEffortsAModelDoesNotHave(t *testing.T) {
	for _, tt := range []struct {
		have    []string
		options provider.Options
		want    string
	}{
		{[]string{"low", "medium", "high"}, provider.Options{Effort: "max"}, `"effort":"high"`},
		{[]string{"medium", "high", "xhigh"}, provider.Options{Effort: "low"}, `"effort":"medium"`},
		{[]string{"none", "low", "high"}, provider.Options{Thinking: -1}, `"effort":"none"`},
		{[]string{"minimal", "low", "high"}, provider.Options{Thinking: -1}, `"effort":"minimal"`},
		{[]string{"low", "high"}, provider.Options{}, `"reasoning":{"summary":"auto"}`},
		{nil, provider.Options{Effort: "high"}, `"reasoning":{"summary":"auto"}`},
	} {
		i := info()
		i.Efforts = tt.have
		req := contract.Request()
		req.Options = tt.options
		if body := string(sent(t, fakeapi.OpenAIResponses, openai.Config{Info: i, API: openai.Responses}, req).Body); !strings.Contains(body, tt.want) {
			t.Errorf("%v %+v: %s is not in %s", tt.have, tt.options, tt.want, body)
		}
	}
}

func FuzzResponses(f *testing.F) {
	body, err := os.ReadFile("testdata/responses.sse")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(body))
	f.Add(`data: {"type":"response.output_item.done","output_index":3,"item":{"type":"message","content":[{"text":"a"},{"refusal":"b"}]}}` + "\n\n" + `data: {"type":"response.completed","response":{}}`)
	f.Add(`data: {"type":"response.reasoning_text.delta","output_index":0,"delta":"x"}` + "\n\n")
	f.Fuzz(func(t *testing.T, body string) { responses(t, body) })
}
