package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// Check is one line of an examination.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warning, failed, info
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"` // what would mend it
}

// Examination is an examination of the installation. Each finding goes to Tell as it is known.
type Examination struct {
	Settings *Settings
	Tell     func(Check)
	// Model finds the model a session would begin with; it blocks for what local servers say. A Found
	// without an error of its own may come with a warning.
	Model func(context.Context) (found Found, warning, err error)
	// Git runs git.
	Git func(ctx context.Context, args ...string) ([]byte, error)
	Run string // folder of what sessions have running
}

// Found is a model and where it was found.
type Found struct {
	Offline bool
	Ref     string
	Source  string
}

// Version tells the version of the program.
func Version(version string) Check {
	return Check{Name: "version", Status: "ok", Detail: fmt.Sprintf("myelin %s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)}
}

// Machine examines what needs no session: files, model, programs, and what killed sessions left.
func (d Examination) Machine(ctx context.Context) {
	d.files()
	d.model(ctx)
	d.programs(ctx)
	d.leftovers()
}

// Subject examines what only a built session knows: trust, rules and sandbox.
func (d Examination) Subject(s *Subject) {
	c := Check{Name: "folder", Status: "ok", Detail: fmt.Sprintf("%s (%s)", d.Settings.Places.Start, s.Trust.State)}
	if len(s.Trust.Withheld) > 0 {
		c.Status, c.Detail = "warning", c.Detail+fmt.Sprintf(", %d things it supplies are not used", len(s.Trust.Withheld))
		c.Fix = "start myelin here and answer the question, or pass --trust"
	}
	d.Tell(c)
	for _, n := range permission.Narrowed(s.Permission.AllRules()) {
		d.Tell(Check{Name: "rule", Status: "warning", Detail: fmt.Sprintf("%s: %s: %s", n.Rule.Where(), n.Rule.Text, n.Asks), Fix: n.Instead})
	}
	box := s.Sandbox()
	d.sandbox(box)
	if !box.Off {
		d.outside(s)
	}
}

// files tells which files were read, which are broken and which would be written.
func (d Examination) files() {
	for _, p := range d.Settings.Files() {
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
		d.Tell(c)
	}
	for _, p := range d.Settings.problems(d.Settings.Live.State()) {
		status := "warning"
		if p.Level == string(config.LevelError) {
			status = "failed"
		}
		if p.Level != string(config.LevelNotice) {
			d.Tell(Check{Name: "settings", Status: status, Detail: p.Place + ": " + p.Text})
		}
	}
	if line := InertLine(d.Settings.Live.State(), d.Settings.Sections, d.Settings.Env, d.Settings.Variables); line != "" {
		d.Tell(Check{Name: "settings", Status: "info", Detail: line})
	}
	d.home()
}

// home tells whether the program can keep anything.
func (d Examination) home() {
	home := d.Settings.Places.Home
	c := Check{Name: "home", Status: "ok", Detail: home}
	if err := writable(home); err != nil {
		c.Status, c.Detail = "failed", err.Error()
		c.Fix = "conversations cannot be kept: set MYELIN_HOME to a folder that can be written"
	}
	d.Tell(c)
	if _, err := d.Settings.Places.State().Read(); err != nil {
		d.Tell(Check{Name: "state file", Status: "failed", Detail: err.Error()})
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
func (d Examination) model(ctx context.Context) {
	vars, _ := d.Settings.Live.State().Env()
	env := d.Settings.Env.With(vars, false)
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		if env.Value(name) != "" {
			d.Tell(Check{Name: "key", Status: "ok", Detail: name + " is set"})
		}
	}
	found, warning, err := d.Model(ctx)
	if warning != nil {
		d.Tell(Check{Name: "model", Status: "warning", Detail: warning.Error()})
	}
	switch {
	case err != nil:
		d.Tell(Check{Name: "model", Status: "failed", Detail: err.Error(), Fix: "docs/models.md says how a model is chosen; myelin models lists them"})
	case found.Offline:
		d.Tell(Check{
			Name: "model", Status: "warning", Detail: "no key and no local server: the built-in offline helper",
			Fix: "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama, LM Studio, llama.cpp or vLLM",
		})
	case found.Ref != "":
		d.Tell(Check{Name: "model", Status: "ok", Detail: found.Ref + ", found by " + found.Source})
	}
}

// programs tells which programs that are used are there.
func (d Examination) programs(ctx context.Context) {
	out, err := d.Git(ctx, "--version")
	if err != nil {
		d.Tell(Check{Name: "git", Status: "warning", Detail: err.Error(), Fix: "install git: status and worktrees need it"})
	} else {
		d.Tell(Check{Name: "git", Status: "ok", Detail: strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")})
	}
	shell := cmp.Or(d.Settings.Env.Value("SHELL"), "sh")
	if path, err := exec.LookPath(shell); err != nil {
		d.Tell(Check{Name: "shell", Status: "warning", Detail: err.Error(), Fix: "set SHELL"})
	} else {
		d.Tell(Check{Name: "shell", Status: "ok", Detail: path})
	}
}

// leftovers names what sessions that were killed have left running.
func (d Examination) leftovers() {
	left, err := proc.Leftovers(d.Run)
	if err != nil {
		d.Tell(Check{Name: "leftovers", Status: "warning", Detail: err.Error()})
	}
	for _, l := range left {
		if len(l.Procs) > 0 {
			d.Tell(Check{Name: "leftovers", Status: "warning", Detail: fmt.Sprintf("%d processes of a session that was killed: %s", len(l.Procs), strings.Join(l.Labels, "; "))})
		}
	}
}

// outside lists the commands that run outside of the sandbox with files that commands inside may
// write, and what of them cannot be looked at before they run.
func (d Examination) outside(s *Subject) {
	for _, command := range s.Outside() {
		if command.Files == 0 && len(command.Unknown) == 0 {
			continue
		}
		c := Check{Name: "runs outside", Status: "info", Detail: fmt.Sprintf("%s: %d files that confined commands may write are looked at before", command.Name, command.Files)}
		if len(command.Unknown) > 0 {
			c.Status, c.Fix = "warning", "\"confine\": true on the hook lets it run in the sandbox"
			c.Detail += "; nobody knows " + strings.Join(command.Unknown, ", nor ")
		}
		d.Tell(c)
	}
	if len(s.Writable) > 0 {
		d.Tell(Check{Name: "PATH", Status: "info", Detail: "commands of the model may write " + strings.Join(s.Writable, ", ") + ": myelin takes no program of its own from there"})
	}
}

// sandbox tells whether shell commands are confined.
func (d Examination) sandbox(box Confinement) {
	if box.Off {
		d.Tell(Check{Name: "sandbox", Status: "info", Detail: "off by the settings"})
		return
	}
	c := Check{Name: "sandbox", Status: "ok", Detail: strings.TrimSpace(box.Status.State() + " " + box.Status.Backend)}
	if !box.On {
		c.Status, c.Fix = "warning", box.Status.Fix
		c.Detail = cmp.Or(box.Status.Reason, c.Detail) + "; commands are asked for instead"
	}
	d.Tell(c)
}
