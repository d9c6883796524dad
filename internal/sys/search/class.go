package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// class copies a bracket expression. Only the escapes differ for regexp/syntax; the set operations
// of ripgrep's dialect (nested classes, &&, --, ~~) are refused, since a plain class says the same.
func (tr *translator) class() error {
	if nested(tr.rest()) {
		return errors.New("a class inside a class is not supported; write all characters in one class, such as [a-z0-9]")
	}
	tr.copy(1)
	if strings.HasPrefix(tr.rest(), "^") {
		tr.copy(1)
	}
	if strings.HasPrefix(tr.rest(), "]") { // first, it is itself
		tr.out.WriteString(`\]`)
		tr.at++
	}
	for {
		rest := tr.rest()
		switch {
		case rest == "":
			return errors.New("a [ is not closed; write \\[ to search for the character")
		case rest[0] == ']':
			tr.copy(1)
			return nil
		case isSetOperator(rest):
			return fmt.Errorf("the set operation %s in a class is not supported; write the characters that are meant, such as [b-df-hj-np-tv-z]", rest[:2])
		case strings.HasPrefix(rest, "[:") && strings.Contains(rest, ":]"):
			tr.copy(strings.Index(rest, ":]") + 2)
		case rest[0] == '[':
			tr.out.WriteString(`\[`)
			tr.at++
		case rest[0] == '\\':
			if err := tr.classEscape(); err != nil {
				return err
			}
		default:
			_, n := utf8.DecodeRuneInString(rest)
			tr.copy(n)
		}
	}
}

// isSetOperator reports whether a class goes on with a set operator; "--" before "]" is a range
// that ends there.
func isSetOperator(rest string) bool {
	return len(rest) > 2 && (rest[:2] == "&&" || rest[:2] == "~~" || (rest[:2] == "--" && rest[2] != ']'))
}

// nested reports whether text begins with a class that holds another one. "[^[]" does not: the
// inner "[" would not be closed, and stands for itself.
func nested(text string) bool {
	depth, inner := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], "[:") && depth > 0:
			end := strings.Index(text[i:], ":]")
			if end < 0 {
				return false
			}
			i += end + 1
		case text[i] == '[':
			inner = inner || depth > 0
			depth++
			after := strings.TrimPrefix(text[i+1:], "^")
			if strings.HasPrefix(after, "]") { // first, it is itself
				i = len(text) - len(after)
			}
		case text[i] == ']':
			if depth--; depth == 0 {
				return inner
			}
		}
	}
	return false
}

// classEscape copies an escape inside of a class.
func (tr *translator) classEscape() error {
	rest := tr.rest()
	if len(rest) < 2 {
		return errors.New("it ends in a lone backslash")
	}
	switch c := rest[1]; c {
	case 'd', 'w', 's', 'D', 'W', 'S':
		tr.out.WriteString(tr.perlInClass(c))
		tr.at += 2
		return tr.afterSet()
	case 'p', 'P':
		text, n, err := property(rest)
		if err != nil {
			return err
		}
		if strings.HasPrefix(text, "[") {
			text = ranges(text)
		}
		tr.out.WriteString(text)
		tr.at += n
		return tr.afterSet()
	case 'u', 'U':
		r, n, err := unicodeEscape(rest)
		fmt.Fprintf(&tr.out, `\x{%X}`, r)
		tr.at += n
		return err
	case 'b':
		tr.out.WriteString(`\x08`)
		tr.at += 2
		return nil
	case 'x', 'a', 'f', 't', 'n', 'r', 'v', '0':
		tr.copy(2)
		return nil
	default:
		r, n := utf8.DecodeRuneInString(rest[1:])
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return fmt.Errorf(`\%c is not known inside a class`, r)
		}
		tr.out.WriteString(quoteRune(r))
		tr.at += 1 + n
		return nil
	}
}

// afterSet makes a "-" behind a set stand for itself: no range begins with a set.
func (tr *translator) afterSet() error {
	if strings.HasPrefix(tr.rest(), "-") && !strings.HasPrefix(tr.rest(), "-]") && !isSetOperator(tr.rest()) {
		tr.out.WriteString(`\-`)
		tr.at++
	}
	return nil
}

// perlInClass is a Perl class as part of a bracket expression. What a negated one stands for is
// written out as ranges; for text that is ASCII without what lies beyond, which under (?i) would
// bring in "k" and "s".
func (tr *translator) perlInClass(c byte) string {
	set := map[byte]string{'d': uniDigit, 'w': uniWord, 's': uniSpace}[c|0x20]
	if tr.ascii {
		set = map[byte]string{'d': `0-9`, 'w': `0-9A-Za-z_`, 's': `\t\n\v\f\r `}[c|0x20]
	}
	if c >= 'a' {
		return set
	}
	beyond := ""
	if tr.ascii {
		beyond = `\x{80}-\x{10FFFF}`
	}
	return ranges("[^" + set + beyond + "]")
}

// ranges writes out what a class stands for, as part of another class. The class must be valid.
func ranges(class string) string {
	re, err := syntax.Parse(class, syntax.Perl|syntax.ClassNL)
	if err != nil {
		panic(fmt.Sprintf("search: class %q: %v", class, err))
	}
	var b strings.Builder
	for i := 0; i < len(re.Rune); i += 2 {
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, re.Rune[i], re.Rune[i+1])
	}
	return b.String()
}
