package headless

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// goldenLines reads the lines a process wrote in one of the published traces.
func goldenLines(t *testing.T, name string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l struct {
			Stdout map[string]any `json:"stdout"`
		}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		kind, _ := l.Stdout["type"].(string)
		if l.Stdout != nil && !strings.HasPrefix(kind, "control_") {
			out = append(out, l.Stdout)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no output lines", name)
	}
	return out
}

// optional are the fields that the published description marks as not required.
func optional() map[string]bool {
	return map[string]bool{
		"request_id": true, "ttft_ms": true, "ttft_stream_ms": true, "time_to_request_ms": true, "memory_paths": true,
		"stop_details": true, "is_backgrounded": true, "fast_mode_state": true, "resolvedModel": true, "toolStats": true,
	}
}

// matcher compares what was written with a trace: placeholders stand for values, the same
// numbered one for the same value.
type matcher struct{ bound map[string]any }

func (m *matcher) match(path string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		return m.matchObject(path, w, got)
	case []any:
		return m.matchList(path, w, got)
	case string:
		if strings.HasPrefix(w, "<") && strings.HasSuffix(w, ">") && w != "<synthetic>" {
			return m.placeholder(path, w, got)
		}
		if strings.Contains(w, "<") && w != "<synthetic>" {
			return nil // a placeholder inside a path
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return fmt.Errorf("%s: want %v, got %v", path, want, got)
	}
	return nil
}

func (m *matcher) matchObject(path string, want map[string]any, got any) error {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: want an object, got %v", path, got)
	}
	for k, wv := range want {
		if strings.HasPrefix(k, "<") { // any key
			if len(g) != 1 {
				return fmt.Errorf("%s: want one entry, got %d", path, len(g))
			}
			for _, gv := range g {
				if err := m.match(path+".*", wv, gv); err != nil {
					return err
				}
			}
			continue
		}
		gv, ok := g[k]
		if !ok {
			if optional()[k] {
				continue
			}
			return fmt.Errorf("%s.%s is missing", path, k)
		}
		if err := m.match(path+"."+k, wv, gv); err != nil {
			return err
		}
	}
	return nil
}

func (m *matcher) matchList(path string, want []any, got any) error {
	g, ok := got.([]any)
	if !ok {
		return fmt.Errorf("%s: want a list, got %v", path, got)
	}
	for i, w := range want {
		if w == "..." {
			return nil
		}
		if i >= len(g) {
			return fmt.Errorf("%s: want %d entries, got %d", path, len(want), len(g))
		}
		if err := m.match(fmt.Sprintf("%s[%d]", path, i), w, g[i]); err != nil {
			return err
		}
	}
	if len(g) != len(want) {
		return fmt.Errorf("%s: want %d entries, got %d", path, len(want), len(g))
	}
	return nil
}

func (m *matcher) placeholder(path, want string, got any) error {
	if got == nil || got == "" {
		return fmt.Errorf("%s: want something for %s, got %v", path, want, got)
	}
	if !strings.Contains(want, ":") {
		return nil
	}
	if old, ok := m.bound[want]; ok && old != got {
		return fmt.Errorf("%s: %s was %v before, now %v", path, want, old, got)
	}
	m.bound[want] = got
	return nil
}

// events is a scripted session in the order the loop tells things.
type events struct {
	list []proto.Event
	at   time.Time
	n    int
	in   string // agent
	call string // its call
}

func newEvents() *events { return &events{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func (s *events) add(bodies ...proto.EventBody) *events {
	for _, b := range bodies {
		s.at = s.at.Add(10 * time.Millisecond)
		e := proto.E(b)
		e.Session, e.Time, e.Agent, e.Parent = "session-1", s.at, s.in, s.call
		s.list = append(s.list, e)
	}
	return s
}

// agent makes the following events those of a subagent; empty: of the main conversation again.
func (s *events) agent(id, call string) *events { s.in, s.call = id, call; return s }

func (s *events) start(mode string) *events {
	return s.add(proto.TurnStarted{Cwd: "/p", Model: "anthropic/m", Mode: mode, Tools: []string{"Agent", "Bash"}})
}

// answer is one answer of the model with these blocks, piece by piece.
func (s *events) answer(blocks ...msg.Block) *events {
	s.n++
	id := fmt.Sprintf("msg_%d", s.n)
	s.add(proto.RequestStarted{Model: "anthropic/m", Round: s.n, Attempt: 1},
		proto.AnswerStarted{Response: id, Model: "anthropic/m", Usage: msg.Usage{Input: 10, Output: 1}, TTFTMS: 5})
	stop := msg.StopEndTurn
	for i, b := range blocks {
		open := proto.BlockStarted{Index: i, Kind: b.Type()}
		if c, ok := b.(msg.ToolCall); ok {
			open.Call, open.Tool, stop = c.ID, c.Name, msg.StopToolUse
		}
		s.add(open)
		if txt, ok := b.(msg.Text); ok {
			for _, part := range strings.SplitAfterN(txt.Text, "Hello", 2) {
				if part != "" {
					s.add(proto.Delta{Index: i, Kind: "text", Text: part})
				}
			}
		}
		s.add(proto.Message{Message: msg.Message{ID: s.id(), Role: msg.Assistant, Response: id, Model: "anthropic/m", Content: []msg.Block{b}}},
			proto.BlockEnded{Index: i})
		if c, ok := b.(msg.ToolCall); ok {
			s.add(proto.CallAnnounced{Call: c.ID, Tool: c.Name, Input: c.Input})
		}
	}
	return s.add(proto.AnswerEnded{Response: id, Stop: stop, Usage: msg.Usage{Input: 10, Output: 5}})
}

func (s *events) id() string { s.n++; return fmt.Sprintf("id-%d", s.n) }

func (s *events) toolResult(call, text, structured string, isError bool) *events {
	m := msg.Message{
		ID: s.id(), Role: msg.User, Origin: msg.FromTool,
		Content: []msg.Block{msg.ToolResult{CallID: call, Content: []msg.Block{msg.Text{Text: text}}, IsError: isError}},
	}
	if structured != "" {
		m.Structured = json.RawMessage(structured)
	}
	return s.add(proto.Message{Message: m})
}

func (s *events) user(origin msg.Origin, text string) *events {
	return s.add(proto.Message{Message: msg.Message{ID: s.id(), Role: msg.User, Origin: origin, Content: PromptText(text)}})
}

// done closes a turn: requests made by it, turns counted, requests of the process so far.
func (s *events) done(r proto.Result, requests, total int) *events {
	r.Usage = msg.Usage{Input: 10 * requests, Output: 5 * requests}
	if total > 0 {
		r.Models = map[string]proto.ModelUsage{"anthropic/m": {
			Usage: msg.Usage{Input: 10 * total, Output: 5 * total}, Requests: total, CostUSD: 0.1, ContextWindow: 200000, MaxOutput: 32000,
		}}
	}
	r.CostUSD, r.DurationMS, r.APIMS = 0.1, 5, 3
	return s.add(r.Ended, r)
}

func success(text string, turns int, stop msg.Stop) proto.Result {
	return proto.Result{Subtype: "success", Text: text, Turns: turns, Ended: proto.Ended{Reason: proto.EndCompleted, Text: text, Stop: stop}}
}

func bash(id, command, description string) msg.ToolCall {
	in, _ := json.Marshal(map[string]string{"command": command, "description": description})
	return msg.ToolCall{ID: id, Name: "Bash", Input: in}
}

const bashOut = `{"stdout":%q,"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false%s}`

// traces are the sessions behind the published traces, as this program's events.
func traces() map[string]*events {
	background := bash("t1", "sleep 1; echo x", "Wait")
	background.Input = json.RawMessage(`{"command":"sleep 1; echo x","description":"Wait","run_in_background":true}`)
	shell := proto.Task{ID: "b1", Kind: "shell", Description: "Wait", Status: "running", Call: "t1", Backgrounded: true, OutputFile: "/tmp/tasks/b1.output"}
	shellDone := shell
	shellDone.Status, shellDone.EndMS = "completed", 1
	agentIn := json.RawMessage(`{"description":"Check it","prompt":"please check","subagent_type":"checker","run_in_background":false}`)
	agent := proto.Task{ID: "a1", Kind: "agent", Description: "Check it", Status: "running", Call: "t1", AgentID: "a1"}
	agentDone := agent
	agentDone.Status, agentDone.EndMS = "completed", 1
	api := &proto.APIError{Kind: string(provider.KindInvalid), Status: 400, Message: "bad thing"}

	return map[string]*events{
		"hello": newEvents().start("default").answer(msg.Text{Text: "Hello."}).done(success("Hello.", 1, msg.StopEndTurn), 1, 1),
		"two_turns": newEvents().
			start("default").answer(msg.Text{Text: "one"}).done(success("one", 1, msg.StopEndTurn), 1, 1).
			start("default").answer(msg.Text{Text: "two"}).done(success("two", 1, msg.StopEndTurn), 1, 2),
		"tool_allowed": newEvents().start("default").answer(bash("t1", "echo hi", "Echo")).
			toolResult("t1", "hi", fmt.Sprintf(bashOut, "hi", ""), false).
			answer(msg.Text{Text: "ok: hi"}).done(success("ok: hi", 2, msg.StopEndTurn), 2, 2),
		"api_529_retry": newEvents().start("default").
			add(proto.Retry{Attempt: 1, Max: 10, DelayMS: 500, Status: 529, Kind: "overloaded"}).
			answer(msg.Text{Text: "recovered"}).done(success("recovered", 1, msg.StopEndTurn), 1, 1),
		"api_error": newEvents().start("default").done(proto.Result{
			Subtype: "success", IsError: true, Turns: 1, Ended: proto.Ended{Reason: proto.EndAPI, API: api},
		}, 0, 0),
		"max_turns": newEvents().start("default").
			answer(bash("t1", "echo 1", "Echo")).toolResult("t1", "1", fmt.Sprintf(bashOut, "1", ""), false).
			answer(bash("t2", "echo 1", "Echo")).toolResult("t2", "1", fmt.Sprintf(bashOut, "1", ""), false).
			done(proto.Result{Turns: 3, Ended: proto.Ended{
				Reason: proto.EndMaxRounds, Stop: msg.StopToolUse, Detail: "Reached maximum number of turns (2)",
			}}, 2, 2),
		"partial_messages": newEvents().start("default").answer(msg.Text{Text: "Hello you"}).done(success("Hello you", 1, msg.StopEndTurn), 1, 1),
		"structured_output": newEvents().start("default").
			answer(msg.ToolCall{ID: "t1", Name: "StructuredOutput", Input: json.RawMessage(`{"wrong":1}`)}).
			toolResult("t1", "count is required", "", true).
			answer(msg.ToolCall{ID: "t2", Name: "StructuredOutput", Input: json.RawMessage(`{"count":3}`)}).
			toolResult("t2", "Structured output provided successfully", "", false).
			done(proto.Result{
				Subtype: "success", Text: `{"count":3}`, Turns: 3, Structured: json.RawMessage(`{"count":3}`),
				Ended: proto.Ended{Reason: proto.EndStructured, Stop: msg.StopToolUse},
			}, 2, 2),
		"interrupt_tool": newEvents().start("default").answer(bash("t1", "sleep 20", "Sleep")).
			toolResult("t1", "interrupted", `"User rejected tool use"`, true).
			user(msg.FromInterrupt, "[Request interrupted by user for tool use]").
			done(proto.Result{
				Subtype: "error_during_execution", IsError: true, Turns: 3, Errors: []string{"interrupted"},
				Ended: proto.Ended{Reason: proto.EndTools, Stop: msg.StopToolUse},
			}, 1, 1).
			start("default").answer(msg.Text{Text: "after"}).done(success("after", 1, msg.StopEndTurn), 1, 2),
		"plan_mode": newEvents().start("plan").
			answer(msg.ToolCall{ID: "t1", Name: "ExitPlanMode", Input: json.RawMessage(`{"plan":"1. do it"}`)}).
			add(proto.ModeChanged{Mode: "default"}).
			toolResult("t1", "approved", `{"plan":"1. do it","isAgent":false,"filePath":"/p/plan.md"}`, false).
			answer(msg.Text{Text: "approved"}).done(success("approved", 2, msg.StopEndTurn), 2, 2),
		"background_command": newEvents().start("default").answer(background).
			add(proto.TaskStarted{Task: shell}).
			toolResult("t1", "running in the background", fmt.Sprintf(bashOut, "", `,"backgroundTaskId":"b1"`), false).
			answer(msg.Text{Text: "started"}).done(success("started", 2, msg.StopEndTurn), 2, 2).
			add(proto.TaskEnded{Task: shellDone, Summary: `Background command "Wait" completed (exit code 0)`}).
			start("default").user(msg.FromTask, "it ended").answer(msg.Text{Text: "noted"}).
			done(withOrigin(success("noted", 1, msg.StopEndTurn), "task-notification"), 1, 3),
		"subagent": newEvents().start("default").answer(msg.ToolCall{ID: "t1", Name: "Agent", Input: agentIn}).
			add(proto.TaskStarted{Task: agent}).
			agent("a1", "t1").user(msg.FromHuman, "please check").
			add(proto.CallAnnounced{Call: "t2", Tool: "Bash", Input: bash("t2", "echo sub", "Sub").Input}).
			add(proto.AnswerStarted{Response: "sub_1", Usage: msg.Usage{Input: 10, Output: 1}}).
			add(proto.Message{Message: msg.Message{
				ID: "u-sub", Role: msg.Assistant, Response: "sub_1", Model: "anthropic/m", Content: []msg.Block{bash("t2", "echo sub", "Sub")},
			}}).
			toolResult("t2", "sub", "", false).
			add(proto.Message{Message: msg.Message{
				ID: "u-sub2", Role: msg.Assistant, Response: "sub_2", Model: "anthropic/m", Content: PromptText("sub done"),
			}}).
			agent("", "").add(proto.TaskEnded{Task: agentDone, Summary: "Check it"}).
			add(proto.Message{Message: msg.Message{
				ID: "u-res", Role: msg.User, Origin: msg.FromTool,
				Content: []msg.Block{msg.ToolResult{CallID: "t1", Content: []msg.Block{msg.Text{Text: "sub done"}, msg.Text{Text: "agent a1"}}}},
				Structured: json.RawMessage(`{"status":"completed","prompt":"please check","agentId":"a1","agentType":"checker",
					"content":[{"type":"text","text":"sub done"}],"totalDurationMs":5,"totalTokens":15,"totalToolUseCount":1,
					"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,
					"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard",
					"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0},"inference_geo":"","iterations":[],"speed":"standard"}}`),
			}}).
			answer(msg.Text{Text: "main done"}).done(success("main done", 2, msg.StopEndTurn), 2, 4),
	}
}

func withOrigin(r proto.Result, origin string) proto.Result { r.Origin = origin; return r }

func TestEventsBecomeThePublishedTraces(t *testing.T) {
	init := Init{Commands: []string{"help"}, Agents: []string{"a"}, Skills: []string{"s"}, KeySource: "ANTHROPIC_API_KEY", Version: "2.1.332"}
	for name, script := range traces() {
		t.Run(name, func(t *testing.T) {
			n := 0
			m := newMapper(mapOptions{
				Partial: name == "partial_messages",
				Init:    func() Init { return init },
				NewID:   func() string { n++; return fmt.Sprintf("new-%d", n) },
			})
			got := wireLines(t, m, script.list)
			want := goldenLines(t, name)
			if name == "api_error" { // the trace is of an older release; newer ones name the true reason
				want[len(want)-1]["terminal_reason"] = "api_error"
			}
			cmp := &matcher{bound: map[string]any{}}
			for i, w := range want {
				if i >= len(got) {
					t.Fatalf("line %d is missing: %v", i+1, w)
				}
				if err := cmp.match(fmt.Sprint(i+1), w, got[i]); err != nil {
					t.Errorf("%v\nwant %v\ngot  %v", err, w, got[i])
				}
			}
			if len(got) > len(want) {
				t.Errorf("%d lines more than expected, first: %v", len(got)-len(want), got[len(want)])
			}
		})
	}
}

// wireLines maps events and decodes what goes out.
func wireLines(t *testing.T, m *mapper, list []proto.Event) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, e := range list {
		for _, o := range m.Map(e) {
			raw := line(o)
			if bytes.Count(raw, []byte("\n")) != 1 {
				t.Fatalf("not one line: %q", raw)
			}
			var v map[string]any
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatalf("%v in %s", err, raw)
			}
			out = append(out, v)
		}
	}
	return out
}

func TestARefusedResumeIsTold(t *testing.T) {
	var out, errs bytes.Buffer
	text := "No conversation found with session ID: s1"
	code := Refused(Options{Format: StreamJSON, Out: &out, Err: &errs}, "s1", text)
	if code != 1 || errs.String() != text+"\n" {
		t.Errorf("code %d, stderr %q", code, errs.String())
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := goldenLines(t, "resume_unknown")[0]
	want["errors"], want["session_id"] = []any{text}, "s1"
	if err := (&matcher{bound: map[string]any{}}).match("", want, got); err != nil {
		t.Error(err)
	}
}
