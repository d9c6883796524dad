package search

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Options change what a pattern means.
type Options struct {
	IgnoreCase bool
	Multiline  bool // matches may span lines, and "." matches line ends too
}

// Pattern is a compiled regular expression of ripgrep's dialect. It is safe for concurrent use.
type Pattern struct {
	opt     Options
	needles []needle // every match holds one of them; nil: nothing known
	whole   bool     // a needle is a whole match
	keepCR  bool     // the pattern speaks of CR, so a CR before LF is part of the line
	wide    bool     // a needle has characters beyond ASCII
	ascii   *regexp.Regexp
	unicode *regexp.Regexp // for lines that are not ASCII; the same where that makes no difference
	program *program       // rules out most lines that do not match; nil where a needle is the whole pattern
}

// Compile compiles a pattern. What is wrong with it comes back as a *[PatternError].
func Compile(pattern string, opt Options) (*Pattern, error) {
	if strings.ContainsRune(pattern, 0) {
		return nil, &PatternError{strings.ReplaceAll(pattern, "\x00", `\0`), "it holds a NUL byte; remove it"}
	}
	ascii, err := translate(pattern, true)
	if err != nil {
		return nil, err
	}
	full, err := translate(pattern, false)
	if err != nil {
		return nil, err
	}
	flags := opt.flags()
	re, err := syntax.Parse(flags+full, syntax.Perl)
	if err != nil {
		return nil, &PatternError{pattern, plainSyntax(err)}
	}
	if !opt.Multiline && needsLineEnd(re) {
		return nil, &PatternError{pattern, `\n can only match with multiline: true`}
	}
	p := &Pattern{opt: opt, keepCR: strings.Contains(pattern, `\r`) || strings.ContainsRune(pattern, '\r')}
	p.needles, p.whole = needlesOf(re.Simplify())
	for _, n := range p.needles {
		p.wide = p.wide || !isASCII(n.text)
	}
	if p.ascii, err = regexp.Compile(flags + ascii); err != nil {
		return nil, &PatternError{pattern, plainSyntax(err)}
	}
	if p.unicode = p.ascii; ascii != full {
		if p.unicode, err = regexp.Compile(flags + full); err != nil {
			return nil, &PatternError{pattern, plainSyntax(err)}
		}
	}
	if !p.whole { // also made, for its bound alone, where it is not used
		if p.program, err = newProgram(re); err != nil {
			return nil, &PatternError{pattern, plainSyntax(err)}
		}
	}
	return p, nil
}

func (o Options) flags() string {
	f := ""
	if o.IgnoreCase {
		f += "i"
	}
	if o.Multiline {
		f += "ms"
	}
	if f == "" {
		return ""
	}
	return "(?" + f + ")"
}

// needsLineEnd tells whether every match of re holds a line end written out.
func needsLineEnd(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return strings.ContainsRune(string(re.Rune), '\n')
	case syntax.OpCharClass:
		return len(re.Rune) == 2 && re.Rune[0] == '\n' && re.Rune[1] == '\n'
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if needsLineEnd(sub) {
				return true
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !needsLineEnd(sub) {
				return false
			}
		}
		return true
	case syntax.OpRepeat:
		return re.Min > 0 && needsLineEnd(re.Sub[0])
	}
	return false
}

func (p *Pattern) engine(text []byte) *regexp.Regexp {
	if isASCII(text) {
		return p.ascii
	}
	return p.unicode
}

// MatchLine tells whether a line without its end matches.
func (p *Pattern) MatchLine(line []byte) bool { return p.engine(line).Match(line) }

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (uint64(b[0])|uint64(b[1])|uint64(b[2])|uint64(b[3])|uint64(b[4])|uint64(b[5])|uint64(b[6])|uint64(b[7]))&0x80 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// finder looks for the lines of one buffer that match, front to back.
type finder struct {
	ctx  context.Context // its end stops the search between two lines
	p    *Pattern
	buf  []byte
	next []int // of each needle the next place; -1: none any more, -2: not looked for
	dfa  *dfa  // for the pattern's program, kept from buffer to buffer
}

// reset begins with a new buffer.
func (f *finder) reset(p *Pattern, buf []byte) {
	if p.program != nil && (f.dfa == nil || f.dfa.p != p.program) {
		f.dfa = newDFA(p.program)
	}
	f.p, f.buf = p, buf
	if len(f.next) != len(p.needles) {
		f.next = make([]int, len(p.needles))
	}
	for i := range f.next {
		f.next[i] = -2
	}
}

// candidate is the first place at or after from that may match.
func (f *finder) candidate(from int) int {
	best := -1
	for i := range f.p.needles {
		if f.next[i] == -2 || (f.next[i] >= 0 && f.next[i] < from) {
			f.next[i] = f.p.needles[i].index(f.buf, from)
		}
		if at := f.next[i]; at >= 0 && (best < 0 || at < best) {
			best = at
		}
	}
	return best
}

// line returns the first matching line that begins at or after from, itself the start of a line:
// [start, end) without its end.
func (f *finder) line(from int) (start, end int, ok bool) {
	if f.p.needles == nil {
		return f.scanned(from)
	}
	for from < len(f.buf) && f.ctx.Err() == nil {
		at := f.candidate(from)
		if at < 0 {
			return 0, 0, false
		}
		start = from + bytes.LastIndexByte(f.buf[from:at], '\n') + 1
		end, next := f.p.lineEnd(f.buf, start)
		if f.p.whole || (f.dfa.index(f.buf[start:end], 0) >= 0 && f.p.MatchLine(f.buf[start:end])) {
			return start, end, true
		}
		from = next
	}
	return 0, 0, false
}

// lineEnd is where the text of the line with the byte at ends, and where the next line begins.
func (p *Pattern) lineEnd(buf []byte, at int) (end, next int) {
	i := bytes.IndexByte(buf[at:], '\n')
	if i < 0 {
		end, next = len(buf), len(buf)
	} else {
		end, next = at+i, at+i+1
	}
	if !p.keepCR && end > at && buf[end-1] == '\r' {
		end--
	}
	return end, next
}
