package permission

import (
	"sync"
	"time"
)

// Entry is one decision in the ledger.
type Entry struct {
	At       time.Time `json:"at"`
	Call     string    `json:"call,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Tool     string    `json:"tool"`
	Summary  string    `json:"summary"` // command or input, shortened
	Mode     Mode      `json:"mode"`
	Decision Decision  `json:"decision"`
	Settled  Behavior  `json:"settled"` // what came of it
	By       string    `json:"by,omitempty"`
	Rule     string    `json:"rule,omitempty"` // refused: what would allow it
}

// ledgerSize bounds the ledger.
const ledgerSize = 500

// Ledger remembers the newest decisions of a session, in memory alone. It is safe for concurrent
// use; the zero value is ready.
type Ledger struct {
	mu      sync.Mutex // guards all below
	entries []Entry
	next    int
	total   int
}

// Add records a decision.
func (l *Ledger) Add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	if len(l.entries) < ledgerSize {
		l.entries = append(l.entries, e)
		return
	}
	l.entries[l.next] = e
	l.next = (l.next + 1) % ledgerSize
}

// Recent returns up to n entries, the newest first; n <= 0 means all that are kept.
func (l *Ledger) Recent(n int) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n <= 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	out := make([]Entry, 0, n)
	for i := 1; i <= n; i++ {
		out = append(out, l.entries[(l.next-i+2*len(l.entries))%len(l.entries)])
	}
	return out
}

// Find returns the newest entry about a call.
func (l *Ledger) Find(call string) (Entry, bool) {
	for _, e := range l.Recent(0) {
		if e.Call == call {
			return e, true
		}
	}
	return Entry{}, false
}

// Denied returns the refused ones, the newest first.
func (l *Ledger) Denied() []Entry {
	var out []Entry
	for _, e := range l.Recent(0) {
		if e.Settled == Deny {
			out = append(out, e)
		}
	}
	return out
}

// Total is how many decisions were recorded in all.
func (l *Ledger) Total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// NewEntry makes an entry of a settled question.
func NewEntry(at time.Time, q Question, mode Mode, out Outcome) Entry {
	return Entry{
		At: at, Call: q.CallID, Agent: q.Agent, Tool: q.Request.Tool, Summary: q.Summary(), Mode: mode,
		Decision: q.Decision, Settled: out.Behavior, By: out.By, Rule: out.Rule,
	}
}
