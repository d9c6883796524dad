// Package awk reads programs of awk as data and tells whether one does nothing but compute and print:
// fields, comparisons, arithmetic, arrays, control flow and a list of functions. What POSIX awk,
// gawk and mawk might read in different ways, and everything that reaches files, programs or the
// environment, is reported. It runs nothing. Begin with [Danger].
package awk

import (
	"strings"
	"unicode/utf8"
)

// Danger tells why a program may do more than compute and print what it is given; empty: it does
// not.
func Danger(program string) string {
	if !utf8.ValidString(program) || strings.ContainsAny(program, "\x00\r") {
		return "cannot be read"
	}
	l := lexer{text: program, last: start}
	for l.why == "" && l.token() {
	}
	if l.why == "" && l.depth() > 0 {
		return "cannot be read"
	}
	return l.why
}

// SafeVariable tells whether a variable set from the command line changes nothing but values: the names
// by which awk knows its arguments, its environment and itself do more.
func SafeVariable(name string) bool { return name != "" && special(name) == "" }

// kind is what the last token was, as far as the meaning of the next one hangs on it.
type kind uint8

const (
	start   kind = iota // of a program or statement, or an operator: a "/" begins a pattern
	operand             // a value: a "/" divides
	either              // readers differ
)

type lexer struct {
	text    string
	pos     int
	last    kind
	open    []byte // brackets that are open
	print   int    // the depth of brackets a print statement stands at, +1; 0: none
	endless bool   // the last token lets the statement go on in the next line
	why     string
}

func (l *lexer) depth() int { return len(l.open) }

func (l *lexer) fail(why string) bool {
	if l.why == "" {
		l.why = why
	}
	return false
}

func (l *lexer) at(i int) byte {
	if l.pos+i < len(l.text) {
		return l.text[l.pos+i]
	}
	return 0
}

func isName(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// token reads one token. It reports false at the end and after a failure.
func (l *lexer) token() bool {
	for c := l.at(0); c == ' ' || c == '\t' || c == '\\' && l.at(1) == '\n'; c = l.at(0) {
		if c == '\\' {
			l.pos++
		}
		l.pos++
	}
	if l.pos >= len(l.text) {
		return false
	}
	c := l.at(0)
	switch {
	case c == '#':
		if end := strings.IndexByte(l.text[l.pos:], '\n'); end >= 0 {
			l.pos += end
			return true
		}
		l.pos = len(l.text)
		return false
	case c == '"':
		return l.quoted('"', operand)
	case c == '/':
		return l.slash()
	case isDigit(c), c == '.' && isDigit(l.at(1)):
		return l.number()
	case isName(c):
		return l.name()
	}
	return l.operator(c)
}

// quoted skips a string or pattern; a backslash takes the next character.
func (l *lexer) quoted(end byte, after kind) bool {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == end:
			l.pos = i + 1
			l.set(after)
			return true
		case c == '\n', c == '\\' && i+1 < len(l.text) && l.text[i+1] == '\n':
			return l.fail("cannot be read")
		case c == '\\':
			i++
		case c == '[' && end == '/': // some let the end stand inside of brackets
			if close := strings.IndexByte(l.text[i:], ']'); close >= 0 && strings.IndexByte(l.text[i:i+close], '/') >= 0 {
				return l.fail("cannot be read")
			}
		}
	}
	return l.fail("cannot be read")
}

func (l *lexer) set(k kind) { l.last, l.endless = k, false }

// slash reads a pattern or a division.
func (l *lexer) slash() bool {
	switch l.last {
	case start:
		return l.quoted('/', operand)
	case operand:
		l.pos++
		if l.at(0) == '=' {
			l.pos++
		}
		l.set(either) // what a second slash begins here, nobody writes
		return true
	}
	return l.fail("cannot be read")
}

func (l *lexer) number() bool {
	for isDigit(l.at(0)) || l.at(0) == '.' {
		l.pos++
	}
	if c := l.at(0); (c == 'e' || c == 'E') && (isDigit(l.at(1)) || (l.at(1) == '-' || l.at(1) == '+') && isDigit(l.at(2))) {
		for l.pos += 2; isDigit(l.at(0)); l.pos++ {
		}
	}
	if isName(l.at(0)) {
		return l.fail("cannot be read")
	}
	l.set(operand)
	return true
}

func (l *lexer) name() bool {
	from := l.pos
	for isName(l.at(0)) {
		l.pos++
	}
	name := l.text[from:l.pos]
	if why := special(name); why != "" {
		return l.fail(why)
	}
	switch name {
	case "print", "printf":
		l.print = l.depth() + 1
		l.set(start)
		return true
	case "if", "for", "while", "return", "case", "exit":
		l.set(start)
		return true
	case "else", "do":
		l.set(start)
		l.endless = true
		return true
	case "in", "delete", "switch":
		l.set(either)
		return true
	case "next", "nextfile", "break", "continue", "BEGIN", "END", "BEGINFILE", "ENDFILE", "default":
		l.set(either)
		return true
	}
	if function(name) {
		l.set(operand)
		if name != "length" && l.at(0) != '(' {
			return l.fail("cannot be read")
		}
		return true
	}
	if l.at(0) == '(' {
		return l.fail("calls " + name + ", which is not among the functions that only compute")
	}
	l.set(operand)
	return true
}

// special tells why a name does more than hold a value.
func special(name string) string {
	switch name {
	case "system":
		return "runs commands"
	case "getline":
		return "reads files or commands"
	case "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB":
		return "reads " + name
	case "ARGV", "ARGC", "ARGIND":
		return "changes or reads the names of its files through " + name
	case "function", "func", "close", "fflush", "extension":
		return "uses " + name
	}
	return ""
}

// function tells the functions that only compute.
func function(name string) bool {
	switch name {
	case "length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "tolower", "toupper", "int", "sqrt", "exp", "log", "sin", "cos",
		"atan2", "rand", "srand", "gensub", "strftime", "systime", "mktime", "strtonum", "and", "or", "xor", "lshift", "rshift", "compl", "patsplit":
		return true
	}
	return false
}

// operator reads what is left: brackets, operators, ends of statements.
func (l *lexer) operator(c byte) bool {
	l.pos++
	switch c {
	case '(', '[', '{':
		if c == '{' && l.print > 0 {
			return l.fail("cannot be read")
		}
		l.open = append(l.open, c)
		l.set(start)
		l.endless = c == '{'
		return true
	case ')', ']', '}':
		return l.close(c)
	case '\n', ';':
		if c == ';' || !l.endless {
			l.print = 0
		}
		if c == '\n' && l.depth() > 0 && l.open[l.depth()-1] != '{' && !l.endless {
			return l.fail("cannot be read")
		}
		l.last = start
		return true
	case ',', '?', ':':
		l.set(start)
		l.endless = true
		return true
	case '&', '|':
		if l.at(0) != c {
			return l.fail("pipes to or from a command")
		}
		l.pos++
		l.set(start)
		l.endless = true
		return true
	case '>':
		return l.greater()
	case '+', '-':
		if l.at(0) == c {
			l.pos++
			l.set(either)
			return true
		}
	case '*', '%', '^', '!', '=', '<', '~':
	case '$':
		l.set(either)
		return true
	default:
		return l.fail("cannot be read")
	}
	if l.at(0) == '=' || c == '*' && l.at(0) == '*' {
		l.pos++
	}
	l.set(start)
	return true
}

// close reads a closing bracket.
func (l *lexer) close(c byte) bool {
	pair := map[byte]byte{')': '(', ']': '[', '}': '{'}[c]
	if l.depth() == 0 || l.open[l.depth()-1] != pair {
		return l.fail("cannot be read")
	}
	l.open = l.open[:l.depth()-1]
	switch c {
	case ']':
		l.set(operand)
	case ')':
		l.set(either)
	default:
		l.print = 0
		l.set(start)
	}
	return true
}

// greater reads ">": a comparison, unless it stands in a print statement outside of parentheses.
func (l *lexer) greater() bool {
	if l.at(0) == '>' || l.at(0) == '&' {
		return l.fail("writes a file")
	}
	if l.print > 0 && (l.depth() < l.print || l.open[l.depth()-1] != '(') {
		return l.fail("writes a file")
	}
	if l.at(0) == '=' {
		l.pos++
	}
	l.set(start)
	return true
}
