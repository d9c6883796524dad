// Package pathpattern matches paths against gitignore-style patterns.
//
// It has two faces. [Compile] and [Pattern] match single patterns, with the [Anchor] a pattern may
// name at its front; [List] and [Ignores] hold the patterns of whole ignore files, chained one
// directory a link, so that a walk asks once a path. It touches no file system: reading files,
// walking and resolving links are the caller's. Begin with [Compile] or [ParseList].
//
// The syntax is that of gitignore(5): "*" and "?" stay within a segment, "**" as a whole segment
// crosses segments, "[…]" is a class, "\" takes the next character literally, a trailing "/"
// matches directories alone, a pattern without an inner "/" matches at any depth, and a leading
// "!" turns a match round. Unlike git, "?" and classes match one character, not one byte.
package pathpattern

import (
	"errors"
	"strings"
)

// Options change how a pattern is read. The zero value reads it as git does.
type Options struct {
	Fold bool // ignore case, as case-insensitive file systems do
}

// Pattern is one compiled pattern. It is a value, immutable, and safe for concurrent use. The
// zero Pattern matches nothing.
type Pattern struct {
	text     string
	segs     []segment
	class    class
	lit      string // literal, suffix or prefix, by class
	negated  bool
	dirOnly  bool
	anyDepth bool // no inner slash: the last segment of a path is compared
	fold     bool
}

// class is how a pattern is compared; most patterns need no glob engine at all.
type class uint8

const (
	never class = iota
	literalBase
	suffixBase
	prefixBase
	literalPath
	glob
)

// ErrEmpty is returned for a pattern that can match nothing because nothing is in it.
var ErrEmpty = errors.New("the pattern is empty")

// ErrUnclosed is returned with a usable pattern that can never match: an open bracket or a lone
// backslash at the end. Git takes such patterns without a word; who compiles rules should tell.
var ErrUnclosed = errors.New(`the pattern has an open "[" or ends in a lone "\"`)

// Compile compiles one pattern. With [ErrUnclosed] and [ErrEmpty] it still returns a Pattern,
// which matches nothing.
func Compile(text string, opt Options) (Pattern, error) {
	p := Pattern{text: text, fold: opt.Fold}
	body := text
	if strings.HasPrefix(body, "!") {
		p.negated, body = true, body[1:]
	}
	if strings.HasSuffix(body, "/") && !strings.HasSuffix(body, `\/`) {
		p.dirOnly, body = true, body[:len(body)-1]
	}
	p.anyDepth = !strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return p, ErrEmpty
	}
	if opt.Fold {
		body = strings.ToLower(body)
	}
	segs, ok := parseSegments(body, opt.Fold)
	if !ok {
		return p, ErrUnclosed
	}
	p.segs = segs
	p.classify()
	return p, nil
}

// classify picks the cheapest comparison that is still exact.
func (p *Pattern) classify() {
	p.class = glob
	if p.anyDepth {
		toks := p.segs[0].toks
		switch {
		case p.segs[0].double:
		case len(toks) == 1 && toks[0].kind == tokLiteral:
			p.class, p.lit = literalBase, toks[0].lit
		case len(toks) == 2 && toks[0].kind == tokStar && toks[1].kind == tokLiteral:
			p.class, p.lit = suffixBase, toks[1].lit
		case len(toks) == 2 && toks[0].kind == tokLiteral && toks[1].kind == tokStar:
			p.class, p.lit = prefixBase, toks[0].lit
		}
		return
	}
	parts := make([]string, len(p.segs))
	for i, s := range p.segs {
		if s.double || len(s.toks) != 1 || s.toks[0].kind != tokLiteral {
			return
		}
		parts[i] = s.toks[0].lit
	}
	p.class, p.lit = literalPath, strings.Join(parts, "/")
}

// String is the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Negated tells whether the pattern began with "!". Match does not turn its answer round.
func (p Pattern) Negated() bool { return p.negated }

// DirOnly tells whether the pattern ended in "/".
func (p Pattern) DirOnly() bool { return p.dirOnly }

// Match tells whether the pattern matches the path itself. The path is relative to the pattern's
// directory, clean, with forward slashes and without a leading one; isDir says whether it is a
// directory.
func (p Pattern) Match(path string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.fold {
		path = strings.ToLower(path)
	}
	return p.matchFolded(path)
}

// Covers tells whether the pattern matches the path, as a file or a directory, or one of the
// directories it lies in. It is what a rule about a path means: a match of a directory reaches
// everything below it. The path is as for Match.
func (p Pattern) Covers(path string) bool {
	if p.fold {
		path = strings.ToLower(path)
	}
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		if p.matchFolded(path[:end]) {
			return true
		}
	}
	return false
}

func (p Pattern) matchFolded(path string) bool {
	switch p.class {
	case literalBase:
		return base(path) == p.lit
	case suffixBase:
		return strings.HasSuffix(base(path), p.lit)
	case prefixBase:
		return strings.HasPrefix(base(path), p.lit)
	case literalPath:
		return path == p.lit
	case glob:
		if p.anyDepth {
			return p.segs[0].double || p.segs[0].match(base(path))
		}
		return matchPath(p.segs, path)
	}
	return false
}

// Literal returns the literal path the pattern stands for, and whether it is one: no wildcard, and
// not at any depth.
func (p Pattern) Literal() (string, bool) { return p.lit, p.class == literalPath }

// HasMeta tells whether text holds a character with a meaning in patterns.
func HasMeta(text string) bool { return strings.ContainsAny(text, `*?[\`) }

// Escape returns a pattern text that matches exactly the given path: characters with a meaning are
// escaped, and so are a leading "!" or "#" and trailing blanks.
func Escape(path string) string {
	trimmed := strings.TrimRight(path, " ")
	blanks := len(path) - len(trimmed)
	if blanks == 0 && !strings.ContainsAny(path, `*?[]\!#`) {
		return path
	}
	var b strings.Builder
	for i := range len(trimmed) {
		switch c := trimmed[i]; c {
		case '*', '?', '[', ']', '\\':
			b.WriteByte('\\')
		case '!', '#':
			if i == 0 {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(trimmed[i])
	}
	b.WriteString(strings.Repeat(`\ `, blanks))
	return b.String()
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
