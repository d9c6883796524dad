package pathpattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is what stands between two slashes of a pattern.
type segment struct {
	double bool // "**": any number of segments
	toks   []token
}

type tokenKind uint8

const (
	tokLiteral tokenKind = iota
	tokAny               // ?
	tokStar              // *
	tokClass             // […]
)

type token struct {
	kind tokenKind
	lit  string
	set  *charClass
}

type charClass struct {
	negated bool
	ranges  []runeRange
	preds   []func(rune) bool
}

type runeRange struct{ lo, hi rune }

func (c *charClass) has(r rune) bool {
	for _, rg := range c.ranges {
		if rg.lo <= r && r <= rg.hi {
			return !c.negated
		}
	}
	for _, p := range c.preds {
		if p(r) {
			return !c.negated
		}
	}
	return c.negated
}

// parseSegments reports false for a pattern that can never match.
func parseSegments(body string, fold bool) ([]segment, bool) {
	var segs []segment
	var cur segment
	var lit strings.Builder
	stars := 0 // of a segment that has nothing else so far
	flush := func() {
		if lit.Len() > 0 {
			cur.toks = append(cur.toks, token{kind: tokLiteral, lit: lit.String()})
			lit.Reset()
		}
	}
	end := func() {
		flush()
		cur.double = stars >= 2
		segs = append(segs, cur)
		cur, stars = segment{}, 0
	}
	for i := 0; i < len(body); {
		c := body[i]
		if c == '*' && lit.Len() == 0 && (len(cur.toks) == 0 || stars > 0) {
			stars++
		} else if c != '/' {
			stars = 0
		}
		switch c {
		case '/':
			end()
		case '*':
			flush()
			if n := len(cur.toks); n == 0 || cur.toks[n-1].kind != tokStar {
				cur.toks = append(cur.toks, token{kind: tokStar})
			}
		case '?':
			flush()
			cur.toks = append(cur.toks, token{kind: tokAny})
		case '[':
			set, n := parseClass(body[i:], fold)
			if n == 0 {
				return nil, false
			}
			flush()
			cur.toks = append(cur.toks, token{kind: tokClass, set: set})
			i += n
			continue
		case '\\':
			if i+1 == len(body) {
				return nil, false
			}
			i++
			if body[i] == '/' {
				end()
			} else {
				lit.WriteByte(body[i])
			}
		default:
			lit.WriteByte(c)
		}
		i++
	}
	end()
	return segs, true
}

// parseClass reads a bracket expression and returns its length, 0 when it is not closed.
func parseClass(s string, fold bool) (*charClass, int) {
	set := &charClass{}
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		set.negated = true
		i++
	}
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			return set, i + 1
		}
		if pred, n := namedClass(s[i:], fold); n > 0 {
			if pred == nil {
				return nil, 0
			}
			set.preds = append(set.preds, pred)
			i += n
			continue
		}
		lo, n := classRune(s[i:])
		if n == 0 {
			return nil, 0
		}
		i += n
		hi := lo
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			if hi, n = classRune(s[i+1:]); n == 0 {
				return nil, 0
			}
			i += 1 + n
		}
		set.ranges = append(set.ranges, runeRange{lo, hi})
	}
	return nil, 0
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' {
		if len(s) < 2 {
			return 0, 0
		}
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

// namedClass reads "[:alpha:]" and its like; a nil function with a length is an unknown name.
func namedClass(s string, fold bool) (func(rune) bool, int) {
	if !strings.HasPrefix(s, "[:") {
		return nil, 0
	}
	end := strings.Index(s, ":]")
	if end < 0 {
		return nil, 0
	}
	n := end + 2
	switch s[2:end] {
	case "alnum":
		return func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }, n
	case "alpha":
		return unicode.IsLetter, n
	case "blank":
		return func(r rune) bool { return r == ' ' || r == '\t' }, n
	case "cntrl":
		return unicode.IsControl, n
	case "digit":
		return func(r rune) bool { return '0' <= r && r <= '9' }, n
	case "graph":
		return func(r rune) bool { return unicode.IsPrint(r) && r != ' ' }, n
	case "lower", "upper":
		if fold {
			return unicode.IsLetter, n
		}
		if s[2:end] == "lower" {
			return unicode.IsLower, n
		}
		return unicode.IsUpper, n
	case "print":
		return unicode.IsPrint, n
	case "punct":
		return func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }, n
	case "space":
		return unicode.IsSpace, n
	case "xdigit":
		return func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) }, n
	}
	return nil, n
}

// match compares one path segment. It goes back to the last star alone, so its cost is at most the
// product of both lengths, whatever the pattern.
func (s segment) match(name string) bool {
	ti, at := 0, 0
	starTok, starAt := -1, 0
	for {
		if ti < len(s.toks) && s.toks[ti].kind == tokStar {
			if ti == len(s.toks)-1 {
				return true
			}
			starTok, starAt = ti, at
			ti++
			continue
		}
		if ti < len(s.toks) {
			if n := s.toks[ti].step(name[at:]); n > 0 {
				ti, at = ti+1, at+n
				continue
			}
		} else if at == len(name) {
			return true
		}
		if starTok < 0 || starAt >= len(name) {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[starAt:])
		starAt += n
		ti, at = starTok+1, starAt
	}
}

// step returns how many bytes of s the token takes, 0 for no match.
func (t token) step(s string) int {
	if t.kind == tokLiteral {
		if strings.HasPrefix(s, t.lit) {
			return len(t.lit)
		}
		return 0
	}
	if s == "" {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s)
	if t.kind == tokAny || t.set.has(r) {
		return n
	}
	return 0
}

// matchPath compares whole paths segment by segment; like match it goes back to the last "**"
// alone.
func matchPath(segs []segment, path string) bool {
	si := 0
	starSeg, starRest := -1, ""
	rest, done := path, false // done: every segment of path is used up
	for {
		if si < len(segs) && segs[si].double {
			if si == len(segs)-1 {
				return !done // a trailing "**" is what lies below, at least one segment
			}
			starSeg, starRest = si, rest
			si++
			if done {
				return false
			}
			continue
		}
		if si < len(segs) && !done {
			name, after, more := strings.Cut(rest, "/")
			if segs[si].match(name) {
				si, rest, done = si+1, after, !more
				continue
			}
		} else if si == len(segs) && done {
			return true
		}
		if starSeg < 0 {
			return false
		}
		_, after, more := strings.Cut(starRest, "/")
		if !more {
			return false
		}
		starRest, rest, done = after, after, false
		si = starSeg + 1
	}
}
