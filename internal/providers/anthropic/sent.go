package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// A conversation goes out whole with every request, and only its end is new. So what was encoded for
// the request before is kept, and taken as it is where the new one goes on from there.

// sent is a conversation as it went out.
type sent struct {
	tools    []provider.Tool // whose names stand in it
	turns    []wire.Turn
	messages []message
	ids      *wire.IDs
	size     int
}

// mostSent bounds what is kept of a conversation; a longer one is encoded anew each time.
const mostSent = 8 << 20

// begins reports whether a conversation begins with everything that was sent.
func (s *sent) begins(turns []wire.Turn, tools []provider.Tool) bool {
	return s != nil && len(s.turns) <= len(turns) && slices.EqualFunc(s.turns, turns[:len(s.turns)], sameTurn) &&
		slices.EqualFunc(s.tools, tools, func(a, b provider.Tool) bool { return a.Name == b.Name })
}

func sameTurn(a, b wire.Turn) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Content, b.Content, func(a, b wire.Said) bool { return msg.Equal(a.Block, b.Block) })
}

// messages encodes the turns. While one caller has what was sent before, another begins anew.
func (m *Model) messages(turns []wire.Turn, tools []provider.Tool, names *wire.Names) ([]message, error) {
	s := m.lastSent.Swap(nil)
	if !s.begins(turns, tools) {
		s = &sent{tools: tools, ids: wire.NewIDs("toolu_", 128)}
	}
	for _, t := range turns[len(s.turns):] {
		next, err := encodeTurn(t, s.ids, names)
		if err != nil {
			return nil, err
		}
		s.turns, s.messages, s.size = append(s.turns, t), append(s.messages, next), s.size+2*len(next.whole)
	}
	out := slices.Clone(s.messages)
	if s.size <= mostSent {
		m.lastSent.Store(s)
	}
	return out, nil
}

func encodeTurn(t wire.Turn, ids *wire.IDs, names *wire.Names) (message, error) {
	out := message{Role: t.Role, Content: make([]json.RawMessage, len(t.Content))}
	for i, s := range t.Content {
		raw, err := encodeBlock(s.Block, ids, names)
		if err != nil {
			return out, err
		}
		out.Content[i] = raw
	}
	var err error
	out.whole, err = out.encode()
	return out, err
}
