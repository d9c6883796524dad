package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// State is the slice "hook". It is data only.
type State struct {
	Registered []Registered `json:"registered"`
	Disabled   string       `json:"disabled,omitempty"` // why hooks are off; empty: they are on
	Recent     []Recent     `json:"recent,omitempty"`   // newest last, at most 50
}

// Registered is one handler as it is configured.
type Registered struct {
	Event   Name   `json:"event"`
	Matcher string `json:"matcher"`
	Type    Kind   `json:"type"`
	Source  string `json:"source"`
	File    string `json:"file"` // with line
	Title   string `json:"title"`
}

// Recent is one handler that ran.
type Recent struct {
	Hook    string `json:"hook"`
	Outcome string `json:"outcome"` // success, error, cancelled
	MS      int64  `json:"ms"`
}

// Config is what hooks need of the world. Owner, Cwd and Common are needed; functions that are nil
// mean what their comment says.
type Config struct {
	State  store.Slice[State] // nil: kept nowhere
	Owner  *proc.Owner        // owner of the programs that are started
	Env    func() []string    // environment of commands; nil: this process's
	Cwd    func() string      // working directory of commands; one that is gone is replaced by Root, then home
	Root   func() string      // project root where the session started, CLAUDE_PROJECT_DIR
	Home   string             // the user's home
	Dir    func() string      // the present session folder, for texts that are too long and environment files
	Inside func() string      // the present folder that confined programs may write, for their environment files; nil: they have none
	Common func() Common      // what every event's input tells
	// Rule reports whether a tool call matches a permission rule, for "if". Nil: an "if" never holds.
	Rule func(rule, tool string, input json.RawMessage) bool
	// Start starts the program of a handler, in the sandbox or outside of it. An
	// [UnsafeError] keeps it from running for good reason: what it guards counts as unguarded, whatever
	// the handler says of failures. Nil: Owner starts it as it is.
	Start func(ctx context.Context, x *Handler, confined bool, spec proc.Spec) (Started, error)
	// Confines reports whether the program of a handler runs in the sandbox now. Nil: none does.
	Confines func(*Handler) bool
	// Ask asks a model one question and returns its answer, for prompt handlers. Nil: none can.
	Ask func(ctx context.Context, model, prompt string) (string, error)
	// RunAgent lets a read-only agent answer, for agent handlers. Nil: none can.
	RunAgent func(ctx context.Context, model, prompt string) (string, error)
	// CallTool calls a tool of a connected server. Nil: none is connected.
	CallTool func(ctx context.Context, server, tool string, input json.RawMessage) (text string, isError bool, err error)
	// Callback runs handlers a host registered. Nil: none did.
	Callback func(ctx context.Context, event Name, match string, input json.RawMessage) []HostAnswer

	HTTP       *http.Client        // nil: the usual one. Redirects to another host are not followed in any case
	HTTPLimits func() HTTPLimits   // the limits of this moment; nil: none
	Getenv     func(string) string // for header values; nil: none has a value
	Tell       func(proto.EventBody)
	Woken      func(text string) // an asyncRewake hook wakes the model; nil: nobody
	Later      func(text string) // what an async hook has for the model, at its next turn; nil: nobody
	Now        func() time.Time  // nil: the clock
	NewID      func() string     // needed with Tell
	EndTimeout time.Duration     // budget of all SessionEnd hooks; 0: by the rules of the format
}

// UnsafeError keeps a program from running because it may not be what it was.
type UnsafeError struct{ Err error }

// Error is the reason.
func (e *UnsafeError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnsafeError) Unwrap() error { return e.Err }

// Started is a program that was started.
type Started struct {
	Process *proc.Process
	// After must be called when it has ended, with what it printed. It returns what the sandbox
	// refused it; empty: nothing. Nil: there is nothing to do.
	After func(exit proc.Exit, output string) (refused string)
}

// HTTPLimits bound what HTTP handlers may do.
type HTTPLimits struct {
	URLs *[]string // allowedHttpHookUrls; nil: any
	Vars *[]string // httpHookAllowedEnvVars; nil: any
}

// Common are the fields every event's input has.
type Common struct {
	Session    string
	Transcript string
	Cwd        string
	Prompt     string // id of the last prompt; empty: none yet
	Mode       string // outward permission mode
	Effort     string
	Agent      string
	AgentType  string
}

// HostAnswer is the answer of one host callback: a hook output object, or how it failed.
type HostAnswer struct {
	Output  json.RawMessage
	Failure string // timed out, answered with an error; empty: it did not
	Blocks  bool   // the failure blocks
}

// Event is one thing that happened.
type Event struct {
	Name   Name
	Match  string         // the event's match value
	Fields map[string]any // its own input fields
	Tool   string         // for "if": the tool and its input
	Input  json.RawMessage
}

// Run is one handler that ran, for people and for hooks test.
type Run struct {
	Handler  *Handler
	Outcome  string // success, error, cancelled
	ExitCode *int
	Stdout   string
	Stderr   string
	Took     time.Duration
	Failure  string // why it gave no usable answer
}

// Hooks runs the handlers of a session. It is safe for concurrent use.
type Hooks struct {
	cfg Config

	mu       sync.Mutex // guards the rest
	handlers []*Handler
	off      string
	ran      map[*Handler]bool // those with once
	envFiles map[envKey]string
	recent   []Recent
}

// New returns hooks without any handler; see [Hooks.Load].
func New(cfg Config) *Hooks {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Getenv == nil {
		cfg.Getenv = func(string) string { return "" }
	}
	cfg.HTTP = withinHost(cfg.HTTP)
	if cfg.HTTPLimits == nil {
		cfg.HTTPLimits = func() HTTPLimits { return HTTPLimits{} }
	}
	return &Hooks{cfg: cfg, ran: map[*Handler]bool{}, envFiles: map[envKey]string{}}
}

// Switches turn hooks off.
type Switches struct {
	All         bool // disableAllHooks of the administrator: none runs
	Ordinary    bool // disableAllHooks of anybody else: only managed hooks run
	ManagedOnly bool // allowManagedHooksOnly
	PluginsOnly bool // strictPluginOnlyCustomization: of files, only managed hooks run
	Bare        bool // --bare: settings, policy and user-plugin hooks are off
	// Without says that somebody goes on without a guard that cannot be read. Nil: nobody does.
	Without func(Problem) bool
}

// Load replaces the handlers by those of the sources, and returns what is wrong with them.
func (h *Hooks) Load(sources []Source, sw Switches) []Problem {
	var all []*Handler
	var problems []Problem
	for _, src := range sources {
		handlers, wrong := Parse(src)
		if !sw.allows(src) { // what does not run guards nothing that could be lost
			for i := range wrong {
				wrong[i].Lost = false
			}
			handlers = nil
		}
		problems = append(problems, wrong...)
		all = append(all, slices.DeleteFunc(handlers, func(x *Handler) bool {
			return x.malformed != nil && sw.Without != nil && sw.Without(*x.malformed)
		})...)
	}
	for i, x := range all {
		x.ordinal = i
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers, h.off = all, sw.why()
	h.publish()
	return problems
}

func (s Switches) allows(src Source) bool {
	switch {
	case s.All, s.Bare && src.Label != "Session":
		return false
	case s.ManagedOnly, s.Ordinary:
		return src.Managed || src.Label == "Session" && s.ManagedOnly
	case s.PluginsOnly:
		return src.Managed || src.Plugin != "" || src.Label == "Session"
	}
	return true
}

func (s Switches) why() string {
	switch {
	case s.All:
		return "disableAllHooks in the managed settings"
	case s.ManagedOnly:
		return "allowManagedHooksOnly: only managed hooks run"
	case s.Ordinary:
		return "disableAllHooks: only managed hooks run"
	case s.PluginsOnly:
		return "strictPluginOnlyCustomization: only managed hooks and those of plugins run"
	case s.Bare:
		return "--bare"
	}
	return ""
}

// publish writes the slice; the caller holds the lock.
func (h *Hooks) publish() {
	if h.cfg.State == nil {
		return
	}
	registered := make([]Registered, len(h.handlers))
	for i, x := range h.handlers {
		registered[i] = Registered{x.Event, x.Matcher, x.Kind, x.Source.Label, x.At.String(), x.Title()}
	}
	next := &State{Registered: registered, Disabled: h.off, Recent: slices.Clone(h.recent)}
	h.cfg.State.Set(func(*State) *State { return next })
}

// Handlers returns what is configured, in order of sources.
func (h *Hooks) Handlers() []*Handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.handlers)
}

// Any reports whether an event has a handler at all, so that nobody builds input for nothing.
func (h *Hooks) Any(name Name) bool {
	if h.cfg.Callback != nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.handlers, func(x *Handler) bool { return x.Event == name })
}

// Fire runs every handler the event concerns, side by side and to the end, and returns what they
// want together. It returns early only when ctx ends; handlers that run are then ended.
func (h *Hooks) Fire(ctx context.Context, e Event) Outcome {
	spec, ok := SpecOf(e.Name)
	if !ok {
		return Outcome{Notices: []string{fmt.Sprintf("%q is no hook event", e.Name)}}
	}
	selected, broken := h.selects(spec, e)
	if len(selected) == 0 && len(broken) == 0 && h.cfg.Callback == nil {
		return Outcome{}
	}
	input := h.input(spec, e)
	if spec.Name == SessionEnd {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.endBudget(selected))
		defer cancel()
	}
	answers := make([]answer, len(selected))
	runs := make([]Run, len(selected))
	var finished sync.Mutex // guards order
	order := 0
	var wg sync.WaitGroup
	for i, x := range selected {
		wg.Go(func() {
			a, r := h.run(ctx, spec, e, x, input)
			finished.Lock()
			order++
			a.order, a.handler = order, x
			finished.Unlock()
			answers[i], runs[i] = h.bounded(a), r
		})
	}
	var host []answer
	if h.cfg.Callback != nil {
		wg.Go(func() { host = hostAnswers(spec, h.cfg.Callback(ctx, e.Name, e.Match, input)) })
	}
	wg.Wait()
	o := merge(spec, hookName(spec, e), append(append(broken, answers...), host...))
	o.Runs = runs
	h.remember(spec, e, runs)
	return o
}

// selects picks the handlers an event concerns. A guard whose matcher cannot be used answers at
// once, with a failure.
func (h *Hooks) selects(spec Spec, e Event) (selected []*Handler, broken []answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string]int{} // key → place in selected
	for _, x := range h.handlers {
		if x.Event != spec.Name || (x.Once && h.ran[x]) {
			continue
		}
		why := x.broken
		ok, err := false, error(nil)
		if why == "" {
			if ok, err = x.match.matches(e.Match, spec); err != nil {
				why = fmt.Sprintf("matcher %q cannot be used: %v", x.Matcher, err)
			}
		}
		if ok && x.malformed != nil {
			why = x.malformed.Text
		}
		if why != "" {
			if spec.Guard {
				broken = append(broken, answer{handler: x, failure: why})
			}
			continue
		}
		if !ok || !h.holds(x, e) {
			continue
		}
		if i, twice := seen[x.key()]; twice && x.key() != "" {
			if selected[i].Confine && !x.Confine { // the user's own word for it counts more than the folder's
				selected[i] = x
			}
			continue
		}
		seen[x.key()] = len(selected)
		h.ran[x] = x.Once
		selected = append(selected, x)
	}
	return selected, broken
}

// holds evaluates "if".
func (h *Hooks) holds(x *Handler, e Event) bool {
	return x.If == "" || (h.cfg.Rule != nil && h.cfg.Rule(x.If, e.Tool, e.Input))
}

// key identifies handlers that are the same in several settings files; those of plugins and skills
// are copies of their own.
func (x *Handler) key() string {
	if x.Source.Plugin != "" || x.Source.Skill {
		return ""
	}
	return strings.Join([]string{
		string(x.Kind), x.Command, strings.Join(x.Args, "\x00"), x.Shell, x.URL, x.Server, x.Tool, string(x.Input), x.Prompt, x.If, x.Matcher,
	}, "\x01")
}

func hookName(spec Spec, e Event) string {
	if spec.Matched && e.Match != "" {
		return string(spec.Name) + ":" + e.Match
	}
	return string(spec.Name)
}

// input is the JSON object handlers get.
func (h *Hooks) input(spec Spec, e Event) json.RawMessage {
	c := h.cfg.Common()
	fields := map[string]any{
		"session_id": c.Session, "transcript_path": c.Transcript, "cwd": c.Cwd, "hook_event_name": spec.Name,
	}
	optional := func(key, value string) {
		if value != "" {
			fields[key] = value
		}
	}
	optional("prompt_id", c.Prompt)
	optional("agent_id", c.Agent)
	optional("agent_type", c.AgentType)
	if spec.Mode {
		optional("permission_mode", c.Mode)
	}
	if c.Effort != "" && spec.Tool {
		fields["effort"] = map[string]string{"level": c.Effort}
	}
	for k, v := range e.Fields {
		fields[k] = v
	}
	raw, err := json.Marshal(fields)
	if err != nil { // a field that is no data is a mistake of ours; the rest is still true
		return json.RawMessage(fmt.Sprintf(`{"hook_event_name":%q}`, spec.Name))
	}
	return raw
}

// endBudget is the time all SessionEnd hooks share.
func (h *Hooks) endBudget(selected []*Handler) time.Duration {
	if h.cfg.EndTimeout > 0 {
		return h.cfg.EndTimeout
	}
	budget := 1500 * time.Millisecond
	for _, x := range selected {
		if x.Source.Plugin == "" {
			budget = max(budget, min(x.Timeout, time.Minute))
		}
	}
	return budget
}

func (h *Hooks) remember(spec Spec, e Event, runs []Run) {
	if len(runs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range runs {
		h.recent = append(h.recent, Recent{hookName(spec, e) + " " + r.Handler.Title(), r.Outcome, r.Took.Milliseconds()})
	}
	h.recent = h.recent[max(0, len(h.recent)-50):]
	h.publish()
}

func hostAnswers(spec Spec, from []HostAnswer) []answer {
	var out []answer
	for _, f := range from {
		h := &Handler{Event: spec.Name, Kind: "callback", Command: "host callback", Source: Source{Label: "Session"}}
		if f.Failure != "" {
			if f.Blocks {
				h.OnFailure = "block"
			} else {
				h.OnFailure = "continue"
			}
			out = append(out, answer{handler: h, failure: f.Failure})
			continue
		}
		a := readOutput(spec, string(f.Output), "", 0)
		a.handler, a.order = h, 1<<20
		out = append(out, a)
	}
	return out
}
