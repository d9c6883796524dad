package script

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

func wholeScript() *Script {
	no := false
	text := func(s string) []Block { return []Block{{Kind: TextBlock, Text: s}} }
	return &Script{
		Model: provider.Info{
			Provider: "script", ID: "scripted", ContextWindow: 200000, MaxOutput: 32000,
			Price:  provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
			Images: true, Documents: true, Thinking: true,
		},
		Turns: []Turn{
			{
				Expect: &Expect{Contains: []string{"fix the test"}, Absent: []string{"SECRET"}, Tools: []string{"Bash", "Read"}},
				Content: []Block{
					{Kind: ThinkingBlock, Text: "A test is red."},
					{Kind: TextBlock, Text: "Let me look."},
					{Kind: ToolBlock, Tool: "Bash", ID: "a", Input: `{"command":"go test ./...","timeout":1000,"deep":{"list":[1,2.50,true,null,"x"],"on":"yes please"}}`},
				},
				Usage: &msg.Usage{Input: 1200, Output: 40}, Stop: msg.StopToolUse, Chunk: 12, Delay: 5 * time.Millisecond,
			},
			{Expect: &Expect{LastResult: &LastResult{Tool: "a", Error: &no, Contains: "FAIL"}}, Content: text("Done in {{cwd}}: {{result.a}}"), Chunk: DefaultChunk},
			{Raw: []byte("event: message_start\ndata: {}\n\n"), Then: ThenDrop, Chunk: DefaultChunk},
			{Error: &Fault{Status: 529, Type: "overloaded_error", Message: "busy", RetryAfter: 1500 * time.Millisecond}, Chunk: DefaultChunk},
			{When: "{{odd}} prompt", Content: []Block{}, Chunk: DefaultChunk},
		},
		Lanes: map[string][]Turn{
			"title":      {{Content: text("A title"), Chunk: DefaultChunk}},
			"agent:*":    {{Content: text("from any agent"), Chunk: DefaultChunk}},
			"agent:plan": {{Content: text("from plan"), Chunk: DefaultChunk}},
		},
	}
}

func TestParseReadsEveryKeyOfBothForms(t *testing.T) {
	for _, file := range []string{"testdata/whole.yaml", "testdata/whole.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		want := wholeScript()
		want.Name = file
		ignoreLines := cmp.Options{cmpopts.IgnoreFields(Turn{}, "Line"), cmpopts.IgnoreFields(Expect{}, "Line")}
		if diff := cmp.Diff(want, got, ignoreLines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestParseKeepsLines(t *testing.T) {
	for file, want := range map[string][]int{"testdata/whole.yaml": {7, 21, 24, 26, 27}, "testdata/whole.json": {4, 16, 17, 18, 19}} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, turn := range s.Turns {
			got = append(got, turn.Line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: lines of turns (-want +got):\n%s", file, diff)
		}
	}
}

func TestParseNamesEveryMistakeWithItsLine(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key on top", "turns:\n  - content: []\nlopo: true\n", `s.yaml:3: the script: unknown key "lopo"; expected one of lanes, loop, model, quirks, turns`},
		{"unknown key in a turn", "turns:\n  - content: []\n    stopp: end_turn\n", `s.yaml:3: turns[0]: unknown key "stopp"`},
		{"unknown key in a block", "turns:\n  - content:\n      - text: a\n        id: b\n", `s.yaml:4: turns[0].content[0]: "id" and "input" go with "tool"`},
		{"unknown key in expect", "turns:\n  - expect: {contain: x}\n    content: []\n", `s.yaml:2: turns[0].expect: unknown key "contain"; expected one of absent, contains, last_result, tools`},
		{"unknown key of json", "{\n \"turns\": [\n  {\"content\": [], \"foo\": 1}\n ]\n}", `s.yaml:3: turns[0]: unknown key "foo"`},
		{"unknown lane", "turns: [{content: []}]\nlanes:\n  titel: []\n", `s.yaml:3: lanes["titel"]: unknown lane`},
		{"key twice", "turns: [{content: []}]\nloop: true\nloop: false\n", `s.yaml:3: the script: the key "loop" stands twice`},
		{"no turns", "loop: true\n", `expected "turns" with at least one turn`},
		{"empty file", "", `the file is empty`},
		{"two documents", "turns: [{content: []}]\n---\nturns: []\n", `a second document begins`},
		{"not yaml", "turns: [\n", `read script s.yaml: yaml:`},
		{"both content and error", "turns:\n  - content: []\n    error: {status: 500}\n", `expected exactly one of content, raw and error, found content and error`},
		{"none of them", "turns:\n  - stop: end_turn\n", `found none`},
		{"bad stop", "turns: [{content: [], stop: ended}]\n", `expected one of end_turn, tool_use`},
		{"bad duration", "turns: [{content: [], delay: 5}]\n", `expected a duration such as 5ms`},
		{"bad chunk", "turns: [{content: [], chunk: 0}]\n", `expected a whole number from 1`},
		{"bad status", "turns: [{error: {status: 200}}]\n", `expected a status from 400 to 599`},
		{"bad input", "turns: [{content: [{tool: Bash, input: [1]}]}]\n", `expected an object, or a string`},
		{"number that json lacks", "turns: [{content: [{tool: Bash, input: {a: .inf}}]}]\n", `.inf is no JSON number`},
		{"text as list", "turns: [{content: [{text: [a]}]}]\n", `expected text`},
		{"alias in itself", "turns: [{content: [{tool: a, input: &x {k: *x}}]}]\n", `too large or too deep`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want it to contain %q", err, tc.want)
			}
		})
	}
}

func TestParseTellsSeveralMistakesAtOnce(t *testing.T) {
	_, err := Parse("s.yaml", []byte("foo: 1\nturns:\n  - bar: 2\n    content: [{text: a, baz: 3}]\n"))
	for _, want := range []string{"s.yaml:1:", "s.yaml:3:", "s.yaml:4:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

func TestParseTakesRawBytesAndInputAsTheyAre(t *testing.T) {
	s, err := Parse("s.yaml", []byte("turns:\n  - raw: !!binary /wA=\n  - content: [{tool: Bash, input: '{\"command\": \"ls'}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Turns[0].Raw); got != "\xff\x00" {
		t.Errorf("raw is %q", got)
	}
	if got := s.Turns[1].Content[0].Input; got != `{"command": "ls` {
		t.Errorf("input is %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/whole.yaml", "testdata/whole.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("turns: [{content: [{tool: a, input: &x {k: *x}}]}]\n"))
	f.Add([]byte("turns: [{content: [{tool: a, input: {1: 0x10, b: 2026-01-01, c: ~}}]}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f", data)
		if (s == nil) == (err == nil) {
			t.Fatalf("script %v and error %v", s, err)
		}
		if s == nil {
			return
		}
		for _, turn := range s.Turns {
			for _, b := range turn.Content {
				if b.Kind == ToolBlock && strings.HasPrefix(b.Input, "{") && b.Tool == "" {
					t.Fatalf("a call without a tool was accepted")
				}
			}
			if turn.Error != nil {
				_ = turn.Error.Err().Error()
			}
		}
		p := NewPlayer(s)
		turn, err := p.Next(provider.LaneMain, Facts{Prompt: "p\"\n", Cwd: "/x"})
		if err != nil && provider.KindOf(err) != provider.KindScript {
			t.Fatalf("an error of another kind: %v", err)
		}
		for _, b := range turn.Content {
			if b.Kind == ToolBlock {
				call := toolCall(b.ID, b.Tool, b.Input)
				if !json.Valid(call.Input) {
					t.Fatalf("a call with input %q", call.Input)
				}
			}
		}
	})
}
