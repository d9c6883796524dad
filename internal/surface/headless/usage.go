package headless

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

// startUsage is the usage an assistant message carries: that of the answer's beginning.
func startUsage(u msg.Usage) object {
	return object{
		{"input_tokens", u.Input},
		{"cache_creation_input_tokens", u.CacheWrite},
		{"cache_read_input_tokens", u.CacheRead},
		{"output_tokens", u.Output},
		{"service_tier", "standard"},
	}
}

// turnUsage is the usage a result carries.
func turnUsage(u msg.Usage) object {
	return object{
		{"input_tokens", u.Input},
		{"cache_creation_input_tokens", u.CacheWrite},
		{"cache_read_input_tokens", u.CacheRead},
		{"output_tokens", u.Output},
		{"server_tool_use", object{{"web_search_requests", u.WebSearches}, {"web_fetch_requests", 0}}},
		{"service_tier", "standard"},
		{"cache_creation", object{
			{"ephemeral_1h_input_tokens", u.CacheWrite1h},
			{"ephemeral_5m_input_tokens", u.CacheWrite - u.CacheWrite1h},
		}},
		{"inference_geo", ""},
		{"iterations", []any{}},
		{"speed", "standard"},
	}
}

// syntheticUsage is the usage of a message no model wrote: counts of zero, and nothing else known.
func syntheticUsage() object {
	return object{
		{"input_tokens", 0},
		{"output_tokens", 0},
		{"cache_creation_input_tokens", 0},
		{"cache_read_input_tokens", 0},
		{"server_tool_use", object{{"web_search_requests", 0}, {"web_fetch_requests", 0}}},
		{"service_tier", nil},
		{"cache_creation", object{{"ephemeral_1h_input_tokens", 0}, {"ephemeral_5m_input_tokens", 0}}},
		{"inference_geo", nil},
		{"iterations", nil},
		{"speed", nil},
	}
}

// modelUsage is the spending by model of the process so far.
func modelUsage(models map[string]proto.ModelUsage) map[string]object {
	out := make(map[string]object, len(models))
	for ref, u := range models {
		out[wireModel(ref)] = object{
			{"inputTokens", u.Input},
			{"outputTokens", u.Output},
			{"cacheReadInputTokens", u.CacheRead},
			{"cacheCreationInputTokens", u.CacheWrite},
			{"webSearchRequests", u.WebSearches},
			{"costUSD", u.CostUSD},
			{"contextWindow", u.ContextWindow},
			{"maxOutputTokens", u.MaxOutput},
		}
	}
	return out
}

// wireModel is the name hosts know a model by. They were written for one provider, whose models
// go without its name; every other keeps it, so that the name can be given back.
func wireModel(ref string) string { return strings.TrimPrefix(ref, "anthropic/") }

// wireBlock is a content block as the public API has it, without what only this program keeps
// beside it.
func wireBlock(b msg.Block) any {
	switch b := b.(type) {
	case msg.Thinking:
		return object{{"type", b.Type()}, {"thinking", b.Thinking}, {"signature", b.Signature}}
	case msg.RedactedThinking:
		return object{{"type", b.Type()}, {"data", b.Data}}
	case msg.ToolCall:
		input := b.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		return object{{"type", b.Type()}, {"id", b.ID}, {"name", b.Name}, {"input", input}}
	case msg.ToolResult:
		return object{{"tool_use_id", b.CallID}, {"type", b.Type()}, {"content", resultContent(b.Content)}, {"is_error", b.IsError}}
	}
	raw, err := msg.MarshalBlock(b)
	if err != nil { // a block that spoils only itself
		return object{{"type", "text"}, {"text", fmt.Sprintf("[left out: %v]", err)}}
	}
	return raw
}

// resultContent is a string where the result is a single text, as hosts expect it, else blocks.
func resultContent(content []msg.Block) any {
	if len(content) == 0 {
		return ""
	}
	if len(content) == 1 {
		if t, ok := content[0].(msg.Text); ok {
			return t.Text
		}
	}
	return wireBlocks(content)
}

func wireBlocks(blocks []msg.Block) []any {
	out := make([]any, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, wireBlock(b))
	}
	return out
}
