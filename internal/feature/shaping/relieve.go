package shaping

import (
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Stages says which stages are on, as the settings shaping.* have it.
type Stages struct {
	Budget, Snip, Microcompact, Collapse bool
	// ColdAfter is the time without a request after which the provider's cache is taken for lost and
	// old results are cleared, since it costs nothing then. 0: five minutes; negative: never.
	ColdAfter time.Duration
}

// AllStages is what holds without settings: every stage but snip.
func AllStages() Stages { return Stages{Budget: true, Microcompact: true, Collapse: true} }

// Removed is something that a stage leaves out of requests. The transcript has it all the same.
type Removed struct {
	ID     string `json:"id"`    // to bring it back with [Shaper.BringBack]
	Stage  string `json:"stage"` // snip, microcompact, collapse
	Label  string `json:"label"` // for people: the call, or the beginning of the prompt
	Tokens int    `json:"tokens"`
}

// hidden is what the stages leave out. It only grows, but for what a person brings back, so that
// the bytes of consecutive requests stay the same.
type hidden struct {
	cleared   map[string]bool // results, by call id
	collapsed map[string]bool // finished turns, by id of the prompt
	snipped   map[string]bool // likewise, left out whole
	pinned    map[string]bool // brought back by a person
	changes   int
}

func newHidden() hidden {
	return hidden{cleared: map[string]bool{}, collapsed: map[string]bool{}, snipped: map[string]bool{}, pinned: map[string]bool{}}
}

const (
	turnsWhole = 2               // newest turns that are neither collapsed nor snipped
	coldCache  = 5 * time.Minute // the shortest cache lifetime of the known services
)

// span is a turn: a part of a conversation that begins with a prompt and ends before the next.
type span struct{ from, to int }

// turnsOf divides a conversation into turns. What stands before the first prompt belongs to none.
func turnsOf(history []msg.Message) []span {
	var out []span
	for i := range history {
		if !isPrompt(history[i]) || (i > 0 && isPrompt(history[i-1])) { // several that came together are one
			continue
		}
		if n := len(out); n > 0 {
			out[n-1].to = i
		}
		out = append(out, span{i, len(history)})
	}
	return out
}

// oldTurns are the finished turns that may be left out.
func oldTurns(history []msg.Message) []span {
	all := turnsOf(history)
	return all[:max(len(all)-turnsWhole, 0)]
}

// snipMore leaves the older half of the old turns out. It reports whether there was something.
func (s *Shaper) snipMore(history []msg.Message, _ engine.Pressure) bool {
	old := oldTurns(history)
	more := false
	for _, t := range old[:(len(old)+1)/2] {
		id := history[t.from].ID
		if !s.hide.snipped[id] && !s.hide.pinned[id] {
			s.hide.snipped[id], more = true, true
			s.hide.changes++
		}
	}
	return more
}

// clearMore clears all results that can be had again but the newest: so many that they fill at most
// a part of the window.
func (s *Shaper) clearMore(history []msg.Message, p engine.Pressure) bool {
	names := toolNames(history)
	var results []place
	for _, p := range places(history, 0, len(history)) {
		if s.cfg.Repeatable != nil && s.cfg.Repeatable(names[p.result.CallID]) {
			results = append(results, p)
		}
	}
	budget := s.bytes(p.Model, p.Model.Window()*keptShare/100)
	from := len(results)
	for from > 0 && len(results)-from < newestWhole {
		if budget -= results[from-1].chars; budget < 0 && from < len(results) {
			break
		}
		from--
	}
	more := false
	for _, p := range results[:from] {
		id := p.result.CallID
		if !s.hide.cleared[id] && !s.hide.pinned[id] && p.chars > len(clearedNote("", "")) {
			s.hide.cleared[id], more = true, true
			s.hide.changes++
		}
	}
	return more
}

// collapseMore shows old turns as their prompt, a list of their calls and their last answer.
func (s *Shaper) collapseMore(history []msg.Message, _ engine.Pressure) bool {
	more := false
	for _, t := range oldTurns(history) {
		id := history[t.from].ID
		if !s.hide.collapsed[id] && !s.hide.pinned[id] {
			s.hide.collapsed[id], more = true, true
			s.hide.changes++
		}
	}
	return more
}

// snip is the stage that leaves old turns out, with a marker for each run of them.
func (s *Shaper) snip(history []msg.Message, _ engine.Pressure) (out []msg.Message, items, bytes int) {
	return s.replaceTurns("snip", history, s.hide.snipped, func(part []msg.Message) []msg.Message {
		return []msg.Message{{
			ID: "snipped-" + part[0].ID, Role: msg.User, Origin: msg.FromHarness, Time: part[0].Time,
			Content: []msg.Block{msg.Text{Text: fmt.Sprintf("[An earlier turn of %d messages is left out here. It began with: %s]", len(part), opening(part[0]))}},
		}}
	})
}

// collapse is the stage that shows finished turns without their calls.
func (s *Shaper) collapse(history []msg.Message, _ engine.Pressure) (out []msg.Message, items, bytes int) {
	return s.replaceTurns("collapse", history, s.hide.collapsed, collapsedTurn)
}

// replaceTurns shows turns by what stands for them. A turn that would not become shorter stays.
func (s *Shaper) replaceTurns(name string, history []msg.Message, which map[string]bool, by func([]msg.Message) []msg.Message) (out []msg.Message, items, bytes int) {
	if len(which) == 0 {
		return history, 0, 0
	}
	if last := lastPrompt(history); last >= 0 && which[history[last].ID] { // a turn that still grows
		return replaceTurns(history, which, by)
	}
	return s.memos.keep(name, s.hide.changes, history, func() ([]msg.Message, int, int) { return replaceTurns(history, which, by) })
}

func replaceTurns(history []msg.Message, which map[string]bool, by func([]msg.Message) []msg.Message) (out []msg.Message, items, bytes int) {
	at := 0
	for _, t := range turnsOf(history) {
		if !which[history[t.from].ID] {
			continue
		}
		part := history[t.from:t.to]
		short := by(part)
		saved := sizeOf(part) - sizeOf(short)
		if saved <= 0 {
			continue
		}
		out = append(append(out, history[at:t.from]...), short...)
		at = t.to
		items++
		bytes += saved
	}
	if items == 0 {
		return history, 0, 0
	}
	return append(out, history[at:]...), items, bytes
}

// collapsedTurn is a finished turn without its calls: the prompts, one line a call, the last answer.
func collapsedTurn(part []msg.Message) []msg.Message {
	var out []msg.Message
	n := 0
	for n < len(part) && isPrompt(part[n]) {
		out = append(out, part[n])
		n++
	}
	failed := map[string]bool{}
	for _, m := range part[n:] {
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok && r.IsError {
				failed[r.CallID] = true
			}
		}
	}
	var text strings.Builder
	if calls := msg.Calls(part[n:]...); len(calls) > 0 {
		fmt.Fprintf(&text, "[%d calls of this turn are shown without their results:", len(calls))
		for _, c := range calls {
			word := "ok"
			if failed[c.ID] {
				word = "failed"
			}
			fmt.Fprintf(&text, "\n- %s %s: %s", c.Name, msg.Cut(string(c.Input), 160), word)
		}
		text.WriteString("]\n\n")
	}
	last := ""
	for i := len(part) - 1; i >= n && last == ""; i-- {
		if part[i].Role == msg.Assistant {
			last = msg.TextOf(part[i].Content)
		}
	}
	text.WriteString(last)
	if strings.TrimSpace(text.String()) == "" {
		return out
	}
	return append(out, msg.Message{
		ID: "collapsed-" + part[0].ID, Role: msg.Assistant, Time: part[len(part)-1].Time, Content: []msg.Block{msg.Text{Text: text.String()}},
	})
}

// microcompact is the stage that shows a note for results that were cleared.
func (s *Shaper) microcompact(history []msg.Message, _ engine.Pressure) (out []msg.Message, items, bytes int) {
	if len(s.hide.cleared) == 0 {
		return history, 0, 0
	}
	return s.memos.keep("microcompact", s.hide.changes, history, func() (out []msg.Message, items, bytes int) {
		e := editor{history: history}
		names := toolNames(history)
		for _, p := range places(history, 0, len(history)) {
			id := p.result.CallID
			note := clearedNote(names[id], s.replaced[id].Path)
			if !s.hide.cleared[id] || p.chars <= len(note) {
				continue
			}
			r := p.result
			r.Content = []msg.Block{msg.Text{Text: note}}
			e.set(p.message, p.block, r)
			items++
		}
		return e.out(), items, sizeDifference(history, e.out())
	})
}

func clearedNote(tool, path string) string {
	how := "make the call again if you need it"
	if path != "" {
		how = "the whole text is in " + path
	}
	return fmt.Sprintf("[This older result of %s was cleared to free space; %s.]", tool, how)
}

// cold reports whether so much time passed since the last answer that no cache can be lost.
func (s *Shaper) cold(history []msg.Message, p engine.Pressure, after time.Duration) bool {
	if after == 0 {
		after = coldCache
	}
	if p.Round > 1 || after < 0 {
		return false
	}
	for i := len(history) - 1; i >= 0; i-- {
		if m := history[i]; m.Role == msg.Assistant {
			return !m.Time.IsZero() && s.cfg.Now().Sub(m.Time) > after
		}
	}
	return false
}

func opening(m msg.Message) string {
	line, _, more := strings.Cut(strings.TrimSpace(msg.TextOf(m.Content)), "\n")
	if cut := msg.Cut(line, 120); more || cut != line {
		return cut + "…"
	}
	return line
}

// Removed lists what the stages leave out of requests of this conversation, in its order.
func (s *Shaper) Removed(model string, history []msg.Message) []Removed {
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens := func(bytes int) int { return int(float64(bytes)/s.ratioOf(model)) + min(bytes, 1) }
	var out []Removed
	for _, t := range turnsOf(history) {
		id, part := history[t.from].ID, history[t.from:t.to]
		switch {
		case s.hide.snipped[id]:
			out = append(out, Removed{ID: id, Stage: "snip", Label: opening(part[0]), Tokens: tokens(sizeOf(part))})
			continue
		case s.hide.collapsed[id]:
			if saved := sizeOf(part) - sizeOf(collapsedTurn(part)); saved > 0 {
				out = append(out, Removed{ID: id, Stage: "collapse", Label: opening(part[0]), Tokens: tokens(saved)})
			}
			continue
		}
		for _, c := range msg.Calls(part...) {
			if s.hide.cleared[c.ID] {
				out = append(out, Removed{ID: c.ID, Stage: "microcompact", Label: c.Name + " " + msg.Cut(string(c.Input), 120), Tokens: tokens(resultSize(part, c.ID))})
			}
		}
	}
	return out
}

func resultSize(part []msg.Message, call string) int {
	for _, p := range places(part, 0, len(part)) {
		if p.result.CallID == call {
			return msg.Size(p.result.Content)
		}
	}
	return 0
}

// Show sends an item again that was left out, whatever the stages think of it later, or leaves a
// result out of requests. It reports whether that changed anything.
func (s *Shaper) Show(id string, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.hide.cleared[id] || s.hide.collapsed[id] || s.hide.snipped[id]
	if was != on {
		return false
	}
	s.hide.changes++
	s.hide.pinned[id] = on
	delete(s.hide.collapsed, id)
	delete(s.hide.snipped, id)
	if delete(s.hide.cleared, id); !on {
		s.hide.cleared[id] = true
	}
	return true
}
