package permission

import (
	"context"
	"sync"
)

// Speculations holds classifications that were started while calls streamed in, by the key of what is
// classified ([VerdictKey]): a verdict counts for that input in that directory and for nothing else. It is
// safe for concurrent use; the zero value is ready.
type Speculations struct {
	mu   sync.Mutex // guards open
	open map[string]*speculation
}

type speculation struct {
	cancel context.CancelFunc
	done   chan struct{}
	v      Verdict
}

// Start begins to classify a call. A second start for the same key is ignored.
func (s *Speculations) Start(ctx context.Context, key string, judge func(context.Context) Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]*speculation{}
	}
	if s.open[key] != nil {
		return
	}
	own, cancel := context.WithCancel(ctx)
	sp := &speculation{cancel: cancel, done: make(chan struct{})}
	s.open[key] = sp
	go func() { // ends with the verdict, which ends with its context
		defer close(sp.done)
		sp.v = judge(own)
	}()
}

// Wait waits for the verdict about what the key names; ok is false when none was started or ctx ended first. A
// verdict is handed out once.
func (s *Speculations) Wait(ctx context.Context, key string) (v Verdict, ok bool) {
	s.mu.Lock()
	sp := s.open[key]
	s.mu.Unlock()
	if sp == nil {
		return Verdict{}, false
	}
	defer s.Drop(key)
	select {
	case <-sp.done:
		return sp.v, true
	case <-ctx.Done():
		return Verdict{}, false
	}
}

// Drop gives a speculation up.
func (s *Speculations) Drop(key string) {
	s.mu.Lock()
	sp := s.open[key]
	delete(s.open, key)
	s.mu.Unlock()
	if sp != nil {
		sp.cancel()
	}
}

// DropAll gives all speculations up: mode or rules changed, or the turn ended.
func (s *Speculations) DropAll() {
	s.mu.Lock()
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for _, sp := range open {
		sp.cancel()
	}
}
