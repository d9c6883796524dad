// Package rounds speaks the interfaces of model services in the fewest words, for tests of conversations of
// thousands of rounds: it reads nothing of a request, so what is measured is the program.
package rounds

import (
	"fmt"
	"strconv"
	"strings"
)

// Wire is one interface of a service, spoken by the least server there can be.
type Wire struct {
	Name  string
	Model string
	Env   map[string]string                      // URL stands for the address of the server
	Call  func(n int, tool, input string) string // a stream that calls a tool; input is a JSON object
	End   string                                 // a stream that says "done"
}

// Wires are the four of them.
func Wires() []Wire { return []Wire{anthropic(), chat(), responses(), gemini()} }

func sse(events ...string) string {
	out := ""
	for _, e := range events {
		out += "data: " + e + "\n\n"
	}
	return out
}

// quoted is a text as it stands inside a JSON string.
func quoted(text string) string { return strings.Trim(strconv.Quote(text), `"`) }

func anthropic() Wire {
	return Wire{
		"anthropic", "anthropic/claude-sonnet-4-5",
		map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "URL"},
		func(n int, tool, input string) string {
			return sse(
				fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`, n),
				fmt.Sprintf(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_%d","name":"%s","input":{}}}`, n, tool),
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"`+quoted(input)+`"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`,
				`{"type":"message_stop"}`)
		},
		sse(
			`{"type":"message_start","message":{"id":"msg_end","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`),
	}
}

func chat() Wire {
	return Wire{
		"chat", "openai/gpt-5",
		map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "URL/v1"},
		func(n int, tool, input string) string {
			return sse(
				fmt.Sprintf(`{"id":"c%d","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"%s","arguments":"%s"}}]}}]}`, n, n, tool, quoted(input)),
				fmt.Sprintf(`{"id":"c%d","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, n),
				`[DONE]`)
		},
		sse(`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, `[DONE]`),
	}
}

func responses() Wire {
	return Wire{
		"responses", "openai/gpt-5",
		map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "URL/v1", "MYELIN_OPENAI_API": "responses"},
		func(n int, tool, input string) string {
			item := fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":"%s","arguments":"%s","status":"completed"}`, n, n, tool, quoted(input))
			return sse(
				fmt.Sprintf(`{"type":"response.created","response":{"id":"resp_%d","model":"m","status":"in_progress","output":[]}}`, n),
				`{"type":"response.output_item.added","output_index":0,"item":`+item+`}`,
				`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
				fmt.Sprintf(`{"type":"response.completed","response":{"id":"resp_%d","model":"m","status":"completed","output":[%s],"usage":{"input_tokens":10,"output_tokens":5}}}`, n, item))
		},
		sse(
			`{"type":"response.created","response":{"id":"resp_end","model":"m","status":"in_progress","output":[]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m1","delta":"done"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"done"}]}}`,
			`{"type":"response.completed","response":{"id":"resp_end","model":"m","status":"completed","output":[],"usage":{"input_tokens":10,"output_tokens":5}}}`),
	}
}

func gemini() Wire {
	return Wire{
		"gemini", "gemini/gemini-2.5-pro",
		map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "URL"},
		func(n int, tool, input string) string {
			return sse(fmt.Sprintf(`{"responseId":"r%d","candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"%s","args":%s}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}`, n, tool, input))
		},
		sse(`{"responseId":"rend","candidates":[{"content":{"role":"model","parts":[{"text":"done"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}`),
	}
}
