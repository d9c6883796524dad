package headless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

func repeat(item, sep string, n int) string {
	return strings.TrimSuffix(strings.Repeat(item+sep, n), sep)
}

// Whatever a tool returns as its structured output, the result of its call is in the stream, in one
// line short enough for hosts, and what was cut is said.
func TestKF175_EveryResultIsPrinted(t *testing.T) {
	manyFields := new(strings.Builder)
	for i := range 200_000 {
		fmt.Fprintf(manyFields, `,"key%d":%d`, i, i)
	}
	long := strings.Repeat("x", 2<<20)
	for name, structured := range map[string]string{
		"array of texts":   `{"structuredPatch":[{"oldStart":1,"lines":[` + repeat(`"-a"`, ",", 300_000) + `]}]}`,
		"array of numbers": `{"n":[` + repeat("1234567890123456789", ",", 200_000) + `]}`,
		"array of objects": `{"matches":[` + repeat(`{"line":1,"text":"a"}`, ",", 200_000) + `]}`,
		"bare array":       `[` + repeat("1", ",", 800_000) + `]`,
		"many fields":      `{"first":1` + manyFields.String() + `}`,
		"long key":         `{"` + long + `":1}`,
		"long number":      `{"n":1` + strings.Repeat("0", 2<<20) + `}`,
		"long text":        `{"text":"` + long + `"}`,
		"deep arrays":      `{"a":` + strings.Repeat("[", 9000) + repeat(`1`, ",", 600_000) + strings.Repeat("]", 9000) + `}`,
		"too deep":         `{"a":` + strings.Repeat("[", 9999) + `1` + strings.Repeat("]", 9999) + `}`,
		"arrays in arrays": `[` + repeat(`[`+repeat(`[`+repeat(`"x"`, ",", 64)+`]`, ",", 64)+`]`, ",", 64) + `]`,
	} {
		t.Run(name, func(t *testing.T) {
			m := msg.Message{Role: msg.User, ID: "m", Origin: msg.FromTool, Structured: json.RawMessage(structured), Content: []msg.Block{
				msg.ToolResult{CallID: "call", Content: []msg.Block{msg.Text{Text: "done"}}},
			}}
			got := resultLine(t, m)
			if said, _ := json.Marshal(got); !bytes.Contains(said, []byte("left out")) && got[leftOut] == nil {
				t.Error("what was cut is not said")
			}
			if text := firstBlock(t, got)["content"]; text != "done" {
				t.Errorf("the result became %v", text)
			}
		})
	}
}

func TestKF175_ContentOfResultsIsCut(t *testing.T) {
	texts := make([]msg.Block, 30_000)
	for i := range texts {
		texts[i] = msg.Text{Text: "one of many blocks"}
	}
	results := make([]msg.Block, 1000)
	for i := range results {
		results[i] = msg.ToolResult{CallID: fmt.Sprint("call", i), Content: []msg.Block{msg.Text{Text: strings.Repeat("y", 5000)}, msg.Text{Text: "z"}}}
	}
	t.Run("blocks of one result", func(t *testing.T) {
		got := resultLine(t, msg.Message{Role: msg.User, ID: "m", Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: "call", Content: texts}}})
		blocks, _ := firstBlock(t, got)["content"].([]any)
		last, _ := blocks[len(blocks)-1].(map[string]any)
		if len(blocks) < 2 || !strings.Contains(fmt.Sprint(last["text"]), "items left out") || last["type"] != "text" {
			t.Errorf("%d blocks, the last is %v", len(blocks), last)
		}
	})
	t.Run("many results", func(t *testing.T) {
		got := resultLine(t, msg.Message{Role: msg.User, ID: "m", Origin: msg.FromTool, Content: results})
		message, _ := got["message"].(map[string]any)
		content, _ := message["content"].([]any)
		if len(content) < len(results) {
			t.Errorf("%d of %d results are there", len(content), len(results))
		}
		for i := range results {
			if r, _ := content[i].(map[string]any); r["tool_use_id"] != fmt.Sprint("call", i) {
				t.Fatalf("result %d is %v", i, r)
			}
		}
	})
}

// A part that is no JSON spoils only itself.
func TestKF175_WhatCannotBeEncodedIsSaid(t *testing.T) {
	for name, blocks := range map[string][]msg.Block{
		"input that is no JSON": {msg.ToolCall{ID: "call", Name: "Read", Input: json.RawMessage(`{"a":`)}},
		"input too deep":        {msg.ToolCall{ID: "call", Name: "Read", Input: json.RawMessage(strings.Repeat("[", 10_001))}},
		"unknown block":         {msg.Unknown{Kind: "strange", Raw: json.RawMessage(`no`)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := resultLine(t, msg.Message{Role: msg.Assistant, ID: "m", Response: "r", Content: blocks})
			said, _ := json.Marshal(firstBlock(t, got))
			if !bytes.Contains(said, []byte("left out")) {
				t.Errorf("the line says %s", said)
			}
			if call, ok := blocks[0].(msg.ToolCall); ok && firstBlock(t, got)["id"] != call.ID {
				t.Errorf("the call lost its id: %s", said)
			}
		})
	}
}

// Cutting changes nothing else: large numbers keep their digits, and what fits stays as it is.
func TestKF175_NumbersKeepTheirDigits(t *testing.T) {
	o := object{{"type", "x"}, {"n", json.RawMessage("9007199254740993")}, {"text", strings.Repeat("x", 2<<20)}}
	if raw := line(o); !bytes.Contains(raw, []byte(`"n":9007199254740993`)) {
		t.Errorf("got %.200s", raw)
	}
}

func resultLine(t *testing.T, m msg.Message) map[string]any {
	t.Helper()
	var out, complaints bytes.Buffer
	w := newWriter(Options{Format: StreamJSON, Verbose: true, Out: &out, Err: &complaints}.withDefaults())
	if err := w.event(proto.E(proto.Message{Message: m})); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 || out.Len() > 1<<20 {
		t.Fatalf("%d lines of %d bytes, complaints %q", n, out.Len(), complaints.String())
	}
	var v map[string]any
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func firstBlock(t *testing.T, line map[string]any) map[string]any {
	t.Helper()
	message, _ := line["message"].(map[string]any)
	content, _ := message["content"].([]any)
	if len(content) == 0 {
		t.Fatalf("no content in %.300v", line)
	}
	block, _ := content[0].(map[string]any)
	return block
}
