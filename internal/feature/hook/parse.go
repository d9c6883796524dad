package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nearest"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Source is the hooks of one settings file, plugin or skill, as they stand there.
type Source struct {
	Label   string                   // shown to people: Managed, User, Project, Local, Flag, Plugin, Session, Built-in
	At      origin.Origin            // the place of the "hooks" key
	Lines   map[string]origin.Origin // places inside, by JSON pointer; may be nil
	JSON    json.RawMessage          // the value of the "hooks" key
	Managed bool                     // of the administrator: ordinary switches do not turn it off
	Skill   bool                     // declared by a skill: "once" counts
	Confine bool                     // what the folder supplies: its commands run confined unless "confine" is false
	Plugin  string                   // name of the plugin; empty: none
}

// Handler is one configured handler, ready to run.
type Handler struct {
	Event     Name
	Kind      Kind
	Matcher   string // as written
	If        string // permission rule; empty: none
	Timeout   time.Duration
	Status    string // text for a spinner
	Once      bool
	OnFailure string // "", continue, block
	Source    Source
	At        origin.Origin

	// command
	Command     string
	Args        []string // exec form when not nil
	Shell       string   // bash, powershell; empty: the system's
	Async       bool
	AsyncRewake bool
	RewakeText  string // put before what wakes the model
	Confine     bool   // runs in the sandbox when it is on

	// http
	URL     string
	Headers map[string]string
	EnvVars []string // variables a header may name

	// mcp_tool
	Server string
	Tool   string
	Input  json.RawMessage

	// prompt and agent
	Prompt          string
	Model           string
	ContinueOnBlock bool

	match   matcher
	broken  string // why its matcher cannot be used; a guard then blocks
	ordinal int    // place among all handlers, in order of sources
}

// Title names the handler for people: what it runs.
func (h *Handler) Title() string {
	switch h.Kind {
	case HTTP:
		return h.URL
	case MCPTool:
		return h.Server + "/" + h.Tool
	case Prompt, Agent:
		return string(h.Kind) + ": " + firstLine(h.Prompt)
	}
	return strings.Join(append([]string{h.Command}, h.Args...), " ")
}

// Problem is something wrong in the configuration of hooks. It spoils only what it names.
type Problem struct {
	At   origin.Origin
	Text string
}

// String is the problem with its place.
func (p Problem) String() string {
	if at := p.At.String(); at != "" {
		return at + ": " + p.Text
	}
	return p.Text
}

type group struct {
	Matcher json.RawMessage   `json:"matcher"`
	Hooks   []json.RawMessage `json:"hooks"`
}

type rawHandler struct {
	Type            Kind              `json:"type"`
	If              string            `json:"if"`
	Timeout         *float64          `json:"timeout"`
	Status          string            `json:"statusMessage"`
	Once            bool              `json:"once"`
	OnFailure       json.RawMessage   `json:"onFailure"`
	Command         string            `json:"command"`
	Args            []string          `json:"args"`
	Shell           string            `json:"shell"`
	Async           bool              `json:"async"`
	AsyncRewake     bool              `json:"asyncRewake"`
	RewakeMessage   string            `json:"rewakeMessage"`
	Confine         json.RawMessage   `json:"confine"`
	URL             string            `json:"url"`
	Headers         map[string]string `json:"headers"`
	AllowedEnvVars  []string          `json:"allowedEnvVars"`
	Server          string            `json:"server"`
	Tool            string            `json:"tool"`
	Input           json.RawMessage   `json:"input"`
	Prompt          string            `json:"prompt"`
	Model           string            `json:"model"`
	ContinueOnBlock bool              `json:"continueOnBlock"`
}

// parser collects the handlers of one source.
type parser struct {
	src      Source
	handlers []*Handler
	problems []Problem
}

// Parse reads the hooks of one source. What is wrong is reported and left out, the rest counts.
func Parse(src Source) ([]*Handler, []Problem) {
	p := &parser{src: src}
	events, order, err := objectInOrder(src.JSON)
	if err != nil {
		p.problem("", "hooks: expected an object that maps events to lists of groups: %v", err)
		return nil, p.problems
	}
	for _, name := range order {
		p.event(name, events[name])
	}
	return p.handlers, p.problems
}

func (p *parser) problem(pointer, format string, args ...any) {
	at, ok := p.src.Lines[pointer]
	for !ok && pointer != "" { // the nearest place that is known
		pointer = pointer[:strings.LastIndex(pointer, "/")]
		at, ok = p.src.Lines[pointer]
	}
	if !ok {
		at = p.src.At
	}
	p.problems = append(p.problems, Problem{At: at, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) event(name string, raw json.RawMessage) {
	at := "/" + name
	spec, ok := SpecOf(Name(name))
	if !ok {
		p.problem(at, "hooks.%s is no event%s; it is ignored", name, meant(name))
		return
	}
	var groups []json.RawMessage
	if json.Unmarshal(raw, &groups) != nil {
		p.problem(at, "hooks.%s: expected a list of groups {matcher, hooks}; it is left out", name)
		return
	}
	for i, g := range groups {
		p.group(spec, fmt.Sprintf("%s/%d", at, i), g)
	}
}

func (p *parser) group(spec Spec, at string, raw json.RawMessage) {
	var g group
	if err := json.Unmarshal(raw, &g); err != nil || g.Hooks == nil {
		p.problem(at, "hooks.%s: expected a group {matcher, hooks: [handlers]}; this one is left out", spec.Name)
		return
	}
	pattern := ""
	if len(g.Matcher) > 0 && string(g.Matcher) != "null" && json.Unmarshal(g.Matcher, &pattern) != nil {
		p.problem(at+"/matcher", "hooks.%s: matcher: expected a string; the group is left out", spec.Name)
		return
	}
	match, err := compile(pattern, spec)
	broken := ""
	if err != nil {
		broken = fmt.Sprintf("matcher %q cannot be used: %v", pattern, err)
		p.problem(at+"/matcher", "hooks.%s: %s; %s", spec.Name, broken, brokenEffect(spec))
	}
	for i, rawHandler := range g.Hooks {
		h := p.handler(spec, fmt.Sprintf("%s/hooks/%d", at, i), rawHandler)
		if h != nil {
			h.Matcher, h.match, h.broken = pattern, match, broken
			p.handlers = append(p.handlers, h)
		}
	}
}

func brokenEffect(spec Spec) string {
	if spec.Guard {
		return "as it guards, it blocks every call until it is mended"
	}
	return "it never matches"
}

// handler reads one handler; nil when it cannot be used.
func (p *parser) handler(spec Spec, at string, raw json.RawMessage) *Handler {
	var r rawHandler
	if err := json.Unmarshal(raw, &r); err != nil {
		p.problem(at, "hooks.%s: handler: %v; it is left out", spec.Name, err)
		return nil
	}
	if !slices.Contains(everyKind, r.Type) {
		p.problem(at+"/type", "hooks.%s: type %q: expected command, http, mcp_tool, prompt or agent; the handler is left out", spec.Name, r.Type)
		return nil
	}
	if !slices.Contains(spec.Kinds, r.Type) {
		p.problem(at+"/type", "hooks.%s cannot have a handler of type %s; it is left out", spec.Name, r.Type)
		return nil
	}
	if missing := r.missing(); missing != "" {
		p.problem(at, "hooks.%s: a %s handler needs %q; it is left out", spec.Name, r.Type, missing)
		return nil
	}
	if r.If != "" && !spec.Tool {
		p.problem(at+"/if", "hooks.%s: \"if\" has no meaning for this event: the handler never runs", spec.Name)
		return nil
	}
	where, ok := p.src.Lines[at]
	if !ok {
		where = p.src.At
	}
	h := &Handler{
		Event: spec.Name, Kind: r.Type, If: r.If, Status: r.Status, Once: r.Once && p.src.Skill, Source: p.src, At: where,
		Command: r.Command, Args: r.Args, Shell: r.Shell, Async: r.Async || r.AsyncRewake, AsyncRewake: r.AsyncRewake,
		RewakeText: r.RewakeMessage, URL: r.URL, Headers: r.Headers, EnvVars: r.AllowedEnvVars, Server: r.Server,
		Tool: r.Tool, Input: r.Input, Prompt: r.Prompt, Model: r.Model, ContinueOnBlock: r.ContinueOnBlock || r.Type == Agent,
	}
	h.Confine = p.confine(spec, at, r)
	h.Timeout = p.timeout(spec, at, r)
	h.OnFailure = p.onFailure(spec, at, r)
	if r.Args != nil && strings.ContainsAny(r.Command, " \t") {
		p.problem(at+"/command", "hooks.%s: with \"args\" the command is the program alone, but %q holds a blank", spec.Name, r.Command)
	}
	return h
}

func (r *rawHandler) missing() string {
	switch {
	case r.Type == Command && r.Command == "":
		return "command"
	case r.Type == HTTP && r.URL == "":
		return "url"
	case r.Type == MCPTool && r.Server == "":
		return "server"
	case r.Type == MCPTool && r.Tool == "":
		return "tool"
	case (r.Type == Prompt || r.Type == Agent) && r.Prompt == "":
		return "prompt"
	}
	return ""
}

func (p *parser) timeout(spec Spec, at string, r rawHandler) time.Duration {
	if r.Timeout == nil {
		switch r.Type {
		case Prompt:
			return promptTimeout
		case Agent:
			return agentTimeout
		}
		return spec.Timeout
	}
	if *r.Timeout <= 0 {
		p.problem(at+"/timeout", "hooks.%s: timeout: expected seconds above 0; the default is used", spec.Name)
		return spec.Timeout
	}
	if *r.Timeout >= 1000 {
		p.problem(at+"/timeout", "hooks.%s: timeout %v is in seconds; were milliseconds meant?", spec.Name, *r.Timeout)
	}
	return time.Duration(*r.Timeout * float64(time.Second))
}

// confine reads whether a command runs in the sandbox. A value that cannot be read confines.
func (p *parser) confine(spec Spec, at string, r rawHandler) bool {
	if len(r.Confine) == 0 || string(r.Confine) == "null" {
		return p.src.Confine
	}
	var v bool
	if err := json.Unmarshal(r.Confine, &v); err != nil {
		p.problem(at+"/confine", "hooks.%s: confine: expected true or false; true is taken", spec.Name)
		return true
	}
	return v
}

// onFailure reads what a broken handler means. It has no meaning for async handlers and where a
// block would keep the agent from ever stopping.
func (p *parser) onFailure(spec Spec, at string, r rawHandler) string {
	if len(r.OnFailure) == 0 || r.Type == Prompt || r.Type == Agent || r.Async {
		return ""
	}
	switch spec.Name {
	case Stop, SubagentStop, TaskCompleted, TeammateIdle:
		return ""
	}
	var v string
	if json.Unmarshal(r.OnFailure, &v) == nil && (v == "continue" || v == "block") {
		return v
	}
	p.problem(at+"/onFailure", "hooks.%s: onFailure: expected continue or block; block is taken", spec.Name)
	return "block"
}

// meant names the event somebody may have meant.
func meant(name string) string {
	var names []string
	for _, s := range Specs() {
		names = append(names, string(s.Name))
	}
	if best := nearest.Name(name, names, 2); best != "" {
		return fmt.Sprintf(" (did you mean %s?)", best)
	}
	return ""
}

// objectInOrder reads a JSON object and the order of its keys.
func objectInOrder(raw json.RawMessage) (map[string]json.RawMessage, []string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("it is none")
	}
	out := map[string]json.RawMessage{}
	var order []string
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, nil, err
		}
		key, _ := t.(string)
		if _, twice := out[key]; !twice {
			order = append(order, key)
		}
		out[key] = v
	}
	return out, order, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
