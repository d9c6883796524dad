package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/session"
)

// Reading says how a session's events are read.
type Reading = events.Reading

// errClosed is the cause that ends a turn when its session is closed.
var errClosed = errors.New("the session was ended")

// Session is one conversation and everything around it. Operations go in with Do, events come out
// of Events; every surface talks to it in this way alone. All methods are safe for concurrent use.
type Session struct {
	rooms *rooms // what wire.go built

	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds one: there may be something to do
	done   chan struct{} // closed when the worker has ended

	closing sync.Once
	closed  error // set in closing

	history []msg.Message // of the conversation; only the worker touches it
	kept    engine.Kept   // of the conversation, by its runs; likewise

	thinking atomic.Pointer[int] // budget in tokens; nil: default
	prompts  atomic.Int64        // user messages so far

	sceneMu         sync.Mutex // guards what the classifier may see
	sceneMessages   []msg.Message
	classifierNotes []string

	mu     sync.Mutex              // guards the rest
	bodies map[string]proto.Prompt // what waits in the queue, by id
	seen   map[string]bool         // ids of prompts the session has
	last   string                  // id of the last prompt
	owed   []msg.Message           // news of ended tasks the model has not heard of
	aside  []string                // what hooks have for the model; it opens no turn
	ending context.CancelCauseFunc // ends the running turn; nil: none runs
}

// Do carries out one operation: at once, or by queueing it for the turn it belongs to. The error
// is for who asks; nothing was changed then.
func (s *Session) Do(op proto.Op) error {
	if s.ctx.Err() != nil {
		return errClosed
	}
	switch b := op.Body.(type) {
	case proto.Prompt:
		return s.prompt(b, op.From)
	case proto.Interrupt:
		s.interrupt(b)
	case proto.Answer:
		if b.By == "" {
			b.By = op.From
		}
		if !s.rooms.asks.Answer(b) {
			return fmt.Errorf("question %q is not open", b.ID)
		}
	case proto.SetMode:
		return s.rooms.rights.setMode(b.Mode)
	case proto.SetModel:
		return s.rooms.models.setModel(b.Model)
	case proto.SetThinking:
		s.setThinking(b.Budget)
	case proto.Unqueue:
		if !s.unqueue(b.ID) {
			return fmt.Errorf("prompt %q is not queued", b.ID)
		}
	case proto.StopTask:
		return s.rooms.tasks.stop(b.ID)
	case proto.ToBackground:
		return s.rooms.tasks.toBackground(b.CallID)
	case proto.Attach:
		s.attach(b)
	case proto.Detach:
		s.detach(b.Surface)
	case proto.End:
		s.end()
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

// end closes the session from inside: whoever reads its events comes to their end.
func (s *Session) end() {
	s.cancel(errClosed)
	go s.Close(context.Background()) //nolint:errcheck // the surface's own Close returns it
}

// prompt queues a prompt. While a turn runs it waits there for the next tool boundary or the next
// turn; a local command that needs neither runs at once.
func (s *Session) prompt(p proto.Prompt, from string) error {
	if len(p.Content) == 0 {
		return errors.New("the prompt is empty")
	}
	if p.ID == "" {
		p.ID = s.rooms.clock.newID()
	}
	if name, args, ok := s.command(p); ok && s.running() && s.rooms.immediate(name) {
		go s.runCommand(s.ctx, name, args) // ends with the command; it only reads and sets state
		return nil
	}
	s.mu.Lock()
	if s.seen[p.ID] {
		s.mu.Unlock()
		s.rooms.events.Emit(proto.Message{Message: msg.Message{ID: p.ID, Role: msg.User, Content: p.Content}, Replay: true})
		return nil
	}
	s.seen[p.ID], s.bodies[p.ID] = true, p
	s.mu.Unlock()
	s.rooms.hooks.noNotice(idleKey)
	kind := map[proto.Priority]session.QueueKind{proto.Now: session.Interrupt, proto.Later: session.Later}[p.Priority]
	if _, _, isCommand := s.command(p); isCommand || p.NoQuery {
		kind = session.Later
	} else if kind == "" {
		kind = session.Steer
	}
	s.rooms.remember(p)
	session.Enqueue(s.rooms.part.session, session.Queued{
		ID: p.ID, Text: msg.TextOf(p.Content), Kind: kind, From: from, At: s.rooms.clock.now(),
	})
	if kind == session.Interrupt {
		s.interrupt(proto.Interrupt{})
	}
	s.stir()
	return nil
}

// stir wakes the worker.
func (s *Session) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Session) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending != nil
}

func (s *Session) interrupt(b proto.Interrupt) {
	if b.CancelQueued {
		for _, q := range session.ClearQueue(s.rooms.part.session) {
			s.body(q.ID)
		}
	}
	s.mu.Lock()
	end := s.ending
	s.mu.Unlock()
	if end != nil {
		end(engine.ErrInterrupt)
	}
}

func (s *Session) unqueue(id string) bool {
	if !session.Unqueue(s.rooms.part.session, id) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bodies, id)
	delete(s.seen, id)
	return true
}

// body takes the content of a queued prompt.
func (s *Session) body(id string) proto.Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.bodies[id]
	delete(s.bodies, id)
	return p
}

// work runs turns until the session ends. It is the one goroutine that touches the history.
func (s *Session) work() {
	defer close(s.done)
	for {
		batch := s.nextPrompts()
		owed := s.takeOwed()
		switch {
		case s.ctx.Err() != nil:
			return
		case len(batch) > 0 || len(owed) > 0:
			s.turn(batch, owed)
			continue
		}
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
	}
}

// nextPrompts takes what the next turn answers: everything that waits up to the first command, or
// one command.
func (s *Session) nextPrompts() []proto.Prompt {
	var batch []proto.Prompt
	for _, q := range s.rooms.part.session.Get().Queue {
		s.mu.Lock()
		p, ok := s.bodies[q.ID]
		s.mu.Unlock()
		_, _, isCommand := s.command(p)
		alone := isCommand || p.NoQuery
		if !ok || (alone && len(batch) > 0) {
			break
		}
		if !session.Unqueue(s.rooms.part.session, q.ID) {
			continue // taken back at this moment
		}
		batch = append(batch, s.body(q.ID))
		if alone {
			break
		}
	}
	return batch
}

// steer takes what was typed for the running turn, and news of tasks.
func (s *Session) steer() []msg.Message {
	out := append(s.takeOwed(), reminder(s.takeAside())...)
	for _, q := range session.Take(s.rooms.part.session, session.Steer) {
		p := s.body(q.ID)
		out = append(out, msg.Message{ID: p.ID, Role: msg.User, Content: p.Content})
	}
	return out
}

// owe leaves news for the model: beside the next results when a turn runs, else it opens one.
func (s *Session) owe(m ...msg.Message) {
	s.mu.Lock()
	s.owed = append(s.owed, m...)
	s.mu.Unlock()
	s.stir()
}

// later leaves texts for the model beside whatever it is told next. They open no turn.
func (s *Session) later(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aside = append(s.aside, texts...)
}

func (s *Session) takeOwed() []msg.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.owed
	s.owed = nil
	return out
}

// takeAside takes what goes to the model with the next messages.
func (s *Session) takeAside() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.aside
	s.aside = nil
	return out
}

// command takes a prompt apart that is a slash command.
func (s *Session) command(p proto.Prompt) (name, args string, ok bool) {
	if p.Literal || len(p.Content) != 1 {
		return "", "", false
	}
	t, isText := p.Content[0].(msg.Text)
	if !isText || !strings.HasPrefix(t.Text, "/") {
		return "", "", false
	}
	name, args, _ = strings.Cut(strings.TrimSpace(t.Text[1:]), " ")
	return name, strings.TrimSpace(args), slices.Contains(s.rooms.commandNames(), name)
}
