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

// geminiAPI is Google's generateContent: https://ai.google.dev/api/generate-content.
type geminiAPI struct{ noCallIDs bool }

func (geminiAPI) refuse(r refusal) []byte {
	status := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 529: "UNAVAILABLE",
	}[r.status]
	if status == "" {
		status = "UNKNOWN"
	}
	body := object{"code": r.status, "message": r.message, "status": status}
	if r.retryAfter > 0 {
		body["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", r.retryAfter.Seconds())}}
	}
	return encode(object{"error": body})
}

type geminiRead struct {
	*check
	in       incoming
	a        asked
	pictures []picture
	made     int      // ids for calls without one
	open     []called // calls of the turn before
}

type called struct{ id, name string }

// signatureSkip is the documented value for calls another model made.
const signatureSkip = "skip_thought_signature_validator"

var needsSignatures = pattern(`gemini-[3-9]`)

func (geminiAPI) read(in incoming) (asked, *refusal) {
	r := geminiRead{in: in}
	r.check = &check{
		unknown: func(path, key string) refusal {
			return refusal{message: fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", key, path)}
		},
		wrong: func(path, want string) refusal {
			return refusal{message: fmt.Sprintf("Invalid value at '%s' (%s)", path, want)}
		},
	}
	_, call, ok := strings.Cut(in.path, "/models/")
	model, method, ok2 := strings.Cut(call, ":")
	if !ok || !ok2 {
		return r.a, &refusal{status: http.StatusNotFound, message: "Requested entity was not found."}
	}
	r.a.model = model
	switch method {
	case "generateContent":
	case "streamGenerateContent":
		r.a.stream = true
		if in.http.URL.Query().Get("alt") != "sse" {
			r.bad("this server streams only with alt=sse")
		}
	case "countTokens":
		r.a.count = true
	default:
		return r.a, &refusal{status: http.StatusNotFound, message: "Requested entity was not found."}
	}
	if why := in.notJSON(); why != "" {
		r.bad("Invalid JSON payload received. %s", why)
		return r.a, r.first
	}
	r.body()
	return r.a, r.first
}

func (r *geminiRead) body() {
	fields := []string{"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent", "model"}
	body := r.in.body
	if r.a.count {
		n := r.object(body, "", "contents", "generateContentRequest")
		if n.has("generateContentRequest") {
			body = n.raw("generateContentRequest")
		}
	}
	n := r.object(body, "", fields...)
	if n.has("generationConfig") {
		r.generation(n.raw("generationConfig"))
	}
	if n.has("systemInstruction") {
		s := r.object(n.raw("systemInstruction"), "system_instruction", "role", "parts")
		r.a.req.System = append(r.a.req.System, r.parts(s, "user")...)
	}
	names := r.tools(n)
	r.toolConfig(n, names)
	r.contents(n.list("contents"))
	r.many(r.pictures)
	r.signatures(n.list("contents"))
	if tokens := r.in.tokens(r.a.req); !r.a.count && tokens > r.in.model.Window() {
		r.bad("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, r.in.model.Window())
	}
}

func (r *geminiRead) generation(raw json.RawMessage) {
	g := r.object(raw, "generation_config", "maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "thinkingConfig",
		"responseMimeType", "responseJsonSchema", "responseSchema", "candidateCount", "seed", "responseModalities", "mediaResolution")
	limit := g.num("maxOutputTokens")
	if most := r.in.model.OutputLimit(); limit > most {
		r.bad("Unable to submit request because it has a maxOutputTokens value of %d but the supported range is from 1 (inclusive) to %d (exclusive). Update the value and try again.", limit, most+1)
	}
	if len(g.strs("stopSequences")) > 5 {
		r.bad("The maximum number of stop sequences is 5")
	}
	if g.has("thinkingConfig") {
		t := r.object(g.raw("thinkingConfig"), "generation_config.thinking_config", "includeThoughts", "thinkingBudget", "thinkingLevel")
		if t.has("thinkingBudget") && t.has("thinkingLevel") {
			r.bad("You can only set one of thinking budget and thinking level.")
		}
		if l := t.str("thinkingLevel"); l != "" && !slices.Contains([]string{"minimal", "low", "medium", "high"}, strings.ToLower(l)) {
			r.bad("Invalid value at 'generation_config.thinking_config.thinking_level' (%q)", l)
		}
		if t.has("thinkingLevel") && !needsSignatures().MatchString(r.a.model) {
			r.bad("Thinking level is not supported for this model.")
		}
	}
}

var geminiName = pattern(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func (r *geminiRead) tools(n node) (names []string) {
	for i, raw := range n.list("tools") {
		t := r.object(raw, fmt.Sprintf("tools[%d]", i), "functionDeclarations", "googleSearch", "codeExecution", "urlContext")
		for j, raw := range t.list("functionDeclarations") {
			f := r.object(raw, fmt.Sprintf("tools[%d].function_declarations[%d]", i, j), "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema")
			name := f.str("name")
			if !geminiName().MatchString(name) {
				r.bad("Invalid function name %q. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.", name)
			}
			if slices.Contains(names, name) {
				r.bad("Duplicate function declaration found: %s", name)
			}
			if f.has("parameters") && f.has("parametersJsonSchema") {
				r.bad("only one of parameters and parameters_json_schema may be set")
			}
			if f.has("parameters") {
				r.openAPISchema(f.at("parameters"), f.raw("parameters"))
			}
			if f.has("parametersJsonSchema") {
				r.schema(f.at("parameters_json_schema"), f.raw("parametersJsonSchema"))
			}
			names = append(names, name)
			r.a.req.Tools = append(r.a.req.Tools, provider.Tool{Name: name, Description: f.str("description"), Schema: f.raw("parametersJsonSchema")})
		}
	}
	return names
}

// openAPISchema knows only the part of JSON Schema that Google's own Schema type has.
func (r *geminiRead) openAPISchema(path string, raw json.RawMessage) {
	n := r.object(raw, path, "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
		"minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum")
	if n.has("items") {
		r.openAPISchema(path+".items", n.raw("items"))
	}
	if n.has("properties") {
		for name, p := range r.object(n.raw("properties"), path+".properties").m {
			r.openAPISchema(path+".properties["+name+"]", p)
		}
	}
}

func (r *geminiRead) toolConfig(n node, names []string) {
	if !n.has("toolConfig") {
		return
	}
	t := r.object(n.raw("toolConfig"), "tool_config", "functionCallingConfig")
	f := r.object(t.raw("functionCallingConfig"), "tool_config.function_calling_config", "mode", "allowedFunctionNames")
	mode := f.str("mode")
	if !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, mode) {
		r.bad("Invalid value at 'tool_config.function_calling_config.mode' (%q)", mode)
	}
	for _, name := range f.strs("allowedFunctionNames") {
		if mode != "ANY" && mode != "VALIDATED" {
			r.bad("Function calling config is set without function_calling_config.mode ANY, but allowed_function_names is set.")
		}
		if !slices.Contains(names, name) {
			r.bad("allowed_function_names: %q is not declared", name)
		}
	}
}

func (r *geminiRead) contents(list []json.RawMessage) {
	if len(list) == 0 {
		r.bad("* GenerateContentRequest.contents: contents is not specified")
	}
	for i, raw := range list {
		n := r.object(raw, fmt.Sprintf("contents[%d]", i), "role", "parts")
		role := n.str("role")
		want := "user"
		if i%2 == 1 {
			want = "model"
		}
		switch {
		case role != "user" && role != "model":
			r.bad("Please use a valid role: user, model.")
		case role != want:
			r.bad("Please ensure that multiturn requests alternate between user and model. (contents[%d])", i)
		}
		before := r.open
		r.open = nil
		content := r.parts(n, role)
		r.pairs(content, before)
		if role == "user" {
			r.a.req.Messages = append(r.a.req.Messages, msg.Message{Role: msg.User, Content: content})
		} else {
			r.a.req.Messages = append(r.a.req.Messages, msg.Message{Role: msg.Assistant, Content: content})
		}
	}
	if len(r.open) > 0 {
		r.bad("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	}
}

// pairs matches the responses of a turn with the calls of the one before.
func (r *geminiRead) pairs(content []msg.Block, calls []called) {
	n := 0
	for i, b := range content {
		result, ok := b.(msg.ToolResult)
		if !ok {
			continue
		}
		_, name, _ := strings.Cut(result.CallID, "\x00") // see response
		id, _, _ := strings.Cut(result.CallID, "\x00")
		if n < len(calls) {
			if calls[n].name != name {
				r.bad("Please ensure that the function response name %q is that of the function call %q.", name, calls[n].name)
			}
			if id != "" && id != calls[n].id {
				r.bad("Please ensure that the id %q of the function response is that of the function call.", id)
			}
			result.CallID = calls[n].id
			content[i] = result
		}
		n++
	}
	if n != len(calls) {
		r.bad("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
	}
}

func (r *geminiRead) parts(n node, role string) []msg.Block {
	list := n.list("parts")
	if len(list) == 0 {
		r.bad("Unable to submit request because it must include at least one parts field, which describes the prompt input. (%s)", n.path)
	}
	var out []msg.Block
	for i, raw := range list {
		p := r.object(raw, fmt.Sprintf("%s.parts[%d]", n.path, i), "text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse")
		data := 0
		for _, key := range []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
			if p.has(key) {
				data++
			}
		}
		if data != 1 || p.has("text") && p.str("text") == "" && !p.has("thoughtSignature") {
			r.bad("Unable to submit request because %s.data: required oneof field 'data' must have one initialized field", p.path)
			continue
		}
		if b := r.part(p, role, raw); b != nil {
			out = append(out, b)
		}
	}
	return out
}

func (r *geminiRead) part(p node, role string, raw json.RawMessage) msg.Block {
	switch {
	case p.has("text") && p.flag("thought"):
		return msg.Thinking{Thinking: p.str("text"), Provider: "gemini"}
	case p.has("text"):
		if text := p.str("text"); text != "" {
			r.emptyText(p.path, text)
		}
		return msg.Text{Text: p.str("text")}
	case p.has("functionCall"):
		return r.call(p, role)
	case p.has("functionResponse"):
		return r.response(p, role)
	case p.has("inlineData"):
		return r.inline(r.object(p.raw("inlineData"), p.at("inline_data"), "mimeType", "data", "displayName"))
	case p.has("fileData"):
		f := r.object(p.raw("fileData"), p.at("file_data"), "mimeType", "fileUri")
		return msg.Document{MediaType: f.str("mimeType"), URL: f.str("fileUri")}
	}
	return msg.Unknown{Kind: "gemini_part", Raw: raw}
}

func (r *geminiRead) call(p node, role string) msg.Block {
	if role != "model" {
		r.bad("Please use role model for function calls. (%s)", p.path)
	}
	f := r.object(p.raw("functionCall"), p.at("function_call"), "id", "name", "args")
	if !geminiName().MatchString(f.str("name")) {
		r.bad("Invalid function name %q at %s", f.str("name"), f.path)
	}
	if f.has("args") && !isObject(f.raw("args")) {
		r.bad("Invalid value at '%s.args' (type.googleapis.com/google.protobuf.Struct)", f.path)
	}
	id := f.str("id")
	if id == "" {
		r.made++
		id = fmt.Sprintf("unnamed_%d", r.made)
	}
	r.open = append(r.open, called{id, f.str("name")})
	return msg.ToolCall{ID: id, Name: f.str("name"), Input: f.raw("args")}
}

// response carries the name behind the id until it is paired.
func (r *geminiRead) response(p node, role string) msg.Block {
	if role != "user" {
		r.bad("Please use role user for function responses. (%s)", p.path)
	}
	f := r.object(p.raw("functionResponse"), p.at("function_response"), "id", "name", "response", "parts")
	f.need("name", "response")
	body := r.object(f.raw("response"), f.at("response"))
	result := msg.ToolResult{CallID: f.str("id") + "\x00" + f.str("name"), IsError: body.has("error")}
	for _, key := range []string{"output", "error"} {
		if isString(body.raw(key)) {
			result.Content = append(result.Content, msg.Text{Text: body.str(key)})
		}
	}
	for i, raw := range f.list("parts") {
		path := fmt.Sprintf("%s.parts[%d]", f.path, i)
		if !needsSignatures().MatchString(r.a.model) {
			r.bad("Multimodal function responses are not supported for this model. (%s)", path)
		}
		q := r.object(raw, path, "inlineData")
		result.Content = append(result.Content, r.inline(r.object(q.raw("inlineData"), path+".inline_data", "mimeType", "data", "displayName")))
	}
	return result
}

func (r *geminiRead) inline(n node) msg.Block {
	mediaType, data := n.str("mimeType"), n.str("data")
	if strings.HasPrefix(mediaType, "image/") {
		raw, p := r.readImage(n.path, mediaType, data)
		r.pictures = append(r.pictures, p)
		return msg.Image{MediaType: mediaType, Data: raw}
	}
	if mediaType == "application/pdf" && !strings.HasPrefix(data, "JVBERi") {
		r.bad("The document has no pages.")
	}
	if mediaType != "application/pdf" && mediaType != "text/plain" {
		r.bad("Unsupported MIME type: %s", mediaType)
	}
	return msg.Document{MediaType: mediaType, Data: []byte(data)}
}

// signatures demands that the first call of each step of the current turn is signed.
func (r *geminiRead) signatures(list []json.RawMessage) {
	type part struct {
		Text             string          `json:"text"`
		FunctionCall     json.RawMessage `json:"functionCall"`
		FunctionResponse json.RawMessage `json:"functionResponse"`
		ThoughtSignature string          `json:"thoughtSignature"`
	}
	contents := make([]struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}, len(list))
	turn := 0 // where the current turn begins
	for i, raw := range list {
		if json.Unmarshal(raw, &contents[i]) != nil {
			return // refused before
		}
		for _, p := range contents[i].Parts {
			if contents[i].Role == "user" && len(p.FunctionResponse) == 0 {
				turn = i
			}
			if p.ThoughtSignature != "" && p.ThoughtSignature != signatureSkip && !issued(p.ThoughtSignature) {
				r.bad("Thought signature is not valid")
			}
		}
	}
	if !needsSignatures().MatchString(r.a.model) {
		return
	}
	for i := turn; i < len(contents); i++ {
		for j, p := range contents[i].Parts {
			if len(p.FunctionCall) == 0 {
				continue
			}
			if p.ThoughtSignature == "" {
				r.bad("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call at contents[%d], position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", i, j+1)
			}
			break
		}
	}
}

// geminiSignature is the signature of an answer's first call.
func geminiSignature(id string) string { return "Z2Vt" + Sign("call "+id) }

// issued reports whether a signature can be one of this server's.
func issued(signature string) bool {
	return strings.HasPrefix(signature, "Z2Vt") && len(signature) == len(geminiSignature(""))
}
