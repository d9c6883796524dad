// Package offline is the model that is there when no other is: a small set of rules that
// understands plain requests of a few kinds and does them through the ordinary tools, so that
// everything around a model can be tried without a key, a network or a cent.
//
// It is no language model. It sees what any model sees, the messages and tools of a request, and
// keeps nothing between two requests: what it does next follows from the calls and results that
// stand in the conversation. request.go parses a prompt, work.go does it. Begin with [New].
package offline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Model is the offline model. It is safe for concurrent use.
type Model struct{}

// New returns the model.
func New() *Model { return &Model{} }

// Info implements provider.Model.
func (*Model) Info() provider.Info {
	return provider.Info{Provider: "offline", ID: "offline", Name: "Offline (no language model)", ContextWindow: 200_000, MaxOutput: 32_000, Local: true}
}

// reply is an answer: a text or calls.
type reply struct {
	text  string
	calls []call
}

// Stream implements provider.Model. It fails only when ctx has ended.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		c := readConversation(req)
		r, other := answerOtherLane(req.Lane, c)
		if !other {
			r = answer(c)
		}
		usage := msg.Usage{Input: tokens(c.bytes), Output: tokens(len(r.text) + 40*len(r.calls))}
		before := usage
		before.Output = 0
		if !yield(provider.Start{ID: answerID(c), Model: m.Info().ID, Usage: before}, nil) {
			return
		}
		stop := msg.StopEndTurn
		if r.text != "" && !speak(r.text, yield) {
			return
		}
		for i, todo := range r.calls { // an answer has a text or calls
			stop = msg.StopToolUse
			if !announce(i, c.newID(i), todo, yield) {
				return
			}
		}
		yield(provider.Done{Stop: stop, Usage: usage}, nil)
	}
}

func tokens(bytes int) int { return max(bytes/4, 1) }

// answerID follows from the conversation, so that a run is the same twice.
func answerID(c conversation) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", c.bytes, len(c.ids), c.now.prompt))
	return "msg_offline_" + hex.EncodeToString(sum[:12])
}

func speak(text string, yield func(provider.Event, error) bool) bool {
	if !yield(provider.BlockStart{Block: msg.Text{}}, nil) {
		return false
	}
	text = msg.CleanText(text)
	for rest := text; rest != ""; {
		piece := msg.Cut(rest, 48)
		if !yield(provider.Delta{Kind: provider.TextDelta, Text: piece}, nil) {
			return false
		}
		rest = rest[len(piece):]
	}
	return yield(provider.BlockDone{Block: msg.Text{Text: text}}, nil)
}

func announce(index int, id string, c call, yield func(provider.Event, error) bool) bool {
	input, err := encode(c.input)
	if err != nil { // the inputs are structs of strings and numbers
		return yield(nil, &provider.Error{Kind: provider.KindUnknown, Provider: "offline", Message: "write the input of " + c.tool, Cause: err})
	}
	return yield(provider.BlockStart{Index: index, Block: msg.ToolCall{ID: id, Name: c.tool}}, nil) &&
		yield(provider.Delta{Index: index, Kind: provider.InputDelta, Text: string(input)}, nil) &&
		yield(provider.BlockDone{Index: index, Block: msg.ToolCall{ID: id, Name: c.tool, Input: input}}, nil)
}

// encode writes JSON without HTML escapes: people read these inputs.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(buf.Bytes()), err
}
