// Package sed reads scripts of the stream editor as data: which files they read and write and which
// programs they run. It knows a small grammar of what GNU sed 4.9 reads the same way; whatever else
// stands in a script is reported as not understood and must count as executing. It runs nothing
// and touches no file. Begin with [Read].
package sed

import (
	"strings"
	"unicode/utf8"
)

// Script is what a script does besides editing its input.
type Script struct {
	Runs   []string // texts that a shell would run
	Reads  []string // names of files
	Writes []string // names of files
	Why    string   // it executes, or may: a clause for people; empty: it does not
}

// Read reads a script. Several scripts of one command line are joined by line ends first.
func Read(script string) Script {
	r := reader{text: script}
	if !plain(script) {
		r.fail("cannot be read in every locale")
		return r.out
	}
	for r.command() {
	}
	if r.depth != 0 {
		r.fail("cannot be read")
	}
	return r.out
}

// plain tells whether every locale splits the text into the same characters as far as it matters:
// in some encodings a punctuation character can be the second half of another one.
func plain(s string) bool {
	for i := 1; i < len(s); i++ {
		if s[i-1] >= utf8.RuneSelf && s[i] >= '@' && s[i] < utf8.RuneSelf && !isLetter(s[i]) {
			return false
		}
	}
	return utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\r")
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

type reader struct {
	text  string
	pos   int
	depth int // open braces
	out   Script
}

func (r *reader) fail(why string) bool {
	if r.out.Why == "" {
		r.out.Why = why
	}
	return false
}

// peek returns the next byte, 0 at the end; the text holds none.
func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *reader) skip(chars string) {
	for r.pos < len(r.text) && strings.IndexByte(chars, r.text[r.pos]) >= 0 {
		r.pos++
	}
}

func (r *reader) digits() bool {
	from := r.pos
	for isDigit(r.peek()) {
		r.pos++
	}
	return r.pos > from
}

// command reads one command with its addresses. It reports false at the end, and after something that
// is not understood.
func (r *reader) command() bool {
	r.skip(" \t\n;")
	if r.pos >= len(r.text) {
		return false
	}
	addressed, ok := r.addresses()
	if !ok {
		return r.fail("cannot be read")
	}
	r.skip(" \t")
	if r.peek() == '!' {
		r.pos++
		r.skip(" \t")
	}
	if r.pos >= len(r.text) {
		return r.fail("cannot be read")
	}
	c := r.text[r.pos]
	r.pos++
	switch c {
	case '#':
		r.line()
		return !addressed || r.fail("cannot be read")
	case '{':
		r.depth++
		return true
	case '}':
		if r.depth--; r.depth < 0 || addressed {
			return r.fail("cannot be read")
		}
		return r.end()
	case '=', 'd', 'D', 'F', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z':
		return r.end()
	case 'l', 'q', 'Q':
		r.skip(" \t")
		r.digits()
		return r.end()
	case ':':
		return r.label() && !addressed || r.fail("cannot be read")
	case 'b', 't', 'T':
		return r.optionalLabel()
	case 'a', 'i', 'c':
		return r.insertedText()
	case 'e':
		r.skip(" \t")
		r.out.Runs = append(r.out.Runs, r.line())
		return r.fail("runs commands") || r.pos < len(r.text)
	case 'r', 'R', 'w', 'W':
		return r.file(c)
	case 's':
		return r.substitute()
	case 'y':
		return r.delimited() && r.end() || r.fail("cannot be read")
	}
	return r.fail("cannot be read")
}

// end reads what must stand after a command that takes no text.
func (r *reader) end() bool {
	r.skip(" \t")
	switch r.peek() {
	case 0, '\n', ';', '}', '#':
		return true
	}
	return r.fail("cannot be read")
}

func (r *reader) line() string {
	end := strings.IndexByte(r.text[r.pos:], '\n')
	if end < 0 {
		end = len(r.text) - r.pos
	}
	out := r.text[r.pos : r.pos+end]
	r.pos += end
	return out
}

// label reads a name of letters, digits, "_", "." and "-". A blank ends it, and then another command may
// follow on the same line.
func (r *reader) label() bool {
	r.skip(" \t")
	from := r.pos
	for c := r.peek(); isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '-'; c = r.peek() {
		r.pos++
	}
	if r.pos == from {
		return false
	}
	switch r.peek() {
	case 0, ' ', '\t', '\n', ';':
		return true
	}
	return false
}

func (r *reader) optionalLabel() bool {
	r.skip(" \t")
	switch r.peek() {
	case 0, '\n', ';', '}':
		return true
	}
	return r.label() || r.fail("cannot be read")
}

// file reads the name after r, R, w and W: the rest of the line.
func (r *reader) file(c byte) bool {
	r.skip(" \t")
	name := r.line()
	if name == "" {
		return r.fail("cannot be read")
	}
	if c == 'r' || c == 'R' {
		r.out.Reads = append(r.out.Reads, name)
	} else {
		r.out.Writes = append(r.out.Writes, name)
	}
	return true
}

// insertedText skips the text of a, i and c, on the same line or after a backslash on the next. In
// it a backslash takes the next character, whatever that is; a line end that is not taken ends the text.
func (r *reader) insertedText() bool {
	r.skip(" \t")
	if r.peek() == '\\' {
		r.pos++
		if r.peek() == '\n' { // blanks before it would be the text themselves
			r.pos++
		}
		if r.peek() == '\\' { // versions differ in what it takes
			return r.fail("cannot be read")
		}
	}
	if c := r.peek(); c == 0 || c == '\n' || c == '}' {
		return r.fail("cannot be read")
	}
	for r.pos < len(r.text) && r.text[r.pos] != '\n' {
		if r.text[r.pos] == '\\' {
			r.pos++
		}
		r.pos++
	}
	return true
}

// addresses reads none, one or two addresses, and tells whether there were any.
func (r *reader) addresses() (any, ok bool) {
	any, ok = r.address(false)
	if !any || !ok {
		return any, ok
	}
	r.skip(" \t")
	if r.peek() != ',' {
		return true, true
	}
	r.pos++
	r.skip(" \t")
	second, ok := r.address(true)
	return true, second && ok
}

func (r *reader) address(second bool) (found, ok bool) {
	c := r.peek()
	switch {
	case isDigit(c):
		r.digits()
		if r.peek() == '~' {
			r.pos++
			return true, r.digits()
		}
		return true, true
	case second && (c == '+' || c == '~'):
		r.pos++
		return true, r.digits()
	case c == '$':
		r.pos++
		return true, true
	case c == '/':
		r.pos++
		return true, r.regex('/')
	case c == '\\':
		r.pos++
		delim := r.peek()
		r.pos++
		return true, isDelimiter(delim) && r.regex(delim)
	}
	return false, true
}

func (r *reader) regex(delim byte) bool {
	if !r.until(delim) {
		return false
	}
	r.skip("IM")
	return true
}

// isDelimiter tells the characters that are taken as delimiters: punctuation without a meaning of
// its own to the reading of delimiters.
func isDelimiter(c byte) bool {
	return strings.IndexByte(`/,|#:@!%^_;~=+-."'`+"`", c) >= 0
}

// until skips to just after the delimiter, over characters taken by a backslash. Seds differ in whether the
// delimiter ends a pattern inside of brackets, so that is not understood.
func (r *reader) until(delim byte) bool {
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		r.pos++
		switch c {
		case delim:
			return true
		case '\n':
			return false
		case '\\':
			r.pos++
		case '[':
			if end := strings.IndexByte(r.text[r.pos:], ']'); end >= 0 && strings.IndexByte(r.text[r.pos:r.pos+end], delim) >= 0 {
				return false
			}
		}
	}
	return false
}

// delimited reads a delimiter and the two texts that it ends.
func (r *reader) delimited() bool {
	delim := r.peek()
	if !isDelimiter(delim) {
		return false
	}
	r.pos++
	for range 2 {
		if !r.until(delim) {
			return false
		}
	}
	return true
}

func (r *reader) substitute() bool {
	if !r.delimited() {
		return r.fail("cannot be read")
	}
	for {
		c := r.peek()
		switch {
		case c == 'g', c == 'p', c == 'i', c == 'I', c == 'm', c == 'M', isDigit(c):
			r.pos++
		case c == 'e':
			return r.fail("runs the result of a substitution")
		case c == 'w':
			r.pos++
			return r.file(c)
		default:
			return r.end()
		}
	}
}
