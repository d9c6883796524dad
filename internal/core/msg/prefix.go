package msg

import "slices"

// Prefix is the beginning of a conversation that somebody knows already. The zero value is the empty one,
// with which every conversation begins.
type Prefix struct {
	list []Message
	last string // id of its last message, which tells a list that was cut and written anew
}

// PrefixOf returns the prefix that is the whole list. The list is kept and must not be changed.
func PrefixOf(list []Message) Prefix {
	if len(list) == 0 {
		return Prefix{}
	}
	return Prefix{slices.Clip(list), list[len(list)-1].ID}
}

// Len is the number of its messages.
func (p Prefix) Len() int { return len(p.list) }

// Begins reports whether a conversation begins with p. It costs nothing where the conversation is the same
// list, grown in its place, and a look at each message where it was copied.
func (p Prefix) Begins(conversation []Message) bool {
	n := len(p.list)
	return n == 0 || n <= len(conversation) && conversation[n-1].ID == p.last && shared(p.list, conversation) == n
}

// shared is the number of messages at the beginning that both lists have.
func shared(a, b []Message) int {
	n := min(len(a), len(b))
	if n == 0 || &a[0] == &b[0] {
		return n
	}
	for i := range n {
		if !sameMessage(&a[i], &b[i]) {
			return i
		}
	}
	return n
}

func sameMessage(a, b *Message) bool {
	if a.ID != b.ID || a.Role != b.Role || a.Origin != b.Origin || a.Response != b.Response || a.Model != b.Model || len(a.Content) != len(b.Content) {
		return false
	}
	if len(a.Content) == 0 || &a.Content[0] == &b.Content[0] {
		return true
	}
	return slices.EqualFunc(a.Content, b.Content, Equal)
}

// Growing is a list that is handed out again and again while it grows. What was handed out stays as it is.
// The zero value is the empty list.
type Growing struct{ all []Message }

// Put returns the first at messages of the list, and behind them the tail. Where the list goes on so
// already, nothing is copied.
func (g *Growing) Put(at int, tail []Message) []Message {
	have := g.all[at:]
	same := shared(have, tail)
	if same < len(have) {
		g.all = slices.Clip(g.all[:at+same])
	}
	g.all = append(g.all, tail[same:]...)
	return slices.Clip(g.all)
}

// Begins reports whether the list begins with the messages.
func (g *Growing) Begins(with []Message) bool {
	return len(with) <= len(g.all) && shared(g.all, with) == len(with)
}

// Len is the number of messages that were handed out last.
func (g *Growing) Len() int { return len(g.all) }
