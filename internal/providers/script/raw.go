package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// raw plays bytes in the shape of the Anthropic Messages event stream
// (https://platform.claude.com/docs/en/build-with-claude/streaming). It reads what the loop needs
// of it; what it cannot read ends the stream the way a client's does.
func (s *stage) raw(model, id string) {
	r := &rawReader{stage: s, start: provider.Start{ID: id, Model: model}, done: provider.Done{Stop: msg.StopEndTurn}}
	for _, data := range sseData(string(s.turn.Raw)) {
		if !r.event(data) {
			return
		}
	}
	if s.turn.Then == ThenHang {
		s.breakOff()
		return
	}
	r.fail("the stream ended without its end marker")
}

// sseData returns the data of each complete event of a server-sent event stream.
func sseData(raw string) []string {
	raw = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(raw)
	var out []string
	parts := strings.Split(raw, "\n\n")
	for i, part := range parts {
		var data []string
		for line := range strings.Lines(part) {
			if v, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data:"); ok {
				data = append(data, strings.TrimPrefix(v, " "))
			}
		}
		joined := strings.Join(data, "\n")
		// The last event counts without its blank line when it is whole: files often lose one.
		if len(data) > 0 && (i < len(parts)-1 || json.Valid([]byte(joined))) {
			out = append(out, joined)
		}
	}
	return out
}

// wireEvent holds the fields of all kinds of events.
type wireEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string    `json:"id"`
		Model string    `json:"model"`
		Usage wireUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Partial   string `json:"partial_json"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage wireUsage `json:"usage"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

type wireUsage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

// over lays the counts that are given over u: they are cumulative.
func (w wireUsage) over(u msg.Usage) msg.Usage {
	for _, f := range []struct {
		to   *int
		from *int
	}{{&u.Input, w.Input}, {&u.Output, w.Output}, {&u.CacheRead, w.CacheRead}, {&u.CacheWrite, w.CacheWrite}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return u
}

type rawReader struct {
	*stage
	start   provider.Start
	done    provider.Done
	started bool
	open    *openBlock
}

type openBlock struct {
	index     int
	block     msg.Block
	text      strings.Builder
	signature strings.Builder
}

// event plays one event; false ends the stream.
func (r *rawReader) event(data string) bool {
	if !utf8.ValidString(data) {
		data = strings.ToValidUTF8(data, "\uFFFD")
	}
	var e wireEvent
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return r.fail(fmt.Sprintf("an event is no JSON: %v", err))
	}
	switch e.Type {
	case "message_start":
		if e.Message.ID != "" {
			r.start.ID = e.Message.ID
		}
		if e.Message.Model != "" {
			r.start.Model = e.Message.Model
		}
		r.start.Usage = e.Message.Usage.over(msg.Usage{})
		r.done.Usage = r.start.Usage
		return r.begin()
	case "content_block_start":
		return r.begin() && r.openBlock(e)
	case "content_block_delta":
		return r.delta(e)
	case "content_block_stop":
		return r.close(false)
	case "message_delta":
		r.done.Usage = e.Usage.over(r.done.Usage)
		if e.Delta.Stop != "" {
			r.done.Stop = msg.Stop(e.Delta.Stop)
		}
		return true
	case "message_stop":
		if r.begin() && r.close(false) {
			r.yield(r.done, nil)
		}
		return false
	case "ping":
		return r.yield(provider.Ping{}, nil)
	case "error":
		if r.close(true) {
			r.yield(nil, Fault{Type: e.Error.Type, Message: e.Error.Message}.Err())
		}
		return false
	default: // a kind that came later; clients pass over it
		return true
	}
}

func (r *rawReader) begin() bool {
	if r.started {
		return true
	}
	r.started = true
	return r.yield(r.start, nil)
}

func (r *rawReader) openBlock(e wireEvent) bool {
	if !r.close(false) {
		return false
	}
	b, err := msg.UnmarshalBlock(e.Block)
	if err != nil {
		return r.fail(fmt.Sprintf("a content block cannot be read: %v", err))
	}
	if call, ok := b.(msg.ToolCall); ok {
		call.Input = nil // comes in deltas
		b = call
	}
	r.open = &openBlock{index: e.Index, block: b}
	return r.yield(provider.BlockStart{Index: e.Index, Block: b}, nil)
}

func (r *rawReader) delta(e wireEvent) bool {
	if r.open == nil || r.open.index != e.Index {
		return r.fail("a delta came for a block that is not open")
	}
	d := provider.Delta{Index: e.Index}
	switch e.Delta.Type {
	case "text_delta":
		d.Kind, d.Text = provider.TextDelta, e.Delta.Text
	case "thinking_delta":
		d.Kind, d.Text = provider.ThinkingDelta, e.Delta.Thinking
	case "input_json_delta":
		d.Kind, d.Text = provider.InputDelta, e.Delta.Partial
	case "signature_delta":
		r.open.signature.WriteString(e.Delta.Signature)
		return r.yield(provider.Delta{Index: e.Index, Kind: provider.SignatureDelta, Text: e.Delta.Signature}, nil)
	default:
		return true
	}
	r.open.text.WriteString(d.Text)
	if d.Text == "" {
		return true
	}
	if r.spoken && r.turn.Delay > 0 {
		if err := r.sleep(r.ctx, r.turn.Delay); err != nil {
			r.yield(nil, err)
			return false
		}
	}
	r.spoken = true
	return r.yield(d, nil)
}

// close ends the open block, if there is one.
func (r *rawReader) close(partial bool) bool {
	if r.open == nil {
		return true
	}
	o := r.open
	r.open = nil
	block := o.block
	switch b := block.(type) {
	case msg.Text:
		block = msg.Text{Text: b.Text + o.text.String()}
	case msg.Thinking:
		b.Thinking += o.text.String()
		b.Signature += o.signature.String()
		block = b
	case msg.ToolCall:
		block = toolCall(b.ID, b.Name, o.text.String())
	}
	return r.yield(provider.BlockDone{Index: o.index, Block: block, Partial: partial}, nil)
}

// fail ends a stream that broke; it always reports false.
func (r *rawReader) fail(why string) bool {
	kind := provider.KindStream
	if !r.started {
		kind = provider.KindNetwork
	}
	if r.close(true) {
		r.yield(nil, &provider.Error{Kind: kind, Provider: "script", Message: why})
	}
	return false
}
