package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// A conversation that grows, is cut and changes is sent as if nothing of it had been sent before.
func TestWhatIsKeptChangesNoByte(t *testing.T) {
	info := provider.Info{Provider: Name, ID: "claude-sonnet-4-5", ContextWindow: 200_000, Images: true}
	rapid.Check(t, func(t *rapid.T) {
		keeping := New(Config{Info: info})
		var history []msg.Message
		n := 0
		text := func() msg.Block {
			return msg.Text{Text: rapid.SampledFrom([]string{"a", "b <c>", "é\n"}).Draw(t, "text")}
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"say", "call", "say", "call", "cut", "change", "nothing"}).Draw(t, "step") {
			case "say":
				history = append(history, msg.Message{Role: msg.User, Content: []msg.Block{text()}})
			case "call":
				n++
				id := rapid.SampledFrom([]string{fmt.Sprintf("toolu_%d", n), fmt.Sprintf("call/%d", n), "same"}).Draw(t, "id")
				history = append(history,
					msg.Message{Role: msg.Assistant, Model: "anthropic/claude-sonnet-4-5", Response: fmt.Sprint(n), Content: []msg.Block{
						text(), msg.ToolCall{ID: id, Name: "Bash", Input: json.RawMessage(`{"command": "x"}`)},
					}},
					msg.Message{Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{
						msg.ToolResult{CallID: id, Content: []msg.Block{text()}, IsError: rapid.Bool().Draw(t, "error")},
					}})
			case "cut":
				history = history[rapid.IntRange(0, len(history)).Draw(t, "from"):]
			case "change":
				if len(history) > 0 {
					history = append([]msg.Message(nil), history...)
					history[rapid.IntRange(0, len(history)-1).Draw(t, "at")] = msg.Message{Role: msg.User, Content: []msg.Block{text()}}
				}
			}
			req := provider.Request{
				Messages: msg.Sendable(history, msg.Bounds{}), Tools: []provider.Tool{{Name: "Bash", Description: "runs", Schema: json.RawMessage(`{"type":"object"}`)}},
				Options: provider.Options{NoCache: rapid.Bool().Draw(t, "no cache")},
			}
			if len(req.Messages) == 0 {
				continue
			}
			got, err := keeping.body(req, toMessages)
			if err != nil {
				t.Fatal(err)
			}
			want, err := New(Config{Info: info}).body(req, toMessages)
			if err != nil || unmarked(got.body) != unmarked(want.body) {
				t.Fatalf("sent\n%s\nwant\n%s\n%v", got.body, want.body, err)
			}
		}
	})
}

// unmarked is a body without the borders of the cache: where they are depends on what was sent before.
func unmarked(body wire.Body) string {
	return strings.ReplaceAll(string(body.Bytes()), `,"cache_control":{"type":"ephemeral"}`, "")
}

// Several conversations may share a model.
func TestWhatIsKeptIsOneConversations(t *testing.T) {
	m := New(Config{Info: provider.Info{Provider: Name, ID: "claude-sonnet-4-5", ContextWindow: 200_000}})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var history []msg.Message
			for j := range 50 {
				history = append(history, msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{Text: fmt.Sprint(i, j)}}},
					msg.Message{Role: msg.Assistant, Content: []msg.Block{msg.Text{Text: fmt.Sprint(i, j)}}})
				req := provider.Request{Messages: msg.Sendable(history, msg.Bounds{})}
				got, err := m.body(req, toMessages)
				want, _ := New(Config{Info: m.cfg.Info}).body(req, toMessages)
				if err != nil || unmarked(got.body) != unmarked(want.body) {
					t.Errorf("%d: %s, %v", i, got.body, err)
				}
			}
		})
	}
	all.Wait()
}
