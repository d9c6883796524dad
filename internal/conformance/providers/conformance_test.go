package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// understood is what somebody made of a response.
type understood struct {
	id, model string
	blocks    []string
	stop      msg.Stop
	usage     msg.Usage
}

// hear is what our client makes of a response.
func hear(t *testing.T, m provider.Model) understood {
	t.Helper()
	a, err := contract.Check(m.Stream(t.Context(), contract.Request()))
	if err != nil {
		t.Fatal(err)
	}
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	out := understood{id: a.Start.ID, model: a.Start.Model, stop: a.Done.Stop, usage: a.Done.Usage}
	for _, b := range a.Blocks {
		switch b := b.(type) {
		case msg.Text:
			out.blocks = append(out.blocks, "text "+b.Text)
		case msg.Thinking:
			out.blocks = append(out.blocks, "thinking "+b.Thinking+" "+b.Signature)
		case msg.RedactedThinking:
			out.blocks = append(out.blocks, "redacted_thinking "+b.Data)
		case msg.ToolCall:
			line := "call " + b.ID + " " + b.Name + " " + canonical(t, b.Input)
			if a.Start.Model == "gemini-3-pro-preview" {
				line += " " + b.Signature
			}
			out.blocks = append(out.blocks, line)
		default:
			out.blocks = append(out.blocks, "other "+b.Type())
		}
	}
	return out
}

// streams are responses as they come over the wire: a recording, and what the fake server sends
// for a script.
func streams(t *testing.T, api fakeapi.API, recording string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	if recording != "" {
		body, err := os.ReadFile(recording)
		if err != nil {
			t.Fatal(err)
		}
		out["recorded"] = body
	}
	for name, text := range map[string]string{
		"text": "turns:\n  - {content: [{text: \"Hello, wörld 😀 and more.\"}], chunk: 3, usage: {input: 100, output: 20, cache_read: 30}}\nloop: true\n",
		"all":  "turns:\n  - {content: [{thinking: \"Hm, 😀.\"}, {text: \"I look.\"}, {tool: Bash, id: call_a, input: {command: \"ls -l\"}}, {tool: Bash, id: call_b, input: {}}], chunk: 4}\nloop: true\n",
	} {
		out[name] = record(t, api, text)
	}
	return out
}

func fake(t *testing.T, api fakeapi.API, text string) string {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fakeapi.New(fakeapi.Config{API: api, Script: s})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// record fetches the bytes of one streamed answer.
func record(t *testing.T, api fakeapi.API, text string) []byte {
	t.Helper()
	url := fake(t, api, text)
	path, body := "/v1/messages", `{"model":"claude-x","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	switch api {
	case fakeapi.OpenAIChat:
		path, body = "/v1/chat/completions", `{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`
	case fakeapi.OpenAIResponses:
		path, body = "/v1/responses", `{"model":"gpt-5","stream":true,"input":"hi"}`
	case fakeapi.Gemini:
		path, body = "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", resp.StatusCode, raw, err)
	}
	return raw
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// canned answers every request with the same stream.
func canned(body []byte) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body)),
		}, nil
	})}
}

type clientAndURL struct {
	client *http.Client
	url    string
}

// sent is the body a client sends.
func sent(t *testing.T, open func(clientAndURL) provider.Model, req provider.Request) []byte {
	t.Helper()
	var body []byte
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		return nil, errors.New("only the body is wanted")
	})}
	for _, err := range open(clientAndURL{client, "http://nowhere.invalid"}).Stream(t.Context(), req) {
		if err != nil {
			break
		}
	}
	if len(body) == 0 {
		t.Fatal("nothing was sent")
	}
	return body
}

// options are the knobs the bodies are built with.
func options() map[string]provider.Options {
	return map[string]provider.Options{
		"plain":    {},
		"thinking": {Thinking: 3000, Effort: "high", SessionID: "s", StopSequences: []string{"END"}},
		"schema":   {Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`), MaxTokens: 500},
		"forced":   {ToolChoice: "Bash", Thinking: -1},
		"whole":    {NoStream: true, NoCache: true, ToolChoice: "none"},
	}
}

// same demands that an SDK's type held everything a body says; fields in but are left out.
func same(t *testing.T, body []byte, params any, but ...string) {
	t.Helper()
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(body, &want), json.Unmarshal(again, &got)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(drop(want, but), drop(got, but)); diff != "" {
		t.Errorf("the SDK's type loses or changes fields (-ours +SDK):\n%s", diff)
	}
}

// drop removes fields, wherever they stand, and empty lists, which SDKs leave out.
func drop(v any, fields []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			skip := e == nil // as good as left out
			for _, f := range fields {
				skip = skip || f == k && empty(e)
			}
			if !skip {
				out[k] = drop(e, fields)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, drop(e, fields))
		}
		return out
	}
	return v
}

// empty reports values whose presence says nothing: a switch (an SDK sets it by the method that is
// called) and an empty object.
func empty(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func without(blocks []string, prefix string) (out []string) {
	for _, b := range blocks {
		if !strings.HasPrefix(b, prefix) {
			out = append(out, b)
		}
	}
	return out
}

// withoutIDs takes the ids off calls and the (empty) signatures off thinking.
func withoutIDs(blocks []string) (out []string) {
	for _, b := range blocks {
		if rest, ok := strings.CutPrefix(b, "call "); ok {
			_, rest, _ = strings.Cut(rest, " ")
			b = "call " + rest
		}
		if strings.HasPrefix(b, "thinking ") {
			b = strings.TrimSuffix(b, " ")
		}
		out = append(out, b)
	}
	return out
}

// member takes a member out of a body, and returns it.
func member(t *testing.T, body []byte, name string) (rest, value []byte) {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	value = all[name]
	delete(all, name)
	rest, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return rest, value
}

func as[E error](err error, target *E) bool { return errors.As(err, target) }
