package screen

import (
	"strings"
)

// MarkdownStream renders an answer while it comes. A block is given out when nothing that may follow can
// change it; inside a fence that is each line. What is given out depends on the text alone, never
// on how it was cut into deltas.
type MarkdownStream struct {
	Style Style
	rest  string // not given out yet; whole lines and at the end perhaps a begun one
	fence string // the open fence's marker, empty outside
	some  bool   // something was given out already
}

// Add takes more text and returns the lines that are final.
func (s *MarkdownStream) Add(text string, cells int) []string {
	s.rest += strings.ReplaceAll(text, "\r\n", "\n")
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
	if s.rest != "" && !strings.HasSuffix(s.rest, "\n") {
		s.rest += "\n"
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
	t := s.rest
	if len(t) > most {
		t = t[len(t)-most:]
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
		s.fence = marker
		return s.spaced(headLines(s.Style, language)), true
	}
	n := blockEnd(s.rest, end)
	if n == 0 {
		return nil, false
	}
	block := s.take(n)
	if strings.TrimSpace(block) == "" {
		return nil, true
	}
	return s.spaced(markdown(block, cells, s.Style)), true
}

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
