package shaping

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// work is round n of a long session: now and then a wish and an answer, else a call with its result:
// reads and searches of a few kilobytes, now and then a build with a long output.
func work(n int) []msg.Message {
	switch id := fmt.Sprint(n); {
	case n%12 == 0:
		return join(person("p"+id, strings.Repeat("please mend this as well ", 8)))
	case n%12 == 11:
		return join(says("s"+id, strings.Repeat("this is what was done ", 20)))
	case n%12 == 6:
		return calls("b"+id, "Read", strings.Repeat("a line of what the build said\n", 2500))
	default:
		return calls("c"+id, "Read", strings.Repeat("a line of the file\n", 200+50*(n%5)))
	}
}

// firstCompaction is the round in which a session of work is compacted for the first time, at most
// most.
func firstCompaction(tb testing.TB, window, most int, stages Stages) int {
	tb.Helper()
	stages.ColdAfter = -1 // the clock plays no part
	dir := tb.TempDir()
	s := New(Config{
		Stages: func() Stages { return stages }, Repeatable: func(string) bool { return true }, Now: func() time.Time { return time.Unix(0, 0) },
		Spill: func(name, _ string) (string, error) { return dir + "/" + name, nil },
		Ask: func(context.Context, provider.Request) ([]msg.Block, error) {
			return []msg.Block{msg.Text{Text: "the summary"}}, nil
		},
	})
	var history []msg.Message
	for n := range most {
		history = append(history, work(n)...)
		view, err := s.Shape(tb.Context(), history, engine.Pressure{Model: model(window), Overhead: 5_000})
		if err != nil {
			tb.Fatal(err)
		}
		if view.History != nil {
			return n + 1
		}
	}
	return most
}

// TestStagesDelayTheFirstCompaction: the cheaper stages put off the first summary at least three times as
// long as without them.
func TestStagesDelayTheFirstCompaction(t *testing.T) {
	alone, staged := delay(t)
	t.Logf("round %d alone, round %d with the stages: %.1f ×", alone, staged, float64(staged)/float64(alone))
	if staged < 3*alone {
		t.Errorf("the first compaction is in round %d, without the stages in %d", staged, alone)
	}
}

// delay is the round of the first compaction without and with the stages; it looks no further than ten
// times as far.
func delay(tb testing.TB) (alone, staged int) {
	tb.Helper()
	const window = 200_000
	alone = firstCompaction(tb, window, 1000, Stages{})
	return alone, firstCompaction(tb, window, 10*alone, AllStages())
}

// BenchmarkDelayOfTheFirstCompaction tells by how much.
func BenchmarkDelayOfTheFirstCompaction(b *testing.B) {
	for b.Loop() {
		alone, staged := delay(b)
		b.ReportMetric(float64(alone), "rounds-alone")
		b.ReportMetric(float64(staged), "rounds-staged")
		b.ReportMetric(float64(staged)/float64(alone), "ratio")
	}
}

// assemblyOf is what one round costs to assemble, in allocations and time, once a conversation has so
// many messages.
func assemblyOf(tb testing.TB, messages int) (allocations float64, took time.Duration) {
	tb.Helper()
	s := New(Config{Repeatable: func(string) bool { return true }})
	var n msg.Normaliser
	var history []msg.Message
	at := 0
	round := func() {
		history = append(history, calls(fmt.Sprintf("c%d", at), "Read", "a line\n")...)
		at++
		view, err := s.Shape(tb.Context(), history, engine.Pressure{Model: model(1_000_000)})
		if err != nil {
			tb.Fatal(err)
		}
		if len(n.Sendable(view.Messages)) == 0 {
			tb.Fatal("nothing to send")
		}
	}
	for len(history) < messages {
		round()
	}
	began := time.Now()
	const rounds = 50
	allocations = testing.AllocsPerRun(rounds-1, round)
	return allocations, time.Since(began) / rounds
}

// TestKF177_AssemblyCostsWhatIsNew: a round is assembled with as many allocations behind 2,000 messages
// as behind 20.
func TestKF177_AssemblyCostsWhatIsNew(t *testing.T) {
	early, _ := assemblyOf(t, 20)
	late, _ := assemblyOf(t, 2000)
	t.Logf("%.0f allocations behind 20 messages, %.0f behind 2,000", early, late)
	if late > 1.2*early {
		t.Errorf("%.0f allocations behind 20 messages, %.0f behind 2,000", early, late)
	}
}

// BenchmarkAssembly compares the time of a round behind 2,000 messages with one behind 20.
func BenchmarkAssembly(b *testing.B) {
	for b.Loop() {
		_, early := assemblyOf(b, 20)
		_, late := assemblyOf(b, 2000)
		b.ReportMetric(float64(early.Nanoseconds()), "round-20-ns")
		b.ReportMetric(float64(late.Nanoseconds()), "round-2000-ns")
		b.ReportMetric(float64(late)/float64(early), "ratio")
	}
}
