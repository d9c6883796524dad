// Package sandbox confines what a program and everything it starts can do: which files it may
// write and read, and which hosts it may talk to. It is mechanism: what is allowed is decided
// elsewhere and handed in as a [Config]. It shares no parser and no verdict with whoever decides
// whether a program may run at all.
//
// Begin with [New], ask [Box.Probe] what this machine can do, and start programs with [Box.Start].
// The program that links this package must call [HelperMain] before anything else in main (tests
// in TestMain): it is its own helper inside the sandbox.
//
// On Linux bubblewrap makes the namespaces (bwrap.go), the mounts come from it or, where it leaves that to
// the helper, from the kernel's own calls (package mount), a system call filter of our own
// (package seccomp) and Landlock lie under it, and the network is a proxy run by this process
// (package hostproxy): the helper inside makes the listening sockets in the sandbox's own network and hands
// them out (helper_linux.go). Where bubblewrap cannot run, Landlock and the filter alone give a
// lesser level (landlock_linux.go), which says what it does not give. macOS has Seatbelt
// (seatbelt.go), and a container engine can be asked for (container.go).
//
// What a mount cannot protect, because it does not exist yet or is a symbolic link, is looked after
// by an integrity check when the program has ended (integrity.go). Nothing is made on the host for it;
// what stands in for hidden files lies in the folder of the box (hidden.go).
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/protected"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/hostproxy"
	"github.com/myelin-agent/myelin/internal/sys/watch/tree"
)

// ErrUnavailable is wrapped by every error that says that a program cannot be confined as asked on
// this machine, or right now. The program was not started.
var ErrUnavailable = errors.New("the sandbox cannot confine this")

// Options say how a [Box] works.
type Options struct {
	StateDir string      // folder for the result of the probe; made when missing. Needed
	Helper   string      // absolute path of a program that calls [HelperMain]; empty: the running executable
	Finder   proc.Finder // of bubblewrap and container engines
	Report   func(error) // told what went wrong beside a call; nil: nobody. Any goroutine
}

// Box starts confined programs. It is safe for concurrent use.
type Box struct {
	opts  Options
	files *contentCache

	probing sync.Mutex // held while one probe runs
	tidied  sync.Once  // what killed programs left of their bounds was taken away

	mu      sync.Mutex // guards all below
	live    map[*Command]bool
	status  map[string]Status     // by what was asked
	targets map[string]gitTargets // by the file of a repository's configuration
	aside   []Aside
	far     *farGuards // the newest
	base    farLook    // what they were when last looked at

	tree   *tree.Index // of the writable roots
	beyond *tree.Index // of folders elsewhere
}

// New returns a box. It starts nothing and touches nothing.
func New(opts Options) *Box {
	if opts.Report == nil {
		opts.Report = func(error) {}
	}
	b := &Box{opts: opts, live: map[*Command]bool{}, status: map[string]Status{}, targets: map[string]gitTargets{}, files: newContentCache()}
	b.tree = tree.New(tree.Options{Enter: protected.Entered, Mark: b.marks, Scratch: opts.StateDir, Report: opts.Report})
	b.beyond = tree.New(tree.Options{Enter: elsewhere, Scratch: opts.StateDir, Report: opts.Report})
	return b
}

// helper is the program to run inside.
func (b *Box) helper() (string, error) {
	if b.opts.Helper != "" {
		return b.opts.Helper, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the helper of the sandbox: %w", err)
	}
	return path, nil
}

// Command is a confined program.
type Command struct {
	Process *proc.Process

	box  *Box
	cfg  Config
	plan *plan
	net  *hostproxy.Proxy

	container *container // that it runs in; nil: it runs in none

	limited *group  // what bounds it; nil: nothing does
	probing *Status // of the probe this is part of; nil: a real command

	looking sync.Mutex // guards before and the putting aside
	before  *snapshot

	unfinished map[string]bool // new repositories that were not complete when last looked at; guarded by looking

	early sync.Mutex // guards swept
	swept Report

	once   sync.Once // guards report
	report Report
}

// Report is what became of a confined program beside its exit.
type Report struct {
	Violations []Violation
	Notes      []string // what the sandbox did on its own and people should know
}

// Start starts a program confined as cfg says. It returns when the confinement stands; the program
// itself may just begin. An error wraps [ErrUnavailable] when the machine is the cause. The caller
// must call [Command.Finish] when the program has ended.
func (b *Box) Start(owner *proc.Owner, spec proc.Spec, cfg Config) (*Command, error) {
	level, err := b.level(cfg)
	if err != nil {
		return nil, err
	}
	p, err := b.plan(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	c := &Command{box: b, cfg: cfg, plan: p}
	if level != Partial && !p.free {
		p.hold()
	}
	c.before = b.look(p)
	if err := c.start(owner, spec, level); err != nil {
		p.letGo()
		return nil, err
	}
	b.mu.Lock()
	b.live[c] = true
	b.mu.Unlock()
	if c.before != nil {
		go c.sweep() // ends with the program
	}
	return c, nil
}

func (c *Command) start(owner *proc.Owner, spec proc.Spec, level Level) error {
	spec.Env = c.cfg.environment(spec.Env)
	if hidesFiles(c.plan) {
		spec.Env = byTimes(spec.Env)
	}
	switch level {
	case Container:
		return c.startContainer(owner, spec)
	case Seatbelt:
		return c.startSeatbelt(owner, spec)
	}
	return c.startLinux(owner, spec, level)
}

// Finish must be called once the program has ended. It waits for what must not outlive it, takes
// away what was made for it, looks whether protected files were touched, and says what was refused.
// output is the text the program printed, as far as it is at hand. Later calls return the same.
func (c *Command) Finish(output string) Report {
	c.once.Do(func() {
		if len(c.Process.Left()) > 0 { // it could still write after the check
			c.Process.Stop("the sandbox must outlive what runs in it")
		}
		if c.container != nil && c.Process.Exit().Stopped != "" {
			if err := c.container.end(); err != nil {
				c.plan.note("%v", err)
			}
		}
		if c.net != nil {
			for _, r := range c.net.Close() {
				c.report.Violations = append(c.report.Violations, Violation{Host: r.Host, Operation: "connect", Detail: r.Why, Certain: true})
			}
		}
		c.report.Violations = append(c.report.Violations, c.unbound()...)
		found, watched, notes := c.check(true)
		c.looking.Lock()
		c.plan.letGo()
		c.before = nil // checked for the last time
		c.looking.Unlock()
		kept, told := c.settle(watched)
		c.early.Lock()
		c.report.Violations = slices.Concat(c.report.Violations, c.swept.Violations, found, kept)
		c.report.Notes = slices.Concat(c.plan.notes, c.swept.Notes, notes, told)
		c.early.Unlock()
		c.report.Violations = append(c.report.Violations, c.plan.guess(output)...)
		c.report.Violations = c.cfg.withoutIgnored(c.report.Violations)
		c.box.mu.Lock()
		delete(c.box.live, c)
		c.box.mu.Unlock()
	})
	return c.report
}

// Check runs the integrity check on the commands that still run, so that something can be loaded
// from a protected place now. It returns what it found and put aside.
func (b *Box) Check() []Violation {
	b.mu.Lock()
	live := make([]*Command, 0, len(b.live))
	for c := range b.live {
		live = append(live, c)
	}
	b.mu.Unlock()
	var out []Violation
	for _, c := range live {
		found, _, _ := c.check(false)
		out = append(out, found...)
	}
	return out
}

// Close finishes the commands that nobody has finished. Their processes must have been ended before.
func (b *Box) Close() {
	b.mu.Lock()
	live := make([]*Command, 0, len(b.live))
	for c := range b.live {
		live = append(live, c)
	}
	b.mu.Unlock()
	for _, c := range live {
		c.Finish("")
	}
	b.tree.Close()
	b.beyond.Close()
}

// level decides how cfg is confined here.
func (b *Box) level(cfg Config) (Level, error) {
	st := b.Probe(context.Background(), cfg)
	switch {
	case st.Level == None:
		return None, fmt.Errorf("%w: %s", ErrUnavailable, st.Reason)
	case st.Level == Partial && !cfg.AllowPartial:
		return None, fmt.Errorf("%w: only the lesser level is available here (%s)", ErrUnavailable, st.Reason)
	case st.Level == Partial:
		return Partial, cfg.fitsPartial()
	}
	return st.Level, nil
}
