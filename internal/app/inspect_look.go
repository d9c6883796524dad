package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/providers/offline"
)

// codeUsage is the exit code of arguments that cannot be carried out as they are.
const codeUsage = 2

func usage(format string, args ...any) error {
	return &ExitError{codeUsage, fmt.Errorf(format, args...)}
}

// looked is a session that is only looked at: it is built like any other, but nothing is asked of a
// model, fired or recorded, and its worker never starts.
type looked struct{ *Session }

// lookAt builds a session to look at. given stands in for the model; nil finds the one the session
// would have.
func lookAt(ctx context.Context, o Options, given provider.Model) (looked, error) {
	o.NoPersist, o.IgnoreBadRules, o.Resume, o.Continue, o.Record = true, true, "", false, ""
	if given != nil {
		o.Model = given.Info().Ref() // nothing is to be said of a model nobody will talk to
	}
	s, err := built(ctx, o, given)
	return looked{s}, err
}

// close ends it without firing the hooks of an end: nothing has begun.
func (l looked) close(ctx context.Context) error {
	l.rooms.settings.live.Close()
	l.rooms.hooks.set.Load(nil, hook.Switches{})
	l.cancel(errClosed)
	return l.rooms.close(ctx)
}

// ToolRow is one tool and what became of it on its way into the pool.
type ToolRow struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	State       string          `json:"state"` // offered, deferred, filtered, denied, absent
	Step        string          `json:"step"`  // which step of the pool decided
	Reason      string          `json:"reason,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Tools lists the tools an interactive session with these options would have, also those that were
// dropped.
func Tools(ctx context.Context, o Options) (rows []ToolRow, err error) {
	o.Answers = true
	model, err := beginsWith(ctx, o)
	if err != nil { // no model: that must not keep anybody from looking at the tools
		model = offline.New()
	}
	l, err := lookAt(ctx, o, model)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	l.rooms.pool.Names() // assembles it
	for _, p := range l.rooms.part.pool.Get().Pool {
		row := ToolRow{Name: p.Name, State: p.State, Step: p.Step, Reason: p.Why}
		if t := l.rooms.pool.Tool(p.Name); t != nil {
			row.Description, row.Schema = t.Spec().Description, t.Spec().Schema
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// RuleRow is one permission rule, with why it has no effect where it has none.
type RuleRow struct {
	List  string `json:"list"` // allow, ask, deny
	Rule  string `json:"rule"`
	Scope string `json:"scope"`
	Place string `json:"place,omitempty"`
	Note  string `json:"note,omitempty"` // why it has no effect, where it has none
}

// Rules lists the permission rules a session with these options would have, and those of the
// settings files that could not be read.
func Rules(ctx context.Context, o Options) (rows []RuleRow, err error) {
	l, err := lookAt(ctx, o, offline.New())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	all := l.rooms.part.permission.Get().AllRules()
	env := permission.Env{Dirs: l.rooms.rights.dirs(), Resolve: permission.ResolveLinks, Known: l.rooms.pool.Known()}
	notes := map[permission.Rule]string{}
	for _, p := range permission.Compile(all, env).Problems() {
		notes[p.Rule] = p.Err.Error()
		if p.Inert {
			notes[p.Rule] = "never matches: " + p.Err.Error()
		}
	}
	for _, s := range permission.Shadowed(all, env) {
		if notes[s.Rule] == "" {
			notes[s.Rule] = fmt.Sprintf("decides nothing: %s %s (%s) comes first", s.By.List, s.By.Text, s.By.Where())
		}
	}
	for _, r := range all {
		rows = append(rows, RuleRow{List: string(r.List), Rule: r.Text, Scope: string(r.Source), Place: placeOf(r.File, r.Line), Note: notes[r]})
	}
	for _, p := range l.rooms.settings.now().Errors {
		if list, _, ok := strings.Cut(strings.TrimPrefix(p.Key, "permissions."), "["); ok && strings.HasPrefix(p.Key, "permissions.") {
			rows = append(rows, RuleRow{List: list, Rule: p.Key, Scope: string(p.Scope), Place: p.At().Place(), Note: "not in force: " + p.Message})
		}
	}
	return rows, nil
}

func placeOf(file string, line int) string {
	if file == "" || line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Decision is how a call would be decided and why.
type Decision struct {
	Behavior string          `json:"behavior"`
	Lines    []string        `json:"lines"` // the reasons for people, one a line
	Data     json.RawMessage `json:"data"`  // everything
}

// Why decides a tool call as a session with these options would, without running anything. Hooks,
// which may still change the outcome, are named and not fired.
func Why(ctx context.Context, o Options, name string, input json.RawMessage) (d Decision, err error) {
	l, err := lookAt(ctx, o, offline.New())
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	traits := tool.Traits{}
	name = tool.Current(name)
	call := tool.Call{ID: "why", Name: name, Literal: input, Input: input, Scope: l.rooms.scope}
	if t := l.rooms.pool.Tool(name); t != nil {
		if call, traits, err = tool.Prepare(t, call); err != nil {
			return d, usage("%s: %w", name, err)
		}
	} else if !strings.HasPrefix(name, "mcp__") {
		return d, usage("unknown tool %q: expected one of %s, or mcp__SERVER__TOOL", name, strings.Join(l.rooms.pool.Known(), ", "))
	}
	req := gate.Request(call, traits)
	policy := l.rooms.gate.PolicyFor(req)
	decided := permission.Decide(req, policy)
	d.Behavior = string(decided.Behavior)
	d.Lines = strings.Split(strings.TrimRight(permission.Explain(req, policy, decided), "\n"), "\n")
	if n := l.guards(name); n > 0 {
		d.Lines = append(d.Lines, fmt.Sprintf("%-12s %d PreToolUse hooks are asked before this and were not run here", "hooks", n))
	}
	d.Data, err = json.Marshal(decided)
	return d, err
}

// guards counts the hooks that stand before a tool's calls.
func (s *Session) guards(name string) (n int) {
	for _, h := range s.rooms.hooks.set.Handlers() {
		if h.Event == hook.PreToolUse && (h.Matcher == "" || h.Matcher == "*" || strings.Contains(h.Matcher, name)) {
			n++
		}
	}
	return n
}
