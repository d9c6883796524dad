package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Conversation is a request whose history three services have taken part in: each model sees its
// own reasoning and a translation of the rest. sign is the signature a service accepts.
func Conversation(sign func(thinking string) string) provider.Request {
	req := Request()
	req.System = []msg.Block{msg.Text{Text: "You are helpful."}, msg.Text{Text: "Working directory: /work"}}
	req.Tools = append(req.Tools, provider.Tool{Name: "mcp__files.server__read a very long name that goes on and on and on", Description: "Read."})
	call := func(id, name, input string) msg.ToolCall {
		return msg.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
	}
	text := func(s string) msg.Block { return msg.Text{Text: s} }
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"By OpenAI."}],"encrypted_content":"` + sign("By OpenAI.") + `"}`
	signed := call("call_g", "Bash", `{"command":"pwd"}`)
	signed.Signature = "Z2Vt" + sign("call")
	req.Messages = []msg.Message{
		{Role: msg.User, Content: []msg.Block{text("Look at this."), msg.Image{MediaType: "image/png", Data: Picture()}}},
		{Role: msg.Assistant, Model: "anthropic/claude-sonnet-4-5", Content: []msg.Block{
			msg.Thinking{Thinking: "By Anthropic.", Signature: sign("By Anthropic."), Provider: "anthropic"},
			text("I run two commands."),
			call("toolu_1", "Bash", `{"command": "ls <dir> && echo 'ä\u00e4'"}`),
			call("toolu_with_an_id_that_is_longer_than_what_most_services_take_1234567890", "Bash", `{"command":"false"}`),
		}},
		{Role: msg.User, Content: []msg.Block{
			msg.ToolResult{CallID: "toolu_1", Content: []msg.Block{text("a.png"), msg.Image{MediaType: "image/png", Data: Picture()}}},
			msg.ToolResult{CallID: "toolu_with_an_id_that_is_longer_than_what_most_services_take_1234567890", IsError: true, Content: []msg.Block{text("exit 1")}},
			text("Go on."),
		}},
		{Role: msg.Assistant, Model: "openai/gpt-5", Content: []msg.Block{
			msg.Thinking{Thinking: "By OpenAI.", Provider: "openai", Data: json.RawMessage(reasoning)},
			call("call_o", "mcp__files.server__read a very long name that goes on and on and on", `{}`),
		}},
		{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "call_o"}}},
		{Role: msg.Assistant, Model: "gemini/gemini-3-flash-preview", Content: []msg.Block{
			msg.Thinking{Thinking: "By Google.", Signature: "Z2Vt" + sign("call"), Provider: "gemini"},
			text("One more."),
			signed,
		}},
		{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "call_g", Content: []msg.Block{text("/work")}}}},
		{Role: msg.Assistant, Model: "ollama/qwen3", Content: []msg.Block{msg.Thinking{Thinking: "Plain words."}, text("Done.")}},
		{Role: msg.User, Content: []msg.Block{text("Thanks. What does the document say?"), msg.Document{MediaType: "application/pdf", Data: []byte("%PDF-1.4\n%%EOF\n"), Title: "notes.pdf"}}},
	}
	return req
}

// Picture is a small PNG.
func Picture() []byte {
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		panic(err) // writing to memory does not fail
	}
	return buf.Bytes()
}

var update = flag.Bool("update", false, "write golden files anew")

// Golden compares a request body with testdata/NAME.json, where it stands indented for people.
func Golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Indent(&buf, body, "", " "); err != nil {
		t.Fatalf("body of %s: %v", name, err)
	}
	buf.WriteByte('\n')
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), buf.String()); diff != "" {
		t.Errorf("%s changed (-want +got); -update writes it anew:\n%s", path, diff)
	}
}
