package events

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

func TestTheFirstReaderHearsWhatWasToldBefore(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := New(func() string { return "here" }, func() time.Time { return now })
	s.Emit(proto.Notice{Text: "lost"}) // nobody reads
	s.Early(proto.Notice{Text: "first"})
	for _, want := range [][]string{{"first", "second"}, nil} {
		events := s.Read(t.Context(), Reading{})
		if want != nil {
			s.Early(proto.Notice{Text: "second"})
		} else {
			s.Close()
		}
		var got []string
		for e := range events {
			if e.Session != "here" || !e.Time.Equal(now) {
				t.Errorf("event of session %q at %s", e.Session, e.Time)
			}
			if got = append(got, toldBy(e)); len(got) == len(want) {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReadersThatLeaveAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(func() string { return "" }, time.Now)
		for range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			s.Read(ctx, Reading{})
			cancel()
		}
		synctest.Wait()
		if n := len(s.ring.readers); n != 0 {
			t.Errorf("%d readers are left", n)
		}
	})
}
