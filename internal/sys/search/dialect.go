package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PatternError says what is wrong with a pattern.
type PatternError struct {
	Pattern string
	Problem string
}

// Error implements error.
func (e *PatternError) Error() string {
	return fmt.Sprintf("invalid regular expression %q: %s", e.Pattern, e.Problem)
}

// translate rewrites a pattern of ripgrep's dialect (that of Rust's regex crate, documented at
// https://docs.rs/regex/latest/regex/#syntax) for regexp/syntax. Both are of the RE2 family; they
// differ in some escapes, the flag u, and in that \d, \w and \s mean all of Unicode there. Set
// operations in classes and the flag x are refused. With ascii the latter stay ASCII, for text that is.
func translate(pattern string, ascii bool) (string, error) {
	tr := translator{in: pattern, ascii: ascii}
	if err := tr.run(); err != nil {
		return "", &PatternError{pattern, err.Error()}
	}
	if _, err := syntax.Parse(tr.out.String(), syntax.Perl); err != nil {
		return "", &PatternError{pattern, plainSyntax(err)}
	}
	return tr.out.String(), nil
}

func plainSyntax(err error) string {
	var s *syntax.Error
	if !errors.As(err, &s) {
		return err.Error()
	}
	switch s.Code {
	case syntax.ErrMissingParen:
		return "a ( is not closed; write \\( to search for the character"
	case syntax.ErrUnexpectedParen:
		return "a ) has no (; write \\) to search for the character"
	case syntax.ErrMissingBracket:
		return "a [ is not closed; write \\[ to search for the character"
	case syntax.ErrTrailingBackslash:
		return "it ends in a lone backslash"
	case syntax.ErrMissingRepeatArgument:
		return fmt.Sprintf("nothing stands before %q; write \\%s to search for the character", s.Expr, s.Expr)
	}
	return fmt.Sprintf("%s: %q", s.Code, s.Expr)
}

type translator struct {
	in    string
	at    int
	ascii bool
	out   strings.Builder
}

// Unicode meanings of the Perl classes.
const (
	uniDigit = `\p{Nd}`
	uniWord  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}`
	uniSpace = `\t\n\v\f\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}`
)

func (tr *translator) run() error {
	for tr.at < len(tr.in) {
		c := tr.in[tr.at]
		var err error
		switch {
		case c == '\\':
			err = tr.escape()
		case c == '[':
			err = tr.class()
		case c == '(':
			err = tr.open()
		default:
			_, n := utf8.DecodeRuneInString(tr.in[tr.at:])
			tr.copy(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (tr *translator) copy(n int) {
	tr.out.WriteString(tr.in[tr.at : tr.at+n])
	tr.at += n
}

func (tr *translator) rest() string { return tr.in[tr.at:] }

// open copies the beginning of a group.
func (tr *translator) open() error {
	rest := tr.rest()
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(rest, look) {
			return fmt.Errorf("look-around (%s…) is not supported; search for more and filter, or use several searches", look)
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?>"):
		return errors.New("atomic groups (?>…) are not supported; use (?:…)")
	case strings.HasPrefix(rest, "(?P=") || strings.HasPrefix(rest, "(?&") || strings.HasPrefix(rest, "(?R)"):
		return errors.New("back-references and recursion are not supported")
	case strings.HasPrefix(rest, "(?P<"), strings.HasPrefix(rest, "(?<"):
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return errors.New("the name of a group is not closed by >")
		}
		tr.copy(end + 1)
		return nil
	case strings.HasPrefix(rest, "(?"):
		return tr.flags()
	}
	tr.copy(1)
	return nil
}

// flags handles "(?i)", "(?i-s:" and the like.
func (tr *translator) flags() error {
	end := strings.IndexAny(tr.rest(), ":)")
	if end < 0 {
		return errors.New("a ( is not closed")
	}
	text, closer := tr.rest()[2:end], tr.rest()[end]
	negative := false
	var on, off strings.Builder
	for _, r := range text {
		switch r {
		case '-':
			negative = true
		case 'x':
			if !negative {
				return errors.New("verbose patterns (?x) are not supported; write the pattern without blanks and comments")
			}
		case 'u': // text here is always Unicode
		case 'R': // line ends are taken care of
		case 'i', 'm', 's', 'U':
			if negative {
				off.WriteRune(r)
			} else {
				on.WriteRune(r)
			}
		default:
			return fmt.Errorf("%q is no flag", r)
		}
	}
	tr.at += end + 1
	flags := on.String()
	if off.Len() > 0 {
		flags += "-" + off.String()
	}
	if closer == ':' {
		tr.out.WriteString("(?" + flags + ":")
		return nil
	}
	if flags != "" {
		tr.out.WriteString("(?" + flags + ")")
	}
	return nil
}

// escape handles a backslash outside of classes.
func (tr *translator) escape() error {
	rest := tr.rest()
	if len(rest) < 2 {
		return errors.New("it ends in a lone backslash")
	}
	for _, b := range []string{`\b{start}`, `\b{end}`} {
		if strings.HasPrefix(rest, b) {
			tr.out.WriteString(`\b`)
			tr.at += len(b)
			return nil
		}
	}
	switch c := rest[1]; c {
	case '<', '>':
		tr.out.WriteString(`\b`)
		tr.at += 2
		return nil
	case 'd', 'D', 'w', 'W', 's', 'S':
		tr.out.WriteString(tr.perl(c))
		tr.at += 2
		return nil
	case 'Z':
		return errors.New(`\Z is not supported; use \z or $`)
	case 'G', 'K', 'R', 'X', 'h', 'H', 'N':
		return fmt.Errorf(`\%c is not supported`, c)
	case 'u', 'U':
		r, n, err := unicodeEscape(rest)
		if err != nil {
			return err
		}
		fmt.Fprintf(&tr.out, `\x{%X}`, r)
		tr.at += n
		return nil
	case 'p', 'P':
		text, n, err := property(rest)
		if err != nil {
			return err
		}
		tr.out.WriteString(text)
		tr.at += n
		return nil
	case ' ', '#', '-', '/', '"', '\'', '`', '%', '&', '~', '@', '!', ',', ':', ';', '=', '_':
		tr.out.WriteString(quoteRune(rune(c)))
		tr.at += 2
		return nil
	case '1', '2', '3', '4', '5', '6', '7', '8', '9', 'k':
		return fmt.Errorf(`back-references (\%c) are not supported`, c)
	default:
		_, n := utf8.DecodeRuneInString(rest[1:])
		tr.copy(1 + n)
		return nil
	}
}

// perl is a Perl class outside of brackets.
func (tr *translator) perl(c byte) string {
	switch {
	case tr.ascii && c != 's' && c != 'S':
		return `\` + string(c)
	case c >= 'a':
		return "[" + tr.perlInClass(c) + "]"
	default:
		return "[^" + tr.perlInClass(c|0x20) + "]"
	}
}

// unicodeEscape reads \uXXXX, \UXXXXXXXX and \u{X…}.
func unicodeEscape(s string) (rune, int, error) {
	digits, n := "", 0
	switch {
	case len(s) > 2 && s[2] == '{':
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return 0, 0, errors.New(`\u{ is not closed by }`)
		}
		digits, n = s[3:end], end+1
	case s[1] == 'u' && len(s) >= 6:
		digits, n = s[2:6], 6
	case s[1] == 'U' && len(s) >= 10:
		digits, n = s[2:10], 10
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || v > unicode.MaxRune {
		return 0, 0, fmt.Errorf("%q is no Unicode escape", s[:min(len(s), 10)])
	}
	return rune(v), n, nil
}

// property reads \pL, \p{…}, \P{…}, \p{^…} with Rust's spellings.
func property(s string) (text string, n int, err error) {
	if len(s) < 3 {
		return "", 0, errors.New(`\p needs a class name`)
	}
	if s[2] != '{' {
		_, size := utf8.DecodeRuneInString(s[2:])
		return s[:2+size], 2 + size, nil
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return "", 0, errors.New(`\p{ is not closed by }`)
	}
	name := s[3:end]
	negate := ""
	if strings.HasPrefix(name, "^") {
		negate, name = "^", name[1:]
	}
	if key, value, ok := strings.Cut(name, "="); ok {
		switch strings.ToLower(strings.NewReplacer("_", "", " ", "", "-", "").Replace(key)) {
		case "script", "sc", "generalcategory", "gc":
			name = value
		default:
			return "", 0, fmt.Errorf("the property %q is not supported", key)
		}
	}
	switch strings.ToLower(name) {
	case "alphabetic", "alpha":
		return classOf(s[1] == 'P' != (negate != ""), `\p{L}\p{Nl}\p{Other_Alphabetic}`), end + 1, nil
	case "uppercase":
		name = "Lu"
	case "lowercase":
		name = "Ll"
	case "white_space", "whitespace", "space":
		return classOf(s[1] == 'P' != (negate != ""), uniSpace), end + 1, nil
	}
	out := s[:2] + "{" + negate + name + "}"
	if _, err := syntax.Parse(out, syntax.Perl); err != nil {
		return "", 0, fmt.Errorf("the Unicode class %q is not known", name)
	}
	return out, end + 1, nil
}

func classOf(negate bool, set string) string {
	set = strings.ReplaceAll(set, `\p{Other_Alphabetic}`, `\p{M}`) // near enough: marks belong to letters
	if negate {
		return "[^" + set + "]"
	}
	return "[" + set + "]"
}

func quoteRune(r rune) string {
	if strings.ContainsRune(`\.+*?()|[]{}^$-`, r) {
		return `\` + string(r)
	}
	return string(r)
}
