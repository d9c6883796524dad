package wire

import (
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
			out = append(out, content[:i]...)
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

// HasMedia reports whether any message holds an image or a document, results included.
func HasMedia(messages []msg.Message) bool {
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
}

// Said is one block and the model that said it.
type Said struct {
	Block msg.Block
	Model string
}

// Turns joins neighbouring messages of the same role, since what a service cannot be shown may
// leave a message empty and its neighbours side by side. keep decides what is shown and as what;
// nil blocks are left out, as is empty text.
func Turns(messages []msg.Message, keep func(Said) msg.Block) []Turn {
	var out []Turn
	for _, m := range messages {
		model := ModelOf(m)
		for _, b := range m.Content {
			shown := keep(Said{b, model})
			if shown == nil {
				continue
			}
			if t, ok := shown.(msg.Text); ok && t.Text == "" {
				continue
			}
			if n := len(out); n == 0 || out[n-1].Role != m.Role {
				out = append(out, Turn{Role: m.Role, Model: model})
			}
			last := &out[len(out)-1]
			last.Content = append(last.Content, Said{shown, model})
		}
	}
	return out
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
