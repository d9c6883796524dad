package plain

import (
	"iter"
	"strings"
)

// History yields earlier prompts, newest first. It is read as far as it is needed and no further.
type History interface {
	Entries() iter.Seq2[string, error]
}

// recall goes through earlier prompts: those of this session, then those of the history.
type recall struct {
	source History
	own    []string // of this session, oldest first

	seen  []string // what was pulled so far, newest first, without repeats
	known map[string]bool
	next  func() (string, error, bool)
	stop  func()
	at    int    // 1 is the newest; 0: the draft itself
	draft string // what stood in the draft when going back began
	key   string // prefix that entries must have
}

// add keeps a prompt of this session.
func (r *recall) add(text string) {
	r.reset()
	if text != "" && (len(r.own) == 0 || r.own[len(r.own)-1] != text) {
		r.own = append(r.own, text)
	}
}

// reset forgets the position; the next step begins at the newest entry.
func (r *recall) reset() {
	if r.stop != nil {
		r.stop()
	}
	*r = recall{source: r.source, own: r.own}
}

func (r *recall) open() {
	if r.known != nil {
		return
	}
	r.known = map[string]bool{}
	for i := len(r.own) - 1; i >= 0; i-- {
		r.keep(r.own[i])
	}
	if r.source != nil {
		r.next, r.stop = iter.Pull2(r.source.Entries())
	}
}

func (r *recall) keep(text string) {
	if text != "" && !r.known[text] {
		r.known[text] = true
		r.seen = append(r.seen, text)
	}
}

// entry is entry number n from the newest (0), pulled if need be. A history that cannot be read
// ends where it breaks.
func (r *recall) entry(n int) (string, bool) {
	r.open()
	for len(r.seen) <= n && r.next != nil {
		text, err, ok := r.next()
		if !ok || err != nil {
			r.next = nil
			break
		}
		r.keep(text)
	}
	if n < len(r.seen) {
		return r.seen[n], true
	}
	return "", false
}

// older steps to the next older prompt that begins like the draft did.
func (r *recall) older(draft string) (string, bool) {
	if r.at == 0 {
		r.draft, r.key = draft, draft
	}
	for n := r.at; ; n++ {
		text, ok := r.entry(n)
		if !ok {
			return "", false
		}
		if strings.HasPrefix(text, r.key) && text != r.draft {
			r.at = n + 1
			return text, true
		}
	}
}

// newer steps back towards the draft, which comes last.
func (r *recall) newer() (string, bool) {
	if r.at == 0 {
		return "", false
	}
	for n := r.at - 2; n >= 0; n-- {
		if text := r.seen[n]; strings.HasPrefix(text, r.key) && text != r.draft {
			r.at = n + 1
			return text, true
		}
	}
	r.at = 0
	return r.draft, true
}

// search is a look through the history for a text.
type search struct {
	query string
	at    int // entry shown, -1: none
	found string
	draft string // comes back when the search is given up
}

// find looks for the query in entries older than from.
func (r *recall) find(query string, from int) (int, string, bool) {
	query = strings.ToLower(query)
	for n := from; ; n++ {
		text, ok := r.entry(n)
		if !ok {
			return 0, "", false
		}
		if strings.Contains(strings.ToLower(text), query) {
			return n, text, true
		}
	}
}
