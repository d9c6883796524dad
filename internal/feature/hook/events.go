// Package hook runs what people have configured to run at certain moments: commands, HTTP calls,
// tools of MCP servers, and questions to a model. It reads the configuration in the public hooks
// format, picks the handlers an event concerns, runs them side by side and merges their answers
// into one [Outcome]; whoever fired the event acts on it.
//
// It decides no permission itself and knows no tool, session or settings file: they come in as
// values and functions ([Config]). A guard that is broken does not stand open: see [Outcome.Guard].
// Begin with [New] and [Hooks.Fire]; events.go lists the events.
package hook

import (
	"slices"
	"time"
)

// Name is the name of an event, exact and case-sensitive.
type Name string

// The events.
const (
	SessionStart         Name = "SessionStart"
	Setup                Name = "Setup"
	SessionEnd           Name = "SessionEnd"
	UserPromptSubmit     Name = "UserPromptSubmit"
	UserPromptExpansion  Name = "UserPromptExpansion"
	PreToolUse           Name = "PreToolUse"
	PermissionRequest    Name = "PermissionRequest"
	PermissionDenied     Name = "PermissionDenied"
	PostToolUse          Name = "PostToolUse"
	PostToolUseFailure   Name = "PostToolUseFailure"
	PostToolBatch        Name = "PostToolBatch"
	Notification         Name = "Notification"
	MessageDisplay       Name = "MessageDisplay"
	SubagentStart        Name = "SubagentStart"
	SubagentStop         Name = "SubagentStop"
	TaskCreated          Name = "TaskCreated"
	TaskCompleted        Name = "TaskCompleted"
	Stop                 Name = "Stop"
	StopFailure          Name = "StopFailure"
	TeammateIdle         Name = "TeammateIdle"
	InstructionsLoaded   Name = "InstructionsLoaded"
	ConfigChange         Name = "ConfigChange"
	CwdChanged           Name = "CwdChanged"
	DirectoryAdded       Name = "DirectoryAdded"
	FileChanged          Name = "FileChanged"
	WorktreeCreate       Name = "WorktreeCreate"
	WorktreeRemove       Name = "WorktreeRemove"
	PreCompact           Name = "PreCompact"
	PostCompact          Name = "PostCompact"
	Elicitation          Name = "Elicitation"
	ElicitationResult    Name = "ElicitationResult"
	PreModelSwitch       Name = "PreModelSwitch"
	PostModelSwitch      Name = "PostModelSwitch"
	PreSkillShellCommand Name = "PreSkillShellCommand"
)

// Kind is the kind of a handler.
type Kind string

// The kinds of handlers.
const (
	Command Kind = "command"
	HTTP    Kind = "http"
	MCPTool Kind = "mcp_tool"
	Prompt  Kind = "prompt"
	Agent   Kind = "agent"
)

// Spec is what is known of an event.
type Spec struct {
	Name    Name
	Kinds   []Kind        // handlers it may have
	Matched bool          // it has a match value
	Blocks  bool          // exit 2 and a blocking answer stop what is about to happen
	Guard   bool          // a handler that fails counts as a question nothing may answer by itself
	Context bool          // plain output becomes context for the model
	Mode    bool          // its input tells the permission mode
	Tool    bool          // it is about one tool call: handlers may have an "if"
	EnvFile bool          // its hooks may leave environment for shell commands
	Narrow  bool          // its matchers know only | between exact names
	Feeds   bool          // exit 2, where it does not block, is told to the model
	Timeout time.Duration // of command, http and mcp_tool handlers
}

var (
	everyKind  = []Kind{Command, HTTP, MCPTool, Prompt, Agent}
	plainKinds = []Kind{Command, HTTP, MCPTool}
	startKinds = []Kind{Command, MCPTool}
)

const (
	usual = 600 * time.Second
	// promptTimeout and agentTimeout hold for handlers that ask a model, on every event.
	promptTimeout = 30 * time.Second
	agentTimeout  = 60 * time.Second
)

// Specs lists the events in the order of the public reference.
func Specs() []Spec {
	return []Spec{
		{Name: SessionStart, Kinds: startKinds, Matched: true, Context: true, EnvFile: true, Timeout: usual},
		{Name: Setup, Kinds: startKinds, Matched: true, EnvFile: true, Timeout: usual},
		{Name: SessionEnd, Kinds: plainKinds, Matched: true, Timeout: 1500 * time.Millisecond},
		{Name: UserPromptSubmit, Kinds: everyKind, Blocks: true, Context: true, Mode: true, Timeout: 30 * time.Second},
		{Name: UserPromptExpansion, Kinds: everyKind, Matched: true, Blocks: true, Context: true, Mode: true, Timeout: usual},
		{Name: PreToolUse, Kinds: everyKind, Matched: true, Blocks: true, Guard: true, Mode: true, Tool: true, Timeout: usual},
		{Name: PermissionRequest, Kinds: everyKind, Matched: true, Blocks: true, Guard: true, Mode: true, Tool: true, Timeout: usual},
		{Name: PermissionDenied, Kinds: everyKind, Matched: true, Mode: true, Tool: true, Timeout: usual},
		{Name: PostToolUse, Kinds: everyKind, Matched: true, Mode: true, Tool: true, Feeds: true, Timeout: usual},
		{Name: PostToolUseFailure, Kinds: everyKind, Matched: true, Mode: true, Tool: true, Feeds: true, Timeout: usual},
		{Name: PostToolBatch, Kinds: everyKind, Blocks: true, Mode: true, Timeout: usual},
		{Name: Notification, Kinds: plainKinds, Matched: true, Timeout: usual},
		{Name: MessageDisplay, Kinds: plainKinds, Timeout: 10 * time.Second},
		{Name: SubagentStart, Kinds: plainKinds, Matched: true, Timeout: usual},
		{Name: SubagentStop, Kinds: everyKind, Matched: true, Blocks: true, Mode: true, Timeout: usual},
		{Name: TaskCreated, Kinds: everyKind, Blocks: true, Mode: true, Timeout: usual},
		{Name: TaskCompleted, Kinds: everyKind, Blocks: true, Mode: true, Timeout: usual},
		{Name: Stop, Kinds: everyKind, Blocks: true, Mode: true, Timeout: usual},
		{Name: StopFailure, Kinds: plainKinds, Matched: true, Narrow: true, Timeout: usual},
		{Name: TeammateIdle, Kinds: everyKind, Blocks: true, Mode: true, Timeout: usual},
		{Name: InstructionsLoaded, Kinds: plainKinds, Matched: true, Timeout: usual},
		{Name: ConfigChange, Kinds: plainKinds, Matched: true, Blocks: true, Timeout: usual},
		{Name: CwdChanged, Kinds: plainKinds, EnvFile: true, Timeout: usual},
		{Name: DirectoryAdded, Kinds: plainKinds, Matched: true, Timeout: usual},
		{Name: FileChanged, Kinds: plainKinds, Matched: true, Narrow: true, EnvFile: true, Timeout: usual},
		{Name: WorktreeCreate, Kinds: plainKinds, Blocks: true, Timeout: usual},
		{Name: WorktreeRemove, Kinds: plainKinds, Timeout: usual},
		{Name: PreCompact, Kinds: plainKinds, Matched: true, Blocks: true, Context: true, Timeout: usual},
		{Name: PostCompact, Kinds: plainKinds, Matched: true, Timeout: usual},
		{Name: Elicitation, Kinds: plainKinds, Matched: true, Blocks: true, Mode: true, Timeout: usual},
		{Name: ElicitationResult, Kinds: plainKinds, Matched: true, Blocks: true, Mode: true, Timeout: usual},
		{Name: PreModelSwitch, Kinds: everyKind, Matched: true, Blocks: true, Timeout: usual},
		{Name: PostModelSwitch, Kinds: plainKinds, Matched: true, Timeout: usual},
		{Name: PreSkillShellCommand, Kinds: everyKind, Matched: true, Blocks: true, Timeout: usual},
	}
}

// SpecOf returns what is known of an event; ok is false when there is none of that name.
func SpecOf(name Name) (spec Spec, ok bool) {
	all := Specs()
	i := slices.IndexFunc(all, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return all[i], true
}

// FailureKind is the kind of an error of a model's service in the words hooks know.
func FailureKind(kind string) string {
	switch kind {
	case "rate_limit", "overloaded", "authentication_failed", "oauth_org_not_allowed", "billing_error",
		"invalid_request", "model_not_found", "server_error", "max_output_tokens":
		return kind
	}
	return "unknown"
}
