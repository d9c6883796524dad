package script

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

func parse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// texts asks the player once for each request and returns what it says.
func texts(t *testing.T, p *Player, lane provider.Lane, requests ...Facts) []string {
	t.Helper()
	var out []string
	for _, f := range requests {
		turn, err := p.Next(lane, f)
		if err != nil {
			out = append(out, "error")
			continue
		}
		said := ""
		for _, b := range turn.Content {
			said += b.Text + b.Input
		}
		out = append(out, said)
	}
	return out
}

func TestTurnsGoInOrderAndWhenOutOfIt(t *testing.T) {
	p := NewPlayer(parse(t, `
turns:
  - content: [{text: one}]
  - when: {contains: apple}
    content: [{text: apples}]
  - content: [{text: two}]
`))
	got := texts(t, p, provider.LaneMain, Facts{}, Facts{Messages: "an apple"}, Facts{Messages: "an apple"}, Facts{})
	if diff := cmp.Diff([]string{"one", "apples", "two", "error"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhenLooksAtTheMessagesNotAtTheSystemPrompt(t *testing.T) {
	p := NewPlayer(parse(t, "turns:\n  - when: {contains: apple}\n    content: [{text: apples}]\n  - content: [{text: plain}]\n"))
	if got := texts(t, p, provider.LaneMain, Facts{System: "apple"})[0]; got != "plain" {
		t.Errorf("got %q", got)
	}
}

func TestLoopStartsAgain(t *testing.T) {
	p := NewPlayer(parse(t, "turns: [{content: [{text: a}]}, {content: [{text: b}]}]\nloop: true\n"))
	got := texts(t, p, provider.LaneMain, Facts{}, Facts{}, Facts{}, Facts{}, Facts{})
	if diff := cmp.Diff([]string{"a", "b", "a", "b", "a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLanesAreIndependent(t *testing.T) {
	p := NewPlayer(parse(t, `
turns: [{content: [{text: main}]}]
lanes:
  "agent:*": [{content: [{text: any1}]}, {content: [{text: any2}]}]
  "agent:plan": [{content: [{text: plan}]}]
  title: [{content: [{text: title}]}]
`))
	for _, step := range []struct {
		lane provider.Lane
		want string
	}{{"agent:x", "any1"}, {"agent:plan", "plan"}, {"agent:y", "any2"}, {"title", "title"}, {"", "main"}} {
		if got := texts(t, p, step.lane, Facts{})[0]; got != step.want {
			t.Errorf("lane %q says %q, want %q", step.lane, got, step.want)
		}
	}
}

func TestAbsentLanesAnswerByThemselves(t *testing.T) {
	p := NewPlayer(parse(t, "turns: [{content: [{text: main}]}]\n"))
	f := Facts{Prompt: "one two three four five six seven", Results: []Result{{ID: "a", Tool: "Bash", Text: "out"}}}
	for _, tc := range []struct {
		lane provider.Lane
		want string
	}{
		{provider.LaneTitle, "one two three four five six"},
		{provider.LaneClassifier, "unsure"},
		{provider.LaneHook, ""},
		{provider.LaneMemory, ""},
		{provider.LaneFetch, f.Prompt},
		{"agent:x", "out"},
	} {
		if got := texts(t, p, tc.lane, f)[0]; got != tc.want {
			t.Errorf("lane %q says %q, want %q", tc.lane, got, tc.want)
		}
	}
	if got := texts(t, p, provider.LaneCompact, f)[0]; !strings.Contains(got, "- Bash (ok): out") {
		t.Errorf("the mechanical summary is %q", got)
	}
	if got := texts(t, p, provider.LaneMain, f)[0]; got != "main" {
		t.Errorf("the main turn was taken: %q", got)
	}
}

func TestRunningOutIsAScriptError(t *testing.T) {
	p := NewPlayer(parse(t, "turns: [{content: [{text: a}]}]\n"))
	texts(t, p, provider.LaneMain, Facts{})
	_, err := p.Next(provider.LaneMain, Facts{Prompt: "and now?"})
	if provider.KindOf(err) != provider.KindScript {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"s.yaml", "ran out", "all 1 are used", `"and now?"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestAMissedExpectationShowsTheDifferenceAndStays(t *testing.T) {
	for _, tc := range []struct {
		name, expect string
		facts        Facts
		want         []string
	}{
		{"contains", `{contains: ["fix it"]}`, Facts{Prompt: "break it"}, []string{`expected to contain: "fix it"`, `last prompt was: "break it"`}},
		{"absent", `{absent: SECRET}`, Facts{System: "the SECRET word"}, []string{"expected to be absent", "system prompt", "the SECRET word"}},
		{"tools", `{tools: [Bash]}`, Facts{Tools: []string{"Read", "Edit"}}, []string{"expected the tool Bash, declared are: Edit and Read"}},
		{"no result", `{last_result: {tool: a}}`, Facts{}, []string{"expected a result of a, found results of: none"}},
		{"error", `{last_result: {tool: a, error: false}}`, Facts{Results: []Result{{ID: "a", Error: true, Text: "no such file"}}}, []string{"error: false, found: true", "no such file"}},
		{"result text", `{last_result: {contains: FAIL}}`, Facts{Results: []Result{{ID: "a", Text: "PASS"}}}, []string{`to contain: "FAIL", found: "PASS"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := NewPlayer(parse(t, "turns:\n  - content: []\n    expect: "+tc.expect+"\n  - content: []\n"))
			_, err := p.Next(provider.LaneMain, tc.facts)
			if provider.KindOf(err) != provider.KindScript {
				t.Fatalf("got %v", err)
			}
			for _, want := range append(tc.want, "s.yaml:3: turn 1 of the main conversation") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if _, again := p.Next("title", Facts{}); again == nil || p.Err() == nil {
				t.Error("the player went on after a miss")
			}
		})
	}
}

func TestExpectationsThatHold(t *testing.T) {
	p := NewPlayer(parse(t, `
turns:
  - expect: {contains: [sys, word], absent: [none], tools: [Bash], last_result: {tool: Bash, error: true, contains: Exit}}
    content: []
`))
	f := Facts{System: "sys", Messages: "word", Tools: []string{"Read", "Bash"}, Results: []Result{{ID: "a", Tool: "Bash", Error: true, Text: "Exit code 1"}, {ID: "b", Tool: "Read"}}}
	if _, err := p.Next("", f); err != nil {
		t.Error(err)
	}
}

func TestPlaceholders(t *testing.T) {
	p := NewPlayer(parse(t, `
turns:
  - content:
      - text: "{{prompt}}|{{last_result}}|{{cwd}}|{{result.a}}|{{result.zz}}|{{other}}"
      - tool: Write
        input: {file_path: "{{cwd}}/x", content: "say {{last_result}}"}
`))
	f := Facts{Prompt: "{{cwd}} do", Cwd: "/w", Results: []Result{{ID: "a", Text: "first"}, {ID: "b", Text: "two \"lines\"\n</x>"}}}
	turn, err := p.Next("", f)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := turn.Content[0].Text, "{{cwd}} do|two \"lines\"\n</x>|/w|first|{{result.zz}}|{{other}}"; got != want {
		t.Errorf("text\n%s\nwant\n%s", got, want)
	}
	if got, want := turn.Content[1].Input, `{"file_path":"/w/x","content":"say two \"lines\"\n</x>"}`; got != want {
		t.Errorf("input\n%s\nwant\n%s", got, want)
	}
}

func TestPlaceholdersKeepInputsJSON(t *testing.T) {
	s := parse(t, "turns: [{content: [{tool: T, input: {a: \"{{prompt}}\", b: [\"x{{last_result}}y\"]}}]}]\nloop: true\n")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		turn, err := NewPlayer(s).Next("", Facts{Prompt: text, Results: []Result{{ID: "r", Text: text}}})
		if err != nil {
			t.Fatal(err)
		}
		var in struct {
			A string
			B []string
		}
		if err := json.Unmarshal([]byte(turn.Content[0].Input), &in); err != nil {
			t.Fatal(err)
		}
		if in.A != text || in.B[0] != "x"+text+"y" {
			t.Fatalf("%q became %q and %q", text, in.A, in.B[0])
		}
	})
}

func TestIDsAreMadeUpUnlikeThoseOfTheConversation(t *testing.T) {
	p := NewPlayer(parse(t, "turns: [{content: [{tool: A}, {tool: B}]}]\n"))
	turn, err := p.Next("", Facts{Calls: []string{"toolu_script_0001"}})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := turn.Content[0].ID, turn.Content[1].ID; a != "toolu_script_0002" || b != "toolu_script_0003" {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestStopAndUsageAreFilledIn(t *testing.T) {
	p := NewPlayer(parse(t, "turns: [{content: [{text: abcde}]}, {content: [{tool: A}]}, {content: [], stop: refusal, usage: {input: 7}}]\n"))
	want := []Turn{
		{Stop: msg.StopEndTurn, Usage: &msg.Usage{Input: 25, Output: 2}},
		{Stop: msg.StopToolUse, Usage: &msg.Usage{Input: 25, Output: 1}},
		{Stop: msg.StopRefusal, Usage: &msg.Usage{Input: 7}},
	}
	for i, w := range want {
		got, err := p.Next("", Facts{Bytes: 100})
		if err != nil {
			t.Fatal(err)
		}
		if got.Stop != w.Stop || *got.Usage != *w.Usage {
			t.Errorf("turn %d: %s %+v, want %s %+v", i, got.Stop, *got.Usage, w.Stop, *w.Usage)
		}
	}
}

func TestFactsOfARequest(t *testing.T) {
	text := func(s string) msg.Block { return msg.Text{Text: s} }
	f := FactsOf(provider.Request{
		System: []msg.Block{text("Rules."), text("# Environment\n - Primary working directory: /home/x y\n - Platform: linux")},
		Messages: []msg.Message{
			{Role: msg.User, Content: []msg.Block{text("<system-reminder>files</system-reminder>"), text("do it")}},
			{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "a", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}},
			{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a", IsError: true, Content: []msg.Block{text("boom")}}, text("<system-reminder>late</system-reminder>")}},
		},
		Tools: []provider.Tool{{Name: "Bash", Schema: json.RawMessage(`{}`)}},
	})
	if f.Bytes == 0 {
		t.Error("no size")
	}
	f.Bytes = 0
	want := Facts{
		System:   "Rules.\n# Environment\n - Primary working directory: /home/x y\n - Platform: linux",
		Messages: "<system-reminder>files</system-reminder>\ndo it\nBash {\"command\":\"ls\"}\nboom\n<system-reminder>late</system-reminder>\n",
		Prompt:   "do it", Said: []string{"do it"}, Tools: []string{"Bash"}, Calls: []string{"a"}, Cwd: "/home/x y",
		Results: []Result{{ID: "a", Tool: "Bash", Error: true, Text: "boom"}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}
