package pathpattern

import (
	"strings"
	"unicode/utf8"
)

// MayMeet tells whether some path is covered by the pattern (as [Pattern.Covers] means it) and
// also matched by other. With other an unexpanded pattern of a shell it says whether the
// expansion could reach what p stands for. It errs towards true: classes count as overlapping, and a
// leading dot is no obstacle to "*".
func (p Pattern) MayMeet(other Pattern) bool {
	if p.class == never || other.class == never {
		return false
	}
	a, b := p.depthSegs(), other.depthSegs()
	m := meeting{a: a, b: b, failed: make(map[int]bool)}
	return m.from(0, 0)
}

// depthSegs is the pattern as anchored segments: one that matches at any depth begins with "**".
func (p Pattern) depthSegs() []segment {
	if !p.anyDepth {
		return p.segs
	}
	if p.segs[0].double {
		return []segment{{double: true}}
	}
	return []segment{{double: true}, p.segs[0]}
}

type meeting struct {
	a, b   []segment
	failed map[int]bool
}

func (m *meeting) from(i, j int) bool {
	if i == len(m.a) {
		return true // whatever of b is left lies below what a matched
	}
	if j == len(m.b) {
		return false
	}
	key := i*(len(m.b)+1) + j
	if m.failed[key] {
		return false
	}
	var ok bool
	switch {
	case m.a[i].double:
		ok = m.from(i+1, j) || m.from(i, j+1)
	case m.b[j].double:
		ok = m.from(i, j+1) || m.from(i+1, j)
	default:
		ok = segmentsMeet(m.a[i], m.b[j]) && m.from(i+1, j+1)
	}
	if !ok {
		m.failed[key] = true
	}
	return ok
}

// unit is one character position of a segment pattern.
type unit struct {
	kind tokenKind
	r    rune
	set  *charClass
}

func (s segment) units() []unit {
	var out []unit
	for _, t := range s.toks {
		if t.kind != tokLiteral {
			out = append(out, unit{kind: t.kind, set: t.set})
			continue
		}
		for _, r := range t.lit {
			out = append(out, unit{kind: tokLiteral, r: r})
		}
	}
	return out
}

func segmentsMeet(a, b segment) bool {
	x, y := a.units(), b.units()
	// reach[j]: the first i units of x and the first j of y can stand for the same text.
	reach := make([]bool, len(y)+1)
	reach[0] = true
	for j := 1; j <= len(y) && y[j-1].kind == tokStar; j++ {
		reach[j] = true
	}
	for i := 1; i <= len(x); i++ {
		next := make([]bool, len(y)+1)
		next[0] = reach[0] && x[i-1].kind == tokStar
		for j := 1; j <= len(y); j++ {
			switch {
			case x[i-1].kind == tokStar:
				next[j] = reach[j] || next[j-1] || (y[j-1].kind == tokStar && reach[j-1])
			case y[j-1].kind == tokStar:
				next[j] = next[j-1] || reach[j]
			default:
				next[j] = reach[j-1] && unitsMeet(x[i-1], y[j-1])
			}
		}
		reach = next
	}
	return reach[len(y)]
}

func unitsMeet(a, b unit) bool {
	switch {
	case a.kind == tokAny || b.kind == tokAny:
		return true
	case a.kind == tokLiteral && b.kind == tokLiteral:
		return a.r == b.r
	case a.kind == tokLiteral:
		return b.set.has(a.r)
	case b.kind == tokLiteral:
		return a.set.has(b.r)
	}
	return true
}

// LiteralHead is the longest leading directory of the pattern text that holds no wildcard, with
// escapes removed; "" when its first segment has one.
func LiteralHead(text string) string {
	end := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch r {
		case '\\':
			i++
			if i < len(text) {
				_, n = utf8.DecodeRuneInString(text[i:])
			}
		case '*', '?', '[':
			return unescape(text[:end])
		case '/':
			end = max(i, 1)
		}
		i += n
	}
	return unescape(text)
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
