// Package confine turns settings and permission rules into the profile of the shell sandbox: which
// commands run inside, what they may write, read and reach, and what becomes of a connection to a
// host on no list. The mechanism is [sandbox]; whether a command runs at all is decided elsewhere.
//
// It is handed functions and one slice of the state, and reads folders, rules and settings of the
// present session through them each time: nothing of a session is captured. It is not for tools
// that run outside. Begin with [New] and [Confiner.Run].
package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// Scene is what of the present session decides how commands are confined. Every function reads it each
// time and does not wait.
type Scene struct {
	Config func() *config.State
	Env    func() config.Environ
	Places config.Places
	State  store.Slice[permission.State]
	Policy func() permission.Policy // the rules and the mode of this moment

	Temp       func() string // the session's folder for temporary files
	SessionDir func() string // the session's own folder: what is put aside goes there
	ProjectKey func() string // the name of the project below folders that all projects share

	DropIn bool // "auto" is off: hosts of this mode expect to be asked
}

// People are how those who use the session are asked and told.
type People struct {
	Answers  bool                                                            // somebody can answer questions
	Ask      func(context.Context, proto.Ask) (proto.Answer, error)          // may wait for a person
	Classify func(ctx context.Context, host, port string) permission.Verdict // may wait for a model; nil: there is none
	NewID    func() string
	Grant    func(proto.PermissionUpdate) // may write settings
	Notice   func(proto.Notice)
	Early    func(proto.Notice) // the same before anybody listens
}

// Given is what a [Confiner] is handed.
type Given struct {
	Scene
	People
	Context  context.Context // ends with the session; bounds the trial of the machine
	Planning func() bool
	Owner    *proc.Owner
	Hold     func() (release func()) // settings that change meanwhile are loaded after release
}

// ErrRequired is wrapped by the error of [Confiner.Announce] that ends a start.
var ErrRequired = errors.New("the sandbox is required and cannot be had")

// Confiner is the shell sandbox of a session: it starts commands as they are to be confined. It is safe
// for concurrent use. What the settings ask for is the profiler's, what this machine can do and whether
// it is used the standing's, connections the hosts', changes at watched places the watch's.
type Confiner struct {
	*standing
	given    Given
	profiler *profiler
	hosts    *hosts
	watch    *watch
	missed   missed
}

// New makes the sandbox of a session. It starts nothing and touches nothing.
func New(given Given) *Confiner {
	c := &Confiner{given: given}
	scene, people := &c.given.Scene, &c.given.People
	c.hosts = &hosts{Scene: scene, People: people}
	choice := choice{scene}
	c.profiler = &profiler{Scene: scene, choice: choice, network: c.hosts.network}
	c.watch = &watch{People: people, ctx: given.Context, roots: c.profiler.workFolders}
	c.standing = &standing{
		Scene: scene, choice: choice, ctx: given.Context, early: given.Early, planning: given.Planning, profiler: c.profiler, upstream: c.hosts.upstream,
		sys: sandbox.New(sandbox.Options{
			StateDir: filepath.Join(given.Places.Home, "sandbox"), Finder: proc.Finder{Writable: c.Roots},
			Report: func(err error) { given.Early(proto.Notice{Level: "warning", Text: err.Error()}) },
		}),
	}
	return c
}

// Tidy ends what sessions that were killed have left running, and names it.
func (c *Confiner) Tidy() {
	warn := func(text string) {
		c.given.Early(proto.Notice{Level: "warning", Key: "leftovers", Text: text})
	}
	left, err := proc.Leftovers(filepath.Join(c.given.Places.Home, "run"))
	if err != nil {
		warn(err.Error())
	}
	for _, l := range left {
		names := append([]string{}, l.Labels...)
		l.End(0)
		if len(names) > 0 {
			warn("A session that was killed had left running, and it was ended: " + strings.Join(names, "; "))
		}
	}
}

// Forget drops what is known of the machine, so that the next Status tries it out.
func (c *Confiner) Forget() { c.sys.Forget() }

// Accept says that this program itself has just written these files, not a command that runs.
func (c *Confiner) Accept(paths ...string) { c.sys.Accept(paths...) }

// Close finishes what nobody has finished. The processes must have been ended before.
func (c *Confiner) Close() { c.sys.Close() }

// Aside lists what commands put where it must not be, and what is kept of it.
func (c *Confiner) Aside() []sandbox.Aside { return c.sys.Aside() }

// BringBack puts something back that was put aside: a person wants it.
func (c *Confiner) BringBack(a sandbox.Aside) error { return c.sys.BringBack(a) }

// Gaps tells which folders are not looked into for protected names, since there are too many.
func (c *Confiner) Gaps() []string { return c.sys.Gaps() }

// Run is the [bash.Runner] of the session: it starts a command as it was decided that it must be
// confined, and never otherwise.
func (c *Confiner) Run(spec proc.Spec, how tool.Confinement) (bash.Run, error) {
	if how.Level == tool.Unconfined {
		return bash.Unconfined(c.given.Owner)(spec, how)
	}
	st := c.standing.Status()
	c.standing.enter(st.State(), st.Backend, st.Missing)
	kept := c.profiler.secrets(spec.Env)
	cfg, err := c.prepared(how, spec.Env, kept)
	if err != nil {
		return bash.Run{}, err
	}
	cfg.Ignore = c.profiler.ignored(spec)
	cfg.Keep, cfg.Watch = c.watch.keep(spec.Text), opens(spec.Text, spec.Dir, c.given.Places)
	release := c.given.Hold() // what it writes is checked before it is loaded
	inside := bash.Confined(c.sys, c.given.Owner, func() sandbox.Config { return cfg }, func(notes []string) {
		c.given.Notice(proto.Notice{Level: "warning", Text: "The sandbox: " + strings.Join(notes, "; ")})
	})
	run, err := inside(spec, how)
	if err != nil {
		release()
		return bash.Run{}, err
	}
	told := run.After
	run.After = func(exit proc.Exit, output string) string {
		defer release()
		return joined(c.wants(spec, cfg, kept, exit, output), told(exit, output))
	}
	return run, nil
}

// wants says what a command was kept from that it asked for.
func (c *Confiner) wants(spec proc.Spec, cfg sandbox.Config, kept []string, exit proc.Exit, output string) string {
	command := strings.Join(append([]string{spec.Path}, spec.Args...), " ")
	text := keptText(c.missed.names(kept, command, output))
	if text != "" {
		c.given.Notice(proto.Notice{Level: "warning", Key: "sandbox-environment", Text: "Variables were " + text})
		text = "Variables were " + text + "."
	}
	if exit.Code == 0 {
		return text
	}
	return joined(c.offer(cfg, kept, command, output), text)
}

func joined(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n")
}

// Start starts a program in the sandbox that the settings describe, whether or not they ask for it.
// The caller must call Finish when it has ended.
func (c *Confiner) Start(spec proc.Spec) (*sandbox.Command, error) {
	cfg, err := c.prepared(tool.Confinement{Level: tool.Sandboxed}, spec.Env, c.profiler.secrets(spec.Env))
	if err != nil {
		return nil, err
	}
	return c.sys.Start(c.given.Owner, spec, cfg)
}

// prepared is profile for a command with an environment, of which some is kept from it, with the folders
// made that must be there: what does not exist cannot be made writable.
func (c *Confiner) prepared(how tool.Confinement, env, kept []string) (sandbox.Config, error) {
	cfg := c.profiler.profile(how)
	cfg.DropEnv = append(cfg.DropEnv, kept...)
	for _, dir := range []string{cfg.Cache, cfg.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return cfg, fmt.Errorf("make a folder for the sandbox: %w", err)
		}
	}
	return cfg, c.profiler.caches(&cfg, env)
}

// setting is the effective value of a key, or otherwise.
func setting[T any](s *config.State, key string, otherwise T) T {
	if v, _, ok := config.Value[T](s, key); ok {
		return v
	}
	return otherwise
}
