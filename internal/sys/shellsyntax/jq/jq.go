// Package jq reads filters of jq as data and tells whether one does nothing but compute from its input: no
// environment, no modules. A name that is not among the functions known to compute, and not defined
// in the filter itself, is reported. It runs nothing. Begin with [Danger].
package jq

import (
	"strings"
	"unicode/utf8"
)

// Danger tells why a filter may do more than compute from what it is given; empty: it does not.
func Danger(filter string) string {
	if !utf8.ValidString(filter) || strings.Contains(filter, "\x00") {
		return "cannot be read"
	}
	l := lexer{text: filter}
	for l.why == "" && l.token() {
	}
	switch {
	case l.why == "" && len(l.open) > 0:
		return "cannot be read"
	case l.why == "":
		for _, name := range l.called {
			if !computes(name) && !l.defined[name] {
				return "uses " + name + ", which is not among the functions that only compute"
			}
		}
	}
	return l.why
}

type lexer struct {
	text    string
	pos     int
	open    []byte // brackets that are open; '"' for the interpolation of a string
	called  []string
	defined map[string]bool
	def     int  // 1: the next name is defined, 2: the names in parentheses are its parameters
	dot     bool // the next name is that of a field
	key     bool // the next name may be the key of an object
	why     string
}

func (l *lexer) fail(why string) bool {
	l.why = why
	return false
}

func (l *lexer) at(i int) byte {
	if l.pos+i < len(l.text) {
		return l.text[l.pos+i]
	}
	return 0
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// token reads one token. It reports false at the end and after a failure.
func (l *lexer) token() bool {
	for c := l.at(0); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = l.at(0) {
		l.pos++
	}
	if l.pos >= len(l.text) {
		return false
	}
	c := l.at(0)
	field, key := l.dot, l.key
	l.dot, l.key = false, false
	switch {
	case c == '#': // versions differ in what a backslash at its end does
		end := strings.IndexByte(l.text[l.pos:], '\n')
		if end < 0 {
			end = len(l.text) - l.pos
		}
		if strings.ContainsAny(l.text[l.pos:l.pos+end], "\\\r") {
			return l.fail("cannot be read")
		}
		l.pos += end
		return true
	case c == '"':
		l.pos++
		return l.str()
	case isLetter(c):
		return l.name(field, key)
	case c == '$':
		return l.variable()
	case c == '@':
		for l.pos++; isLetter(l.at(0)) || isDigit(l.at(0)); l.pos++ {
		}
		return true
	case isDigit(c):
		for isLetter(l.at(0)) || isDigit(l.at(0)) || l.at(0) == '.' {
			l.pos++
		}
		return true
	}
	return l.operator(c)
}

// str reads on in a string, up to its end or to the expression in it.
func (l *lexer) str() bool {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		l.pos++
		switch {
		case c == '"':
			return true
		case c == '\\' && l.at(0) == '(':
			l.pos++
			l.open = append(l.open, '"')
			return true
		case c == '\\':
			l.pos++
		}
	}
	return l.fail("cannot be read")
}

func (l *lexer) word() string {
	from := l.pos
	for isLetter(l.at(0)) || isDigit(l.at(0)) {
		l.pos++
	}
	return l.text[from:l.pos]
}

func (l *lexer) name(field, key bool) bool {
	name := l.word()
	if key && strings.IndexByte(":,}", l.at(0)) >= 0 && l.at(1) != ':' { // {name} is short for {name: .name}
		return true
	}
	if l.at(0) == ':' && l.at(1) == ':' {
		return l.fail("uses a module")
	}
	switch {
	case field:
		return true
	case name == "import", name == "include":
		return l.fail("loads a module")
	case name == "env":
		return l.fail("reads the environment")
	case name == "def":
		l.def = 1
		return true
	case l.def > 0:
		if l.defined == nil {
			l.defined = map[string]bool{}
		}
		l.defined[name] = true
		if l.def == 1 && l.at(0) != '(' {
			l.def = 0
		}
		return true
	}
	l.called = append(l.called, name)
	return true
}

func (l *lexer) variable() bool {
	l.pos++
	switch name := l.word(); name {
	case "":
		return l.fail("cannot be read")
	case "ENV":
		return l.fail("reads the environment")
	}
	if l.at(0) == ':' && l.at(1) == ':' {
		return l.fail("uses a module")
	}
	return true
}

func (l *lexer) operator(c byte) bool {
	l.pos++
	switch c {
	case '(', '[', '{':
		l.open = append(l.open, c)
		if c == '(' && l.def == 1 {
			l.def = 2
		}
		l.key = c == '{'
		return true
	case ')', ']', '}':
		return l.close(c)
	case '.':
		if l.at(0) == '.' {
			l.pos++
			return true
		}
		l.dot = isLetter(l.at(0))
		return true
	case ';', ':', ',', '|', '=', '+', '-', '*', '/', '%', '<', '>', '!', '?':
		if c == ':' && l.def == 1 {
			l.def = 0
		}
		l.key = c == ',' && len(l.open) > 0 && l.open[len(l.open)-1] == '{'
		return true
	}
	return l.fail("cannot be read")
}

func (l *lexer) close(c byte) bool {
	if len(l.open) == 0 {
		return l.fail("cannot be read")
	}
	last := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	switch {
	case c == ')' && last == '"':
		return l.str()
	case c == ')' && last == '(', c == ']' && last == '[', c == '}' && last == '{':
		l.def = 0
		return true
	}
	return l.fail("cannot be read")
}

// computes tells the keywords, and the functions that compute from their input and arguments alone.
func computes(name string) bool {
	return strings.Contains(known, " "+name+" ") || strings.Contains(known, " "+name+"\n")
}

const known = ` and or not if then else elif end as reduce foreach try catch label break null true false __loc__ empty error add any all range floor sqrt pow log log2
 log10 exp exp2 exp10 length utf8bytelength keys keys_unsorted values has in map map_values path del to_entries from_entries with_entries select arrays
 objects iterables booleans numbers normals finites strings nulls scalars isvalid recurse recurse_down transpose bsearch tostring tonumber type
 infinite nan isinfinite isnan isnormal sort sort_by group_by min max min_by max_by unique unique_by reverse contains inside startswith endswith
 combinations ltrimstr rtrimstr trim ltrim rtrim explode implode split join ascii_downcase ascii_upcase ascii while until repeat flatten indices index
 rindex getpath setpath delpaths paths leaf_paths pick to_number tojson fromjson todate fromdate now localtime gmtime mktime strftime strflocaltime
 strptime dateadd datesub date fromdateiso8601 todateiso8601 test match capture scan splits sub gsub limit first last nth isempty input inputs debug
 input_filename input_line_number tostream fromstream truncate_stream ceil round trunc fabs abs significand drem ldexp scalb scalbln nearbyint walk
 halt halt_error toarray have_literal_numbers IN INDEX GROUP_BY UNIQUE_BY skip `
