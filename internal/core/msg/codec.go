package msg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// MarshalJSON writes the message with its blocks in the public wire shape, "type" first.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message // drops the method, so that Marshal does not call itself
	content, err := MarshalBlocks(m.Content)
	if err != nil {
		return nil, err
	}
	return encode(struct {
		plain
		Content json.RawMessage `json:"content"`
	}{plain(m), content})
}

// UnmarshalJSON reads what MarshalJSON writes, and content given as a plain string.
func (m *Message) UnmarshalJSON(data []byte) error {
	type plain Message
	var in struct {
		*plain
		Content json.RawMessage `json:"content"`
	}
	in.plain = (*plain)(m)
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	blocks, err := UnmarshalBlocks(in.Content)
	if err != nil {
		return err
	}
	m.Content = blocks
	return nil
}

// MarshalBlocks writes a list of blocks as a JSON array in the public wire shape. A nil list is
// written as [].
func MarshalBlocks(blocks []Block) (json.RawMessage, error) {
	var buf bytes.Buffer
	buf.WriteByte('[')
	for i, b := range blocks {
		if i > 0 {
			buf.WriteByte(',')
		}
		raw, err := MarshalBlock(b)
		if err != nil {
			return nil, err
		}
		buf.Write(raw)
	}
	buf.WriteByte(']')
	return buf.Bytes(), nil
}

// MarshalBlock writes one block, "type" first. [Unknown] is written as it came; it must be a JSON
// object.
func MarshalBlock(b Block) (json.RawMessage, error) {
	switch b := b.(type) {
	case Unknown:
		if raw := bytes.TrimSpace(b.Raw); !bytes.HasPrefix(raw, []byte("{")) || !json.Valid(raw) {
			return nil, fmt.Errorf("write content block of unknown kind %q: it is no JSON object", b.Kind)
		}
		return b.Raw, nil
	case Text:
		return encode(struct {
			Type string `json:"type"`
			Text
		}{b.Type(), b})
	case Thinking:
		return encode(struct {
			Type string `json:"type"`
			Thinking
		}{b.Type(), b})
	case RedactedThinking:
		return encode(struct {
			Type string `json:"type"`
			RedactedThinking
		}{b.Type(), b})
	case ToolCall:
		if len(b.Input) == 0 {
			b.Input = json.RawMessage("{}")
		}
		return encode(struct {
			Type string `json:"type"`
			ToolCall
		}{b.Type(), b})
	case ToolResult:
		content, err := MarshalBlocks(b.Content)
		if err != nil {
			return nil, err
		}
		return encode(struct {
			Type    string          `json:"type"`
			CallID  string          `json:"tool_use_id"`
			Content json.RawMessage `json:"content"`
			IsError bool            `json:"is_error,omitempty"`
		}{b.Type(), b.CallID, content, b.IsError})
	case Image:
		return encode(mediaJSON{b.Type(), sourceOf(b.MediaType, b.Data, b.URL), ""})
	case Document:
		return encode(mediaJSON{b.Type(), sourceOf(b.MediaType, b.Data, b.URL), b.Title})
	default:
		return nil, fmt.Errorf("write content block: unknown kind %T", b)
	}
}

// UnmarshalBlocks reads a JSON array of blocks, or a plain string as one text block. Kinds this
// program does not know become [Unknown]; nothing is dropped.
func UnmarshalBlocks(data json.RawMessage) ([]Block, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		if s == "" {
			return nil, nil
		}
		return []Block{Text{s}}, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, fmt.Errorf("read content: expected a string or an array of blocks: %w", err)
	}
	blocks := make([]Block, 0, len(raws))
	for _, raw := range raws {
		b, err := UnmarshalBlock(raw)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// UnmarshalBlock reads one block.
func UnmarshalBlock(raw json.RawMessage) (Block, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("read content block: expected an object with a \"type\": %w", err)
	}
	switch head.Type {
	case "text":
		return decode[Text](raw)
	case "thinking":
		return decode[Thinking](raw)
	case "redacted_thinking":
		return decode[RedactedThinking](raw)
	case "tool_use":
		return decodeCall(raw)
	case "tool_result":
		var in struct {
			CallID  string          `json:"tool_use_id"`
			Content json.RawMessage `json:"content"`
			IsError bool            `json:"is_error"`
		}
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, fmt.Errorf("read tool_result block: %w", err)
		}
		content, err := UnmarshalBlocks(in.Content)
		return ToolResult{CallID: in.CallID, Content: content, IsError: in.IsError}, err
	case "image", "document":
		return decodeMedia(raw, head.Type)
	case "":
		return nil, fmt.Errorf("read content block: \"type\" is missing")
	default:
		return Unknown{Kind: head.Type, Raw: bytes.Clone(raw)}, nil
	}
}

type mediaJSON struct {
	Type   string     `json:"type"`
	Source sourceJSON `json:"source"`
	Title  string     `json:"title,omitempty"`
}

type sourceJSON struct {
	Type      string          `json:"type"` // base64, url, text
	MediaType string          `json:"media_type,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	URL       string          `json:"url,omitempty"`
}

func sourceOf(mediaType string, data []byte, url string) sourceJSON {
	if url != "" {
		return sourceJSON{Type: "url", URL: url}
	}
	if mediaType == "text/plain" && utf8.Valid(data) { // as base64 every byte survives
		raw, _ := json.Marshal(string(data)) // a string always encodes
		return sourceJSON{Type: "text", MediaType: mediaType, Data: raw}
	}
	raw, _ := json.Marshal(data) // []byte always encodes, as base64
	return sourceJSON{Type: "base64", MediaType: mediaType, Data: raw}
}

func decodeMedia(raw json.RawMessage, kind string) (Block, error) {
	var in mediaJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read %s block: %w", kind, err)
	}
	var data []byte
	switch in.Source.Type {
	case "url":
	case "base64":
		if err := json.Unmarshal(in.Source.Data, &data); err != nil {
			return nil, fmt.Errorf("read %s block: source.data: %w", kind, err)
		}
	case "text":
		var s string
		if err := json.Unmarshal(in.Source.Data, &s); err != nil {
			return nil, fmt.Errorf("read %s block: source.data: %w", kind, err)
		}
		data = []byte(s)
	default: // a file id or something newer: the provider knows it
		return Unknown{Kind: kind, Raw: bytes.Clone(raw)}, nil
	}
	if kind == "image" {
		return Image{MediaType: in.Source.MediaType, Data: data, URL: in.Source.URL}, nil
	}
	return Document{MediaType: in.Source.MediaType, Data: data, URL: in.Source.URL, Title: in.Title}, nil
}

// decodeCall keeps the promise that Input is an object, also for records other programs wrote.
func decodeCall(raw json.RawMessage) (Block, error) {
	var c ToolCall
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read tool_use block: %w", err)
	}
	if in := bytes.TrimSpace(c.Input); !bytes.HasPrefix(in, []byte("{")) {
		if len(in) > 0 && string(in) != "null" && c.Malformed == "" {
			c.Malformed = string(in)
		}
		c.Input = json.RawMessage("{}")
	}
	return c, nil
}

func decode[B Block](raw json.RawMessage) (Block, error) {
	var b B
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("read %s block: %w", b.Type(), err)
	}
	return b, nil
}

// encode is json.Marshal without HTML escaping, so that text stands on the wire as it was said.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
