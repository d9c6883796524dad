package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// The fields stand in the order in which they are sent: what changes least comes first.
type chatBody struct {
	Model               string           `json:"model"`
	MaxTokens           int              `json:"max_tokens,omitempty"`
	MaxCompletionTokens int              `json:"max_completion_tokens,omitempty"`
	Effort              string           `json:"reasoning_effort,omitempty"`
	Reasoning           *reasoningObject `json:"reasoning,omitempty"`
	Format              any              `json:"response_format,omitempty"`
	Stop                []string         `json:"stop,omitempty"`
	Stream              bool             `json:"stream,omitempty"`
	StreamOptions       *streamOptions   `json:"stream_options,omitempty"`
	CacheKey            string           `json:"prompt_cache_key,omitempty"`
	ToolChoice          any              `json:"tool_choice,omitempty"`
	Tools               []chatTool       `json:"tools,omitempty"`
	// The list comes last, each value encoded by itself.
	Messages []json.RawMessage `json:"-"`
	media    bool
}

type reasoningObject struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type chatMessage struct {
	Role      string            `json:"role"`
	Content   any               `json:"content"` // a string, parts, or null beside calls
	Reasoning *string           `json:"reasoning_content,omitempty"`
	ToolCalls []json.RawMessage `json:"tool_calls,omitempty"` // chatCall, and what its server added
	CallID    string            `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function chatCallFunction `json:"function"`
}

type chatCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *chatImage `json:"image_url,omitempty"`
	File  *chatFile  `json:"file,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// maxStops is the most stop sequences the service takes.
const maxStops = 4

// maxCacheKey is the most characters a cache key may have.
const maxCacheKey = 64

func (m *Model) chatBody(req provider.Request, names *wire.Names) (chatBody, error) {
	o, d := req.Options, m.dialect()
	b := chatBody{Model: m.cfg.Info.ID, Stop: o.StopSequences[:min(len(o.StopSequences), maxStops)], Stream: !o.NoStream}
	if d.MaxTokens == "max_completion_tokens" {
		b.MaxCompletionTokens = m.maxTokens(o)
	} else {
		b.MaxTokens = m.maxTokens(o)
	}
	switch effort := m.effort(o); {
	case effort == "":
	case d.Effort == EffortField:
		b.Effort = effort
	case d.Effort == EffortObject:
		b.Reasoning = &reasoningObject{Effort: effort}
	}
	if b.Stream && !d.NoUsage {
		b.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if d.CacheKey && len(o.SessionID) <= maxCacheKey {
		b.CacheKey = o.SessionID
	}
	if len(o.Schema) > 0 {
		b.Format = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": wire.Object(o.Schema)}}
	}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, chatTool{"function", chatFunction{names.Of(t.Name), t.Description, wire.Schema(t.Schema)}})
	}
	if len(b.Tools) > 0 {
		b.ToolChoice = toolChoice(o.ToolChoice, names, func(name string) any {
			return map[string]any{"type": "function", "function": map[string]any{"name": name}}
		})
	}
	err := m.chatMessages(&b, req, d)
	return b, err
}

// toolChoice translates the choice; nil leaves it to the service.
func toolChoice(choice string, names *wire.Names, one func(name string) any) any {
	switch choice {
	case "":
		return nil
	case "none":
		return "none"
	case "any":
		return "required"
	}
	return one(names.Of(choice))
}

// between stands where a user message would stand directly behind results.
const between = "(The results came in.)"

// chatMessages writes the system prompt and the conversation.
func (m *Model) chatMessages(b *chatBody, req provider.Request, d Dialect) error {
	if text := systemText(req.System); text != "" {
		role := d.System
		if role == "" {
			role = "system"
		}
		raw, err := wire.Marshal(chatMessage{Role: role, Content: text})
		if err != nil {
			return err
		}
		b.Messages = append(b.Messages, raw)
	}
	most := d.IDLength
	if most == 0 {
		most = 40
	}
	extra := !m.has(refusesExtra)
	conversation, err := m.sent.Write(req, wire.Way{
		Key: chatWay{d, extra}, Keep: m.shown(extra),
		Writer: func() wire.Writer {
			return &chatWriter{wire.NewIDs("call_", most), wire.NewNames(nil, mostName), d}
		},
	})
	b.Messages, b.media = append(b.Messages, conversation.Raw()...), conversation.Media
	return err
}

// chatWay is what the writing of a conversation depends on.
type chatWay struct {
	dialect Dialect
	extra   bool // members that servers added to calls are sent back
}

type chatWriter struct {
	ids     *wire.IDs
	names   *wire.Names
	dialect Dialect
}

// Turn implements [wire.Writer].
func (w *chatWriter) Turn(t wire.Turn) ([]json.RawMessage, error) {
	var said []chatMessage
	if t.Role == msg.Assistant {
		one, err := chatAssistant(t, w.ids, w.names, w.dialect.KeepReasoning)
		if err != nil {
			return nil, err
		}
		said = []chatMessage{one}
	} else {
		said = chatUser(t, w.ids)
		if n := len(said); n > 1 && said[n-1].Role == "user" && !w.dialect.UserBehindResults {
			said = slices.Insert(said, n-1, chatMessage{Role: "assistant", Content: between})
		}
	}
	out := make([]json.RawMessage, len(said))
	for i, one := range said {
		raw, err := wire.Marshal(one)
		if err != nil {
			return nil, err
		}
		out[i] = raw
	}
	return out, nil
}

// shown leaves out what these interfaces cannot carry.
func (m *Model) shown(extra bool) func(wire.Said) msg.Block {
	// Of a model nothing is known of, it is not assumed that it sees.
	images, documents := m.cfg.Info.Images, m.cfg.Info.Documents
	return func(s wire.Said) msg.Block {
		own := s.Model == "" || wire.SameModel(s.Model, m.cfg.Info.ID)
		switch b := s.Block.(type) {
		case msg.Thinking:
			if !own || !m.takesThinking(b) {
				return nil
			}
		case msg.RedactedThinking:
			return nil
		case msg.Unknown:
			if m.cfg.API != Responses || !own || !responsesItem(b) {
				return nil
			}
		case msg.ToolCall:
			if !own || !extra {
				b.Extra = nil
			}
			return b
		case msg.Image, msg.Document:
			return wire.Readable([]msg.Block{b}, images, documents)[0]
		case msg.ToolResult:
			b.Content = wire.Readable(b.Content, images, documents)
			return b
		}
		return s.Block
	}
}

func (m *Model) takesThinking(b msg.Thinking) bool {
	if m.cfg.API == Responses {
		return b.Provider == Name && json.Valid(b.Data)
	}
	return m.dialect().KeepReasoning && b.Provider == "" && b.Thinking != ""
}

func chatAssistant(t wire.Turn, ids *wire.IDs, names *wire.Names, reasoning bool) (chatMessage, error) {
	out := chatMessage{Role: "assistant"}
	thought := ""
	var content []msg.Block
	for _, s := range t.Content {
		switch b := s.Block.(type) {
		case msg.Text:
			content = append(content, b)
		case msg.Thinking:
			thought += b.Thinking
		case msg.ToolCall:
			call, err := wire.MarshalWith(chatCall{ids.Of(b.ID), "function", chatCallFunction{names.Of(b.Name), string(wire.Object(b.Input))}}, b.Extra)
			if err != nil {
				return out, err
			}
			out.ToolCalls = append(out.ToolCalls, call)
		}
	}
	if thought != "" || reasoning && len(out.ToolCalls) > 0 { // beside calls also an empty one is missed
		out.Reasoning = &thought
	}
	switch text := systemText(content); {
	case text != "":
		out.Content = text
	case len(out.ToolCalls) == 0:
		out.Content = "(nothing was said)" // only reasoning was: an empty answer is refused
	}
	return out, nil
}

// chatUser gives each result a message of its own. What they show beside text comes after them,
// in front of what the user says.
func chatUser(t wire.Turn, ids *wire.IDs) []chatMessage {
	var out []chatMessage
	var shown, said []msg.Block
	for _, s := range t.Content {
		r, ok := s.Block.(msg.ToolResult)
		if !ok {
			said = append(said, s.Block)
			continue
		}
		id := ids.Of(r.CallID)
		out = append(out, chatMessage{Role: "tool", Content: resultText(r), CallID: id})
		if media := mediaOf(r.Content); len(media) > 0 {
			shown = append(append(shown, msg.Text{Text: "Shown by the result of call " + id + ":"}), media...)
		}
	}
	if all := append(shown, said...); len(all) > 0 {
		out = append(out, chatMessage{Role: "user", Content: chatContent(all)})
	}
	return out
}

func mediaOf(content []msg.Block) (out []msg.Block) {
	for _, b := range content {
		switch b.(type) {
		case msg.Image, msg.Document:
			out = append(out, b)
		}
	}
	return out
}

// chatContent is a plain string where it can be: not every server reads parts.
func chatContent(content []msg.Block) any {
	plain := true
	var parts []chatPart
	for _, b := range content {
		switch b := b.(type) {
		case msg.Text:
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case msg.Image:
			plain = false
			parts = append(parts, chatPart{Type: "image_url", Image: &chatImage{imageURL(b)}})
		case msg.Document:
			if b.URL != "" || b.MediaType == "text/plain" {
				parts = append(parts, chatPart{Type: "text", Text: documentText(b)})
				continue
			}
			plain = false
			parts = append(parts, chatPart{Type: "file", File: &chatFile{fileName(b), dataURL(b.MediaType, b.Data)}})
		}
	}
	if !plain {
		return parts
	}
	text := make([]string, len(parts))
	for i, p := range parts {
		text[i] = p.Text
	}
	return strings.Join(text, "\n\n")
}

func imageURL(i msg.Image) string {
	if i.URL != "" {
		return i.URL
	}
	return dataURL(i.MediaType, i.Data)
}

func dataURL(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

func fileName(d msg.Document) string {
	if d.Title != "" {
		return d.Title
	}
	return "document.pdf"
}

func documentText(d msg.Document) string {
	if d.URL != "" {
		return wire.Note(d).Text
	}
	return wire.PlainText(d).Text
}
