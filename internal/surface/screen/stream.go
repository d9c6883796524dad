package screen

import (
	"strconv"
	"strings"
)

// MarkdownStream renders an answer while it comes. A block is given out when nothing that may follow can
// change it; inside a fence that is each line. What is given out depends on the text alone, never
// on how it was cut into deltas.
type MarkdownStream struct {
	Style Style
	rest  string // whole lines that are not given out yet
	begun []byte // the line behind them, which has no end yet
	fence string // the open fence's marker, empty outside
	some  bool   // something was given out already
	list  list   // the list whose items are given out one by one
}

// list is where in a list the stream is; the zero list is none.
type list struct {
	marker byte // of its items
	number int  // of the last item
	loose  bool // a blank line stood behind the last item
}

// Add takes more text and returns the lines that are final.
func (s *MarkdownStream) Add(text string, cells int) []string {
	i := strings.LastIndexByte(text, '\n')
	if i >= 0 {
		s.rest += strings.ReplaceAll(string(s.begun)+text[:i+1], "\r\n", "\n")
		s.begun = s.begun[:0]
	}
	s.begun = append(s.begun, text[i+1:]...)
	if i < 0 && len(s.begun) > 12 { // only the beginning of a line tells whether a new item begins
		return nil
	}
	var out []string
	for {
		lines, ok := s.next(cells, false)
		if !ok {
			return out
		}
		out = append(out, lines...)
	}
}

// End returns the lines of what is left, and is ready for another answer.
func (s *MarkdownStream) End(cells int) []string {
	if len(s.begun) > 0 {
		s.rest += strings.ReplaceAll(string(s.begun)+"\n", "\r\n", "\n")
		s.begun = s.begun[:0]
	}
	var out []string
	for {
		lines, ok := s.next(cells, true)
		if !ok {
			break
		}
		out = append(out, lines...)
	}
	*s = MarkdownStream{Style: s.Style}
	return out
}

// Tail is the end of the text that is not given out yet, at most so many bytes, for a preview.
func (s *MarkdownStream) Tail(most int) string {
	t := string(s.begun[max(0, len(s.begun)-most):])
	if left := most - len(t); left > 0 {
		t = s.rest[max(0, len(s.rest)-left):] + t
	}
	if len(s.rest)+len(s.begun) > most {
		if i := strings.IndexAny(t, " \n"); i >= 0 {
			t = t[i+1:]
		}
	}
	return strings.ToValidUTF8(t, "")
}

// next gives out one piece from the beginning of the rest, if one is final.
func (s *MarkdownStream) next(cells int, end bool) ([]string, bool) {
	if s.fence != "" {
		return s.nextInFence()
	}
	s.rest = strings.TrimLeft(s.rest, "\n")
	line, _, whole := strings.Cut(s.rest, "\n")
	if !whole {
		return nil, false
	}
	if marker, language, ok := fenceOpen(line); ok {
		s.take(len(line) + 1)
		s.fence, s.list = marker, list{}
		return s.spaced(headLines(s.Style, language)), true
	}
	n := blockEnd(s.rest, end)
	if isItem(line) && !indented(line) {
		return s.nextItem(n, cells)
	}
	if n == 0 {
		return nil, false
	}
	s.list = list{}
	block := s.take(n)
	if strings.TrimSpace(block) == "" {
		return nil, true
	}
	return s.spaced(markdown(block, cells, s.Style)), true
}

// nextItem gives out one item of a list, as soon as the next one begins or the list ends after n bytes.
func (s *MarkdownStream) nextItem(n, cells int) ([]string, bool) {
	open := s.rest
	if n > 0 {
		open = s.rest[:n]
	}
	at := itemEnd(open)
	if begun := string(s.begun); at == 0 && n == 0 && strings.Contains(begun, " ") && isItem(begun) && !indented(begun) && !openFence(open) {
		at = len(open)
	}
	if at == 0 {
		at = n
	}
	if at == 0 {
		return nil, false
	}
	item := s.take(at)
	was := s.list
	item, s.list = was.place(item)
	lines := markdown(item, cells, s.Style)
	if was.marker == s.list.marker && !was.loose {
		return lines, true
	}
	return s.spaced(lines), true
}

// place numbers an item as its place in the list wants it, and tells where the list is then.
func (l list) place(item string) (string, list) {
	digits := 0
	for digits < len(item) && item[digits] >= '0' && item[digits] <= '9' {
		digits++
	}
	now := list{marker: item[digits], loose: strings.HasSuffix(item, "\n\n")}
	if digits == 0 {
		return item, now
	}
	now.number, _ = strconv.Atoi(item[:digits]) // nine digits at most
	if l.marker != now.marker {
		return item, now
	}
	now.number = l.number + 1
	number := strconv.Itoa(now.number)
	if len(number) != digits && strings.Count(strings.TrimRight(item, "\n"), "\n") > 0 {
		return item, now // what stands below is indented for the number as it is
	}
	return number + item[digits:], now
}

// itemEnd is where the second item of a list begins; 0: nowhere.
func itemEnd(text string) int {
	fence, at := "", 0
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		switch {
		case fence != "":
			if fenceClose(strings.TrimLeft(t, "> "), fence) {
				fence = ""
			}
		case at > 0 && isItem(line) && !indented(line):
			return at
		default:
			if marker, _, ok := fenceOpen(containerText(t)); ok {
				fence = marker
			}
		}
		at += len(line)
	}
	return 0
}

// openFence reports whether a fence inside an item is still open.
func openFence(text string) bool { return itemEnd(text+"- x\n") == 0 }

func (s *MarkdownStream) take(n int) string {
	t := s.rest[:n]
	s.rest = s.rest[n:]
	return t
}

// spaced puts a blank line between this piece and the one before.
func (s *MarkdownStream) spaced(lines []string) []string {
	if s.some {
		lines = append([]string{""}, lines...)
	}
	s.some = true
	return lines
}

func headLines(style Style, language string) []string {
	if language == "" {
		return nil
	}
	return []string{style.codeHead(language)}
}

func (s *MarkdownStream) nextInFence() ([]string, bool) {
	line, _, whole := strings.Cut(s.rest, "\n")
	if !whole {
		return nil, false
	}
	s.take(len(line) + 1)
	if fenceClose(line, s.fence) {
		s.fence = ""
		return nil, true
	}
	return []string{s.Style.codeLine(line)}, true
}

// fenceOpen reports whether a line at the margin opens a code fence, and its language.
func fenceOpen(line string) (marker, language string, ok bool) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return "", "", false
	}
	n := leading(t, '`')
	if n < 3 {
		n = leading(t, '~')
	}
	if n < 3 {
		return "", "", false
	}
	info := strings.TrimSpace(t[n:])
	if t[0] == '`' && strings.Contains(info, "`") {
		return "", "", false
	}
	language, _, _ = strings.Cut(info, " ")
	return t[:n], language, true
}

func fenceClose(line, marker string) bool {
	t := strings.TrimSpace(line)
	return len(t) >= len(marker) && leading(t, marker[0]) == len(t)
}

func leading(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// blockEnd is the length of the first block of text, 0 while it may still go on. Only whole lines
// are looked at.
func blockEnd(text string, end bool) int {
	first, _, _ := strings.Cut(text, "\n")
	container := isContainer(first)
	inner, blank := "", false // a fence inside a list or quote; whether blank lines came last
	for at := 0; at < len(text); {
		line, _, whole := strings.Cut(text[at:], "\n")
		if !whole {
			return 0
		}
		t := strings.TrimSpace(line)
		switch {
		case inner != "":
			if fenceClose(strings.TrimLeft(t, "> "), inner) {
				inner = ""
			}
		case t == "" && !container:
			return at + len(line) + 1
		case t == "":
			blank = true
		case at > 0 && container && blank && !continues(line):
			return at
		case at > 0 && !container && opensFence(line), at > 0 && !container && isHeading(line):
			return at
		case at == 0 && isHeading(line):
			return len(line) + 1
		case container:
			blank = false
			if marker, _, ok := fenceOpen(containerText(t)); ok {
				inner = marker
			}
			if at > 0 && opensFence(line) && !indented(line) { // a fence at the margin ends a list
				return at
			}
		}
		at += len(line) + 1
	}
	if end {
		return len(text)
	}
	return 0
}

func opensFence(line string) bool {
	_, _, ok := fenceOpen(line)
	return ok
}

// isContainer reports whether a block may hold blank lines: a list, a quote, indented code.
func isContainer(line string) bool {
	return indented(line) || strings.HasPrefix(strings.TrimLeft(line, " "), ">") || isItem(line)
}

// continues reports whether a line behind a blank one can belong to the list or quote before it.
func continues(line string) bool { return isContainer(line) }

func indented(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
}

// isItem reports whether a line begins a list item.
func isItem(line string) bool {
	t := strings.TrimLeft(line, " ")
	if t == "" {
		return false
	}
	if strings.ContainsRune("-*+", rune(t[0])) {
		return len(t) == 1 || t[1] == ' ' || t[1] == '\t'
	}
	n := 0
	for n < len(t) && n < 9 && t[n] >= '0' && t[n] <= '9' {
		n++
	}
	return n > 0 && n < len(t) && (t[n] == '.' || t[n] == ')') && (n+1 == len(t) || t[n+1] == ' ')
}

// containerText is a line without the markers of lists and quotes before its text.
func containerText(t string) string {
	for {
		u := strings.TrimLeft(t, "> \t")
		if isItem(u) {
			_, u, _ = strings.Cut(u, " ")
		}
		if u == t {
			return t
		}
		t = u
	}
}

func isHeading(line string) bool {
	n := leading(line, '#')
	return n > 0 && n <= 6 && (n == len(line) || line[n] == ' ')
}
