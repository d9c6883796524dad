package anthropic

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// writer encodes turns as messages.
type writer struct {
	ids   *wire.IDs
	names *wire.Names
}

func newWriter() wire.Writer {
	return &writer{wire.NewIDs("toolu_", 128), wire.NewNames(nil, mostName)}
}

// Turn implements [wire.Writer].
func (w *writer) Turn(t wire.Turn) ([]json.RawMessage, error) {
	blocks := make([]json.RawMessage, len(t.Content))
	for i, s := range t.Content {
		raw, err := encodeBlock(s.Block, w.ids, w.names)
		if err != nil {
			return nil, err
		}
		blocks[i] = raw
	}
	whole, err := wire.MarshalLists(struct {
		Role msg.Role `json:"role"`
	}{t.Role}, wire.List{Name: "content", Values: blocks})
	return []json.RawMessage{whole}, err
}
