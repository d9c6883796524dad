package cli

import (
	"slices"

	"github.com/spf13/pflag"
)

// Flags are the flags of a session, as given. What is a list is not taken apart yet.
type Flags struct {
	sessionFlags
	modelFlags
	permissionFlags
	outputFlags
	toolFlags
	advancedFlags

	set *pflag.FlagSet
}

// sessionFlags say where a session works and which one goes on.
type sessionFlags struct {
	Continue       bool
	Resume         string
	Fork           bool
	SessionID      string
	ResumeAt       string
	NoPersistence  bool
	Cwd            string
	Settings       string
	SettingSources string
}

// modelFlags say who answers, and how much of it.
type modelFlags struct {
	Model            string
	FallbackModel    string
	Effort           string
	Thinking         string
	MaxThinking      int
	MaxTokens        int
	MaxTurns         int
	MaxBudgetUSD     float64
	SystemPrompt     string
	SystemPromptFile string
	AppendSystem     string
}

// permissionFlags say what may be done without a question.
type permissionFlags struct {
	PermissionMode    string
	AllowedTools      []string
	DisallowedTools   []string
	AddDirs           []string
	Trust             string
	PermissionPrompts string
	IgnoreBadRules    bool
	Bypass            bool
	AllowBypass       bool
}

// outputFlags say what is printed, and for whom.
type outputFlags struct {
	Print            bool
	OutputFormat     string
	InputFormat      string
	JSONSchema       string
	Verbose          bool
	Brief            bool
	Plain            bool
	IncludePartial   bool
	IncludeHooks     bool
	ReplayUser       bool
	ForwardSubagents bool
}

// toolFlags say what the model is offered.
type toolFlags struct {
	Tools           []string
	Simple          bool
	MCPConfig       []string
	StrictMCP       bool
	Agents          string
	Agent           string
	PluginDirs      []string
	PluginDirsNoMCP []string
}

// advancedFlags say what hosts, tests and preparations of a project use.
type advancedFlags struct {
	Record               string
	Init                 bool
	InitOnly             bool
	Maintenance          bool
	Betas                []string
	ThinkingDisplay      string
	PermissionPromptTool string
	ResumeDropsTurn      string
	SessionMirror        bool
	AwaitInitialize      bool
	Debug                string
	DebugFile            string
	DebugToStderr        bool
}

// Given reports whether the flag was on the command line, be it with an empty value.
func (f *Flags) Given(name string) bool { return f.set.Changed(name) }

// flagGroup is a part of the flags with its heading in the help.
type flagGroup struct {
	title  string
	define func(*pflag.FlagSet)
}

// groups are the parts of the flags, in the order of the help.
func (f *Flags) groups() []flagGroup {
	return []flagGroup{
		{"Session", f.sessionFlags.define},
		{"Model", f.modelFlags.define},
		{"Permissions", f.permissionFlags.define},
		{"Output", f.outputFlags.define},
		{"Tools", f.toolFlags.define},
		{"Advanced", f.advancedFlags.define},
	}
}

// groupKey is the annotation that holds a flag's group.
const groupKey = "group"

// define adds the flags to a set. Those named as inert say in the help that they have no effect.
func (f *Flags) define(s *pflag.FlagSet, inert []string) {
	f.set = s
	s.SortFlags = false
	s.SetNormalizeFunc(normalise)
	for _, g := range f.groups() {
		part := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		part.SetNormalizeFunc(normalise)
		part.SortFlags = false
		g.define(part)
		part.VisitAll(func(flag *pflag.Flag) { flag.Annotations = map[string][]string{groupKey: {g.title}} })
		s.AddFlagSet(part)
	}
	for _, name := range inert {
		flag := s.Lookup(name)
		switch {
		case flag == nil:
		case slices.Contains(guards(), name):
			flag.Usage += " (refused: cannot be heeded yet)"
		default:
			flag.Usage += " (no effect yet)"
		}
	}
	defineIgnored(s)
}

// normalise makes allowedTools and allowed-tools one flag.
func normalise(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(kebab(name))
}

func (f *sessionFlags) define(s *pflag.FlagSet) {
	s.BoolVarP(&f.Continue, "continue", "c", false, "go on with the newest session of this folder")
	s.StringVarP(&f.Resume, "resume", "r", "", "go on with a `session`: its id or title, or a list to choose from")
	s.Lookup("resume").NoOptDefVal = resumePick
	s.BoolVar(&f.Fork, "fork-session", false, "with resume or continue: as a copy under a new id")
	s.StringVar(&f.SessionID, "session-id", "", "`UUID` for the new session or copy")
	s.StringVar(&f.ResumeAt, "resume-session-at", "", "keep the history up to this `message` only")
	s.BoolVar(&f.NoPersistence, "no-session-persistence", false, "write no session file")
	s.StringVar(&f.Cwd, "cwd", "", "work in this `folder`")
	s.StringVar(&f.Settings, "settings", "", "further settings: a `file` or JSON")
	s.StringVar(&f.SettingSources, "setting-sources", "", "settings files to read, a `list` of user,project,local; \"\" for none")
}

func (f *modelFlags) define(s *pflag.FlagSet) {
	s.StringVar(&f.Model, "model", "", "the `model`: an alias, provider/model, script:FILE or replay:FILE")
	s.StringVar(&f.FallbackModel, "fallback-model", "", "`models` to try, in order, when the model is overloaded")
	s.StringVar(&f.Effort, "effort", "", "`level`: low, medium, high, xhigh or max")
	s.StringVar(&f.Thinking, "thinking", "", "`kind`: adaptive or disabled")
	s.IntVar(&f.MaxThinking, "max-thinking-tokens", 0, "most `tokens` of thinking, 0 for none")
	s.IntVar(&f.MaxTokens, "max-tokens", 0, "most `tokens` of one answer")
	s.IntVar(&f.MaxTurns, "max-turns", 0, "most model `requests` a turn")
	s.Float64Var(&f.MaxBudgetUSD, "max-budget-usd", 0, "most US `dollars` to spend")
	s.StringVar(&f.SystemPrompt, "system-prompt", "", "`text` that replaces the system prompt")
	s.StringVar(&f.SystemPromptFile, "system-prompt-file", "", "`file` whose text replaces the system prompt")
	s.StringVar(&f.AppendSystem, "append-system-prompt", "", "`text` that is added to the system prompt")
}

func (f *permissionFlags) define(s *pflag.FlagSet) {
	s.StringVar(&f.PermissionMode, "permission-mode", "", "`mode`: default, acceptEdits, plan, auto, dontAsk or bypassPermissions")
	s.StringArrayVar(&f.AllowedTools, "allowed-tools", nil, "`rules` that allow, as in \"Bash(git log:*),Read\"")
	s.StringArrayVar(&f.DisallowedTools, "disallowed-tools", nil, "`rules` that deny; a bare name hides the tool from the model")
	s.StringArrayVar(&f.AddDirs, "add-dir", nil, "a further working `folder` (repeat for more)")
	s.StringVar(&f.Trust, "trust", "", "take what this folder supplies: everything, or a `list` of hooks,env,helpers,mcp,allow")
	s.Lookup("trust").NoOptDefVal = trustAll
	s.StringVar(&f.PermissionPrompts, "permission-prompts", "", "`who` answers: host or none; none denies at once whatever would ask")
	s.BoolVar(&f.IgnoreBadRules, "ignore-bad-rules", false, "run although a deny or ask rule cannot be read")
	s.BoolVar(&f.Bypass, "dangerously-skip-permissions", false, "start in bypassPermissions mode")
	s.BoolVar(&f.AllowBypass, "allow-dangerously-skip-permissions", false, "let bypassPermissions mode be entered later")
}

func (f *outputFlags) define(s *pflag.FlagSet) {
	s.BoolVarP(&f.Print, "print", "p", false, "answer one prompt and end; without an argument the prompt is read from standard input")
	s.StringVar(&f.OutputFormat, "output-format", "", "`format`: text, json or stream-json")
	s.StringVar(&f.InputFormat, "input-format", "", "`format`: text or stream-json")
	s.StringVar(&f.JSONSchema, "json-schema", "", "JSON `schema` the result must have")
	s.BoolVar(&f.Verbose, "verbose", false, "json: every message, not the result alone; needed by -p with stream-json")
	s.BoolVar(&f.Brief, "brief", false, "text: only messages to the user, errors and the final text")
	s.BoolVar(&f.Plain, "plain", false, "interactive, line by line, without cursor movement")
	s.BoolVar(&f.IncludePartial, "include-partial-messages", false, "stream-json: answers piece by piece")
	s.BoolVar(&f.IncludeHooks, "include-hook-events", false, "stream-json: what hooks do, for every event")
	s.BoolVar(&f.ReplayUser, "replay-user-messages", false, "stream-json: echo each message of the host when it is taken up")
	s.BoolVar(&f.ForwardSubagents, "forward-subagent-text", false, "stream-json: also what subagents say and think")
}

func (f *toolFlags) define(s *pflag.FlagSet) {
	s.StringArrayVar(&f.Tools, "tools", nil, "built-in `tools` to offer: a list, \"default\" for all, \"\" for none")
	s.BoolVar(&f.Simple, "simple", false, "Bash, Read and Edit, nothing else")
	s.StringArrayVar(&f.MCPConfig, "mcp-config", nil, "MCP servers: `files` or JSON")
	s.BoolVar(&f.StrictMCP, "strict-mcp-config", false, "only the MCP servers of --mcp-config")
	s.StringVar(&f.Agents, "agents", "", "agent definitions: `JSON`")
	s.StringVar(&f.Agent, "agent", "", "run the main conversation as this `agent`")
	s.StringArrayVar(&f.PluginDirs, "plugin-dir", nil, "load a plugin from this `folder` (repeat for more)")
	s.StringArrayVar(&f.PluginDirsNoMCP, "plugin-dir-no-mcp", nil, "load a plugin from this `folder`, without its MCP servers")
}

func (f *advancedFlags) define(s *pflag.FlagSet) {
	s.StringVar(&f.Record, "record", "", "keep what the model said and tools returned in this `file`")
	s.BoolVar(&f.Init, "init", false, "run the Setup hooks (trigger init) before the prompt of -p")
	s.BoolVar(&f.InitOnly, "init-only", false, "run the Setup hooks (trigger init) and those of the session's start, then end")
	s.BoolVar(&f.Maintenance, "maintenance", false, "run the Setup hooks (trigger maintenance) before the prompt of -p")
	s.StringArrayVar(&f.Betas, "betas", nil, "beta `features` of the API to ask for")
	s.StringVar(&f.ThinkingDisplay, "thinking-display", "", "how `much` of thinking is shown: full, summary, summarized or omitted")
	s.StringVar(&f.PermissionPromptTool, "permission-prompt-tool", "", "`who` is asked: stdio (the host) or the name of an MCP tool")
	s.StringVar(&f.ResumeDropsTurn, "resume-drops-turn", "", "refuse unless exactly this `prompt`'s turn is dropped")
	s.BoolVar(&f.SessionMirror, "session-mirror", false, "stream-json: also emit what is written to the session file")
	s.BoolVar(&f.AwaitInitialize, "await-initialize", false, "the first line of input must be the initialize request")
	s.StringVar(&f.Debug, "debug", "", "write diagnostics, of these `parts` only if named")
	s.Lookup("debug").NoOptDefVal = "*"
	s.StringVar(&f.DebugFile, "debug-file", "", "write diagnostics to this `file`")
	s.BoolVar(&f.DebugToStderr, "debug-to-stderr", false, "write diagnostics to the error stream")
}

// What a flag without its optional value stands for.
const (
	resumePick = "?"   // choose from a list
	trustAll   = "all" // everything the folder supplies
)

// ignored are flags of hosted and telemetry surfaces. Hosts pass them; they have no effect here.
func ignored() (values, switches []string) {
	return []string{"task-budget", "managed-settings", "project-config-root", "initialize-fields", "sdk-url", "channels"},
		[]string{"managed-settings-in-initialize", "await-claim"}
}

func defineIgnored(s *pflag.FlagSet) {
	values, switches := ignored()
	for _, name := range values {
		s.String(name, "", "accepted for compatibility, without effect")
		s.Lookup(name).Hidden = true
	}
	for _, name := range switches {
		s.Bool(name, false, "accepted for compatibility, without effect")
		s.Lookup(name).Hidden = true
	}
}
