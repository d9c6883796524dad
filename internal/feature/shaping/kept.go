package shaping

import "github.com/myelin-agent/myelin/internal/core/msg"

// A conversation only grows between two requests, so what was made of it and counted in it for the one is
// kept for the next. All of it can be lost without harm.

// memo is what a stage made of a conversation. What comes behind it the stage leaves as it is: it hides
// nothing that was not there when the hiding was decided.
type memo struct {
	changes      int // of what is hidden, when it was made
	source       msg.Prefix
	made         int // messages that the source became
	list         *msg.Growing
	items, bytes int
}

// memos are the memos of the stages by name.
type memos map[string]memo

// keep runs a stage, or goes on from what it made before.
func (k memos) keep(stage string, changes int, history []msg.Message, run func() ([]msg.Message, int, int)) (out []msg.Message, items, bytes int) {
	m, ok := k[stage]
	if !ok || m.changes != changes || !m.source.Begins(history) {
		out, items, bytes = run()
		m = memo{changes, msg.PrefixOf(history), len(out), &msg.Growing{}, items, bytes}
		m.list.Put(0, out)
		k[stage] = m
	}
	return m.list.Put(m.made, history[m.source.Len():]), m.items, m.bytes
}
