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

// anthropicAPI is the Messages API. Rules and wordings are those of its public reference and of
// the errors its users report: https://platform.claude.com/docs/en/api/messages.
type anthropicAPI struct{}

func (anthropicAPI) refuse(r refusal) []byte {
	typ := r.typ
	switch r.status {
	case http.StatusUnauthorized:
		typ = "authentication_error"
	case http.StatusTooManyRequests:
		typ = "rate_limit_error"
	case 529:
		typ = "overloaded_error"
	}
	if r.typ != "" && r.status != http.StatusUnauthorized {
		typ = r.typ
	}
	return encode(object{"type": "error", "error": object{"type": typ, "message": r.message}, "request_id": "req_fake"})
}

// messagesRead is one request that is being read.
type messagesRead struct {
	*check
	in       incoming
	a        asked
	tools    map[string]bool
	deferred map[string]bool
	thinking string // type of the thinking asked for
	marks    int    // cache breakpoints
	pictures []picture
	ids      map[string]bool // of calls
	open     []string        // calls of the message before
}

func (anthropicAPI) read(in incoming) (asked, *refusal) {
	m := messagesRead{in: in, tools: map[string]bool{}, deferred: map[string]bool{}, ids: map[string]bool{}}
	m.check = &check{
		unknown: func(path, key string) refusal {
			return refusal{typ: "invalid_request_error", message: strings.TrimPrefix(path+"."+key, ".") + ": Extra inputs are not permitted"}
		},
		wrong: func(path, want string) refusal {
			return refusal{typ: "invalid_request_error", message: fmt.Sprintf("%s: Input should be a valid %s", path, want)}
		},
	}
	switch {
	case strings.HasSuffix(in.path, "/v1/messages"):
	case strings.HasSuffix(in.path, "/v1/messages/count_tokens"):
		m.a.count = true
	default:
		return m.a, &refusal{status: 404, typ: "not_found_error", message: "Not found"}
	}
	m.headers()
	if why := in.notJSON(); why != "" {
		m.bad("The request body is not valid JSON: %s", why)
		return m.a, m.first
	}
	m.body()
	return m.a, m.first
}

func (m *messagesRead) headers() {
	if m.in.http.Header.Get("Anthropic-Version") != "2023-06-01" {
		m.bad("anthropic-version: header is required")
	}
	for _, beta := range m.betas() {
		if !betaName().MatchString(beta) {
			m.bad("Unexpected value(s) `%s` for the `anthropic-beta` header.", beta)
		}
	}
}

var betaName = pattern(`^[a-z0-9-]+-20\d\d-\d\d-\d\d$`)

func (m *messagesRead) betas() (out []string) {
	for _, value := range m.in.http.Header.Values("Anthropic-Beta") {
		for _, beta := range strings.Split(value, ",") {
			out = append(out, strings.TrimSpace(beta))
		}
	}
	return out
}

func (m *messagesRead) body() {
	fields := []string{"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
	if !m.a.count {
		fields = append(fields, "max_tokens", "stream", "stop_sequences", "metadata", "temperature", "top_p", "top_k", "service_tier", "container")
	}
	n := m.object(m.in.body, "", fields...)
	n.need("model", "messages")
	m.a.model = n.str("model")
	m.a.stream = n.flag("stream")
	limit := n.num("max_tokens")
	if !m.a.count {
		n.need("max_tokens")
		if limit < 1 {
			m.bad("max_tokens: Input should be greater than or equal to 1")
		}
		if most := m.in.model.OutputLimit(); limit > most {
			m.bad("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", limit, most, m.a.model)
		}
	}
	for i, s := range n.strs("stop_sequences") {
		if strings.TrimSpace(s) == "" {
			m.bad("stop_sequences.%d: each stop sequence must contain non-whitespace", i)
		}
	}
	if n.has("metadata") {
		m.object(n.raw("metadata"), "metadata", "user_id").str("user_id")
	}
	m.think(n, limit)
	m.a.req.Tools = m.part(n, "tools", m.readTools).tools
	for _, t := range m.a.req.Tools {
		m.tools[t.Name] = true
	}
	m.choice(n)
	m.a.req.System = m.part(n, "system", m.system).system
	m.messages(n.list("messages"))
	m.many(m.pictures)
	if m.marks > 4 {
		m.bad("A maximum of 4 blocks with cache_control may be provided. Found %d.", m.marks)
	}
	m.window(limit)
}

// Ids of models by what they accept.
var (
	noBudget   = pattern(`opus-4-[789]|opus-[5-9]|sonnet-[5-9]|haiku-[5-9]|fable|mythos`)
	noAdaptive = pattern(`claude-3|(opus|sonnet|haiku)-4-[0-5]\b|(opus|sonnet|haiku)-4-20`)
	alwaysOn   = pattern(`opus-5-[5-9]|fable|mythos`)
	betweenOff = pattern(`sonnet-5-[5-9]`)
	neverForce = pattern(`(opus|sonnet|haiku)-5-[5-9]|(fable|mythos)-5-[1-9]`)
	noPrefill  = pattern(`(opus|sonnet)-4-[6-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos`)
)

func (m *messagesRead) think(n node, limit int) {
	if n.has("output_config") {
		o := m.object(n.raw("output_config"), "output_config", "effort", "format")
		if e := o.str("effort"); e != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, e) {
			m.bad("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
		}
		if o.has("format") {
			f := m.object(o.raw("format"), "output_config.format", "type", "schema")
			f.need("type", "schema")
		}
	}
	if !n.has("thinking") {
		return
	}
	t := m.object(n.raw("thinking"), "thinking", "type", "budget_tokens", "display", "block_binding")
	m.thinking = t.str("type")
	unsupported := func(instead string) {
		m.bad("\"thinking.type.%s\" is not supported for this model. %s", m.thinking, instead)
	}
	const adaptive = `Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
	switch m.thinking {
	case "enabled":
		budget := t.num("budget_tokens")
		if noBudget().MatchString(m.a.model) {
			unsupported(adaptive)
		}
		if budget < 1024 {
			m.bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		}
		if !m.a.count && budget >= limit {
			m.bad("`max_tokens` must be greater than `thinking.budget_tokens`")
		}
	case "adaptive":
		if noAdaptive().MatchString(m.a.model) {
			m.bad("adaptive thinking is not supported on this model")
		}
	case "disabled":
		if alwaysOn().MatchString(m.a.model) {
			unsupported(adaptive)
		}
		if betweenOff().MatchString(m.a.model) {
			unsupported(`To turn thinking off on this model, send "thinking": {"type": "between_tools"}.`)
		}
	case "between_tools":
		if !betweenOff().MatchString(m.a.model) {
			unsupported(adaptive)
		}
	default:
		m.bad("thinking: Input tag '%s' found using 'type' does not match any of the expected tags", m.thinking)
	}
	if m.thinking != "enabled" && t.has("budget_tokens") {
		m.bad("thinking.%s.budget_tokens: Extra inputs are not permitted", m.thinking)
	}
	if t.has("block_binding") && !slices.Contains(m.betas(), "thinking-binding-controls-2026-08-01") {
		m.bad("thinking.block_binding: Extra inputs are not permitted")
	}
}

func (m *messagesRead) mark(n node) {
	if n.has("cache_control") {
		m.marks++
		c := m.object(n.raw("cache_control"), n.at("cache_control"), "type", "ttl")
		if ttl := c.str("ttl"); c.str("type") != "ephemeral" || ttl != "" && ttl != "5m" && ttl != "1h" {
			m.bad("%s: Input should be {\"type\":\"ephemeral\"} with a ttl of 5m or 1h", n.at("cache_control"))
		}
	}
}

// readPart is what was read of tools or of a system prompt, and how many marks stand in it.
type readPart struct {
	tools  []provider.Tool
	system []msg.Block
	marks  int
}

// part reads a part of the request, or takes what was read of the same bytes before. What is refused
// is not kept.
func (m *messagesRead) part(n node, key string, read func(node) readPart) readPart {
	if kept, ok := m.in.memo.get(n.raw(key)).(readPart); ok {
		m.marks += kept.marks
		return kept
	}
	before := m.marks
	part := read(n)
	part.marks = m.marks - before
	if m.first == nil {
		m.in.memo.put(n.raw(key), part)
	}
	return part
}

func (m *messagesRead) readTools(n node) readPart {
	var out []provider.Tool
	seen := map[string]bool{}
	for i, raw := range n.list("tools") {
		path := fmt.Sprintf("tools.%d", i)
		t := m.object(raw, path)
		name := t.str("name")
		if typ := t.str("type"); typ != "" && typ != "custom" {
			t.only("type", "name", "max_uses", "allowed_domains", "blocked_domains", "user_location", "cache_control")
			if !strings.HasPrefix(typ, "web_search_") || name != "web_search" {
				m.bad("%s: Input tag '%s' does not match any of the expected tags", path, typ)
			}
			if t.has("allowed_domains") && t.has("blocked_domains") {
				m.bad("%s: only one of allowed_domains and blocked_domains may be given", path)
			}
		} else {
			t.only("type", "name", "description", "input_schema", "cache_control", "strict", "eager_input_streaming", "defer_loading", "input_examples", "allowed_callers")
			t.need("name", "input_schema")
			if t.has("description") && t.str("description") == "" {
				m.bad("%s.description: must not be empty", path)
			}
			m.schema(path+".custom.input_schema", t.raw("input_schema"))
		}
		if !word(name, 128) {
			m.bad("%s.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", path)
		}
		if seen[name] {
			m.bad("tools: Tool names must be unique.")
		}
		seen[name] = true
		if t.flag("defer_loading") {
			m.deferred[name] = true
			if t.has("cache_control") {
				m.bad("%s: tools with defer_loading=true cannot have cache_control", path)
			}
		}
		m.mark(t)
		out = append(out, provider.Tool{Name: name, Description: t.str("description"), Schema: t.raw("input_schema")})
	}
	if len(out) > 0 && len(m.deferred) == len(out) {
		m.bad("tools: At least one tool must have defer_loading=false.")
	}
	return readPart{tools: out}
}

func (m *messagesRead) choice(n node) {
	if !n.has("tool_choice") {
		return
	}
	c := m.object(n.raw("tool_choice"), "tool_choice", "type", "name", "disable_parallel_tool_use")
	if len(m.tools) == 0 {
		m.bad("tool_choice: may only be specified while providing tools")
	}
	switch typ := c.str("type"); typ {
	case "auto", "none":
	case "any", "tool":
		if name := c.str("name"); typ == "tool" && !m.tools[name] {
			m.bad("Tool '%s' not found in provided tools", name)
		}
		if neverForce().MatchString(m.a.model) {
			m.bad("tool_choice.type '%s' is not supported for this model", typ)
		}
		if m.thinking == "enabled" || m.thinking == "adaptive" {
			m.bad("Thinking may not be enabled when tool_choice forces tool use.")
		}
	default:
		m.bad("tool_choice: Input tag '%s' does not match any of the expected tags", typ)
	}
}

func (m *messagesRead) system(n node) readPart {
	if !n.has("system") {
		return readPart{}
	}
	if isString(n.raw("system")) {
		return readPart{system: []msg.Block{msg.Text{Text: n.str("system")}}}
	}
	var out []msg.Block
	for i, raw := range n.list("system") {
		b := m.object(raw, fmt.Sprintf("system.%d", i), "type", "text", "cache_control", "citations")
		if b.str("type") != "text" {
			m.bad("%s.type: Input should be 'text'", b.path)
		}
		m.emptyText("system", b.str("text"))
		m.mark(b)
		out = append(out, msg.Text{Text: b.str("text")})
	}
	return readPart{system: out}
}

func (m *messagesRead) messages(list []json.RawMessage) {
	if len(list) == 0 {
		m.bad("messages: at least one message is required")
	}
	for i, raw := range list {
		n := m.object(raw, fmt.Sprintf("messages.%d", i), "role", "content")
		n.need("role", "content")
		role := msg.Role(n.str("role"))
		want := msg.User
		if i%2 == 1 {
			want = msg.Assistant
		}
		switch {
		case role != msg.User && role != msg.Assistant:
			m.bad("%s.role: Input should be 'user' or 'assistant'", n.path)
		case i == 0 && role != msg.User:
			m.bad("messages: first message must use the \"user\" role")
		case role != want:
			m.bad("messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"%s\" roles in a row", role)
		}
		content := m.content(n, role)
		m.pairs(i, n.path, role, content)
		m.a.req.Messages = append(m.a.req.Messages, msg.Message{Role: role, Content: content})
		if i == len(list)-1 && role == msg.Assistant && noPrefill().MatchString(m.a.model) {
			m.bad("This model does not support assistant message prefill. The conversation must end with a user message.")
		}
	}
	if len(m.open) > 0 {
		m.bad("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", len(list)-1, strings.Join(m.open, ", "))
	}
	m.thinkingBeforeCalls()
}

// thinkingBeforeCalls demands of a budgeted request that the answer it continues began by thinking.
func (m *messagesRead) thinkingBeforeCalls() {
	if m.thinking != "enabled" {
		return
	}
	for i := len(m.a.req.Messages) - 1; i >= 0; i-- {
		said := m.a.req.Messages[i]
		if said.Role != msg.Assistant {
			continue
		}
		if len(msg.Calls(said)) > 0 && !thinks(said.Content[0]) {
			m.bad("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", i, said.Content[0].Type())
		}
		return
	}
}

func thinks(b msg.Block) bool { return b.Type() == "thinking" || b.Type() == "redacted_thinking" }

// pairs checks calls and results of one message.
func (m *messagesRead) pairs(i int, path string, role msg.Role, content []msg.Block) {
	answered := map[string]bool{}
	leading := true
	for j, b := range content {
		r, ok := b.(msg.ToolResult)
		if !ok {
			leading = false
			continue
		}
		switch {
		case !slices.Contains(m.open, r.CallID):
			m.bad("%s.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", path, j, r.CallID)
		case answered[r.CallID]:
			m.bad("%s.content.%d: each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: %s", path, j, r.CallID)
		case !leading:
			m.bad("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, r.CallID)
		}
		answered[r.CallID] = true
	}
	for _, id := range m.open {
		if !answered[id] {
			m.bad("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
		}
	}
	m.open = nil
	for _, b := range content {
		if c, ok := b.(msg.ToolCall); ok {
			m.open = append(m.open, c.ID)
		}
	}
	if n := len(content); role == msg.Assistant && n > 0 && thinks(content[n-1]) {
		m.bad("%s: The final block in an assistant message cannot be `thinking`.", path)
	}
}

// window refuses what does not fit the model's window.
func (m *messagesRead) window(limit int) {
	tokens, window := m.in.tokens(m.a.req), m.in.model.Window()
	switch {
	case m.a.count:
	case tokens > window:
		m.bad("prompt is too long: %d tokens > %d maximum", tokens, window)
	case tokens+limit > window:
		m.bad("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", tokens, limit, window)
	}
}
