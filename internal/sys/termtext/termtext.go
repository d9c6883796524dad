// Package termtext tells what a terminal would show at last of what a program has written to it: colours
// and titles are gone, and a progress bar is there once, as it ended. It is for readers that are no
// terminal, such as models; whoever writes to a terminal makes text harmless with sys/visible. Begin at
// [Final].
package termtext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxUp     = 200  // rows a program can go back to: what it wrote before has scrolled away
	maxColumn = 4096 // how far to the right it can go without writing
)

// Final returns s as a terminal would show it, in plain lines. Text without control characters stays as
// it is, CR before LF included.
func Final(s string) string {
	if !acts(s) {
		return s
	}
	var sc screen
	sc.rows = [][]rune{nil}
	for i := 0; i < len(s); {
		if n := sc.sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		sc.put(r)
		i += n
	}
	var b strings.Builder
	for i, row := range sc.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(string(row), " "))
	}
	return b.String()
}

// acts tells whether anything in s does more than to show itself and to end lines.
func acts(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n', c == '\t', c >= ' ' && c != 0x7f && c != 0xc2:
		case c == '\r' && i+1 < len(s) && s[i+1] == '\n':
		case c == '\r' && i+1 == len(s):
		case c == 0xc2 && (i+1 == len(s) || s[i+1] >= 0xa0): // no C1 control
		default:
			return true
		}
	}
	return false
}

// screen is rows of characters with the place where the next one goes.
type screen struct {
	rows     [][]rune
	row, col int
}

func (s *screen) put(r rune) {
	switch {
	case r == '\n':
		s.down()
		s.col = 0
	case r == '\r':
		s.col = 0
	case r == '\b':
		s.col = max(s.col-1, 0)
	case r == '\t', r >= ' ' && r < 0x7f, r >= 0xa0:
		row := s.rows[s.row]
		for len(row) < s.col {
			row = append(row, ' ')
		}
		if s.col < len(row) {
			row[s.col] = r
		} else {
			row = append(row, r)
		}
		s.rows[s.row] = row
		s.col++
	}
}

func (s *screen) down() {
	if s.row++; s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
}

// sequence obeys the escape sequence that text begins with and returns its length; 0: none.
func (s *screen) sequence(text string) int {
	kind, n := byte(0), 0
	switch {
	case len(text) > 1 && text[0] == 0x1b:
		kind, n = text[1], 2
	case text[0] == 0x1b:
		return 1
	case len(text) > 1 && text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0:
		kind, n = text[1]-0x40, 2
	default:
		return 0
	}
	switch {
	case kind == '[':
		return n + s.control(text[n:])
	case strings.IndexByte("]PX^_", kind) >= 0: // a title, a link, a picture: not for reading
		return n + stringLen(text[n:])
	case kind >= 0x20 && kind < 0x30: // a character set
		for n < len(text) && text[n] >= 0x20 && text[n] < 0x30 {
			n++
		}
		return min(n+1, len(text))
	case kind < 0x20 || kind >= 0x7f: // no sequence, but a stray ESC
		return 1
	}
	return n
}

// stringLen is the length of a string that BEL or ST ends. One that does not end is none: it is left,
// so that a stray beginning does not swallow all that follows.
func stringLen(text string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\a':
			return i + 1
		case text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\',
			text[i] == 0xc2 && i+1 < len(text) && text[i+1] == 0x9c:
			return i + 2
		case text[i] == '\n', text[i] == 0x1b:
			return 0
		}
	}
	return 0
}

// control obeys a control sequence behind its introducer and returns its length.
func (s *screen) control(text string) int {
	n := 0
	for n < len(text) && text[n] >= 0x20 && text[n] < 0x40 {
		n++
	}
	if n == len(text) {
		return n // cut here
	}
	if text[n] < 0x40 || text[n] > 0x7e {
		return n // not one that ends
	}
	first, _, _ := strings.Cut(text[:n], ";")
	count, err := strconv.Atoi(first)
	switch {
	case err != nil && first != "": // private
		return n + 1
	case err != nil:
		count = -1
	}
	s.obey(text[n], count)
	return n + 1
}

// obey does what a control sequence does; count is its number, -1 without one.
func (s *screen) obey(command byte, count int) {
	times := max(count, 1)
	switch command {
	case 'A', 'F':
		s.row = max(s.row-min(times, maxUp), 0)
	case 'B', 'E':
		s.row = min(s.row+times, len(s.rows)-1)
	case 'C':
		s.col = min(s.col+min(times, maxColumn), maxColumn)
	case 'D':
		s.col = max(s.col-times, 0)
	case 'G':
		s.col = min(times-1, maxColumn)
	case 'K':
		s.erase(count)
	case 'J':
		if count <= 0 { // what is below; a cleared screen keeps its history
			s.erase(0)
			s.rows = s.rows[:s.row+1]
		}
	}
	if command == 'E' || command == 'F' {
		s.col = 0
	}
}

// erase clears a part of the row: behind the place, before it, or all.
func (s *screen) erase(part int) {
	row := s.rows[s.row]
	switch {
	case part <= 0:
		s.rows[s.row] = row[:min(s.col, len(row))]
	case part == 1:
		for i := range row[:min(s.col+1, len(row))] {
			row[i] = ' '
		}
	case part == 2:
		s.rows[s.row] = row[:0]
	}
}
