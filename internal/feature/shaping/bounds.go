package shaping

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Replacement is what stands in requests for the text of a result that was too large.
type Replacement struct {
	Call string `json:"call"`
	Text string `json:"text"`
	Path string `json:"path,omitempty"` // where the whole text can be read
}

// Remember hands in replacements that were made before, so that a resumed conversation is sent in
// the same bytes.
func (s *Shaper) Remember(made ...Replacement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range made {
		s.replaced[r.Call] = r
	}
	s.bounded = bounded{}
}

// bounded is what the first stage made of the rounds that are over.
type bounded struct {
	source       msg.Prefix
	list         msg.Growing // empty: nothing had to be replaced so far
	items, bytes int
}

// budget is the first stage: it bounds single results and the results of one round together. It
// looks at sizes first, since most rounds hold nothing large, and at each round that is over once.
func (s *Shaper) budget(history []msg.Message, _ engine.Pressure) (out []msg.Message, items, bytes int) {
	k := &s.bounded
	if !k.source.Begins(history) {
		*k = bounded{}
	}
	at := k.source.Len()
	e := editor{history: history[at:]}
	least := s.leastLimit()
	last, ofLast := 0, 0 // where the newest round begins, and what was replaced in it
	for from := 0; from < len(e.history); {
		to, total, largest, known := s.measure(e.history, from)
		last, ofLast = from, 0
		if largest > least || total > s.cfg.Limits.Round || known {
			ofLast = s.boundRound(&e, places(e.history, from, to), toolNames(e.history[from:to]))
		}
		items += ofLast
		from = to
	}
	tail := e.out()
	items, bytes = k.items+items, k.bytes+sizeDifference(e.history, tail)
	if out = history; items > 0 {
		if k.list.Len() == 0 {
			k.list.Put(0, history[:at])
		}
		out = k.list.Put(at, tail)
	}
	k.source, k.items = msg.PrefixOf(history[:at+last]), items-ofLast
	k.bytes += sizeDifference(e.history[:last], tail[:last])
	return out, items, bytes
}

// leastLimit is the smallest bound of any tool.
func (s *Shaper) leastLimit() int {
	least := s.cfg.Limits.Result
	for _, l := range s.cfg.Limits.ByTool {
		if l >= 0 {
			least = min(least, l)
		}
	}
	return least
}

// measure finds the end of the round that begins at from, and the size of its results: together
// and of the largest, in characters. known tells whether one of them was replaced before.
func (s *Shaper) measure(history []msg.Message, from int) (to, total, largest int, known bool) {
	results := false
	for to = from; to < len(history); to++ {
		m := history[to]
		if m.Role == msg.Assistant {
			if results && !belongsTo(history, to) {
				return to, total, largest, known
			}
			continue
		}
		for _, b := range m.Content {
			r, ok := b.(msg.ToolResult)
			if !ok {
				continue
			}
			results = true
			n := countChars(r)
			total, largest = total+n, max(largest, n)
			if _, was := s.replaced[r.CallID]; was {
				known = true
			}
		}
	}
	return to, total, largest, known
}

// places are the results in a part of the history.
func places(history []msg.Message, from, to int) []place {
	var out []place
	for i := from; i < to; i++ {
		for j, b := range history[i].Content {
			if r, ok := b.(msg.ToolResult); ok {
				out = append(out, place{i, j, r, countChars(r)})
			}
		}
	}
	return out
}

// place is where a result stands.
type place struct {
	message, block int
	result         msg.ToolResult
	chars          int
}

// boundRound bounds the results of one round and returns how many it replaced.
func (s *Shaper) boundRound(e *editor, round []place, names map[string]string) (items int) {
	total := 0
	var bounded []place // those that may still be replaced
	for _, p := range round {
		limit := s.limit(names[p.result.CallID])
		known, was := s.replaced[p.result.CallID]
		switch {
		case was && p.chars > utf8.RuneCountInString(known.Text):
			e.put(p, known.Text)
			items++
			total += utf8.RuneCountInString(known.Text)
		case limit >= 0 && p.chars > limit:
			text := s.replace(p)
			e.put(p, text)
			items++
			total += utf8.RuneCountInString(text)
		default:
			total += p.chars
			if limit >= 0 && p.chars > s.cfg.Limits.Preview*2 {
				bounded = append(bounded, p)
			}
		}
	}
	if total <= s.cfg.Limits.Round {
		return items
	}
	sort.SliceStable(bounded, func(i, j int) bool { return bounded[i].chars > bounded[j].chars })
	for _, p := range bounded { // the largest first, until the rest fits
		if total <= s.cfg.Limits.Round {
			break
		}
		text := s.replace(p)
		e.put(p, text)
		items++
		total += utf8.RuneCountInString(text) - p.chars
	}
	return items
}

// limit is the bound of a tool's results, negative for none. Read bounds itself, and what it shows
// must not be put into another file to be read.
func (s *Shaper) limit(toolName string) int {
	if l, ok := s.cfg.Limits.ByTool[toolName]; ok {
		return l
	}
	if strings.HasPrefix(toolName, "mcp__") {
		if l, ok := s.cfg.Limits.ByTool["mcp__*"]; ok {
			return l
		}
		return 2 * s.cfg.Limits.Result
	}
	if toolName == "Read" {
		return -1
	}
	return s.cfg.Limits.Result
}

// replace makes and remembers the text that stands for a large result.
func (s *Shaper) replace(p place) string {
	whole := resultText(p.result)
	r := Replacement{Call: p.result.CallID}
	note := "the rest could not be kept"
	if s.cfg.Spill != nil {
		at, err := s.cfg.Spill(spillName(r.Call), whole)
		if err == nil {
			r.Path = at
			note = "the whole text is in " + at
		} else {
			note += ": " + err.Error()
		}
	}
	r.Text = Preview(whole, s.cfg.Limits.Preview, note)
	s.replaced[r.Call] = r
	if s.cfg.Replaced != nil {
		s.cfg.Replaced(r)
	}
	return r.Text
}

// spillName makes the name of a file of a call's id, which a provider made.
func spillName(id string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
	if clean == "" {
		clean = "result"
	}
	return path.Base(msg.Cut(clean, 100)) + ".txt"
}

// Preview is the head and the tail of a text, chars characters together, with a note between that
// says how much is left out. Both ends are cut at a character, and at a line where one is near. A
// text that would not become shorter comes back whole.
func Preview(text string, chars int, note string) string {
	total := utf8.RuneCountInString(text)
	if total <= chars {
		return text
	}
	head := firstChars(text, chars*3/4)
	tail := lastChars(text, chars/4)
	if at := strings.LastIndexByte(head, '\n'); at > len(head)*3/4 {
		head = head[:at+1]
	}
	if at := strings.IndexByte(tail, '\n'); at >= 0 && at < len(tail)/4 {
		tail = tail[at+1:]
	}
	left := total - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	out := fmt.Sprintf("%s\n\n[… %d of %d characters left out; %s …]\n\n%s", strings.TrimRight(head, "\n"), left, total, note, tail)
	if len(out) >= len(text) {
		return text
	}
	return out
}

// firstChars is the first n characters of s.
func firstChars(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}

// lastChars is the last n characters of s.
func lastChars(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}

func resultText(r msg.ToolResult) string { return msg.TextOf(r.Content) }

func toolNames(history []msg.Message) map[string]string {
	names := map[string]string{}
	for _, c := range msg.Calls(history...) {
		names[c.ID] = c.Name
	}
	return names
}

// belongsTo tells whether the answer block at i goes on with an answer whose first results stand
// before it: results are recorded while an answer streams.
func belongsTo(history []msg.Message, i int) bool {
	for j := i - 1; j >= 0; j-- {
		if history[j].Role == msg.Assistant {
			return history[i].Response != "" && history[j].Response == history[i].Response
		}
	}
	return false
}

// countedFrom is the size in bytes from which characters are counted; below it bytes are near
// enough, and every request looks at every result.
const countedFrom = 4000

func countChars(r msg.ToolResult) int {
	n := 0
	for _, b := range r.Content {
		t, ok := b.(msg.Text)
		switch {
		case !ok:
		case len(t.Text) < countedFrom:
			n += len(t.Text)
		default:
			n += utf8.RuneCountInString(t.Text)
		}
	}
	return n
}

// editor makes changed copies of messages, as few as are needed.
type editor struct {
	history []msg.Message
	copied  []msg.Message
	own     map[int]bool // messages whose content was copied
}

// put replaces the text of a result; pictures in it stay.
func (e *editor) put(p place, text string) {
	r := p.result
	content := []msg.Block{msg.Text{Text: text}}
	for _, b := range r.Content {
		if _, isText := b.(msg.Text); !isText {
			content = append(content, b)
		}
	}
	r.Content = content
	e.set(p.message, p.block, r)
}

func (e *editor) set(message, block int, b msg.Block) {
	if e.copied == nil {
		e.copied = append([]msg.Message(nil), e.history...)
		e.own = map[int]bool{}
	}
	m := &e.copied[message]
	if !e.own[message] {
		m.Content = append([]msg.Block(nil), m.Content...)
		e.own[message] = true
	}
	m.Content[block] = b
}

func (e *editor) out() []msg.Message {
	if e.copied == nil {
		return e.history
	}
	return e.copied
}

func sizeDifference(before, after []msg.Message) int {
	if len(before) > 0 && len(after) == len(before) && &before[0] == &after[0] {
		return 0
	}
	return sizeOf(before) - sizeOf(after)
}
