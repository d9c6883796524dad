// Package tool is the contract between the loop, the permission gate and the tools: what a tool
// says of itself and of one call, and what a call returns.
//
// Traits are data, so permission, sandbox and scheduling decide without knowing any tool. A tool's
// world comes in when it is built; a [Call] stays small. Begin with [Tool] and [New].
package tool

import (
	"context"
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Tool is one tool. Implementations are safe for concurrent use.
type Tool interface {
	// Spec describes the tool to the model. It never changes for one value.
	Spec() Spec
	// Normalise returns the call as hooks, rules and Run shall see it: absolute paths, defaults
	// filled in, aliases resolved. It changes the fields it knows in Input and keeps the rest. An
	// error is the model's mistake and is told to it.
	Normalise(call Call) (Call, error)
	// Traits says what the normalised call would do. It touches nothing.
	Traits(call Call) Traits
	// Run does it. What the model got wrong is a Result with IsError, what we got wrong an error.
	// Run returns within a second after ctx ends, and nothing of the call lives on after that but
	// what was moved to the background.
	Run(ctx context.Context, call Call) (Result, error)
}

// Spec is what a tool says of itself.
type Spec struct {
	Name        string
	Description string          // for the model; short and exact
	Schema      json.RawMessage // JSON Schema of the input, an object
	Deferred    bool            // listed by name only until ToolSearch loads it
	Repeatable  bool            // its result can be had again by the same call: old ones may be left out of requests
	NeedsPerson bool            // is itself a question to a person: offered only when somebody can answer
	Keywords    string          // more words ToolSearch finds it by
	Argument    string          // field of the input that a single word of a person means; empty: none
	Asks        QuestionKind    // what its question to a person is; empty: whether the call is permitted
	Plans       bool            // belongs to plan mode: loaded when that is entered
	Finds       bool            // loads deferred tools: it names them in its description
	EndsTurn    bool            // a call that succeeds is the result of the turn
}

// QuestionKind is what the question of a call that asks a person is, so that surfaces show a form or a plan.
type QuestionKind string

// The kinds of questions that are no permission in themselves.
const (
	AsksForm QuestionKind = "question" // a form whose answers go into the input
	AsksPlan QuestionKind = "plan"     // a plan to approve
)

// Call is one call of a tool. It is a value; its raw messages must not be changed.
type Call struct {
	ID       string
	Name     string          // canonical name of the tool
	Literal  json.RawMessage // what the model (or a hook) wrote; rules on parameters compare this
	Input    json.RawMessage // normalised
	Confine  Confinement     // how the call must be confined, as decided
	Where                    // what it is about in the file system, as decided
	Progress func(Progress)  // never nil in Run; cheap, may be called from any goroutine
	Scope    *Scope          // the agent this call belongs to, never nil
}

// Real is where a path of the call leads with links followed, as it was when the call was decided. Tools
// open exactly that, along a path without links (sys/nolink), and hand back the nolink.ErrLink they meet:
// the call is then decided anew. A path nobody decided about is followed now.
func (c Call) Real(path string) (string, error) {
	for _, p := range c.Paths {
		if p.Path == path && p.Real != "" {
			return p.Real, nil
		}
	}
	return textfile.Real(path)
}

// Where is the place a call is about.
type Where struct {
	Cwd   string    // the directory it was prepared, decided and runs in; empty: where Scope stands
	Paths []PathUse // those of its traits, with where each leads
}

// Dir is the directory the call is about. Tools use it, not the scope's, which calls beside this one may
// move meanwhile.
func (c Call) Dir() string {
	if c.Cwd != "" {
		return c.Cwd
	}
	return c.Scope.Cwd()
}

// Progress is a sign of life of a running call. Its fields are added to what came before.
type Progress struct {
	Text string // output so far unseen, or a line of status
}

// Confinement says how a call must be confined. It is data: what was decided is what runs. The
// zero value confines nothing.
type Confinement struct {
	Level     ConfineLevel `json:"level,omitempty"`
	WriteDirs []string     `json:"write_dirs,omitempty"` // absolute; where a sandboxed call may write
	DenyRead  []string     `json:"deny_read,omitempty"`  // absolute; what it may not read
	DenyWrite []string     `json:"deny_write,omitempty"` // absolute; cut out of WriteDirs
	NoNetwork bool         `json:"no_network,omitempty"`
	Reason    string       `json:"reason,omitempty"` // why, for the person who asks
}

// ConfineLevel is how strictly a call is confined.
type ConfineLevel string

// The levels of confinement.
const (
	Unconfined ConfineLevel = ""
	Sandboxed  ConfineLevel = "sandboxed"
	ReadOnly   ConfineLevel = "read-only" // sandboxed, and nothing may be written
)

// Traits say what one call would do.
type Traits struct {
	ReadOnly    bool      // changes nothing outside the conversation
	Beside      bool      // may run beside other calls that say so
	Paths       []PathUse // files and folders it touches, absolute
	Command     string    // shell command text, for shell calls
	Hosts       []string  // hosts it talks to, host or host:port
	NeedsPerson bool      // cannot be answered by a rule or mode
	Shell       bool      // a failure aborts the other calls of the same answer
	NoEffect    bool      // touches only the conversation's own state (todo list, plan, questions): never asks
	Snapshot    bool      // a checkpoint is due before it
	Waits       bool      // only lets time pass: making the same call again is no sign of a loop
}

// PathUse is one path with what would be done to it.
type PathUse struct {
	Path   string
	Intent Intent
	Real   string // links followed, as it is decided about and opened; empty: as Path, or not yet known
}

// Intent is what would be done to a path.
type Intent string

// The intents, weakest first.
const (
	Read   Intent = "read"
	Search Intent = "search" // reads below the path
	Write  Intent = "write"  // creates or changes
	Delete Intent = "delete"
)

// Result is what a call returns. The zero Result is an empty success.
type Result struct {
	Content    []msg.Block     // what the model sees
	IsError    bool            // the call failed; Content says why
	Structured json.RawMessage // for hooks, hosts and screens; nil: none
	Display    string          // for people, where Content is not fit for them; empty: Content
	Cwd        string          // the agent's new working directory; empty: unchanged
	Added      int             // lines added to files
	Removed    int             // lines removed from files
	End        *End            // the tool ends the turn (structured output, a plan turned down)
}

// End ends a turn after the calls that run have finished.
type End struct {
	Reason  string // for people
	Outcome string // machine-readable: "hook_stopped", "structured_output", "denied", "plan_rejected", …
}

// Done is a finished call.
type Done struct {
	Call    Call
	Traits  Traits
	Result  Result
	Refused bool // never ran: refused by rule, hook or person
	Seconds float64
}

// Text returns a successful result of one text block.
func Text(s string) Result { return Result{Content: []msg.Block{msg.Text{Text: s}}} }

// Failed returns a result that tells the model what it got wrong or what went wrong for it.
func Failed(s string) Result {
	return Result{Content: []msg.Block{msg.Text{Text: s}}, IsError: true}
}

// Misuse returns the result of a call that was wrong before anything ran: unknown tool, bad input.
// It has the public wrapping that hooks and scripts key on, and fires no hooks.
func Misuse(s string) Result { return Failed("<tool_use_error>" + s + "</tool_use_error>") }
