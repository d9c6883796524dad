package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/gemini"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

const forever = "model: {id: m, context_window: 1000000, max_output: 128000}\nturns:\n  - content: [{text: ok}]\nloop: true\n"

func sent(t testing.TB, cfg gemini.Config, req provider.Request) fakeapi.Recorded {
	t.Helper()
	fake, url := serve(t, fakeapi.Config{}, forever)
	cfg.BaseURL, cfg.APIKey = url, "key"
	a, err := contract.Check(gemini.New(cfg).Stream(t.Context(), req))
	if err != nil || a.Err != nil {
		t.Fatalf("%v %v", err, a.Err)
	}
	all := fake.Requests()
	return all[len(all)-1]
}

func TestGoldenBodies(t *testing.T) {
	for _, id := range []string{"gemini-3-flash-preview", "gemini-2.5-pro"} {
		req := contract.Conversation(fakeapi.Sign)
		req.Options = provider.Options{Thinking: 3000, SessionID: "s", StopSequences: []string{"1", "2", "3", "4", "5", "6"}, MaxTokens: 5000, ToolChoice: "any"}
		rec := sent(t, gemini.Config{Info: info(id)}, req)
		contract.Golden(t, id, rec.Body)
		if !strings.HasSuffix(rec.Path, "/v1beta/models/"+id+":streamGenerateContent") {
			t.Errorf("path is %s", rec.Path)
		}
	}
	req := contract.Request()
	req.Tools = nil
	req.Options = provider.Options{NoStream: true, Schema: json.RawMessage(`{"type":"object"}`), WebSearch: &provider.WebSearch{}, Thinking: -1}
	contract.Golden(t, "options", sent(t, gemini.Config{Info: info("gemini-2.5-flash")}, req).Body)
}

func TestPrefixIsByteStable(t *testing.T) {
	req := contract.Conversation(fakeapi.Sign)
	for _, id := range []string{"gemini-3-flash-preview", "gemini-2.5-pro"} {
		before := ""
		for n := 1; n <= len(req.Messages); n += 2 {
			part := req
			part.Messages = req.Messages[:n]
			body := strings.TrimSuffix(string(sent(t, gemini.Config{Info: info(id)}, part).Body), "]}")
			if !strings.HasPrefix(body, before) {
				t.Errorf("%s: %d messages do not begin with the bytes of the messages before", id, n)
			}
			before = body
		}
	}
}

func TestThinkingByModel(t *testing.T) {
	for _, tt := range []struct {
		id      string
		options provider.Options
		want    string
	}{
		{"gemini-3-flash-preview", provider.Options{}, `{"includeThoughts":true}`},
		{"gemini-3-flash-preview", provider.Options{Effort: "high"}, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-flash-preview", provider.Options{Effort: "max"}, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-flash-preview", provider.Options{Effort: "medium"}, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", provider.Options{Thinking: -1}, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", provider.Options{Thinking: 20_000}, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-2.5-flash", provider.Options{}, `{"includeThoughts":true}`},
		{"gemini-2.5-flash", provider.Options{Thinking: 3000}, `{"includeThoughts":true,"thinkingBudget":3000}`},
		{"gemini-2.5-flash", provider.Options{Thinking: -1}, `{"thinkingBudget":0}`},
		{"gemini-2.5-pro", provider.Options{Thinking: -1}, `{"thinkingBudget":128}`},
		{"gemini-2.5-pro", provider.Options{Effort: "low"}, `{"includeThoughts":true,"thinkingBudget":2048}`},
	} {
		req := contract.Request()
		req.Options = tt.options
		var body struct {
			Config struct {
				Thinking json.RawMessage `json:"thinkingConfig"`
			} `json:"generationConfig"`
		}
		if err := json.Unmarshal(sent(t, gemini.Config{Info: info(tt.id)}, req).Body, &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Config.Thinking) != tt.want {
			t.Errorf("%s %+d %q: %s, want %s", tt.id, tt.options.Thinking, tt.options.Effort, body.Config.Thinking, tt.want)
		}
	}
}

func TestCountTokens(t *testing.T) {
	_, url := serve(t, fakeapi.Config{}, forever)
	n, err := gemini.New(gemini.Config{Info: info("gemini-2.5-pro"), BaseURL: url + "/v1beta", APIKey: "key"}).CountTokens(t.Context(), contract.Conversation(fakeapi.Sign))
	if err != nil || n < 50 {
		t.Errorf("%d tokens, error %v", n, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hear says what a stream of these bytes amounts to.
func hear(t testing.TB, req provider.Request, body string) contract.Answer {
	t.Helper()
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "text/event-stream")
		rec.WriteString(body)
		return rec.Result(), nil
	})}
	m := gemini.New(gemini.Config{Info: info("gemini-3-pro-preview"), BaseURL: "http://x", APIKey: "key", HTTP: client})
	a, err := contract.Check(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestARecordedStream(t *testing.T) {
	body, err := os.ReadFile("testdata/stream.sse")
	if err != nil {
		t.Fatal(err)
	}
	req := contract.Request()
	req.Options.WebSearch = &provider.WebSearch{}
	a := hear(t, req, string(body))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	want := []msg.Block{
		msg.Thinking{Thinking: "**Plan** I look.", Provider: "gemini"},
		msg.Text{Text: "I run two 😀 commands."},
		msg.ToolCall{Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Signature: "CpQB"},
		msg.ToolCall{ID: "q7x", Name: "Bash", Input: json.RawMessage(`{}`)},
		msg.Unknown{Kind: "gemini_part", Provider: "gemini", Raw: json.RawMessage(`{"type":"gemini_part","part":{"executableCode":{"language":"PYTHON","code":"1+1"}}}`)},
	}
	found := a.Blocks[len(a.Blocks)-1]
	if diff := cmp.Diff(want, a.Blocks[:len(a.Blocks)-1], cmpopts.IgnoreFields(msg.ToolCall{}, "ID")); diff != "" {
		t.Error(diff)
	}
	if u, ok := found.(msg.Unknown); !ok || u.Kind != "web_search_tool_result" || !strings.Contains(string(u.Raw), `"content":[{"type":"web_search_result","url":"https://go.dev/","title":"Go"}]`) {
		t.Errorf("the last block is %+v", found)
	}
	calls := a.Calls()
	if calls[1].ID != "q7x" || !strings.HasPrefix(calls[0].ID, "gemini-") {
		t.Errorf("ids are %s and %s", calls[0].ID, calls[1].ID)
	}
	usage := msg.Usage{Input: 60, Output: 105, CacheRead: 40, Thinking: 75, WebSearches: 1}
	if a.Done.Usage != usage || a.Done.Stop != msg.StopToolUse || a.Start.Model != "gemini-3-pro-preview" || a.Start.ID != "resp-1" {
		t.Errorf("start %+v, done %+v", a.Start, *a.Done)
	}
}

func TestEndings(t *testing.T) {
	text := `data: {"candidates":[{"content":{"parts":[{"text":"half"}]}}]}` + "\n\n"
	finish := func(reason string) string {
		return text + `data: {"candidates":[{"finishReason":"` + reason + `"}]}` + "\n\n"
	}
	for _, tt := range []struct {
		name, body string
		stop       msg.Stop
		kind       provider.Kind
	}{
		{"stop", finish("STOP"), msg.StopEndTurn, ""},
		{"length", finish("MAX_TOKENS"), msg.StopMaxTokens, ""},
		{"safety", finish("SAFETY"), msg.StopRefusal, ""},
		{"forbidden", finish("PROHIBITED_CONTENT"), msg.StopRefusal, ""},
		{"prompt", `data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5}}` + "\n\n", msg.StopRefusal, ""},
		{"bad call", finish("MALFORMED_FUNCTION_CALL"), "", provider.KindEnd},
		{"KF-130 empty", `data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n", "", provider.KindEnd},
		{"KF-130 unknown word", finish("SOMETHING_NEW"), "", provider.KindEnd},
		{"KF-063 no end", text, "", provider.KindStream},
		{"nothing", "", "", provider.KindStream},
		{"error", text + `data: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}` + "\n\n", "", provider.KindOverloaded},
		{"no JSON", text + "data: {\n\n", "", provider.KindStream},
	} {
		a := hear(t, contract.Request(), tt.body)
		if tt.kind != "" {
			var e *provider.Error
			if !errors.As(a.Err, &e) || e.Kind != tt.kind {
				t.Errorf("%s: error %v, want %s", tt.name, a.Err, tt.kind)
			}
			continue
		}
		if a.Err != nil || a.Done.Stop != tt.stop {
			t.Errorf("%s: %+v, error %v", tt.name, a.Done, a.Err)
		}
	}
}

func FuzzStream(f *testing.F) {
	body, err := os.ReadFile("testdata/stream.sse")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(body))
	f.Add(`data: {"candidates":[{"content":{"parts":[{"functionCall":{}},{"thought":true,"text":"x","thoughtSignature":"y"}]},"finishReason":"STOP"}]}`)
	f.Fuzz(func(t *testing.T, body string) { hear(t, contract.Request(), body) })
}
