package expand

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraceWords bounds what one brace expression may become before it counts as unknown.
const maxBraceWords = 256

// maxBraces bounds the braces of one word; with more of them it counts as unknown, since the cost of
// reading them grows faster than their number.
const maxBraces = 64

// HasBrace tells whether an unquoted "{" stands in the word.
func HasBrace(w *syntax.Word) bool { return braces(w) > 0 }

func braces(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// readAll evaluates one word of a command, which braces may make several.
func (r *Reader) ReadAll(out []Word, w *syntax.Word, subs *[]Substitution) []Word {
	if !HasBrace(w) {
		return append(out, r.Read(w, subs))
	}
	whole, src := r.Read(w, subs), r.Source(w)
	var alternatives [][]syntax.WordPart
	known := braces(w) <= maxBraces
	if known {
		w = &syntax.Word{Parts: slices.Clone(w.Parts)} // the tree itself stays one that can be walked
		if !syntax.SplitBraces(w) {
			return append(out, whole)
		}
		alternatives, known = braceWords(w.Parts)
	}
	if !known || !staticParts(w.Parts) {
		whole.Flags = whole.Flags&^Static | Unknown | Splits
		whole.Text = src
		whole.Canon, whole.Prefix = src, 0
		return append(out, whole)
	}
	for _, parts := range alternatives {
		word := r.Read(&syntax.Word{Parts: parts}, nil)
		if !word.Static() { // a pattern or "~" made of pieces: it has no source text of its own
			word.Text, word.Canon = word.Value, word.Value
		}
		out = append(out, word)
	}
	return out
}

func staticParts(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !staticParts(p.Parts) {
				return false
			}
		case *syntax.BraceExp:
			for _, e := range p.Elems {
				if !staticParts(e.Parts) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// braceWords multiplies out the braces; it reports false when that would be too many.
func braceWords(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, p := range parts {
		b, isBrace := p.(*syntax.BraceExp)
		if !isBrace {
			for i := range out {
				out[i] = append(out[i][:len(out[i]):len(out[i])], p)
			}
			continue
		}
		alts, ok := braceAlternatives(b)
		if !ok || len(alts)*len(out) > maxBraceWords {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(alts))
		for _, head := range out {
			for _, a := range alts {
				next = append(next, append(head[:len(head):len(head)], a...))
			}
		}
		out = next
	}
	return out, true
}

func braceAlternatives(b *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	if b.Sequence {
		return braceSequence(b)
	}
	var out [][]syntax.WordPart
	for _, e := range b.Elems {
		inner, ok := braceWords(e.Parts)
		if !ok || len(out)+len(inner) > maxBraceWords {
			return nil, false
		}
		out = append(out, inner...)
	}
	return out, true
}

func braceSequence(b *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	var ends [2]int
	width, letters := 0, false
	for i := range 2 {
		s := b.Elems[i].Lit()
		n, err := strconv.Atoi(s)
		if err != nil {
			if len(s) != 1 {
				return nil, false
			}
			n, letters = int(s[0]), true
		} else if digits := strings.TrimPrefix(s, "-"); len(digits) > 1 && digits[0] == '0' {
			width = max(width, len(s))
		}
		ends[i] = n
	}
	step := 1
	if len(b.Elems) > 2 {
		n, err := strconv.Atoi(b.Elems[2].Lit())
		if err != nil {
			return nil, false
		}
		step = max(n, -n, 1)
	}
	if ends[0] > ends[1] {
		step = -step
	}
	var out [][]syntax.WordPart
	for n := ends[0]; (step > 0 && n <= ends[1]) || (step < 0 && n >= ends[1]); n += step {
		if len(out) == maxBraceWords {
			return nil, false
		}
		s := strconv.Itoa(n)
		if letters {
			s = string(rune(n))
		}
		for len(s) < width {
			s = "0" + s
		}
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: s}})
	}
	return out, true
}
