package engine

import "github.com/myelin-agent/myelin/internal/core/msg"

// Kept is what a run learned of a conversation and the next need not find out again: its ids, and how it
// is sent. The zero value is ready. One run after the other may use it; one that is handed another
// conversation begins anew.
type Kept struct {
	seen      msg.Prefix      // the conversation whose ids are below
	ids       map[string]bool // of its calls
	responses map[string]bool // of its answers
	sendable  msg.Normaliser
}

// begin takes in what of a conversation is new.
func (k *Kept) begin(history []msg.Message) {
	if k.ids == nil || !k.seen.Begins(history) {
		*k = Kept{ids: map[string]bool{}, responses: map[string]bool{}, sendable: k.sendable}
	}
	for _, m := range history[k.seen.Len():] {
		k.responses[m.Response] = true
		for _, c := range msg.Calls(m) {
			k.ids[c.ID] = true
		}
	}
	k.seen = msg.PrefixOf(history)
}
