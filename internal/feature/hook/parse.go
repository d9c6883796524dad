package hook

import (
	"bytes"
	"encoding/json"
	"errors"
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

	match     matcher
	broken    string   // why its matcher cannot be used; a guard then blocks
	malformed *Problem // why it cannot be run: what it was meant to guard is asked about; nil: it can
	ordinal   int      // place among all handlers, in order of sources
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
	// Lost says that what may have been a guard is none because of this: it weighs as much as a deny
	// rule that cannot be read. Every call it may have been about fails its guard.
	Lost bool
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

// Parse reads the hooks of one source. What is wrong is reported and left out, the rest counts. In the
// place of a guard that cannot be read stands a handler that fails.
func Parse(src Source) ([]*Handler, []Problem) {
	p := &parser{src: src}
	events, order, err := objectInOrder(src.JSON)
	if err != nil {
		guard, _ := SpecOf(PreToolUse)
		text := fmt.Sprintf("hooks: expected an object that maps events to lists of groups: %v", err)
		if empty(src.JSON) {
			p.problem("", "%s", text)
		} else {
			p.malformed(guard, "", "", text)
		}
		return p.handlers, p.problems
	}
	for _, name := range order {
		p.event(name, events[name])
	}
	return p.handlers, p.problems
}

// empty reports whether a value configures nothing, whatever its shape.
func empty(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "[]", "{}", `""`, "false":
		return true
	}
	return false
}

func (p *parser) problem(pointer, format string, args ...any) *Problem {
	p.problems = append(p.problems, Problem{At: p.place(pointer), Text: fmt.Sprintf(format, args...)})
	return &p.problems[len(p.problems)-1]
}

// place is the nearest place that is known.
func (p *parser) place(pointer string) origin.Origin {
	at, ok := p.src.Lines[pointer]
	for !ok && pointer != "" {
		pointer = pointer[:strings.LastIndex(pointer, "/")]
		at, ok = p.src.Lines[pointer]
	}
	if !ok {
		at = p.src.At
	}
	return at
}

// malformed reports something that cannot be run. On a guard event a handler stands in its place that
// fails whenever the matcher, as far as it can be read, accepts the call.
func (p *parser) malformed(spec Spec, at, pattern, text string) {
	if !spec.Guard {
		p.problem(at, "%s; it is left out", text)
		return
	}
	problem := p.problem(at, "%s; as it guards, the calls it is about are asked for until it is mended", text)
	problem.Lost = true
	stands := *problem
	match, err := compile(pattern, spec)
	if err != nil { // then it is about every call
		match = matcher{}
	}
	p.handlers = append(p.handlers, &Handler{
		Event: spec.Name, Kind: Command, Command: "malformed hook", Matcher: pattern, Timeout: spec.Timeout, Source: p.src, At: problem.At,
		match: match, malformed: &stands,
	})
}

func (p *parser) event(name string, raw json.RawMessage) {
	at := "/" + pointer(name)
	spec, ok := SpecOf(Name(name))
	wrong := ""
	if !ok {
		near := meant(name)
		guard, meansGuard := meantGuard(name)
		if !meansGuard || empty(raw) {
			p.problem(at, "hooks.%s is no event%s; it is ignored", name, near)
			return
		}
		spec, wrong = guard, fmt.Sprintf("hooks.%s is no event (did you mean %s?)", name, guard.Name)
	}
	var groups []json.RawMessage
	if err := json.Unmarshal(raw, &groups); err != nil {
		if empty(raw) && wrong == "" {
			p.problem(at, "hooks.%s: expected a list of groups {matcher, hooks}; it is left out", name)
			return
		}
		p.malformed(spec, at, "", orText(wrong, fmt.Sprintf("hooks.%s: expected a list of groups {matcher, hooks}", name)))
		return
	}
	for i, g := range groups {
		p.group(spec, fmt.Sprintf("%s/%d", at, i), g, wrong)
	}
}

// pointer is a name as a step of a JSON pointer.
func pointer(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// meantGuard returns the guard event that a name which is no event was probably meant to be.
func meantGuard(name string) (Spec, bool) {
	plain := strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name)
	for _, s := range Specs() {
		if s.Guard && nearest.Name(plain, []string{string(s.Name)}, 2) != "" {
			return s, true
		}
	}
	return Spec{}, false
}

// group reads one group. wrong is what is wrong with all of its event; empty: nothing is.
func (p *parser) group(spec Spec, at string, raw json.RawMessage, wrong string) {
	var g group
	err := json.Unmarshal(raw, &g)
	pattern, matcherErr := "", error(nil)
	if len(g.Matcher) > 0 && string(g.Matcher) != "null" {
		matcherErr = json.Unmarshal(g.Matcher, &pattern)
	}
	switch twice := doubled(raw); {
	case wrong != "":
		p.malformed(spec, at, pattern, wrong)
		return
	case err != nil || g.Hooks == nil:
		p.malformed(spec, at, pattern, fmt.Sprintf("hooks.%s: expected a group {matcher, hooks: [handlers]}", spec.Name))
		return
	case matcherErr != nil:
		p.malformed(spec, at+"/matcher", "", fmt.Sprintf("hooks.%s: matcher: expected a string", spec.Name))
		return
	case twice != "":
		p.malformed(spec, at, "", fmt.Sprintf("hooks.%s: %q stands twice in one group", spec.Name, twice))
		return
	}
	match, err := compile(pattern, spec)
	broken := ""
	if err != nil {
		broken = fmt.Sprintf("matcher %q cannot be used: %v", pattern, err)
		p.problem(at+"/matcher", "hooks.%s: %s; %s", spec.Name, broken, brokenEffect(spec))
	}
	if why := namesNoTool(pattern, match, spec); why != "" && err == nil && len(g.Hooks) > 0 {
		p.problem(at+"/matcher", "hooks.%s: matcher %s", spec.Name, why)
	}
	for i, rawHandler := range g.Hooks {
		place := fmt.Sprintf("%s/hooks/%d", at, i)
		h, why := p.handler(spec, place, rawHandler)
		if why != nil {
			p.malformed(spec, place+why.pointer, pattern, why.text)
		}
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

// fault is why a handler cannot be run, and where in it.
type fault struct{ pointer, text string }

// handler reads one handler; nil when it cannot be used, with the reason where that is a mistake.
func (p *parser) handler(spec Spec, at string, raw json.RawMessage) (*Handler, *fault) {
	var r rawHandler
	wrong := func(pointer, format string, args ...any) (*Handler, *fault) {
		return nil, &fault{pointer, fmt.Sprintf("hooks.%s: ", spec.Name) + fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return wrong("", "handler: %s", typeError(err))
	}
	twice := doubled(raw)
	switch missing := r.missing(); {
	case twice != "":
		return wrong("", "%q stands twice in one handler", twice)
	case spec.Guard && misspelt(raw) != "":
		return wrong("", "handler: %s", misspelt(raw))
	case !slices.Contains(everyKind, r.Type):
		return wrong("/type", "type %q: expected command, http, mcp_tool, prompt or agent", r.Type)
	case !slices.Contains(spec.Kinds, r.Type):
		return wrong("/type", "it cannot have a handler of type %s", r.Type)
	case missing != "":
		return wrong("", "a %s handler needs %q", r.Type, missing)
	case r.If != "" && !spec.Tool:
		p.problem(at+"/if", "hooks.%s: \"if\" has no meaning for this event: the handler never runs", spec.Name)
		return nil, nil
	case spec.Guard && (r.Async || r.AsyncRewake) && len(r.OnFailure) > 0 && string(r.OnFailure) != `"continue"`:
		return wrong("/onFailure", "a handler that is async decides nothing, so that nothing can be blocked when it fails")
	}
	h := &Handler{
		Event: spec.Name, Kind: r.Type, If: r.If, Status: r.Status, Once: r.Once && p.src.Skill, Source: p.src, At: p.place(at),
		Command: r.Command, Args: r.Args, Shell: r.Shell, Async: r.Async || r.AsyncRewake, AsyncRewake: r.AsyncRewake,
		RewakeText: r.RewakeMessage, URL: r.URL, Headers: r.Headers, EnvVars: r.AllowedEnvVars, Server: r.Server,
		Tool: r.Tool, Input: r.Input, Prompt: r.Prompt, Model: r.Model, ContinueOnBlock: r.ContinueOnBlock || r.Type == Agent,
	}
	h.Confine = p.confine(spec, at, r)
	h.Timeout = p.timeout(spec, at, r)
	h.OnFailure = p.onFailure(spec, at, r)
	if h.Async && spec.Guard {
		h.OnFailure = "continue"
		p.problem(at+"/async", "hooks.%s: a handler that is async decides nothing: it does not guard", spec.Name)
	}
	if r.Args != nil && strings.ContainsAny(r.Command, " \t") {
		p.problem(at+"/command", "hooks.%s: with \"args\" the command is the program alone, but %q holds a blank", spec.Name, r.Command)
	}
	return h, nil
}

// typeError says which member has the wrong type, in the words of people.
func typeError(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	expected := map[string]string{"float64": "a number", "bool": "true or false", "string": "a string", "[]string": "a list of strings"}[wrong.Type.String()]
	is := "a " + wrong.Value
	if strings.HasPrefix(wrong.Value, "array") || strings.HasPrefix(wrong.Value, "object") {
		is = "an " + wrong.Value
	}
	return strings.TrimSpace(fmt.Sprintf("%s is %s, expected %s", wrong.Field, is, orText(expected, "an object")))
}

func (r *rawHandler) missing() string {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	switch {
	case r.Type == Command && blank(r.Command):
		return "command"
	case r.Type == HTTP && blank(r.URL):
		return "url"
	case r.Type == MCPTool && r.Server == "":
		return "server"
	case r.Type == MCPTool && r.Tool == "":
		return "tool"
	case (r.Type == Prompt || r.Type == Agent) && blank(r.Prompt):
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
	return time.Duration(min(*r.Timeout, maxTimeout) * float64(time.Second))
}

// maxTimeout is the longest time a handler may take, in seconds: a year.
const maxTimeout = 365 * 24 * 3600

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
