package msg_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// TestKF177_NormaliserIsSendable: however a history grows or is replaced, the normaliser returns what
// Sendable returns, and what it returned before stays as it was.
func TestKF177_NormaliserIsSendable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n msg.Normaliser
		var history []msg.Message
		type returned struct {
			list []msg.Message
			was  string
		}
		var before []returned
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0: // a compaction, or an edit by the shapers
				history = slices.Clone(history[:rapid.IntRange(0, len(history)).Draw(t, "kept")])
			case 1: // the same, in another list
				history = slices.Clone(history)
			}
			history = append(history, anyHistory(t)...)
			got, want := n.Sendable(history), msg.Sendable(history, msg.Bounds{})
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("history\n%s\ngot\n%s\nwant\n%s", shape(history), shape(got), shape(want))
			}
			before = append(before, returned{got, fmt.Sprintf("%#v", got)})
			for i, b := range before {
				if fmt.Sprintf("%#v", b.list) != b.was {
					t.Fatalf("list %d was changed afterwards", i)
				}
			}
		}
	})
}

// rounds is a conversation of n rounds; the answers have the response ids that response gives.
func rounds(n int, response func(i int) string) []msg.Message {
	history := []msg.Message{said("go")}
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		c, r := call(id), result(id, "some text")
		c.ID, r.ID, c.Response = "m"+id, "r"+id, response(i)
		history = append(history, c, r)
	}
	return history
}

// TestKF177_NormaliserPaysForWhatIsNew: a round costs the same after two thousand as after twenty.
func TestKF177_NormaliserPaysForWhatIsNew(t *testing.T) {
	all := rounds(2100, func(i int) string { return fmt.Sprintf("r%d", i) })
	cost := func(from int) float64 {
		var n msg.Normaliser
		n.Sendable(all[:1+2*from])
		at := from
		return testing.AllocsPerRun(50, func() {
			at++
			n.Sendable(all[:1+2*at])
		})
	}
	if early, late := cost(20), cost(2000); late > 1.1*early {
		t.Errorf("%v allocations in round 20, %v in round 2000", early, late)
	}
}

// TestKF177_OneResponseIDIsLinear: an id that a service repeats for ever takes no more than twice the work
// for twice the messages.
func TestKF177_OneResponseIDIsLinear(t *testing.T) {
	bytes := func(n int) uint64 {
		all := rounds(n, func(int) string { return "always" })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		msg.Sendable(all, msg.Bounds{})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if one, four := bytes(500), bytes(2000); four > 6*one {
		t.Errorf("%d bytes for 500 rounds, %d for 2000", one, four)
	}
}
