package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

func delta(i int, text string) proto.Event {
	return proto.E(proto.Delta{Index: i, Kind: "text", Text: text})
}

func noticed(text string) proto.Event { return proto.E(proto.Notice{Text: text}) }

func toldBy(e proto.Event) string {
	switch b := e.Body.(type) {
	case proto.Delta:
		return fmt.Sprint("δ", b.Index, b.Text)
	case proto.Notice:
		return b.Text
	case proto.CallProgress:
		return fmt.Sprint("π", b.Text, b.Seconds)
	}
	return e.Type
}

func TestRingMergesWhatALaggingReaderMissed(t *testing.T) {
	q := newRing(func() string { return "s" })
	events := q.read(t.Context(), Reading{})
	for _, e := range []proto.Event{
		delta(0, "a"), delta(0, "b"), delta(1, "c"), noticed("n"), delta(1, "d"),
		proto.E(proto.CallProgress{Call: "x", Text: "1", Seconds: 1}), proto.E(proto.CallProgress{Call: "x", Text: "2", Seconds: 2}),
	} {
		q.append(e)
	}
	q.close()
	var got []string
	for e := range events {
		got = append(got, toldBy(e))
	}
	if want := []string{"δ0ab", "δ1c", "n", "δ1d", "π122"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What two agents say at the same place of their answers stays apart, whose it is with it.
func TestRingKeepsTheTextsOfAgentsApart(t *testing.T) {
	q := newRing(func() string { return "s" })
	events := q.read(t.Context(), Reading{})
	of := func(agent string, e proto.Event) proto.Event { e.Agent = agent; return e }
	for _, e := range []proto.Event{
		delta(0, "a"), of("x", delta(0, "b")), of("x", delta(0, "c")), of("y", delta(0, "d")), delta(0, "e"),
		of("x", proto.E(proto.CallProgress{Call: "c", Text: "1"})), of("y", proto.E(proto.CallProgress{Call: "c", Text: "2"})),
	} {
		q.append(e)
	}
	q.close()
	var got []string
	for e := range events {
		got = append(got, e.Agent+":"+toldBy(e))
	}
	if want := []string{":δ0a", "x:δ0bc", "y:δ0d", ":δ0e", "x:π10", "y:π20"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRingKeepsOrderForEveryReader(t *testing.T) {
	q := newRing(func() string { return "s" })
	var wg sync.WaitGroup
	for range 4 {
		events := q.read(t.Context(), Reading{})
		wg.Go(func() {
			last := uint64(0)
			text := strings.Builder{}
			for e := range events {
				if e.Seq <= last {
					t.Errorf("event %d after %d", e.Seq, last)
				}
				last = e.Seq
				text.WriteString(toldBy(e))
			}
			if n := strings.Count(text.String(), "x"); n != 20_000 {
				t.Errorf("%d of 20,000 deltas arrived", n)
			}
		})
	}
	for i := range 20_000 {
		q.append(delta(0, "x"))
		if i%100 == 0 {
			q.append(noticed("-"))
		}
	}
	q.close()
	wg.Wait()
}

// A reader that does not read holds the loop at its yield, and nobody else.
func TestKF124_NobodyButTheLoopWaitsForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRing(func() string { return "s" })
		ctx, cancel := context.WithCancel(t.Context())
		q.read(ctx, Reading{})
		for range 3 * Size { // returns, although nobody reads
			q.append(noticed("n"))
		}
		held := make(chan struct{})
		go func() {
			q.hold(t.Context())
			close(held)
		}()
		synctest.Wait()
		select {
		case <-held:
			t.Error("the loop was not held")
		default:
		}
		interrupted, interrupt := context.WithCancel(t.Context())
		interrupt()
		q.hold(interrupted) // an interrupt is not held
		cancel()            // the reader leaves: nobody waits for it
		<-held
	})
}

func TestRingHoldsTheLoopUntilTheReaderHasCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRing(func() string { return "s" })
		events := q.read(t.Context(), Reading{})
		got := 0
		go func() {
			for range events {
				got++
			}
		}()
		for range 10 * Size {
			q.append(noticed("n"))
			q.hold(t.Context())
			q.mu.Lock()
			kept := len(q.entries)
			q.mu.Unlock()
			if kept > Size+1 {
				t.Fatalf("%d events are kept", kept)
			}
		}
		q.close()
		synctest.Wait()
		if got != 10*Size {
			t.Errorf("%d events arrived", got)
		}
	})
}

func TestRingTellsWhatAReaderThatMayLoseMissed(t *testing.T) {
	q := newRing(func() string { return "s" })
	events := q.read(t.Context(), Reading{MayLose: true})
	for range 3 * Size {
		q.append(noticed("n"))
		q.hold(t.Context()) // returns at once
	}
	q.close()
	rest := 0
	var missed proto.Missed
	for e := range events {
		if m, ok := e.Body.(proto.Missed); ok {
			missed = m
			continue
		}
		rest++
	}
	if rest != Size || missed.From != 1 || missed.To != 2*Size {
		t.Errorf("missed %+v, then %d events", missed, rest)
	}
}

func TestRingGoesOnWhereAReaderLeftOff(t *testing.T) {
	q := newRing(func() string { return "s" })
	for n := range 10 {
		q.append(noticed(fmt.Sprint(n)))
	}
	q.append(delta(0, "early "))
	late := q.read(t.Context(), Reading{})
	back := q.read(t.Context(), Reading{After: 7})
	q.append(delta(0, "late"))
	q.close()
	var fromNow, again []string
	for e := range late {
		fromNow = append(fromNow, toldBy(e))
	}
	for e := range back {
		again = append(again, toldBy(e))
	}
	if !slices.Equal(fromNow, []string{"δ0late"}) || !slices.Equal(again, []string{"7", "8", "9", "δ0early ", "δ0late"}) {
		t.Errorf("from now on %q, after 7 %q", fromNow, again)
	}
}
