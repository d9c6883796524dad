package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

// Reading says how a session's events are read.
type Reading = events.Reading

// errClosed is the cause that ends a turn when its session is closed.
var errClosed = errors.New("the session was ended")

// Session is one main conversation, its agents' and everything around them. Operations go in with Do, events
// come out of Events; every surface talks to it in this way alone. All methods are safe for concurrent use.
type Session struct {
	rooms  *rooms // what wire.go built
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the worker has ended

	closing sync.Once
	closed  error // set in closing
}

// Do carries out one operation: at once, or by queueing it for the turn it belongs to. It waits for nobody. The
// error is for who asks; nothing was changed then.
func (s *Session) Do(op proto.Op) error {
	r := s.rooms
	if r.ctx.Err() != nil {
		return errClosed
	}
	switch b := op.Body.(type) {
	case proto.Prompt:
		return r.main.Prompt(b, op.From)
	case proto.Interrupt:
		r.main.Interrupt(b.CancelQueued)
	case proto.Answer:
		if b.By == "" {
			b.By = op.From
		}
		if !r.asks.Answer(b) {
			return fmt.Errorf("question %q is not open", b.ID)
		}
	case proto.SetMode:
		return r.rights.setMode(b.Mode)
	case proto.SetModel:
		return r.models.setModel(b.Model)
	case proto.SetThinking:
		r.models.thinking.Store(b.Budget)
	case proto.Unqueue:
		if !r.main.Unqueue(b.ID) {
			return fmt.Errorf("prompt %q is not queued", b.ID)
		}
	case proto.StopTask:
		return r.tasks.Stop(b.ID)
	case proto.ToBackground:
		return r.tasks.ToBackground(b.CallID)
	case proto.Attach:
		attach(r.part.surface, b, r.clock.now())
	case proto.Detach:
		detach(r.part.surface, b.Surface)
	case proto.End:
		r.end()
	default:
		return fmt.Errorf("operation %q is not known here", op.Type)
	}
	return nil
}

// Events joins the session's stream at once and yields what happens, in order, from where how says.
// It ends when the session is closed or ctx ends. A reader that must have everything makes the loop
// wait when it is more than a ring of events behind; operations never wait for a reader.
func (s *Session) Events(ctx context.Context, how Reading) iter.Seq[proto.Event] {
	return s.rooms.events.Read(ctx, how)
}

// State is the state as it stands. It is a snapshot and never changes.
func (s *Session) State() *State { return s.rooms.store.Get() }

// View is what a screen shows now.
func (s *Session) View() View {
	v := screenOf(s.rooms.store.Get(), s.rooms.opts.MaxBudgetUSD)
	v.Style = strings.ToLower(*s.rooms.instructions.style.Load())
	return v
}

// Commands lists the slash commands of the session.
func (s *Session) Commands() []Command {
	var out []Command
	for _, c := range commands() {
		out = append(out, c.Command)
	}
	return out
}

// ProgramEnv is the environment of a program that the user's own keys start, such as an editor.
func (s *Session) ProgramEnv() []string { return s.rooms.programs.editorEnv() }

// Close ends the session: the turn, its calls, background tasks and everything that was started,
// named services kept on request excepted. It returns when nothing of it lives any more, or when
// ctx ends.
func (s *Session) Close(ctx context.Context) error {
	s.cancel(errClosed)
	select {
	case <-s.done:
	case <-ctx.Done():
		return fmt.Errorf("close the session: %w", context.Cause(ctx))
	}
	ended := make(chan struct{})
	go func() { // ends with the rooms, also when nobody waits for them any more
		defer close(ended)
		s.closing.Do(func() {
			s.closed = s.rooms.close(ctx)
			s.rooms.events.Close()
		})
	}()
	select {
	case <-ended:
		return s.closed
	case <-ctx.Done():
		return fmt.Errorf("close the session: %w", context.Cause(ctx))
	}
}
