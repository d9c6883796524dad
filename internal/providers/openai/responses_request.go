package openai

import (
	"bytes"
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

type responsesBody struct {
	Model        string           `json:"model"`
	MaxTokens    int              `json:"max_output_tokens,omitempty"`
	Reasoning    *reasoningObject `json:"reasoning,omitempty"`
	Include      []string         `json:"include,omitempty"`
	Text         any              `json:"text,omitempty"`
	Store        *bool            `json:"store,omitempty"`
	Stream       bool             `json:"stream,omitempty"`
	CacheKey     string           `json:"prompt_cache_key,omitempty"`
	ToolChoice   any              `json:"tool_choice,omitempty"`
	Tools        []any            `json:"tools,omitempty"`
	Instructions string           `json:"instructions,omitempty"`
	// The list comes last, each value encoded by itself.
	Input wire.Conversation `json:"-"`
}

func (b responsesBody) list() wire.List {
	return wire.List{Name: "input", Values: b.Input.Raw(), Always: true}
}

// countable leaves out what does not count.
func (b responsesBody) countable() responsesBody {
	b.MaxTokens, b.Include, b.Store, b.Stream, b.CacheKey = 0, nil, nil, false, ""
	return b
}

type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type searchTool struct {
	Type    string         `json:"type"`
	Filters *searchFilters `json:"filters,omitempty"`
}

type searchFilters struct {
	Allowed []string `json:"allowed_domains,omitempty"`
}

type messageItem struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileName string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type outputItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a string or parts
}

// minTokens is the least limit the service takes.
const minTokens = 16

func (m *Model) responsesBody(req provider.Request, names *wire.Names) (responsesBody, error) {
	o := req.Options
	store := false
	b := responsesBody{
		Model: m.cfg.Info.ID, MaxTokens: max(m.maxTokens(o), minTokens), Store: &store,
		Stream: !o.NoStream, Instructions: systemText(req.System),
	}
	if m.cfg.Info.Thinking {
		// Nothing is kept on the service, so reasoning comes along, encrypted, and is sent back.
		b.Include = []string{"reasoning.encrypted_content"}
		b.Reasoning = &reasoningObject{Effort: m.effort(o), Summary: "auto"}
	}
	if len(o.SessionID) <= maxCacheKey {
		b.CacheKey = o.SessionID
	}
	if len(o.Schema) > 0 {
		b.Text = map[string]any{"format": map[string]any{"type": "json_schema", "name": "answer", "schema": wire.Object(o.Schema), "strict": false}}
	}
	finds := m.finder(req)
	for _, t := range req.Tools {
		switch {
		case finds == "" || !t.Deferred && t.Name != finds:
			b.Tools = append(b.Tools, functionTool{"function", names.Of(t.Name), t.Description, wire.Schema(t.Schema), false})
		case t.Name == finds:
			b.Tools = append(b.Tools, toolSearch{"tool_search", "client", t.Description, wire.Schema(t.Schema)})
		}
	}
	if w := o.WebSearch; w != nil {
		tool := searchTool{Type: "web_search"}
		if len(w.AllowedDomains) > 0 {
			tool.Filters = &searchFilters{w.AllowedDomains}
		}
		b.Tools = append(b.Tools, tool)
	}
	if len(b.Tools) > 0 {
		b.ToolChoice = toolChoice(o.ToolChoice, names, func(name string) any {
			return map[string]any{"type": "function", "name": name}
		})
	}
	var err error
	b.Input, err = m.sent.Write(req, m.itemWay(req, finds))
	return b, err
}

// itemWriter writes turns as items of the service's flat list.
type itemWriter struct {
	ids      *wire.IDs
	names    *wire.Names
	finds    string                   // name of the tool whose calls are the service's search for tools
	deferred map[string]provider.Tool // what such a search may find
	searches map[string]bool          // ids of its calls
}

// Turn implements [wire.Writer].
func (w *itemWriter) Turn(t wire.Turn) (out []json.RawMessage, err error) {
	add := func(v any) error {
		raw, err := wire.Marshal(v)
		out = append(out, raw)
		return err
	}
	var said []part
	flush := func() error {
		if len(said) == 0 {
			return nil
		}
		item := messageItem{"message", string(t.Role), said}
		said = nil
		return add(item)
	}
	for i, s := range t.Content {
		switch b := s.Block.(type) {
		case msg.ToolResult:
			if w.searches[b.CallID] {
				err = add(w.found(b))
				break
			}
			err = add(outputItem{"function_call_output", w.ids.Of(b.CallID), resultOutput(b)})
		case msg.ToolCall:
			if err = flush(); err == nil && w.finds != "" && b.Name == w.finds {
				w.searches[b.ID] = true
				err = add(searchItem{searchCall, w.ids.Of(b.ID), "client", "completed", wire.Object(b.Input)})
				break
			}
			if err == nil {
				err = add(callItem{"function_call", w.ids.Of(b.ID), w.names.Of(b.Name), string(wire.Object(b.Input))})
			}
		case msg.Thinking:
			if err = flush(); err == nil && followed(t.Content[i+1:]) {
				out = append(out, compact(b.Data))
			}
		case msg.Unknown:
			if err = flush(); err == nil {
				out = append(out, compact(b.Raw))
			}
		default:
			said = append(said, partsOf(t.Role, b)...)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, flush()
}

// followed reports whether something stands behind reasoning that it can belong to; alone it is
// refused.
func followed(rest []wire.Said) bool {
	for _, s := range rest {
		if _, more := s.Block.(msg.Thinking); !more {
			return true
		}
	}
	return false
}

func compact(raw json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	if json.Compact(&buf, wire.CleanJSON(raw)) != nil {
		return raw // it was valid when it was let in
	}
	return buf.Bytes()
}

func partsOf(role msg.Role, b msg.Block) []part {
	kind := "input_text"
	if role == msg.Assistant {
		kind = "output_text"
	}
	switch b := b.(type) {
	case msg.Text:
		return []part{{Type: kind, Text: b.Text}}
	case msg.Image:
		return []part{{Type: "input_image", ImageURL: imageURL(b)}}
	case msg.Document:
		switch {
		case b.URL != "":
			return []part{{Type: "input_file", FileURL: b.URL}}
		case b.MediaType == "text/plain":
			return []part{{Type: kind, Text: wire.PlainText(b).Text}}
		}
		return []part{{Type: "input_file", FileName: fileName(b), FileData: dataURL(b.MediaType, b.Data)}}
	}
	return nil
}

// resultOutput is a string, or parts when there is something to see.
func resultOutput(r msg.ToolResult) any {
	media := mediaOf(r.Content)
	if len(media) == 0 {
		return resultText(r)
	}
	var out []part
	if text := msg.TextOf(r.Content); text != "" || r.IsError {
		out = append(out, part{Type: "input_text", Text: resultText(r)})
	}
	for _, b := range media {
		out = append(out, partsOf(msg.User, b)...)
	}
	return out
}

// responsesItem reports whether a block is an item of this interface that may be sent back.
func responsesItem(u msg.Unknown) bool {
	return (u.Provider == Name || u.Provider == "") && wire.Foreign(u.Kind) && u.Kind != wire.GeminiPart && json.Valid(u.Raw)
}
