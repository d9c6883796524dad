package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/confine"
	"github.com/myelin-agent/myelin/internal/app/outside"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/sys/fingerprint"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// programs are what the session runs for itself, for hooks and for commands: in the sandbox, or outside
// after a look at what would be run.
type programs struct {
	settings *settings
	session  store.Slice[session.State]
	scope    *tool.Scope
	host     *proc.Host  // of everything this session starts
	owner    *proc.Owner // of commands and hooks
	box      *confine.Confiner
	guard    *outside.Guard // of what runs outside of the sandbox
	finder   proc.Finder    // of programs that are run for the session itself
	handlers func() []*hook.Handler
}

// close ends everything that was started.
func (ps *programs) close() error {
	ps.host.Close()
	if ps.box != nil {
		ps.box.Close()
	}
	if ps.guard == nil {
		return nil
	}
	return ps.guard.Close()
}

// newGuard binds what looks after commands that run outside of the sandbox to the session.
func newGuard(r *rooms) *outside.Guard {
	p := r.settings.places
	cfg := outside.Config{
		File:  filepath.Join(p.Home, "outside", filepath.Base(shelfOf(p).Dir(p.Start))+".json"),
		ID:    r.part.session.Get().ID,
		Self:  proc.Self(),
		Alive: func(i proc.Info) bool { return proc.Kept{PID: i.PID, Start: i.Start}.Alive() },
		Roots: r.programs.box.Writable, Now: r.clock.now,
		Confines: r.programs.boxOn,
	}
	if r.opts.Answers {
		cfg.Ask = func(ctx context.Context, q outside.Question) (bool, error) {
			answer, err := r.asks.Put(ctx, outsideQuestion(r.clock.newID(), q))
			return err == nil && answer.Behavior == "allow", err
		}
	}
	return outside.New(cfg)
}

// outsideQuestion asks a person whether a command may run outside although its files changed.
func outsideQuestion(id string, q outside.Question) proto.Ask {
	return proto.Ask{
		ID: id, Kind: proto.AskDialog, NeedsPerson: true,
		Title:  "A command that runs outside of the sandbox would run what was changed",
		Text:   q.Name + "\nchanged: " + strings.Join(q.Files, "\n         "),
		Reason: "confined commands may have changed it; look at it before you answer",
		Options: []proto.Option{
			{ID: "run", Label: "Yes, I looked at it: run it", Behavior: "allow"},
			{ID: "keep", Label: "No, do not run it", Behavior: "deny"},
		},
	}
}

// runProgram is the bash.Runner of the session. What runs outside of the sandbox is looked at before
// a confined command could change it.
func (ps *programs) runProgram(spec proc.Spec, how tool.Confinement) (bash.Run, error) {
	if how.Level == tool.Unconfined {
		return ps.box.Run(spec, how)
	}
	ended, err := ps.guard.Confined(ps.outsideCommands())
	if err != nil {
		return bash.Run{}, err
	}
	run, err := ps.box.Run(spec, how)
	if err != nil {
		ended()
		return run, err
	}
	told := run.After
	run.After = func(exit proc.Exit, output string) string {
		defer ended()
		return told(exit, output)
	}
	return run, nil
}

// outsideCommands are the hooks and helpers that run outside of the sandbox.
func (ps *programs) outsideCommands() []outside.Command {
	var out []outside.Command
	env := append(ps.settings.env().Lines(), "CLAUDE_PROJECT_DIR="+ps.session.Get().ProjectRoot)
	for _, x := range ps.handlers() {
		if x.Kind == hook.Command && !x.Confine {
			out = append(out, hookCommand(x, proc.Spec{Dir: ps.scope.Cwd(), Env: env}))
		}
	}
	return append(out, ps.helperCommands(env)...)
}

// hookCommand is a hook as its files are looked for.
func hookCommand(x *hook.Handler, spec proc.Spec) outside.Command {
	c := outside.Command{Name: "hook " + x.Title() + " (" + x.At.Place() + ")", Command: fingerprint.Command{Dir: spec.Dir, Env: spec.Env}}
	if x.Args == nil {
		c.Text = x.Command
		return c
	}
	root := ""
	for _, kv := range spec.Env {
		if v, ok := strings.CutPrefix(kv, "CLAUDE_PROJECT_DIR="); ok {
			root = v
		}
	}
	c.Words = x.Words(root)
	return c
}

// startHook starts the program of a hook: in the sandbox, or outside after a look at what it runs.
func (ps *programs) startHook(ctx context.Context, x *hook.Handler, confined bool, spec proc.Spec) (hook.Started, error) {
	if confined {
		run, err := ps.runProgram(spec, tool.Confinement{Level: tool.Sandboxed})
		if err != nil {
			return hook.Started{}, err
		}
		return hook.Started{Process: run.Process, After: func(exit proc.Exit, output string) string {
			text := strings.NewReplacer("<sandbox_violations>", "", "</sandbox_violations>", "").Replace(run.After(exit, output))
			return strings.TrimSpace(text)
		}}, nil
	}
	ended, err := ps.guard.Check(ctx, hookCommand(x, spec))
	if err != nil {
		return hook.Started{}, &hook.UnsafeError{Err: err}
	}
	spec.Env = ps.ownPycache(spec.Env)
	p, err := ps.owner.Start(spec)
	return hook.Started{Process: p, After: func(proc.Exit, string) string {
		ended()
		return ""
	}}, err
}

// ownPycache keeps Python from taking compiled modules from beside their source, where a confined
// command may leave others: only the source is looked at.
func (ps *programs) ownPycache(env []string) []string {
	const name = "PYTHONPYCACHEPREFIX="
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name) }) || len(ps.box.Writable()) == 0 {
		return env
	}
	return append(slices.Clone(env), name+filepath.Join(ps.settings.places.Home, "cache", "python"))
}

// boxOn says whether commands run in the sandbox. It may cost a trial of the machine.
func (ps *programs) boxOn() bool {
	_, on := ps.box.On()
	return on
}

// scrubbed is an environment without the keys that are to be kept from every program.
func (ps *programs) scrubbed(lines []string) []string {
	if confine.Scrubs(ps.settings.env()) {
		return confine.Scrub(lines)
	}
	return lines
}

// editorEnv is the environment of a program that the user's own keys start (an editor): PATH without
// the folders that commands of the model may write, for it must not come from there.
func (ps *programs) editorEnv() []string {
	return append(ps.scrubbed(ps.settings.env().Lines()), "PATH="+ps.finder.Path(ps.settings.variable("PATH")))
}

// git is the program as it is run for the session itself.
func (ps *programs) git() gitrepo.Git {
	return gitrepo.Git{Finder: ps.finder, Env: ps.scrubbed(ps.settings.env().Lines())}
}

// helperCommands are the helpers of the settings that run outside.
func (ps *programs) helperCommands(env []string) []outside.Command {
	var out []outside.Command
	for _, h := range ps.helpers() {
		if !h.confine {
			out = append(out, outside.Command{Name: h.name + " (" + h.at.Place() + ")", Command: fingerprint.Command{Text: h.command, Dir: ps.settings.opts.Cwd, Env: env}})
		}
	}
	return out
}

// childEnv is the environment of shell commands.
func (ps *programs) childEnv() []string {
	now := ps.session.Get()
	vars, _ := ps.settings.now().Env()
	lines := ps.settings.base.With(vars, true).Lines()
	return append(ps.scrubbed(lines),
		"CLAUDECODE=1", "MYELIN=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID="+now.ID,
		"CLAUDE_PID="+fmt.Sprint(os.Getpid()), "CLAUDE_EFFORT="+now.Effort, "GIT_EDITOR=true",
	)
}
