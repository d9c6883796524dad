package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/openai"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

const forever = "model: {id: m, context_window: 1000000, max_output: 128000}\nturns:\n  - content: [{text: ok}]\nloop: true\n"

// sent asks once and returns the body that went out.
func sent(t testing.TB, api fakeapi.API, cfg openai.Config, req provider.Request) fakeapi.Recorded {
	t.Helper()
	fake, url := serve(t, api, forever)
	cfg.BaseURL, cfg.APIKey = url, "key"
	a, err := contract.Check(openai.New(cfg).Stream(t.Context(), req))
	if err != nil || a.Err != nil {
		t.Fatalf("%v %v", err, a.Err)
	}
	all := fake.Requests()
	return all[len(all)-1]
}

func TestGoldenChatBodies(t *testing.T) {
	req := contract.Conversation(fakeapi.Sign)
	req.Options = provider.Options{Effort: "max", SessionID: "session-1", StopSequences: []string{"STOP"}, MaxTokens: 5000, ToolChoice: "any"}
	contract.Golden(t, "chat-openai", sent(t, fakeapi.OpenAIChat, openai.Config{Info: info(), API: openai.Chat, Dialect: openai.OpenAIChat()}, req).Body)

	blind := info()
	blind.Provider, blind.ID, blind.Images, blind.Documents, blind.Thinking = "ollama", "qwen3", false, false, false
	contract.Golden(t, "chat-local", sent(t, fakeapi.OpenAIChat, openai.Config{Info: blind, Dialect: openai.Local()}, req).Body)

	req.Options = provider.Options{NoStream: true, Thinking: -1, ToolChoice: "Bash", Schema: json.RawMessage(`{"type":"object"}`)}
	contract.Golden(t, "chat-options", sent(t, fakeapi.OpenAIChat, openai.Config{Info: info(), API: openai.Chat, Dialect: openai.Dialect{Effort: openai.EffortField}}, req).Body)
}

func TestDialects(t *testing.T) {
	got := map[string]json.RawMessage{}
	ask := func(d openai.Dialect, o provider.Options) map[string]json.RawMessage {
		clear(got)
		req := contract.Request()
		req.Options = o
		client, bodies := catching(`data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
		hear(t, openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x/v1", Dialect: d, HTTP: client}), req)
		if err := json.Unmarshal(<-bodies, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if b := ask(openai.OpenRouter(), provider.Options{Effort: "high"}); string(b["reasoning"]) != `{"effort":"high"}` || b["reasoning_effort"] != nil {
		t.Errorf("OpenRouter's body is %s", b)
	}
	if b := ask(openai.Dialect{NoUsage: true}, provider.Options{Effort: "high"}); b["stream_options"] != nil || b["reasoning_effort"] != nil || b["max_tokens"] == nil {
		t.Errorf("a plain body is %s", b)
	}
	if b := ask(openai.OpenAIChat(), provider.Options{Thinking: 20_000}); string(b["reasoning_effort"]) != `"high"` || b["max_completion_tokens"] == nil {
		t.Errorf("OpenAI's body is %s", b)
	}
}

func TestReasoningGoesBackWhereItIsWanted(t *testing.T) {
	client, bodies := catching(`data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}` + "\n\n")
	req := contract.Request()
	req.Messages = append(req.Messages,
		msg.Message{Role: msg.Assistant, Model: "deepseek/gpt-5", Content: []msg.Block{msg.Thinking{Thinking: "Hm."}, msg.ToolCall{ID: "a", Name: "Bash"}}},
		msg.Message{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a"}}})
	for keep, want := range map[bool]bool{true: true, false: false} {
		hear(t, openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x", Dialect: openai.Dialect{KeepReasoning: keep}, HTTP: client}), req)
		if body := string(<-bodies); strings.Contains(body, `"reasoning_content":"Hm."`) != want {
			t.Errorf("keep %t: body is %s", keep, body)
		}
	}
}

// catching answers every request with body and hands out what was sent.
func catching(body string) (*http.Client, <-chan []byte) {
	bodies := make(chan []byte, 16)
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		buf := new(strings.Builder)
		if r.Body != nil {
			b := make([]byte, 1<<20)
			for {
				n, err := r.Body.Read(b)
				buf.Write(b[:n])
				if err != nil {
					break
				}
			}
		}
		bodies <- []byte(buf.String())
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "text/event-stream")
		rec.WriteString(body)
		return rec.Result(), nil
	})}, bodies
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func hear(t testing.TB, m provider.Model, req provider.Request) contract.Answer {
	t.Helper()
	a, err := contract.Check(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// chat hears what a stream of these events amounts to.
func chat(t testing.TB, events ...string) contract.Answer {
	t.Helper()
	client, _ := catching("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
	return hear(t, openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x", HTTP: client}), contract.Request())
}

func delta(d string) string { return `{"id":"c","choices":[{"index":0,"delta":` + d + `}]}` }

const (
	ended = `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	done  = "[DONE]"
)

func call(id, name, input string) msg.ToolCall {
	return msg.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

// The ways servers differ from the reference, as their users report them.
func TestServersThatDiffer(t *testing.T) {
	any := cmpopts.IgnoreFields(msg.ToolCall{}, "ID")
	tests := []struct {
		name   string
		events []string
		want   []msg.Block
		stop   msg.Stop
	}{
		{"as OpenAI sends it", []string{
			delta(`{"role":"assistant","content":null}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"Bash","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`),
			ended, `{"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`), call("b", "Bash", `{}`)}, msg.StopToolUse},
		{"calls side by side", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"Bash","arguments":"{\"y\""}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":":1}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`), call("b", "Bash", `{"y":2}`)}, msg.StopToolUse},
		{"every call is number 0", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"Bash","arguments":"{\"x\":2}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`), call("b", "Bash", `{"x":2}`)}, msg.StopToolUse},
		{"no index, no id after the first piece", []string{
			delta(`{"tool_calls":[{"id":"a","function":{"name":"Bash","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"no id at all, arguments as an object, and stop", []string{
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"Bash","arguments":{"x":1}}},{"function":{"name":"Bash","arguments":{"x":2}}}]},"finish_reason":"stop"}]}`, done,
		}, []msg.Block{call("", "Bash", `{"x":1}`), call("", "Bash", `{"x":2}`)}, msg.StopToolUse},
		{"the name comes later than the id", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"Bash","arguments":"}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{}`)}, msg.StopToolUse},
		{"the name is repeated", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":":1}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"reasoning_content, then text", []string{
			delta(`{"reasoning_content":"Let me "}`), delta(`{"reasoning_content":"see."}`), delta(`{"content":"Yes."}`),
			`{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}`, done,
		}, []msg.Block{msg.Thinking{Thinking: "Let me see."}, msg.Text{Text: "Yes."}}, msg.StopEndTurn},
		{"reasoning under another name, and a comment", []string{
			delta(`{"reasoning":"Hm.","content":null}`) + "\n\n: OPENROUTER PROCESSING", delta(`{"content":"Yes."}`), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
		}, []msg.Block{msg.Thinking{Thinking: "Hm."}, msg.Text{Text: "Yes."}}, msg.StopEndTurn},
		{"content in parts", []string{delta(`{"content":[{"type":"text","text":"Ye"},{"type":"text","text":"s."}]}`), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`}, []msg.Block{msg.Text{Text: "Yes."}}, msg.StopEndTurn},
		{"no finish reason but [DONE]", []string{delta(`{"content":"Yes."}`), done}, []msg.Block{msg.Text{Text: "Yes."}}, msg.StopEndTurn},
		{"cut by length", []string{delta(`{"content":"Ye"}`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`}, []msg.Block{msg.Text{Text: "Ye"}}, msg.StopMaxTokens},
		{"a refusal", []string{delta(`{"refusal":"I cannot."}`), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`}, []msg.Block{msg.Text{Text: "I cannot."}}, msg.StopRefusal},
		{"a second choice", []string{delta(`{"content":"Yes."}`), `{"choices":[{"index":1,"delta":{"content":"No."}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`}, []msg.Block{msg.Text{Text: "Yes."}}, msg.StopEndTurn},
		{"KF-129 a whole call again under another index", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"Bash","arguments":"{ \"x\": 1 }"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"KF-129 a whole call again without an id", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\":1}"}}]}`),
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"Bash","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}`, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"KF-129 a message beside deltas", []string{
			delta(`{"content":"Yes."}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\":1}"}}]}`),
			`{"choices":[{"message":{"content":"Yes.","tool_calls":[{"id":"a","function":{"name":"Bash","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}`, done,
		}, []msg.Block{msg.Text{Text: "Yes."}, call("a", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"KF-129 two equal calls with ids of their own", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"Bash","arguments":"{\"x\":1}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`), call("b", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"KF-129 a name in pieces", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Ba"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"sh"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}`), ended, done,
		}, []msg.Block{call("a", "Bash", `{"x":1}`)}, msg.StopToolUse},
		{"KF-129 arguments null", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":null}}]}`), ended, done}, []msg.Block{call("a", "Bash", `{}`)}, msg.StopToolUse},
		{"KF-129 arguments as the text null", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"null"}}]}`), ended, done}, []msg.Block{call("a", "Bash", `{}`)}, msg.StopToolUse},
		{"KF-129 arguments empty", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":""}}]}`), ended, done}, []msg.Block{call("a", "Bash", `{}`)}, msg.StopToolUse},
		{"a whole message in a stream", []string{`{"choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`}, []msg.Block{msg.Text{Text: "Yes."}}, msg.StopEndTurn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := chat(t, tt.events...)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			options := cmp.Options{}
			if c, ok := tt.want[0].(msg.ToolCall); ok && c.ID == "" {
				options = cmp.Options{any}
			}
			if diff := cmp.Diff(tt.want, a.Blocks, options); diff != "" {
				t.Error(diff)
			}
			if a.Done.Stop != tt.stop {
				t.Errorf("stop is %s, want %s", a.Done.Stop, tt.stop)
			}
		})
	}
}

func TestKF066_ChatUsage(t *testing.T) {
	for usage, want := range map[string]msg.Usage{
		`"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}`: {Input: 60, Output: 20, CacheRead: 30, CacheWrite: 10, Thinking: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":40}`:                                                                                            {Input: 60, Output: 20, CacheRead: 40},
		`"usage":null`: {},
	} {
		a := chat(t, delta(`{"content":"x"}`), `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `{"choices":[],`+usage+`}`, done)
		if usage == `"usage":null` {
			want = msg.Usage{Input: 1, Output: 1}
		}
		if a.Err != nil || a.Done.Usage != want {
			t.Errorf("%s: %+v, error %v", usage, a.Done, a.Err)
		}
	}
}

func TestBrokenChats(t *testing.T) {
	tests := []struct {
		name   string
		events []string
		kind   provider.Kind
	}{
		{"KF-063 no end", []string{delta(`{"content":"half"}`)}, provider.KindStream},
		{"no JSON", []string{delta(`{"content":"half"}`), `{"choices`}, provider.KindStream},
		{"an error", []string{delta(`{"content":"half"}`), `{"error":{"message":"overloaded","type":"overloaded_error"}}`}, provider.KindOverloaded},
		{"KF-130 error", []string{delta(`{"content":"half"}`), `{"choices":[{"delta":{},"finish_reason":"error"}]}`, done}, provider.KindEnd},
		{"KF-130 abort", []string{delta(`{"content":"half"}`), `{"choices":[{"delta":{},"finish_reason":"abort"}]}`}, provider.KindEnd},
		{"KF-130 network_error", []string{delta(`{"content":"half"}`), `{"choices":[{"delta":{},"finish_reason":"network_error"}]}`, done}, provider.KindEnd},
		{"KF-130 null choices with an error", []string{delta(`{"content":"half"}`), `{"choices":null,"error":{"message":"overloaded","type":"overloaded_error"}}`}, provider.KindOverloaded},
		{"KF-130 an event named error", []string{delta(`{"content":"half"}`) + "\n\nevent: error\ndata: " + `{"message":"overloaded","type":"overloaded_error"}`}, provider.KindOverloaded},
		{"an error as text", []string{delta(`{"content":"half"}`), `{"error":"prompt too long; exceeded max context length by 9 tokens"}`}, provider.KindTooLong},
	}
	for _, tt := range tests {
		a := chat(t, tt.events...)
		var e *provider.Error
		if !errors.As(a.Err, &e) || e.Kind != tt.kind || e.Provider != "openai" {
			t.Errorf("%s: error %v, want %s", tt.name, a.Err, tt.kind)
		}
		if msg.TextOf(a.Partly) != "half" {
			t.Errorf("%s: partial blocks are %v", tt.name, a.Partly)
		}
	}
}

func TestKF130_AnEmptyAnswerIsNoAnswer(t *testing.T) {
	for name, events := range map[string][]string{
		"[DONE] alone":        {done},
		"an empty chunk":      {delta(`{"role":"assistant","content":""}`), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, done},
		"calls without calls": {`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, done},
	} {
		if a := chat(t, events...); provider.KindOf(a.Err) != provider.KindEnd {
			t.Errorf("%s: %+v, error %v", name, a.Done, a.Err)
		}
	}
}

func TestNamesComeBack(t *testing.T) {
	req := contract.Request()
	long := "mcp__a.server__a tool with a name that is much longer than sixty-four characters"
	req.Tools = append(req.Tools, provider.Tool{Name: long})
	client, bodies := catching("")
	hear(t, openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x", HTTP: client}), req)
	var body struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(<-bodies, &body); err != nil {
		t.Fatal(err)
	}
	sentName := body.Tools[1].Function.Name
	client, _ = catching("data: " + delta(fmt.Sprintf(`{"tool_calls":[{"id":"a","function":{"name":%q,"arguments":"{}"}}]}`, sentName)) + "\n\ndata: [DONE]\n\n")
	a := hear(t, openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x", HTTP: client}), req)
	if c := a.Calls(); len(sentName) > 64 || len(c) != 1 || c[0].Name != long {
		t.Errorf("sent as %q, came back as %+v", sentName, c)
	}
}

func FuzzChat(f *testing.F) {
	f.Add("data: " + delta(`{"content":"x"}`) + "\n\ndata: " + ended + "\n\ndata: [DONE]\n\n")
	f.Add("data: " + delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"Bash","arguments":"{"}},{"index":1,"function":{"name":"B"}}]}`) + "\n\n: c\n\ndata: [DONE]")
	f.Add("data: " + delta(`{"reasoning":"x\ud83d","tool_calls":[{"function":{"arguments":[1]}}]}`))
	f.Fuzz(func(t *testing.T, body string) {
		client, _ := catching(body)
		hear(t, openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x", HTTP: client}), contract.Request())
	})
}

func BenchmarkChat20000Deltas(b *testing.B) {
	var body strings.Builder
	for range 20_000 {
		body.WriteString("data: " + delta(`{"content":"hello world, this is"}`) + "\n\n")
	}
	body.WriteString("data: [DONE]\n\n")
	client, bodies := catching(body.String())
	m := openai.New(openai.Config{Info: info(), API: openai.Chat, BaseURL: "http://x", HTTP: client})
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Stream(b.Context(), contract.Request()) {
			if err != nil {
				b.Fatal(err)
			}
		}
		<-bodies
	}
}
