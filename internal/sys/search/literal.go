package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// needle is a text that is looked for byte by byte.
type needle struct {
	text []byte // in lower case when fold
	fold bool   // ASCII letters match in either case
	rare int    // index of the byte of text that is seldom in files
	a, b byte   // that byte in both cases; the same when there is but one
}

func newNeedle(text string, fold bool) needle {
	n := needle{text: []byte(text), fold: fold}
	if fold {
		n.text = []byte(strings.ToLower(text))
	}
	best := 1 << 30
	for i, c := range n.text {
		common := frequency(c)
		if upper := upperByte(c); fold && upper != c {
			common += frequency(upper)
		}
		if common < best {
			best, n.rare = common, i
		}
	}
	n.a = n.text[n.rare]
	n.b = n.a
	if fold {
		n.b = upperByte(n.a)
	}
	return n
}

// frequency is a rough rank of how common a byte is in source text, from 0.
func frequency(c byte) int {
	const common = "QZXJqzXKVj\x00WY~`^@%$?GHUB!|#&+\\N;O*F<>MLDPI[]{}9876543RAkvwx'SCTE2bgy1/:=0\"-f,hmupd_.cl()sinoart\t\ne "
	if i := strings.LastIndexByte(common, c); i >= 0 {
		return 4 * i
	}
	return 8
}

func upperByte(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// index is the offset of the first occurrence in buf at or after from, or -1.
func (n *needle) index(buf []byte, from int) int {
	if from > len(buf)-len(n.text) {
		return -1
	}
	if n.a == n.b && !n.fold {
		return n.indexExact(buf, from)
	}
	nextA, nextB := -2, -2 // positions of the rare byte in either case; -2: not looked for, -1: none
	pos := from + n.rare
	last := len(buf) - len(n.text) + n.rare
	for pos <= last {
		nextA = advance(buf, nextA, pos, last, n.a)
		if n.b != n.a {
			nextB = advance(buf, nextB, pos, last, n.b)
		} else {
			nextB = -1
		}
		at := nextA
		if at < 0 || (nextB >= 0 && nextB < at) {
			at = nextB
		}
		if at < 0 {
			return -1
		}
		if start := at - n.rare; n.matches(buf[start : start+len(n.text)]) {
			return start
		}
		pos = at + 1
	}
	return -1
}

// advance moves a known position of c to the first at or after pos.
func advance(buf []byte, known, pos, last int, c byte) int {
	if known == -1 || known >= pos {
		return known
	}
	i := bytes.IndexByte(buf[pos:last+1], c)
	if i < 0 {
		return -1
	}
	return pos + i
}

// indexExact looks for the rare byte, and goes over to a plain search when it is not so rare here.
func (n *needle) indexExact(buf []byte, from int) int {
	pos, last := from+n.rare, len(buf)-len(n.text)+n.rare
	for misses := 0; pos <= last; misses++ {
		if misses > 16 && misses > (pos-from)/32 {
			i := bytes.Index(buf[pos-n.rare:], n.text)
			if i < 0 {
				return -1
			}
			return pos - n.rare + i
		}
		i := bytes.IndexByte(buf[pos:last+1], n.a)
		if i < 0 {
			return -1
		}
		start := pos + i - n.rare
		if bytes.Equal(buf[start:start+len(n.text)], n.text) {
			return start
		}
		pos += i + 1
	}
	return -1
}

func (n *needle) matches(b []byte) bool {
	for i, c := range b {
		if n.fold && 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// required is what is known of the texts a regular expression matches.
type required struct {
	exact []lit // the whole match is one of these; nil: not known
	some  []lit // every match holds one of these; nil: nothing known
}

// lit is a literal text.
type lit struct {
	text string
	fold bool
}

// The bounds of the sets above: beyond them a set is given up.
const (
	maxExact = 16
	maxLit   = 64
)

// needlesOf returns texts of which every match of re holds at least one, or nil when no useful
// ones are known. whole says that a match is exactly one of them.
func needlesOf(re *syntax.Regexp) (needles []needle, whole bool) {
	r := analyse(re)
	lits := r.some
	if len(r.exact) > 0 && !looksAround(re) {
		lits, whole = r.exact, true
	}
	for _, l := range lits {
		text := l.text
		if l.fold {
			if text = foldSafe(l.text); text != l.text {
				whole = false
			}
		}
		if text == "" {
			return nil, false
		}
		whole = whole && !strings.ContainsAny(text, "\r\n") // which are cut off a line before it is matched
		needles = append(needles, newNeedle(text, l.fold))
	}
	return needles, whole
}

// foldSafe is the longest part of a text whose other cases are all ASCII: not "k" and "s", which
// the Kelvin sign and the long s are cases of too, and no letters beyond ASCII.
func foldSafe(text string) string {
	best, from := "", 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] < utf8.RuneSelf && !strings.ContainsRune("kKsS", rune(text[i])) {
			continue
		}
		if i-from > len(best) {
			best = text[from:i]
		}
		from = i + 1
	}
	return best
}

// looksAround tells whether re holds an assertion about a place, such as ^ or \b.
func looksAround(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, looksAround)
}

func analyse(re *syntax.Regexp) required {
	switch re.Op {
	case syntax.OpLiteral:
		l := lit{string(re.Rune), re.Flags&syntax.FoldCase != 0}
		lits := []lit{l}
		if l.fold && len(l.text) == 1 && foldSafe(l.text) != "" { // "[Ff]oo" arrives as "(?i:f)oo"
			lits = []lit{{text: strings.ToUpper(l.text)}, {text: strings.ToLower(l.text)}}
		}
		return required{exact: lits, some: lits}
	case syntax.OpCharClass:
		return analyseClass(re.Rune)
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return required{exact: []lit{{}}} // matches nothing but at certain places: see looksAround
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpPlus:
		return required{some: analyse(re.Sub[0]).some}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required{some: analyse(re.Sub[0]).some}
		}
	case syntax.OpConcat:
		return analyseConcat(re.Sub)
	case syntax.OpAlternate:
		return analyseAlternate(re.Sub)
	}
	return required{}
}

// analyseClass takes small classes apart, so that "[Ff]oo" is two texts.
func analyseClass(ranges []rune) required {
	var out []lit
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if out = append(out, lit{text: string(r)}); len(out) > 4 {
				return required{}
			}
		}
	}
	return required{exact: out, some: out}
}

func analyseAlternate(subs []*syntax.Regexp) required {
	var out required
	exact, some := true, true
	for _, sub := range subs {
		r := analyse(sub)
		exact = exact && len(r.exact) > 0 && len(out.exact)+len(r.exact) <= maxExact
		some = some && len(r.some) > 0 && len(out.some)+len(r.some) <= maxExact
		out.exact, out.some = append(out.exact, r.exact...), append(out.some, r.some...)
	}
	if !exact {
		out.exact = nil
	}
	if !some {
		out.some = nil
	}
	return out
}

// analyseConcat joins neighbouring exact sets and keeps the best set every match must hold.
func analyseConcat(subs []*syntax.Regexp) required {
	run := []lit{{}} // exact texts of the run that ends here
	whole := true
	var best []lit
	for _, sub := range subs {
		r := analyse(sub)
		next, ok := cross(run, r.exact)
		if ok {
			run = next
			continue
		}
		whole = false
		best = better(best, run)
		best = better(best, r.some)
		run = []lit{{}}
		if len(r.exact) > 0 {
			run = r.exact
		}
	}
	best = better(best, run)
	if whole {
		return required{exact: run, some: best}
	}
	return required{some: best}
}

func cross(a, b []lit) ([]lit, bool) {
	if len(b) == 0 || len(a)*len(b) > maxExact {
		return nil, false
	}
	var out []lit
	for _, x := range a {
		for _, y := range b {
			if len(x.text)+len(y.text) > maxLit || (x.fold != y.fold && hasLetter(x.text) && hasLetter(y.text)) {
				return nil, false
			}
			fold := (x.fold && hasLetter(x.text)) || (y.fold && hasLetter(y.text))
			out = append(out, lit{x.text + y.text, fold})
		}
	}
	return out, true
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// better returns the set that finds fewer wrong places.
func better(a, b []lit) []lit {
	if score(b) > score(a) {
		return b
	}
	return a
}

func score(set []lit) int {
	if len(set) == 0 {
		return 0
	}
	worst := 1 << 30
	for _, l := range set {
		text := l.text
		if l.fold {
			text = foldSafe(text)
		}
		s := 0
		for i := range len(text) {
			s += 500 - frequency(text[i])
		}
		worst = min(worst, s)
	}
	return worst * 4 / (3 + len(set))
}
