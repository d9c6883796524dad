// Package expand tells what the words of a command line become: their value after quotes, escapes, braces and what little of
// expansion is known beforehand, or that it is only known when the command runs, and why. Substitutions found in them are handed on.
//
// It knows nothing of commands and their arguments. Begin with [Reader].
package expand

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one word a command gets, or would get.
type Word struct {
	Text   string // the value when Static; else as written
	Canon  string // the canonical spelling: static words in one way, all others as written
	Value  string // what is known of the value: "~" and $HOME filled in, unknown pieces left out; a pattern when Glob
	Prefix int    // bytes of Value that are known before the first unknown piece
	Flags  Flag
}

type Flag uint16

const (
	Static Flag = 1 << iota
	Glob
	Unknown // holds an expansion other than ~ and $HOME
	Splits  // that expansion stands outside of quotes
	Tilde
	Home
	Evals    // runs text that is stored in a variable
	Arith    // evaluates variables as arithmetic, which may run text in subscripts
	Subst    // holds a command or process Substitution
	Pwd      // holds $PWD
	Selected // stands for what another program selects (find -exec {})
	Pipe     // is the name of a pipe to read from: <(…)
)

// Static tells whether the word is the same on every run.
func (w *Word) Static() bool { return w.Flags&Static != 0 }

// Glob tells whether the word is an unquoted pattern for file names.
func (w *Word) Glob() bool { return w.Flags&Glob != 0 }

// Unknown tells whether a piece of the word is only known at run time.
func (w *Word) Unknown() bool { return w.Flags&Unknown != 0 }

// Splits tells whether the word may become any number of words.
func (w *Word) Splits() bool { return w.Flags&Splits != 0 }

// Home tells whether the word names the home directory by "~" or $HOME.
func (w *Word) Home() bool { return w.Flags&(Tilde|Home) != 0 }

// MayBeOption tells whether a word that is not static could turn out to begin with a dash.
func (w *Word) MayBeOption() bool {
	if w.Static() {
		return strings.HasPrefix(w.Text, "-")
	}
	if w.Splits() {
		return true
	}
	if w.Pipe() {
		return false // "/dev/fd/63"
	}
	if w.Prefix > 0 && len(w.Value) > 0 {
		switch w.Value[0] {
		case '*', '?', '[':
			return w.Glob()
		}
		return w.Value[0] == '-'
	}
	return true
}

// Substitution is a command or process Substitution found in a word.
type Substitution struct {
	Stmts  []*syntax.Stmt
	Quoted bool
	Pipe   bool   // its output is read through the name of a pipe
	Text   string // no statements: a text that is expanded once more
}

// Watch is told what arithmetic would evaluate.
type Watch interface {
	Sets(name string, number bool) // an expression sets the variable
	Reads(name string)             // the text of the variable is evaluated
	FromOutside(why string)        // other text is evaluated that is only known at run time
}

// Reader evaluates words of one text.
type Reader struct {
	Text  string
	Home  string // empty: unknown
	Pwd   string // empty: unknown
	Cat   bool   // cat means something else here
	Watch Watch
	buf   []byte
	pat   []byte // the same as a pattern: what is quoted is escaped
}

// IsPlain tells whether s needs no look at all: no quoting, no expansion, no blank.
func IsPlain(s string) bool {
	for i := range len(s) {
		if !isPlainByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// isPlainByte tells the characters that the canonical spelling leaves unquoted.
func isPlainByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	case c == '_', c == '@', c == '%', c == '+', c == '=', c == ':', c == ',', c == '.', c == '/', c == '-':
		return true
	}
	return false
}

// Canonical spells a static value in the one standard way: every character outside of
// A-Za-z0-9_@%+=:,./- has a backslash before it, and the empty value is two single quotes. So a prefix
// of a value is a prefix of its spelling, and a blank inside a word never looks like one between words.
func Canonical(value string) string {
	if IsPlain(value) {
		return value
	}
	if value == "" {
		return "''"
	}
	b := make([]byte, 0, len(value)+8)
	for i := range len(value) {
		c := value[i]
		if !isPlainByte(c) && (c < 0x80 || c >= 0xc0) {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return string(b)
}

// source returns the text of a node. Nodes of an expanded brace have no place of their own.
func (r *Reader) Source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(r.Text) || from > to {
		return ""
	}
	return r.Text[from:to]
}

// read evaluates one word that holds no braces to expand.
func (r *Reader) Read(w *syntax.Word, subs *[]Substitution) Word {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && IsPlain(lit.Value) {
			return Word{Text: lit.Value, Canon: lit.Value, Value: lit.Value, Prefix: len(lit.Value), Flags: Static}
		}
	}
	r.buf, r.pat = r.buf[:0], r.pat[:0]
	e := wordEval{r: r, prefix: -1, subs: subs, parts: w.Parts}
	for i, p := range w.Parts {
		e.at = i
		e.part(p, i == 0, false)
	}
	out := Word{Flags: e.flags}
	if ps, ok := w.Parts[0].(*syntax.ProcSubst); ok && len(w.Parts) == 1 && ps.Op == syntax.CmdIn {
		out.Flags |= Pipe
	}
	out.Value = string(r.buf)
	if e.flags&Glob != 0 {
		out.Value = string(r.pat)
	}
	out.Prefix = len(out.Value)
	if e.prefix >= 0 {
		out.Prefix = min(e.prefix, len(out.Value))
	}
	if e.flags&(Glob|Unknown|Tilde|Home|Pwd) == 0 {
		out.Flags |= Static
		out.Text = out.Value
		out.Canon = Canonical(out.Value)
		return out
	}
	src := r.Source(w)
	if strings.Contains(src, "\\\n") {
		src = strings.ReplaceAll(src, "\\\n", "")
	}
	out.Text, out.Canon = src, src
	return out
}

type wordEval struct {
	r      *Reader
	flags  Flag
	prefix int // length before the first unknown piece, -1: none yet
	subs   *[]Substitution

	parts   []syntax.WordPart // of the word
	at      int               // which of them is being read
	closes  int               // index after the last of them that holds an unquoted "]"
	looked  bool
	bracket bool // inside of a bracket expression of a pattern
}

// closed tells whether an unquoted "]" stands in rest, or in a later part of the word: quoted pieces in
// between belong to the bracket expression.
func (e *wordEval) closed(rest string) bool {
	if strings.IndexByte(rest, ']') >= 0 {
		return true
	}
	if !e.looked {
		e.looked = true
		for i, p := range e.parts {
			if lit, ok := p.(*syntax.Lit); ok && strings.IndexByte(lit.Value, ']') >= 0 {
				e.closes = i + 1
			}
		}
	}
	return e.closes > e.at+1
}

func (e *wordEval) lit(c byte, quoted bool) {
	e.r.buf = append(e.r.buf, c)
	if quoted && (c == '*' || c == '?' || c == '[' || c == '\\' || e.bracket && (c == ']' || c == '-' || c == '!' || c == '^')) {
		e.r.pat = append(e.r.pat, '\\')
	}
	e.r.pat = append(e.r.pat, c)
}

func (e *wordEval) str(s string) {
	for i := range len(s) {
		e.lit(s[i], true)
	}
}

func (e *wordEval) unknown(quoted bool) {
	if e.prefix < 0 {
		e.prefix = len(e.r.buf)
	}
	e.flags |= Unknown
	if !quoted {
		e.flags |= Splits
	}
}

func (e *wordEval) part(p syntax.WordPart, first, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			e.dquoted(p.Value)
		} else {
			e.unquoted(p.Value, first)
		}
	case *syntax.SglQuoted:
		if p.Dollar {
			e.str(ansiC(p.Value))
		} else {
			e.str(p.Value)
		}
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			e.part(q, false, true)
		}
	case *syntax.ParamExp:
		e.param(p, quoted)
	case *syntax.CmdSubst:
		e.add(p.Stmts, quoted)
		if text, ok := e.r.fixedText(p); ok && quoted {
			e.str(text)
			return
		}
		e.flags |= Subst
		e.unknown(quoted)
	case *syntax.ProcSubst:
		e.flags |= Subst
		e.unknown(true) // a single word: the name of a pipe
		e.add(p.Stmts, false)
		if e.subs != nil && len(*e.subs) > 0 && p.Op == syntax.CmdIn && first {
			(*e.subs)[len(*e.subs)-1].Pipe = true
		}
	case *syntax.ArithmExp:
		if n, ok := constant(p.X); ok {
			e.str(strconv.Itoa(n))
			return
		}
		e.unknown(quoted)
		e.nested(p, quoted)
	case *syntax.ExtGlob:
		e.flags |= Glob
		e.unknown(quoted)
		e.r.pat = append(e.r.pat, '*')
	default:
		e.unknown(quoted)
		e.flags |= Evals
		e.nested(p, quoted)
	}
}

func (e *wordEval) add(stmts []*syntax.Stmt, quoted bool) {
	if e.subs != nil {
		*e.subs = append(*e.subs, Substitution{Stmts: stmts, Quoted: quoted})
	}
}

// nested collects the substitutions below a node whose own value is unknown anyway.
func (e *wordEval) nested(n syntax.Node, quoted bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			e.flags |= Subst
			e.add(n.Stmts, quoted)
			return false
		case *syntax.ProcSubst:
			e.flags |= Subst
			e.add(n.Stmts, false)
			return false
		case *syntax.ArithmExp:
			e.arith(n.X)
		case *syntax.ParamExp:
			e.paramFlags(n)
		}
		return true
	})
}

// arith notes an expression that reads variables: their text is evaluated again, and a subscript
// in it may run a program.
func (e *wordEval) arith(x syntax.Node) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			if !IsNumber(n.Value) {
				e.flags |= Arith
				e.arithText(n.Value)
			}
		case *syntax.SglQuoted:
			e.flags |= Arith
			text := n.Value
			if n.Dollar {
				text = ansiC(text)
			}
			e.arithText(text)
		case *syntax.ParamExp:
			e.arithParam(n)
			return false
		case *syntax.BinaryArithm:
			if n.Op == syntax.Assgn {
				if x, ok := n.X.(*syntax.Word); ok {
					e.r.Watch.Sets(x.Lit(), true)
				}
			}
		case *syntax.CmdSubst:
			e.flags |= Arith
			e.r.Watch.FromOutside("arithmetic evaluates the output of a command")
			return false
		}
		return true
	})
}

// arithText notes a literal of an expression: the name of a variable, or text that runs something
// when it is expanded once more.
func (e *wordEval) arithText(text string) {
	switch {
	case strings.ContainsAny(text, "$`"):
		e.flags |= Evals
		if e.subs != nil {
			*e.subs = append(*e.subs, Substitution{Text: strings.ReplaceAll(text, `\`, "")})
		}
	case IsName(text):
		e.r.Watch.Reads(text)
	case !IsNumber(text):
		e.r.Watch.FromOutside("arithmetic evaluates " + text)
	}
}

// arithParam notes a parameter in an expression. Some are always numbers.
func (e *wordEval) arithParam(p *syntax.ParamExp) {
	switch {
	case p.Param != nil && (p.Length || p.Param.Value == "#" || p.Param.Value == "?" || p.Param.Value == "$" || p.Param.Value == "!"):
		return
	case p.Param != nil && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && !p.Excl && IsName(p.Param.Value):
		e.r.Watch.Reads(p.Param.Value)
	default:
		e.r.Watch.FromOutside("arithmetic evaluates " + e.r.Source(p))
	}
	e.flags |= Arith
}

func IsNumber(s string) bool {
	_, err := strconv.ParseInt(s, 0, 64)
	return err == nil
}

func (e *wordEval) param(p *syntax.ParamExp, quoted bool) {
	if plain := p.Param != nil && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0; plain {
		switch {
		case p.Param.Value == "HOME" && e.r.Home != "":
			e.flags |= Home
			e.str(e.r.Home)
			return
		case p.Param.Value == "PWD" && e.r.Pwd != "":
			e.flags |= Pwd
			e.str(e.r.Pwd)
			return
		}
		e.unknown(quoted)
		return
	}
	e.unknown(quoted)
	e.nested(p, quoted)
}

// paramFlags notes the forms of ${…} that evaluate stored text.
func (e *wordEval) paramFlags(p *syntax.ParamExp) {
	if p.Excl && p.Names == 0 {
		e.flags |= Evals
	}
	if p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil {
		if lit := p.Exp.Word.Lit(); lit == "P" || lit == "" {
			e.flags |= Evals
		}
	}
	if p.Index != nil {
		if w, ok := p.Index.(*syntax.Word); !ok || (w.Lit() != "@" && w.Lit() != "*") {
			e.arith(p.Index)
		}
	}
	if p.Slice != nil {
		e.arith(p.Slice.Offset)
		e.arith(p.Slice.Length)
	}
}

// unquoted reads literal text outside of quotes.
func (e *wordEval) unquoted(s string, first bool) {
	i := 0
	if first && strings.HasPrefix(s, "~") {
		name, _, _ := strings.Cut(s[1:], "/")
		e.flags |= Tilde
		if name == "" && e.r.Home != "" {
			e.str(e.r.Home)
		} else {
			e.unknown(true)
		}
		i = 1 + len(name)
	}
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) {
				i++
				if s[i] != '\n' {
					e.lit(s[i], true)
				}
			} else {
				e.lit('\\', true)
			}
		case '*', '?':
			e.flags |= Glob
			e.lit(c, false)
		case '[':
			if e.closed(s[i+1:]) {
				e.flags |= Glob
				e.lit(c, false)
				e.bracket = true
			} else {
				e.lit(c, true)
			}
		case ']':
			e.lit(c, false)
			e.bracket = false
		default:
			e.lit(c, false)
		}
	}
}

// dquoted reads literal text inside double quotes.
func (e *wordEval) dquoted(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
			case '\n':
				i++
				continue
			}
		}
		e.lit(s[i], true)
	}
}

// Evaluates tells whether expanding the word evaluates stored text again: as arithmetic, by an
// indirection, or as a prompt. Such text may run programs.
func (w *Word) Evaluates() bool { return w.Flags&(Evals|Arith) != 0 }
