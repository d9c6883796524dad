package fakeapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

func (m *messagesRead) content(n node, role msg.Role) []msg.Block {
	if isString(n.raw("content")) {
		m.emptyText(n.path, n.str("content"))
		return []msg.Block{msg.Text{Text: n.str("content")}}
	}
	list := n.list("content")
	if len(list) == 0 {
		m.bad("%s: all messages must have non-empty content except for the optional final assistant message", n.path)
	}
	var out []msg.Block
	for i, raw := range list {
		if b := m.block(fmt.Sprintf("%s.content.%d", n.path, i), raw, role); b != nil {
			out = append(out, b)
		}
	}
	return out
}

func (m *messagesRead) block(path string, raw json.RawMessage, role msg.Role) msg.Block {
	n := m.object(raw, path)
	typ := n.str("type")
	only := func(r msg.Role) {
		if role != r {
			m.bad("%s: `%s` blocks can only be in `%s` messages", path, typ, r)
		}
	}
	if typ != "thinking" && typ != "redacted_thinking" {
		m.mark(n)
	} else if n.has("cache_control") {
		m.bad("%s.%s.cache_control: Extra inputs are not permitted", path, typ)
	}
	switch typ {
	case "text":
		n.only("type", "text", "cache_control", "citations")
		m.emptyText("messages", n.str("text"))
		return msg.Text{Text: n.str("text")}
	case "thinking":
		only(msg.Assistant)
		n.only("type", "thinking", "signature")
		n.need("thinking", "signature")
		if n.str("signature") != Sign(n.str("thinking")) {
			m.bad("%s: Invalid `signature` in `thinking` block", path)
		}
		return msg.Thinking{Thinking: n.str("thinking"), Signature: n.str("signature")}
	case "redacted_thinking":
		only(msg.Assistant)
		n.only("type", "data")
		if n.str("data") == "" {
			m.bad("%s: Invalid `data` in `redacted_thinking` block", path)
		}
		return msg.RedactedThinking{Data: n.str("data")}
	case "tool_use":
		only(msg.Assistant)
		return m.call(n)
	case "tool_result":
		only(msg.User)
		return m.result(n)
	case "image", "document":
		only(msg.User)
		return m.medium(n, typ)
	case "server_tool_use":
		only(msg.Assistant)
		n.need("id", "name", "input")
		return msg.Unknown{Kind: typ, Raw: raw}
	case "web_search_tool_result":
		only(msg.Assistant)
		n.need("tool_use_id", "content")
		return msg.Unknown{Kind: typ, Raw: raw}
	case "tool_reference":
		only(msg.User)
		return m.reference(n, raw)
	case "search_result", "container_upload":
		return msg.Unknown{Kind: typ, Raw: raw}
	}
	m.bad("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, typ)
	return nil
}

// reference reads what stands for a tool that was kept back.
func (m *messagesRead) reference(n node, raw json.RawMessage) msg.Block {
	n.only("type", "tool_name", "cache_control")
	if name := n.str("tool_name"); !m.tools[name] {
		m.bad("%s: Tool reference '%s' not found in available tools", n.path, name)
	}
	return msg.Unknown{Kind: "tool_reference", Raw: raw}
}

func (m *messagesRead) call(n node) msg.Block {
	n.only("type", "id", "name", "input", "cache_control", "caller")
	n.need("id", "name", "input")
	id := n.str("id")
	if !word(id, len(id)) {
		m.bad("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", n.path)
	}
	if m.ids[id] {
		m.bad("%s: `tool_use` ids must be unique", n.path)
	}
	m.ids[id] = true
	if !word(n.str("name"), 128) {
		m.bad("%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", n.path)
	}
	if !isObject(n.raw("input")) {
		m.bad("%s.tool_use.input: Input should be a valid dictionary", n.path)
	}
	return msg.ToolCall{ID: id, Name: n.str("name"), Input: n.raw("input")}
}

func (m *messagesRead) result(n node) msg.Block {
	n.only("type", "tool_use_id", "content", "is_error", "cache_control")
	n.need("tool_use_id")
	r := msg.ToolResult{CallID: n.str("tool_use_id"), IsError: n.flag("is_error")}
	if !n.has("content") {
		return r
	}
	if isString(n.raw("content")) {
		r.Content = []msg.Block{msg.Text{Text: n.str("content")}}
		return r
	}
	for i, raw := range n.list("content") {
		path := fmt.Sprintf("%s.content.%d", n.path, i)
		switch b := m.block(path, raw, msg.User).(type) {
		case msg.ToolResult, msg.ToolCall:
			m.bad("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, b.Type())
		case nil:
		default:
			r.Content = append(r.Content, b)
		}
	}
	return r
}

func (m *messagesRead) medium(n node, typ string) msg.Block {
	n.only("type", "source", "title", "context", "citations", "cache_control")
	if typ == "image" {
		n.only("type", "source", "cache_control")
	}
	s := m.object(n.raw("source"), n.at("source"), "type", "media_type", "data", "url", "file_id", "content")
	path := n.path + "." + typ + ".source"
	switch from := s.str("type"); {
	case from == "url":
		if !strings.HasPrefix(s.str("url"), "https://") {
			m.bad("%s.url: Only HTTPS URLs are supported", path)
		}
		if typ == "image" {
			return msg.Image{URL: s.str("url")}
		}
		return msg.Document{URL: s.str("url"), Title: n.str("title")}
	case from == "base64" && typ == "image":
		if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, s.str("media_type")) {
			m.bad("%s.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", path)
		}
		raw, p := m.readImage(path+".base64", s.str("media_type"), s.str("data"))
		m.pictures = append(m.pictures, p)
		return msg.Image{MediaType: s.str("media_type"), Data: raw}
	case from == "base64":
		raw, err := base64.StdEncoding.DecodeString(s.str("data"))
		if s.str("media_type") != "application/pdf" {
			m.bad("%s.base64.media_type: Input should be 'application/pdf'", path)
		}
		if err != nil || !bytes.HasPrefix(raw, []byte("%PDF-")) {
			m.bad("%s.base64.data: The PDF specified was not valid.", path)
		}
		return msg.Document{MediaType: "application/pdf", Data: raw, Title: n.str("title")}
	case from == "text" && typ == "document":
		if s.str("media_type") != "text/plain" {
			m.bad("%s.text.media_type: Input should be 'text/plain'", path)
		}
		m.emptyText(path+".text.data", s.str("data"))
		return msg.Document{MediaType: "text/plain", Data: []byte(s.str("data")), Title: n.str("title")}
	case from == "file":
		return msg.Unknown{Kind: typ, Raw: encode(n.m)}
	default:
		m.bad("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, from)
	}
	return nil
}
