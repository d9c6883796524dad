package plain

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// day is a session with every kind of event there is.
func day() []proto.Event {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	var list []proto.Event
	add := func(bodies ...proto.EventBody) {
		for _, b := range bodies {
			at = at.Add(700 * time.Millisecond)
			e := proto.E(b)
			e.Time = at
			list = append(list, e)
		}
	}
	call := func(id, tool, input, outcome, text, structured string, took float64) {
		add(proto.CallAnnounced{Call: id, Tool: tool, Input: json.RawMessage(input)},
			proto.CallProgress{Call: id, Tool: tool, Text: "building\n", Seconds: 2})
		m := msg.Message{ID: "m" + id, Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{
			CallID: id, Content: []msg.Block{msg.Text{Text: text}}, IsError: outcome != "ok",
		}}}
		if structured != "" {
			m.Structured = json.RawMessage(structured)
		}
		add(proto.Message{Message: m}, proto.CallEnded{Call: id, Tool: tool, Outcome: outcome, Seconds: took})
	}
	code := 1
	add(proto.TurnStarted{Cwd: "/p"},
		proto.Message{Message: msg.Message{ID: "u", Role: msg.User, Content: []msg.Block{msg.Text{Text: "mend the test\nplease"}, msg.Image{Data: make([]byte, 4096)}}}},
		proto.Activity{State: "running"}, proto.RequestStarted{}, proto.AnswerStarted{Response: "r"},
		proto.BlockStarted{Kind: "thinking"}, proto.Delta{Kind: "thinking", Text: "hm"}, proto.BlockEnded{},
		proto.BlockStarted{Index: 1, Kind: "text"}, proto.Delta{Index: 1, Kind: "text", Text: "I look at the *test* first.\n"},
		proto.BlockEnded{Index: 1}, proto.AnswerEnded{Response: "r"})
	call("1", "Bash", `{"command":"go test ./...\necho done"}`, "error", strings.Repeat("line\n", 14)+"FAIL", "", 2.1)
	call("2", "Read", `{"file_path":"/p/src/a.go"}`, "ok", "1\tpackage a", "", 0)
	call("3", "Edit", `{"file_path":"/p/src/a.go"}`, "ok", "done", `{"filePath":"/p/src/a.go","structuredPatch":[{"oldStart":3,"newStart":3,"lines":[" func f() {","-\treturn 1","+\treturn 2"," }"]}]}`, 0)
	call("4", "Write", `{"file_path":"/p/new.txt"}`, "ok", "done", `{"type":"create","filePath":"/p/new.txt","content":"a\nb\n","structuredPatch":[]}`, 0)
	call("5", "Bash", `{"command":"make"}`, "ok", "1\n2\n3\n4\n5", "", 0.4)
	call("6", "WebFetch", `{"url":"https://example.org/"}`, "refused", "not now", "", 0)
	call("7", "Bash", `{"command":"sleep 99"}`, "interrupted", "", "", 12)
	add(proto.Denied{Tool: "Bash", Message: "rule Bash(rm *) denies it"},
		proto.Denied{Tool: "Bash", Message: "nobody can be asked", Rule: "Bash(npm test)"},
		proto.Todos{Items: []proto.Todo{{ID: "1", Subject: "find it", Status: "in_progress"}, {ID: "2", Subject: "mend it", Status: "pending"}}},
		proto.Todos{Items: []proto.Todo{{ID: "1", Subject: "find it", Status: "completed"}, {ID: "2", Subject: "mend it", Status: "pending"}}},
		proto.TaskStarted{Task: proto.Task{ID: "t", Kind: "shell", Description: "npm run dev", Status: "running", Backgrounded: true}},
		proto.TaskUpdated{Task: proto.Task{ID: "t", Kind: "shell", Status: "running", Backgrounded: true}},
		proto.TasksChanged{},
		proto.TaskEnded{Task: proto.Task{ID: "t", Kind: "shell", Description: "npm run dev", Status: "failed", Backgrounded: true, ExitCode: &code, StartMS: 1, EndMS: 61001}},
		proto.Retry{Attempt: 1, Max: 10, DelayMS: 1500, Status: 529, Kind: "overloaded"},
		proto.Fallback{From: "a/big", To: "a/small", Reason: "overloaded"},
		proto.Notice{Level: "info", Text: "a note"}, proto.Notice{Level: "warning", Text: "a warning"},
		proto.Notice{Level: "warning", Text: "a warning"}, proto.Notice{Level: "error", Text: "an error"},
		proto.Missed{From: 3, To: 9},
		proto.ModeChanged{Mode: "plan"}, proto.ModelChanged{Model: "a/small"},
		proto.Queued{Prompts: []proto.QueuedPrompt{{ID: "q", Text: "next"}}}, proto.Shaped{Stage: "snip"},
		proto.Compacting{Active: true}, proto.Compacted{PreTokens: 148000, PostTokens: 21000},
		proto.Compacting{Active: true}, proto.Compacting{Error: "the summary was empty"},
		proto.HookStarted{Name: "PreToolUse:Bash"}, proto.Terminal{Sequence: "\a"}, proto.HookEnded{Name: "PreToolUse:Bash", Outcome: "error", ExitCode: &code, Stderr: "no such file"},
		proto.HookEnded{Name: "Stop", Outcome: "success"},
		proto.Ask{ID: "q"}, proto.AskClosed{ID: "q", By: "phone", Behavior: "allow"}, proto.AskClosed{ID: "q2", Why: "the turn was interrupted"},
		proto.LocalOutput{Command: "cost", Text: "$0.42 in all\n2 requests"}, proto.LocalOutput{Command: "x", Text: "no such model", Error: true},
		proto.SessionReset{Old: "s1", New: "s2", Trigger: "clear"}, proto.Other{Kind: "something_new"},
		proto.Message{Message: msg.Message{ID: "i", Role: msg.User, Origin: msg.FromInterrupt, Content: []msg.Block{msg.Text{Text: "[Request interrupted by user]"}}}},
		proto.Message{Message: msg.Message{ID: "a2", Role: msg.Assistant, Response: "r2", Content: []msg.Block{msg.Text{Text: "Whole at once."}}}},
		proto.AnswerEnded{Response: "r3", Cut: "continued after a dropped connection"},
		proto.Ended{Reason: proto.EndHook, Detail: "the hook said stop"},
		proto.Result{Subtype: "success", Turns: 3, DurationMS: 41000, Ended: proto.Ended{Reason: proto.EndCompleted}},
		proto.Result{Subtype: "success", IsError: true, Turns: 1, DurationMS: 4000, Ended: proto.Ended{Reason: proto.EndAPI, API: &proto.APIError{Kind: "rate_limit", Status: 429, Message: "too many requests"}}},
		proto.Result{Subtype: "error_max_turns", IsError: true, Turns: 1, Errors: []string{"Reached maximum number of turns (2)"}, Ended: proto.Ended{Reason: proto.EndMaxRounds}})
	return list
}

func TestGoldenScreens(t *testing.T) {
	for name, style := range map[string]screen.Style{
		"color": {Attributes: true, Color: true, Signs: true},
		"mono":  {Attributes: true, Signs: true},
		"plain": {},
	} {
		for _, cells := range []int{40, 100} {
			t.Run(fmt.Sprint(name, cells), func(t *testing.T) {
				p := NewPrinter(style, func() int { return cells })
				var b strings.Builder
				for _, e := range day() {
					for _, l := range p.Event(e) {
						b.WriteString(strings.ReplaceAll(l, "\x1b", "␛") + "\n")
					}
				}
				golden(t, fmt.Sprintf("%s-%d.txt", name, cells), b.String())
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -update writes it anew. Got\n%s", file, got)
	}
}

func TestTheDayHoldsEveryKindOfEvent(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range day() {
		seen[fmt.Sprintf("%T", e.Body)] = true
	}
	for _, b := range proto.EventBodies() {
		if !seen[fmt.Sprintf("%T", b)] {
			t.Errorf("%T is missing", b)
		}
	}
}

func TestPlainStyleUsesNoControlCharacters(t *testing.T) {
	hostile := "x\x1b]52;c;AAAA\x07\x1b[2J\u202ey\r\tz\x00\x9b"
	p := NewPrinter(screen.Style{}, func() int { return 60 })
	for _, body := range []proto.EventBody{
		proto.Message{Message: msg.Message{ID: "u", Role: msg.User, Content: []msg.Block{msg.Text{Text: hostile}}}},
		proto.CallAnnounced{Call: "1", Tool: hostile, Input: json.RawMessage(`{"command":` + quote(hostile) + `}`)},
		proto.CallProgress{Call: "1", Tool: hostile, Text: hostile},
		proto.CallEnded{Call: "1", Tool: hostile, Outcome: "error", Display: hostile},
		proto.RequestStarted{},
		proto.Denied{Tool: hostile, Message: hostile, Rule: hostile},
		proto.Notice{Level: "warning", Text: hostile},
		proto.Fallback{From: hostile, To: hostile, Reason: hostile},
		proto.ModeChanged{Mode: hostile},
		proto.ModelChanged{Model: hostile},
		proto.HookEnded{Name: hostile, Outcome: "error", Stderr: hostile},
		proto.LocalOutput{Text: hostile},
		proto.TaskStarted{Task: proto.Task{ID: "t", Kind: "agent", Description: hostile}},
		proto.TaskEnded{Task: proto.Task{ID: "t", Kind: "agent", Description: hostile, Status: "failed", Error: hostile}},
		proto.Todos{Items: []proto.Todo{{ID: "1", Subject: hostile}}},
		proto.AskClosed{By: hostile, Behavior: hostile},
		proto.SessionReset{New: hostile, Trigger: hostile},
		proto.Other{Kind: hostile},
		proto.Result{IsError: true, Errors: []string{hostile}, Turns: 1},
		proto.AnswerStarted{Response: "r"},
		proto.BlockStarted{Kind: "text"},
		proto.Delta{Kind: "text", Text: hostile},
		proto.BlockEnded{},
	} {
		lines := append(p.Event(proto.E(body)), p.Activity(), p.Tail())
		for _, l := range append(lines, screen.NewQuestion(proto.Ask{Title: hostile, Text: hostile, Reason: hostile, Options: []proto.Option{{Label: hostile, Detail: hostile}}}, surfaceID).Lines(screen.Style{}, screen.Window{Cells: 60})...) {
			if strings.ContainsAny(l, "\x1b\x07\u202e\r\x00\u009b") {
				t.Errorf("%T: %q", body, l)
			}
		}
	}
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestALongDiffIsCutWithACount(t *testing.T) {
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf("+line %d", i))
	}
	structured, err := json.Marshal(map[string]any{"filePath": "/p/a", "structuredPatch": []any{map[string]any{"oldStart": 1, "newStart": 1, "lines": lines}}})
	if err != nil {
		t.Fatal(err)
	}
	patch, ok := patchOf(&msg.Message{Structured: structured})
	if !ok {
		t.Fatal("no patch")
	}
	got := patch.lines(screen.Style{})
	if len(got) != diffRows+1 || got[diffRows] != "... 3961 more lines" || patch.counts(screen.Style{}) != " +4000 -0" {
		t.Errorf("%d rows, last %q, counts %q", len(got), got[len(got)-1], patch.counts(screen.Style{}))
	}
}

// A patch that was cut before it came here is counted and shown as what it is a part of.
func TestKF176_CountsAreOfTheWholeChange(t *testing.T) {
	patch, ok := patchOf(&msg.Message{Structured: []byte(`{"filePath":"/p/a","structuredPatch":[{"oldStart":1,"newStart":1,"lines":["-a","+b"]}],"patchCut":{"added":900,"removed":800,"leftOut":1698}}`)})
	if !ok {
		t.Fatal("no patch")
	}
	got := patch.lines(screen.Style{})
	if got[len(got)-1] != "... 1698 more lines" || patch.counts(screen.Style{}) != " +900 -800" {
		t.Errorf("rows %q, counts %q", got, patch.counts(screen.Style{}))
	}
}
