package cli

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/app/spending"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/surface/plain"
)

// Session is what the faces of the command line need of a session.
type Session interface {
	Do(proto.Op) error
	Events(ctx context.Context) iter.Seq[proto.Event]
	View() plain.View
	Close(ctx context.Context) error
}

// Deps are the functions behind the command line. A nil function leaves its command, or its
// flag's value, out of the program: what is listed works. Errors that implement
// "ExitCode() int" choose the exit code, and a refused resume implements "ResumeRefused() string",
// which returns the session's id.
type Deps struct {
	Helpers []Helper
	Inert   []string // flags that are read but that nothing acts upon yet

	// Open starts a session. Flags holds what app.Options has no place for.
	Open func(ctx context.Context, o app.Options, f *Flags) (Session, error)
	// Prepare runs the hooks that prepare a project, and no turn.
	Prepare func(ctx context.Context, o app.Options, tell func(proto.Notice)) error
	// Init tells what a headless turn opens with.
	Init func(Session) headless.Init
	// StreamInput runs a session driven by lines of JSON from a host.
	StreamInput func(ctx context.Context, o app.Options, f *Flags, h headless.Options, in io.Reader) int
	// History yields earlier prompts, newest first.
	History func(o app.Options) plain.History
	// Complete completes the word before the cursor of a draft.
	Complete func(s Session) plain.Completer
	// ProgramEnv tells the environment of programs that the user's own keys start.
	ProgramEnv func(s Session) func() []string

	FakeAPI    func(ctx context.Context, r FakeAPIRequest, out io.Writer) error
	Models     func(ctx context.Context, o app.Options) ([]inspect.ModelRow, error)
	CheckModel func(ctx context.Context, o app.Options, name string, tell func(inspect.Check)) error
	Tools      func(ctx context.Context, o app.Options) ([]inspect.ToolRow, error)
	Sessions   func(ctx context.Context, cwd string, all bool) ([]inspect.SessionRow, error)
	Usage      func(o app.Options, q spending.Query) ([]spending.Row, error)
	State      func(ctx context.Context, r StateRequest, out io.Writer) error
	Replay     func(ctx context.Context, r ReplayRequest, out io.Writer) (*app.Options, error) // options: the session to fork
	Doctor     func(ctx context.Context, o app.Options, tell func(inspect.Check)) error
	Config     ConfigDeps
	Permission PermissionDeps
	Sandbox    SandboxDeps
	HooksList  func(ctx context.Context, o app.Options) (HookList, error)
	HooksTest  func(ctx context.Context, o app.Options, r HookRequest, out io.Writer) error
	Policy     PolicyDeps
	Tasks      TaskDeps
}

// ConfigDeps are the functions of "myelin config".
type ConfigDeps struct {
	Get      func(ctx context.Context, o app.Options, key string) (inspect.Value, error)
	Set      func(ctx context.Context, o app.Options, scope, key string, value json.RawMessage) (note string, err error)
	Explain  func(ctx context.Context, o app.Options, key string) ([]inspect.Value, error)       // strongest first
	Validate func(ctx context.Context, o app.Options, files []string) ([]inspect.Problem, error) // no files: those in force
	List     func(ctx context.Context, o app.Options) ([]inspect.Value, error)
	Effects  func(ctx context.Context, o app.Options) (inspect.Effects, error)
	Path     func(ctx context.Context, o app.Options) ([]inspect.Place, error)
	Schema   func() (json.RawMessage, error)
}

// PermissionDeps are the functions of "myelin permissions".
type PermissionDeps struct {
	Why  func(ctx context.Context, o app.Options, r CallRequest) (inspect.Decision, error)
	Test func(ctx context.Context, o app.Options, file string, tell func(inspect.Check)) error
	List func(ctx context.Context, o app.Options) ([]inspect.RuleRow, error)
}

// SandboxDeps are the functions of "myelin sandbox".
type SandboxDeps struct {
	Status func(ctx context.Context, o app.Options) ([]inspect.Check, error)
	Run    func(ctx context.Context, o app.Options, args []string, p Process) (code int, err error)
}

// PolicyDeps are the functions of "myelin policy".
type PolicyDeps struct {
	Show    func(ctx context.Context, o app.Options) (json.RawMessage, error)
	Refresh func(ctx context.Context, o app.Options) (note string, err error)
}

// TaskDeps are the functions of "myelin tasks"; session may be empty: the newest of the folder.
type TaskDeps struct {
	List   func(ctx context.Context, session string) ([]app.Task, error)
	Stop   func(ctx context.Context, session, id string) (app.Task, error)
	Output func(ctx context.Context, session, id string, follow bool, out io.Writer) error
}

// HookList is the configured hooks.
type HookList struct {
	Hooks    []inspect.HookRow `json:"hooks"`
	Problems []string          `json:"problems,omitempty"`
	Disabled string            `json:"disabled,omitempty"` // why hooks are off
}

// FakeAPIRequest says what "myelin fake-api" serves.
type FakeAPIRequest struct {
	Script string // file
	API    string // anthropic, openai-responses, openai-chat, gemini
	Listen string // loopback address and port
	Log    string // file for the requests, empty: none
}

// StateRequest says what "myelin state" prints.
type StateRequest struct {
	Session string   // empty: the newest of the folder
	Cwd     string   // absolute
	Fields  []string // SLICE or SLICE.FIELD; none: everything
	JSON    bool
	Diff    [2]string // two revisions, empty: none
	Names   bool      // the fields with type, lifetime and writer, no values
}

// ReplayRequest says what "myelin replay" does.
type ReplayRequest struct {
	File string
	At   string    // revision, empty: the last
	Diff [2]string // two revisions, empty: none
	Fork bool      // start a session from there
	JSON bool
}

// CallRequest is a tool call to be explained.
type CallRequest struct {
	Tool     string
	Argument string          // the one thing the tool is called with
	Input    json.RawMessage // or its whole input
	Mode     string          // empty: that of the settings
}

// HookRequest says which hooks are tried, on what.
type HookRequest struct {
	Event string
	Match string          // tool name or the event's own key
	Input json.RawMessage // fields of the hook's input beside the usual ones
	JSON  bool
}
