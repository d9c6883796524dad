package app

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/app/pool"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/todo"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/transport"
	"github.com/myelin-agent/myelin/internal/sys/twotier"
	"github.com/myelin-agent/myelin/internal/tools/ask"
	"github.com/myelin-agent/myelin/internal/tools/bash"
	"github.com/myelin-agent/myelin/internal/tools/edit"
	"github.com/myelin-agent/myelin/internal/tools/glob"
	"github.com/myelin-agent/myelin/internal/tools/grep"
	"github.com/myelin-agent/myelin/internal/tools/notebook"
	"github.com/myelin-agent/myelin/internal/tools/plan"
	"github.com/myelin-agent/myelin/internal/tools/read"
	"github.com/myelin-agent/myelin/internal/tools/structured"
	"github.com/myelin-agent/myelin/internal/tools/taskctl"
	todotool "github.com/myelin-agent/myelin/internal/tools/todo"
	"github.com/myelin-agent/myelin/internal/tools/toolsearch"
	"github.com/myelin-agent/myelin/internal/tools/webfetch"
	"github.com/myelin-agent/myelin/internal/tools/websearch"
	"github.com/myelin-agent/myelin/internal/tools/write"
)

// buildTools makes every built-in tool and the pool they come from.
func buildTools(r *rooms) error {
	o := r.opts
	board := r.tasks.Board()
	r.tasks.Shell = bash.New(shellWorld(r, board))
	control := taskctl.World{Board: board, Live: &r.tasks.Live, MaxOutput: func() int { return numbered(r.settings.env(), "TASK_MAX_OUTPUT_LENGTH", 0) }}
	files := filesOf(r)
	search := toolsearch.New(toolsearch.World{
		Deferred: func() []tool.Tool { return r.pool.Deferred() },
		Load:     func(names ...string) { r.pool.Load(names...) },
	})
	all := []tool.Tool{
		read.New(read.World{
			Finder: r.programs.finder,
			Env:    r.settings.variable, Pages: func() string { return filepath.Join(r.folders.dir(), "pages") },
			Documents: func() bool { return r.models.now().Info().Documents },
			Images:    func() bool { return r.models.now().Info().Images },
			Room:      func() int { f := fillOf(r.part.shaping.Get()); return max(f.Window-f.Used, 1000) },
		}),
		edit.New(files), write.New(files), notebook.New(files, r.clock.newID),
		glob.New(glob.World{Env: r.settings.variable, Hidden: r.gate.Hidden}), grep.New(grep.World{Hidden: r.gate.Hidden}),
		r.tasks.Shell.Tool, taskctl.Output(control), taskctl.Stop(control),
		webFetch(r), webSearch(r),
	}
	all = append(all, todoTools(r)...)
	all = append(all, ask.New(ask.World{}))
	all = append(all, plan.Tools(plan.World{
		Planning: func(*tool.Scope) bool { return r.rights.planning() },
		Enter:    func(*tool.Scope) error { return r.rights.setMode(string(permission.Plan)) },
		Leave: func(*tool.Scope) (string, error) { // the approval may have picked a mode already
			r.rights.leavePlan("")
			return r.rights.mode(), nil
		},
		File: func(*tool.Scope) string { return r.rights.planFile() },
	})...)
	all = append(all, search)
	if len(o.Schema) > 0 {
		output, err := structured.New(o.Schema)
		if err != nil {
			return fmt.Errorf("--json-schema: %w", err)
		}
		r.turns.output = output
		all = append(all, output)
	}
	r.pool = pool.New(pool.Given{
		State: r.part.pool, Builtin: all, Base: base(o, r.settings.env()), Answers: o.Answers, Denied: func() func(string) string { return deniedTools(r.gate) },
		Defers: func() bool { return r.models.now().Info().Defers },
		Absent: func(name string) string {
			if name == websearch.Name && !r.models.now().Info().WebSearch {
				return "the model's service cannot search the web"
			}
			return ""
		},
	})
	return nil
}

// todoTools are the tools of the model's list: one that writes it whole, where the newer ones are off.
func todoTools(r *rooms) []tool.Tool {
	todos := todotool.World{List: func(*tool.Scope) todo.Slice { return r.part.todo }, Created: todoHook(r, hook.TaskCreated), Completed: todoHook(r, hook.TaskCompleted)}
	if v, set, err := r.settings.env().Bool("MYELIN_ENABLE_TASKS"); set && err == nil && !v {
		return []tool.Tool{todotool.Write(todos)}
	}
	return todotool.Tasks(todos)
}

// filesOf is the door through which files are changed.
func filesOf(r *rooms) tool.Files {
	return tool.Files{
		Review:  r.rights.notes.Review,
		Hidden:  func(path string) bool { return hides(r.gate, path) },
		MayRead: func(path string) bool { return readDecision(r.gate, r.scope, path).Behavior == permission.Allow },
	}
}

func webSearch(r *rooms) tool.Tool {
	return websearch.New(websearch.World{
		Search: r.models.searchWeb, Now: r.clock.now, MaxCalls: numbered(r.settings.env(), "MYELIN_MAX_WEB_SEARCHES_PER_SESSION", 0),
	})
}

// base is the list of built-in tools that may be used; nil: all.
func base(o Options, env config.Environ) *[]string {
	switch {
	case o.Simple || flagged(env, "MYELIN_SIMPLE"):
		return &[]string{bash.Name, read.Name, edit.Name}
	case o.Tools == nil:
		return nil
	}
	names := []string{}
	for _, name := range *o.Tools {
		names = append(names, tool.Current(name))
	}
	return &names
}

// deniedTools returns a function that names the bare deny rule in force that takes a tool out of the
// model's view.
func deniedTools(g *gate.Gate) func(name string) string {
	rules := g.Policy().Rules
	return func(name string) string {
		m, ok := rules.Hides(name)
		if !ok {
			return ""
		}
		return m.Rule + " (" + permission.Rule{Source: m.Source, File: m.File, Line: m.Line}.Where() + ")"
	}
}

// hides says whether a rule forbids to read a file.
func hides(g *gate.Gate, path string) bool {
	hidden := g.Hidden()
	return hidden != nil && hidden(path)
}

func readDecision(g *gate.Gate, scope *tool.Scope, path string) permission.Decision {
	return g.Decide(permission.Request{
		Tool: read.Name, Traits: tool.Traits{ReadOnly: true, Paths: []tool.PathUse{{Path: path, Intent: tool.Read}}}, Cwd: scope.Cwd(),
	})
}

// outputQuota bounds the output of all commands of a conversation on disk, in bytes.
const outputQuota = 5 << 30

// shellWorld is what the shell tool is built with.
func shellWorld(r *rooms, board task.Board) bash.World {
	return bash.World{
		Runner: r.programs.runProgram, Finder: r.programs.finder, Dir: func() string { return filepath.Join(r.folders.dir(), "tool-results") }, Temp: r.folders.temp, Board: board, Live: &r.tasks.Live,
		NewID: func() string { return task.NewID(task.Shell, random8()) }, Env: r.programs.childEnv, EnvFiles: r.hooks.set.EnvFiles,
		Limits: func() bash.Limits { return bash.LimitsFrom(r.settings.variable) }, Judge: r.gate.Effects,
		Quota: proc.NewQuota(outputQuota), Snapshot: bash.Capture(r.programs.owner, r.programs.finder, func() string { return bash.LimitsFrom(r.settings.variable).Shell }, r.folders.dir, r.programs.childEnv),
		Root:     func() string { return r.part.session.Get().ProjectRoot },
		MayStand: r.rights.mayStand,
	}
}

func webFetch(r *rooms) tool.Tool {
	return webfetch.New(webfetch.World{
		Ask: func(ctx context.Context, prompt string) (string, error) {
			return r.models.askSmall(ctx, provider.LaneFetch, prompt, webfetch.Name)
		},
		Cache: func(ctx context.Context, key string, load func(context.Context) ([]byte, error)) ([]byte, error) {
			return r.folders.pages.Get(ctx, twotier.SessionKey(r.part.session.Get().ID, webfetch.Name, []byte(key)), load)
		},
		Opens: func(host netname.Host) netname.Reach { return opens(r.gate, r.scope, host) }, Proxy: transport.Proxy(r.settings.env().Value), TLS: r.limits.web.Transport.(*http.Transport).TLSClientConfig,
		UserAgent: "myelin/" + r.opts.Version, Now: r.clock.now,
	})
}

// opens says how near a fetched host may be. Only a rule for this very host opens more than the public
// network: an address or localhost wherever it is, a name on a private network.
func opens(g *gate.Gate, scope *tool.Scope, host netname.Host) netname.Reach {
	d := g.Decide(permission.Request{Tool: webfetch.Name, Traits: tool.Traits{ReadOnly: true, Hosts: []string{host.URLHost()}}, Cwd: scope.Cwd()})
	switch {
	case d.Behavior != permission.Allow || d.Reason.Kind != permission.ByRule || !permission.NamesHost(d, host):
		return netname.Public
	case host.Addr.IsValid() || host.IsLocalhost():
		return netname.Machine
	}
	return netname.Network
}

// todoHook asks hooks about an item of the model's list.
func todoHook(r *rooms, name hook.Name) func(context.Context, *tool.Scope, todo.Item) (string, bool) {
	return func(ctx context.Context, _ *tool.Scope, item todo.Item) (string, bool) {
		o := r.hooks.Fire(ctx, hook.Event{Name: name, Fields: map[string]any{"task_id": item.ID, "task_subject": item.Subject, "task_description": item.Description}})
		return o.BlockReason, o.Block
	}
}
