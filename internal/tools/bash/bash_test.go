//go:build linux

package bash_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// stand is a session with nothing but the tool in it.
type stand struct {
	t     testing.TB
	shell *bash.Shell
	world *bash.World
	scope *tool.Scope
	board task.Board
	live  *task.Live
	owner *proc.Owner
	dir   string // the project
	seq   int
}

type root struct{ Task *task.State }

func newBoard() task.Board {
	s := store.New(root{Task: &task.State{}}, nil, nil)
	return task.Board{Now: time.Now, Slice: store.Focus(s,
		func(r *root) *task.State { return r.Task },
		func(r *root, t *task.State) *root { n := *r; n.Task = t; return &n })}
}

func newStand(t testing.TB, change ...func(*bash.World)) *stand {
	t.Helper()
	host := proc.NewHost(proc.Options{Grace: 150 * time.Millisecond, Report: func(err error) { t.Error(err) }})
	t.Cleanup(func() { host.Close() })
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, board: newBoard(), live: &task.Live{}, owner: host.Owner("test"), dir: dir}
	var ids atomic.Int64
	s.world = &bash.World{
		Runner: bash.Unconfined(s.owner), Dir: sync.OnceValue(t.TempDir), Board: s.board, Live: s.live,
		NewID: func() string { return fmt.Sprintf("b%d", ids.Add(1)) },
		Root:  func() string { return dir },
	}
	for _, c := range change {
		c(s.world)
	}
	s.shell = bash.New(*s.world)
	s.scope = tool.NewScope("", dir)
	return s
}

func (s *stand) call(in any) tool.Call {
	s.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seq++
	c, err := s.shell.Normalise(tool.Call{ID: fmt.Sprintf("call/%d", s.seq), Name: "Bash", Literal: raw, Scope: s.scope})
	if err != nil {
		s.t.Fatalf("%s: %v", raw, err)
	}
	return c
}

type in map[string]any

// run runs a call as app would: the working directory it returns is entered into the scope.
func (s *stand) run(ctx context.Context, input any) tool.Result {
	s.t.Helper()
	res, err := s.shell.Run(ctx, s.call(input))
	if err != nil {
		s.t.Fatal(err)
	}
	if res.Cwd != "" {
		s.scope.SetCwd(res.Cwd)
	}
	return res
}

func (s *stand) sh(command string) tool.Result {
	s.t.Helper()
	return s.run(s.t.Context(), in{"command": command})
}

func text(r tool.Result) string { return msg.TextOf(r.Content) }

func field(t testing.TB, r tool.Result, name string) any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.Structured, &m); err != nil {
		t.Fatalf("structured %s: %v", r.Structured, err)
	}
	return m[name]
}

// ended waits for the end of a task.
func (s *stand) ended(id string) task.Task {
	s.t.Helper()
	limit := time.After(15 * time.Second)
	for {
		changed := make(chan struct{}, 1)
		cancel := s.board.Slice.Watch(func(_, _ *task.State) {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		t, ok := s.board.Slice.Get().Tasks.Get(id)
		if ok && t.Ended() {
			cancel()
			return t
		}
		select {
		case <-changed:
		case <-limit:
			s.t.Fatalf("task %s has not ended: %+v", id, t)
		}
		cancel()
	}
}

func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(data[bytes.LastIndexByte(data, ')'):], []byte(" Z "))
}

func TestResults(t *testing.T) {
	s := newStand(t)
	tests := []struct {
		command, want string
		failed        bool
		field         string
		value         any
	}{
		{command: "echo hi", want: "hi", field: "stdout", value: "hi"},
		{command: "printf '\\n\\n  a\\n\\n'", want: "  a"},
		{command: "echo out; echo err >&2", want: "out\nerr"},
		{command: "true", want: "(no output)", field: "noOutputExpected", value: true},
		{command: "exit 3", want: "Exit code 3", failed: true},
		{command: "echo why; false", want: "Exit code 1\nwhy", failed: true},
		{command: "kill -9 $$", want: "Exit code 137 (SIGKILL)", failed: true},
		{command: "echo 'a", failed: true, want: "Exit code"},
		{command: "nosuchprogram", failed: true, want: "Exit code 127"},
		{command: "echo a | grep b", want: "(no output: No matches found)", field: "returnCodeInterpretation", value: "No matches found"},
		{command: "cd / && egrep x /dev/null", want: "No matches found"},
		{command: "grep x /nonexistent", failed: true, want: "Exit code 2"},
		{command: "test -f /nonexistent", want: "Condition is false"},
		{command: "[ 1 = 2 ]", want: "Condition is false"},
		{command: "[[ 1 = 2 ]]", want: "Condition is false"},
		{command: "echo a > x; echo b > y; diff x y", want: "< a", field: "returnCodeInterpretation", value: "Files differ"},
		{command: "git -C . diff --no-index x y", want: "+b", field: "returnCodeInterpretation", value: "Files differ"},
		{command: "git log", failed: true, want: "Exit code 128"},
		{command: "cat; read x || echo end", want: "end"},
		{command: "echo $PWD; pwd", want: "DIR\nDIR"},
		{command: "echo \"$0 $# $-\"", want: "0 "},
		{command: "shopt -s extglob\necho @(x|y)", want: "x y"},
		{command: "cat <<E\nhere $((1+1))\nE", want: "here 2"},
		{command: "alias q='echo aliased'\nshopt -s expand_aliases\nq", want: "aliased"},
		{command: "printf 'a\\0b\\xff'", want: "a\u2400b\uFFFD"},
		{command: "set -e; false; echo no", failed: true, want: "Exit code 1"},
		{command: "exec true", want: "(no output)"},
		{command: "echo \"it's $(echo 'q')\" # comment", want: "it's q"},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			s.scope.SetCwd(s.dir)
			r := s.sh(tt.command)
			want := strings.ReplaceAll(tt.want, "DIR", s.dir)
			if r.IsError != tt.failed || !strings.Contains(text(r), want) || (tt.failed && !strings.HasPrefix(text(r), "Exit code ")) {
				t.Errorf("got %q (error %v), want %q (%v)", text(r), r.IsError, want, tt.failed)
			}
			if tt.field != "" && field(t, r, tt.field) != tt.value {
				t.Errorf("%s is %v in %s", tt.field, field(t, r, tt.field), r.Structured)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(s.world.Dir(), "*")); len(left) != 0 {
		t.Errorf("left in the session's folder: %v", left)
	}
}

func TestInputIsChecked(t *testing.T) {
	s := newStand(t)
	for input, want := range map[string]string{
		`{}`:                               "command",
		`{"command":""}`:                   "command",
		`{"command":"  \n"}`:               "empty",
		`{"command":"a\u0000b"}`:           "NUL",
		`{"command":"x","timeout":0}`:      "timeout",
		`{"command":"x","timeout":-1}`:     "timeout",
		`{"command":"x","timeout":"soon"}`: "timeout",
		`{"command":"x","service":"web"}`:  "run_in_background",
	} {
		_, err := s.shell.Normalise(tool.Call{Literal: json.RawMessage(input), Scope: s.scope})
		if err == nil || !strings.HasPrefix(err.Error(), "InputValidationError: Bash failed") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

func TestKF030_TimeoutUnits(t *testing.T) {
	s := newStand(t)
	for _, ok := range []string{`100000`, `"60"`, `99999999`, `1500.0`} {
		c, err := s.shell.Normalise(tool.Call{Literal: json.RawMessage(`{"command":"true","timeout":` + ok + `}`), Scope: s.scope})
		if err != nil {
			t.Errorf("%s: %v", ok, err)
			continue
		}
		if r, err := s.shell.Run(t.Context(), c); err != nil || r.IsError && ok != `"60"` {
			t.Errorf("%s: %v %v", ok, r, err)
		}
	}
	s = newStand(t, func(w *bash.World) {
		w.Limits = func() bash.Limits { return bash.Limits{Timeout: 80 * time.Millisecond, NoBackground: true} }
	})
	r := s.sh("echo before; sleep 9999")
	if !r.IsError || !strings.Contains(text(r), "timed out after 80ms") || !strings.Contains(text(r), "before") || field(t, r, "timedOutAfterMs") != 80.0 {
		t.Errorf("%s %s", text(r), r.Structured)
	}
}

func TestLimitsFrom(t *testing.T) {
	env := map[string]string{
		"BASH_DEFAULT_TIMEOUT_MS": "900000", "BASH_MAX_TIMEOUT_MS": "1000", "BASH_MAX_OUTPUT_LENGTH": "x",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1", "CLAUDE_CODE_SHELL": "/a", "MYELIN_SHELL": "/b", "CLAUDE_CODE_SHELL_PREFIX": "p",
	}
	got := bash.LimitsFrom(func(k string) string { return env[k] })
	want := bash.Limits{Timeout: 15 * time.Minute, MaxTimeout: time.Second, NoBackground: true, Shell: "/b", Prefix: "p"}
	if got != want {
		t.Errorf("got %+v", got)
	}
}

func TestWorkingDirectory(t *testing.T) {
	s := newStand(t, func(w *bash.World) {})
	inside := func(dir string) bool { return strings.HasPrefix(dir+"/", s.dir+"/") }
	s.world.MayStand = inside
	s.shell = bash.New(*s.world)
	r := s.sh("mkdir -p 'a b/c' && cd 'a b'")
	if r.Cwd != filepath.Join(s.dir, "a b") {
		t.Fatalf("cwd %q, %s", r.Cwd, text(r))
	}
	if r := s.sh("cd c; exit 4"); r.Cwd != filepath.Join(s.dir, "a b", "c") || !strings.HasPrefix(text(r), "Exit code 4") {
		t.Errorf("cd, then exit: %q %s", r.Cwd, text(r))
	}
	if r := s.sh("pwd; cd /tmp && pwd"); r.Cwd != "" || !strings.Contains(text(r), "Shell cwd was reset to "+filepath.Join(s.dir, "a b", "c")) {
		t.Errorf("outside: %q %s", r.Cwd, text(r))
	}
	if r := s.sh("(cd ..); pwd"); r.Cwd != "" || strings.Contains(text(r), "reset") {
		t.Errorf("subshell: %q %s", r.Cwd, text(r))
	}
	s.scope = tool.NewScope("agent-1", s.dir)
	if r := s.sh("cd 'a b'"); r.Cwd != "" || !strings.Contains(text(r), "reset") {
		t.Errorf("subagent: %q %s", r.Cwd, text(r))
	}
	s.scope = tool.NewScope("", s.dir)
	s.world.Limits = func() bash.Limits { return bash.Limits{FixedCwd: true} }
	s.shell = bash.New(*s.world)
	if r := s.sh("cd 'a b'"); r.Cwd != "" || !strings.Contains(text(r), "reset") {
		t.Errorf("fixed: %q %s", r.Cwd, text(r))
	}
}

func TestKF031_WorkingDirectoryDisappears(t *testing.T) {
	s := newStand(t)
	s.sh("mkdir w && cd w")
	if s.scope.Cwd() != filepath.Join(s.dir, "w") {
		t.Fatal(s.scope.Cwd())
	}
	s.sh("rm -rf ../w")
	r := s.sh("pwd")
	if !strings.HasPrefix(text(r), s.dir+"\n") || !strings.Contains(text(r), "does not exist any more") || r.Cwd != s.dir {
		t.Errorf("%q, cwd %q", text(r), r.Cwd)
	}
	if r := s.sh("pwd"); text(r) != s.dir {
		t.Errorf("then: %q", text(r))
	}
}

func TestKF005_CutThroughACharacter(t *testing.T) {
	for offset := range 4 {
		for _, tail := range []string{"; exit 0", "; exit 9"} {
			s := newStand(t, func(w *bash.World) { w.Limits = func() bash.Limits { return bash.Limits{MaxOutput: 100} } })
			r := s.sh("printf '%s' '" + strings.Repeat("a", offset) + "'; for i in $(seq 40000); do printf '\\U1F600'; done" + tail)
			got := text(r)
			raw, err := json.Marshal(got)
			if err != nil || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) || !json.Valid(raw) {
				t.Errorf("offset %d: damaged: %q", offset, got[:200])
			}
			if !strings.Contains(got, "bytes left out]") {
				t.Errorf("offset %d: does not say what was left out", offset)
			}
			if r.IsError {
				if n := utf8.RuneCountInString(got); n > 10_200 {
					t.Errorf("failure of %d characters", n)
				}
				continue
			}
			path, _ := field(t, r, "persistedOutputPath").(string)
			data, err := os.ReadFile(path)
			if err != nil || len(data) != offset+160000 {
				t.Errorf("kept %d bytes in %q: %v", len(data), path, err)
			}
		}
	}
}

func TestOutputLimits(t *testing.T) {
	for n, inline := range map[int]bool{99: true, 100: true, 101: false} {
		s := newStand(t, func(w *bash.World) { w.Limits = func() bash.Limits { return bash.Limits{MaxOutput: 100} } })
		r := s.sh(fmt.Sprintf("printf '%%0%dd' 7", n))
		if got := field(t, r, "persistedOutputPath") == nil; got != inline {
			t.Errorf("%d characters: inline %v", n, got)
		}
		if inline && utf8.RuneCountInString(text(r)) != n {
			t.Errorf("%d characters: %q", n, text(r))
		}
	}
}

func TestKF024_ChildKeepsThePipeOpen(t *testing.T) {
	for _, command := range []string{
		"sleep 300 & echo $!; echo ok",
		"(while :; do echo x; sleep 1; done) & echo $!; echo ok",
		"nohup sleep 300 >log 2>&1 & echo $!; echo ok",
		"setsid sleep 300 >/dev/null 2>&1 & echo $!; echo ok",
	} {
		t.Run(command, func(t *testing.T) {
			s := newStand(t)
			begin := time.Now()
			r := s.sh(command)
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %v", took)
			}
			if !strings.Contains(text(r), "ok") || !strings.Contains(text(r), "left running") {
				t.Errorf("%s", text(r))
			}
			living := s.board.Slice.Get().Living()
			if len(living) != 1 {
				t.Fatalf("tasks: %+v", living)
			}
			var pid int
			for _, f := range strings.Fields(text(r)) {
				if n, err := strconv.Atoi(f); err == nil {
					pid = n
					break
				}
			}
			if !alive(pid) {
				t.Fatalf("%d was ended with the shell", pid)
			}
			c, _ := s.live.Get(living[0].ID)
			c.Stop("by the test")
			if end := s.ended(living[0].ID); end.Status != task.Killed || end.Error != "by the test" {
				t.Errorf("%+v", end)
			}
			if alive(pid) {
				t.Error("still there")
			}
		})
	}
}

func TestKF025_BackgroundHasNoInput(t *testing.T) {
	for _, command := range []string{"cat", "read x", "bash -i"} {
		s := newStand(t)
		ends := 0
		s.board.Slice.Watch(func(old, new *task.State) {
			for _, c := range task.Changes(old, new) {
				if c.Ends() {
					ends++
				}
			}
		})
		r := s.run(t.Context(), in{"command": command, "run_in_background": true, "description": "d"})
		id, _ := field(t, r, "backgroundTaskId").(string)
		got := s.ended(id)
		if got.Kind != task.Shell || !got.Backgrounded || got.Description != "d" || got.OutputFile == "" {
			t.Errorf("%+v", got)
		}
		if ends != 1 {
			t.Errorf("%q: %d ends told", command, ends)
		}
	}
}

func TestBackground(t *testing.T) {
	s := newStand(t)
	r := s.run(t.Context(), in{"command": "echo one; echo two; cd /; exit 5", "run_in_background": true})
	id, _ := field(t, r, "backgroundTaskId").(string)
	if id == "" || !strings.Contains(text(r), id) || r.IsError {
		t.Fatalf("%s %s", text(r), r.Structured)
	}
	got := s.ended(id)
	data, err := os.ReadFile(got.OutputFile)
	if err != nil || string(data) != "one\ntwo\n" || got.Status != task.Failed || *got.ExitCode != 5 || r.Cwd != "" {
		t.Errorf("%q, %v, %+v", data, err, got)
	}
	r = s.run(t.Context(), in{"command": "echo $$; sleep 311", "run_in_background": true, "timeout": 300})
	id, _ = field(t, r, "backgroundTaskId").(string)
	if got := s.ended(id); got.Status != task.Failed || !strings.Contains(got.Error, "time") {
		t.Errorf("time limit: %+v", got)
	}
	r = s.run(t.Context(), in{"command": "true | grep x", "run_in_background": true})
	id, _ = field(t, r, "backgroundTaskId").(string)
	if got := s.ended(id); got.Status != task.Completed || *got.ExitCode != 1 {
		t.Errorf("harmless exit: %+v", got)
	}
	s = newStand(t, func(w *bash.World) { w.Limits = func() bash.Limits { return bash.Limits{NoBackground: true} } })
	if r := s.run(t.Context(), in{"command": "true", "run_in_background": true}); !r.IsError {
		t.Errorf("switched off: %s", text(r))
	}
}

func TestMovedToTheBackgroundAtItsTimeout(t *testing.T) {
	short := func(w *bash.World) {
		w.Limits = func() bash.Limits { return bash.Limits{Timeout: 100 * time.Millisecond} }
	}
	s := newStand(t, short)
	r := s.sh("echo early; cd /tmp; while :; do sleep 0.05; [ -e " + s.dir + "/go ] && break; done; echo late")
	id, _ := field(t, r, "backgroundTaskId").(string)
	for _, want := range []string{"within its 100ms timeout and was moved to the background", id, "Session cwd remains " + s.dir} {
		if id == "" || !strings.Contains(text(r), want) {
			t.Errorf("%q lacks %q", text(r), want)
		}
	}
	if field(t, r, "timedOutAfterMs") != 100.0 || r.IsError {
		t.Errorf("%s", r.Structured)
	}
	c, _ := s.live.Get(id)
	if out := c.Output(1000); !strings.Contains(out, "early") {
		t.Errorf("output so far: %q", out)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.ended(id)
	if data, err := os.ReadFile(got.OutputFile); err != nil || string(data) != "early\nlate\n" || got.Status != task.Completed {
		t.Errorf("%q, %v, %+v", data, err, got)
	}
	for _, command := range []string{"sleep 312", "/bin/sleep 312; echo x", "cat /dev/zero | git hash-object --stdin", "while :; do git --version; done", "sleep 313 && 'unclosed"} {
		s := newStand(t, short)
		if r := s.sh(command); !r.IsError || field(t, r, "backgroundTaskId") != nil {
			t.Errorf("%s: %s", command, text(r))
		}
	}
}

func TestToBackgroundAndStop(t *testing.T) {
	s := newStand(t)
	c := s.call(in{"command": "echo $$; sleep 314"})
	seen := make(chan struct{})
	var once sync.Once
	c.Progress = func(p tool.Progress) { once.Do(func() { close(seen) }) }
	got := make(chan tool.Result, 1)
	go func() {
		r, err := s.shell.Run(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	<-seen
	if n := s.shell.ToBackground("another"); n != 0 {
		t.Errorf("moved %d calls", n)
	}
	if n := s.shell.ToBackground(c.ID); n != 1 {
		t.Errorf("moved %d calls", n)
	}
	r := <-got
	id, _ := field(t, r, "backgroundTaskId").(string)
	if field(t, r, "backgroundedByUser") != true {
		t.Errorf("%s", r.Structured)
	}
	ctl, ok := s.live.Get(id)
	if !ok {
		t.Fatal("no controls")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ctl.Output(100)))
	if err != nil || !alive(pid) {
		t.Fatalf("%d: %v", pid, err)
	}
	ctl.Stop("by the model")
	if end := s.ended(id); end.Status != task.Killed || end.Error != "by the model" || alive(pid) {
		t.Errorf("%+v, alive %v", end, alive(pid))
	}
}

func TestKF029_InterruptKeepsTheOutput(t *testing.T) {
	s := newStand(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	c := s.call(in{"command": "for i in $(seq 50); do echo line $i; done; trap '' TERM; echo $$; sleep 315 & setsid sleep 316 & wait; wait"})
	seen := make(chan struct{})
	var once sync.Once
	var all strings.Builder
	c.Progress = func(p tool.Progress) {
		all.WriteString(p.Text)
		if strings.Contains(all.String(), "line 50\n") && strings.HasSuffix(all.String(), "\n") {
			once.Do(func() { close(seen) })
		}
	}
	go func() {
		<-seen
		cancel(errors.New("by the user"))
	}()
	r, err := s.shell.Run(ctx, c)
	if err != nil || !r.IsError || field(t, r, "interrupted") != true {
		t.Fatalf("%v %s", err, r.Structured)
	}
	for i := range 50 {
		if !strings.Contains(text(r), fmt.Sprintf("line %d\n", i+1)) {
			t.Errorf("line %d is lost", i+1)
		}
	}
	if !strings.HasPrefix(text(r), "Interrupted") {
		t.Errorf("%s", text(r))
	}
	out, err := exec.Command("pgrep", "-f", "^sleep 31[56]$").CombinedOutput()
	if err == nil {
		t.Errorf("still running: %s", out)
	}
}

func TestKF032_AbortWithinASecond(t *testing.T) {
	s := newStand(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := s.call(in{"command": "trap '' TERM INT HUP; echo ready; while :; do read -t 0.2 x < <(sleep 0.2); done; touch effect"})
	var once sync.Once
	var at time.Time
	c.Progress = func(tool.Progress) { once.Do(func() { at = time.Now(); cancel() }) }
	if _, err := s.shell.Run(ctx, c); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(at); took > time.Second {
		t.Errorf("took %v", took)
	}
	if r, err := s.shell.Run(ctx, s.call(in{"command": "touch effect"})); err != nil || !r.IsError {
		t.Errorf("a cancelled call ran: %v %v", text(r), err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "effect")); err == nil {
		t.Error("there was an effect after all")
	}
}

func TestKF027_UnboundedOutput(t *testing.T) {
	for _, command := range []string{"yes", "head -c 200000000 /dev/zero | tr '\\0' x; sleep 300", "cat /dev/urandom"} {
		for _, background := range []bool{false, true} {
			s := newStand(t, func(w *bash.World) {
				w.Limits = func() bash.Limits { return bash.Limits{MaxBytes: 30 << 20} }
				w.Quota = proc.NewQuota(5 << 20)
			})
			r := s.run(t.Context(), in{"command": command, "run_in_background": background})
			got := text(r)
			if background {
				id, _ := field(t, r, "backgroundTaskId").(string)
				end := s.ended(id)
				if end.Status != task.Failed || !strings.Contains(end.Error, "too much") {
					t.Errorf("%s: %+v", command, end)
				}
			} else if !r.IsError || !strings.Contains(got, "printed more than") || utf8.RuneCountInString(got) > 11_000 || !utf8.ValidString(got) {
				t.Errorf("%s: %.300q", command, got)
			}
			names, _ := filepath.Glob(filepath.Join(s.world.Dir(), "*"))
			for _, n := range names {
				if st, err := os.Stat(n); err != nil || st.Size() > 6<<20 {
					t.Errorf("%s: file of %d bytes, %v", command, st.Size(), err)
				}
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "it's one.sh"), filepath.Join(dir, "two.sh")
	s := newStand(t, func(w *bash.World) {
		w.Env = func() []string { return []string{"PATH=" + os.Getenv("PATH"), "MYELIN=1", "A=1"} }
		w.EnvFiles = func(bool) []string { return []string{one, filepath.Join(dir, "none"), two} }
	})
	if err := os.WriteFile(one, []byte("export A=2\nf() { echo f:$1; }\nunfinished=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(two, []byte("export B=$A$A\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.sh("echo $MYELIN $A $B $C; f x; export C=3"); text(r) != "1 2 22\nf:x" {
		t.Errorf("%s", text(r))
	}
	if r := s.sh("echo [$C]"); text(r) != "[]" {
		t.Errorf("variables persist: %s", text(r))
	}
}

func TestPrefixShellAndLongCommands(t *testing.T) {
	s := newStand(t, func(w *bash.World) {
		w.Limits = func() bash.Limits { return bash.Limits{Shell: "/bin/dash", Prefix: "printf '<%s>' "} }
	})
	if r := s.sh("echo 'a b'"); text(r) != "<echo 'a b'>" {
		t.Errorf("%s", text(r))
	}
	s = newStand(t, func(w *bash.World) { w.Limits = func() bash.Limits { return bash.Limits{Shell: "/bin/dash"} } })
	if r := s.sh("mkdir d; cd d; exit 6"); !strings.HasPrefix(text(r), "Exit code 6") || r.Cwd != filepath.Join(s.dir, "d") {
		t.Errorf("%s, %s", text(r), r.Cwd)
	}
	s = newStand(t)
	if r := s.sh("x='" + strings.Repeat("y", 300_000) + "'; echo ${#x}; cd /"); !strings.HasPrefix(text(r), "300000") {
		t.Errorf("%.200s", text(r))
	}
	if left, _ := filepath.Glob(filepath.Join(s.world.Dir(), "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestSnapshotOfTheLoginShell(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	project := t.TempDir()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".bashrc"), `case $- in *i*) ;; *) return;; esac
alias hello='echo "hello from alias"' grep='grep --color=always'
greet() { echo "greet $1"; }
_hidden() { :; }
shopt -s globstar
echo noise; cd `+project+`
`)
	write(filepath.Join(home, ".bash_profile"), ". ~/.bashrc\n")
	write(filepath.Join(project, "evil.sh"), "touch "+filepath.Join(project, "ran"))
	t.Setenv("BASH_ENV", filepath.Join(project, "evil.sh"))
	s := newStand(t)
	var asked atomic.Int32
	capture := bash.Capture(s.owner, proc.Finder{}, func() string { return "" }, s.world.Dir, func() []string { return os.Environ() })
	s.world.Snapshot = func(ctx context.Context) (string, error) {
		asked.Add(1)
		return capture(ctx)
	}
	s.world.Env = func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home} }
	s.shell = bash.New(*s.world)
	r := s.sh("hello; greet you; shopt globstar; declare -F _hidden || echo no helpers")
	if want := "hello from alias\ngreet you\nglobstar       \ton\nno helpers"; text(r) != want {
		t.Errorf("got %q", text(r))
	}
	if r := s.sh("hello"); text(r) != "hello from alias" || asked.Load() != 1 {
		t.Errorf("%q, captured %d times", text(r), asked.Load())
	}
	if _, err := os.Stat(filepath.Join(project, "ran")); err == nil {
		t.Error("something of the project ran")
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	s := newStand(t)
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("export A=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := bash.Capture(s.owner, proc.Finder{}, func() string { return "" }, s.world.Dir, os.Environ)(t.Context()); err != nil || path != "" {
		data, _ := os.ReadFile(path)
		t.Errorf("%q, %v: %s", path, err, data)
	}
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("sleep 317\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if path, err := bash.Capture(s.owner, proc.Finder{}, func() string { return "" }, s.world.Dir, os.Environ)(ctx); err == nil || path != "" {
		t.Errorf("%q, %v", path, err)
	}
}

func TestImages(t *testing.T) {
	s := newStand(t)
	var small, wide bytes.Buffer
	if err := errors.Join(png.Encode(&small, image.NewGray(image.Rect(0, 0, 3, 2))), png.Encode(&wide, image.NewGray(image.Rect(0, 0, 9000, 1)))); err != nil {
		t.Fatal(err)
	}
	uri := func(kind string, data []byte) string {
		path := filepath.Join(s.dir, "uri")
		if err := os.WriteFile(path, []byte("data:"+kind+";base64,"+base64.StdEncoding.EncodeToString(data)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return "cat uri"
	}
	r := s.sh(uri("image/png", small.Bytes()))
	img, ok := r.Content[0].(msg.Image)
	if !ok || len(r.Content) != 1 || img.MediaType != "image/png" || !bytes.Equal(img.Data, small.Bytes()) || field(t, r, "isImage") != true {
		t.Errorf("%+v %s", r.Content, r.Structured)
	}
	noisy := image.NewNRGBA(image.Rect(0, 0, 400, 400))
	for i := range noisy.Pix {
		noisy.Pix[i] = byte(i * i >> 3)
	}
	var big bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.NoCompression}
	if err := enc.Encode(&big, noisy); err != nil {
		t.Fatal(err)
	}
	r = s.sh(uri("image/png", big.Bytes()))
	if img, ok := r.Content[0].(msg.Image); !ok || !bytes.Equal(img.Data, big.Bytes()) {
		t.Errorf("a picture of %d bytes is none: %.200s", big.Len(), text(r))
	}
	for name, command := range map[string]string{
		"too wide": uri("image/png", wide.Bytes()), "wrong kind": uri("image/gif", small.Bytes()), "not a picture": uri("image/png", []byte("x")),
	} {
		_ = name
		if r := s.sh(command); text(r) == "" {
			t.Errorf("%s was taken for a picture", name)
		}
	}
}

func TestChangedFilesAreNamed(t *testing.T) {
	s := newStand(t)
	path := filepath.Join(s.dir, "f")
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s.scope.Reads.Put(tool.ReadRecord{Path: path, ModTime: st.ModTime(), Size: 1})
	if r := s.sh("true"); strings.Contains(text(r), "Changed") {
		t.Errorf("%s", text(r))
	}
	if r := s.sh("echo bb > f"); !strings.Contains(text(r), "Changed since you read them: "+path) {
		t.Errorf("%s", text(r))
	}
}

func TestEndingUsIsRefused(t *testing.T) {
	s := newStand(t)
	me := filepath.Base(os.Args[0])
	for _, command := range []string{"pkill -f " + me, "pkill " + me[:5], "killall -9 " + me, "echo; kill $PPID", fmt.Sprintf("kill -TERM %d", os.Getpid()), "cd / && pkill -9 -f '" + me + "'"} {
		if r := s.sh(command); !r.IsError || !strings.Contains(text(r), "end the program you run in") {
			t.Errorf("%s: %s", command, text(r))
		}
	}
	if r := s.sh("pkill no-such-thing; kill -0 $$"); r.IsError {
		t.Errorf("%s", text(r))
	}
}

func TestTraits(t *testing.T) {
	s := newStand(t, func(w *bash.World) {
		w.Judge = func(command, cwd string) bash.Effects {
			return bash.Effects{ReadOnly: command == "ls", Beside: command == "true", Destructive: strings.HasPrefix(command, "rm")}
		}
	})
	for command, want := range map[string]tool.Traits{
		"ls": {ReadOnly: true, Beside: true}, "true": {Beside: true}, "rm x": {Snapshot: true}, "touch x": {},
	} {
		want.Command, want.Shell = command, true
		if got := s.shell.Traits(s.call(in{"command": command})); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if got := s.shell.Traits(s.call(in{"command": "ls", "run_in_background": true})); got.Beside {
		t.Error("background work runs beside others")
	}
}

func TestConfinementThatCannotBe(t *testing.T) {
	s := newStand(t)
	c := s.call(in{"command": "touch x"})
	c.Confine = tool.Confinement{Level: tool.Sandboxed}
	r, err := s.shell.Run(t.Context(), c)
	if err != nil || !r.IsError || !strings.Contains(text(r), "not started") {
		t.Errorf("%s, %v", text(r), err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "x")); err == nil {
		t.Error("it ran")
	}
}

func TestService(t *testing.T) {
	s := newStand(t)
	r := s.run(t.Context(), in{"command": "echo up; exec sleep 318", "run_in_background": true, "service": "web"})
	id, _ := field(t, r, "backgroundTaskId").(string)
	got, ok := s.board.Slice.Get().Find("web")
	if !ok || got.ID != id || got.Service.Keep {
		t.Fatalf("%+v", got)
	}
	ctl, _ := s.live.Get(id)
	kept, ok := ctl.Keep()
	if !ok || !kept.Keep || kept.PID == 0 {
		t.Fatalf("%+v %v", kept, ok)
	}
	s.owner.Close()
	if !alive(kept.PID) {
		t.Error("the kept service ended with the session")
	}
	service := proc.Identity{PID: kept.PID, Start: kept.PIDStart, Boot: bootID(t)}
	if ended := service.End(time.Millisecond); len(ended) == 0 || alive(kept.PID) {
		t.Errorf("ended %v", ended)
	}
}

func bootID(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func TestOwnerEndsEverything(t *testing.T) {
	s := newStand(t)
	r := s.run(t.Context(), in{"command": "echo $$; trap '' TERM; sleep 319 & setsid sleep 320 & while :; do sleep 1; done", "run_in_background": true})
	id, _ := field(t, r, "backgroundTaskId").(string)
	s.sh("sleep 321 & (setsid sleep 322 &)")
	s.owner.Close()
	if got := s.ended(id); got.Status != task.Killed {
		t.Errorf("%+v", got)
	}
	if out, err := exec.Command("pgrep", "-af", "^sleep 3(19|20|21|22)$").CombinedOutput(); err == nil {
		t.Errorf("still running:\n%s", out)
	}
}

func TestCallsAreListedAfterAWhile(t *testing.T) {
	s := newStand(t)
	listed := make(chan task.Task, 4)
	s.board.Slice.Watch(func(old, new *task.State) {
		for _, c := range task.Changes(old, new) {
			listed <- c.New
		}
	})
	if r := s.sh("sleep 3.3; echo done"); text(r) != "done" {
		t.Errorf("%s", text(r))
	}
	first, last := <-listed, <-listed
	if first.Status != task.Running || first.Backgrounded || last.Status != task.Completed || last.ID != first.ID {
		t.Errorf("%+v, %+v", first, last)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := newStand(t)
	calls := make([]tool.Call, 20)
	for i := range calls {
		calls[i] = s.call(in{"command": fmt.Sprintf("echo %d; cd /", i)})
	}
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			r, err := s.shell.Run(t.Context(), c)
			if err != nil || !strings.HasPrefix(text(r), fmt.Sprintf("%d", i)) {
				t.Errorf("%d: %s %v", i, text(r), err)
			}
		})
	}
	wg.Wait()
}

func BenchmarkTrue(b *testing.B) {
	b.Run("plain_sh", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tool", func(b *testing.B) {
		s := newStand(b)
		for b.Loop() {
			if r := s.sh("true"); r.IsError {
				b.Fatal(text(r))
			}
		}
	})
	b.Run("plain_bash", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
