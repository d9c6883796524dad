// Package engine is the loop: it asks a model, runs the tools the model calls, gives back the
// results, and stops when there is nothing more to do. Everything else is handed in as functions:
// the engine knows no settings, no session, no screen and no store.
//
// [Run] is the whole door. loop.go is the loop itself, execute.go runs the calls of one answer
// while it still streams, recover.go is the table of what to do when a request fails.
package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Config is what one run is given. One snapshot decides what the model sees in a round; Authorize,
// Confine and budgets read the store at each call, so a tightened rule bites between two calls.
// Every function is called from the run's goroutine, but Authorize, Before, Amend and Late: they run in
// their call's goroutine, several at once. The run's goroutine alone touches the loop's state; calls hand
// back values. Model, Tools, Authorize, Record and Agent are needed; the rest may be nil.
type Config struct {
	// Model is read before each round: a switch acts at the next.
	Model func() (provider.Model, provider.Options)
	// System returns the system prompt.
	System func(ctx context.Context) ([]msg.Block, error)
	// Tools is read before each round (ToolSearch may have added some).
	Tools func() []tool.Tool
	// Shape fits the history into the window. Nil: the history is sent as it is.
	Shape func(ctx context.Context, history []msg.Message, p Pressure) (View, error)
	// Admit is asked right before every request, also before one that is made again. An end it returns
	// ends the turn, and the request is not made.
	Admit func(model provider.Info, request provider.Request) *tool.End
	// Authorize decides one call right before it starts: hooks, rules, question. The call is normalised in
	// the directory where the agent stands now, and the traits are those of its input. What runs is the
	// decided call in the verdict and nothing else. An error refuses the call.
	Authorize func(ctx context.Context, call tool.Call, traits tool.Traits) (Verdict, error)
	// Before is told of a decided call that is not free of effects right before it runs: what was recorded
	// is made durable, later a checkpoint is taken. The call does not run when it fails.
	Before func(ctx context.Context, call tool.Call, traits tool.Traits) error
	// Amend sees one finished call; not for refused or interrupted ones.
	Amend func(ctx context.Context, call tool.Call, result tool.Result) (tool.Result, *tool.End, error)
	// Batch sees all calls of a round after the last has finished.
	Batch func(ctx context.Context, calls []tool.Done) (*tool.End, error)
	// Record keeps a message before it is yielded. A failure ends the run.
	Record func(ctx context.Context, m msg.Message) error
	// Sync makes what was recorded durable at the end of the run.
	Sync func(ctx context.Context) error
	// Steer returns what was typed meanwhile, and notices of ended tasks. It is asked before each
	// round but the first.
	Steer func() []msg.Message
	// Stop is asked after every answer: for budgets always, for the stop hooks when no calls are
	// open. Messages it returns are added and the turn goes on.
	Stop func(ctx context.Context, t Turn) (Stopping, error)
	// Spent is told the usage of every request, also of failed ones that were billed.
	Spent func(Spending)
	// Late is told of a call that was given up when it did not return in time after an interrupt,
	// and ended after all. It may come after the run is over, from the call's goroutine.
	Late func(tool.Done)
	// Keep is told the history as it stands when the run ends, however it ends.
	Keep func(history []msg.Message)
	// Kept is what the runs of one conversation know of it, so that a turn pays for what is new. A run with
	// it grows the history it is handed in its place. Nil: this run begins from nothing.
	Kept *Kept
	// Lane is the lane requests are made in; empty: main.
	Lane provider.Lane
	// Agent is the scope calls run in.
	Agent   *tool.Scope
	Effects Effects
	Limits  Limits
}

// Spending is one request that was billed.
type Spending struct {
	Lane   provider.Lane
	Model  provider.Info
	Usage  msg.Usage
	Took   time.Duration
	Failed bool // it brought no whole answer
}

// Verdict is what Authorize decides of one call. The zero Verdict refuses.
type Verdict struct {
	Run     tool.Decided // what runs; the zero value: nothing
	Hold    bool         // deferred to the host: the turn ends with the call unrun
	Message string       // refused: what the model is told
	End     *tool.End    // a hook or a person ends the turn with this
	Note    []msg.Block  // goes beside the result (a comment with "yes", a hook's context)
}

// Pressure says how urgent shaping is, and why.
type Pressure struct {
	Round    int           // from 1
	Model    provider.Info // who will read it
	Options  provider.Options
	Used     int  // tokens of the last answer's usage, 0 before the first
	UsedAt   int  // number of messages in the history when Used was measured
	Reactive bool // the service said the prompt is too long: free space, whatever it takes
	Project  bool // Reactive, first step: only cheap projections, no model call
	Overhead int  // estimated tokens of system prompt and tools
}

// View is a history fitted into the window.
type View struct {
	Messages []msg.Message     // what to send; need not be sendable yet
	History  []msg.Message     // the history to go on with after a compaction; nil: unchanged
	Events   []proto.EventBody // what surfaces should be told: Shaped, Compacted
	Records  []msg.Message     // messages to record (the summary), in order
	Freed    bool              // something was saved: trying again makes sense
}

// Turn is the state of the turn that Stop looks at.
type Turn struct {
	Rounds    int           // requests answered so far
	Calls     int           // tool calls of the last answer; 0: the turn is about to end
	Answer    []msg.Message // the messages of the last answer
	Usage     msg.Usage     // of its request
	Continued int           // how often in a row Stop has made this turn go on
}

// Stopping is the answer of Stop. The zero Stopping changes nothing: a turn without calls ends.
type Stopping struct {
	Again []msg.Message // without calls: go on with these added
	End   *tool.End     // end the turn now; calls that have not started get a result that says why
}

// Limits bound one run. Zero means the default named beside each.
type Limits struct {
	Rounds     int           // model requests a turn (no bound)
	Beside     int           // calls side by side (10)
	Retries    int           // tries after the first for a failing request (10); negative: none
	Idle       time.Duration // longest silence of a stream in wall time (5 minutes)
	Grace      time.Duration // how long a cancelled call may take to return before it is given up (5 seconds)
	Repeats    int           // the same call with the same result this often in a row ends the turn (8); negative: never
	Wait       time.Duration // longest wait a service may ask for before a request is made again (no bound)
	StreamOnly bool          // never fall back to a request without streaming
}

func (l Limits) withDefaults() Limits {
	l.Beside = orDefault(l.Beside, 10)
	l.Retries = orDefault(l.Retries, 10)
	l.Idle = orDefault(l.Idle, 5*time.Minute)
	l.Grace = orDefault(l.Grace, 5*time.Second)
	l.Repeats = orDefault(l.Repeats, 8)
	return l
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// Effects are the loop's only sources of time, identity and chance, so that a run can be replayed.
// Nil fields are filled with the real ones.
type Effects struct {
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error // returns early with the context's error
	NewID  func() string                                    // a UUID
	Jitter func() float64                                   // in [0, 1)
}

func (e Effects) withDefaults() Effects {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Sleep == nil {
		e.Sleep = sleep
	}
	if e.NewID == nil {
		e.NewID = uuid.NewString
	}
	if e.Jitter == nil {
		e.Jitter = rand.Float64
	}
	return e
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
