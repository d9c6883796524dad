package shellsyntax

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/paths"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/source"
)

// call walks one simple command: its words, redirections and substitutions, what its wrappers run,
// and where it leaves the shell.
func (w *walker) call(c *syntax.CallExpr, s *syntax.Stmt, st *dirs, h held) (ok, fail *dirs) {
	_, w.r.Cat = w.functions["cat"]
	if w.r.Pwd = ""; w.pwd && len(st.list) == 1 && !st.unknown {
		w.r.Pwd = path.Clean(st.list[0])
	}
	p := Part{Parent: h.parent, Context: h.context, Background: h.background}
	p.read.lister = w.listerOf(c)
	w.found = w.found[:0]
	args := w.descriptors(&p, c.Args, s.Redirs)
	nameEnd := 0                               // substitutions before this index stand in the command word
	if cap(w.words)-len(w.words) < len(args) { // a fresh piece of memory: old words stay where they are
		w.words = make([]Word, 0, max(len(args), min(8*len(args)+len(w.r.Text)/64, 512)))
	}
	from := len(w.words)
	for i, word := range args {
		w.words = w.r.ReadAll(w.words, word, &w.found)
		if i == 0 {
			nameEnd = len(w.found)
		}
	}
	p.Words = w.words[from:len(w.words):len(w.words)]
	inWords := len(w.found)
	for _, a := range c.Assigns {
		p.Assigns = append(p.Assigns, w.assign(a, &w.found))
	}
	var subs []expand.Substitution // of this command: walking them finds others
	if len(w.found) > 0 {
		subs = slices.Clone(w.found)
	}
	p.noteEvals()
	for _, a := range p.Assigns {
		w.promptText(a)
	}
	p.Source = w.callSource(c)
	if len(p.Words) == 0 {
		p.Kind = Assignment
		p.ReadOnly = len(p.Assigns) == 0 // braces may expand to nothing
		if len(p.Assigns) > 0 {
			p.WhyNot = "sets a variable"
		}
	} else {
		p.setCanon()
		w.forms(&p)
	}
	i := w.add(p, st)
	w.holdWords(i, st)
	mine := w.pending // programs in the words; those of substitutions must not mix with them
	w.pending = nil
	w.redirs(i, s.Redirs, st)
	w.pending = mine
	if len(p.Words) > 0 {
		ok, fail = w.settle(i, st)
	} else {
		ok, fail = w.inners(i, st, st, st)
	}
	for k, sub := range subs {
		w.substitute(sub, st, held{parent: i, context: contextOf(sub, k < nameEnd, k >= inWords), background: h.background})
	}
	return ok, fail
}

// contextOf says how a substitution among the words of a command is held by it.
func contextOf(sub expand.Substitution, inName, inValue bool) Context {
	switch {
	case inName:
		return CommandWord
	case inValue:
		return Value
	case sub.Quoted:
		return Quoted
	case sub.Pipe:
		return Piped
	}
	return Bare
}

// noteEvals reports words that run text stored in a variable: whatever it is, it cannot be checked.
func (p *Part) noteEvals() {
	for i := range p.Words {
		if p.Words[i].Flags&expand.Evals != 0 {
			p.Unknown = append(p.Unknown, "the word "+p.Words[i].Text+" evaluates text stored in a variable")
		}
	}
	for i := range p.Assigns {
		if p.Assigns[i].evals {
			p.Unknown = append(p.Unknown, "the value of "+p.Assigns[i].Name+" evaluates text stored in a variable")
		}
	}
}

func (w *walker) callSource(c *syntax.CallExpr) string {
	if len(c.Args) == 0 && len(c.Assigns) == 0 {
		return ""
	}
	return w.r.Source(c)
}

// forms looks behind the wrappers of a command, as deep as they go.
func (w *walker) forms(p *Part) {
	first := Form{Stripped: true}
	if p.Words[0].Static() {
		first.Name = p.Words[0].Text
	}
	if cap(w.forms0)-len(w.forms0) < 1 {
		w.forms0 = make([]Form, 0, min(cap(w.acc.Parts)-len(w.acc.Parts)+1, 64))
	}
	n := len(w.forms0)
	w.forms0 = append(w.forms0, first)
	p.Forms = w.forms0[n : n+1 : n+1]
	at := 0
	for {
		got, ok := cmdline.Peel(p.Words, at)
		if !ok {
			return
		}
		last := p.Forms[len(p.Forms)-1]
		p.Elsewhere = p.Elsewhere || got.Moved
		switch {
		case got.Text > 0:
			w.pendWordText(p, got)
			p.Exec = append(p.Exec, got.Name+" runs the text it is given")
			return
		case got.Unknown && isRemote(got.Name):
			w.late.runsOutside("what " + got.Name + " runs is only known at run time")
			return
		case got.Unknown:
			p.Unknown = append(p.Unknown, "what "+got.Name+" runs is only known at run time")
			p.Exec = append(p.Exec, got.Name+" runs what is only known at run time")
			return
		case got.At == 0:
			return
		}
		replaced(p, at, got)
		if got.Alt > 0 {
			p.Alts = append(p.Alts, Form{At: got.Alt, Wrapper: got.Name, Runner: got.Runner, Name: staticName(&p.Words[got.Alt])})
		}
		w.addForm(p, got.At, got, last.Stripped)
		if got.Texts {
			w.texts(p, at+1)
			return
		}
		if got.Joined && w.joinedText(p, got) {
			return
		}
		at = got.At
	}
}

func (w *walker) addForm(p *Part, at int, got cmdline.Peeled, stripped bool) {
	p.Forms = append(p.Forms, Form{At: at, Wrapper: got.Name, Runner: got.Runner, Stripped: stripped && got.Stripped, Name: staticName(&p.Words[at])})
}

func staticName(w *Word) string {
	if w.Static() {
		return w.Text
	}
	return ""
}

func (w *walker) pendWordText(p *Part, got cmdline.Peeled) {
	word := &p.Words[got.Text]
	text := word.Value
	if got.TextFrom <= len(text) {
		text = text[got.TextFrom:]
	}
	static := word.Static()
	if got.Name == "env" { // env -S text: further words follow the text
		var ok bool
		if text, ok = cmdline.EnvText(text); !ok {
			static = false
		}
		for i := got.Text + 1; i < len(p.Words); i++ {
			text += " " + Canonical(p.Words[i].Value) // valid shell spelling, but for line ends
		}
		text = strings.NewReplacer(`\_`, " ", `\f`, " ", `\n`, " ", `\r`, " ", `\t`, " ", `\v`, " ").Replace(text) // its own escapes
	}
	w.pending = append(w.pending, pendingInner{text: text, isText: true, static: static, context: Inner})
}

// pendText notes the text of a program found while a command is described.
func (w *walker) pendText(d *describer, text string, static bool) {
	w.pending = append(w.pending, pendingInner{text: text, isText: true, static: static, st: d.st, context: Inner})
}

// settle describes part i and walks the programs found in its arguments. It returns where the
// shell stands after the part.
func (w *walker) settle(i int, st *dirs) (ok, fail *dirs) {
	w.reading = i
	p := &w.acc.Parts[i]
	if p.Forms[0].Name == "" {
		p.Unknown = append(p.Unknown, "which program runs is only known at run time")
	}
	last := p.Forms[len(p.Forms)-1]
	if len(p.Forms) > 1 && last.Name == "" {
		p.Unknown = append(p.Unknown, "what "+last.Wrapper+" runs is only known at run time")
	}
	w.describe(p, st)
	ok, fail = w.builtins(i, st)
	return w.inners(i, st, ok, fail)
}

// inners walks the pending programs of part i.
func (w *walker) inners(i int, st, ok, fail *dirs) (*dirs, *dirs) {
	todo := w.pending
	w.pending = nil
	for _, in := range todo {
		from := st
		if in.st != nil {
			from = in.st
		}
		h := held{parent: i, context: Inner, background: w.acc.Parts[i].Background}
		if !in.isText {
			w.innerCommand(in.words, from, h)
			continue
		}
		if in.expand {
			w.expand(in.text, from, h)
			continue
		}
		switch {
		case in.static:
		case w.acc.Parts[i].Remote(): // nothing of this machine
			w.late.runsOutside("a text is run on another machine that is only known at run time")
		default:
			w.acc.Parts[i].Unknown = append(w.acc.Parts[i].Unknown, "it runs a text that is only known at run time")
		}
		if !in.static && strings.TrimSpace(in.text) == "" {
			continue
		}
		o, f := w.innerText(in.text, from, h, in.static)
		if w.acc.Parts[i].Name() == "eval" {
			ok, fail = w.union(o, f), w.union(o, f)
		}
	}
	return ok, fail
}

// innerCommand adds a part for a program given as words.
func (w *walker) innerCommand(words []Word, st *dirs, h held) {
	if w.depth >= maxDepth {
		w.acc.Problems = append(w.acc.Problems, Problem{Kind: InnerParse, Text: "programs within programs are nested too deeply to be read"})
		return
	}
	texts := make([]string, len(words))
	for k := range words {
		texts[k] = words[k].Text
	}
	p := Part{Words: words, Parent: h.parent, Context: h.context, Background: h.background, Source: strings.Join(texts, " ")}
	p.setCanon()
	w.forms(&p)
	i := w.add(p, st)
	w.depth++
	w.settle(i, st)
	w.depth--
}

// innerText reads the literal text of a program. What cannot be read is a problem of the whole: a
// deny rule could not be checked against it.
func (w *walker) innerText(text string, st *dirs, h held, static bool) (ok, fail *dirs) {
	*w.budget -= len(text)
	if w.depth >= maxDepth || *w.budget < 0 {
		w.acc.Problems = append(w.acc.Problems, Problem{Kind: InnerParse, Text: "programs within programs are nested too deeply to be read"})
		return st, st
	}
	file, text, problem := source.Read(text)
	if problem != "" {
		if static {
			w.acc.Problems = append(w.acc.Problems, Problem{Kind: InnerParse, Text: "a program inside the command cannot be read: " + problem})
		}
		return w.anywhere(st), w.anywhere(st)
	}
	inner := &walker{acc: w.acc, opt: w.opt, start: st, depth: w.depth + 1, budget: w.budget, functions: w.functions, late: w.late}
	inner.enter(text, file)
	ok, fail = inner.stmts(file.Stmts, st, h)
	w.functions = inner.functions
	return ok, fail
}

// builtins handles what the shell's own commands do to the shell.
func (w *walker) builtins(i int, st *dirs) (ok, fail *dirs) {
	p := &w.acc.Parts[i]
	last := p.Forms[len(p.Forms)-1]
	if !inShell(p) {
		shellReader{w}.shells(p, last)
		return st, st
	}
	args := p.Words[last.At+1:]
	evaluator{w}.evaluators(p, last.Name, args)
	switch last.Name {
	case "cd", "chdir":
		return w.cd(p, args, st)
	case "pushd", "popd":
		p.WhyNot, p.ReadOnly = last.Name+" changes the stack of directories", false
		p.Uses = append(p.Uses, PathUse{Text: last.Name, Intent: Enter, Unknown: true, Unbased: true})
		if last.Name == "pushd" {
			w.cd(p, args, st)
		}
		return w.anywhere(st), w.anywhere(st)
	case ".", "source":
		p.Exec = append(p.Exec, last.Name+" runs a file in this shell")
		shellReader{w}.shells(p, last)
		return w.anywhere(st), w.anywhere(st)
	case "eval":
		if len(args) > 0 && args[0].Value == "--" {
			args = args[1:]
		}
		if len(args) > 0 {
			w.joinArgs(p, args)
		}
		p.Exec = append(p.Exec, "eval runs text")
	case "trap":
		if len(args) > 0 && args[0].Value == "--" {
			args = args[1:]
		}
		if len(args) > 1 {
			w.pending = append(w.pending, pendingInner{text: args[0].Value, isText: true, static: args[0].Static(), context: Inner})
		}
		p.Exec = append(p.Exec, "trap runs text later")
	case "alias":
		w.alias(p, args)
	case "hash", "enable":
		for _, a := range args {
			if !strings.HasPrefix(a.Value, "-") {
				w.define(a.Value, definition{opaque: true, moves: true})
			}
		}
		p.Exec = append(p.Exec, last.Name+" changes what a name runs")
	case "exec", "coproc":
		p.WhyNot, p.ReadOnly = last.Name+" changes the shell itself", false
	case "mapfile", "readarray", "complete", "compgen", "bind":
		p.Exec = append(p.Exec, last.Name+" may run a function or program")
	}
	shellReader{w}.shells(p, last)
	return st, st
}

// inShell tells whether the innermost command runs in this very shell, so that builtins act.
func inShell(p *Part) bool {
	for _, f := range p.Forms[1:] {
		if f.Wrapper != "command" && f.Wrapper != "builtin" && f.Wrapper != "noglob" && f.Wrapper != "time" {
			return false
		}
	}
	return true
}

func (w *walker) joinArgs(p *Part, args []Word) {
	texts := make([]string, len(args))
	static := true
	for i := range args {
		texts[i] = args[i].Value
		static = static && args[i].Static()
	}
	w.pending = append(w.pending, pendingInner{text: strings.Join(texts, " "), isText: true, static: static, context: Inner})
}

func (w *walker) alias(p *Part, args []Word) {
	for _, a := range args {
		name, text, ok := strings.Cut(a.Value, "=")
		if !ok {
			continue
		}
		w.define(name, definition{opaque: true, moves: true})
		p.Exec = append(p.Exec, "alias changes what "+name+" runs")
		if _, _, problem := source.Read(text); problem == "" {
			w.pending = append(w.pending, pendingInner{text: text, isText: true, static: a.Static(), context: Inner})
		} else {
			p.Unknown = append(p.Unknown, "the alias "+name+" is no whole command")
		}
	}
}

// cd follows a change of directory.
func (w *walker) cd(p *Part, args []Word, st *dirs) (ok, fail *dirs) {
	if len(args) > 0 && (args[0].Value == "-L" || args[0].Value == "-P" || args[0].Value == "-e") {
		args = args[1:]
	}
	if len(args) > 0 && args[0].Value == "--" {
		args = args[1:]
	}
	unknown := func(text string) (*dirs, *dirs) {
		p.Uses = append(p.Uses, PathUse{Text: text, Intent: Enter, Unknown: true, Unbased: true})
		p.WhyNot, p.ReadOnly = "where cd leads is only known at run time", false
		return w.anywhere(st), st
	}
	if len(args) == 0 {
		if w.r.Home == "" {
			return unknown("~")
		}
		word := Word{Text: "~", Value: w.r.Home, Prefix: len(w.r.Home), Flags: expand.Tilde}
		w.addUse(p, st, &word, word.Value, Enter, false)
		return &dirs{list: []string{path.Clean(w.r.Home)}, home: st.home}, st
	}
	t := &args[0]
	if len(args) > 1 || t.Unknown() || t.Glob() || strings.HasPrefix(t.Value, "-") || t.Value == "" ||
		(!strings.HasPrefix(t.Value, "/") && w.cdPath(p)) {
		if !t.Unknown() && !t.Glob() && t.Value != "" {
			w.addUse(p, st, t, t.Value, Enter, false) // a guess is still worth checking
		}
		return unknown(t.Text)
	}
	w.addUse(p, st, t, t.Value, Enter, false)
	if strings.HasPrefix(t.Value, "/") {
		return &dirs{list: []string{paths.Joined("", t.Value)}, home: st.home}, st
	}
	out := &dirs{unknown: st.unknown, home: st.home}
	for _, d := range st.list {
		if len(d)+len(t.Value) > maxPath { // no system has such paths; following them would cost the square
			return w.anywhere(w.start), st
		}
		out.list = append(out.list, paths.Joined(d, t.Value))
	}
	return out, st
}

// cdPath tells whether CDPATH may change what a relative name means.
func (w *walker) cdPath(p *Part) bool {
	return strings.Contains(w.r.Text, "CDPATH") || strings.Contains(w.acc.Text, "CDPATH")
}

// Guesses yields the paths that the words of a part could name, for programs of which the table
// does not know what they read: each static word, and what stands after "=", "@" and "=@". What a program gets that nobody knows it may
// read with all that is below.
func (p *Part) Guesses(yield func(PathUse) bool) {
	if p.Kind != Command || len(p.Forms) == 0 || p.Forms[0].At+1 == len(p.Words) || p.read.dirs == nil {
		return
	}
	last, end := p.Forms[len(p.Forms)-1], len(p.Words)
	if s := options.Find(path.Base("/" + last.Name)); s != nil && (s.Operands == "t" || s.Operands == "test" || s.Operands == "printf" || s.Operands == "p" || s.Operands == "pR") {
		end = last.At // what stands before it belongs to the programs that run it
	}
	for i := p.Forms[0].At + 1; i < end; i++ {
		w := &p.Words[i]
		if w.Unknown() || w.Value == "" || len(w.Value) > 4096 {
			continue
		}
		var room [4]string
		for _, v := range paths.Guessed(room[:0], w.Value) {
			for _, d := range p.read.dirs.list {
				u := PathUse{Text: w.Text, Intent: Read, Guess: true, Glob: w.Glob(), Below: !p.Known || i < last.At}
				if strings.HasPrefix(v, "/") {
					u.Path, u.Walk = path.Clean(v), paths.Walk("", v)
				} else {
					u.Path, u.Walk = path.Clean(d+"/"+v), paths.Walk(d, v)
				}
				if !yield(u) {
					return
				}
			}
		}
	}
}
