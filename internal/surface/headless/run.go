package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Session is what a headless run needs of a session.
type Session interface {
	// Do carries out one operation.
	Do(proto.Op) error
	// Events joins the stream at once and yields everything that happens from then on, in order, until
	// the session is closed or ctx ends.
	Events(ctx context.Context) iter.Seq[proto.Event]
	// Close ends the session and everything it started.
	Close(ctx context.Context) error
}

// Format is the form of the output.
type Format string

// The formats of the output.
const (
	Text       Format = "text"        // the final text alone
	JSON       Format = "json"        // one line: the result, or with Verbose an array of all messages
	StreamJSON Format = "stream-json" // a line a message, as they happen
)

// Options say what is sent and what is told. Out, Err and Prompt are needed.
type Options struct {
	Format  Format      // empty: text
	Prompt  []msg.Block // what is asked
	Verbose bool        // JSON: every message, not the result alone
	Brief   bool        // text: also what SendUserMessage says, as it is said
	SDK     bool        // an Agent SDK started the process: exit codes 0, 1 and 143 only, notices on the wire only

	Partial      bool // stream-json: answers piece by piece
	HookEvents   bool // hooks of every event
	Replay       bool // echo prompts a host sent
	StateEvents  bool // whether the session works
	SubagentText bool // what subagents say and think

	Out io.Writer
	Err io.Writer

	Signals <-chan os.Signal // SIGINT, SIGTERM, SIGHUP; nil: none are heeded
	Init    func() Init      // facts for the opening message of a turn; nil: none
	NewID   func() string    // nil: random UUIDs
	Now     func() time.Time // nil: the clock

	AgentWait time.Duration // longest wait for background agents after the answer; 0: 5 minutes
	CloseWait time.Duration // longest wait for the session to close; 0: 2 seconds
	StopWait  time.Duration // longest wait for an interrupted turn's result; 0: 5 seconds
}

func (o Options) withDefaults() Options {
	if o.Format == "" {
		o.Format = Text
	}
	if o.Err != nil {
		o.Err = visible.Writer(o.Err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AgentWait == 0 {
		o.AgentWait = 5 * time.Minute
	}
	if o.CloseWait == 0 {
		o.CloseWait = 2 * time.Second
	}
	if o.StopWait == 0 {
		o.StopWait = 5 * time.Second
	}
	return o
}

// wire reports whether the exit codes of the SDKs hold.
func (o Options) wire() bool { return o.SDK || o.Format == StreamJSON }

// settle is how long an ended background agent's follow-up turn may take to begin.
const settle = 3 * time.Second

// surfaceID is the id of this surface in the session.
const surfaceID = "headless"

// Run sends the prompt and writes what the session tells until the turn, and the follow-up turns
// of background agents, are over. Then it ends what still runs, closes the session and returns
// the exit status. It is done within AgentWait after the answer, and within CloseWait after that,
// whatever hangs.
func Run(ctx context.Context, s Session, o Options) int {
	o = o.withDefaults()
	r := &run{session: s, opt: o, out: newWriter(o), live: map[string]proto.Task{}}
	code := r.turns(ctx)
	closing, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), o.CloseWait, errors.New("the session did not close in time"))
	defer cancel()
	closed := make(chan error, 1) // holds one: the goroutine ends with Close, or with the process
	go func() { closed <- s.Close(closing) }()
	select {
	case err := <-closed:
		if err != nil && !r.broken {
			r.complain("close the session: " + err.Error())
		}
	case <-closing.Done():
	}
	return code
}

// run is the state of one headless run; one goroutine owns it.
type run struct {
	session Session
	opt     Options
	out     *writer

	live    map[string]proto.Task // running background tasks
	owed    int                   // background agents that ended and the model was not told of
	turning bool                  // a turn runs
	result  *proto.Result         // the last one
	broken  bool                  // nobody reads our output any more
	killed  os.Signal             // the signal that ended the run
}

// turns follows the session until everything owed was told, and returns the exit status.
func (r *run) turns(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan proto.Event, 128) // a switch of goroutines for each would cost more than the event
	joined := r.session.Events(ctx)       // before the prompt is sent: nothing of its turn may be missed
	go func() {                           // ends with the session, or with ctx
		defer close(events)
		for e := range joined {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := r.begin(); err != nil {
		r.complain(err.Error())
		return ExitOther
	}
	r.turning = true // the prompt is on its way
	r.follow(ctx, events)
	return r.finish(ctx)
}

func (r *run) begin() error {
	attach := proto.O(proto.Attach{Surface: surfaceID, Kind: "headless"})
	prompt := proto.O(proto.Prompt{Content: r.opt.Prompt})
	for _, op := range []proto.Op{attach, prompt} {
		op.From = surfaceID
		if err := r.session.Do(op); err != nil {
			return fmt.Errorf("send the prompt: %w", err)
		}
	}
	return nil
}

// follow reads events until the answer is there and no background agent owes a turn.
func (r *run) follow(ctx context.Context, events <-chan proto.Event) {
	var deadline <-chan time.Time // of the waiting that goes on now
	var overall <-chan time.Time  // of all waiting after the answer
	for {
		switch {
		case r.broken:
			return
		case r.killed == nil && r.answered() && overall == nil:
			if !r.waits() {
				return
			}
			overall = time.After(r.opt.AgentWait)
		case r.answered() && (r.killed != nil || !r.waits()):
			return
		}
		deadline = r.deadline(deadline)
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			r.event(e)
			deadline = nil
		case sig := <-r.opt.Signals:
			if r.signal(sig) {
				return
			}
			overall = time.After(r.opt.StopWait)
		case <-deadline:
			r.owed = 0 // no turn followed: it was told some other way
		case <-overall:
			return
		case <-ctx.Done():
			return
		}
	}
}

// answered reports whether a result is there and no turn runs.
func (r *run) answered() bool { return r.result != nil && !r.turning }

// waits reports whether background agents still run or owe a turn.
func (r *run) waits() bool {
	if r.owed > 0 {
		return true
	}
	for _, t := range r.live {
		if t.Kind == "agent" {
			return true
		}
	}
	return false
}

// deadline bounds the wait for a follow-up turn of an agent that has ended.
func (r *run) deadline(set <-chan time.Time) <-chan time.Time {
	if !r.answered() || r.owed == 0 {
		return nil
	}
	if set == nil {
		return time.After(settle)
	}
	return set
}

// signal heeds one signal and reports whether the run is over.
func (r *run) signal(sig os.Signal) bool {
	again := r.killed != nil
	r.killed = sig
	if sig != syscall.SIGINT || again || r.answered() {
		return true
	}
	op := proto.O(proto.Interrupt{CancelQueued: true})
	op.From = surfaceID
	return r.session.Do(op) != nil
}

func (r *run) event(e proto.Event) {
	switch b := e.Body.(type) {
	case proto.TurnStarted:
		if e.Agent == "" {
			r.turning = true
		}
	case proto.Result:
		if e.Agent == "" {
			b = completed(b)
			r.turning, r.result = false, &b
		}
	case proto.Message:
		if b.Message.Origin == msg.FromTask {
			r.owed = 0
		}
	case proto.TaskStarted:
		r.task(b.Task)
	case proto.TaskUpdated:
		r.task(b.Task)
	case proto.TaskEnded:
		if t, ok := r.live[b.Task.ID]; ok && t.Kind == "agent" {
			r.owed++
		}
		delete(r.live, b.Task.ID)
	case proto.Ask:
		r.refuse(b)
	}
	if err := r.out.event(e); err != nil {
		r.brokenBy(err)
	}
}

func (r *run) task(t proto.Task) {
	over := t.Status != "running" && t.Status != "pending"
	if t.Backgrounded && !over {
		r.live[t.ID] = t
	}
}

// refuse answers a question that came although nobody is here to answer: with no.
func (r *run) refuse(a proto.Ask) {
	op := proto.O(proto.Answer{ID: a.ID, Behavior: "deny", By: surfaceID, Message: "nobody is here to answer"})
	op.From = surfaceID
	if err := r.session.Do(op); err != nil {
		r.complain("refuse a question: " + err.Error())
	}
}

// brokenBy ends the run because its output cannot be written. A reader that went away is no
// reason to complain; a full disk is.
func (r *run) brokenBy(err error) {
	r.broken = true
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
		r.complain("write the output: " + err.Error())
	}
}

// finish writes what is left to write and returns the exit status.
func (r *run) finish(ctx context.Context) int {
	r.endTasks()
	switch {
	case r.broken:
		return ExitOther
	case r.killed != nil:
		if r.killed == syscall.SIGINT && r.answered() {
			if err := r.out.close(*r.result); err != nil {
				r.brokenBy(err)
			}
		}
		return signalExit(r.killed, r.opt.wire())
	case ctx.Err() != nil:
		r.complain("stopped: " + context.Cause(ctx).Error())
		return ExitOther
	case r.result == nil:
		r.complain("the session ended without an answer")
		return ExitOther
	}
	if err := r.out.close(*r.result); err != nil {
		r.brokenBy(err)
		return ExitOther
	}
	return exitCode(*r.result, r.opt.wire())
}

// endTasks ends what runs in the background and says so.
func (r *run) endTasks() {
	var names []string
	for id, t := range r.live {
		op := proto.O(proto.StopTask{ID: id})
		op.From = surfaceID
		if err := r.session.Do(op); err != nil {
			continue // closing the session ends it in any case
		}
		names = append(names, fmt.Sprintf("%s %q", t.Kind, firstLine(t.Description)))
	}
	if len(names) == 0 || r.killed != nil || r.broken {
		return
	}
	slices.Sort(names)
	r.complain("ended with the session: " + strings.Join(names, ", "))
}

// complain writes a line for people. That it cannot be written is nobody's to hear.
func (r *run) complain(text string) { fmt.Fprintf(r.opt.Err, "myelin: %s\n", visible.Line(text)) }

// Refused writes what a host expects of a session that cannot be resumed, and returns the exit
// status: the result with all counters zero where the output is JSON, and a line on Err.
func Refused(o Options, session, text string) int {
	o = o.withDefaults()
	if o.Format != Text {
		raw := line(newMapper(mapOptions{NewID: o.NewID, Now: o.Now}).refused(session, text))
		if _, err := o.Out.Write(raw); err != nil {
			fmt.Fprintf(o.Err, "myelin: write the output: %v\n", err)
		}
	}
	fmt.Fprintln(o.Err, text)
	return ExitOther
}
