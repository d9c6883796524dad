package cli

import (
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// Process is what the command line knows of the process it runs in, so that a test needs neither
// a terminal nor an environment. In, Out, Err are needed.
type Process struct {
	In       io.Reader
	Out      io.Writer
	Err      io.Writer
	InTTY    bool
	OutTTY   bool
	Terminal func() (screen.Terminal, error) // the terminal behind In and Out; nil: none
	Getenv   func(string) string             // nil: an empty environment
	Cwd      string                          // absolute
	Columns  int                             // of the window; 0: unknown
	Root     bool                            // runs as the superuser
	// Container says that the process runs in a container.
	Container bool
	// Notify begins to deliver the named signals; stop ends it. Nil: none ever arrives.
	Notify func(signals ...os.Signal) (c <-chan os.Signal, stop func())
}

// OS is the process this program really runs in.
func OS() Process {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/" // a folder that was removed; the session says what it makes of it
	}
	p := Process{
		In:     os.Stdin,
		Out:    os.Stdout,
		Err:    os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		Getenv: os.Getenv,
		Cwd:    cwd,
		Root:   os.Geteuid() == 0,

		Container: sandbox.InContainer(),
		Notify:    notify,
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		p.Columns = w
	}
	if p.InTTY && p.OutTTY {
		p.Terminal = func() (screen.Terminal, error) { return screen.OpenTerminal(os.Stdin, os.Stdout) }
	}
	return p
}

func notify(signals ...os.Signal) (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, signals...)
	return c, func() { signal.Stop(c) }
}

func (p Process) env(key string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(key)
}

// columns is the width that texts for people are wrapped at.
func (p Process) columns() int {
	if p.Columns <= 0 {
		return 100
	}
	return p.Columns
}

// entrypoint is who started the program: cli, or sdk-ts, sdk-py and relatives.
func (p Process) entrypoint() string {
	if e := p.env("CLAUDE_CODE_ENTRYPOINT"); e != "" {
		return e
	}
	return "cli"
}

// sdk reports whether an Agent SDK started the program.
func (p Process) sdk() bool { return strings.HasPrefix(p.entrypoint(), "sdk-") }

func (p Process) notify(signals ...os.Signal) (<-chan os.Signal, func()) {
	if p.Notify == nil {
		return nil, func() {}
	}
	return p.Notify(signals...)
}
