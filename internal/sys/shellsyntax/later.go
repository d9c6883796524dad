package shellsyntax

import (
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/source"
)

// later collects, over the whole account, what the shell evaluates after the words are known: as
// arithmetic, as a subscript, as the target of a name reference. All walkers of an account share one.
type later struct {
	names   []string        // variables that arithmetic reads
	outside []string        // why other text from elsewhere is evaluated
	runs    []string        // why text from elsewhere is run by another program
	numbers map[string]bool // variables the text itself sets: true only to numbers, false to something else as well
	texts   []laterText
	input   laterInput
}

// laterText is a fixed text that runs a program if a variable that holds it is evaluated.
type laterText struct {
	part int // index, -1: of no part
	text string
	st   *dirs
}

// maxOutside bounds how many reasons are kept; one is enough to ask.
const maxOutside = 8

// Reads notes a variable whose text arithmetic evaluates.
func (l *later) Reads(name string) { l.names = append(l.names, name) }

// FromOutside notes that other text is evaluated.
func (l *later) FromOutside(why string) {
	if len(l.outside) < maxOutside {
		l.outside = append(l.outside, why)
	}
}

func (l *later) runsOutside(why string) {
	if len(l.runs) < maxOutside {
		l.runs = append(l.runs, why)
	}
}

// Sets notes what the text sets a variable to.
func (l *later) Sets(name string, number bool) {
	if name == "" {
		return
	}
	if l.numbers == nil {
		l.numbers = map[string]bool{}
	}
	old, seen := l.numbers[name]
	l.numbers[name] = number && (old || !seen)
}

// holds notes a fixed text of a part, should some variable come to hold it.
func (l *later) holds(part int, text string, st *dirs) {
	if strings.Contains(text, "[") && strings.ContainsAny(text, "$`") {
		l.texts = append(l.texts, laterText{part: part, text: text, st: st})
	}
}

// settleLater draws the conclusions when the whole text has been walked.
func (w *walker) settleLater() {
	w.settleInput()
	w.unsettle()
	l := w.late
	for _, name := range l.names {
		if !l.numbers[name] {
			l.FromOutside("arithmetic evaluates the text in the variable " + name)
		}
	}
	w.acc.Outside = append(l.outside[:len(l.outside):len(l.outside)], l.runs...)
	if len(l.names)+len(l.outside) == 0 {
		return
	}
	for _, t := range l.texts {
		h := held{parent: t.part, context: Value}
		if t.part >= 0 {
			p := &w.acc.Parts[t.part]
			p.Unknown = append(p.Unknown, "a variable may come to hold "+t.text+", which arithmetic would run")
		}
		w.expand(t.text, t.st, h)
	}
}

// substitute walks one substitution found in a word.
func (w *walker) substitute(s expand.Substitution, st *dirs, h held) {
	if s.Text != "" {
		w.expand(s.Text, st, h)
		return
	}
	w.stmts(s.Stmts, st, h)
}

// expand walks the substitutions in a text that the shell expands once more, like the inside of double
// quotes.
func (w *walker) expand(text string, st *dirs, h held) {
	*w.budget -= len(text)
	if w.depth >= maxDepth || *w.budget < 0 {
		w.acc.Problems = append(w.acc.Problems, Problem{Kind: InnerParse, Text: "programs within programs are nested too deeply to be read"})
		return
	}
	word, err := source.Document(text)
	if err != nil {
		w.acc.Problems = append(w.acc.Problems, Problem{Kind: InnerParse, Text: "a text that the shell evaluates cannot be read: " + err.Error()})
		return
	}
	var subs []expand.Substitution
	inner := &walker{acc: w.acc, opt: w.opt, start: st, depth: w.depth + 1, budget: w.budget, functions: w.functions, late: w.late}
	reader := expand.Reader{Text: text, Watch: w.late}
	reader.Nested(word, false, true, &subs)
	file := &syntax.File{}
	for _, s := range subs {
		file.Stmts = append(file.Stmts, s.Stmts...)
	}
	inner.enter(text, file)
	for _, s := range subs {
		inner.substitute(s, st, h)
	}
	w.functions = inner.functions
}

// evaluator notes what builtins evaluate among their words.
type evaluator struct{ *walker }

// evaluates notes that the shell evaluates a word of part p once more: as arithmetic, or else as the
// name of a variable, of which only a subscript is evaluated.
func (w evaluator) evaluates(p *Part, word *Word, arithmetic bool, by string) {
	v := word.Value
	switch open := strings.IndexByte(v, '['); {
	case strings.ContainsAny(v, "$`"):
		p.Unknown = append(p.Unknown, by+" evaluates the text "+word.Text)
		w.pending = append(w.pending, pendingInner{text: v, isText: true, static: true, expand: true, context: Inner})
	case word.Unknown():
		w.late.FromOutside(by + " evaluates " + word.Text)
	case arithmetic && !expand.IsNumber(v):
		if expand.IsName(v) {
			w.late.names = append(w.late.names, v)
		} else {
			w.late.FromOutside(by + " evaluates the arithmetic " + word.Text)
		}
	case open >= 0 && !plainSubscript(v[open+1:]):
		w.late.FromOutside(by + " evaluates the subscript in " + word.Text)
	}
	if !arithmetic {
		name, _, _ := strings.Cut(v, "[")
		w.late.Sets(name, false)
	}
}

// declaredKind is what a declaration says a variable is, as far as its value is evaluated.
type declaredKind struct {
	number bool // or a reference to another variable: the value is arithmetic, or a name
	array  bool // a value in parentheses is expanded like words of the line
}

func (w evaluator) assignedValue(p *Part, text *Word, kind declaredKind, by string) {
	switch {
	case kind.number:
		w.evaluates(p, text, true, by)
	case strings.HasPrefix(text.Value, "("):
		w.evaluates(p, text, false, by)
	case kind.array && text.Unknown():
		w.late.FromOutside(by + " expands " + text.Text)
	}
}

func plainSubscript(s string) bool {
	s, _, _ = strings.Cut(s, "]")
	return s == "@" || s == "*" || expand.IsNumber(s)
}

// assigned notes what an assignment that is a word of a declaration evaluates: the subscript, and
// the value when the variable is a number or a reference.
func (w evaluator) assigned(p *Part, word *Word, kind declaredKind, by string) {
	name, text, _ := strings.Cut(word.Value, "=")
	w.assignedValue(p, &Word{Text: word.Text, Value: text, Flags: word.Flags}, kind, by)
	if word.Unknown() && word.Prefix <= len(name) {
		w.evaluates(p, word, false, by)
		return
	}
	w.evaluates(p, &Word{Text: word.Text, Value: strings.TrimSuffix(name, "+"), Flags: expand.Static}, false, by)
}

// evaluators handles the builtins whose words are evaluated once more.
func (w evaluator) evaluators(p *Part, name string, args []Word) {
	switch name {
	case "read", "unset", "getopts":
		w.variables(p, name, args, "adinNptu")
	case "wait":
		for k := range args {
			if k > 0 && strings.HasSuffix(args[k-1].Value, "p") && strings.HasPrefix(args[k-1].Value, "-") {
				w.evaluates(p, &args[k], false, "wait -p")
			} else if rest, ok := strings.CutPrefix(args[k].Value, "-p"); ok && rest != "" {
				w.evaluates(p, &Word{Text: args[k].Text, Value: rest, Flags: args[k].Flags}, false, "wait -p")
			}
		}
	case "mapfile", "readarray":
		w.callbacks(p, name, args, "C", "")
		w.variables(p, name, args, "CcdnOsu")
	case "compgen", "complete":
		w.callbacks(p, name, args, "CF", "W")
	case "let":
		for k := range args {
			w.evaluates(p, &args[k], true, "let")
		}
	case "declare", "typeset", "local", "readonly", "export":
		w.declares(p, name, args, declaredKind{})
	case "printf":
		if len(args) > 1 && args[0].Value == "-v" {
			w.evaluates(p, &args[1], false, "printf -v")
		} else if len(args) > 0 && strings.HasPrefix(args[0].Value, "-v") {
			w.evaluates(p, &Word{Text: args[0].Text, Value: args[0].Value[2:], Flags: args[0].Flags}, false, "printf -v")
		}
	case "test", "[":
		for k := 1; k < len(args); k++ {
			if v := args[k-1].Value; v == "-v" || v == "-R" {
				w.evaluates(p, &args[k], false, name+" "+v)
			}
		}
	}
}

// variables goes through operands that are names of variables, over options of which those in valued take a
// value.
func (w evaluator) variables(p *Part, by string, args []Word, valued string) {
	for k := 0; k < len(args); k++ {
		v := args[k].Value
		if args[k].Static() && len(v) > 1 && v[0] == '-' {
			if i := strings.IndexAny(v, valued); i == len(v)-1 && by != "unset" {
				k++
				if v[i] == 'a' && k < len(args) { // read -a NAME
					w.evaluates(p, &args[k], false, by)
				}
			}
			continue
		}
		w.evaluates(p, &args[k], false, by)
	}
}

// callbacks goes through options whose value is run (programs) or expanded (texts).
func (w evaluator) callbacks(p *Part, by string, args []Word, programs, texts string) {
	for k := 0; k < len(args); k++ {
		v := args[k].Value
		if len(v) < 2 || v[0] != '-' || v[1] == '-' {
			continue
		}
		at := strings.IndexAny(v, programs+texts)
		if at < 0 {
			continue
		}
		value := Word{Text: args[k].Text, Value: v[at+1:], Flags: args[k].Flags}
		if value.Value == "" && k+1 < len(args) {
			k++
			value = args[k]
		}
		if strings.IndexByte(texts, v[at]) >= 0 {
			w.evaluates(p, &value, false, by+" -"+v[at:at+1])
			continue
		}
		w.pending = append(w.pending, pendingInner{text: value.Value, isText: true, static: value.Static(), context: Inner})
	}
}

// declares handles a declaration that is reached through "command" or "builtin", or has words of which the
// shell makes assignments only when it runs.
// What its options say the variables are is added to kind.
func (w evaluator) declares(p *Part, by string, args []Word, kind declaredKind) declaredKind {
	for k := range args {
		v := args[k].Value
		switch {
		case args[k].Static() && len(v) > 1 && (v[0] == '-' || v[0] == '+'):
			kind.number = kind.number || v[0] == '-' && strings.ContainsAny(v, "in")
			kind.array = kind.array || v[0] == '-' && strings.ContainsAny(v, "aA")
			if v[0] == '-' && strings.Contains(v, "n") && by != "export" {
				w.late.FromOutside(by + " " + v + " makes names stand for what a variable holds")
			}
		default:
			w.assigned(p, &args[k], kind, by)
		}
	}
	return kind
}

// promptText notes the variables whose value the shell expands or runs by itself.
func (w *walker) promptText(a Assign) {
	switch {
	case a.Name == "PROMPT_COMMAND":
		if a.Static {
			w.pending = append(w.pending, pendingInner{text: a.Value, isText: true, static: true, context: Inner})
		} else {
			w.late.FromOutside("the shell runs the text in " + a.Name)
		}
	case len(a.Name) == 3 && strings.HasPrefix(a.Name, "PS"):
		if !a.Static {
			w.late.FromOutside("the shell expands the text in " + a.Name)
		} else if strings.ContainsAny(a.Value, "$`") {
			w.pending = append(w.pending, pendingInner{text: a.Value, isText: true, static: true, expand: true, context: Inner})
		}
	}
}

// descriptors notes "{name[…]}>": the shell evaluates the subscript of such a variable. To the parser it
// is a word that touches the redirection.
// The other words are returned.
func (w *walker) descriptors(p *Part, args []*syntax.Word, redirs []*syntax.Redirect) []*syntax.Word {
	var taken []*syntax.Word // in order
	for _, r := range redirs {
		i := sort.Search(len(args), func(k int) bool { return args[k].End().Offset() > r.OpPos.Offset() }) - 1
		if i < 0 || !w.touches(args[i], r) {
			continue
		}
		src := strings.ReplaceAll(w.r.Source(args[i]), "\\\n", "")
		if !strings.HasPrefix(src, "{") || !strings.HasSuffix(src, "}") || !strings.Contains(src, "[") {
			continue
		}
		p.Unknown = append(p.Unknown, "the redirection evaluates the subscript in "+src)
		word := w.r.Read(args[i], nil)
		w.pending = append(w.pending, pendingInner{text: word.Value, isText: true, static: true, expand: true, context: Inner})
		if i > 0 {
			taken = append(taken, args[i])
		}
	}
	if len(taken) == 0 {
		return args
	}
	words := make([]*syntax.Word, 0, len(args))
	for _, a := range args {
		if len(taken) > 0 && a == taken[0] {
			taken = taken[1:]
			continue
		}
		words = append(words, a)
	}
	return words
}

// touches tells whether nothing stands between a word and a redirection after it.
func (w *walker) touches(a *syntax.Word, r *syntax.Redirect) bool {
	from, to := int(a.End().Offset()), int(r.OpPos.Offset())
	return from <= to && to <= len(w.r.Text) && strings.ReplaceAll(w.r.Text[from:to], "\\\n", "") == ""
}

// numbers tells whether all words are fixed numbers.
func (w *walker) numbers(words []*syntax.Word) bool {
	for _, word := range words {
		for _, got := range w.r.ReadAll(nil, word, nil) {
			if !got.Static() || !expand.IsNumber(got.Value) {
				return false
			}
		}
	}
	return len(words) > 0
}

// holdWords notes the fixed texts of part i that a variable may come to hold.
func (w *walker) holdWords(i int, st *dirs) {
	p := &w.acc.Parts[i]
	for k := range p.Words {
		if p.Kind == Declaration && p.Words[k].Unknown() {
			continue // its source, not its value
		}
		v := p.Words[k].Value
		w.late.holds(i, v, st)
		if name, text, ok := strings.Cut(v, "="); ok && (strings.HasPrefix(name, "PS") || name == "PROMPT_COMMAND") && p.Words[k].Static() {
			w.promptText(Assign{Name: name, Value: text, Static: true})
		}
		if rest, ok := strings.CutPrefix(v, "BASH_FUNC_"); ok { // bash takes such a variable for a function
			if name, body, ok := strings.Cut(rest, "%%="); ok {
				w.pending = append(w.pending, pendingInner{text: name + body, isText: true, static: p.Words[k].Static(), context: Inner})
			}
		}
	}
	for k := range p.Assigns {
		w.late.holds(i, p.Assigns[k].held, st)
	}
}

// evaluatedTests notes the operands of [[ … ]] that are arithmetic or names of variables.
func (w evaluator) evaluatedTests(p *Part) {
	words := p.Words
	for k := 1; k < len(words); k++ {
		switch v := words[k].Value; v {
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			w.evaluates(p, &words[k-1], true, "[[ "+v)
			if k+1 < len(words) {
				w.evaluates(p, &words[k+1], true, "[[ "+v)
			}
		case "-v", "-R":
			if k+1 < len(words) {
				w.evaluates(p, &words[k+1], false, "[[ "+v)
			}
		}
	}
}

// declared notes what a declaration evaluates. Its words that are assignments to the parser have no value of
// their own.
func (w evaluator) declared(p *Part, c *syntax.DeclClause) {
	by := c.Variant.Value
	var kind declaredKind
	for k, a := range c.Args {
		switch out := &p.Assigns[k]; {
		case a.Naked && a.Name == nil:
			kind = w.declares(p, by, p.Words[k+1:k+2], kind)
		case !a.Naked && a.Array == nil:
			text := Word{Text: p.Words[k+1].Text, Value: out.held}
			if !out.Static {
				text.Flags = expand.Unknown
			}
			w.assignedValue(p, &text, kind, by)
		}
	}
}
