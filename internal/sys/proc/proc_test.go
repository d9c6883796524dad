//go:build linux

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

func TestMain(m *testing.M) {
	if proc.HelperMain() || victimMain() {
		return
	}
	os.Exit(m.Run())
}

// buffer is a writer for output that tests read while it grows.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
	grew chan struct{}
}

func newBuffer() *buffer { return &buffer{grew: make(chan struct{}, 1)} }

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data.Write(p)
	select {
	case b.grew <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// until waits until the output holds n full lines.
func (b *buffer) until(t *testing.T, n int) []string {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		if s := b.String(); strings.Count(s, "\n") >= n {
			return strings.Fields(s)
		}
		select {
		case <-b.grew:
		case <-limit:
			t.Fatalf("output has not reached %d lines: %q", n, b.String())
		}
	}
}

func newOwner(t *testing.T, opts proc.Options) *proc.Owner {
	t.Helper()
	if opts.Grace == 0 {
		opts.Grace = 150 * time.Millisecond
	}
	if opts.Report == nil {
		opts.Report = func(err error) { t.Error(err) }
	}
	h := proc.NewHost(opts)
	t.Cleanup(func() { h.Close() })
	return h.Owner(t.Name())
}

func sh(script string, out io.Writer) proc.Spec {
	return proc.Spec{Path: "sh", Args: []string{"-c", script}, Stdout: out, Stderr: out, Label: script}
}

// alive reports whether a process lives and is no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(data[bytes.LastIndexByte(data, ')')+1:])
	return !strings.HasPrefix(strings.TrimSpace(rest), "Z")
}

func mustBeGone(t *testing.T, fields []string) {
	t.Helper()
	for _, f := range fields {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("no process id: %q", f)
		}
		cmd := commandOf(pid)
		for deadline := time.Now().Add(5 * time.Second); alive(pid) && cmd == "" && time.Now().Before(deadline); {
			cmd = commandOf(pid) // it was killed and is on its way out: its memory is gone already
		}
		if alive(pid) {
			t.Errorf("process %d still lives: %q", pid, cmd)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func commandOf(pid int) string {
	cmd, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil { // gone
		return ""
	}
	return string(cmd)
}

func TestRun(t *testing.T) {
	o := newOwner(t, proc.Options{})
	tests := []struct {
		name   string
		script string
		stdin  io.Reader
		want   string
		exit   proc.Exit
	}{
		{name: "success", script: "echo a; echo b >&2; echo c", want: "a\nb\nc\n"},
		{name: "exit code", script: "exit 7", exit: proc.Exit{Code: 7}},
		{name: "signal", script: "kill -9 $$", exit: proc.Exit{Code: 137, Signal: "SIGKILL"}},
		{name: "no input is end of input", script: "cat; read x || echo end", want: "end\n"},
		{name: "input", script: "cat", stdin: strings.NewReader("in\n"), want: "in\n"},
		{name: "input nobody reads", script: "echo ok", stdin: strings.NewReader(strings.Repeat("x", 5<<20)), want: "ok\n"},
		{name: "much output", script: "head -c 3000000 /dev/zero | tr '\\0' x | wc -c", want: "3000000\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := newBuffer()
			spec := sh(tt.script, out)
			spec.Stdin = tt.stdin
			exit, err := o.Run(t.Context(), spec)
			if err != nil || exit != tt.exit || out.String() != tt.want {
				t.Errorf("got %q, %+v, %v; want %q, %+v", out.String(), exit, err, tt.want, tt.exit)
			}
		})
	}
}

func TestStreamsApart(t *testing.T) {
	o := newOwner(t, proc.Options{})
	out, errs := newBuffer(), newBuffer()
	spec := sh("echo a; echo b >&2", out)
	spec.Stderr = errs
	if exit, err := o.Run(t.Context(), spec); err != nil || exit.Code != 0 {
		t.Fatal(exit, err)
	}
	if out.String() != "a\n" || errs.String() != "b\n" {
		t.Errorf("got %q and %q", out.String(), errs.String())
	}
}

func TestStartErrors(t *testing.T) {
	o := newOwner(t, proc.Options{})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	tests := []struct {
		name string
		spec proc.Spec
		want error
	}{
		{"in the current directory by an empty PATH entry", proc.Spec{Path: "here", Env: []string{"PATH=:/nowhere"}}, exec.ErrDot},
		{"in the current directory by a dot", proc.Spec{Path: "here", Env: []string{"PATH=."}}, exec.ErrDot},
		{"by a relative path", proc.Spec{Path: "./here"}, exec.ErrDot},
		{"nowhere", proc.Spec{Path: "here", Env: []string{"PATH=/nowhere"}}, exec.ErrNotFound},
		{"no program", proc.Spec{Path: "/nowhere/x"}, os.ErrNotExist},
		{"a folder", proc.Spec{Path: "/tmp"}, os.ErrPermission},
		{"directory is gone", proc.Spec{Path: "sh", Dir: filepath.Join(dir, "gone")}, os.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := o.Start(tt.spec)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v; want %v", p, err, tt.want)
			}
		})
	}
	if live := o.Live(); len(live) != 0 {
		t.Errorf("a failed start lives on: %v", live)
	}
}

func TestKF024_ChildKeepsThePipeOpen(t *testing.T) {
	for _, script := range []string{
		"sleep 300 & echo $!; echo ok",
		"(while :; do echo x; sleep 1; done) & echo $!; echo ok",
		"nohup sleep 300 >/dev/null 2>&1 & echo $!; echo ok",
		"setsid sleep 300 & echo $!; echo ok",
	} {
		t.Run(script, func(t *testing.T) {
			o := newOwner(t, proc.Options{})
			out := newBuffer()
			begin := time.Now()
			p, err := o.Start(sh(script, out))
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %v", took)
			}
			if !strings.Contains(out.String(), "ok\n") {
				t.Errorf("output %q", out.String())
			}
			if left := p.Left(); len(left) == 0 {
				t.Error("the child left behind is not listed")
			}
			if live := o.Live(); len(live) != 1 {
				t.Errorf("living: %v", live)
			}
			pid := strings.Fields(strings.ReplaceAll(out.String(), "x\n", ""))[:1]
			if ended := o.Close(); len(ended) == 0 {
				t.Error("nothing was ended")
			}
			mustBeGone(t, pid)
		})
	}
}

// tree prints the ids of: a shell that ignores the polite signal, a plain child, a child in its own
// session, a daemon made by a double fork, and one without the marker.
const tree = `trap '' TERM; echo $$
sleep 301 & echo $!
setsid sh -c 'echo $$; exec sleep 302' &
(setsid sh -c 'trap "" TERM; (echo; sh -c "echo \$PPID; exec sleep 304" & echo $!; exec sleep 303) & ' >&1 &)
`

func TestStopEndsTheWholeTree(t *testing.T) {
	o := newOwner(t, proc.Options{})
	out := newBuffer()
	p, err := o.Start(sh(tree+"while :; do sleep 1; done", out))
	if err != nil {
		t.Fatal(err)
	}
	pids := out.until(t, 6)
	begin := time.Now()
	exit := p.Stop("  the test says so ")
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
	if exit.Stopped != "the test says so" || exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", exit)
	}
	mustBeGone(t, pids)
	if again := p.Stop("twice"); again != exit {
		t.Errorf("second stop changed the exit: %+v", again)
	}
	if live := o.Live(); len(live) != 0 {
		t.Errorf("living: %v", live)
	}
}

// What a stop is still ending has not been left behind.
func TestNothingIsLeftByWhatIsBeingStopped(t *testing.T) {
	for name, stop := range map[string]func(*proc.Owner, *proc.Process){
		"stop":        func(_ *proc.Owner, p *proc.Process) { p.Stop("the test says so") },
		"owner's end": func(o *proc.Owner, _ *proc.Process) { o.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOwner(t, proc.Options{Grace: 400 * time.Millisecond})
			out := newBuffer()
			p, err := o.Start(sh(`(trap '' TERM; echo ready; while :; do sleep 0.05; done) & wait`, out))
			if err != nil {
				t.Fatal(err)
			}
			out.until(t, 1)
			stopped := make(chan struct{})
			go func() { // ends with the stop
				defer close(stopped)
				stop(o, p)
			}()
			<-p.Done() // the head heeds the polite signal, the other waits for the last one
			if left := p.Left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			<-stopped
		})
	}
}

func TestHostCloseEndsWhatLostItsMarker(t *testing.T) {
	h := proc.NewHost(proc.Options{Grace: 100 * time.Millisecond})
	o := h.Owner("x")
	out := newBuffer()
	p, err := o.Start(sh(`env -i setsid sh -c 'echo $$; sleep 305 & echo $!; wait' & sleep 0.1`, out))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	pids := out.until(t, 2)
	h.Close()
	mustBeGone(t, pids)
	if _, err := o.Start(sh("true", nil)); !errors.Is(err, proc.ErrClosed) {
		t.Errorf("start after close: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	o := newOwner(t, proc.Options{})
	out := newBuffer()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		out.until(t, 2)
		cancel(errors.New("somebody pressed a key"))
	}()
	exit, err := o.Run(ctx, sh("echo kept; sleep 306 & echo $!; wait", out))
	if err != nil || exit.Stopped != "somebody pressed a key" || exit.Signal != "SIGTERM" {
		t.Errorf("got %+v, %v", exit, err)
	}
	f := strings.Fields(out.String())
	if f[0] != "kept" {
		t.Errorf("output %q", out.String())
	}
	mustBeGone(t, f[1:])
	if _, err := o.Run(ctx, sh("true", nil)); err == nil {
		t.Error("ran although its context had ended")
	}
}

func TestReaderThatTakesNothing(t *testing.T) {
	o := newOwner(t, proc.Options{})
	r, w := io.Pipe()
	defer r.Close()
	exit, err := o.Run(t.Context(), sh("echo a", w))
	if err != nil || exit.Code != 0 || exit.Output == nil {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	o := newOwner(t, proc.Options{})
	out := newBuffer()
	if _, err := o.Run(t.Context(), sh("for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'echo $$' &); done; sleep 0.1", out)); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for _, f := range out.until(t, 8) {
		for {
			if _, err := os.Stat("/proc/" + f); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("zombie %s is still there", f)
			}
		}
	}
}

func TestForeignChildrenAreLeftAlone(t *testing.T) {
	o := newOwner(t, proc.Options{})
	foreign := exec.Command("sleep", "307")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Run(t.Context(), sh("true", nil)); err != nil {
		t.Fatal(err)
	}
	o.Close()
	if !alive(foreign.Process.Pid) {
		t.Error("a child of somebody else was ended")
	}
	if err := foreign.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := foreign.Wait(); !errors.As(err, &exit) {
		t.Errorf("its end was taken away: %v", err)
	}
}

func TestReleasedProgramLivesOn(t *testing.T) {
	h := proc.NewHost(proc.Options{Grace: 100 * time.Millisecond})
	o := h.Owner("x")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	piped := sh("sleep 308", newBuffer())
	piped.Keep = true
	if p, err := o.Start(piped); err != nil || p.Release() {
		t.Errorf("a program whose output ends with us was released (%v)", err)
	}
	spec := sh("sleep 309", log)
	spec.Keep = true
	p, err := o.Start(spec)
	if err != nil || !p.Release() {
		t.Fatal("not released", err)
	}
	id := p.Identity()
	h.Close()
	if !id.Alive() {
		t.Fatal("the released program was ended with its owner")
	}
	other := id
	other.Start++
	if other.Alive() {
		t.Error("a process with another start time is taken for it")
	}
	if ended := id.End(100 * time.Millisecond); len(ended) == 0 || id.Alive() {
		t.Errorf("ended %v, alive %v", ended, id.Alive())
	}
}

func BenchmarkTrue(b *testing.B) {
	b.Run("os_exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("proc", func(b *testing.B) {
		h := proc.NewHost(proc.Options{RunDir: b.TempDir()})
		defer h.Close()
		o := h.Owner("bench")
		for b.Loop() {
			c := proc.NewCapture(proc.CaptureConfig{})
			exit, err := o.Run(context.Background(), proc.Spec{Path: "/bin/sh", Args: []string{"-c", "true"}, Stdout: c, Stderr: c})
			if err != nil || exit.Code != 0 {
				b.Fatal(exit, err)
			}
		}
	})
}
