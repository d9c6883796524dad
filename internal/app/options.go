// Package app composes the program: it builds the state, binds features, tools and providers to
// the engine, and gives surfaces one [Session] to talk to. It computes nothing itself; what is
// decided is decided in a feature.
//
// wire.go builds everything in order of dependency, session.go runs the turns, queue.go is the
// ordered stream of events every surface reads, react.go holds the reactions between slices.
package app

import (
	"encoding/json"
	"io"
)

// Options say how a session shall start; a surface fills them from its flags. The zero value is an
// interactive session in the current directory with everything by default.
type Options struct {
	Cwd        string            // absolute; empty: the process's
	Env        map[string]string // nil: the process's
	Entrypoint string            // cli, sdk-ts, sdk-py, acp, …
	Version    string            // of the program, for transcripts and requests
	Warn       io.Writer         // where warnings go that no event can carry yet; nil: none

	Interactive bool   // a person sits behind it
	Answers     bool   // somebody can answer questions (a person, or a host through a prompt tool)
	Silent      string // why nobody is asked although somebody could answer; empty: for no such reason
	DropIn      bool   // an Agent SDK started the process: published formats and places only
	NoOffline   bool   // never choose the offline model by itself

	Model     string   // empty: by the order of docs/models.md
	Fallbacks []string //
	Effort    string
	Thinking  *int // budget in tokens; nil: default, 0: off
	MaxTokens int  // most tokens of one answer; 0: default
	Betas     []string
	Record    string // file that keeps what the model said

	Mode           string // permission mode; empty: by settings
	Bypass         bool   // --dangerously-skip-permissions
	AllowBypass    bool   // bypass may be entered later
	Allow, Deny    []string
	Tools          *[]string // base set of built-in tools; nil: all, empty: none
	AddDirs        []string
	Trust          *[]string // what --trust accepts; nil: flag not given, empty: everything
	IgnoreBadRules bool

	MaxTurns     int     // rounds a turn; 0: no bound
	MaxBudgetUSD float64 // 0: no bound
	Schema       json.RawMessage

	SystemPrompt       *string // replaces the prompt; nil: the default one
	AppendSystemPrompt string

	Settings       string    // --settings: a file or JSON text
	SettingSources *[]string // of user, project, local; nil: all
	Simple         bool      // Bash, Read and Edit, nothing else

	managed []string // folders of the administrator's files; nil: those of the system

	Setup string // trigger of the Setup hooks before the first turn: init or maintenance; empty: none

	Continue  bool
	Resume    string // session id or title
	ResumeAt  string // message id: keep the history up to it
	Fork      bool
	SessionID string // UUID for a new session or fork
	NoPersist bool
}
