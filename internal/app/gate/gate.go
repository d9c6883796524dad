// Package gate takes one tool call from its announcement to its execution: the hooks before it, the
// decision, the classifier or the question, what is granted with the answer, and the hooks after it.
//
// It yields one value, the decided call ([tool.Decided]). Every input of a call, the model's as well as one
// that a hook, a host or a person put in its place, goes through the same procedure ([Gate.Authorize]); a
// changed input begins it anew. What may run is decided by [permission.Decide], once for each input under the
// rules of that moment; the gate finds the one who answers what is asked.
//
// It is handed functions and one slice of the state, and knows no session. It confines nothing and runs
// nothing itself. Begin with [New] and [Gate.Authorize].
package gate

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/caseblind"
)

// Asker puts a question to whoever can answer and waits. It returns the context's cause when the
// question is withdrawn.
type Asker func(ctx context.Context, ask proto.Ask) (proto.Answer, error)

// Hooks are the hooks of the present settings.
type Hooks interface {
	Any(name hook.Name) bool
	Fire(ctx context.Context, e hook.Event) hook.Outcome // may wait for programs
}

// Given is what a [Gate] is handed. Functions read the present session, are safe for concurrent use, and do
// not wait unless they say so. Those that say so may be nil.
type Given struct {
	State    store.Slice[permission.State]
	Tool     func(name string) tool.Tool // nil for a tool there is not
	Dirs     func() permission.Dirs
	Settings func() Settings
	Sandbox  func() permission.Sandbox // asked for shell calls alone; the first time it may try the machine out
	ReadOnly func() bool               // a person declined to trust the folder: nothing is changed in it
	Git      func(dir string) string   // why git may not run unasked in a directory; empty: it may

	Hooks    func() Hooks
	TellHook func(hook.Outcome) // shows what hooks have for people

	Ask      Asker                                                                // may wait for a person; nil: nobody can be asked
	Silent   string                                                               // why nobody is asked, where somebody could be; may be empty
	Engaged  func(askID string) bool                                              // whether a person is busy with the question: automatic answers do not count then; may be nil
	Answerer func(surface string) string                                          // who sits behind the surface that answered: user, host, …
	Classify func(ctx context.Context, req permission.Request) permission.Verdict // may wait for a model; nil: there is no classifier
	Prompts  func() int                                                           // how many user messages there were

	Grant func(proto.PermissionUpdate) // applies what was granted with an answer; may write settings
	Tell  func(proto.EventBody)
	Drift func(scope *tool.Scope, path string) string // what became of a file that the agent knows; empty: nothing
	Note  func(texts []string)                        // what hooks leave for the classifier
	Later func(texts ...string)                       // what hooks leave for the model

	Now   func() time.Time
	NewID func() string
}

// Settings are what the gate needs to know of the settings.
type Settings struct {
	AutoInPlan    bool // useAutoModeDuringPlan
	ManagedOnly   bool // allowManagedPermissionRulesOnly
	ClassifyShell bool // autoMode.classifyAllShell
}

// Gate is the gate of a session. It is safe for concurrent use.
type Gate struct {
	given    Given
	compiled permission.Compiled
	accounts permission.Accounts
	folders  caseblind.Folders
	ledger   permission.Ledger
	early    permission.Speculations

	mu      sync.Mutex          // guards the rest
	open    map[string]*passage // calls of the running round, by id
	changed chan struct{}       // closed at the next change of rules or mode
}

// New makes a gate.
func New(given Given) *Gate {
	return &Gate{given: given, open: map[string]*passage{}, changed: make(chan struct{})}
}

// Branch says in whose name questions are settled.
type Branch string

// The branches. The zero Branch is interactive where somebody can be asked, else alone.
const (
	Interactive Branch = "interactive" // somebody sits behind it
	Coordinator Branch = "coordinator" // automated checks first, the dialog only when they do not settle
	Worker      Branch = "worker"      // the request goes to the leader
	Alone       Branch = "alone"       // nobody can be asked
)

// Turn is what the gate keeps of one turn of one conversation. The zero Turn is ready; it is safe for
// concurrent use.
type Turn struct {
	Branch  Branch
	Mailbox Asker // of a worker, to its leader; may be nil

	refusals permission.Refusals // by a person

	mu       sync.Mutex // guards the rest
	denials  []proto.Denial
	deferred *proto.DeferredCall
}

// Denials are the calls that were refused.
func (t *Turn) Denials() []proto.Denial {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.denials
}

// Deferred is the call that a hook left to the host; nil: there is none.
func (t *Turn) Deferred() *proto.DeferredCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deferred
}

func (t *Turn) deny(c tool.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.denials = append(t.denials, proto.Denial{Tool: c.Name, Call: c.ID, Input: c.Input})
}

func (t *Turn) hold(c tool.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deferred = &proto.DeferredCall{ID: c.ID, Name: c.Name, Input: c.Literal}
}

// passage is what holds for a call for as long as its round lasts, also when it is authorised a second
// time. The goroutine of its call alone touches it.
type passage struct {
	fired   bool // the hooks before the call have spoken
	hooked  hook.Outcome
	rewrite json.RawMessage     // the input hooks want; nil: they want the model's, or it was taken over
	own     json.RawMessage     // the literal input that the hooks' answer is about
	model   *permission.Request // the call as the model made it, where hooks changed it
	answer  *answer             // that came with another input
}

func (g *Gate) passage(id string) *passage {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.open[id]
	if p == nil {
		p = &passage{}
		g.open[id] = p
	}
	return p
}

// Tightened tells open questions that rules or mode changed.
func (g *Gate) Tightened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
	g.early.DropAll()
}

func (g *Gate) watch() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// forget drops what is kept of the calls of a finished round.
func (g *Gate) forget() {
	g.early.DropAll()
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.open)
}

// Recent returns up to n decisions, the newest first.
func (g *Gate) Recent(n int) []permission.Entry { return g.ledger.Recent(n) }
