// Package conversation is one conversation with a model: the main one of a session, or an agent's. It owns
// the history, the scope, the transcript, the shaper, the running turn and what waits to be said to the
// model, and it compacts itself.
//
// It is handed functions and slices and knows neither the session nor its other conversations. Where
// calls are decided, which tools there are and what a turn may cost is decided elsewhere. Begin with [New],
// [Conversation.Begin] and [Conversation.Work].
package conversation

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// Given is what a [Conversation] is handed. Functions are safe for concurrent use, read what is so at the
// moment they are called, and do not wait unless they say so.
type Given struct {
	Context context.Context // ends with the conversation; one of an agent is a child of its parent's
	Scope   *tool.Scope     // of the agent; its id is that of the events
	Effects engine.Effects
	Limits  func() engine.Limits // read at each turn

	Session session.Slice // id, activity, and the queue of what people say
	Cost    cost.Slice
	Stream  Stream
	Model   Model
	Calls   func() Calls // for one turn
	Budget  Budget
	Turns   Turns
	Shaping shaping.Config // Ask, Replaced, Hidden, Tell, Now and NewID are the conversation's own
}

// Stream is where events go.
type Stream struct {
	Tell  func(proto.Event)
	Early func(proto.EventBody) // the same before anybody reads
	Hold  func(context.Context) // waits for readers that must have everything
}

// Model is what requests are made with and of. All of it is read before each round.
type Model struct {
	Now    func() (provider.Model, provider.Options)
	Info   func(ref string) (provider.Info, bool)
	Mode   func() string // of permissions, in its outward name
	System func(context.Context) ([]msg.Block, error)
	Tools  func() []tool.Tool
	Names  func() []string // of the tools it can use, those included that must be loaded first
	// Front puts in front of what is sent what belongs to no turn and is in no transcript.
	Front func(context.Context, []msg.Message) ([]msg.Message, error)
	// Ask makes one request beside the conversation; it waits for the answer.
	Ask func(context.Context, provider.Request) ([]msg.Block, error)
}

// Calls is what happens to the calls of one turn, from announcement to result. The functions may wait.
type Calls struct {
	Announced func(ctx context.Context, call tool.Call, beside bool) // beside: others are open
	Authorize func(ctx context.Context, call tool.Call, traits tool.Traits) (engine.Verdict, error)
	Amend     func(ctx context.Context, call tool.Call, result tool.Result) (tool.Result, *tool.End, error)
	Batch     func(ctx context.Context, calls []tool.Done) (*tool.End, error)
	Outcome   func() ([]proto.Denial, *proto.DeferredCall) // of the turn
}

// Budget bounds what a conversation may use.
type Budget struct {
	May     func(context.Context) *proto.Ended              // before a turn: why no request may be made; nil: it may. It may wait for the network
	Admit   func(provider.Info, provider.Request) *tool.End // before each request: ends the turn
	After   func(model provider.Info, calls bool) *tool.End // after each answer: ends the turn; calls: some wait
	Spent   func(engine.Spending)                           // books a request
	Account func()                                          // closes the account of a turn; nil: it has none of its own
}

// Turns is what happens around turns beside the model. The functions may wait for people and programs; those
// that are nil do nothing.
type Turns struct {
	Command   func(proto.Prompt) *Command                                          // a prompt that the program carries out itself; nil: it is none
	Queued    func(proto.Prompt)                                                   // a prompt begins to wait; must not wait itself
	Open      func(ctx context.Context, prompted bool) Opening                     // before the messages that open a turn
	Submit    func(ctx context.Context, content []msg.Block) Submitted             // about each prompt
	Owed      func() string                                                        // what the model must still be reminded of before it ends; empty: nothing
	Stop      func(ctx context.Context, turn engine.Turn) (engine.Stopping, error) // the model has ended by itself
	Ended     func(ended proto.Ended, view []msg.Message)                          // a turn is over, before its result is told
	Idle      func()                                                               // and after
	Display   func(turn string) func(ctx context.Context, batch Batch) *string     // rewrites what is shown of texts; nil: nobody wants to
	EndsTurn  func(tool string) bool                                               // whether the result of a tool is the structured output; nil: none is
	Bordered  func(made []string)                                                  // before the border of a compaction is written; made: its records
	Compacted func(context.Context) []string                                       // sees to what a compaction changes elsewhere; what it has for the model
}

// Command is a prompt that the program carries out itself.
type Command struct {
	Beside bool // may run beside a turn: it only reads, or sets what the next call or round looks at
	Run    func(context.Context)
}

// Opening is what comes before the prompts of a turn.
type Opening struct {
	Context []string // for the model
	Prompt  string   // stands in front of the others; empty: none
}

// Submitted is what became of a prompt.
type Submitted struct {
	Context []string     // for the model
	Notice  string       // why it was blocked, for people
	Ended   *proto.Ended // nil: it was not blocked
}

// Conversation is one conversation. All methods are safe for concurrent use but those that say that they
// belong to its worker.
type Conversation struct {
	keeper
	scene
	given  Given
	shaper *shaping.Shaper
	waits  waiting

	history []msg.Message // the worker's
	kept    engine.Kept   // of it, by its runs; likewise
	mode    string        // permission mode the transcript knows; empty: none; the worker's

	prompts atomic.Int64 // user messages so far

	mu     sync.Mutex              // guards ending
	ending context.CancelCauseFunc // ends the running turn; nil: none runs
}

// New makes a conversation in which nothing was said.
func New(given Given) *Conversation {
	c := &Conversation{given: given, waits: newWaiting(given)}
	c.keeper.tell = c.emit
	cfg := given.Shaping
	cfg.Now, cfg.NewID, cfg.Tell, cfg.Hidden = given.Effects.Now, given.Effects.NewID, c.emit, given.Scope.Reads.Unshown
	cfg.Replaced = func(x shaping.Replacement) { c.Keep(noteReplaced, x.Call, x) }
	cfg.Ask = c.askBeside
	c.shaper = shaping.New(cfg)
	return c
}

// askBeside makes the request of a compaction: beside the instructions at its end it is the conversation's
// own, for the cache.
func (c *Conversation) askBeside(ctx context.Context, req provider.Request) ([]msg.Block, error) {
	system, err := c.given.Model.System(ctx)
	if err != nil {
		return nil, err
	}
	req.System, req.Tools = system, engine.Describe(c.given.Model.Tools())
	if req.Messages, err = c.given.Model.Front(ctx, req.Messages); err != nil {
		return nil, err
	}
	return c.given.Model.Ask(ctx, req)
}

// emit tells something of this conversation.
func (c *Conversation) emit(body proto.EventBody) {
	e := proto.E(body)
	e.Agent = c.given.Scope.Agent
	c.given.Stream.Tell(e)
}

// Work runs turns until the conversation's context ends. It is the worker: one goroutine calls it, once.
func (c *Conversation) Work() {
	for {
		batch, owed := c.waits.nextPrompts(), c.waits.takeOwed()
		switch {
		case c.given.Context.Err() != nil:
			return
		case len(batch) > 0 || len(owed) > 0:
			c.turn(batch, owed)
			continue
		}
		select {
		case <-c.waits.wake:
		case <-c.given.Context.Done():
			return
		}
	}
}

// Prompt queues a prompt. While a turn runs it waits there for the next tool boundary or the next turn; a
// command that needs neither runs at once. It waits for nothing.
func (c *Conversation) Prompt(p proto.Prompt, from string) error {
	if len(p.Content) == 0 {
		return errors.New("the prompt is empty")
	}
	if p.ID == "" {
		p.ID = c.given.Effects.NewID()
	}
	if command := c.waits.command(p); command != nil && command.Beside && c.running() {
		go command.Run(c.given.Context) // ends with the command; it only reads and sets state
		return nil
	}
	if !c.waits.enter(p) {
		c.emit(proto.Message{Message: msg.Message{ID: p.ID, Role: msg.User, Content: p.Content}, Replay: true})
		return nil
	}
	if c.given.Turns.Queued != nil {
		c.given.Turns.Queued(p)
	}
	if c.waits.enqueue(p, from) == session.Interrupt {
		c.Interrupt(false)
	}
	c.waits.stir()
	return nil
}

func (c *Conversation) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending != nil
}

// Interrupt ends the running turn, and on request forgets what waits in the queue.
func (c *Conversation) Interrupt(cancelQueued bool) {
	if cancelQueued {
		c.waits.forget()
	}
	c.mu.Lock()
	end := c.ending
	c.mu.Unlock()
	if end != nil {
		end(engine.ErrInterrupt)
	}
}

// Unqueue takes a prompt back, and reports whether it still waited.
func (c *Conversation) Unqueue(id string) bool { return c.waits.takeBack(id) }

// Owe leaves news for the model: beside the next results when a turn runs, else it opens one.
func (c *Conversation) Owe(m ...msg.Message) { c.waits.owe(m) }

// Later leaves texts for the model beside whatever it is told next. They open no turn.
func (c *Conversation) Later(texts ...string) { c.waits.later(texts) }

// Prompts is how many user messages there were.
func (c *Conversation) Prompts() int { return int(c.prompts.Load()) }

// LastPrompt is the id of the last prompt; empty: there was none.
func (c *Conversation) LastPrompt() string { return c.waits.lastPrompt() }
