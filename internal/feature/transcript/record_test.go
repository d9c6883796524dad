package transcript

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testEnvelope = envelope{session: "0b5e", cwd: "/w", branch: "main", version: "1.2.3"}

func decodeLine(t interface {
	Helper()
	Fatalf(string, ...any)
}, line []byte,
) msg.Message {
	t.Helper()
	if !json.Valid(line) || bytes.ContainsAny(line, "\n\u2028\u2029\u0085") {
		t.Fatalf("no JSON of one line: %s", line)
	}
	h, ok := readHead(line)
	if !ok || !h.speaks() {
		t.Fatalf("unreadable: %s", line)
	}
	m, err := decodeMessage(&h)
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return m
}

// samples holds a message of every origin and every kind of content.
func samples() map[string]msg.Message {
	at := time.Date(2026, 11, 30, 12, 0, 0, 120e6, time.UTC)
	return map[string]msg.Message{
		"prompt":        {ID: "u1", Role: msg.User, Time: at, Content: []msg.Block{msg.Text{Text: "hello <b>\u2028\u0085\r\x00"}}},
		"prompt_image":  {ID: "u2", Role: msg.User, Time: at, Content: []msg.Block{msg.Text{Text: "look"}, msg.Image{MediaType: "image/png", Data: []byte{0x89, 'P', 'N', 'G'}}}},
		"thinking":      {ID: "a1", Role: msg.Assistant, Time: at, Response: "msg_1", Model: "anthropic/claude-x", Content: []msg.Block{msg.Thinking{Thinking: "hm", Signature: "s", Provider: "anthropic"}}},
		"call":          {ID: "a2", Role: msg.Assistant, Time: at.Add(time.Microsecond), Response: "msg_1", Model: "openai/org/m", Stop: msg.StopToolUse, Usage: &msg.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 9, CacheWrite1h: 4, Thinking: 5, WebSearches: 6}, Content: []msg.Block{msg.ToolCall{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}},
		"partial":       {ID: "a3", Role: msg.Assistant, Time: at, Response: "msg_2", Model: "plain", Partial: true, Content: []msg.Block{msg.Text{Text: "I was about"}}},
		"unknown_block": {ID: "a4", Role: msg.Assistant, Time: at, Model: "anthropic/m", Content: []msg.Block{msg.Text{Text: "x"}, msg.Unknown{Kind: "server_tool_use", Provider: "anthropic", Raw: json.RawMessage(`{"type":"server_tool_use","id":"s"}`)}}},
		"result":        {ID: "r1", Role: msg.User, Time: at, Origin: msg.FromTool, Structured: json.RawMessage(`{"stdout":"x"}`), Content: []msg.Block{msg.ToolResult{CallID: "t1", Content: []msg.Block{msg.Text{Text: "x"}}}}},
		"result_error":  {ID: "r2", Role: msg.User, Time: at, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: "t2", IsError: true, Content: []msg.Block{msg.Text{Text: "x"}}}}},
		"harness":       {ID: "h1", Role: msg.User, Time: at, Origin: msg.FromHarness, Content: []msg.Block{msg.Text{Text: "reminder"}}},
		"summary":       {ID: "s1", Role: msg.User, Time: at, Origin: msg.FromSummary, Content: []msg.Block{msg.Text{Text: "so far"}}},
		"interrupt":     {ID: "i1", Role: msg.User, Time: at, Origin: msg.FromInterrupt, Content: []msg.Block{msg.Text{Text: "[Request interrupted by user]"}}},
		"task":          {ID: "k1", Role: msg.User, Time: at, Origin: msg.FromTask, Content: []msg.Block{msg.Text{Text: "task 7 ended"}}},
		"human_result":  {ID: "x1", Role: msg.User, Time: at, Content: []msg.Block{msg.ToolResult{CallID: "t9", Content: []msg.Block{}}}},
	}
}

// TestGolden pins the records: what older releases wrote must stay readable.
func TestGolden(t *testing.T) {
	for name, m := range samples() {
		e, parent := testEnvelope, "p0"
		if name == "harness" {
			e.agent, parent = "a-7", ""
		}
		got, err := encodeMessage(nil, e, m, parent, false)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", got)
		if d := cmp.Diff(m, decodeLine(t, got)); d != "" {
			t.Errorf("%s read back (-want +got)\n%s", name, d)
		}
	}
	b := Boundary{Trigger: "auto", PreTokens: 150_000, PostTokens: 9_000, FirstKept: "k1", LastKept: "k9", Anchor: "s1"}
	line := encodeBoundary(nil, testEnvelope, b, "b1", "k9", samples()["prompt"].Time)
	golden(t, "boundary.json", line)
	h, ok := readHead(line)
	if d := cmp.Diff(&b, h.boundary); !ok || d != "" || h.parent != "" || h.logical != "k9" {
		t.Errorf("boundary %v (-want +got)\n%s", h, d)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "records", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(bytes.Clone(got), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), string(got)); d != "" {
		t.Errorf("%s (-want +got)\n%s", file, d)
	}
}

// genMessage draws messages as the program makes them.
func genMessage() *rapid.Generator[msg.Message] {
	word := rapid.Map(rapid.String(), func(s string) string { return strings.ToValidUTF8(s, "?") })
	id := rapid.StringMatching(`[a-z0-9]{4,8}`)
	return rapid.Custom(func(t *rapid.T) msg.Message {
		full := func(name string) string { return word.Filter(func(s string) bool { return s != "" }).Draw(t, name) }
		m := msg.Message{
			ID: id.Draw(t, "id"), Role: rapid.SampledFrom([]msg.Role{msg.User, msg.Assistant}).Draw(t, "role"),
			Time: time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
		}
		text := func() msg.Block { return msg.Text{Text: full("text")} }
		if m.Role == msg.Assistant {
			m.Response, m.Partial = word.Draw(t, "response"), rapid.Bool().Draw(t, "partial")
			m.Model = rapid.SampledFrom([]string{"", "bare", "anthropic/m", "openai/org/m:1"}).Draw(t, "model")
			m.Stop = rapid.SampledFrom([]msg.Stop{"", msg.StopEndTurn, msg.StopToolUse}).Draw(t, "stop")
			if rapid.Bool().Draw(t, "usage") {
				n := rapid.IntRange(0, 1e6)
				m.Usage = &msg.Usage{Input: n.Draw(t, "i"), Output: n.Draw(t, "o"), CacheRead: n.Draw(t, "r"), CacheWrite: n.Draw(t, "w"), Thinking: n.Draw(t, "t"), WebSearches: n.Draw(t, "ws")}
				m.Usage.CacheWrite1h = rapid.IntRange(0, m.Usage.CacheWrite).Draw(t, "h")
			}
			m.Content = []msg.Block{rapid.SampledFrom([]msg.Block{
				text(),
				msg.Thinking{Thinking: full("th"), Provider: "p"},
				msg.RedactedThinking{Data: full("d")},
				msg.ToolCall{ID: id.Draw(t, "call"), Name: "T", Input: json.RawMessage(`{"a":[1,"x"]}`), Malformed: word.Draw(t, "m")},
				msg.Unknown{Kind: "later", Raw: json.RawMessage(`{"type":"later"}`), Provider: word.Draw(t, "p")},
			}).Draw(t, "block")}
			return m
		}
		m.Origin = rapid.SampledFrom([]msg.Origin{msg.FromHuman, msg.FromTool, msg.FromHarness, msg.FromSummary, msg.FromInterrupt, msg.FromTask}).Draw(t, "origin")
		if m.Origin == msg.FromTool {
			m.Content = []msg.Block{msg.ToolResult{CallID: id.Draw(t, "call"), IsError: rapid.Bool().Draw(t, "e"), Content: []msg.Block{text(), msg.Image{MediaType: "image/png", Data: []byte(full("image"))}}}}
			if rapid.Bool().Draw(t, "structured") {
				m.Structured = json.RawMessage("{\"k\":\"\u2028\u0085\"}")
			}
			return m
		}
		m.Content = []msg.Block{text()}
		if rapid.Bool().Draw(t, "more") {
			m.Content = append(m.Content, msg.Document{MediaType: "application/pdf", Data: []byte("%PDF"), Title: word.Draw(t, "title")}, text())
		}
		return m
	})
}

// TestRoundTrip: record and message say the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMessage().Draw(t, "m")
		line, err := encodeMessage(nil, testEnvelope, m, "p", rapid.Bool().Draw(t, "filled"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, decodeLine(t, line), cmp.Transformer("value", value)); d != "" {
			t.Fatalf("(-want +got)\n%s\n%s", d, line)
		}
	})
}

// value is what raw JSON says, however it is written.
func value(raw json.RawMessage) any {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return v
}

// TestRawJSONBecomesOneLine: tools and providers may hand over JSON with line ends in it.
func TestRawJSONBecomesOneLine(t *testing.T) {
	m := msg.Message{ID: "a", Role: msg.Assistant, Content: []msg.Block{
		msg.Unknown{Kind: "later", Raw: json.RawMessage("{\n\t\"type\": \"later\",\r\n\t\"x\": \"\u2029\"\n}")},
	}}
	line, err := encodeMessage(nil, testEnvelope, m, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, decodeLine(t, line), cmp.Transformer("value", value)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	m = msg.Message{ID: "r", Role: msg.User, Origin: msg.FromTool, Structured: json.RawMessage("{"), Content: []msg.Block{msg.Text{Text: "x"}}}
	if _, err := encodeMessage(nil, testEnvelope, m, "", false); err == nil {
		t.Error("a torn structured result was written")
	}
}

// TestForeignRecords reads what other programs write.
func TestForeignRecords(t *testing.T) {
	line := `{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.1.0","gitBranch":"","type":"assistant","message":{"model":"claude-x","id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi","citations":null}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":6},"output_tokens":1,"service_tier":"standard"}},"requestId":"r","uuid":"u","timestamp":"2026-11-30T12:00:00.120Z"}`
	want := msg.Message{
		ID: "u", Role: msg.Assistant, Response: "msg_1", Model: "claude-x", Content: []msg.Block{msg.Text{Text: "hi"}},
		Usage: &msg.Usage{Input: 3, Output: 1, CacheWrite: 10, CacheWrite1h: 6}, Time: time.Date(2026, 11, 30, 12, 0, 0, 120e6, time.UTC),
	}
	if d := cmp.Diff(want, decodeLine(t, []byte(line))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for name, tc := range map[string]struct {
		in   string
		want Boundary
	}{
		"camel":    {`{"type":"system","subtype":"compact_boundary","uuid":"b","compactMetadata":{"trigger":"auto","preTokens":5,"preservedSegment":{"headUuid":"h","anchorUuid":"a","tailUuid":"t"}}}`, Boundary{Trigger: "auto", PreTokens: 5, FirstKept: "h", Anchor: "a", LastKept: "t"}},
		"flat":     {`{"type":"system","subtype":"compact_boundary","uuid":"b","trigger":"manual","preTokens":7,"head":"h","anchor":"a","tail":"t"}`, Boundary{Trigger: "manual", PreTokens: 7, FirstKept: "h", Anchor: "a", LastKept: "t"}},
		"no names": {`{"type":"system","subtype":"compact_boundary","uuid":"b"}`, Boundary{}},
	} {
		h, ok := readHead([]byte(tc.in))
		if d := cmp.Diff(&tc.want, h.boundary); !ok || d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// FuzzRecord: no line makes the reader fail other than by a sentence, and what it makes of a line
// can be written and read again.
func FuzzRecord(f *testing.F) {
	for _, m := range samples() {
		line, err := encodeMessage(nil, testEnvelope, m, "p", false)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add(encodeBoundary(nil, testEnvelope, Boundary{FirstKept: "a"}, "b", "c", time.Time{}))
	f.Fuzz(func(t *testing.T, line []byte) {
		h, ok := readHead(line)
		if !ok || !h.speaks() {
			return
		}
		m, err := decodeMessage(&h)
		if err != nil || !utf8.Valid(line) || !json.Valid(line) || len(m.Content) == 0 {
			return
		}
		again, err := encodeMessage(nil, testEnvelope, m, h.parent, false)
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		if back := decodeLine(t, again); !cmp.Equal(m, back, cmpopts.EquateEmpty()) {
			t.Fatalf("%s\n%s", cmp.Diff(m, back, cmpopts.EquateEmpty()), again)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	m := samples()["prompt"]
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf, _ = encodeMessage(buf[:0], testEnvelope, m, "p", false)
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, m := range map[string]msg.Message{
		"prompt": samples()["prompt"],
		"result": {ID: "r", Role: msg.User, Origin: msg.FromTool, Time: time.Unix(1, 0), Content: []msg.Block{msg.ToolResult{CallID: "t", Content: []msg.Block{msg.Text{Text: strings.Repeat("a line of code, with \"quotes\"\n", 30_000)}}}}},
	} {
		line, err := encodeMessage(nil, testEnvelope, m, "p", false)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				h, _ := readHead(line)
				if _, err := decodeMessage(&h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
