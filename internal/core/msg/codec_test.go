package msg_test

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
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samples holds every kind of block, and every field of a message.
func samples() map[string]msg.Message {
	at := time.Date(2026, 11, 30, 12, 0, 0, 120e6, time.UTC)
	return map[string]msg.Message{
		"prompt": {ID: "6f1c", Role: msg.User, Time: at, Content: []msg.Block{
			msg.Text{Text: "a <b> & \u2028 \u0085 \r \x00 é 𝄞"},
			msg.Image{MediaType: "image/png", Data: []byte{0x89, 'P', 'N', 'G', 0}},
			msg.Image{URL: "https://example.org/a.webp"},
			msg.Document{MediaType: "application/pdf", Data: []byte("%PDF-1.7"), Title: "paper"},
			msg.Document{MediaType: "text/plain", Data: []byte("plain é")},
			msg.Document{MediaType: "text/plain", Data: []byte("not \xff UTF-8")},
		}},
		"answer": {
			ID: "7a", Role: msg.Assistant, Response: "msg_01", Model: "anthropic/m", Stop: msg.StopToolUse, Partial: true, Time: at,
			Usage: &msg.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWrite1h: 5, Thinking: 6, WebSearches: 7},
			Content: []msg.Block{
				msg.Thinking{Thinking: "hm", Signature: "sig", Provider: "openai", Data: json.RawMessage(`{"id":"rs_1"}`)},
				msg.RedactedThinking{Data: "xyz", Provider: "anthropic"},
				msg.ToolCall{ID: "toolu_1", Name: "Bash", Input: json.RawMessage(`{"command":"ls <x>","n":1.50}`), Signature: "g"},
				msg.ToolCall{ID: "toolu_2", Name: "Bash", Input: json.RawMessage(`{}`), Malformed: "{\"command\": "},
				msg.Unknown{Kind: "server_tool_use", Raw: json.RawMessage(`{"id":"s","type":"server_tool_use","input":{"q":"<>"}}`)},
			},
		},
		"result": {ID: "8b", Role: msg.User, Origin: msg.FromTool, Structured: json.RawMessage(`{"stdout":"x"}`), Content: []msg.Block{
			msg.ToolResult{CallID: "toolu_1", IsError: true, Content: []msg.Block{msg.Text{Text: "out"}, msg.Image{MediaType: "image/gif", Data: []byte("GIF89a")}}},
		}},
		"empty result": {ID: "9c", Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: "toolu_2", Content: []msg.Block{}}}},
	}
}

// TestGolden pins the wire shape of each kind of block: a golden file is what older releases wrote.
func TestGolden(t *testing.T) {
	for name, m := range samples() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".json")
			got, err := m.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.TrimSpace(string(want)), string(got)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			var back msg.Message
			if err := json.Unmarshal(want, &back); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(m, back); d != "" {
				t.Errorf("read back (-want +got)\n%s", d)
			}
		})
	}
}

// TestTextStandsAsItWasSaid: what goes through an encoder that does not escape for HTML is not
// escaped inside either.
func TestTextStandsAsItWasSaid(t *testing.T) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(samples()["prompt"]); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(buf.String(), "a <b> &") {
		t.Errorf("got %s", buf.String())
	}
}

func TestUnmarshalBlocks(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []msg.Block
		err  string
	}{
		"string":            {`"hello"`, []msg.Block{msg.Text{Text: "hello"}}, ""},
		"empty string":      {`""`, nil, ""},
		"null":              {` null `, nil, ""},
		"nothing":           {``, nil, ""},
		"empty list":        {`[]`, []msg.Block{}, ""},
		"result as string":  {`[{"type":"tool_result","tool_use_id":"a","content":"x"}]`, []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "x"}}}}, ""},
		"result of nothing": {`[{"type":"tool_result","tool_use_id":"a"}]`, []msg.Block{msg.ToolResult{CallID: "a"}}, ""},
		"unknown kind":      {`[{"type":"mcp_tool_use","x":[1]}]`, []msg.Block{msg.Unknown{Kind: "mcp_tool_use", Raw: json.RawMessage(`{"type":"mcp_tool_use","x":[1]}`)}}, ""},
		"file source":       {`[{"type":"image","source":{"type":"file","file_id":"f"}}]`, []msg.Block{msg.Unknown{Kind: "image", Raw: json.RawMessage(`{"type":"image","source":{"type":"file","file_id":"f"}}`)}}, ""},
		"call without input": {
			`[{"type":"tool_use","id":"a","name":"X","input":null},{"type":"tool_use","id":"b","name":"X"}]`,
			[]msg.Block{msg.ToolCall{ID: "a", Name: "X", Input: json.RawMessage("{}")}, msg.ToolCall{ID: "b", Name: "X", Input: json.RawMessage("{}")}},
			"",
		},
		"call with a list": {`[{"type":"tool_use","id":"a","name":"X","input":[1]}]`, []msg.Block{msg.ToolCall{ID: "a", Name: "X", Input: json.RawMessage("{}"), Malformed: "[1]"}}, ""},
		"number":           {`7`, nil, "expected a string or an array of blocks"},
		"block is a word":  {`["x"]`, nil, `an object with a "type"`},
		"type is missing":  {`[{"text":"x"}]`, nil, `"type" is missing`},
		"text is a number": {`[{"type":"text","text":1}]`, nil, "read text block"},
		"bad base64":       {`[{"type":"image","source":{"type":"base64","data":"?"}}]`, nil, "read image block: source.data"},
		"bad result":       {`[{"type":"tool_result","content":[3]}]`, nil, `an object with a "type"`},
	} {
		got, err := msg.UnmarshalBlocks(json.RawMessage(tc.in))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want %q", name, err, tc.err)
			}
			continue
		}
		if d := cmp.Diff(tc.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, d)
		}
	}
}

func TestBlocksThatCannotBeWritten(t *testing.T) {
	for name, b := range map[string]msg.Block{
		"unknown without text":  msg.Unknown{Kind: "x"},
		"unknown that is text":  msg.Unknown{Kind: "x", Raw: json.RawMessage(`"x"`)},
		"unknown that is torn":  msg.Unknown{Kind: "x", Raw: json.RawMessage(`{"type":`)},
		"call with torn input":  msg.ToolCall{ID: "a", Input: json.RawMessage(`{"a":`)},
		"inside a result":       msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Unknown{Kind: "x"}}},
		"no block of this kind": nil,
	} {
		if raw, err := msg.MarshalBlocks([]msg.Block{b}); err == nil {
			t.Errorf("%s: wrote %s", name, raw)
		}
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, "?") }

func genText() *rapid.Generator[string] { return rapid.Map(rapid.String(), valid) }

// genBlock draws blocks as the program makes them.
func genBlock(deep bool) *rapid.Generator[msg.Block] {
	return rapid.Custom(func(t *rapid.T) msg.Block {
		text := func(name string) string { return genText().Draw(t, name) }
		object := func() json.RawMessage {
			raw, _ := json.Marshal(rapid.MapOf(genText(), rapid.SliceOfN(rapid.Int64(), 0, 3)).Draw(t, "object"))
			return raw
		}
		data := func() []byte { return rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "data") }
		kinds := 7
		if deep {
			kinds = 8
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return msg.Text{Text: text("text")}
		case 1:
			return msg.Thinking{Thinking: text("thinking"), Signature: text("signature"), Provider: text("provider"), Data: object()}
		case 2:
			return msg.RedactedThinking{Data: text("data"), Provider: text("provider")}
		case 3:
			return msg.ToolCall{ID: text("id"), Name: text("name"), Input: object(), Malformed: text("malformed"), Signature: text("signature")}
		case 4:
			return msg.Image{MediaType: text("media"), Data: data()}
		case 5:
			return msg.Document{MediaType: rapid.SampledFrom([]string{"text/plain", "application/pdf"}).Draw(t, "media"), Data: data(), Title: text("title")}
		case 6:
			return msg.Unknown{Kind: "later", Raw: json.RawMessage(`{"type":"later","x":` + string(object()) + `}`)}
		}
		return msg.ToolResult{CallID: text("id"), IsError: rapid.Bool().Draw(t, "error"), Content: rapid.SliceOfN(genBlock(false), 0, 3).Draw(t, "content")}
	})
}

// TestRoundTrip: any message comes back as it was.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := msg.Message{
			ID: "x", Role: msg.Assistant, Content: rapid.SliceOfN(genBlock(true), 0, 5).Draw(t, "content"),
			Model: genText().Draw(t, "model"), Partial: rapid.Bool().Draw(t, "partial"),
		}
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back msg.Message
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, back, cmp.Transformer("compact", compact)); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
	})
}

// compact drops the blanks between the parts of JSON, which an encoder may.
func compact(raw json.RawMessage) string {
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil {
		return string(raw)
	}
	return buf.String()
}

// FuzzBlocks: whatever is read can be written, and means the same when read again.
func FuzzBlocks(f *testing.F) {
	for _, m := range samples() {
		raw, err := msg.MarshalBlocks(m.Content)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		blocks, err := msg.UnmarshalBlocks(in)
		if err != nil || !utf8.Valid(in) {
			return
		}
		raw, err := msg.MarshalBlocks(blocks)
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		again, err := msg.UnmarshalBlocks(raw)
		if err != nil {
			t.Fatalf("written but cannot be read: %v\n%s", err, raw)
		}
		second, err := msg.MarshalBlocks(again)
		if err != nil || !bytes.Equal(raw, second) {
			t.Fatalf("%v: first %s, then %s", err, raw, second)
		}
	})
}
