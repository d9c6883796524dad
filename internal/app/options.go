// Package app composes the program: it builds the state, binds features, tools and providers to
// the engine, and gives surfaces one [Session] to talk to. It computes nothing itself; what is
// decided is decided in a feature.
//
// state.go lists the slices, wire.go builds everything in order of dependency and closes it in reverse, react.go
// holds the reactions between slices, session.go is what surfaces talk to.
package app

import (
	"encoding/json"
	"io"
)

// Options say how a session shall start; a surface fills them from its flags. The zero value is an
// interactive session in the current directory with everything by default.
type Options struct {
	Cwd     string            // absolute; empty: the process's
	Env     map[string]string // nil: the process's
	Version string            // of the program, for transcripts and requests
	Warn    io.Writer         // where warnings go that no event can carry yet; nil: none
	Setup   string            // trigger of the Setup hooks before the first turn: init or maintenance; empty: none

	Host
	Access
	Bounds
	Thread
	Sources
	Instructed
	ModelChoice
}

// Host is who sits behind a session.
type Host struct {
	Entrypoint  string // cli, sdk-ts, sdk-py, acp, …
	Interactive bool   // a person sits behind it
	Answers     bool   // somebody can answer questions (a person, or a host through a prompt tool)
	Silent      string // why nobody is asked although somebody could answer; empty: for no such reason
	DropIn      bool   // an Agent SDK started the process: published formats and places only
}

// ModelChoice says which model answers, and how.
type ModelChoice struct {
	Model     string // empty: by the order of docs/models.md
	Fallbacks []string
	NoOffline bool // never choose the offline model by itself
	Effort    string
	Thinking  *int // budget in tokens; nil: default, 0: off
	MaxTokens int  // most tokens of one answer; 0: default
	Betas     []string
	Record    string // file that keeps what the model said
}

// Access is what the model may do.
type Access struct {
	Mode           string // permission mode; empty: by settings
	Bypass         bool   // --dangerously-skip-permissions
	AllowBypass    bool   // bypass may be entered later
	Allow, Deny    []string
	Tools          *[]string // base set of built-in tools; nil: all, empty: none
	Simple         bool      // Bash, Read and Edit, nothing else
	AddDirs        []string
	Trust          *[]string // what --trust accepts; nil: flag not given, empty: everything
	IgnoreBadRules bool
}

// Bounds are what a session may use. Zero: no bound.
type Bounds struct {
	MaxTurns     int // rounds a turn
	MaxBudgetUSD float64
}

// Instructed is what the model is told beside its default instructions.
type Instructed struct {
	SystemPrompt       *string // replaces the prompt; nil: the default one
	AppendSystemPrompt string
	Schema             json.RawMessage // of the result
}

// Sources are where settings come from.
type Sources struct {
	Settings       string    // --settings: a file or JSON text
	SettingSources *[]string // of user, project, local; nil: all

	managed []string // folders of the administrator's files; nil: those of the system
}

// Thread is the conversation that is begun or gone on with.
type Thread struct {
	Continue  bool
	Resume    string // session id or title
	ResumeAt  string // message id: keep the history up to it
	Fork      bool
	SessionID string // UUID for a new session or fork
	NoPersist bool
}
