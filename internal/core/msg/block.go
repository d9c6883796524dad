package msg

import (
	"encoding/json"
	"strings"
)

// Block is one piece of content. The implementations are those of this package; a switch over a
// Block needs a default for [Unknown].
type Block interface {
	// Type is the block's name on the wire: "text", "tool_use" and so on.
	Type() string
}

// Text is what is said in words. Empty text is never stored nor sent.
type Text struct {
	Text string `json:"text"`
}

// Thinking is the model's reasoning. Signature and Data belong to the provider named in Provider
// and are returned to it untouched; another provider never sees them.
type Thinking struct {
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature,omitempty"`
	Provider  string          `json:"provider,omitempty"` // "anthropic", "openai", "gemini"; empty: readable text without proof
	Data      json.RawMessage `json:"data,omitempty"`     // provider's own item (OpenAI reasoning item), verbatim
}

// RedactedThinking is reasoning that only its provider can read.
type RedactedThinking struct {
	Data     string `json:"data"`
	Provider string `json:"provider,omitempty"`
}

// ToolCall asks for a tool to be run. Input is the JSON object the model wrote; when the model
// wrote something that is no JSON object, Input is {} and Malformed holds its text.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Malformed string          `json:"malformed,omitempty"`
	Signature string          `json:"signature,omitempty"` // Gemini's thought signature of this call
	Extra     json.RawMessage `json:"extra,omitempty"`     // an object: members its service sent that we do not know, for the same model
}

// ToolResult answers the call with the id CallID. Content holds text, images and documents.
type ToolResult struct {
	CallID  string  `json:"tool_use_id"`
	Content []Block `json:"content"`
	IsError bool    `json:"is_error,omitempty"`
}

// Image is a picture, either as bytes or by URL.
type Image struct {
	MediaType string `json:"media_type,omitempty"` // image/png, image/jpeg, image/gif, image/webp
	Data      []byte `json:"data,omitempty"`       // the encoded picture itself (base64 in JSON)
	URL       string `json:"url,omitempty"`
}

// Document is a file a model can read as a whole, today a PDF or plain text.
type Document struct {
	MediaType string `json:"media_type,omitempty"` // application/pdf, text/plain
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
	Title     string `json:"title,omitempty"`
}

// Unknown carries a block this program does not know, byte for byte, to the provider it came from
// and to the transcript (server tools and their results travel this way).
type Unknown struct {
	Kind     string          `json:"-"`
	Raw      json.RawMessage `json:"-"` // the whole JSON object, its "type" included
	Provider string          `json:"-"` // who can read it; empty: nobody known
}

// Type implements [Block].
func (Text) Type() string { return "text" }

// Type implements [Block].
func (Thinking) Type() string { return "thinking" }

// Type implements [Block].
func (RedactedThinking) Type() string { return "redacted_thinking" }

// Type implements [Block].
func (ToolCall) Type() string { return "tool_use" }

// Type implements [Block].
func (ToolResult) Type() string { return "tool_result" }

// Type implements [Block].
func (Image) Type() string { return "image" }

// Type implements [Block].
func (Document) Type() string { return "document" }

// Type implements [Block].
func (u Unknown) Type() string { return u.Kind }

// TextOf joins the text blocks of a content with line ends; everything else is left out.
func TextOf(content []Block) string {
	if len(content) == 1 { // the usual case, without a copy
		t, _ := content[0].(Text)
		return t.Text
	}
	var out strings.Builder
	for _, b := range content {
		t, ok := b.(Text)
		if !ok || t.Text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(t.Text)
	}
	return out.String()
}

// Calls returns the tool calls of the messages in order.
func Calls(messages ...Message) []ToolCall {
	var out []ToolCall
	for _, m := range messages {
		for _, b := range m.Content {
			if c, ok := b.(ToolCall); ok {
				out = append(out, c)
			}
		}
	}
	return out
}
