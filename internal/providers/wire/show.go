package wire

import (
	"encoding/json"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Note is the text that stands for a block a model cannot be shown. The words are stable, so that
// a request keeps its bytes.
func Note(b msg.Block) msg.Text {
	switch b := b.(type) {
	case msg.Image:
		if b.URL != "" {
			return msg.Text{Text: fmt.Sprintf("[image %s: not shown, this model cannot see images]", b.URL)}
		}
		return msg.Text{Text: fmt.Sprintf("[image, %s, %d bytes: not shown, this model cannot see images]", orUnknown(b.MediaType), len(b.Data))}
	case msg.Document:
		name := b.Title
		if name == "" {
			name = b.URL
		}
		if name != "" {
			name = " " + name
		}
		return msg.Text{Text: fmt.Sprintf("[document%s, %s, %d bytes: not shown, this model cannot read it]", name, orUnknown(b.MediaType), len(b.Data))}
	}
	return msg.Text{Text: fmt.Sprintf("[%s: not shown, this model cannot read it]", b.Type())}
}

func orUnknown(mediaType string) string {
	if mediaType == "" {
		return "unknown type"
	}
	return mediaType
}

// Readable replaces images and documents that a model cannot be shown by notes; plain-text
// documents become text.
func Readable(content []msg.Block, images, documents bool) []msg.Block {
	var out []msg.Block
	for i, b := range content {
		shown := b
		switch b := b.(type) {
		case msg.Image:
			if !images {
				shown = Note(b)
			}
		case msg.Document:
			switch {
			case b.MediaType == "text/plain" && b.URL == "" && !documents:
				shown = PlainText(b)
			case !documents:
				shown = Note(b)
			}
		}
		if out == nil && shown.Type() != b.Type() {
			out = append(make([]msg.Block, 0, len(content)), content[:i]...)
		}
		if out != nil {
			out = append(out, shown)
		}
	}
	if out == nil {
		return content
	}
	return out
}

// PlainText is a text document as text.
func PlainText(d msg.Document) msg.Text {
	text := Text(d.Data).String()
	if d.Title != "" {
		text = d.Title + ":\n" + text
	}
	if text == "" {
		text = "[empty document]"
	}
	return msg.Text{Text: text}
}

// hasMedia reports whether any message holds an image or a document, results included.
func hasMedia(messages []msg.Message) bool {
	for _, m := range messages {
		if mediaIn(m.Content) {
			return true
		}
	}
	return false
}

func mediaIn(content []msg.Block) bool {
	for _, b := range content {
		switch b := b.(type) {
		case msg.Image, msg.Document:
			return true
		case msg.ToolResult:
			if mediaIn(b.Content) {
				return true
			}
		}
	}
	return false
}

// Turn is a run of blocks of one role.
type Turn struct {
	Role    msg.Role
	Model   string // assistant: the service's id of the model that said the first block of it
	Content []Said

	first, last int // messages its first and its last block stand in
}

// Said is one block and the model that said it.
type Said struct {
	Block msg.Block
	Model string
}

// turns joins neighbouring messages of the same role, since what a service cannot be shown may
// leave a message empty and its neighbours side by side. keep decides what is shown and as what;
// nil blocks are left out, as is empty text. The last turn is always the user's, as is the first of a whole
// conversation, and no answer ends with thinking: it belongs to something that is not shown.
func turns(messages []msg.Message, keep func(Said) msg.Block, whole bool) []Turn {
	var out []Turn
	for i, m := range messages {
		model := ModelOf(m)
		for _, b := range m.Content {
			shown := showable(m.Role, keep(Said{b, model}))
			if shown == nil {
				continue
			}
			if n := len(out); n == 0 || out[n-1].Role != m.Role {
				out = endTurn(out)
			}
			if n := len(out); n == 0 || out[n-1].Role != m.Role {
				out = append(out, Turn{Role: m.Role, Model: model, first: i})
			}
			last := &out[len(out)-1]
			last.last = i
			last.Content = append(last.Content, Said{shown, model})
		}
	}
	out = endTurn(out)
	if whole && len(out) > 0 && out[0].Role != msg.User {
		out = append([]Turn{userTurn("(The beginning of this conversation is not shown.)")}, out...)
	}
	if len(out) == 0 || out[len(out)-1].Role != msg.User {
		out = append(out, userTurn("Continue."))
	}
	return out
}

func userTurn(text string) Turn {
	return Turn{Role: msg.User, Content: []Said{{Block: msg.Text{Text: text}}}}
}

// showable is what of a block can stand in a turn of this role; nil: nothing.
func showable(role msg.Role, b msg.Block) msg.Block {
	switch b := b.(type) {
	case msg.Text:
		if b.Text == "" {
			return nil
		}
	case msg.Image, msg.Document: // no service takes them as something the model said
		if role == msg.Assistant {
			return Note(b)
		}
	}
	return b
}

// endTurn takes thinking off the end of the last turn, and the turn with it if nothing else is in
// it.
func endTurn(turns []Turn) []Turn {
	n := len(turns)
	if n == 0 || turns[n-1].Role != msg.Assistant {
		return turns
	}
	content := turns[n-1].Content
	for len(content) > 0 && IsThinking(content[len(content)-1].Block) {
		content = content[:len(content)-1]
	}
	if len(content) == 0 {
		return turns[:n-1]
	}
	turns[n-1].Content = content
	return turns
}

// IsThinking reports thinking, readable or not.
func IsThinking(b msg.Block) bool {
	switch b.(type) {
	case msg.Thinking, msg.RedactedThinking:
		return true
	}
	return false
}

// Foreign reports whether a kind of block is one that OpenAI's or Google's API sends: blocks read
// back from a transcript do not say whose they are.
func Foreign(kind string) bool {
	switch kind {
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "computer_call",
		"mcp_call", "mcp_list_tools", "mcp_approval_request", "local_shell_call", "shell_call", "custom_tool_call",
		"apply_patch_call", "compaction", "reasoning", GeminiPart:
		return true
	}
	return false
}

// GeminiPart is the kind of a block that holds a part of Google's API which has no other place.
const GeminiPart = "gemini_part"

// SearchResultKind is the kind of the block that holds what a provider's own search found.
const SearchResultKind = "web_search_tool_result"

// Source is one page a provider's search found.
type Source struct {
	Type  string `json:"type"` // always web_search_result
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// NewSource returns a page that was found.
func NewSource(url, title string) Source { return Source{"web_search_result", url, title} }

// SearchResult is what a provider's search found in the public shape of the Messages API.
func SearchResult(id string, found []Source) (json.RawMessage, error) {
	return Marshal(struct {
		Type    string   `json:"type"`
		ID      string   `json:"tool_use_id"`
		Content []Source `json:"content"`
	}{SearchResultKind, id, found})
}
