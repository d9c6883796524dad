package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

func textBlock(text string) json.RawMessage {
	out := make([]byte, 0, 32+len(text)+len(text)/16)
	return append(quote.JSON(append(out, `{"type":"text","text":`...), text), '}')
}

// shown leaves out what this model cannot be shown: thinking of other providers and other models,
// and blocks that belong to somebody else.
func (m *Model) shown() func(wire.Said) msg.Block {
	// A model nothing is known of is shown pictures; the service says if that was wrong.
	images := m.cfg.Info.Images || m.cfg.Info.ContextWindow == 0
	documents := m.cfg.Info.Documents || m.cfg.Info.ContextWindow == 0
	return func(s wire.Said) msg.Block {
		own := s.Model == "" || wire.SameModel(s.Model, m.id)
		switch b := s.Block.(type) {
		case msg.Thinking:
			if b.Provider != Name || b.Signature == "" || !own {
				return nil
			}
		case msg.RedactedThinking:
			if b.Provider != "" && b.Provider != Name || b.Data == "" || !own {
				return nil
			}
		case msg.Unknown:
			if !ownBlock(b) {
				return nil
			}
		case msg.Image, msg.Document:
			return wire.Readable([]msg.Block{b}, images, documents)[0]
		case msg.ToolResult:
			b.Content = wire.Readable(b.Content, images, documents)
			return b
		}
		return s.Block
	}
}

// ownBlock reports whether an unknown block is this service's. One read back from a transcript does
// not say whose it is: then its kind tells, and of search results that only this service seals
// what it found.
func ownBlock(b msg.Unknown) bool {
	switch {
	case !json.Valid(b.Raw):
		return false
	case b.Provider != "":
		return b.Provider == Name
	case b.Kind == wire.SearchResultKind:
		return bytes.Contains(b.Raw, []byte(`"encrypted_content"`)) || bytes.Contains(b.Raw, []byte(`"error_code"`))
	}
	return !wire.Foreign(b.Kind)
}

func (w *writer) block(b msg.Block) (json.RawMessage, error) {
	switch b := b.(type) {
	case msg.Text:
		return textBlock(b.Text), nil
	case msg.Thinking:
		return wire.Marshal(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{"thinking", b.Thinking, b.Signature})
	case msg.RedactedThinking:
		return wire.Marshal(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{"redacted_thinking", b.Data})
	case msg.ToolCall:
		id, name, input := w.ids.Of(b.ID), w.names.Of(b.Name), wire.Object(b.Input)
		out := make([]byte, 0, 64+len(id)+len(name)+len(input))
		out = quote.JSON(append(out, `{"type":"tool_use","id":`...), id)
		out = quote.JSON(append(out, `,"name":`...), name)
		out = append(append(out, `,"input":`...), input...)
		return append(out, '}'), nil
	case msg.ToolResult:
		return w.result(b)
	case msg.Unknown:
		if !json.Valid(b.Raw) {
			return nil, fmt.Errorf("a block of kind %q is not valid JSON", b.Kind)
		}
		return b.Raw, nil
	}
	return msg.MarshalBlock(b) // images and documents have this very shape
}

func (w *writer) result(r msg.ToolResult) (json.RawMessage, error) {
	var content []json.RawMessage
	blocks, err := w.references(r.Content)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		switch b := b.(type) {
		case msg.Text:
			if b.Text == "" {
				continue
			}
		case msg.Image, msg.Document:
		case msg.Unknown:
			if !resultKinds(b.Kind) || !json.Valid(b.Raw) {
				continue
			}
		default:
			continue // nothing else can stand in a result
		}
		raw, err := w.block(b)
		if err != nil {
			return nil, err
		}
		content = append(content, raw)
	}
	out := quote.JSON([]byte(`{"type":"tool_result","tool_use_id":`), w.ids.Of(r.CallID))
	for i, raw := range content {
		if i == 0 {
			out = append(out, `,"content":[`...)
		} else {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	if len(content) > 0 {
		out = append(out, ']')
	}
	if r.IsError {
		out = append(out, `,"is_error":true`...)
	}
	return append(out, '}'), nil
}

// references leaves of a result that refers to deferred tools the references alone: the service puts the
// tools in their place. One that refers to others is its text.
func (w *writer) references(content []msg.Block) ([]msg.Block, error) {
	names := provider.References(content)
	if len(names) == 0 {
		return content, nil
	}
	var refs []msg.Block
	for _, name := range names {
		if !w.deferred[name] {
			continue
		}
		ref, err := provider.ReferenceTo(w.names.Of(name))
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if len(refs) > 0 {
		return refs, nil
	}
	return slices.DeleteFunc(slices.Clone(content), func(b msg.Block) bool {
		u, ok := b.(msg.Unknown)
		return ok && u.Kind == provider.ToolReference
	}), nil
}

// resultKinds are the blocks beside text, image and document that may stand in a tool result.
func resultKinds(kind string) bool {
	switch kind {
	case "search_result", "tool_reference", "image", "document":
		return true
	}
	return false
}
