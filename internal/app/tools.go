package app

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/app/pool"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
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
func (s *Session) buildTools(o Options) error {
	r := s.rooms
	board := task.Board{Slice: s.part.task, Now: s.effects.Now}
	r.shell = bash.New(s.shellWorld(board))
	control := taskctl.World{Board: board, Live: &r.live, MaxOutput: numbered(r.env(), "TASK_MAX_OUTPUT_LENGTH", 0)}
	r.files = tool.Files{Hidden: s.hidden, MayRead: s.mayRead}
	files := r.files
	search := toolsearch.New(toolsearch.World{
		Deferred: func() []tool.Tool { return r.pool.Deferred() },
		Load:     func(names ...string) { r.pool.Load(names...) },
	})
	all := []tool.Tool{
		read.New(read.World{
			Finder: r.finder,
			Env:    r.variable, Pages: filepath.Join(r.dir(), "pages"),
			Documents: func() bool { return s.model().Info().Documents },
			Images:    func() bool { return s.model().Info().Images },
			Room:      func() int { f := s.View().Context; return max(f.Window-f.Used, 1000) },
		}),
		edit.New(files), write.New(files), notebook.New(files, s.effects.NewID),
		glob.New(glob.World{Env: r.variable, Hidden: r.gate.Hidden}), grep.New(grep.World{Hidden: r.gate.Hidden}),
		r.shell.Tool, taskctl.Output(control), taskctl.Stop(control),
		s.webFetch(), websearch.New(websearch.World{Search: s.searchWeb, Now: s.effects.Now}),
	}
	todos := todotool.World{List: func(*tool.Scope) todo.Slice { return s.part.todo }, Created: s.todoHook(hook.TaskCreated), Completed: s.todoHook(hook.TaskCompleted)}
	if v, set, err := r.env().Bool("MYELIN_ENABLE_TASKS"); set && err == nil && !v {
		all = append(all, todotool.Write(todos))
	} else {
		all = append(all, todotool.Tasks(todos)...)
	}
	all = append(all, ask.New(ask.World{}))
	all = append(all, plan.Tools(plan.World{
		Planning: func(*tool.Scope) bool { return s.planning() },
		Enter:    func(*tool.Scope) error { return s.setMode(string(permission.Plan)) },
		Leave:    s.leaveAfterApproval,
		File:     func(*tool.Scope) string { return s.planFile() },
	})...)
	all = append(all, search)
	if len(o.Schema) > 0 {
		output, err := structured.New(o.Schema)
		if err != nil {
			return fmt.Errorf("--json-schema: %w", err)
		}
		r.output = output
		all = append(all, output)
	}
	r.pool = pool.New(pool.Given{
		State: s.part.pool, Builtin: all, Base: base(o), Answers: o.Answers, Denied: s.deniedTools,
		Absent: func(name string) string {
			if name == "WebSearch" && !s.model().Info().WebSearch {
				return "the model's service cannot search the web"
			}
			return ""
		},
	})
	return nil
}

// base is the list of built-in tools that may be used; the tool for the output is always among them.
func base(o Options) *[]string {
	switch {
	case o.Simple:
		return &[]string{"Bash", "Read", "Edit"}
	case o.Tools == nil:
		return nil
	}
	names := []string{"StructuredOutput"}
	for _, name := range *o.Tools {
		names = append(names, tool.Current(name))
	}
	return &names
}

// deniedTools returns a function that names the bare deny rule in force that takes a tool out of the
// model's view.
func (s *Session) deniedTools() func(name string) string {
	rules := s.rooms.gate.Policy().Rules
	return func(name string) string {
		m, ok := rules.Hides(name)
		if !ok {
			return ""
		}
		return m.Rule + " (" + permission.Rule{Source: m.Source, File: m.File, Line: m.Line}.Where() + ")"
	}
}

// hidden says whether a rule forbids to read a file.
func (s *Session) hidden(path string) bool {
	hides := s.rooms.gate.Hidden()
	return hides != nil && hides(path)
}

// mayRead says whether a file could be read without a question.
func (s *Session) mayRead(path string) bool { return s.readDecision(path).Behavior == permission.Allow }

func (s *Session) readDecision(path string) permission.Decision {
	return s.rooms.gate.Decide(permission.Request{
		Tool: "Read", Traits: tool.Traits{ReadOnly: true, Paths: []tool.PathUse{{Path: path, Intent: tool.Read}}}, Cwd: s.scope.Cwd(),
	})
}

// outputQuota bounds the output of all commands of a conversation on disk, in bytes.
const outputQuota = 5 << 30

// shellWorld is what the shell tool is built with.
func (s *Session) shellWorld(board task.Board) bash.World {
	r := s.rooms
	return bash.World{
		Runner: s.runProgram, Finder: r.finder, Dir: filepath.Join(r.dir(), "tool-results"), Temp: r.temp(), Board: board, Live: &r.live,
		NewID: func() string { return task.NewID(task.Shell, random8()) }, Env: s.childEnv, EnvFiles: r.hooks.EnvFiles,
		Limits: func() bash.Limits { return bash.LimitsFrom(r.env().Value) }, Judge: r.gate.Effects,
		Quota: proc.NewQuota(outputQuota), Snapshot: bash.Capture(r.owner, r.finder, bash.LimitsFrom(r.env().Value).Shell, r.dir(), s.childEnv),
		Root:     func() string { return s.part.session.Get().ProjectRoot },
		MayStand: s.mayStand,
	}
}

// childEnv is the environment of shell commands.
func (s *Session) childEnv() []string {
	now := s.part.session.Get()
	vars, _ := s.config().Env()
	lines := s.rooms.settings.env.With(vars, true).Lines()
	return append(s.rooms.scrubbed(lines),
		"CLAUDECODE=1", "MYELIN=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID="+now.ID,
		"CLAUDE_PID="+fmt.Sprint(os.Getpid()), "CLAUDE_EFFORT="+now.Effort, "GIT_EDITOR=true",
	)
}

// mayStand says whether the shell may stay in a folder between calls.
func (s *Session) mayStand(dir string) bool {
	roots := append([]string{s.rooms.settings.places.Start, s.part.session.Get().ProjectRoot}, s.part.permission.Get().WorkDirs()...)
	for _, root := range roots {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func (s *Session) webFetch() tool.Tool {
	return webfetch.New(webfetch.World{
		Ask: func(ctx context.Context, prompt string) (string, error) {
			return s.askSmall(ctx, provider.LaneFetch, prompt, "WebFetch")
		},
		Cache: func(ctx context.Context, key string, load func(context.Context) ([]byte, error)) ([]byte, error) {
			return s.rooms.pages.Get(ctx, twotier.SessionKey(s.part.session.Get().ID, "WebFetch", []byte(key)), load)
		},
		Opens: s.opens, Proxy: transport.Proxy(s.rooms.env().Value), TLS: s.rooms.web.Transport.(*http.Transport).TLSClientConfig,
		UserAgent: "myelin/" + s.opts.Version, Now: s.effects.Now,
	})
}

// opens says how near a fetched host may be. Only a rule for this very host opens more than the public
// network: an address or localhost wherever it is, a name on a private network.
func (s *Session) opens(host netname.Host) netname.Reach {
	d := s.rooms.gate.Decide(permission.Request{Tool: "WebFetch", Traits: tool.Traits{ReadOnly: true, Hosts: []string{host.URLHost()}}, Cwd: s.scope.Cwd()})
	switch {
	case d.Behavior != permission.Allow || d.Reason.Kind != permission.ByRule || !permission.NamesHost(d, host):
		return netname.Public
	case host.Addr.IsValid() || host.IsLocalhost():
		return netname.Machine
	}
	return netname.Network
}

// searchWeb lets the provider search.
func (s *Session) searchWeb(ctx context.Context, q websearch.Query) (websearch.Found, error) {
	model := s.model()
	if !model.Info().WebSearch {
		return websearch.Found{}, websearch.ErrUnsupported
	}
	blocks, err := s.ask(ctx, model, provider.Request{
		Lane: provider.LaneFetch, Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: websearch.Prompt(q)}}}},
		Options: provider.Options{NoCache: true, WebSearch: &provider.WebSearch{MaxUses: q.MaxUses, AllowedDomains: q.AllowedDomains, BlockedDomains: q.BlockedDomains}},
	}, "WebSearch")
	if err != nil {
		return websearch.Found{}, err
	}
	return websearch.FoundIn(blocks), nil
}

// todoHook asks hooks about an item of the model's list.
func (s *Session) todoHook(name hook.Name) func(context.Context, *tool.Scope, todo.Item) (string, bool) {
	return func(ctx context.Context, _ *tool.Scope, item todo.Item) (string, bool) {
		o := s.fire(ctx, hook.Event{Name: name, Fields: map[string]any{"task_id": item.ID, "task_subject": item.Subject, "task_description": item.Description}})
		return o.BlockReason, o.Block
	}
}

// leaveAfterApproval ends plan mode after the plan was approved. The approval may have picked a mode
// already.
func (s *Session) leaveAfterApproval(*tool.Scope) (string, error) {
	s.leavePlan("")
	return s.mode(), nil
}

// booked keeps what a call changed beside its result: lines, time, working directory.
func (r *rooms) booked(call tool.Call, res tool.Result) {
	s := r.session
	cost.BookCall(s.part.cost, 0, cost.Lines{Added: res.Added, Removed: res.Removed})
	if r.models.recorder != nil {
		r.models.recorder.Result(call.ID, call.Name, res.Content, res.IsError, 0)
	}
	if old := call.Scope.Cwd(); res.Cwd != "" && res.Cwd != old {
		call.Scope.SetCwd(res.Cwd)
		session.SetCwd(s.part.session, res.Cwd)
		s.fire(s.ctx, hook.Event{Name: hook.CwdChanged, Fields: map[string]any{"old_cwd": old, "new_cwd": res.Cwd}})
	}
}
