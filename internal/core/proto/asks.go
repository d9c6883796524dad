package proto

import (
	"context"
	"sync"
)

// Asks is the table of open questions, of every kind. The first answer wins, later ones are
// ignored, and everybody is told when a question is closed. The zero Asks is empty and ready; it
// is safe for concurrent use.
type Asks struct {
	// Tell is called with each [Ask] when it opens and each [AskClosed] when it ends, never under a
	// lock. It must be set before the first question.
	Tell func(EventBody)

	mu   sync.Mutex // guards open
	open map[string]*openAsk
}

type openAsk struct {
	ask    Ask
	answer chan Answer // holds one
}

// Put opens a question and waits for its answer. When ctx ends first the question is withdrawn
// and the context's cause is returned.
func (a *Asks) Put(ctx context.Context, ask Ask) (Answer, error) {
	o := &openAsk{ask: ask, answer: make(chan Answer, 1)}
	a.mu.Lock()
	if a.open == nil {
		a.open = map[string]*openAsk{}
	}
	a.open[ask.ID] = o
	a.mu.Unlock()
	a.Tell(ask)
	select {
	case got := <-o.answer:
		return got, nil
	case <-ctx.Done():
	}
	if !a.take(ask.ID) { // answered at the same moment
		return <-o.answer, nil
	}
	cause := context.Cause(ctx)
	a.Tell(AskClosed{ID: ask.ID, Why: cause.Error()})
	return Answer{}, cause
}

// Answer gives an answer. It reports false when the question is not open (any more).
func (a *Asks) Answer(answer Answer) bool {
	a.mu.Lock()
	o, ok := a.open[answer.ID]
	delete(a.open, answer.ID)
	a.mu.Unlock()
	if !ok {
		return false
	}
	o.answer <- answer
	a.Tell(AskClosed{ID: answer.ID, By: answer.By, Behavior: answer.Behavior})
	return true
}

// Open returns the open questions, in no order.
func (a *Asks) Open() []Ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Ask, 0, len(a.open))
	for _, o := range a.open {
		out = append(out, o.ask)
	}
	return out
}

func (a *Asks) take(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.open[id]
	delete(a.open, id)
	return ok
}
