package conversation

import (
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/session"
)

// waiting is what waits to be said to the model: prompts, news it is owed, and what goes beside whatever it
// is told next.
type waiting struct {
	given Given
	wake  chan struct{} // holds one: there may be something to do

	mu     sync.Mutex              // guards the rest
	bodies map[string]proto.Prompt // what waits in the queue, by id
	seen   map[string]bool         // ids of prompts the conversation has
	last   string                  // id of the last prompt
	owed   []msg.Message           // news the model has not heard of
	aside  []string                // it opens no turn
}

func newWaiting(given Given) waiting {
	return waiting{given: given, wake: make(chan struct{}, 1), bodies: map[string]proto.Prompt{}, seen: map[string]bool{}}
}

// command is what the program carries out for a prompt; nil: it is for the model.
func (w *waiting) command(p proto.Prompt) *Command {
	if w.given.Turns.Command == nil {
		return nil
	}
	return w.given.Turns.Command(p)
}

// enter takes a prompt in, and reports whether it is new.
func (w *waiting) enter(p proto.Prompt) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[p.ID] {
		return false
	}
	w.seen[p.ID], w.bodies[p.ID], w.last = true, p, p.ID
	return true
}

// have notes that the conversation has messages already.
func (w *waiting) have(messages []msg.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range messages {
		w.seen[m.ID] = true
	}
}

// enqueue enters a prompt in the queue, and returns when it is for.
func (w *waiting) enqueue(p proto.Prompt, from string) session.QueueKind {
	kind := map[proto.Priority]session.QueueKind{proto.Now: session.Interrupt, proto.Later: session.Later}[p.Priority]
	if p.NoQuery || w.command(p) != nil {
		kind = session.Later
	} else if kind == "" {
		kind = session.Steer
	}
	session.Enqueue(w.given.Session, session.Queued{ID: p.ID, Text: msg.TextOf(p.Content), Kind: kind, From: from, At: w.given.Effects.Now()})
	return kind
}

// stir wakes the worker.
func (w *waiting) stir() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// forget empties the queue.
func (w *waiting) forget() {
	for _, q := range session.ClearQueue(w.given.Session) {
		w.body(q.ID)
	}
}

func (w *waiting) takeBack(id string) bool {
	if !session.Unqueue(w.given.Session, id) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.bodies, id)
	delete(w.seen, id)
	return true
}

// body takes the content of a queued prompt.
func (w *waiting) body(id string) proto.Prompt {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.bodies[id]
	delete(w.bodies, id)
	return p
}

// nextPrompts takes what the next turn answers: everything that waits up to the first command, or one
// command.
func (w *waiting) nextPrompts() []proto.Prompt {
	var batch []proto.Prompt
	for _, q := range w.given.Session.Get().Queue {
		w.mu.Lock()
		p, ok := w.bodies[q.ID]
		w.mu.Unlock()
		alone := ok && (p.NoQuery || w.command(p) != nil)
		if !ok || (alone && len(batch) > 0) {
			break
		}
		if !session.Unqueue(w.given.Session, q.ID) {
			continue // taken back at this moment
		}
		batch = append(batch, w.body(q.ID))
		if alone {
			break
		}
	}
	return batch
}

// steer takes what was typed for the running turn, and news of tasks.
func (w *waiting) steer() []msg.Message {
	out := append(w.takeOwed(), msg.Reminder(w.takeAside())...)
	for _, q := range session.Take(w.given.Session, session.Steer) {
		p := w.body(q.ID)
		out = append(out, msg.Message{ID: p.ID, Role: msg.User, Content: p.Content})
	}
	return out
}

func (w *waiting) owe(m []msg.Message) {
	w.mu.Lock()
	w.owed = append(w.owed, m...)
	w.mu.Unlock()
	w.stir()
}

func (w *waiting) later(texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aside = append(w.aside, texts...)
}

func (w *waiting) takeOwed() []msg.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.owed
	w.owed = nil
	return out
}

func (w *waiting) takeAside() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.aside
	w.aside = nil
	return out
}

func (w *waiting) lastPrompt() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}
