package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// runes is a set of characters as ascending, not touching ranges: lo, hi, lo, hi, …
type runes []rune

// class copies a bracket expression. One that regexp/syntax reads the same way is passed on; nested
// classes and the operators && (both), -- (but not) and ~~ (one of them) are computed.
func (tr *translator) class() error {
	p := classParser{tr: tr, in: tr.in, at: tr.at}
	set, negate, err := p.brackets()
	if errors.Is(err, errUnclosed) {
		// "[^[]" is an unclosed nested class to ripgrep, and what everybody else writes for "not [".
		p = classParser{tr: tr, in: tr.in, at: tr.at, flat: true}
		set, negate, err = p.brackets()
	}
	if err != nil {
		return err
	}
	tr.at = p.at
	if tr.ascii {
		// Characters beyond are not in the text; under (?i) some would bring in "k" and "s".
		set = set.and(runes{0, unicode.MaxASCII})
	}
	// The negation is left to regexp/syntax: under (?i) it must come after the folding of case.
	tr.out.WriteString(set.write(negate))
	return nil
}

var errUnclosed = errors.New("a [ is not closed; write \\[ to search for the character")

// write puts the set, or what is not in it, as a class for regexp/syntax.
func (s runes) write(negate bool) string {
	if len(s) == 0 {
		s, negate = runes{0, unicode.MaxRune}, !negate
	}
	var b strings.Builder
	b.WriteByte('[')
	if negate {
		b.WriteByte('^')
	}
	for i := 0; i < len(s); i += 2 {
		fmt.Fprintf(&b, `\x{%X}`, s[i])
		if s[i+1] > s[i] {
			fmt.Fprintf(&b, `-\x{%X}`, s[i+1])
		}
	}
	b.WriteByte(']')
	return b.String()
}

func normalise(s runes) runes {
	type pair struct{ lo, hi rune }
	pairs := make([]pair, 0, len(s)/2)
	for i := 0; i < len(s); i += 2 {
		pairs = append(pairs, pair{s[i], s[i+1]})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return int(a.lo) - int(b.lo) })
	var out runes
	for _, p := range pairs {
		if n := len(out); n > 0 && p.lo <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p.hi)
		} else {
			out = append(out, p.lo, p.hi)
		}
	}
	return out
}

func (s runes) not() runes {
	var out runes
	next := rune(0)
	for i := 0; i < len(s); i += 2 {
		if s[i] > next {
			out = append(out, next, s[i]-1)
		}
		next = s[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func (s runes) or(t runes) runes  { return normalise(append(slices.Clone(s), t...)) }
func (s runes) and(t runes) runes { return s.not().or(t.not()).not() }

// classParser reads one bracket expression of Rust's dialect. With flat a "[" inside is itself.
type classParser struct {
	tr   *translator
	in   string
	at   int
	flat bool
}

func (p *classParser) rest() string { return p.in[p.at:] }

// parse reads from "[" to its "]" and returns the set that is meant.
func (p *classParser) parse() (runes, error) {
	set, negate, err := p.brackets()
	if negate {
		set = set.not()
	}
	return set, err
}

// brackets reads from "[" to its "]" and leaves the negation to the caller.
func (p *classParser) brackets() (set runes, negate bool, err error) {
	p.at++
	if negate = strings.HasPrefix(p.rest(), "^"); negate {
		p.at++
	}
	if strings.HasPrefix(p.rest(), "]") { // first, it is itself
		set = runes{']', ']'}
		p.at++
	}
	if set, err = p.union(set); err != nil {
		return nil, false, err
	}
	for !strings.HasPrefix(p.rest(), "]") {
		op := p.in[p.at : p.at+2]
		p.at += 2
		right, err := p.union(nil)
		if err != nil {
			return nil, false, err
		}
		switch op {
		case "&&":
			set = set.and(right)
		case "--":
			set = set.and(right.not())
		default:
			set = set.or(right).and(set.and(right).not())
		}
	}
	p.at++
	return set, negate, nil
}

// union reads items up to "]" or an operator.
func (p *classParser) union(set runes) (runes, error) {
	for {
		rest := p.rest()
		switch {
		case rest == "":
			return nil, errUnclosed
		case rest[0] == ']', p.operator(rest):
			return normalise(set), nil
		case p.tr.isSpaced() && (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n'):
			p.at++
			continue
		}
		item, single, err := p.item()
		if err != nil {
			return nil, err
		}
		if single && strings.HasPrefix(p.rest(), "-") && !strings.HasPrefix(p.rest(), "--") && !strings.HasPrefix(p.rest(), "-]") {
			if item, err = p.interval(item[0]); err != nil {
				return nil, err
			}
		}
		set = append(set, item...)
	}
}

func (p *classParser) operator(rest string) bool {
	if p.flat || len(rest) < 3 {
		return false
	}
	return rest[:2] == "&&" || rest[:2] == "~~" || (rest[:2] == "--" && rest[2] != ']')
}

func (p *classParser) interval(lo rune) (runes, error) {
	p.at++
	if p.rest() == "" {
		return nil, errUnclosed
	}
	hi, single, err := p.item()
	if err != nil {
		return nil, err
	}
	if !single || hi[0] < lo {
		return nil, fmt.Errorf("the range from %q in a class is not valid", lo)
	}
	return runes{lo, hi[0]}, nil
}

// item reads one character, escape or class.
func (p *classParser) item() (set runes, single bool, err error) {
	rest := p.rest()
	switch {
	case strings.HasPrefix(rest, "[:"):
		if end := strings.Index(rest, ":]"); end > 0 {
			set, err = setOf("[" + rest[:end+2] + "]")
			p.at += end + 2
			return set, false, err
		}
	case rest[0] == '[' && !p.flat:
		set, err = p.parse()
		return set, false, err
	case rest[0] == '\\':
		return p.escape()
	}
	r, n := utf8.DecodeRuneInString(rest)
	p.at += n
	return runes{r, r}, true, nil
}

func (p *classParser) escape() (runes, bool, error) {
	rest := p.rest()
	if len(rest) < 2 {
		return nil, false, errUnclosed
	}
	c := rest[1]
	switch c {
	case 'd', 'w', 's', 'D', 'W', 'S':
		p.at += 2
		set, err := setOf("[" + p.tr.perl(c|0x20, true) + "]")
		if c < 'a' {
			set = set.not()
		}
		return set, false, err
	case 'p', 'P':
		text, n, err := property(rest)
		if err != nil {
			return nil, false, err
		}
		p.at += n
		set, err := setOf(text)
		return set, false, err
	case 'u', 'U':
		r, n, err := unicodeEscape(rest)
		p.at += n
		return runes{r, r}, true, err
	case 'b':
		p.at += 2
		return runes{'\b', '\b'}, true, nil
	case 'x', 'a', 'f', 't', 'n', 'r', 'v', '0':
		return p.goEscape()
	}
	r, n := utf8.DecodeRuneInString(rest[1:])
	if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return nil, false, fmt.Errorf(`\%c is not known inside a class`, r)
	}
	p.at += 1 + n
	return runes{r, r}, true, nil
}

// goEscape lets regexp/syntax read an escape that means the same in both dialects.
func (p *classParser) goEscape() (runes, bool, error) {
	rest := p.rest()
	n := 2
	if rest[1] == 'x' {
		n = 4
		if strings.HasPrefix(rest, `\x{`) {
			n = strings.IndexByte(rest, '}') + 1
		}
	}
	if n < 2 || n > len(rest) {
		return nil, false, errors.New(`\x is not complete`)
	}
	set, err := setOf("[" + rest[:n] + "]")
	p.at += n
	if err == nil && (len(set) != 2 || set[0] != set[1]) {
		err = fmt.Errorf("%q is no character", rest[:n])
	}
	return set, true, err
}

// setOf is the set that a class of regexp/syntax stands for.
func setOf(class string) (runes, error) {
	re, err := syntax.Parse(class, syntax.Perl|syntax.ClassNL)
	if err != nil {
		return nil, errors.New(plainSyntax(err))
	}
	switch re.Op {
	case syntax.OpCharClass:
		return normalise(slices.Clone(re.Rune)), nil
	case syntax.OpLiteral:
		return runes{re.Rune[0], re.Rune[0]}, nil
	case syntax.OpAnyChar:
		return runes{0, unicode.MaxRune}, nil
	case syntax.OpNoMatch:
		return nil, nil
	default:
		return nil, fmt.Errorf("%q is no class", class)
	}
}
