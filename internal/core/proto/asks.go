package proto

import (
	"context"
	"fmt"
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

	// Guarded by Asks.mu: whoever answers before everybody was told of the question must not tell
	// of its end first.
	told   bool
	closed *AskClosed
}

// Put opens a question and waits for its answer. When ctx ends first the question is withdrawn
// and the context's cause is returned. A question with the id of an open one is refused.
func (a *Asks) Put(ctx context.Context, ask Ask) (Answer, error) {
	o := &openAsk{ask: ask, answer: make(chan Answer, 1)}
	if err := a.add(o); err != nil {
		return Answer{}, err
	}
	a.Tell(ask)
	a.mu.Lock()
	o.told = true
	closed := o.closed
	a.mu.Unlock()
	if closed != nil {
		a.Tell(*closed)
	}
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

func (a *Asks) add(o *openAsk) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[string]*openAsk{}
	}
	if _, ok := a.open[o.ask.ID]; ok {
		return fmt.Errorf("question %q is open already", o.ask.ID)
	}
	a.open[o.ask.ID] = o
	return nil
}

// Answer gives an answer. It reports false when the question is not open (any more). Everybody is
// told that the question is closed before its Put returns.
func (a *Asks) Answer(answer Answer) bool {
	closed := AskClosed{ID: answer.ID, By: answer.By, Behavior: answer.Behavior}
	a.mu.Lock()
	o, ok := a.open[answer.ID]
	delete(a.open, answer.ID)
	tell := ok && o.told
	if ok && !tell {
		o.closed = &closed // Put tells it, after the question itself
	}
	a.mu.Unlock()
	if tell {
		a.Tell(closed)
	}
	if ok {
		o.answer <- answer
	}
	return ok
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
