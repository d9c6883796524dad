package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// RuleRow is one permission rule, with why it has no effect where it has none.
type RuleRow struct {
	List  string `json:"list"` // allow, ask, deny
	Rule  string `json:"rule"`
	Scope string `json:"scope"`
	Place string `json:"place,omitempty"`
	Note  string `json:"note,omitempty"` // why it has no effect, where it has none
}

// Rules lists the permission rules, and those of the settings files that could not be read.
func (s *Subject) Rules() (rows []RuleRow) {
	all := s.Permission.AllRules()
	env := permission.Env{Dirs: s.Dirs(), Resolve: permission.ResolveLinks, Known: s.ToolNames()}
	notes := map[permission.Rule]string{}
	for _, p := range permission.Compile(all, env).Problems() {
		notes[p.Rule] = p.Err.Error()
		if p.Inert {
			notes[p.Rule] = "never matches: " + p.Err.Error()
		}
	}
	for _, x := range permission.Shadowed(all, env) {
		if notes[x.Rule] == "" {
			notes[x.Rule] = fmt.Sprintf("decides nothing: %s %s (%s) comes first", x.By.List, x.By.Text, x.By.Where())
		}
	}
	for _, r := range all {
		rows = append(rows, RuleRow{List: string(r.List), Rule: r.Text, Scope: string(r.Source), Place: placeOf(r.File, r.Line), Note: notes[r]})
	}
	for _, p := range s.Problems {
		if list, _, ok := strings.Cut(strings.TrimPrefix(p.Key, "permissions."), "["); ok && strings.HasPrefix(p.Key, "permissions.") {
			rows = append(rows, RuleRow{List: list, Rule: p.Key, Scope: string(p.Scope), Place: p.At().Place(), Note: "not in force: " + p.Message})
		}
	}
	return rows
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

// Ask is a call somebody asks about: a tool with its whole input, or with the one argument that its
// [tool.Spec] names. A stand-in takes the place of what else the tool requires.
type Ask struct {
	Tool     string
	Argument string
	Input    json.RawMessage
}

// Why decides a tool call without running anything. Hooks, which may still change the outcome, are
// named and not fired.
func (s *Subject) Why(a Ask) (d Decision, err error) {
	name, traits := tool.Current(a.Tool), tool.Traits{}
	t := s.Tool(name)
	if t == nil && !strings.HasPrefix(name, "mcp__") {
		return d, s.unknownTool(a.Tool)
	}
	input, err := inputOf(t, a, false)
	if err != nil {
		return d, err
	}
	call := tool.Call{ID: "why", Name: name, Literal: input, Input: input, Scope: s.Scope}
	if t != nil {
		prepared, of, err := tool.Prepare(t, call)
		if err != nil && a.Argument != "" { // it wants more than its schema says
			if call.Literal, err = inputOf(t, a, true); err == nil {
				prepared, of, err = tool.Prepare(t, call)
			}
		}
		if err != nil {
			return d, usage("%s: %w", name, err)
		}
		call, traits = prepared, of
	}
	req := s.Request(call, traits)
	policy := s.Policy(req)
	decided := permission.Decide(req, policy)
	d.Behavior = string(decided.Behavior)
	d.Lines = strings.Split(strings.TrimRight(permission.Explain(req, policy, decided), "\n"), "\n")
	if n := s.guards(name); n > 0 {
		d.Lines = append(d.Lines, fmt.Sprintf("%-12s %d PreToolUse hooks are asked before this and were not run here", "hooks", n))
	}
	d.Data, err = json.Marshal(decided)
	return d, err
}

func (s *Subject) unknownTool(name string) error {
	known := s.ToolNames()
	if near := nearest.Name(name, append(tool.OlderNames(), known...), max(1, len(name)/3)); near != "" {
		return usage("unknown tool %q (did you mean %s?)", name, near)
	}
	return usage("unknown tool %q: expected one of %s, or mcp__SERVER__TOOL", name, strings.Join(known, ", "))
}

// inputOf is the input of the call that is asked about. An argument alone is completed by what the tool
// requires, or by every text it takes.
func inputOf(t tool.Tool, a Ask, texts bool) (json.RawMessage, error) {
	switch {
	case a.Input != nil:
		return a.Input, nil
	case a.Argument == "" || t == nil:
		if a.Argument != "" {
			return nil, usage("%s: tools of servers have no single argument: give their input with --input '{…}'", a.Tool)
		}
		return json.RawMessage("{}"), nil
	case t.Spec().Argument == "":
		return nil, usage("%s takes no single argument: give its input with --input '{…}'", a.Tool)
	}
	fields, err := emptyFields(t.Spec().Schema, texts)
	if err != nil {
		return nil, err
	}
	fields[t.Spec().Argument] = a.Argument
	return json.Marshal(fields)
}

// emptyFields are the fields a schema requires, or with texts also all that hold text, each with a
// stand-in of its type.
func emptyFields(schema json.RawMessage, texts bool) (map[string]any, error) {
	var s struct {
		Required   []string
		Properties map[string]struct {
			Type any
			Enum []any
		}
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("read the schema of a tool: %w", err)
	}
	names := s.Required
	for name, p := range s.Properties {
		if texts && p.Type == "string" && len(p.Enum) == 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	out := map[string]any{}
	for _, name := range names {
		p := s.Properties[name]
		switch least := map[any]any{"array": []any{}, "object": map[string]any{}, "boolean": false, "integer": 0, "number": 0}[p.Type]; {
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case least != nil:
			out[name] = least
		default:
			out[name] = "…"
		}
	}
	return out, nil
}

// guards counts the hooks that stand before a tool's calls.
func (s *Subject) guards(name string) (n int) {
	for _, h := range s.Handlers() {
		if h.Event == hook.PreToolUse && (h.Matcher == "" || h.Matcher == "*" || strings.Contains(h.Matcher, name)) {
			n++
		}
	}
	return n
}

// HookRow is one configured hook.
type HookRow struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"`
	Hook    string `json:"hook"`
	Kind    string `json:"kind"`
	Place   string `json:"place"` // file and line
	Guard   bool   `json:"guard"` // a failure of it asks instead of letting a call through
}

// Hooks lists the configured hooks by event, and what is wrong in their configuration.
func (s *Subject) Hooks() (rows []HookRow, problems []string) {
	for _, p := range s.Reload() {
		problems = append(problems, p.String())
	}
	byEvent := map[hook.Name][]HookRow{}
	for _, h := range s.Handlers() {
		spec, _ := hook.SpecOf(h.Event)
		byEvent[h.Event] = append(byEvent[h.Event], HookRow{
			Event: string(h.Event), Matcher: h.Matcher, Hook: h.Title(), Kind: string(h.Kind), Place: h.At.Place(), Guard: spec.Guard,
		})
	}
	for _, event := range slices.Sorted(maps.Keys(byEvent)) {
		rows = append(rows, byEvent[event]...)
	}
	return rows, problems
}
