package fakeapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

// chatAPI is OpenAI's Chat Completions API, with the stricter demands of servers that speak it:
// https://platform.openai.com/docs/api-reference/chat.
type chatAPI struct{ quirks quirks }

func (chatAPI) refuse(r refusal) []byte { return openAIError(r) }

// openAIError is the error shape of both of OpenAI's interfaces.
func openAIError(r refusal) []byte {
	body := object{"message": r.message, "type": r.typ, "param": nil, "code": nil}
	if r.typ == "" || r.typ == "authentication_error" {
		body["type"] = "invalid_request_error"
	}
	if r.param != "" {
		body["param"] = r.param
	}
	if r.code != "" {
		body["code"] = r.code
	}
	return encode(object{"error": body})
}

func openAICheck() *check {
	return &check{
		unknown: func(path, key string) refusal {
			param := strings.TrimPrefix(path+"."+key, ".")
			return refusal{typ: "invalid_request_error", code: "unknown_parameter", param: param, message: fmt.Sprintf("Unknown parameter: '%s'.", param)}
		},
		wrong: func(path, want string) refusal {
			return refusal{typ: "invalid_request_error", code: "invalid_type", param: path, message: fmt.Sprintf("Invalid type for '%s': expected %s.", path, want)}
		},
	}
}

// tooLong refuses a string over the service's limit.
func (c *check) tooLong(path, value string, most int) {
	if len(value) > most {
		c.refuse(refusal{typ: "invalid_request_error", code: "string_above_max_length", param: path, message: fmt.Sprintf(
			"Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", path, most, len(value))})
	}
}

type chatRead struct {
	*check
	in       incoming
	a        asked
	pictures []picture
	open     []string // calls that wait for their results
	ids      map[string]bool
	quirks   quirks
}

func (api chatAPI) read(in incoming) (asked, *refusal) {
	r := chatRead{check: openAICheck(), in: in, ids: map[string]bool{}, quirks: api.quirks}
	if !strings.HasSuffix(in.path, "/chat/completions") {
		return r.a, &refusal{status: 404, typ: "invalid_request_error", message: "Invalid URL (POST " + in.path + ")"}
	}
	if why := in.notJSON(); why != "" {
		r.bad("We could not parse the JSON body of your request: %s", why)
		return r.a, r.first
	}
	r.body()
	return r.a, r.first
}

func (r *chatRead) body() {
	n := r.object(r.in.body, "", "model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "tools", "tool_choice",
		"parallel_tool_calls", "stop", "temperature", "top_p", "n", "seed", "user", "safety_identifier", "prompt_cache_key", "reasoning_effort", "response_format", "verbosity", "store", "metadata")
	n.need("model", "messages")
	r.a.model, r.a.stream = n.str("model"), n.flag("stream")
	if n.has("stream_options") {
		if !r.a.stream {
			r.bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
		}
		r.a.options = r.object(n.raw("stream_options"), "stream_options", "include_usage").flag("include_usage")
	}
	limit := n.num("max_completion_tokens")
	if n.has("max_tokens") {
		if n.has("max_completion_tokens") {
			r.bad("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
		}
		limit = n.num("max_tokens")
	}
	if most := r.in.model.OutputLimit(); limit > most {
		r.refuse(refusal{typ: "invalid_request_error", param: "max_tokens", code: "invalid_value", message: fmt.Sprintf(
			"max_tokens is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.", limit, most, limit)})
	}
	if e := n.str("reasoning_effort"); e != "" && !slices.Contains(openAIEfforts(), e) {
		r.bad("Invalid value: '%s'. Supported values are: %v.", e, openAIEfforts())
	}
	if n.has("response_format") {
		r.object(n.raw("response_format"), "response_format", "type", "json_schema")
	}
	r.tools(n)
	r.messages(n.list("messages"))
	r.quirky(n.list("messages"))
	r.many(r.pictures)
	r.window(limit)
}

func openAIEfforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

func (r *chatRead) tools(n node) {
	names := []string{}
	for i, raw := range n.list("tools") {
		t := r.object(raw, fmt.Sprintf("tools[%d]", i), "type", "function")
		if t.str("type") != "function" {
			r.bad("Invalid value: '%s'. Supported values are: 'function'.", t.str("type"))
		}
		f := r.object(t.raw("function"), t.at("function"), "name", "description", "parameters", "strict")
		name := f.str("name")
		if !word(name, 64) {
			r.refuse(refusal{typ: "invalid_request_error", code: "invalid_value", param: f.at("name"), message: fmt.Sprintf(
				"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", f.at("name"))})
		}
		if f.has("parameters") {
			r.schema(f.at("parameters"), f.raw("parameters"))
		}
		names = append(names, name)
		r.a.req.Tools = append(r.a.req.Tools, provider.Tool{Name: name, Description: f.str("description"), Schema: f.raw("parameters")})
	}
	if n.has("tools") && len(names) == 0 {
		r.bad("Invalid 'tools': empty array. Expected an array with minimum length 1.")
	}
	r.choice(n, names)
}

func (r *chatRead) choice(n node, names []string) {
	if !n.has("tool_choice") {
		return
	}
	if len(names) == 0 {
		r.bad("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	}
	if isString(n.raw("tool_choice")) {
		if c := n.str("tool_choice"); !slices.Contains([]string{"auto", "none", "required"}, c) {
			r.bad("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", c)
		}
		return
	}
	c := r.object(n.raw("tool_choice"), "tool_choice", "type", "function")
	if name := r.object(c.raw("function"), "tool_choice.function", "name").str("name"); !slices.Contains(names, name) {
		r.bad("Invalid value for 'tool_choice': function '%s' is not in 'tools'.", name)
	}
}

func (r *chatRead) messages(list []json.RawMessage) {
	if len(list) == 0 {
		r.bad("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	before := ""
	for i, raw := range list {
		n := r.object(raw, fmt.Sprintf("messages[%d]", i))
		role := n.str("role")
		if role != "tool" && len(r.open) > 0 {
			r.unanswered()
		}
		switch role {
		case "system", "developer":
			n.only("role", "content", "name")
			r.a.req.System = append(r.a.req.System, r.content(n, false)...)
		case "user":
			n.only("role", "content", "name")
			if before == "user" {
				r.bad("messages[%d]: after the optional system message, conversation roles must alternate user/assistant/user/assistant/...", i)
			}
			r.say(msg.User, r.content(n, true))
		case "assistant":
			if before == "assistant" {
				r.bad("messages[%d]: after the optional system message, conversation roles must alternate user/assistant/user/assistant/...", i)
			}
			r.assistant(n)
		case "tool":
			r.tool(n, i)
		default:
			r.bad("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
		}
		before = role
	}
	if len(r.open) > 0 {
		r.unanswered()
	}
}

func (r *chatRead) unanswered() {
	r.bad("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(r.open, ", "))
	r.open = nil
}

func (r *chatRead) say(role msg.Role, content []msg.Block) {
	r.a.req.Messages = append(r.a.req.Messages, msg.Message{Role: role, Content: content})
}

func (r *chatRead) assistant(n node) {
	n.only("role", "content", "name", "refusal", "tool_calls", "reasoning_content")
	var content []msg.Block
	if n.has("content") {
		content = r.content(n, false)
	} else if !n.has("tool_calls") {
		r.bad("Invalid value for 'content': expected a string, got null.")
	}
	calls := n.list("tool_calls")
	if n.has("tool_calls") && len(calls) == 0 {
		r.bad("Invalid '%s': empty array. Expected an array with minimum length 1.", n.at("tool_calls"))
	}
	for i, raw := range calls {
		c := r.object(raw, fmt.Sprintf("%s.tool_calls[%d]", n.path, i), r.quirks.callMembers()...)
		f := r.object(c.raw("function"), c.at("function"), "name", "arguments")
		id, name, arguments := c.str("id"), f.str("name"), f.str("arguments")
		c.need("id", "type")
		r.tooLong(c.at("id"), id, 40)
		if r.ids[id] || id == "" {
			r.bad("Duplicate value for 'tool_call_id' of '%s' in %s", id, c.path)
		}
		r.ids[id] = true
		if !word(name, 64) {
			r.bad("Invalid '%s': string does not match pattern '^[a-zA-Z0-9_-]{1,64}$'.", f.at("name"))
		}
		if !isObject(json.RawMessage(arguments)) || !json.Valid([]byte(arguments)) {
			r.bad("Invalid '%s': expected the text of a JSON object.", f.at("arguments"))
		}
		r.open = append(r.open, id)
		content = append(content, msg.ToolCall{ID: id, Name: name, Input: json.RawMessage(arguments)})
	}
	r.say(msg.Assistant, content)
}

func (r *chatRead) tool(n node, i int) {
	n.only("role", "content", "tool_call_id", "name")
	id := n.str("tool_call_id")
	at := slices.Index(r.open, id)
	if at < 0 {
		r.bad("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[%d])", i)
		return
	}
	r.open = slices.Delete(r.open, at, at+1)
	if !n.has("content") {
		r.bad("Invalid value for 'content': expected a string, got null.")
	}
	content := r.content(n, false)
	r.say(msg.User, []msg.Block{msg.ToolResult{CallID: id, Content: content, IsError: saysError(content)}})
}

// content reads a string or parts; media may stand only in what a user says.
func (r *chatRead) content(n node, media bool) []msg.Block {
	if isString(n.raw("content")) {
		if n.str("role") != "tool" {
			r.emptyText(n.at("content"), n.str("content"))
		}
		return []msg.Block{msg.Text{Text: n.str("content")}}
	}
	var out []msg.Block
	list := n.list("content")
	if len(list) == 0 {
		r.bad("Invalid '%s': empty array. Expected an array with minimum length 1.", n.at("content"))
	}
	for i, raw := range list {
		p := r.object(raw, fmt.Sprintf("%s.content[%d]", n.path, i))
		typ := p.str("type")
		if typ != "text" && !media {
			r.bad("Invalid value: '%s'. Supported values are: 'text'.", typ)
			continue
		}
		switch typ {
		case "text":
			p.only("type", "text")
			r.emptyText(p.at("text"), p.str("text"))
			out = append(out, msg.Text{Text: p.str("text")})
		case "image_url":
			p.only("type", "image_url")
			u := r.object(p.raw("image_url"), p.at("image_url"), "url", "detail")
			out = append(out, r.image(u.at("url"), u.str("url"), &r.pictures))
		case "file":
			p.only("type", "file")
			f := r.object(p.raw("file"), p.at("file"), "filename", "file_data", "file_id")
			f.need("filename")
			out = append(out, r.file(f.at("file_data"), f.str("file_data")))
		default:
			r.bad("Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'.", typ)
		}
	}
	return out
}

func (c *check) image(path, url string, pictures *[]picture) msg.Block {
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return msg.Image{URL: url}
	}
	mediaType, data, err := dataURL(url)
	if err != nil {
		c.refuse(refusal{typ: "invalid_request_error", code: "invalid_image_url", param: path, message: "Invalid image URL: " + err.Error()})
		return msg.Image{}
	}
	raw, p := c.readImage(path, mediaType, data)
	*pictures = append(*pictures, p)
	return msg.Image{MediaType: mediaType, Data: raw}
}

func (c *check) file(path, url string) msg.Block {
	mediaType, data, err := dataURL(url)
	if err != nil || mediaType != "application/pdf" || !strings.HasPrefix(data, "JVBERi") { // %PDF in base64
		c.refuse(refusal{typ: "invalid_request_error", code: "invalid_value", param: path, message: "Invalid file data: expected a PDF as base64"})
	}
	return msg.Document{MediaType: mediaType, Data: []byte(data)}
}

func (r *chatRead) window(limit int) { r.openAIWindow(r.in, r.a.req, limit) }

func (c *check) openAIWindow(in incoming, req provider.Request, limit int) {
	tokens, window := in.tokens(req), in.model.Window()
	over := func(format string, args ...any) {
		c.refuse(refusal{typ: "invalid_request_error", code: "context_length_exceeded", param: "messages", message: fmt.Sprintf(format, args...)})
	}
	switch {
	case tokens > window:
		over("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, tokens)
	case tokens+limit > window:
		over("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.", window, tokens+limit, tokens, limit)
	}
}

// chatUsage counts what was cached as part of the prompt, as OpenAI does.
func chatUsage(u msg.Usage) object {
	in := u.Input + u.CacheRead + u.CacheWrite
	return object{
		"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": object{"reasoning_tokens": u.Thinking},
	}
}

func (chatAPI) told(msg.Usage) msg.Usage { return msg.Usage{} }

func chatFinish(s msg.Stop) string {
	switch s {
	case msg.StopToolUse:
		return "tool_calls"
	case msg.StopMaxTokens:
		return "length"
	case msg.StopRefusal:
		return "content_filter"
	}
	if !good(s) {
		return string(s)
	}
	return "stop"
}

func (api chatAPI) stream(t script.Turn, a asked, id string) []frame {
	var out []frame
	put := func(isDelta bool, delta object, finish any) {
		out = append(out, frame{event("", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": a.model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		}), isDelta})
	}
	first := object{"role": "assistant", "content": ""}
	if api.quirks.has(script.ReasoningBack) {
		first["reasoning_content"] = ""
	}
	put(false, first, nil)
	var calls []object
	for _, b := range t.Content {
		switch b.Kind {
		case script.ToolBlock:
			api.quirks.call(b, len(calls), t.Chunk, func(isDelta bool, part object) {
				put(isDelta, object{"tool_calls": []object{part}}, nil)
			})
			calls = append(calls, api.quirks.message(b))
		default:
			field := "content"
			if b.Kind == script.ThinkingBlock {
				field = "reasoning_content"
			}
			for _, p := range pieces(b.Text, t.Chunk) {
				put(true, object{field: p}, nil)
			}
		}
	}
	last := object{}
	if api.quirks.has(script.RepeatCalls) && len(calls) > 0 {
		last["tool_calls"] = calls
	}
	put(false, last, chatFinish(t.Stop))
	if a.options {
		out = append(out, frame{event("", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": a.model, "choices": []object{}, "usage": chatUsage(*t.Usage),
		}), false})
	}
	return append(out, frame{[]byte("data: [DONE]\n\n"), false})
}

func (api chatAPI) whole(t script.Turn, a asked, id string) []byte {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	calls := []object{}
	text, thought := "", ""
	for _, b := range t.Content {
		switch b.Kind {
		case script.ToolBlock:
			calls = append(calls, api.quirks.message(b))
		case script.ThinkingBlock:
			thought += b.Text
		default:
			text += b.Text
		}
	}
	if text != "" {
		message["content"] = text
	}
	if thought != "" || api.quirks.has(script.ReasoningBack) {
		message["reasoning_content"] = thought
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return encode(object{
		"id": "chatcmpl-" + id, "object": "chat.completion", "created": 1, "model": a.model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": chatFinish(t.Stop)}}, "usage": chatUsage(*t.Usage),
	})
}

func (chatAPI) count(tokens int) []byte { return encode(object{"input_tokens": tokens}) }

func (chatAPI) models(ids []string) []byte { return openAIModels(ids) }

func openAIModels(ids []string) []byte {
	data := []object{}
	for _, id := range ids {
		data = append(data, object{"id": id, "object": "model", "created": 1, "owned_by": "fake"})
	}
	return encode(object{"object": "list", "data": data})
}

// saysError reports the mark that stands for the flag these interfaces do not have.
func saysError(content []msg.Block) bool { return strings.HasPrefix(msg.TextOf(content), "Error: ") }
