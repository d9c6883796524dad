// Package events is the one ordered stream of what happens in a session. Everybody may add to it and nobody
// waits for its readers but the loop, at its yield ([Stream.Hold]).
//
// It knows nothing of what events mean beyond which of them continue the same text. Begin with [New].
package events

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// Stream is the stream of one session. All methods are safe for concurrent use.
type Stream struct {
	ring *ring
	now  func() time.Time

	mu    sync.Mutex        // guards the rest
	heard bool              // somebody reads: notices need not wait
	early []proto.EventBody // what was to be told before anybody read
}

// New makes the stream of a session whose id is what session returns when an event is added.
func New(session func() string, now func() time.Time) *Stream {
	return &Stream{ring: newRing(session), now: now}
}

// Emit tells something of the main conversation.
func (s *Stream) Emit(body proto.EventBody) { s.Tell(proto.E(body)) }

// Tell puts an event into the stream, with the time it is told at. It never waits.
func (s *Stream) Tell(e proto.Event) {
	e.Time = s.now()
	s.ring.append(e)
}

// Early tells something that may come before anybody reads; the first who does hears it.
func (s *Stream) Early(body proto.EventBody) {
	s.mu.Lock()
	heard := s.heard
	if !heard {
		s.early = append(s.early, body)
	}
	s.mu.Unlock()
	if heard {
		s.Emit(body)
	}
}

// Hold waits while a reader that must have everything is a ring behind, or until ctx ends.
func (s *Stream) Hold(ctx context.Context) { s.ring.hold(ctx) }

// Read joins at once and yields what happens, in order, from where how says, until ctx ends or the stream
// is closed and read to its end. The sequence can be read once.
func (s *Stream) Read(ctx context.Context, how Reading) iter.Seq[proto.Event] {
	out := s.ring.read(ctx, how)
	s.mu.Lock()
	waiting := s.early
	s.heard, s.early = true, nil
	s.mu.Unlock()
	for _, b := range waiting {
		s.Emit(b)
	}
	return out
}

// Close ends the stream; readers still get what was told before.
func (s *Stream) Close() { s.ring.close() }
