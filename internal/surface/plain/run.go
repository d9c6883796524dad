package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Session is what the face needs of a session.
type Session interface {
	// Do carries out one operation.
	Do(proto.Op) error
	// Events joins the stream at once and yields everything that happens from then on, in order, until
	// the session is closed or ctx ends.
	Events(ctx context.Context) iter.Seq[proto.Event]
	// View is a snapshot of what is in force.
	View() View
	// Close ends the session and everything it started.
	Close(ctx context.Context) error
}

// View is what a screen shows of a session beside its events. Zero numbers are unknown or none.
type View struct {
	Session       string
	Title         string
	Cwd           string
	Model         string // provider/id
	Mode          string // permission mode
	Modes         []string
	CostUSD       float64
	BudgetUSD     float64
	ContextUsed   int // tokens
	ContextWindow int // tokens
	Running       int // tasks in the background
	Branch        string
}

// SessionChoice is an earlier session one can go on with.
type SessionChoice struct {
	ID   string
	Text string // one line for people
}

// Completer completes the word before the cursor. It is called in a goroutine of its own.
type Completer func(ctx context.Context, before string) []Completion

// Completion is one way to go on: the last Replace bytes before the cursor become Text.
type Completion struct {
	Text    string
	Replace int
	Note    string // beside it in the list
}

// Options say where and how the session is shown.
type Options struct {
	Terminal screen.Terminal     // nil: line by line on In and Out
	In       io.Reader           // line by line
	Out      io.Writer           // line by line
	LineMode bool                // line by line although there is a terminal
	Getenv   func(string) string // nil: an empty environment
	Signals  <-chan os.Signal    // see [Signals]; nil: none are heeded
	Now      func() time.Time    // nil: the clock

	Prompt   string // sent at once, empty: none
	Version  string // for the first line
	Quiet    bool   // no lines at the start
	History  History
	Complete Completer
	// Commands are the names of the session's slash commands, without the slash; nil: unknown.
	Commands func() []string
	// ProgramEnv is the environment of the editor; nil: this process's.
	ProgramEnv func() []string
	Sessions   func(ctx context.Context) ([]SessionChoice, error)
}

// The exit codes of an interactive session.
const (
	exitDone   = 0
	exitFailed = 1
	exitHangup = 129
	exitTerm   = 143
)

// surfaceID is the id of this surface in the session.
const surfaceID = "plain"

// closeWait is the longest a session may take to close before the program ends anyway.
const closeWait = 5 * time.Second

// Run shows a session until the person leaves it, closes it and returns the exit status. The
// terminal is left as it was found, also after a panic.
func Run(ctx context.Context, s Session, o Options) int {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var code int
	if o.LineMode || o.Terminal == nil {
		code = runLines(ctx, s, o)
	} else {
		code = runKeys(ctx, s, o)
	}
	return closeSession(ctx, s, o, code)
}

// closeSession closes the session within a bounded time; a signal cuts even that short.
func closeSession(ctx context.Context, s Session, o Options, code int) int {
	closing, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), closeWait, errors.New("the session did not close in time"))
	defer cancel()
	done := make(chan error, 1) // holds one: the goroutine ends with Close, or with the process
	go func() { done <- s.Close(closing) }()
	for {
		select {
		case err := <-done:
			if err != nil && o.Out != nil {
				fmt.Fprintf(o.Out, "close the session: %s\n", visible.Line(err.Error()))
			}
			return code
		case <-closing.Done():
			return code
		case sig := <-o.Signals:
			if !screen.IsResize(sig) && !screen.IsContinue(sig) {
				return code
			}
		}
	}
}

// follow passes the session's events on until it ends; then the channel is closed.
func follow(ctx context.Context, s Session, crashed chan<- any) <-chan proto.Event {
	events := make(chan proto.Event)
	joined := s.Events(ctx)      // before anything is sent: nothing of its turn may be missed
	go guarded(crashed, func() { // ends with the session, or with ctx
		defer close(events)
		for e := range joined {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	})
	return events
}

// guarded runs f and hands a panic to whoever can put the terminal right first.
func guarded(crashed chan<- any, f func()) {
	defer func() {
		if r := recover(); r != nil {
			crashed <- r
		}
	}()
	f()
}
