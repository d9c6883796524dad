package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
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

func badEnd() reply {
	return failing(provider.Error{Kind: provider.KindEnd, Message: "the answer ended with abort"})
}

func TestKF130_ABadEndIsAskedAgainTwiceAndThenTold(t *testing.T) {
	r := newRig(nil, badEnd(), badEnd(), badEnd(), badEnd(), badEnd())
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 3)
	equal(t, r.ended.Reason, proto.EndAPI)
	equal(t, strings.Contains(r.ended.API.Message, "abort"), true)

	r = newRig(nil, badEnd(), answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Reason, proto.EndCompleted)

	r = newRig(nil, cut("half", provider.KindEnd), answer(msg.StopEndTurn, say(" and half")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Text, "half and half")
}

func TestKF133_APausingServiceIsBounded(t *testing.T) {
	pauses := func() []reply {
		var out []reply
		for range 50 {
			out = append(out, answer(msg.StopPause, say("on ")))
		}
		return out
	}
	r := newRig(nil, pauses()...)
	r.cfg.Limits.Rounds = 3
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 3)
	equal(t, r.ended.Reason, proto.EndMaxRounds)

	r = newRig(nil, pauses()...)
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 6)
	equal(t, r.ended.Reason, proto.EndRepetition)
}

// The id of an answer comes from outside and may never change.
func TestKF132_AnIdFromOutsideIsNoIdentity(t *testing.T) {
	same := func(stop msg.Stop, blocks ...msg.Block) reply {
		return func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
			yield(provider.Start{ID: "chatcmpl-123"}, nil)
			for i, b := range blocks {
				yield(provider.BlockStart{Index: i, Block: b}, nil)
				yield(provider.BlockDone{Index: i, Block: b}, nil)
			}
			yield(provider.Done{Stop: stop}, nil)
		}
	}
	tools := []tool.Tool{echo("Read", readOnly)}
	r := newRig(tools,
		same(msg.StopToolUse, call("a", "Read", `{"n":1}`)), same(msg.StopToolUse, call("b", "Read", `{"n":2}`)),
		same(msg.StopToolUse, call("c", "Read", `{"n":3}`)), same(msg.StopEndTurn, say("done")))
	r.run(t.Context(), nil)
	seen := map[string]bool{}
	for _, m := range r.recorded {
		if m.Role == msg.Assistant {
			if seen[m.Response] {
				t.Errorf("two answers have the id %s", m.Response)
			}
			seen[m.Response] = true
		}
	}
	equal(t, len(seen), 4)
	equal(t, r.conversation(), []string{`a: call a`, `u: result a Read{"n":1}`, `a: call b`, `u: result b Read{"n":2}`, `a: call c`, `u: result c Read{"n":3}`, `a: done`})
}

// TestKF067_NoRequestWithoutAdmission: Admit is asked before each request, also before one that is made
// again after a failure, and its end leaves the request unmade.
func TestKF067_NoRequestWithoutAdmission(t *testing.T) {
	busy := failing(provider.Error{Kind: provider.KindServer, Status: 500})
	r := newRig(nil, busy, busy, busy, answer(msg.StopEndTurn, say("ok")))
	asked := 0
	r.cfg.Admit = func(_ provider.Info, req provider.Request) *tool.End {
		if asked++; asked == 3 {
			return &tool.End{Reason: "no money", Outcome: string(proto.EndBudget)}
		}
		return nil
	}
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 2)
	equal(t, r.ended.Reason, proto.EndBudget)
	equal(t, r.ended.Detail, "no money")
}
