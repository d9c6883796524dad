package taskctl_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/tools/taskctl"
)

type root struct{ Task *task.State }

func newWorld() taskctl.World {
	s := store.New(root{Task: &task.State{}}, nil, nil)
	return taskctl.World{Live: &task.Live{}, MaxOutput: func() int { return 20 }, Board: task.Board{Now: time.Now, Slice: store.Focus(s,
		func(r *root) *task.State { return r.Task },
		func(r *root, t *task.State) *root { n := *r; n.Task = t; return &n })}}
}

func start(t *testing.T, w taskctl.World, x task.Task) {
	t.Helper()
	if err := w.Board.Start(x); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, x tool.Tool, input string) (string, tool.Result) {
	t.Helper()
	c, err := x.Normalise(tool.Call{Literal: json.RawMessage(input), Scope: tool.NewScope("", "/")})
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	r, err := x.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return msg.TextOf(r.Content), r
}

func TestOutputOfEndedTasks(t *testing.T) {
	w := newWorld()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	zero := 0
	tests := []struct {
		id, file, want string
	}{
		{"short", write("a", "ab\ncd\n"), "ab\ncd"},
		{"long", write("b", strings.Repeat("é", 500)), "[960 bytes left out]\n" + strings.Repeat("é", 20)},
		{"empty", write("c", ""), "(no output)"},
		{"gone", filepath.Join(dir, "d"), "[the output file is gone]"},
		{"none", "", "(no output)"},
		{"bytes", write("e", "a\x00\xffb"), "a\u2400\uFFFDb"},
	}
	for _, tt := range tests {
		start(t, w, task.Task{ID: tt.id, Kind: task.Shell, OutputFile: tt.file})
		w.Board.End(tt.id, task.Outcome{Status: task.Completed, ExitCode: &zero})
		for _, block := range []string{"true", "false"} {
			text, r := run(t, taskctl.Output(w), `{"task_id":"`+tt.id+`","block":`+block+`}`)
			if !strings.HasSuffix(text, "\n"+tt.want) || !strings.Contains(text, "completed, exit code 0") || r.IsError {
				t.Errorf("%s: %q", tt.id, text)
			}
			var s struct {
				Status string `json:"retrieval_status"`
				Task   struct {
					Status string
					Code   *int `json:"exitCode"`
				}
			}
			if err := json.Unmarshal(r.Structured, &s); err != nil || s.Status != "success" || s.Task.Status != "completed" || *s.Task.Code != 0 {
				t.Errorf("%s: %s %v", tt.id, r.Structured, err)
			}
		}
	}
}

func TestKF026_WaitingHasAnEnd(t *testing.T) {
	for input, want := range map[string]time.Duration{
		`{"task_id":"b1"}`: 30 * time.Second,
		`{"task_id":"b1","block":true,"timeout":5000}`:       5 * time.Second,
		`{"task_id":"b1","block":"true","timeout":99999999}`: 10 * time.Minute,
		`{"task_id":"b1","block":false}`:                     0,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			start(t, w, task.Task{ID: "b1", Kind: task.Shell, Description: "serve"})
			w.Live.Enter("b1", task.Control{Done: make(chan struct{}), Output: func(int) string { return "listening" }})
			begin := time.Now()
			text, r := run(t, taskctl.Output(w), input)
			if took := time.Since(begin); took != want {
				t.Errorf("%s: took %v", input, took)
			}
			if !strings.Contains(text, "still running") || !strings.HasSuffix(text, "listening") || r.IsError {
				t.Errorf("%s: %q", input, text)
			}
		})
	}
}

func TestWaitEndsWithTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		start(t, w, task.Task{ID: "a1", Kind: task.Agent, AgentID: "agent-7"})
		done := make(chan struct{})
		w.Live.Enter("a1", task.Control{Done: done})
		go func() {
			time.Sleep(time.Second)
			w.Board.End("a1", task.Outcome{Status: task.Failed, Error: "no luck"})
			w.Live.Leave("a1")
			close(done)
		}()
		if text, _ := run(t, taskctl.Output(w), `{"agentId":"agent-7"}`); !strings.Contains(text, "failed (no luck)") {
			t.Errorf("%q", text)
		}
	})
}

func TestStop(t *testing.T) {
	w := newWorld()
	start(t, w, task.Task{ID: "b1", Kind: task.Shell, Description: "d"})
	start(t, w, task.Task{ID: "far", Kind: task.Remote})
	w.Live.Enter("b1", task.Control{Command: "sleep 1", Stop: func(why string) {
		w.Board.End("b1", task.Outcome{Status: task.Killed, Error: why})
	}})
	for _, bad := range []string{`{"task_id":"zz"}`, `{"task_id":"far"}`} {
		if text, r := run(t, taskctl.Stop(w), bad); !r.IsError || !strings.Contains(text, "far") && !strings.Contains(text, "b1 (shell): d") {
			t.Errorf("%s: %q", bad, text)
		}
	}
	text, r := run(t, taskctl.Stop(w), `{"shell_id":"b1"}`)
	want := `{"message":"Stopped task b1 (d)","task_id":"b1","task_type":"shell","command":"sleep 1"}`
	if string(r.Structured) != want || text != "Stopped task b1 (d)" {
		t.Errorf("%s", r.Structured)
	}
	if got, _ := w.Board.Slice.Get().Tasks.Get("b1"); got.Status != task.Killed || got.Error != "stopped by the model" {
		t.Errorf("%+v", got)
	}
	if text, r := run(t, taskctl.Stop(w), `{"task_id":"b1"}`); !r.IsError || !strings.Contains(text, "killed") {
		t.Errorf("%q", text)
	}
	start(t, w, task.Task{ID: "b2", Kind: task.Shell})
	w.Live.Enter("b2", task.Control{Stop: func(string) { w.Board.End("b2", task.Outcome{Status: task.Completed}) }})
	if text, _ := run(t, taskctl.Stop(w), `{"task_id":"b2"}`); !strings.Contains(text, "ended by itself") {
		t.Errorf("%q", text)
	}
}

func TestBadInput(t *testing.T) {
	w := newWorld()
	for _, x := range []tool.Tool{taskctl.Output(w), taskctl.Stop(w)} {
		for _, input := range []string{`{}`, `{"task_id":""}`, `[]`, `{"task_id":{}}`} {
			c, err := x.Normalise(tool.Call{Literal: json.RawMessage(input), Scope: tool.NewScope("", "/")})
			if err == nil {
				t.Errorf("%s %s: %s", x.Spec().Name, input, c.Input)
			}
		}
		if s := x.Spec(); len(s.Description)+len(s.Schema) > 600 {
			t.Errorf("%s costs %d bytes of each request", s.Name, len(s.Description)+len(s.Schema))
		}
		if tr := x.Traits(tool.Call{Input: json.RawMessage(`{"task_id":"x"}`)}); !tr.Beside || !tr.NoEffect {
			t.Errorf("%s: %s", x.Spec().Name, fmt.Sprint(tr))
		}
	}
}
