package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// deaf streams a text and then nothing for an hour, whatever becomes of its context.
func deaf(text string) reply {
	return func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
		stream(yield)
		yield(provider.BlockStart{Index: 0, Block: msg.Text{}}, nil)
		yield(provider.Delta{Index: 0, Kind: provider.TextDelta, Text: text}, nil)
		time.Sleep(time.Hour)
		yield(provider.BlockDone{Index: 0, Block: msg.Text{Text: text + " too late"}}, nil)
		yield(provider.Done{Stop: msg.StopEndTurn}, nil)
	}
}

func TestKF125_AStreamThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := newRig(nil, deaf("half"))
		go func() {
			time.Sleep(time.Second)
			cancel(engine.ErrInterrupt)
		}()
		start := time.Now()
		r.run(ctx, nil)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("the interrupt took %v", took)
		}
		for _, line := range r.conversation() {
			if line == "a: half too late" {
				t.Error("what came after the end was kept")
			}
		}
		time.Sleep(2 * time.Hour) // the stream ends by itself
	})
}

func TestKF125_ASilentStreamThatIgnoresItsContextIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(nil, deaf("half"), answer(msg.StopEndTurn, say("ok")))
		start := time.Now()
		r.run(t.Context(), nil)
		if took := time.Since(start); took > 7*time.Minute {
			t.Errorf("the turn took %v", took)
		}
		equal(t, r.ended.Reason, proto.EndCompleted)
		time.Sleep(2 * time.Hour)
	})
}

// A reader that holds the run is no silence of the service.
func TestKF124_ASlowReaderDoesNotTripTheWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
			stream(yield)
			yield(provider.BlockStart{Index: 0, Block: msg.Text{}}, nil)
			text := ""
			for n := range 600 { // more than the run takes in ahead
				text += fmt.Sprint(n, " ")
				yield(provider.Delta{Index: 0, Kind: provider.TextDelta, Text: fmt.Sprint(n, " ")}, nil)
			}
			yield(provider.BlockDone{Index: 0, Block: msg.Text{Text: text}}, nil)
			yield(provider.Done{Stop: msg.StopEndTurn}, nil)
		}
		r := newRig(nil, long)
		seen := 0
		for e, err := range engine.Run(t.Context(), r.cfg, []msg.Message{{Role: msg.User, Content: []msg.Block{say("go")}}}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Body.(proto.Delta); ok {
				if seen++; seen%100 == 1 {
					time.Sleep(20 * time.Minute)
				}
			}
			if b, ok := e.Body.(proto.Ended); ok {
				r.ended = b
			}
		}
		equal(t, r.ended.Reason, proto.EndCompleted)
		equal(t, len(r.model.requests), 1)
	})
}
