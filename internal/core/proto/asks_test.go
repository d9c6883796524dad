package proto_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// listener collects what everybody is told.
type listener struct {
	mu   sync.Mutex
	told []proto.EventBody
	on   func(proto.EventBody)
}

func (l *listener) tell(b proto.EventBody) {
	l.mu.Lock()
	l.told = append(l.told, b)
	l.mu.Unlock()
	if l.on != nil {
		l.on(b)
	}
}

// TestFirstAnswerWins lets many surfaces answer each question at once: one wins, Put gets that one,
// and everybody hears of question and end exactly once, in that order.
func TestFirstAnswerWins(t *testing.T) {
	l := &listener{}
	asks := &proto.Asks{Tell: l.tell}
	const questions, surfaces = 200, 4
	var surfacesDone sync.WaitGroup
	var won atomic.Int64
	l.on = func(b proto.EventBody) {
		ask, ok := b.(proto.Ask)
		if !ok {
			return
		}
		for s := range surfaces {
			surfacesDone.Go(func() {
				if asks.Answer(proto.Answer{ID: ask.ID, By: fmt.Sprint(s)}) {
					won.Add(1)
				}
			})
		}
	}
	var winners sync.Map
	var wg sync.WaitGroup
	for q := range questions {
		wg.Go(func() {
			id := fmt.Sprint(q)
			got, err := asks.Put(t.Context(), proto.Ask{ID: id})
			if err != nil || got.ID != id {
				t.Errorf("question %s: %v, %v", id, got, err)
			}
			winners.Store(id, got.By)
		})
	}
	wg.Wait()
	surfacesDone.Wait()
	if won.Load() != questions || len(asks.Open()) != 0 {
		t.Errorf("%d answers won for %d questions, %d still open", won.Load(), questions, len(asks.Open()))
	}
	state := map[string]int{}
	for _, b := range l.told {
		switch b := b.(type) {
		case proto.Ask:
			if state[b.ID]++; state[b.ID] != 1 {
				t.Errorf("question %s told as step %d", b.ID, state[b.ID])
			}
		case proto.AskClosed:
			if state[b.ID]++; state[b.ID] != 2 {
				t.Errorf("end of %s told as step %d", b.ID, state[b.ID])
			}
			if by, _ := winners.Load(b.ID); by != b.By {
				t.Errorf("question %s: everybody hears that %s answered, Put got the answer of %v", b.ID, b.By, by)
			}
		}
	}
	if len(state) != questions {
		t.Errorf("told of %d questions", len(state))
	}
}

// TestAnswerFromWithinTell: a surface that knows the answer at once gives it inside the notice.
func TestAnswerFromWithinTell(t *testing.T) {
	l := &listener{}
	asks := &proto.Asks{Tell: l.tell}
	l.on = func(b proto.EventBody) {
		if ask, ok := b.(proto.Ask); ok && !asks.Answer(proto.Answer{ID: ask.ID, Behavior: "allow", By: "hook"}) {
			t.Error("the question was not open when it was told")
		}
	}
	got, err := asks.Put(t.Context(), proto.Ask{ID: "q"})
	if err != nil || got.Behavior != "allow" {
		t.Errorf("%v, %v", got, err)
	}
	want := []proto.EventBody{proto.Ask{ID: "q"}, proto.AskClosed{ID: "q", By: "hook", Behavior: "allow"}}
	if d := cmp.Diff(want, l.told); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestWithdrawn: the cause is returned and told to all; a late answer finds nothing.
func TestWithdrawn(t *testing.T) {
	l := &listener{}
	asks := &proto.Asks{Tell: l.tell}
	cause := errors.New("interrupted by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	l.on = func(b proto.EventBody) {
		if _, ok := b.(proto.Ask); ok {
			cancel(cause)
		}
	}
	if _, err := asks.Put(ctx, proto.Ask{ID: "q"}); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
	if asks.Answer(proto.Answer{ID: "q"}) {
		t.Error("a withdrawn question took an answer")
	}
	want := []proto.EventBody{proto.Ask{ID: "q"}, proto.AskClosed{ID: "q", Why: cause.Error()}}
	if d := cmp.Diff(want, l.told); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestAnswerAndWithdrawalAtOnce: exactly one of them happens, and all agree which.
func TestAnswerAndWithdrawalAtOnce(t *testing.T) {
	for range 500 {
		l := &listener{}
		asks := &proto.Asks{Tell: l.tell}
		ctx, cancel := context.WithCancel(t.Context())
		opened := make(chan struct{})
		l.on = func(b proto.EventBody) {
			if _, ok := b.(proto.Ask); ok {
				close(opened)
			}
		}
		var took bool
		var wg sync.WaitGroup
		wg.Go(func() { <-opened; cancel() })
		wg.Go(func() { <-opened; took = asks.Answer(proto.Answer{ID: "q", By: "user"}) })
		_, err := asks.Put(ctx, proto.Ask{ID: "q"})
		wg.Wait()
		if took != (err == nil) {
			t.Fatalf("answer taken: %v, Put: %v", took, err)
		}
		last := l.told[len(l.told)-1].(proto.AskClosed)
		if len(l.told) != 2 || (last.By == "user") != took {
			t.Fatalf("answer taken: %v, told %+v", took, l.told)
		}
	}
}

func TestOpenQuestions(t *testing.T) {
	l := &listener{}
	asks := &proto.Asks{Tell: l.tell}
	if asks.Answer(proto.Answer{ID: "nobody asked"}) {
		t.Error("an answer to nothing was taken")
	}
	seen := make(chan struct{})
	l.on = func(b proto.EventBody) {
		if _, ok := b.(proto.Ask); ok {
			close(seen)
		}
	}
	done := make(chan error)
	go func() {
		_, err := asks.Put(t.Context(), proto.Ask{ID: "q", Title: "may I?"})
		done <- err
	}()
	<-seen
	if d := cmp.Diff([]proto.Ask{{ID: "q", Title: "may I?"}}, asks.Open()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if _, err := asks.Put(t.Context(), proto.Ask{ID: "q"}); err == nil {
		t.Error("a second question with the same id was taken")
	}
	asks.Answer(proto.Answer{ID: "q"})
	if err := <-done; err != nil {
		t.Error(err)
	}
}
