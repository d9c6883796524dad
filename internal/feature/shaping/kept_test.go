package shaping_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// TestKF177_KeptViewsAreTheSame: a shaper that saw a conversation grow shows it as one that sees it for the
// first time, also when results are replaced, cleared and brought back meanwhile.
func TestKF177_KeptViewsAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var replaced []shaping.Replacement
		limits := shaping.Limits{Result: 3000, Round: 5000, Preview: 400}
		one := shaping.New(shaping.Config{
			Limits: limits, Auto: func() shaping.Auto { return shaping.Auto{Off: true} },
			Repeatable: func(string) bool { return true },
			Replaced:   func(r shaping.Replacement) { replaced = append(replaced, r) },
		})
		pressure := engine.Pressure{Round: 2, Model: provider.Info{Provider: "p", ID: "m", ContextWindow: rapid.SampledFrom([]int{4000, 20_000, 200_000}).Draw(t, "window")}}
		history := []msg.Message{{ID: "p0", Role: msg.User, Content: []msg.Block{msg.Text{Text: "go"}}}}
		view := func(s *shaping.Shaper) []msg.Message {
			v, err := s.Shape(context.Background(), history, pressure)
			if err != nil {
				t.Fatal(err)
			}
			return v.Messages
		}
		for i := range rapid.IntRange(1, 25).Draw(t, "rounds") {
			if rapid.IntRange(0, 5).Draw(t, "prompt") == 0 {
				history = append(history, msg.Message{ID: fmt.Sprintf("p%d", i+1), Role: msg.User, Content: []msg.Block{msg.Text{Text: "on"}}})
			}
			for j := range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := fmt.Sprintf("c%d.%d", i, j)
				text := strings.Repeat("word ", rapid.SampledFrom([]int{1, 300, 700}).Draw(t, "words"))
				history = append(
					history,
					msg.Message{ID: "a" + id, Role: msg.Assistant, Response: fmt.Sprintf("r%d", i), Content: []msg.Block{msg.ToolCall{ID: id, Name: "Bash", Input: []byte("{}")}}},
					msg.Message{ID: "u" + id, Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: id, Content: []msg.Block{msg.Text{Text: text}}}}},
				)
			}
			got := view(one)
			if left := one.Removed("p/m", history); len(left) > 0 && rapid.IntRange(0, 5).Draw(t, "back") == 0 {
				one.Show(left[0].ID, true)
				got = view(one)
			}
			fresh := one.Forgetful()
			fresh.Remember(replaced...)
			if want := view(fresh); !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d: %d messages, afresh %d", i, len(got), len(want))
			}
		}
	})
}
