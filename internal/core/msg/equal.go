package msg

import (
	"bytes"
	"slices"
)

// Equal reports whether two blocks hold the same. It costs next to nothing where they share their texts.
func Equal(a, b Block) bool {
	switch a := a.(type) {
	case Text, RedactedThinking:
		return a == b
	case Thinking:
		o, ok := b.(Thinking)
		return ok && a.Thinking == o.Thinking && a.Signature == o.Signature && a.Provider == o.Provider && bytes.Equal(a.Data, o.Data)
	case ToolCall:
		o, ok := b.(ToolCall)
		return ok && a.ID == o.ID && a.Name == o.Name && bytes.Equal(a.Input, o.Input) && a.Malformed == o.Malformed && a.Signature == o.Signature && bytes.Equal(a.Extra, o.Extra)
	case ToolResult:
		o, ok := b.(ToolResult)
		return ok && a.CallID == o.CallID && a.IsError == o.IsError && slices.EqualFunc(a.Content, o.Content, Equal)
	case Image:
		o, ok := b.(Image)
		return ok && a.MediaType == o.MediaType && a.URL == o.URL && bytes.Equal(a.Data, o.Data)
	case Document:
		o, ok := b.(Document)
		return ok && a.MediaType == o.MediaType && a.URL == o.URL && a.Title == o.Title && bytes.Equal(a.Data, o.Data)
	case Unknown:
		o, ok := b.(Unknown)
		return ok && a.Kind == o.Kind && a.Provider == o.Provider && bytes.Equal(a.Raw, o.Raw)
	}
	return a == nil && b == nil
}
