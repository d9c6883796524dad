//go:build unix

package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/testkit/term"
)

// childEnv makes the test program run a session on its own terminal instead of tests.
const childEnv = "MYELIN_PLAIN_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// echoing is a session that answers "lines N" with numbered lines, "work" with a turn that ends
// only when it is interrupted, "panic" with a fault, and anything else with the text itself.
type echoing struct{ queue chan proto.Event }

func (s *echoing) Do(op proto.Op) error {
	switch b := op.Body.(type) {
	case proto.Prompt:
		s.prompt(b)
	case proto.Interrupt:
		s.tell(proto.Result{Subtype: "error_during_execution", IsError: true, Turns: 1, Ended: proto.Ended{Reason: proto.EndStreaming}})
	}
	return nil
}

func (s *echoing) tell(bodies ...proto.EventBody) {
	for _, b := range bodies {
		s.queue <- proto.E(b)
	}
}

func (s *echoing) prompt(p proto.Prompt) {
	text := msg.TextOf(p.Content)
	name, arg, _ := strings.Cut(text, " ")
	s.tell(proto.TurnStarted{}, proto.Message{Message: msg.Message{ID: p.ID, Role: msg.User, Content: p.Content}})
	switch name {
	case "work":
		return
	case "panic":
		panic("a fault of the program")
	case "paced":
		go s.paced(200, 10*time.Millisecond) // ends with its lines
		return
	case "lines":
		n, err := strconv.Atoi(arg)
		if err != nil {
			n = 1
		}
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf("line %d of the answer\n\n", i+1)
		}
		s.tell(says(parts...)...)
	default:
		s.tell(says("you said " + text + "\n")...)
	}
	s.tell(proto.Result{Subtype: "success", Turns: 1, DurationMS: 1000, Ended: proto.Ended{Reason: proto.EndCompleted}})
}

// paced says numbered lines one after the other, as a model does.
func (s *echoing) paced(n int, every time.Duration) {
	s.tell(proto.AnswerStarted{Response: "r"}, proto.BlockStarted{Kind: "text"})
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 1; i <= n; i++ {
		<-tick.C
		s.tell(proto.Delta{Kind: "text", Text: fmt.Sprintf("line %d of the answer\n\n", i)})
	}
	s.tell(proto.BlockEnded{}, proto.AnswerEnded{Response: "r"},
		proto.Result{Subtype: "success", Turns: 1, DurationMS: 1000, Ended: proto.Ended{Reason: proto.EndCompleted}})
}

func (s *echoing) Events(ctx context.Context) iter.Seq[proto.Event] {
	return func(yield func(proto.Event) bool) {
		for {
			select {
			case e := <-s.queue:
				if !yield(e) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *echoing) View() View                  { return View{Session: "s-1", Mode: "default"} }
func (s *echoing) Close(context.Context) error { return nil }

func child() int {
	t, err := screen.OpenTerminal(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Println(err)
		return 99
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, screen.Signals()...)
	return Run(context.Background(), &echoing{queue: make(chan proto.Event, 100_000)}, Options{
		Terminal: t, Out: os.Stdout, Getenv: os.Getenv, Signals: signals, Version: "test",
	})
}

// console is a child on a pseudo terminal whose screen is a grid.
type console struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File // our end
	fake *term.Fake
	done chan struct{} // closed when nothing more comes
}

func startChild(t *testing.T, w, h int, argv ...string) *console {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if len(argv) == 0 {
		argv = []string{exe}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"=1", "TERM=xterm-256color", "LANG=C.UTF-8", "PS1=$ ", "TMUX=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, cmd: cmd, tty: tty, fake: term.Open(w, h, true), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		if _, err := io.Copy(c.fake, tty); err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended long ago
		_ = cmd.Wait()
		_ = tty.Close()
		<-c.done
	})
	return c
}

func (c *console) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.tty, s); err != nil {
		c.t.Fatal(err)
	}
}

// modes are the terminal's settings as the system keeps them.
func (c *console) modes() unix.Termios {
	c.t.Helper()
	m, err := unix.IoctlGetTermios(int(c.tty.Fd()), unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	return *m
}

func (c *console) wait() int {
	c.t.Helper()
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

func TestKF103_OnARealTerminal(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*console)
		code int
	}{
		"ctrl-d":  {func(c *console) { c.send("\x04") }, 0},
		"SIGTERM": {func(c *console) { c.signal(syscall.SIGTERM) }, 143},
		"SIGHUP":  {func(c *console) { c.signal(syscall.SIGHUP) }, 129},
		"SIGINT 2": {func(c *console) {
			c.signal(syscall.SIGINT)
			c.fake.AwaitText(c.t, "Ctrl-C again leaves")
			c.signal(syscall.SIGINT)
		}, 0},
		"panic": {func(c *console) { c.send("panic\r") }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			found, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			master.Close()
			slave.Close()
			c := startChild(t, 80, 24)
			c.fake.AwaitText(t, "›")
			if raw := c.modes(); raw.Lflag&unix.ECHO != 0 || raw.Lflag&unix.ICANON != 0 {
				t.Error("the terminal is not raw")
			}
			tc.end(c)
			if code := c.wait(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			left := c.modes()
			if left.Lflag != found.Lflag || left.Iflag != found.Iflag || left.Oflag != found.Oflag {
				t.Errorf("modes %x %x %x, found %x %x %x", left.Lflag, left.Iflag, left.Oflag, found.Lflag, found.Iflag, found.Oflag)
			}
			c.fake.Await(t, "bracketed paste off", func(g *term.Grid) bool { return !g.Modes["2004"] && g.Modes["25"] })
		})
	}
}

func (c *console) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

func TestSuspendUnderAShell(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("bash is needed: apt-get install bash")
	}
	c := startChild(t, 80, 24, bash, "--norc", "--noprofile", "-i")
	c.fake.AwaitText(t, "$")
	c.send("'" + exe + "'\r")
	c.fake.AwaitText(t, "›")
	c.send("half a draft")
	c.fake.AwaitText(t, "› half a draft")
	c.send("\x1a")
	c.fake.AwaitText(t, "Stopped")
	c.send("echo shell $((40+2))\r")
	c.fake.AwaitText(t, "shell 42")
	c.send("fg\r")
	c.fake.Await(t, "the draft again", func(g *term.Grid) bool {
		y, _ := g.Cursor()
		return g.Screen()[y] == "› half a draft" && g.Modes["2004"]
	})
	c.send("!\r")
	c.fake.AwaitText(t, "you said half a draft!")
	c.fake.Await(t, "the end of the turn", func(g *term.Grid) bool {
		y, _ := g.Cursor()
		return strings.Contains(strings.Join(g.Screen()[:y], "\n"), "1.0 s")
	})
	c.send("\x04")
	c.fake.AwaitText(t, "resume with")
	c.fake.Await(t, "the shell's prompt", func(g *term.Grid) bool { // before, the leaving program would take the keys
		y, _ := g.Cursor()
		return strings.HasPrefix(g.Screen()[y], "$")
	})
	c.send("exit\r")
	if code := c.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTheExternalEditorGetsTheTerminal(t *testing.T) {
	dir := t.TempDir()
	editor := filepath.Join(dir, "edit.sh")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nread answer\nprintf '%s from outside: %s\\n' \"$(cat \"$1\")\" \"$answer\" >\"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", editor)
	c := startChild(t, 80, 24)
	c.fake.AwaitText(t, "›")
	c.send("draft")
	c.fake.AwaitText(t, "› draft")
	c.send("\x07")
	c.fake.Await(t, "the terminal handed over", func(g *term.Grid) bool { return !g.Modes["2004"] })
	c.send("typed into the editor\n")
	c.fake.AwaitText(t, "› draft from outside: typed into the editor")
}

func TestIdleMakesNoSystemCalls(t *testing.T) {
	c := startChild(t, 80, 24)
	c.fake.AwaitText(t, "›")
	c.send("hello\r")
	c.fake.AwaitText(t, "1.0 s")
	// The runtime looks round a few times after work (its monitor, the
	// scavenger), later on a busy machine; what ticks for ever shows in every
	// one of the seconds.
	var seconds []int
	for range 10 {
		before := c.switches()
		timer := time.NewTimer(time.Second)
		<-timer.C
		n := c.switches() - before
		if n == 0 {
			return
		}
		seconds = append(seconds, n)
	}
	t.Errorf("no second without a wake-up: %d", seconds)
}

// switches counts how often any thread of the child gave up its processor.
func (c *console) switches() int {
	c.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", c.cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	total := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that ended
		}
		for l := range strings.Lines(string(raw)) {
			if v, ok := strings.CutPrefix(l, "voluntary_ctxt_switches:"); ok {
				n, err := strconv.Atoi(strings.TrimSpace(v))
				if err != nil {
					c.t.Fatal(err)
				}
				total += n
			}
		}
	}
	return total
}

// tmux is a real multiplexer with the child in its one pane.
type tmux struct {
	t      *testing.T
	socket string
}

func startTmux(t *testing.T, w, h int, command string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is needed: apt-get install tmux")
	}
	m := &tmux{t, filepath.Join(t.TempDir(), "s")}
	m.run("new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "-e", childEnv+"=1", "-e", "LANG=C.UTF-8", command)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() }) // it ends with its last pane
	return m
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", m.socket, "-f", "/dev/null", "-u"}, args...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v %s", args, err, out)
	}
	return string(out)
}

// lines is everything in the pane, scrollback included, with wrapped lines joined.
func (m *tmux) lines() string {
	return strings.TrimRight(m.run("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

func (m *tmux) await(text string) string {
	m.t.Helper()
	deadline := time.NewTimer(15 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if got := m.lines(); strings.Contains(got, text) {
			return got
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			m.t.Fatalf("%q never came:\n%s", text, m.lines())
		}
	}
}

func TestKF101_InTmuxWithResizes(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := startTmux(t, 100, 30, "for i in $(seq 1 40); do echo shell line $i; done; '"+exe+"'; echo ended with $?; cat")
	m.await("›")
	m.run("send-keys", "-l", "paced")
	m.run("send-keys", "Enter")
	for i, size := range [][2]int{{80, 30}, {100, 30}, {100, 20}, {60, 12}, {31, 9}, {100, 30}} {
		m.await(fmt.Sprintf("line %d of", 1+25*i))
		m.run("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
	}
	m.await("line 200 of the answer")
	m.run("send-keys", "-l", "a draft")
	m.await("› a draft")
	m.run("send-keys", "C-c")
	m.run("send-keys", "C-d")
	all := m.await("ended with 0") + "\n"
	if n := strings.Count(all, "Esc stops"); n > 0 {
		t.Errorf("%d rows of the frame were left behind:\n%s", n, all)
	}
	at := 0
	for i := 1; i <= 40; i++ {
		at = inOrder(t, all, fmt.Sprintf("shell line %d\n", i), at)
	}
	for i := 1; i <= 200; i++ {
		at = inOrder(t, all, fmt.Sprintf("\nline %d of the answer\n", i), at-1)
	}
}

func TestAJourneyInTmuxLooksAsOnTheGrid(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := startTmux(t, 80, 24, "'"+exe+"'; cat")
	c := startChild(t, 80, 24)
	m.await("›")
	c.fake.AwaitText(t, "›")
	for _, step := range []struct{ keys, seen string }{
		{"hello 漢字 e\u0301 👩‍👩‍👧", ""},
		{"\r", "1.0 s"},
		{"lines 30", ""},
		{"\r", "line 30"},
		{"work", ""},
		{"\r", "Esc stops"},
		{"\x1b", "0.0 s"},
		{"last words", "› last words"},
	} {
		c.send(step.keys)
		m.type_(step.keys)
		if step.seen != "" {
			c.fake.AwaitText(t, step.seen)
			m.await(step.seen)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		var grid string
		c.fake.Look(func(g *term.Grid) { grid = strings.Join(g.Lines(), "\n") })
		if pane := m.lines(); trimLines(pane) == trimLines(grid) {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("tmux shows\n%s\nthe grid shows\n%s", pane, grid)
		}
	}
}

func (m *tmux) type_(keys string) {
	if len(keys) == 1 {
		m.run("send-keys", "-H", fmt.Sprintf("%x", keys[0]))
		return
	}
	m.run("send-keys", "-l", keys)
}

func trimLines(s string) string {
	var b bytes.Buffer
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	return b.String()
}
