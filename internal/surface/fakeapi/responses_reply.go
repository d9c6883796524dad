package fakeapi

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func responsesUsage(u msg.Usage) object {
	in := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"input_tokens": in, "output_tokens": u.Output, "total_tokens": in + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": u.Thinking},
	}
}

func (responsesAPI) told(msg.Usage) msg.Usage { return msg.Usage{} }

// responseOf is the response object around its items.
func responseOf(t script.Turn, a asked, id, status string, items []object) object {
	out := object{
		"id": "resp_" + id, "object": "response", "created_at": 1, "status": status, "error": nil, "incomplete_details": nil,
		"model": a.model, "output": items, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "usage": nil,
	}
	switch status {
	case "completed":
		out["usage"] = responsesUsage(*t.Usage)
	case "incomplete":
		out["usage"] = responsesUsage(*t.Usage)
		out["incomplete_details"] = object{"reason": incompleteReason(t.Stop)}
	}
	return out
}

func incompleteReason(s msg.Stop) string {
	if s == msg.StopRefusal {
		return "content_filter"
	}
	return "max_output_tokens"
}

func statusOf(s msg.Stop) string {
	if s == msg.StopMaxTokens || s == msg.StopRefusal {
		return "incomplete"
	}
	return "completed"
}

// searchTool is the tool of the program that runs the model's search for tools.
const searchTool = "ToolSearch"

// itemOf is one block as an item, complete.
func itemOf(b script.Block, id string, a asked) object {
	if b.Kind == script.ToolBlock && b.Tool == searchTool && a.searches {
		return object{"type": "tool_search_call", "id": "tsc_" + id, "call_id": b.ID, "execution": "client", "status": "completed", "arguments": json.RawMessage(b.Input)}
	}
	switch b.Kind {
	case script.ThinkingBlock:
		return object{"type": "reasoning", "id": "rs_" + id, "summary": []object{{"type": "summary_text", "text": b.Text}}, "encrypted_content": Sign(b.Text)}
	case script.ToolBlock:
		return object{"type": "function_call", "id": "fc_" + id, "call_id": b.ID, "name": b.Tool, "arguments": b.Input, "status": "completed"}
	}
	return object{
		"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": b.Text, "annotations": []any{}}},
	}
}

func (responsesAPI) whole(t script.Turn, a asked, id string) []byte {
	items := []object{}
	for i, b := range t.Content {
		items = append(items, itemOf(b, id+"_"+string(rune('a'+i%26)), a))
	}
	return encode(responseOf(t, a, id, statusOf(t.Stop), items))
}

// responsesStream numbers the events.
type responsesStream struct {
	out []frame
}

func (s *responsesStream) put(delta bool, typ string, v object) {
	v["type"], v["sequence_number"] = typ, len(s.out)
	s.out = append(s.out, frame{event(typ, v), delta})
}

func (responsesAPI) stream(t script.Turn, a asked, id string) []frame {
	s := &responsesStream{}
	s.put(false, "response.created", object{"response": responseOf(t, a, id, "in_progress", []object{})})
	s.put(false, "response.in_progress", object{"response": responseOf(t, a, id, "in_progress", []object{})})
	items := []object{}
	for i, b := range t.Content {
		item := itemOf(b, id+"_"+string(rune('a'+i%26)), a)
		s.item(b, item, i, t.Chunk)
		items = append(items, item)
	}
	status := statusOf(t.Stop)
	s.put(false, "response."+status, object{"response": responseOf(t, a, id, status, items)})
	return s.out
}

func (s *responsesStream) item(b script.Block, item object, i, chunk int) {
	at := func(more object) object {
		more["output_index"], more["item_id"] = i, item["id"]
		return more
	}
	begun := object{"type": item["type"], "id": item["id"], "status": "in_progress"}
	if item["type"] == "tool_search_call" {
		s.put(false, "response.output_item.added", object{"output_index": i, "item": item})
		s.put(false, "response.output_item.done", object{"output_index": i, "item": item})
		return
	}
	switch b.Kind {
	case script.ThinkingBlock:
		delete(begun, "status")
		begun["summary"] = []any{}
		s.put(false, "response.output_item.added", object{"output_index": i, "item": begun})
		part := object{"type": "summary_text", "text": ""}
		s.put(false, "response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": part}))
		for _, p := range pieces(b.Text, chunk) {
			s.put(true, "response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": p}))
		}
		s.put(false, "response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": b.Text}))
	case script.ToolBlock:
		begun["call_id"], begun["name"], begun["arguments"] = b.ID, b.Tool, ""
		s.put(false, "response.output_item.added", object{"output_index": i, "item": begun})
		for _, p := range pieces(b.Input, chunk) {
			s.put(true, "response.function_call_arguments.delta", at(object{"delta": p}))
		}
		s.put(false, "response.function_call_arguments.done", at(object{"arguments": b.Input, "name": b.Tool}))
	default:
		begun["role"], begun["content"] = "assistant", []any{}
		s.put(false, "response.output_item.added", object{"output_index": i, "item": begun})
		part := object{"type": "output_text", "text": "", "annotations": []any{}}
		s.put(false, "response.content_part.added", at(object{"content_index": 0, "part": part}))
		for _, p := range pieces(b.Text, chunk) {
			s.put(true, "response.output_text.delta", at(object{"content_index": 0, "delta": p}))
		}
		s.put(false, "response.output_text.done", at(object{"content_index": 0, "text": b.Text}))
		s.put(false, "response.content_part.done", at(object{"content_index": 0, "part": object{"type": "output_text", "text": b.Text, "annotations": []any{}}}))
	}
	s.put(false, "response.output_item.done", object{"output_index": i, "item": item})
}

func (responsesAPI) count(tokens int) []byte {
	return encode(object{"object": "response.input_tokens", "input_tokens": tokens})
}

func (responsesAPI) models(ids []string) []byte { return openAIModels(ids) }
