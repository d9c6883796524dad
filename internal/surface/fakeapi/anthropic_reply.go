package fakeapi

import (
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

// tokens is the size of a request by the measure of the script's own estimate.
func (in incoming) tokens(req provider.Request) int { return tokensOf(script.FactsOf(req).Bytes) }

func messagesUsage(u msg.Usage, output int) object {
	return object{
		"input_tokens": u.Input, "output_tokens": output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation":  object{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWrite1h, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		"server_tool_use": object{"web_search_requests": u.WebSearches},
		"service_tier":    "standard",
	}
}

func finalUsage(u msg.Usage) object {
	out := messagesUsage(u, u.Output)
	out["output_tokens_details"] = object{"thinking_tokens": u.Thinking}
	return out
}

// opening is the number of output tokens a stream tells at its start.
const opening = 1

func (anthropicAPI) told(u msg.Usage) msg.Usage {
	u.Output, u.Thinking = min(opening, u.Output), 0
	return u
}

// blockDelta is the event that makes up nearly all of a stream, with its members in the order in which
// the service writes them.
type blockDelta struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta struct {
		Type     string  `json:"type"`
		Text     *string `json:"text,omitempty"`
		Thinking *string `json:"thinking,omitempty"`
		Partial  *string `json:"partial_json,omitempty"`
	} `json:"delta"`
}

// piece is a piece of a block's text as a frame.
func piece(index int, kind script.BlockKind, text string) frame {
	d := blockDelta{Type: "content_block_delta", Index: index}
	switch kind {
	case script.ThinkingBlock:
		d.Delta.Type, d.Delta.Thinking = "thinking_delta", &text
	case script.ToolBlock:
		d.Delta.Type, d.Delta.Partial = "input_json_delta", &text
	default:
		d.Delta.Type, d.Delta.Text = "text_delta", &text
	}
	return frame{event(d.Type, d), true}
}

func (anthropicAPI) stream(t script.Turn, a asked, id string) []frame {
	var out []frame
	put := func(v object) { out = append(out, frame{event(v["type"].(string), v), false}) }
	put(object{"type": "message_start", "message": object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messagesUsage(*t.Usage, min(opening, t.Usage.Output)),
	}})
	put(object{"type": "ping"})
	for i, b := range t.Content {
		start, text := object{"type": "text", "text": ""}, b.Text
		switch b.Kind {
		case script.ThinkingBlock:
			start = object{"type": "thinking", "thinking": "", "signature": ""}
		case script.ToolBlock:
			start, text = object{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": object{}}, b.Input
		}
		put(object{"type": "content_block_start", "index": i, "content_block": start})
		for _, p := range pieces(text, t.Chunk) {
			out = append(out, piece(i, b.Kind, p))
		}
		if b.Kind == script.ThinkingBlock {
			put(object{"type": "content_block_delta", "index": i, "delta": object{"type": "signature_delta", "signature": Sign(b.Text)}})
		}
		put(object{"type": "content_block_stop", "index": i})
	}
	put(object{"type": "message_delta", "delta": object{"stop_reason": t.Stop, "stop_sequence": nil}, "usage": finalUsage(*t.Usage)})
	put(object{"type": "message_stop"})
	return out
}

func (anthropicAPI) whole(t script.Turn, a asked, id string) []byte {
	content := []object{}
	for _, b := range t.Content {
		switch b.Kind {
		case script.ThinkingBlock:
			content = append(content, object{"type": "thinking", "thinking": b.Text, "signature": Sign(b.Text)})
		case script.ToolBlock:
			content = append(content, object{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": argument(b.Input)})
		default:
			content = append(content, object{"type": "text", "text": b.Text})
		}
	}
	return encode(object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": t.Stop, "stop_sequence": nil, "usage": finalUsage(*t.Usage),
	})
}

func (anthropicAPI) count(tokens int) []byte { return encode(object{"input_tokens": tokens}) }

func (anthropicAPI) models(ids []string) []byte {
	data := []object{}
	for _, id := range ids {
		data = append(data, object{"type": "model", "id": id, "display_name": id})
	}
	return encode(object{"data": data, "has_more": false})
}
