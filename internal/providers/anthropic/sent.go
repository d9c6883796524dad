package anthropic

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// writer encodes turns as messages.
type writer struct {
	ids      *wire.IDs
	names    *wire.Names
	deferred map[string]bool // tools that results may refer to
}

// way is how a request's conversation is written: a result may refer to a tool only while it is deferred.
func (m *Model) way(req provider.Request) wire.Way {
	deferred, key := map[string]bool{}, ""
	for _, t := range req.Tools {
		if t.Deferred && m.defers() {
			deferred[t.Name] = true
			key += t.Name + "\n"
		}
	}
	return wire.Way{Key: key, Keep: m.shown(), Writer: func() wire.Writer {
		return &writer{wire.NewIDs("toolu_", 128), wire.NewNames(nil, mostName), deferred}
	}}
}

// Turn implements [wire.Writer].
func (w *writer) Turn(t wire.Turn) ([]json.RawMessage, error) {
	blocks := make([]json.RawMessage, len(t.Content))
	for i, s := range t.Content {
		raw, err := w.block(s.Block)
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
