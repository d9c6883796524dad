package expand

import (
	"mvdan.cc/sh/v3/syntax"
)

// Fixed is a word with this value.
func Fixed(s string) Word {
	return Word{Text: s, Canon: Canonical(s), Value: s, Prefix: len(s), Flags: Static}
}

// Document reads the body of a here-document, which is like double quotes unless its delimiter was quoted.
func (r *Reader) Document(doc *syntax.Redirect, subs *[]Substitution) Word {
	quoted := quotedDelimiter(doc.Word)
	r.buf, r.pat = r.buf[:0], r.pat[:0]
	e := wordEval{r: r, prefix: -1, subs: subs}
	for _, p := range doc.Hdoc.Parts {
		if lit, ok := p.(*syntax.Lit); ok && quoted {
			e.str(lit.Value)
			continue
		}
		e.part(p, false, true)
	}
	out := Word{Text: string(r.buf), Value: string(r.buf), Prefix: len(r.buf), Flags: e.flags &^ (Home | Pwd)}
	if e.flags&Unknown == 0 {
		out.Flags |= Static
	} else {
		out.Prefix = e.prefix
	}
	return out
}

// Nested collects the substitutions below a node whose own value does not matter, and tells what it evaluates. With arithmetic it
// is an expression.
func (r *Reader) Nested(n syntax.Node, arithmetic, quoted bool, subs *[]Substitution) Flag {
	e := wordEval{r: r, subs: subs}
	e.nested(n, quoted)
	if arithmetic {
		e.arith(n)
	}
	return e.flags
}

// IsName tells whether s can be the name of a variable.
func IsName(s string) bool {
	if s == "" || (s[0] >= '0' && s[0] <= '9') {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}
