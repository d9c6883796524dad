package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// The sentences are what the services and gateways have answered in public reports.
func TestFaultsAreToldApart(t *testing.T) {
	tests := []struct {
		status     int
		body       string
		kind       provider.Kind
		max, input int
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, provider.KindTooLong, 200000, 208310},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}`, provider.KindTooLong, 0, 0},
		{400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again\"}}", provider.KindMaxTokens, 200000, 178959},
		{400, "{\"error\":{\"message\":\"input length and max_tokens exceed context limit: \\n     189136 + 20000 > 204648, decrease\"}}", provider.KindMaxTokens, 204648, 189136},
		{400, `{"error":{"type":"invalid_request_error","message":"max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4"}}`, provider.KindMaxTokens, 32000, 0},
		{400, `{"message":"Input is too long for requested model."}`, provider.KindTooLong, 0, 0},
		{400, `{"error":{"code":400,"message":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 5 tokens > 4 maximum\"},\"request_id\":\"req_vrtx_1\"}","status":"INVALID_ARGUMENT"}}`, provider.KindTooLong, 4, 5},
		{400, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}}`, provider.KindTooLong, 0, 0},
		{400, `{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 33986 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`, provider.KindTooLong, 4097, 33986},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (904 in the messages, 4096 in the completion). Please reduce the length."}`, provider.KindMaxTokens, 4096, 904},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (4904 in the messages, 4096 in the completion). Please reduce the length."}`, provider.KindTooLong, 4096, 4904},
		{400, `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 904 input tokens (4096 > 4096 - 904)."}`, provider.KindMaxTokens, 4096, 904},
		{400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one","code":400}}`, provider.KindTooLong, 32768, 42832},
		{400, `{"error":{"code":400,"message":"request (1234 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1234,"n_ctx":512}}`, provider.KindTooLong, 512, 1234},
		{400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, provider.KindTooLong, 4096, 0},
		{500, `{"error":"prompt too long; exceeded max context length by 12 tokens"}`, provider.KindTooLong, 0, 0},
		{400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, provider.KindTooLong, 1048576, 1200000},
		{400, `{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, provider.KindTooLong, 131072, 537812},
		{400, `{"detail":"litellm.ContextWindowExceededError: AnthropicException"}`, provider.KindTooLong, 0, 0},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, provider.KindTooLong, 0, 0},
		{413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, provider.KindTooLong, 0, 0},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"}}`, provider.KindMedia, 0, 0},
		{400, `{"error":{"message":"messages.59.content.12.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}`, provider.KindMedia, 0, 0},
		{400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}", provider.KindSignature, 0, 0},
		{400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.22: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.\"}}", provider.KindSignature, 0, 0},
		{400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. ","type":"invalid_request_error"}}`, provider.KindSignature, 0, 0},
		{400, `{"error":{"message":"No tool output found for function call call_1.","type":"invalid_request_error","param":"input","code":null}}`, provider.KindSignature, 0, 0},
		{400, `[{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}]`, provider.KindSignature, 0, 0},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, provider.KindBilling, 0, 0},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, provider.KindBilling, 0, 0},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`, provider.KindRateLimit, 0, 0},
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, provider.KindAuth, 0, 0},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, provider.KindAuth, 0, 0},
		{403, `{"message":"User is not authorized"}`, provider.KindAuth, 0, 0},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.KindOverloaded, 0, 0},
		{503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, provider.KindOverloaded, 0, 0},
		{500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, provider.KindServer, 0, 0},
		{502, `bad gateway`, provider.KindServer, 0, 0},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}`, provider.KindNotFound, 0, 0},
		{400, `{"error":{"message":"The requested model 'gpt-9' does not exist.","code":"model_not_found"}}`, provider.KindNotFound, 0, 0},
		{400, `{"error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"}}`, provider.KindInvalid, 0, 0},
		{0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.KindOverloaded, 0, 0},
	}
	for _, tt := range tests {
		f := ParseError([]byte(tt.body))
		f.Status = tt.status
		e := f.Error("x")
		if e.Kind != tt.kind || e.Max != tt.max || e.Input != tt.input {
			t.Errorf("%d %s\n got %s, max %d, input %d\nwant %s, max %d, input %d", tt.status, tt.body, e.Kind, e.Max, e.Input, tt.kind, tt.max, tt.input)
		}
		if e.Message == "" || strings.Contains(e.Message, "\\\"") {
			t.Errorf("%s: message %q is not readable", tt.body, e.Message)
		}
	}
}

func TestMediaDecidesWhat413Means(t *testing.T) {
	if e := (Fault{Status: 413, Media: true}).Error("x"); e.Kind != provider.KindMedia {
		t.Errorf("413 with images is %s, want media_too_large", e.Kind)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{http.Header{"Retry-After": {"-3"}}, 0},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:04:35 GMT"}}, 30 * time.Second},
		{http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"soon"}}, 0},
		{nil, 0},
	}
	for _, tt := range tests {
		if got := RetryAfter(tt.header, now); got != tt.want {
			t.Errorf("RetryAfter(%v) = %v, want %v", tt.header, got, tt.want)
		}
	}
	f := ParseError([]byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"x/RetryInfo","retryDelay":"34s"}]}}`))
	if f.RetryAfter != 34*time.Second {
		t.Errorf("retryDelay gave %v, want 34s", f.RetryAfter)
	}
}

func TestSecretsAreNotInErrors(t *testing.T) {
	c := Call{Provider: "x", Secrets: []string{"sk-secret"}}
	err := c.broken(t.Context(), provider.KindNetwork, errors.New("dial https://h/?key=sk-secret: refused"))
	if s := fmt.Sprintf("%v %v", err, errors.Unwrap(err)); strings.Contains(s, "sk-secret") {
		t.Errorf("the key is in %q", s)
	}
}

// record collects events for tests.
func record(run func(*Answer)) (events []provider.Event, err error) {
	run(NewAnswer(func(e provider.Event, got error) bool {
		if got != nil {
			err = got
			return false
		}
		events = append(events, e)
		return true
	}))
	return events, err
}

func TestBlocksComeOutOneAfterTheOther(t *testing.T) {
	events, _ := record(func(a *Answer) {
		a.Start(provider.Start{ID: "m"})
		one, two := a.Open(msg.ToolCall{ID: "1", Name: "A"}), a.Open(msg.ToolCall{ID: "2", Name: "B"})
		one.Add(Text(`{"a"`))
		two.Add(Text(`{"b"`))
		two.Add(Text(`:2}`))
		two.Close()
		one.Add(Text(`:1}`))
		one.Close()
		a.Done(msg.StopToolUse, msg.Usage{})
	})
	want := []provider.Event{
		provider.Start{ID: "m"},
		provider.BlockStart{Index: 0, Block: msg.ToolCall{ID: "1", Name: "A"}},
		provider.Delta{Index: 0, Kind: provider.InputDelta, Text: `{"a"`},
		provider.Delta{Index: 0, Kind: provider.InputDelta, Text: `:1}`},
		provider.BlockDone{Index: 0, Block: msg.ToolCall{ID: "1", Name: "A", Input: json.RawMessage(`{"a":1}`)}},
		provider.BlockStart{Index: 1, Block: msg.ToolCall{ID: "2", Name: "B"}},
		provider.Delta{Index: 1, Kind: provider.InputDelta, Text: `{"b":2}`},
		provider.BlockDone{Index: 1, Block: msg.ToolCall{ID: "2", Name: "B", Input: json.RawMessage(`{"b":2}`)}},
		provider.Done{Stop: msg.StopToolUse},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

func TestKF008_EmptyTextBlock(t *testing.T) {
	events, _ := record(func(a *Answer) {
		a.Start(provider.Start{})
		a.Open(msg.Text{}).Close()
		b := a.Open(msg.Text{})
		b.Add(Text("x"))
		b.Close()
		a.Open(msg.Text{})
		a.Done(msg.StopEndTurn, msg.Usage{})
	})
	want := []provider.Event{
		provider.Start{},
		provider.BlockStart{Index: 0, Block: msg.Text{}},
		provider.Delta{Index: 0, Kind: provider.TextDelta, Text: "x"},
		provider.BlockDone{Index: 0, Block: msg.Text{Text: "x"}},
		provider.Done{Stop: msg.StopEndTurn},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

func TestFailKeepsWhatThereWas(t *testing.T) {
	broken := errors.New("cut")
	events, err := record(func(a *Answer) {
		a.Start(provider.Start{})
		a.Open(msg.Text{}).Add(Text("half \xf0\x9f"))
		call := a.Open(msg.ToolCall{ID: "1", Name: "A"})
		call.Add(Text(`{}`))
		call.Close()
		a.Fail(broken)
	})
	want := []provider.Event{
		provider.Start{},
		provider.BlockStart{Index: 0, Block: msg.Text{}},
		provider.Delta{Index: 0, Kind: provider.TextDelta, Text: "half "},
		provider.Delta{Index: 0, Kind: provider.TextDelta, Text: "\uFFFD\uFFFD"},
		provider.BlockDone{Index: 0, Block: msg.Text{Text: "half \uFFFD\uFFFD"}, Partial: true},
		provider.BlockStart{Index: 1, Block: msg.ToolCall{ID: "1", Name: "A"}},
		provider.Delta{Index: 1, Kind: provider.InputDelta, Text: "{}"},
		provider.BlockDone{Index: 1, Block: msg.ToolCall{ID: "1", Name: "A", Input: json.RawMessage("{}")}},
		provider.Delta{},
	}
	want = want[:len(want)-1]
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	if err != broken {
		t.Errorf("error is %v", err)
	}
}

// A text cut anywhere, as bytes or as halves of escaped pairs, comes out as it was, and every
// delta is valid UTF-8.
func TestCutCharactersAreJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune{'a', '"', '\\', '\n', 'ä', '€', '😀', '𝄞', 0xFFFF})).Draw(t, "text")
		escaped := rapid.Bool().Draw(t, "escaped")
		var pieces []string
		if escaped {
			pieces = escapedUnits(text)
		} else {
			for _, c := range []byte(text) {
				q, _ := json.Marshal(string(rune(c)))
				if c >= 0x80 {
					q = []byte{'"', c, '"'}
				}
				pieces = append(pieces, string(q))
			}
		}
		events, _ := record(func(a *Answer) {
			b := a.Open(msg.Text{})
			for _, p := range pieces {
				var one Text
				if err := json.Unmarshal([]byte(p), &one); err != nil {
					t.Fatalf("piece %q: %v", p, err)
				}
				b.Add(one)
			}
			b.Close()
		})
		got, whole := "", ""
		for _, e := range events {
			switch e := e.(type) {
			case provider.Delta:
				if !utf8.ValidString(e.Text) {
					t.Fatalf("delta %q is not valid UTF-8", e.Text)
				}
				got += e.Text
			case provider.BlockDone:
				whole = e.Block.(msg.Text).Text
			}
		}
		if got != text || whole != text {
			t.Fatalf("deltas give %q, block %q, want %q", got, whole, text)
		}
	})
}

func escapedUnits(text string) (out []string) {
	for _, r := range text {
		if r >= 0x10000 {
			r -= 0x10000
			out = append(out, fmt.Sprintf(`"\u%04x"`, 0xD800+r>>10), fmt.Sprintf(`"\u%04X"`, 0xDC00+r&0x3FF))
			continue
		}
		out = append(out, fmt.Sprintf(`"\u%04x"`, r))
	}
	return out
}

func TestTextReadsWhatEncodingJSONReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		raw, _ := json.Marshal(text)
		var got Text
		if err := json.Unmarshal(raw, &got); err != nil || got.String() != text {
			t.Fatalf("%s read as %q (%v)", raw, got, err)
		}
	})
}

func TestCleanJSON(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"a":"x"}`, `{"a":"x"}`},
		{`{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude00"}`},
		{`{"a":"\ud83d"}`, `{"a":"\ufffd"}`},
		{`{"a":"\ude00\ud83d"}`, `{"a":"\ufffd\ufffd"}`},
		{`{"a":"\\ud83d"}`, `{"a":"\\ud83d"}`},
		{"{\"a\":\"\xf0\x9f\"}", `{"a":"` + "\uFFFD" + `"}`},
	}
	for _, tt := range tests {
		if got := string(CleanJSON(json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("CleanJSON(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestKF065_CallsWithTheSameOrForeignIDs(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, most := range []int{40, 9} {
		ids := NewIDs("call_", most)
		seen := map[string]string{}
		for _, id := range []string{"toolu_1", "", "a b", long, long + "y", "functions.Bash:0"} {
			out := ids.Of(id)
			if !WordID(out, most) || ids.Of(id) != out {
				t.Errorf("%q became %q, which is not valid or not stable", id, out)
			}
			if before, twice := seen[out]; twice {
				t.Errorf("%q and %q both became %q", id, before, out)
			}
			seen[out] = id
		}
		// The same in another request, whatever came before.
		if NewIDs("call_", most).Of(long) != ids.Of(long) {
			t.Error("an id made up changed from one request to the next")
		}
	}
}

func TestSameModel(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"claude-haiku-4-5", "claude-haiku-4-5-20251001", true},
		{"us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5", true},
		{"claude-sonnet-4-5@20250929", "claude-sonnet-4-5", true},
		{"claude-opus-4-6[1m]", "claude-opus-4-6", true},
		{"claude-opus-4-6", "claude-opus-4-5", false},
		{"gpt-5", "gpt-5-mini", false},
	} {
		if SameModel(tt.a, tt.b) != tt.same {
			t.Errorf("SameModel(%s, %s) is not %t", tt.a, tt.b, tt.same)
		}
	}
}

func BenchmarkAnswer20000Deltas(b *testing.B) {
	piece := Text("hello world ")
	b.ReportAllocs()
	for b.Loop() {
		a := NewAnswer(func(provider.Event, error) bool { return true })
		block := a.Open(msg.Text{})
		for range 20_000 {
			block.Add(piece)
		}
		block.Close()
	}
}

func TestReadableReplacesWhatCannotBeSeen(t *testing.T) {
	image := msg.Image{MediaType: "image/png", Data: []byte("123")}
	pdf := msg.Document{MediaType: "application/pdf", Title: "a.pdf", Data: []byte("%PDF")}
	words := msg.Document{MediaType: "text/plain", Title: "a.txt", Data: []byte("hi")}
	text := msg.Text{Text: "x"}
	seen := msg.Text{Text: "[image, image/png, 3 bytes: not shown, this model cannot see images]"}
	read := msg.Text{Text: "[document a.pdf, application/pdf, 4 bytes: not shown, this model cannot read it]"}
	tests := []struct {
		in, want          []msg.Block
		images, documents bool
	}{
		{[]msg.Block{image}, []msg.Block{seen}, false, false},
		{[]msg.Block{text, image, pdf}, []msg.Block{text, seen, read}, false, false},
		{[]msg.Block{image, pdf, words}, []msg.Block{image, read, msg.Text{Text: "a.txt:\nhi"}}, true, false},
		{[]msg.Block{image, pdf, words}, []msg.Block{image, pdf, words}, true, true},
		{nil, nil, false, false},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Readable(tt.in, tt.images, tt.documents)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRedirectsStayAtTheirHost(t *testing.T) {
	leaked := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked <- r.Header.Get("X-Api-Key") }))
	defer other.Close()
	var target string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/final" {
			fmt.Fprint(w, r.Header.Get("X-Api-Key"))
			return
		}
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	call := Call{Provider: "x", URL: server.URL + "/a", Header: http.Header{"X-Api-Key": {"secret"}}, Body: Body{[]byte("{}")}}
	target = other.URL + "/b"
	if _, err := call.Do(t.Context()); provider.KindOf(err) != provider.KindNetwork || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("error is %v", err)
	}
	select {
	case key := <-leaked:
		t.Errorf("another host got the key %q", key)
	default:
	}
	target = server.URL + "/final"
	resp, err := call.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "secret" {
		t.Errorf("within the host: %q, %v", got, err)
	}
}

func TestLongReasonsAreCut(t *testing.T) {
	e := (Fault{Status: 400, Message: "prompt is too long " + strings.Repeat("ä", 50_000)}).Error("x")
	if len(e.Message) > maxMessage+len("…") || !utf8.ValidString(e.Message) || e.Kind != provider.KindTooLong {
		t.Errorf("%d bytes, kind %s", len(e.Message), e.Kind)
	}
}
