package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/contract"
)

type ctxT = context.Context

// raw serves bytes as they are.
func raw(t testing.TB, contentType, body string) provider.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Request-Id", "req_1")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return anthropic.New(anthropic.Config{Info: info("claude-sonnet-4-5"), BaseURL: server.URL, APIKey: "key"})
}

func hear(t testing.TB, m provider.Model) contract.Answer {
	t.Helper()
	a, err := contract.Check(m.Stream(t.Context(), contract.Request()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// stream writes events, each a line of JSON, as the service frames them.
func stream(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			head.Type = "x"
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", head.Type, line)
	}
	return b.String()
}

const (
	begin = `{"type":"message_start","message":{"id":"msg_1","model":"claude-x","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":3},"output_tokens":1}}}`
	good  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`
	stop  = `{"type":"message_stop"}`
)

func TestARecordedStream(t *testing.T) {
	body, err := os.ReadFile("testdata/stream.sse")
	if err != nil {
		t.Fatal(err)
	}
	a := hear(t, raw(t, "text/event-stream; charset=utf-8", string(body)))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	want := []msg.Block{
		msg.Thinking{Thinking: "I should search. 😀", Signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=", Provider: "anthropic"},
		msg.RedactedThinking{Data: "EmwKAhgBEgy3va3pzix", Provider: "anthropic"},
		msg.Text{Text: "I search for it."},
		msg.Unknown{Kind: "server_tool_use", Provider: "anthropic", Raw: json.RawMessage(`{"id":"srvtoolu_1","input":{"query":"go 1.26"},"name":"web_search","type":"server_tool_use"}`)},
		msg.Unknown{Kind: "web_search_tool_result", Provider: "anthropic", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Go","url":"https://go.dev/","encrypted_content":"E<b>k","page_age":null}]}`)},
		msg.ToolCall{ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{"command": "go version"}`)},
		msg.ToolCall{ID: "toolu_2", Name: "Bash", Input: json.RawMessage(`{}`)},
	}
	if diff := cmp.Diff(want, a.Blocks); diff != "" {
		t.Error(diff)
	}
	if a.Start.ID != "msg_01XFDUDYJgAACzvnptvVoYEL" || a.Start.Model != "claude-sonnet-4-5-20250929" || a.Pings != 2 {
		t.Errorf("start %+v, %d pings", a.Start, a.Pings)
	}
	usage := msg.Usage{Input: 2095, Output: 503, CacheRead: 100, CacheWrite: 40, CacheWrite1h: 8, Thinking: 61, WebSearches: 1}
	if a.Done.Stop != msg.StopToolUse || a.Done.Usage != usage {
		t.Errorf("done %+v, want usage %+v", *a.Done, usage)
	}
}

func TestKF066_CumulativeUsage(t *testing.T) {
	a := hear(t, raw(t, "text/event-stream", stream(begin,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"message_delta","delta":{},"usage":{"output_tokens":20}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"output_tokens":45}}`,
		stop)))
	want := msg.Usage{Input: 10, Output: 45, CacheRead: 5, CacheWrite: 7, CacheWrite1h: 3}
	if a.Err != nil || a.Done.Usage != want {
		t.Errorf("usage %+v (error %v), want %+v", a.Done, a.Err, want)
	}
}

func TestKF063_EndWithoutEndMarker(t *testing.T) {
	open := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	text := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}`
	closed := `{"type":"content_block_stop","index":0}`
	almost := `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`
	for name, lines := range map[string][]string{
		"at once": {}, "after the start": {begin}, "in a block": {begin, open, text}, "after a block": {begin, open, text, closed}, "before the stop": {begin, open, text, closed, almost},
	} {
		a := hear(t, raw(t, "text/event-stream", stream(lines...)))
		if provider.KindOf(a.Err) != provider.KindStream || a.Done != nil {
			t.Errorf("%s: error %v, done %v", name, a.Err, a.Done)
		}
		if name == "in a block" && msg.TextOf(a.Partly) != "half" {
			t.Errorf("partial blocks are %v", a.Partly)
		}
		if name == "after a block" && a.Text() != "half" {
			t.Errorf("blocks are %v", a.Blocks)
		}
	}
}

func TestErrorsInsideAStream(t *testing.T) {
	tests := map[string]provider.Kind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                                    provider.KindOverloaded,
		`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`:                                provider.KindServer,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}`: provider.KindTooLong,
		`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`:                              provider.KindStream,
		`{"type":"content_block_delta","ind`:                                                                             provider.KindStream,
	}
	for line, kind := range tests {
		a := hear(t, raw(t, "text/event-stream", stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"said"}}`, `{"type":"content_block_stop","index":0}`, line)))
		var e *provider.Error
		if !errors.As(a.Err, &e) || e.Kind != kind {
			t.Errorf("%s: error %v, want %s", line, a.Err, kind)
		}
		if a.Text() != "said" {
			t.Errorf("%s: what was complete is lost", line)
		}
		if e != nil && e.Type == "overloaded_error" && e.RequestID != "req_1" {
			t.Errorf("request id is %q", e.RequestID)
		}
	}
}

func TestHalfCharactersAreHeldBack(t *testing.T) {
	delta := func(text string) string {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
	}
	a := hear(t, raw(t, "text/event-stream", stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		delta(`a\ud83d`), delta(`\ude00b`), delta("\xf0\x9f"), delta("\x98\x80"), delta(`c\ud83d`),
		`{"type":"content_block_stop","index":0}`, good, stop)))
	if a.Err != nil || a.Text() != "a😀b😀c\uFFFD" {
		t.Errorf("text is %q, error %v", a.Text(), a.Err)
	}
}

func TestUnknownEventsAndDeltasAreSkipped(t *testing.T) {
	a := hear(t, raw(t, "text/event-stream", stream(begin, `{"type":"future_event","x":1}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"url":"x"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}`,
		`{"type":"content_block_stop","index":0}`, good, stop)))
	if a.Err != nil || a.Text() != "ok" || a.Done.Stop != msg.StopEndTurn {
		t.Errorf("%q, %+v, error %v", a.Text(), a.Done, a.Err)
	}
}

func TestAGatewayThatDoesNotStream(t *testing.T) {
	a := hear(t, raw(t, "application/json", `{"type":"message","id":"msg_9","model":"m","content":[{"type":"text","text":"whole"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`))
	if a.Err != nil || a.Text() != "whole" || len(a.Calls()) != 1 || a.Done.Usage.Input != 3 {
		t.Errorf("%+v", a)
	}
	if a := hear(t, raw(t, "application/json", `{"message":"a page"}`)); provider.KindOf(a.Err) != provider.KindStream {
		t.Errorf("error is %v", a.Err)
	}
}

func TestKF130_NoGoodEnd(t *testing.T) {
	text := []string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}`, `{"type":"content_block_stop","index":0}`}
	for word, delta := range map[string]string{
		"without a stop reason": `{"type":"ping"}`,
		"ended with mystery":    `{"type":"message_delta","delta":{"stop_reason":"mystery"}}`,
	} {
		a := hear(t, raw(t, "text/event-stream", stream(append(append([]string{begin}, text...), delta, stop)...)))
		if provider.KindOf(a.Err) != provider.KindEnd || !strings.Contains(a.Err.Error(), word) || a.Done != nil {
			t.Errorf("%s: %v, %+v", word, a.Err, a.Done)
		}
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]msg.Stop{"pause_turn": msg.StopPause, "stop_sequence": msg.StopSequence, "model_context_window_exceeded": msg.StopMaxTokens} {
		a := hear(t, raw(t, "text/event-stream", stream(begin, `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{}}`, stop)))
		if a.Err != nil || a.Done.Stop != want {
			t.Errorf("%s: %+v, error %v", reason, a.Done, a.Err)
		}
	}
}

func FuzzStream(f *testing.F) {
	body, err := os.ReadFile("testdata/stream.sse")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(body))
	f.Add(stream(begin, stop))
	f.Add(stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}`, "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"a\x93b\"}}", stop))
	f.Add("event: error\ndata: {\"type\":\"error\"}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		m := anthropic.New(anthropic.Config{Info: info("claude-sonnet-4-5"), BaseURL: "http://fuzz", APIKey: "key", HTTP: canned(body)})
		hear(t, m)
	})
}

// canned answers every request with one body, without a connection.
func canned(body string) *http.Client {
	return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "text/event-stream")
		rec.WriteString(body)
		return rec.Result(), nil
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func BenchmarkStream20000Deltas(b *testing.B) {
	var body strings.Builder
	body.WriteString(stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
	one := stream(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello world, this is"}}`)
	for range 20_000 {
		body.WriteString(one)
	}
	body.WriteString(stream(`{"type":"content_block_stop","index":0}`, stop))
	m := anthropic.New(anthropic.Config{Info: info("claude-sonnet-4-5"), BaseURL: "http://bench", APIKey: "key", HTTP: canned(body.String())})
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for e, err := range m.Stream(b.Context(), contract.Request()) {
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := e.(provider.Delta); ok {
				n++
			}
		}
		if n != 20_000 {
			b.Fatalf("%d deltas", n)
		}
	}
}
