package app

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// maxLag is how many events a reader may leave unread before those who write wait for it.
const maxLag = 10_000

// queue is the ordered stream of one session's events. Loop, questions, hooks, notices and
// subagents append to it; each surface reads at its own pace. Deltas and progress merge while a
// reader lags, everything else is kept up to a bound; then the writers wait.
type queue struct {
	session func() string // id that events carry

	mu      sync.Mutex // guards the rest
	room    sync.Cond  // a reader read, or left
	seq     uint64
	readers map[*reader]bool
	closed  bool
}

// reader is one surface's place in the queue.
type reader struct {
	pending []entry       // guarded by the queue's mutex
	news    chan struct{} // holds one
}

// entry is one event with the texts that were merged into it.
type entry struct {
	event proto.Event
	more  []string
}

func newQueue(session func() string) *queue {
	q := &queue{session: session, readers: map[*reader]bool{}}
	q.room.L = &q.mu
	return q
}

// append puts an event at the end. It waits while a reader is too far behind, and does nothing
// once the queue is closed.
func (q *queue) append(e proto.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.lagging() && !q.closed {
		q.room.Wait()
	}
	if q.closed {
		return
	}
	q.seq++
	e.Seq, e.Session = q.seq, q.session()
	for r := range q.readers {
		r.push(e)
	}
}

func (q *queue) lagging() bool {
	for r := range q.readers {
		if len(r.pending) >= maxLag {
			return true
		}
	}
	return false
}

func (r *reader) push(e proto.Event) {
	if n := len(r.pending); n > 0 && r.pending[n-1].merge(e) {
		return
	}
	r.pending = append(r.pending, entry{event: e})
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// merge takes e into the entry when both continue the same text.
func (en *entry) merge(e proto.Event) bool {
	if en.event.Agent != e.Agent {
		return false
	}
	switch b := e.Body.(type) {
	case proto.Delta:
		last, ok := en.event.Body.(proto.Delta)
		if !ok || last.Index != b.Index || last.Kind != b.Kind {
			return false
		}
		en.more = append(en.more, b.Text)
	case proto.CallProgress:
		last, ok := en.event.Body.(proto.CallProgress)
		if !ok || last.Call != b.Call {
			return false
		}
		last.Seconds = b.Seconds
		en.event.Body = last
		en.more = append(en.more, b.Text)
	default:
		return false
	}
	en.event.Seq = e.Seq
	return true
}

// whole is the event with everything that was merged into it.
func (en entry) whole() proto.Event {
	if len(en.more) == 0 {
		return en.event
	}
	switch b := en.event.Body.(type) {
	case proto.Delta:
		b.Text += strings.Join(en.more, "")
		en.event.Body = b
	case proto.CallProgress:
		b.Text += strings.Join(en.more, "")
		en.event.Body = b
	}
	return en.event
}

// read joins at once and returns everything appended from now on, until ctx ends or the queue is
// closed and read to its end. The sequence can be read once.
func (q *queue) read(ctx context.Context) iter.Seq[proto.Event] {
	r := &reader{news: make(chan struct{}, 1)}
	q.mu.Lock()
	q.readers[r] = true
	q.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { q.leave(r) })
	return func(yield func(proto.Event) bool) {
		defer q.leave(r)
		defer stop()
		for {
			batch, over := q.take(r)
			for _, en := range batch {
				if !yield(en.whole()) {
					return
				}
			}
			if over && len(batch) == 0 {
				return
			}
			if len(batch) > 0 {
				continue
			}
			select {
			case <-r.news:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (q *queue) take(r *reader) ([]entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := r.pending
	r.pending = nil
	q.room.Broadcast()
	return batch, q.closed
}

func (q *queue) leave(r *reader) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.readers, r)
	q.room.Broadcast()
}

// close ends the stream; readers still get what was appended before.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.room.Broadcast()
	for r := range q.readers {
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}
