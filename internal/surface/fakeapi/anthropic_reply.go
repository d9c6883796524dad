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

func (anthropicAPI) stream(t script.Turn, a asked, id string) []frame {
	var out []frame
	put := func(delta bool, v object) {
		out = append(out, frame{event(v["type"].(string), v), delta})
	}
	put(false, object{"type": "message_start", "message": object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messagesUsage(*t.Usage, min(opening, t.Usage.Output)),
	}})
	put(false, object{"type": "ping"})
	for i, b := range t.Content {
		start, kind, field, text := object{"type": "text", "text": ""}, "text_delta", "text", b.Text
		switch b.Kind {
		case script.ThinkingBlock:
			start, kind, field = object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"
		case script.ToolBlock:
			start = object{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": object{}}
			kind, field, text = "input_json_delta", "partial_json", b.Input
		}
		put(false, object{"type": "content_block_start", "index": i, "content_block": start})
		for _, p := range pieces(text, t.Chunk) {
			put(true, object{"type": "content_block_delta", "index": i, "delta": object{"type": kind, field: p}})
		}
		if b.Kind == script.ThinkingBlock {
			put(false, object{"type": "content_block_delta", "index": i, "delta": object{"type": "signature_delta", "signature": Sign(b.Text)}})
		}
		put(false, object{"type": "content_block_stop", "index": i})
	}
	put(false, object{"type": "message_delta", "delta": object{"stop_reason": t.Stop, "stop_sequence": nil}, "usage": finalUsage(*t.Usage)})
	put(false, object{"type": "message_stop"})
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
