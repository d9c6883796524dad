package prompt

import (
	"context"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// fronted is the conversation that was sent last with the background in front of it.
type fronted struct {
	source msg.Prefix
	list   msg.Growing
}

// InFront puts the background in front of what is sent. It belongs to no turn and is in no transcript.
func (p *Prompt) InFront(ctx context.Context, messages []msg.Message) ([]msg.Message, error) {
	blocks, err := p.Background(ctx)
	if err != nil || len(blocks) == 0 {
		return messages, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.fronted
	first := []msg.Message{{ID: "background", Role: msg.User, Origin: msg.FromHarness, Content: blocks}}
	if f.list.Len() > 0 && !f.list.Begins(first) || !f.source.Begins(messages) {
		*f = fronted{}
	}
	if f.list.Len() == 0 {
		f.list.Put(0, first)
	}
	out := f.list.Put(1+f.source.Len(), messages[f.source.Len():])
	f.source = msg.PrefixOf(messages)
	return out, nil
}

// counted are the sizes of a conversation by where its parts come from.
type counted struct {
	source                 msg.Prefix
	said, results, summary int
}

// count adds what of a conversation is new.
func (p *Prompt) count(history []msg.Message) counted {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.counted
	if !c.source.Begins(history) {
		*c = counted{}
	}
	for _, m := range history[c.source.Len():] {
		n := msg.Size(m.Content)
		switch m.Origin {
		case msg.FromTool:
			c.results += n
		case msg.FromSummary:
			c.summary += n
		default:
			c.said += n
		}
	}
	c.source = msg.PrefixOf(history)
	return *c
}
