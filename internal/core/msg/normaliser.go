package msg

import (
	"maps"
	"slices"
)

// Normaliser is [Sendable] for a conversation that grows: what it made of the part that cannot change
// any more is kept, so that each time only the end costs something. It always returns what Sendable
// returns. The zero value is ready for the first history. It is not safe for concurrent use; the lists it
// returned stay as they are and may be read by anybody.
type Normaliser struct {
	settled settled
	out     Growing
}

// settled is the part of a conversation that is done with: it ends with a user's message, all of it, and
// an answer of its own follows.
type settled struct {
	source   Prefix          // the messages as they came
	sendable int             // what they became, in number
	open     string          // response of the answer that was open at the end
	given    map[string]int  // how often an id was asked for by calls
	called   map[string]bool // ids of all calls, as they came
	lost     map[string]bool // ids of calls without one: a result that comes late goes back to its call
}

func (s *settled) has(id string) bool { return s != nil && s.called[id] }

// Sendable is [Sendable] of the whole history with the default bounds. A history that does not begin as
// the one before did is normalised anew.
func (n *Normaliser) Sendable(history []Message) []Message {
	if !n.goesOn(history) {
		*n = Normaliser{settled: settled{given: map[string]int{}, called: map[string]bool{}, lost: map[string]bool{}}}
	}
	s := &n.settled
	at := s.source.Len()
	cleaned, from := cleanTail(history[at:])
	if len(cleaned) > 0 && s.sendable > 0 && (cleaned[0].Role != Assistant || cleaned[0].Response != "" && cleaned[0].Response == s.open) {
		return Sendable(history, Bounds{}) // what follows joins what is settled
	}
	if cut, open := lastAnswer(cleaned); cut > 0 && n.settle(cleaned[:cut], cleaned[cut:]) {
		s.source, s.open = PrefixOf(history[:at+from[cut]]), open
		cleaned = cleaned[cut:]
	}
	tail := newPairing(s).normalise(cleaned)
	switch {
	case s.sendable == 0:
		tail = begun(tail)
	case len(tail) > 0 && tail[0].Role != Assistant:
		return Sendable(history, Bounds{}) // the newest answer came to nothing
	}
	out := n.out.Put(s.sendable, ended(tail))
	if len(out) == 0 {
		return nil
	}
	return out
}

// goesOn reports whether a history begins with all that is settled, and nothing behind it belongs into it.
func (n *Normaliser) goesOn(history []Message) bool {
	at := n.settled.source.Len()
	if at == 0 || !n.settled.source.Begins(history) {
		return false
	}
	return !answersAny(history[at:], n.settled.lost)
}

// answersAny reports whether the result of one of the calls stands in the messages.
func answersAny(msgs []Message, calls map[string]bool) bool {
	if len(calls) == 0 {
		return false
	}
	for _, m := range msgs {
		for _, b := range m.Content {
			if r, ok := b.(ToolResult); ok && calls[CleanText(r.CallID)] {
				return true
			}
		}
	}
	return false
}

// settle adds a part to what is settled, if it can stand by itself.
func (n *Normaliser) settle(part, rest []Message) bool {
	p := newPairing(&n.settled)
	done := p.normalise(slices.Clone(part))
	if len(done) == 0 || done[len(done)-1].Role != User || n.settled.sendable > 0 && done[0].Role != Assistant {
		return false
	}
	lost := map[string]bool{}
	for _, id := range p.lost {
		lost[id] = true
	}
	if answersAny(rest, lost) {
		return false
	}
	if n.settled.sendable == 0 {
		done = begun(done)
	}
	n.out.Put(n.settled.sendable, done)
	s := &n.settled
	s.sendable = n.out.Len()
	maps.Copy(s.given, p.given)
	maps.Copy(s.called, p.called)
	maps.Copy(s.lost, lost)
	return true
}

// cleanTail is clean with the default bounds, and tells which message each came from.
func cleanTail(history []Message) (cleaned []Message, from []int) {
	b := Bounds{}.withDefaults()
	for i, m := range history {
		if m.Content = cleanBlocks(m.Role, m.Content, b); len(m.Content) > 0 {
			cleaned, from = append(cleaned, m), append(from, i)
		}
	}
	return cleaned, from
}

// lastAnswer is the index of the message with which the newest answer begins, when a user's message
// stands in front of it; 0: there is none. open is the answer that was open there, as gather reads it.
func lastAnswer(msgs []Message) (at int, open string) {
	last, now := 0, ""
	for i, m := range msgs {
		switch {
		case m.Role == Assistant && m.Response != "" && m.Response == now:
		case m.Role == User && m.Origin == FromTool && now != "":
		case m.Role == Assistant:
			if i > 0 && msgs[i-1].Role == User {
				last, open = i, now
			}
			now = m.Response
		default:
			now = ""
		}
	}
	return last, open
}
