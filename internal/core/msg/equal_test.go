package msg_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

func TestEqual(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b"})
	raw := rapid.Map(text, func(s string) []byte { return []byte(s) })
	flat := rapid.Custom(func(t *rapid.T) msg.Block {
		a, b, c, d := text.Draw(t, "a"), text.Draw(t, "b"), raw.Draw(t, "c"), text.Draw(t, "d")
		return []msg.Block{
			msg.Text{Text: a},
			msg.Thinking{Thinking: a, Signature: b, Data: c, Provider: d},
			msg.RedactedThinking{Data: a, Provider: b},
			msg.ToolCall{ID: a, Name: b, Input: c, Malformed: d},
			msg.ToolCall{ID: a, Signature: b},
			msg.Image{MediaType: a, Data: c, URL: b},
			msg.Document{MediaType: a, Data: c, URL: b, Title: d},
			msg.Unknown{Kind: a, Raw: c, Provider: b},
		}[rapid.IntRange(0, 7).Draw(t, "kind")]
	})
	block := rapid.Custom(func(t *rapid.T) msg.Block {
		if !rapid.Bool().Draw(t, "result") {
			return flat.Draw(t, "block")
		}
		return msg.ToolResult{CallID: text.Draw(t, "id"), IsError: rapid.Bool().Draw(t, "error"), Content: rapid.SliceOfN(flat, 1, 3).Draw(t, "content")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := block.Draw(t, "a"), block.Draw(t, "b")
		if msg.Equal(a, b) != reflect.DeepEqual(a, b) || !msg.Equal(a, a) {
			t.Fatalf("%#v and %#v: %v", a, b, msg.Equal(a, b))
		}
	})
}
