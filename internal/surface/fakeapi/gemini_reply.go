package fakeapi

import (
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func geminiUsage(u msg.Usage) object {
	in := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"promptTokenCount": in, "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": u.Output - u.Thinking,
		"thoughtsTokenCount": u.Thinking, "totalTokenCount": in + u.Output,
	}
}

func (geminiAPI) told(msg.Usage) msg.Usage { return msg.Usage{} }

func geminiFinish(s msg.Stop) string {
	switch s {
	case msg.StopMaxTokens:
		return "MAX_TOKENS"
	case msg.StopRefusal:
		return "SAFETY"
	}
	if !good(s) {
		return string(s)
	}
	return "STOP"
}

func (g geminiAPI) callPart(b script.Block, signature string) object {
	call := object{"name": b.Tool, "args": argument(b.Input)}
	if !g.noCallIDs {
		call["id"] = b.ID
	}
	part := object{"functionCall": call}
	if signature != "" {
		part["thoughtSignature"] = signature
	}
	return part
}

func (g geminiAPI) chunk(t script.Turn, a asked, id string, parts []object, last bool) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	out := object{"candidates": []object{candidate}, "modelVersion": a.model, "responseId": id}
	if last {
		candidate["finishReason"] = geminiFinish(t.Stop)
		out["usageMetadata"] = geminiUsage(*t.Usage)
	}
	return out
}

func (g geminiAPI) stream(t script.Turn, a asked, id string) []frame {
	var out []frame
	put := func(delta, last bool, parts ...object) {
		out = append(out, frame{event("", g.chunk(t, a, id, parts, last)), delta})
	}
	signature := geminiSignature(id)
	for _, b := range t.Content {
		switch b.Kind {
		case script.ToolBlock:
			put(true, false, g.callPart(b, signature))
			signature = "" // only the first call of an answer is signed
		default:
			for _, p := range pieces(b.Text, t.Chunk) {
				part := object{"text": p}
				if b.Kind == script.ThinkingBlock {
					part["thought"] = true
				}
				put(true, false, part)
			}
		}
	}
	put(false, true, object{"text": ""})
	return out
}

func (g geminiAPI) whole(t script.Turn, a asked, id string) []byte {
	parts := []object{}
	signature := geminiSignature(id)
	for _, b := range t.Content {
		switch b.Kind {
		case script.ToolBlock:
			parts = append(parts, g.callPart(b, signature))
			signature = ""
		case script.ThinkingBlock:
			parts = append(parts, object{"text": b.Text, "thought": true})
		default:
			parts = append(parts, object{"text": b.Text})
		}
	}
	return encode(g.chunk(t, a, id, parts, true))
}

func (geminiAPI) count(tokens int) []byte { return encode(object{"totalTokens": tokens}) }

func (geminiAPI) models(ids []string) []byte {
	data := []object{}
	for _, id := range ids {
		data = append(data, object{"name": "models/" + id, "displayName": id})
	}
	return encode(object{"models": data})
}
