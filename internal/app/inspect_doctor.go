package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/providers/discover"
	"github.com/myelin-agent/myelin/internal/providers/offline"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// Check is one line of an examination.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warning, failed, info
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"` // what would mend it
}

// Doctor examines the installation and tells each finding as it is known. An error means that the
// examination itself could not be made.
func Doctor(ctx context.Context, o Options, tell func(Check)) (err error) {
	tell(Check{Name: "version", Status: "ok", Detail: fmt.Sprintf("myelin %s, %s, %s/%s", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)})
	x, err := OpenSettings(ctx, o)
	if err != nil {
		tell(Check{Name: "settings", Status: "failed", Detail: err.Error()})
		return nil
	}
	defer x.Close()
	d := doctor{o, x, tell}
	d.files()
	d.model(ctx)
	d.programs(ctx)
	d.leftovers()
	l, err := lookAt(ctx, o, offline.New())
	if err != nil {
		tell(Check{Name: "session", Status: "failed", Detail: err.Error()})
		return nil
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	d.session(l)
	return nil
}

type doctor struct {
	o    Options
	x    *Settings
	tell func(Check)
}

// files tells which files were read, which are broken and which would be written.
func (d doctor) files() {
	for _, p := range d.x.Places() {
		c := Check{Name: p.Scope + " settings", Status: "info", Detail: p.Path + ", " + p.State}
		if p.Writes {
			c.Detail += ", written to"
		}
		switch p.State {
		case "read":
			c.Status = "ok"
		case "unreadable":
			c.Status, c.Fix = "failed", "myelin config validate shows what is wrong"
		}
		d.tell(c)
	}
	for _, p := range allProblems(d.x.s.live.State()) {
		status := "warning"
		if p.Level == string(config.LevelError) {
			status = "failed"
		}
		if p.Level != string(config.LevelNotice) {
			d.tell(Check{Name: "settings", Status: status, Detail: p.Place + ": " + p.Text})
		}
	}
	d.home()
}

// home tells whether the program can keep anything.
func (d doctor) home() {
	home := d.x.s.places.Home
	c := Check{Name: "home", Status: "ok", Detail: home}
	if err := writable(home); err != nil {
		c.Status, c.Detail = "failed", err.Error()
		c.Fix = "conversations cannot be kept: set MYELIN_HOME to a folder that can be written"
	}
	d.tell(c)
	if _, err := d.x.s.places.State().Read(); err != nil {
		d.tell(Check{Name: "state file", Status: "failed", Detail: err.Error()})
	}
}

// writable tries to make a file in the nearest folder that exists.
func writable(dir string) error {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	f, err := os.CreateTemp(dir, ".myelin-doctor-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// model tells which model a session would begin with, and which keys there are, never their values.
func (d doctor) model(ctx context.Context) {
	vars, _ := d.x.s.live.State().Env()
	env := d.x.s.base.With(vars, false)
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		if env.Value(name) != "" {
			d.tell(Check{Name: "key", Status: "ok", Detail: name + " is set"})
		}
	}
	m, err := newModels(d.o, env, d.x.s.live.State(), nil)
	if err != nil {
		d.tell(Check{Name: "model", Status: "warning", Detail: err.Error()})
	}
	if m == nil {
		return
	}
	choice, err := m.find.Resolve(ctx)
	switch {
	case err != nil:
		d.tell(Check{Name: "model", Status: "failed", Detail: err.Error(), Fix: "docs/models.md says how a model is chosen; myelin models lists them"})
	case choice.API == discover.Offline:
		d.tell(Check{
			Name: "model", Status: "warning", Detail: "no key and no local server: the built-in offline helper",
			Fix: "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama, LM Studio, llama.cpp or vLLM",
		})
	default:
		d.tell(Check{Name: "model", Status: "ok", Detail: choice.Info.Ref() + ", found by " + choice.Source})
	}
}

// programs tells which programs that are used are there.
func (d doctor) programs(ctx context.Context) {
	out, err := d.x.s.git().Run(ctx, os.TempDir(), "--version")
	if err != nil {
		d.tell(Check{Name: "git", Status: "warning", Detail: err.Error(), Fix: "install git: status and worktrees need it"})
	} else {
		d.tell(Check{Name: "git", Status: "ok", Detail: strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")})
	}
	shell := orText(d.x.s.base.Value("SHELL"), "sh")
	if path, err := exec.LookPath(shell); err != nil {
		d.tell(Check{Name: "shell", Status: "warning", Detail: err.Error(), Fix: "set SHELL"})
	} else {
		d.tell(Check{Name: "shell", Status: "ok", Detail: path})
	}
}

// leftovers names what sessions that were killed have left running.
func (d doctor) leftovers() {
	left, err := proc.Leftovers(filepath.Join(d.x.s.places.Home, "run"))
	if err != nil {
		d.tell(Check{Name: "leftovers", Status: "warning", Detail: err.Error()})
	}
	for _, l := range left {
		if len(l.Procs) > 0 {
			d.tell(Check{Name: "leftovers", Status: "warning", Detail: fmt.Sprintf("%d processes of a session that was killed: %s", len(l.Procs), strings.Join(l.Labels, "; "))})
		}
	}
}

// session tells what only a built session knows: trust and sandbox.
func (d doctor) session(l looked) {
	t := l.rooms.part.trust.Get()
	c := Check{Name: "folder", Status: "ok", Detail: fmt.Sprintf("%s (%s)", d.x.s.places.Start, t.State)}
	if len(t.Withheld) > 0 {
		c.Status, c.Detail = "warning", c.Detail+fmt.Sprintf(", %d things it supplies are not used", len(t.Withheld))
		c.Fix = "start myelin here and answer the question, or pass --trust"
	}
	d.tell(c)
	d.rules(l)
	d.sandbox(l)
	d.outside(l)
}

// outside lists the commands that run outside of the sandbox with files that commands inside may
// write, and what of them cannot be looked at before they run.
func (d doctor) outside(l looked) {
	if l.rooms.programs.box.Wanted() == "off" {
		return
	}
	for _, command := range l.rooms.programs.outsideCommands() {
		in := l.rooms.programs.guard.Inputs(command)
		if len(in.Files) == 0 && len(in.Unknown) == 0 {
			continue
		}
		c := Check{Name: "runs outside", Status: "info", Detail: fmt.Sprintf("%s: %d files that confined commands may write are looked at before", command.Name, len(in.Files))}
		if len(in.Unknown) > 0 {
			c.Status, c.Fix = "warning", "\"confine\": true on the hook lets it run in the sandbox"
			c.Detail += "; nobody knows " + strings.Join(in.Unknown, ", nor ")
		}
		d.tell(c)
	}
	finder, path := l.rooms.programs.finder, l.rooms.settings.env().Value("PATH")
	if kept := filepath.SplitList(finder.Path(path)); len(kept) < len(filepath.SplitList(path)) {
		var writable []string
		for _, dir := range filepath.SplitList(path) {
			if !slices.Contains(kept, dir) {
				writable = append(writable, orText(dir, "(an empty entry)"))
			}
		}
		d.tell(Check{Name: "PATH", Status: "info", Detail: "commands of the model may write " + strings.Join(writable, ", ") + ": myelin takes no program of its own from there"})
	}
}

// rules names the allow rules that cover less than they read as.
func (d doctor) rules(l looked) {
	for _, n := range permission.Narrowed(l.rooms.part.permission.Get().AllRules()) {
		d.tell(Check{Name: "rule", Status: "warning", Detail: fmt.Sprintf("%s: %s: %s", n.Rule.Where(), n.Rule.Text, n.Asks), Fix: n.Instead})
	}
}

// sandbox tells whether shell commands are confined.
func (d doctor) sandbox(l looked) {
	if l.rooms.programs.box.Wanted() == "off" {
		d.tell(Check{Name: "sandbox", Status: "info", Detail: "off by the settings"})
		return
	}
	st := l.rooms.programs.box.Status()
	c := Check{Name: "sandbox", Status: "ok", Detail: strings.TrimSpace(st.State() + " " + st.Backend)}
	if _, on := l.rooms.programs.box.On(); !on {
		c.Status, c.Fix = "warning", st.Fix
		c.Detail = orText(st.Reason, c.Detail) + "; commands are asked for instead"
	}
	d.tell(c)
}
