package plain

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/testkit/term"
)

// fakeSession is a session whose events a test writes and whose operations it reads.
type fakeSession struct {
	queue  chan proto.Event
	ops    chan proto.OpBody
	mu     sync.Mutex // guards view
	view   View
	refuse error
}

func newSession() *fakeSession {
	return &fakeSession{
		queue: make(chan proto.Event, 100_000),
		ops:   make(chan proto.OpBody, 1000),
		view:  View{Session: "s-1", Cwd: "/p", Model: "test/m", Mode: "default", ContextWindow: 200000, ContextUsed: 62000, CostUSD: 0.42},
	}
}

func (s *fakeSession) Do(op proto.Op) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.ops <- op.Body
	return nil
}

func (s *fakeSession) Events(ctx context.Context) iter.Seq[proto.Event] {
	return func(yield func(proto.Event) bool) {
		for {
			select {
			case e, ok := <-s.queue:
				if !ok || !yield(e) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *fakeSession) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

func (s *fakeSession) Close(context.Context) error { return nil }

func (s *fakeSession) tell(bodies ...proto.EventBody) {
	for _, b := range bodies {
		s.queue <- proto.E(b)
	}
}

// says is an answer of text, in pieces.
func says(parts ...string) []proto.EventBody {
	out := []proto.EventBody{
		proto.RequestStarted{},
		proto.AnswerStarted{Response: "r"},
		proto.BlockStarted{Kind: "text"},
	}
	for _, p := range parts {
		out = append(out, proto.Delta{Kind: "text", Text: p})
	}
	return append(out, proto.Message{Message: msg.Message{
		ID: "m", Role: msg.Assistant, Response: "r", Content: []msg.Block{msg.Text{Text: strings.Join(parts, "")}},
	}}, proto.BlockEnded{}, proto.AnswerEnded{Response: "r"})
}

func turn(bodies ...proto.EventBody) []proto.EventBody {
	out := append([]proto.EventBody{proto.TurnStarted{Cwd: "/p", Model: "test/m", Mode: "default"}}, bodies...)
	return append(out, proto.Result{Subtype: "success", Turns: 1, DurationMS: 1500, Ended: proto.Ended{Reason: proto.EndCompleted}})
}

// rig is a session shown on a fake terminal.
type rig struct {
	t       testing.TB
	term    *term.Fake
	session *fakeSession
	signals chan os.Signal
	code    chan int
	ended   bool
}

// start runs a session on a fake terminal of a size, until the test ends.
func start(t *testing.T, w, h int, change func(*Options)) *rig {
	t.Helper()
	return startOn(t, term.Open(w, h, true), change)
}

func startOn(t testing.TB, fake *term.Fake, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, term: fake, session: newSession(), signals: make(chan os.Signal, 4), code: make(chan int, 1)}
	o := Options{Terminal: fake, Signals: r.signals, Getenv: env("TERM", "xterm-256color", "LANG", "C.UTF-8")}
	if change != nil {
		change(&o)
	}
	go func() { r.code <- Run(t.Context(), r.session, o) }()
	t.Cleanup(func() {
		if !r.ended {
			fake.Stick(false)
			fake.Hangup()
			r.exit()
		}
	})
	if _, ok := r.op().(proto.Attach); !ok {
		t.Fatal("the surface did not tell of itself first")
	}
	return r
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

func (r *rig) op() proto.OpBody {
	r.t.Helper()
	select {
	case op := <-r.session.ops:
		return op
	case <-r.t.Context().Done():
		r.t.Fatal("no operation came")
		return nil
	}
}

// prompt is the text of the next operation, which must be a prompt.
func (r *rig) prompt() string {
	r.t.Helper()
	op := r.op()
	p, ok := op.(proto.Prompt)
	if !ok {
		r.t.Fatalf("want a prompt, got %T %+v", op, op)
	}
	return msg.TextOf(p.Content)
}

func (r *rig) exit() int {
	r.ended = true
	return <-r.code
}

// bare runs a session without its first lines.
func bare(o *Options) { o.Quiet = true }

func (r *rig) screen() string {
	var out string
	r.term.Look(func(g *term.Grid) { out = strings.Join(g.Lines(), "\n") })
	return out
}

func (r *rig) awaitCursor(row, col int) {
	r.t.Helper()
	r.term.Await(r.t, fmt.Sprintf("cursor at %d,%d", row, col), func(g *term.Grid) bool {
		y, x := g.Cursor()
		return y == row && x == col
	})
}
