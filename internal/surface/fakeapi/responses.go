package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// responsesAPI is OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses.
type responsesAPI struct{}

func (responsesAPI) refuse(r refusal) []byte { return openAIError(r) }

type responsesRead struct {
	*check
	in       incoming
	a        asked
	pictures []picture
	calls    map[string]bool // call id → answered
	order    []string
}

func (responsesAPI) read(in incoming) (asked, *refusal) {
	r := responsesRead{check: openAICheck(), in: in, calls: map[string]bool{}}
	switch {
	case strings.HasSuffix(in.path, "/responses"):
	case strings.HasSuffix(in.path, "/responses/input_tokens"):
		r.a.count = true
	default:
		return r.a, &refusal{status: http.StatusNotFound, typ: "invalid_request_error", message: "Invalid URL (POST " + in.path + ")"}
	}
	if why := in.notJSON(); why != "" {
		r.bad("We could not parse the JSON body of your request: %s", why)
		return r.a, r.first
	}
	r.body()
	return r.a, r.first
}

func (r *responsesRead) body() {
	fields := []string{"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text", "truncation", "previous_response_id", "conversation"}
	if !r.a.count {
		fields = append(fields, "max_output_tokens", "stream", "store", "include", "temperature", "top_p", "metadata", "user",
			"safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier", "max_tool_calls")
	}
	n := r.object(r.in.body, "", fields...)
	n.need("model", "input")
	r.a.model, r.a.stream = n.str("model"), n.flag("stream")
	limit := n.num("max_output_tokens")
	if n.has("max_output_tokens") && limit < 16 {
		r.refuse(refusal{typ: "invalid_request_error", code: "integer_below_min_value", param: "max_output_tokens", message: fmt.Sprintf(
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", limit)})
	}
	if most := r.in.model.OutputLimit(); limit > most {
		r.refuse(refusal{typ: "invalid_request_error", param: "max_output_tokens", code: "invalid_value", message: fmt.Sprintf(
			"max_output_tokens is too large: %d. This model supports at most %d output tokens.", limit, most)})
	}
	if n.has("reasoning") {
		o := r.object(n.raw("reasoning"), "reasoning", "effort", "summary")
		if e := o.str("effort"); e != "" && !slices.Contains(openAIEfforts(), e) {
			r.bad("Invalid value: '%s'. Supported values are: %v.", e, openAIEfforts())
		}
	}
	r.tools(n)
	if text := n.str("instructions"); text != "" {
		r.a.req.System = []msg.Block{msg.Text{Text: text}}
	}
	if isString(n.raw("input")) {
		r.emptyText("input", n.str("input"))
		r.say(msg.User, msg.Text{Text: n.str("input")})
	} else {
		r.items(n.list("input"))
	}
	r.many(r.pictures)
	if !r.a.count {
		r.openAIWindow(r.in, r.a.req, limit)
	}
}

func (r *responsesRead) tools(n node) {
	names := []string{}
	for i, raw := range n.list("tools") {
		t := r.object(raw, fmt.Sprintf("tools[%d]", i))
		switch typ := t.str("type"); typ {
		case "function":
			t.only("type", "name", "description", "parameters", "strict")
			t.need("name", "parameters")
			if !word(t.str("name"), 64) {
				r.refuse(refusal{typ: "invalid_request_error", code: "invalid_value", param: t.at("name"), message: fmt.Sprintf(
					"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", t.at("name"))})
			}
			r.schema(t.at("parameters"), t.raw("parameters"))
			names = append(names, t.str("name"))
			r.a.req.Tools = append(r.a.req.Tools, provider.Tool{Name: t.str("name"), Description: t.str("description"), Schema: t.raw("parameters")})
		case "tool_search":
			t.only("type", "execution", "description", "parameters")
			if t.str("execution") != "client" {
				r.bad("Invalid value: '%s'. Supported values are: 'client'. (%s)", t.str("execution"), t.at("execution"))
			}
			t.need("description", "parameters")
			r.schema(t.at("parameters"), t.raw("parameters"))
			r.a.searches = true
		case "web_search", "web_search_preview":
			t.only("type", "filters", "search_context_size", "user_location")
			if t.has("filters") {
				r.object(t.raw("filters"), t.at("filters"), "allowed_domains", "blocked_domains")
			}
		default:
			r.bad("Invalid value: '%s'. Supported values are: 'function', 'web_search' and others.", typ)
		}
	}
	if !n.has("tool_choice") {
		return
	}
	if isString(n.raw("tool_choice")) {
		if c := n.str("tool_choice"); !slices.Contains([]string{"auto", "none", "required"}, c) {
			r.bad("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", c)
		}
		return
	}
	c := r.object(n.raw("tool_choice"), "tool_choice", "type", "name")
	if !slices.Contains(names, c.str("name")) {
		r.bad("Tool choice 'function' '%s' not found in 'tools' parameter.", c.str("name"))
	}
}

func (r *responsesRead) say(role msg.Role, content ...msg.Block) {
	r.a.req.Messages = append(r.a.req.Messages, msg.Message{Role: role, Content: content})
}

func (r *responsesRead) items(list []json.RawMessage) {
	if len(list) == 0 {
		r.bad("Invalid 'input': empty array.")
	}
	thought := "" // id of a reasoning item that waits for what follows it
	for i, raw := range list {
		n := r.object(raw, fmt.Sprintf("input[%d]", i))
		typ := n.str("type")
		if typ == "" && n.has("role") {
			typ = "message"
		}
		own := typ == "function_call" || typ == "tool_search_call" || typ == "reasoning" || typ == "web_search_call" || typ == "message" && n.str("role") == "assistant"
		if thought != "" && !own {
			break
		}
		if typ == "reasoning" {
			thought = n.str("id")
			r.reasoning(n)
			continue
		}
		thought = ""
		r.item(n, typ, raw)
	}
	if thought != "" {
		r.bad("Item '%s' of type 'reasoning' was provided without its required following item.", thought)
	}
	for _, id := range r.order {
		if !r.calls[id] {
			r.refuse(refusal{typ: "invalid_request_error", param: "input", message: fmt.Sprintf("No tool output found for function call %s.", id)})
		}
	}
}

func (r *responsesRead) item(n node, typ string, raw json.RawMessage) {
	switch typ {
	case "message":
		r.message(n)
	case "function_call":
		r.call(n)
	case "function_call_output":
		r.output(n)
	case "tool_search_call":
		r.search(n)
	case "tool_search_output":
		r.found(n)
	case "web_search_call":
		n.need("id", "status")
		r.say(msg.Assistant, msg.Unknown{Kind: typ, Raw: raw})
	default:
		r.bad("Invalid value: '%s'. Supported values are: 'message', 'function_call', 'function_call_output', 'reasoning' and others. (%s.type)", typ, n.path)
	}
}

// reasoning demands the encrypted content, since the server keeps nothing.
func (r *responsesRead) reasoning(n node) {
	n.only("type", "id", "summary", "content", "encrypted_content", "status")
	n.need("id", "summary")
	if !strings.HasPrefix(n.str("id"), "rs_") {
		r.bad("Invalid '%s': '%s'. Expected an ID that begins with 'rs'.", n.at("id"), n.str("id"))
	}
	if !n.has("encrypted_content") {
		r.refuse(refusal{typ: "invalid_request_error", status: http.StatusNotFound, message: fmt.Sprintf(
			"Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", n.str("id"))})
		return
	}
	text := ""
	for i, raw := range n.list("summary") {
		text += r.object(raw, fmt.Sprintf("%s.summary[%d]", n.path, i), "type", "text").str("text")
	}
	if n.str("encrypted_content") != Sign(text) {
		r.refuse(refusal{typ: "invalid_request_error", code: "invalid_encrypted_content", message: fmt.Sprintf(
			"The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", n.str("id"))})
	}
	r.say(msg.Assistant, msg.Thinking{Thinking: text, Provider: "openai"})
}

func (r *responsesRead) message(n node) {
	n.only("type", "role", "content", "id", "status", "phase")
	role := n.str("role")
	if isString(n.raw("content")) {
		r.emptyText(n.at("content"), n.str("content"))
		r.place(role, []msg.Block{msg.Text{Text: n.str("content")}})
		return
	}
	list := n.list("content")
	if len(list) == 0 {
		r.bad("Invalid '%s': empty array.", n.at("content"))
	}
	var content []msg.Block
	for i, raw := range list {
		p := r.object(raw, fmt.Sprintf("%s.content[%d]", n.path, i))
		typ := p.str("type")
		switch allowed := role != "assistant"; {
		case typ == "output_text" && !allowed:
			p.only("type", "text", "annotations", "logprobs")
			r.emptyText(p.at("text"), p.str("text"))
			content = append(content, msg.Text{Text: p.str("text")})
		case typ == "refusal" && !allowed:
			p.only("type", "refusal")
			content = append(content, msg.Text{Text: p.str("refusal")})
		case allowed:
			content = append(content, r.part(p))
		default:
			r.bad("Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'. (%s.type)", typ, p.path)
		}
	}
	r.place(role, content)
}

func (r *responsesRead) place(role string, content []msg.Block) {
	switch role {
	case "user":
		r.say(msg.User, content...)
	case "assistant":
		r.say(msg.Assistant, content...)
	case "system", "developer":
		r.a.req.System = append(r.a.req.System, content...)
	default:
		r.bad("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
	}
}

// part reads one part of what a user says or a call returns.
func (r *responsesRead) part(p node) msg.Block {
	switch typ := p.str("type"); typ {
	case "input_text":
		p.only("type", "text")
		r.emptyText(p.at("text"), p.str("text"))
		return msg.Text{Text: p.str("text")}
	case "input_image":
		p.only("type", "image_url", "detail", "file_id")
		return r.image(p.at("image_url"), p.str("image_url"), &r.pictures)
	case "input_file":
		p.only("type", "filename", "file_data", "file_url", "file_id")
		if p.has("file_url") {
			return msg.Document{URL: p.str("file_url")}
		}
		p.need("filename")
		return r.file(p.at("file_data"), p.str("file_data"))
	default:
		r.bad("Invalid value: '%s'. Supported values are: 'input_text', 'input_image', and 'input_file'. (%s.type)", typ, p.path)
		return msg.Text{}
	}
}

func (r *responsesRead) call(n node) {
	n.only("type", "id", "call_id", "name", "arguments", "status")
	n.need("call_id", "name", "arguments")
	id, arguments := n.str("call_id"), n.str("arguments")
	r.tooLong(n.at("call_id"), id, 64)
	if id == "" {
		r.bad("Invalid '%s': empty string.", n.at("call_id"))
	}
	if n.has("id") && !strings.HasPrefix(n.str("id"), "fc_") {
		r.bad("Invalid '%s': '%s'. Expected an ID that begins with 'fc'.", n.at("id"), n.str("id"))
	}
	if _, twice := r.calls[id]; twice {
		r.bad("Duplicate call_id '%s' in %s.", id, n.path)
	}
	if !word(n.str("name"), 64) {
		r.bad("Invalid '%s': string does not match pattern '^[a-zA-Z0-9_-]+$'.", n.at("name"))
	}
	if !json.Valid([]byte(arguments)) {
		r.bad("Invalid '%s': expected the text of a JSON object.", n.at("arguments"))
	}
	r.calls[id] = false
	r.order = append(r.order, id)
	r.say(msg.Assistant, msg.ToolCall{ID: id, Name: n.str("name"), Input: json.RawMessage(arguments)})
}

// search reads a search for tools that the model asked the client to run.
func (r *responsesRead) search(n node) {
	n.only("type", "id", "call_id", "execution", "status", "arguments")
	n.need("call_id", "execution", "arguments")
	if !isObject(n.raw("arguments")) {
		r.bad("Invalid type for '%s': expected an object.", n.at("arguments"))
	}
	id := n.str("call_id")
	if _, twice := r.calls[id]; twice {
		r.bad("Duplicate call_id '%s' in %s.", id, n.path)
	}
	r.calls[id], r.order = false, append(r.order, id)
	r.say(msg.Assistant, msg.ToolCall{ID: id, Name: searchTool, Input: n.raw("arguments")})
}

// found reads the tools that such a search found; the model can call them from there on.
func (r *responsesRead) found(n node) {
	n.only("type", "id", "call_id", "execution", "status", "tools")
	n.need("call_id", "execution", "status", "tools")
	id := n.str("call_id")
	if answered, known := r.calls[id]; !known || answered {
		r.bad("No tool search call found for tool search output with call_id %s.", id)
	}
	r.calls[id] = true
	for i, raw := range n.list("tools") {
		t := r.object(raw, fmt.Sprintf("%s.tools[%d]", n.path, i))
		t.only("type", "name", "description", "parameters", "strict", "defer_loading")
		t.need("type", "name", "parameters")
		r.schema(t.at("parameters"), t.raw("parameters"))
		r.a.req.Tools = append(r.a.req.Tools, provider.Tool{Name: t.str("name"), Description: t.str("description"), Schema: t.raw("parameters")})
	}
	r.say(msg.User, msg.ToolResult{CallID: id})
}

func (r *responsesRead) output(n node) {
	n.only("type", "id", "call_id", "output", "status")
	n.need("call_id", "output")
	id := n.str("call_id")
	answered, known := r.calls[id]
	if !known {
		r.refuse(refusal{typ: "invalid_request_error", param: "input", message: fmt.Sprintf("No tool call found for function call output with call_id %s.", id)})
	}
	if answered {
		r.bad("Duplicate output for call_id '%s'.", id)
	}
	r.calls[id] = true
	result := msg.ToolResult{CallID: id}
	if isString(n.raw("output")) {
		result.Content = []msg.Block{msg.Text{Text: n.str("output")}}
	} else {
		for i, raw := range n.list("output") {
			result.Content = append(result.Content, r.part(r.object(raw, fmt.Sprintf("%s.output[%d]", n.path, i))))
		}
	}
	result.IsError = saysError(result.Content)
	r.say(msg.User, result)
}
