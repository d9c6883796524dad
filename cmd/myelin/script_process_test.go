package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// process is a command that runs beside its script.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser // nil: no input
	done chan struct{}  // closed when it was waited for

	mu   sync.Mutex
	out  bytes.Buffer // what it wrote, both streams in a terminal
	mark int          // of what was waited for, in the text without control sequences
}

// Write implements io.Writer for the process's output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// text is what it has shown, without control sequences.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ansi.Strip(p.out.String())
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := args[0]
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), ":") {
		if info, err := os.Stat(dir + "/" + args[0]); err == nil && !info.IsDir() && !strings.Contains(args[0], "/") {
			path = dir + "/" + args[0]
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	return cmd
}

// environment is that of the script, as far as the program may look at it.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "MYELIN_HOME", "TMPDIR", "GOCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "GIT_CONFIG_NOSYSTEM", "SHELL", "LANG",
		"WORK", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY",
		"MYELIN_MAX_RETRIES", "MYELIN_RETRY_WATCHDOG", "MYELIN_TRUST", "NO_COLOR", "GOCOVERDIR", "TERM", "IS_SANDBOX", "EDITOR",
	} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// run starts a command and sees to it that it ends with the script.
func run(ts *testscript.TestScript, name string, p *process, start func() error, finish func()) {
	p.done = make(chan struct{})
	ts.Check(start())
	go func() { // ends with the process, at the latest with the script
		defer close(p.done)
		_ = p.cmd.Wait() // "ended" looks at the state
		finish()
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if p.in != nil {
			_ = p.in.Close()
		}
	})
	of(ts).byName[name] = p
}

func beside(ts *testscript.TestScript, args []string, input bool) {
	name := args[0]
	p := &process{cmd: command(ts, args[1:])}
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	errs, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(out, p), io.MultiWriter(errs, p)
	if input {
		p.in, err = p.cmd.StdinPipe()
		ts.Check(err)
	}
	run(ts, name, p, p.cmd.Start, func() { _, _ = out.Close(), errs.Close() })
}

func cmdStart(ts *testscript.TestScript, _ bool, args []string) { beside(ts, args, false) }

func cmdPipe(ts *testscript.TestScript, _ bool, args []string) { beside(ts, args, true) }

func cmdTTY(ts *testscript.TestScript, _ bool, args []string) {
	p := &process{cmd: command(ts, args[1:])}
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm-256color")
	var reading sync.WaitGroup
	run(ts, args[0], p, func() error {
		f, err := pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 40, Cols: 130})
		if err != nil {
			return err
		}
		p.in = f
		reading.Go(func() { _, _ = io.Copy(p, f) }) // a terminal that goes away is an error, and the end
		return nil
	}, reading.Wait)
}

func cmdSay(ts *testscript.TestScript, _ bool, args []string) {
	_, err := io.WriteString(of(ts).process(ts, args[0]).in, args[1]+"\n")
	ts.Check(err)
}

func cmdSend(ts *testscript.TestScript, _ bool, args []string) {
	keys := strings.NewReplacer("^C", "\x03", "^D", "\x04", "^G", "\x07", `\r`, "\r", `\e`, "\x1b", `\t`, "\t").Replace(args[1])
	_, err := io.WriteString(of(ts).process(ts, args[0]).in, keys)
	ts.Check(err)
}

// readingTime is longer than the program takes keys for typed before its question was seen.
const readingTime = 400 * time.Millisecond

// restTime is how long the keyboard must rest before the program takes keys for an answer.
const restTime = time.Second

func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	p := of(ts).process(ts, args[0])
	shown, since := "", time.Now()
	wait(ts, args[0]+" to hold still", func() bool {
		if now := p.text(); now != shown {
			shown, since = now, time.Now()
		}
		return time.Since(since) > restTime+readingTime
	})
	cmdSend(ts, neg, args)
}

// cmdLeave types Ctrl-D as a person does who wants to go: again while the program lives, for it asks
// back when it works.
func cmdLeave(ts *testscript.TestScript, _ bool, args []string) {
	p := of(ts).process(ts, args[0])
	var next time.Time
	wait(ts, "the end of "+args[0], func() bool {
		select {
		case <-p.done:
			return true
		default:
		}
		if time.Now().After(next) {
			_, _ = io.WriteString(p.in, "\x04") // it may have ended meanwhile
			next = time.Now().Add(readingTime)
		}
		return false
	})
}

func cmdExpect(ts *testscript.TestScript, _ bool, args []string) {
	p := of(ts).process(ts, args[0])
	over := false
	ts.Defer(func() {
		if !over {
			ts.Logf("%s had shown:\n%s", args[0], p.text())
		}
	})
	wait(ts, args[1]+" of "+args[0], func() bool {
		shown := p.text()
		from := min(p.mark, len(shown))
		if at := strings.Index(shown[from:], args[1]); at >= 0 {
			p.mark = from + at + len(args[1])
			over = true
		}
		return over
	})
}

func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	s, ok := signals[args[1]]
	if !ok {
		ts.Fatalf("no signal %s", args[1])
	}
	ts.Check(of(ts).process(ts, args[0]).cmd.Process.Signal(s))
}

func cmdEnded(ts *testscript.TestScript, _ bool, args []string) {
	p := of(ts).process(ts, args[0])
	wait(ts, "the end of "+args[0]+", which has shown:\n"+p.text()+"\n", func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	got := strconv.Itoa(p.cmd.ProcessState.ExitCode())
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		got = status.Signal().String()
	}
	if got != args[1] {
		ts.Fatalf("%s ended with %s, want %s; it had shown:\n%s", args[0], got, args[1], p.text())
	}
}
