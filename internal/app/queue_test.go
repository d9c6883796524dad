package app

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

func TestQueueMergesWhatALaggingReaderMissed(t *testing.T) {
	q := newQueue(func() string { return "s" })
	events := q.read(t.Context())
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

func TestQueueKeepsOrderForEveryReader(t *testing.T) {
	q := newQueue(func() string { return "s" })
	var wg sync.WaitGroup
	for range 4 {
		events := q.read(t.Context())
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

func TestQueueMakesWritersWaitForASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(func() string { return "s" })
		ctx, cancel := context.WithCancel(t.Context())
		q.read(ctx)
		written := 0
		done := make(chan struct{})
		go func() {
			for range maxLag + 5 {
				q.append(noticed("n"))
				written++
			}
			close(done)
		}()
		synctest.Wait()
		if written != maxLag {
			t.Errorf("%d events were written, want %d", written, maxLag)
		}
		cancel() // the reader leaves: nobody waits for it
		<-done
	})
}
