package app

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/confine"
	"github.com/myelin-agent/myelin/internal/app/outside"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/sys/fingerprint"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// newGuard binds what looks after commands that run outside of the sandbox to the session.
func newGuard(s *Session) *outside.Guard {
	p := s.rooms.settings.places
	cfg := outside.Config{
		File:  filepath.Join(p.Home, "outside", filepath.Base(s.rooms.shelf().Dir(p.Start))+".json"),
		ID:    s.part.session.Get().ID,
		Self:  proc.Self(),
		Alive: func(i proc.Info) bool { return proc.Kept{PID: i.PID, Start: i.Start}.Alive() },
		Roots: s.rooms.box.Writable, Now: s.effects.Now,
		Confines: s.rooms.boxOn,
	}
	if s.opts.Answers {
		cfg.Ask = s.askOutside
	}
	return outside.New(cfg)
}

// askOutside asks a person whether a command may run outside although its files changed.
func (s *Session) askOutside(ctx context.Context, q outside.Question) (bool, error) {
	answer, err := s.asks.Put(ctx, proto.Ask{
		ID: s.effects.NewID(), Kind: proto.AskDialog, NeedsPerson: true,
		Title:  "A command that runs outside of the sandbox would run what was changed",
		Text:   q.Name + "\nchanged: " + strings.Join(q.Files, "\n         "),
		Reason: "confined commands may have changed it; look at it before you answer",
		Options: []proto.Option{
			{ID: "run", Label: "Yes, I looked at it: run it", Behavior: "allow"},
			{ID: "keep", Label: "No, do not run it", Behavior: "deny"},
		},
	})
	return err == nil && answer.Behavior == "allow", err
}

// runProgram is the bash.Runner of the session. What runs outside of the sandbox is looked at before
// a confined command could change it.
func (s *Session) runProgram(spec proc.Spec, how tool.Confinement) (bash.Run, error) {
	if how.Level == tool.Unconfined {
		return s.rooms.box.Run(spec, how)
	}
	ended, err := s.rooms.guard.Confined(s.outsideCommands())
	if err != nil {
		return bash.Run{}, err
	}
	run, err := s.rooms.box.Run(spec, how)
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
func (s *Session) outsideCommands() []outside.Command {
	var out []outside.Command
	env := append(s.rooms.env().Lines(), "CLAUDE_PROJECT_DIR="+s.part.session.Get().ProjectRoot)
	for _, x := range s.rooms.hooks.Handlers() {
		if x.Kind == hook.Command && !x.Confine {
			out = append(out, hookCommand(x, proc.Spec{Dir: s.scope.Cwd(), Env: env}))
		}
	}
	return append(out, s.helperCommands(env)...)
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
	for _, w := range append([]string{x.Command}, x.Args...) {
		c.Words = append(c.Words, strings.ReplaceAll(w, "${CLAUDE_PROJECT_DIR}", root))
	}
	return c
}

// startHook starts the program of a hook: in the sandbox, or outside after a look at what it runs.
func (s *Session) startHook(ctx context.Context, x *hook.Handler, confined bool, spec proc.Spec) (hook.Started, error) {
	if confined {
		run, err := s.runProgram(spec, tool.Confinement{Level: tool.Sandboxed})
		if err != nil {
			return hook.Started{}, err
		}
		return hook.Started{Process: run.Process, After: func(exit proc.Exit, output string) string {
			text := strings.NewReplacer("<sandbox_violations>", "", "</sandbox_violations>", "").Replace(run.After(exit, output))
			return strings.TrimSpace(text)
		}}, nil
	}
	ended, err := s.rooms.guard.Check(ctx, hookCommand(x, spec))
	if err != nil {
		return hook.Started{}, &hook.UnsafeError{Err: err}
	}
	spec.Env = s.ownPycache(spec.Env)
	p, err := s.rooms.owner.Start(spec)
	return hook.Started{Process: p, After: func(proc.Exit, string) string {
		ended()
		return ""
	}}, err
}

// ownPycache keeps Python from taking compiled modules from beside their source, where a confined
// command may leave others: only the source is looked at.
func (s *Session) ownPycache(env []string) []string {
	const name = "PYTHONPYCACHEPREFIX="
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name) }) || len(s.rooms.box.Writable()) == 0 {
		return env
	}
	return append(slices.Clone(env), name+filepath.Join(s.rooms.settings.places.Home, "cache", "python"))
}

// boxOn says whether commands run in the sandbox. It may cost a trial of the machine.
func (r *rooms) boxOn() bool {
	_, on := r.box.On()
	return on
}

// scrubbed is an environment without the keys that are to be kept from every program.
func (r *rooms) scrubbed(lines []string) []string {
	if confine.Scrubs(r.env()) {
		return confine.Scrub(lines)
	}
	return lines
}

// ProgramEnv is the environment of a program that the user's own keys start (an editor): PATH without
// the folders that commands of the model may write, for it must not come from there.
func (s *Session) ProgramEnv() []string {
	return append(s.rooms.scrubbed(s.rooms.env().Lines()), "PATH="+s.rooms.finder.Path(s.rooms.env().Value("PATH")))
}

// git is the program as it is run for the session itself.
func (r *rooms) git() gitrepo.Git {
	return gitrepo.Git{Finder: r.finder, Env: r.scrubbed(r.env().Lines())}
}

// helperCommands are the helpers of the settings that run outside.
func (s *Session) helperCommands(env []string) []outside.Command {
	var out []outside.Command
	for _, h := range s.rooms.helpers() {
		if !h.confine {
			out = append(out, outside.Command{Name: h.name + " (" + h.at.Place() + ")", Command: fingerprint.Command{Text: h.command, Dir: s.opts.Cwd, Env: env}})
		}
	}
	return out
}
