// Package inspect is what only looks: the examination of the installation, settings and where they come
// from, why a call is decided as it is, what hooks say, the fields of the state, recordings and earlier
// conversations. Everything it looks at is handed in; it asks no model, records nothing, and runs nothing
// but the hooks somebody wants to try.
//
// Begin with [Subject], a session that was built and not begun, and [Settings].
package inspect

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/trust"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// Exit codes of what cannot be looked at (docs/exit-codes.md).
const (
	codeUsage    = 2
	codeNetwork  = 5
	codeSettings = 8
)

// codedError is an error that knows the exit code of the program.
type codedError struct {
	error
	code int
}

// Unwrap returns the cause.
func (e codedError) Unwrap() error { return e.error }

// ExitCode is the code.
func (e codedError) ExitCode() int { return e.code }

func usage(format string, args ...any) error {
	return codedError{fmt.Errorf(format, args...), codeUsage}
}

// Subject is what there is to see of a session that was built and not begun. Functions may block only
// where their comment says so.
type Subject struct {
	Permission *permission.State
	Trust      *trust.State
	Problems   []config.Problem // of the settings in force
	HooksOff   string           // why hooks are off; empty: they are not
	Scope      *tool.Scope

	Dirs     func() permission.Dirs
	Policy   func(permission.Request) permission.Policy
	Request  func(tool.Call, tool.Traits) permission.Request
	Handlers func() []*hook.Handler
	// Reload reads the hooks anew and says what is wrong in their configuration.
	Reload func() []hook.Problem
	// Fire runs the hooks of an event; it blocks until they have ended.
	Fire func(context.Context, hook.Event) hook.Outcome

	Tool      func(name string) tool.Tool // nil: there is none of that name
	ToolNames func() []string
	Pool      func() []ToolRow // assembles the pool

	Sandbox  func() Confinement
	Outside  func() []OutsideCommand
	Writable []string // entries of PATH that commands of the model may write
}

// Confinement says how shell commands are confined.
type Confinement struct {
	Off    bool // by the settings
	On     bool
	Status sandbox.Status
}

// OutsideCommand is a command that runs outside of the sandbox.
type OutsideCommand struct {
	Name    string
	Files   int      // that confined commands may write, and that are looked at before it runs
	Unknown []string // what of it cannot be looked at
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
