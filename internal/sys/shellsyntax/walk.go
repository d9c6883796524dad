package shellsyntax

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/source"
)

// held says what holds a statement.
type held struct {
	parent     int
	context    Context
	background bool
}

// walker goes through one text. Inner texts get a walker of their own on the same account.
type walker struct {
	acc       *Account
	opt       Options
	r         expand.Reader
	start     *dirs
	file      *syntax.File
	looked    bool // moves is known
	moves     bool // the text may change the directory
	loops     int  // depth of loops
	depth     int
	budget    *int
	functions map[string]definition // names that mean something else from here on
	pending   []pendingInner
	piped     bool
	feed      [2]int                // the parts that write into that pipe, from the first to before the last
	lists     *syntax.CallExpr      // the command that reads from it what one command prints; nil: none does
	pwd       bool                  // $PWD is what the walk knows
	words     []Word                // room for words, so that not every command allocates
	forms0    []Form                // the same for forms
	found     []expand.Substitution // in the words being read
	late      *later
	reading   int  // the part that is being settled
	maps      bool // what is being declared are maps
}

// pendingInner is a program found in the arguments of the part that is being read.
type pendingInner struct {
	words   []Word
	text    string
	isText  bool
	expand  bool // the text is not run, but expanded once more
	static  bool
	st      *dirs
	context Context
}

func (w *walker) enter(text string, file *syntax.File) {
	w.r = expand.Reader{Text: text, Home: w.opt.Home, Watch: w.late}
	if strings.Contains(text, "HOME") && source.HomeChanges(text) {
		w.r.Home = ""
	}
	w.pwd = strings.Contains(text, "PWD") && !strings.Contains(text, "PWD=")
	w.file = file
}

// stmts walks statements in order. What it returns is where the shell stands after success and
// after failure of the last.
func (w *walker) stmts(list []*syntax.Stmt, st *dirs, h held) (ok, fail *dirs) {
	ok, fail = st, st
	for i, s := range list {
		if i > 0 {
			st = w.union(ok, fail)
		}
		ok, fail = w.stmt(s, st, h)
	}
	return ok, fail
}

func (w *walker) stmt(s *syntax.Stmt, st *dirs, h held) (ok, fail *dirs) {
	if s.Background || s.Coprocess || s.Disown {
		h.background = true
		w.command(s, st, h)
		return st, st
	}
	ok, fail = w.command(s, st, h)
	if s.Negated {
		ok, fail = fail, ok
	}
	return ok, fail
}

func (w *walker) command(s *syntax.Stmt, st *dirs, h held) (ok, fail *dirs) {
	if call, isCall := s.Cmd.(*syntax.CallExpr); isCall {
		return w.call(call, s, st, h)
	}
	if len(s.Redirs) > 0 {
		i := w.add(Part{Kind: Redirection, Parent: h.parent, Context: h.context, Background: h.background, ReadOnly: true, Source: w.redirSource(s)}, st)
		w.redirs(i, s.Redirs, st)
	}
	return w.compound(s.Cmd, st, h)
}

func (w *walker) redirSource(s *syntax.Stmt) string {
	first, last := s.Redirs[0], s.Redirs[len(s.Redirs)-1]
	from, to := int(first.OpPos.Offset()), int(last.Word.End().Offset())
	if first.N != nil {
		from = int(first.N.Pos().Offset())
	}
	if from < 0 || to > len(w.r.Text) || from > to {
		return ""
	}
	return w.r.Text[from:to]
}

func (w *walker) compound(cmd syntax.Command, st *dirs, h held) (ok, fail *dirs) {
	switch c := cmd.(type) {
	case nil:
		return st, st
	case *syntax.BinaryCmd:
		return w.binary(c, st, h)
	case *syntax.Block:
		return w.stmts(c.Stmts, st, h)
	case *syntax.Subshell:
		w.stmts(c.Stmts, st, h)
		return st, st
	case *syntax.IfClause:
		return w.ifClause(c, st, h)
	case *syntax.WhileClause:
		body := w.loopState(st, c.Cond, c.Do)
		w.loops++
		o, f := w.stmts(c.Cond, body, h)
		o2, f2 := w.stmts(c.Do, w.union(o, f), h)
		w.loops--
		all := w.union(w.union(o, f), w.union(w.union(o2, f2), st))
		return all, all
	case *syntax.ForClause:
		return w.forClause(c, st, h)
	case *syntax.CaseClause:
		return w.caseClause(c, st, h)
	case *syntax.FuncDecl:
		return w.funcDecl(c, st, h)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return st, st
		}
		return w.stmt(source.AfterDashes(c.Stmt), st, h)
	case *syntax.CoprocClause:
		h.background = true
		if c.Name != nil {
			w.headerWords([]*syntax.Word{c.Name}, st, h)
		}
		w.stmt(c.Stmt, st, h)
		return st, st
	case *syntax.TestClause:
		w.testClause(c, st, h)
		return st, st
	case *syntax.DeclClause:
		w.declClause(c, st, h)
		return st, st
	case *syntax.ArithmCmd:
		w.opaque(c, Arithmetic, "((…)) may change variables", st, h)
		return st, st
	case *syntax.LetClause:
		w.opaque(c, Arithmetic, "let may change variables", st, h)
		return st, st
	}
	// A kind of command this code does not know: nothing may be concluded.
	i := w.opaque(cmd, Command, "", st, h)
	w.acc.Parts[i].Unknown = append(w.acc.Parts[i].Unknown, "a kind of command that is not understood")
	return w.anywhere(st), w.anywhere(st)
}

func (w *walker) binary(c *syntax.BinaryCmd, st *dirs, h held) (ok, fail *dirs) {
	if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
		return w.list(c, st, h)
	}
	from := len(w.acc.Parts)
	w.stmt(c.X, st, h)
	was, fed := w.piped, w.feed
	w.piped, w.feed = true, [2]int{from, len(w.acc.Parts)}
	w.lists = source.ReadsList(c)
	w.stmt(c.Y, st, h)
	w.piped, w.feed = was, fed
	return st, st
}

// list walks commands joined by && and ||. The tree leans to the left, as deep as the list is long, so it
// is walked in a loop.
func (w *walker) list(c *syntax.BinaryCmd, st *dirs, h held) (ok, fail *dirs) {
	joints := []*syntax.BinaryCmd{c}
	for {
		x := joints[len(joints)-1].X
		b, isList := x.Cmd.(*syntax.BinaryCmd)
		if !isList || b.Op != syntax.AndStmt && b.Op != syntax.OrStmt ||
			x.Negated || x.Background || x.Coprocess || x.Disown || len(x.Redirs) > 0 {
			ok, fail = w.stmt(x, st, h)
			break
		}
		joints = append(joints, b)
	}
	for _, j := range slices.Backward(joints) {
		if j.Op == syntax.AndStmt {
			o, f := w.stmt(j.Y, ok, h)
			ok, fail = o, w.union(fail, f)
		} else {
			o, f := w.stmt(j.Y, fail, h)
			ok, fail = w.union(ok, o), f
		}
	}
	return ok, fail
}

func (w *walker) ifClause(c *syntax.IfClause, st *dirs, h held) (ok, fail *dirs) {
	o, f := st, st
	if len(c.Cond) > 0 {
		o, f = w.stmts(c.Cond, st, h)
	}
	o2, f2 := w.stmts(c.Then, o, h)
	out := w.union(o2, f2)
	if c.Else != nil {
		o3, f3 := w.ifClause(c.Else, f, h)
		return w.union(out, w.union(o3, f3)), w.union(out, w.union(o3, f3))
	}
	out = w.union(out, f)
	return out, out
}

func (w *walker) forClause(c *syntax.ForClause, st *dirs, h held) (ok, fail *dirs) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		w.headerWords(l.Items, st, h)
		w.late.Sets(l.Name.Value, w.numbers(l.Items))
	case *syntax.CStyleLoop:
		w.opaque(l, Arithmetic, "the header of the loop changes variables", st, h)
	}
	body := w.loopState(st, c.Do)
	w.loops++
	o, f := w.stmts(c.Do, body, h)
	w.loops--
	out := w.union(st, w.union(o, f))
	return out, out
}

func (w *walker) caseClause(c *syntax.CaseClause, st *dirs, h held) (ok, fail *dirs) {
	words := []*syntax.Word{c.Word}
	for _, item := range c.Items {
		words = append(words, item.Patterns...)
	}
	w.headerWords(words, st, h)
	out := st
	from := st
	for _, item := range c.Items {
		o, f := w.stmts(item.Stmts, from, h)
		out = w.union(out, w.union(o, f))
		from = st
		if item.Op != syntax.Break {
			from = out // falls through to the next
		}
	}
	return out, out
}

// headerWords walks the substitutions in words that belong to no simple command.
func (w *walker) headerWords(words []*syntax.Word, st *dirs, h held) {
	var subs []expand.Substitution
	var flags expand.Flag
	for _, word := range words {
		if word != nil {
			got := w.r.Read(word, &subs)
			flags |= got.Flags
			w.late.holds(h.parent, got.Value, st)
		}
	}
	if flags&(expand.Evals|expand.Arith) != 0 {
		i := w.add(Part{Kind: Arithmetic, Parent: h.parent, Context: h.context, Background: h.background, WhyNot: "a word evaluates text stored in a variable"}, st)
		if flags&expand.Evals != 0 {
			w.acc.Parts[i].Unknown = []string{"a word evaluates text stored in a variable"}
		}
	}
	for _, s := range subs {
		w.substitute(s, st, held{parent: h.parent, context: Bare, background: h.background})
	}
}

func (w *walker) funcDecl(c *syntax.FuncDecl, st *dirs, h held) (ok, fail *dirs) {
	name := ""
	if c.Name != nil {
		name = c.Name.Value
	}
	moves := w.mayMove() && w.movesIn(c.Body)
	w.define(name, definition{moves: moves})
	i := w.add(Part{Kind: Function, Source: "function " + name, Parent: h.parent, Context: h.context, Background: h.background, WhyNot: "defines the function " + name}, st)
	inside := st
	if w.mayMove() {
		inside = w.anywhere(st) // it runs wherever it is called
	}
	w.stmt(c.Body, inside, held{parent: i, context: Inner, background: h.background})
	after := st
	if moves {
		after = w.anywhere(st)
	}
	return after, after
}

// definition is what is known of a name that is defined in the text.
type definition struct {
	opaque bool // what it runs is not fully known: the words after an alias are added to its text
	moves  bool // running it may change the directory
}

// define notes that a name means something else from here on.
func (w *walker) define(name string, d definition) {
	if w.functions == nil {
		w.functions = map[string]definition{}
	}
	old := w.functions[name]
	w.functions[name] = definition{opaque: old.opaque || d.opaque, moves: old.moves || d.moves}
}

func (w *walker) testClause(c *syntax.TestClause, st *dirs, h held) {
	var subs []expand.Substitution
	words := []Word{expand.Fixed("[[")}
	var collect func(x syntax.TestExpr)
	collect = func(x syntax.TestExpr) {
		switch x := x.(type) {
		case *syntax.Word:
			words = append(words, w.r.Read(x, &subs))
		case *syntax.UnaryTest:
			words = append(words, expand.Fixed(x.Op.String()))
			collect(x.X)
		case *syntax.BinaryTest:
			collect(x.X)
			words = append(words, expand.Fixed(x.Op.String()))
			collect(x.Y)
		case *syntax.ParenTest:
			collect(x.X)
		}
	}
	collect(c.X)
	for i := range words { // patterns here are compared, never expanded to file names
		words[i].Flags &^= expand.Glob
		if words[i].Flags&(expand.Unknown|expand.Tilde|expand.Home|expand.Pwd) == 0 {
			words[i].Flags |= expand.Static
		}
	}
	p := Part{Kind: Command, Source: w.r.Source(c), Words: words, Forms: []Form{{Name: "[[", Stripped: true}}, Parent: h.parent, Context: h.context, Background: h.background}
	p.noteEvals()
	evaluator{w}.evaluatedTests(&p)
	i := w.add(p, st)
	w.holdWords(i, st)
	w.acc.Parts[i].setCanon()
	w.settle(i, st)
	for _, s := range subs {
		w.substitute(s, st, held{parent: i, context: Quoted, background: h.background})
	}
}

func (w *walker) declClause(c *syntax.DeclClause, st *dirs, h held) {
	p := Part{Kind: Declaration, Source: w.r.Source(c), Parent: h.parent, Context: h.context, Background: h.background}
	var subs []expand.Substitution
	p.Words = append(p.Words, expand.Fixed(c.Variant.Value))
	p.WhyNot = c.Variant.Value + " changes what later commands see"
	for _, a := range c.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			word := w.r.Read(a.Value, &subs)
			p.Words = append(p.Words, word)
			w.maps = w.maps || strings.HasPrefix(word.Value, "-") && strings.Contains(word.Value, "A")
			p.Assigns = append(p.Assigns, Assign{Name: word.Text, Naked: true, Odd: true})
			continue
		}
		p.Assigns = append(p.Assigns, w.assign(a, &subs))
		w.promptText(p.Assigns[len(p.Assigns)-1])
		p.Words = append(p.Words, Word{Text: w.r.Source(a), Canon: w.r.Source(a), Value: w.r.Source(a), Flags: expand.Unknown})
	}
	w.maps = false
	p.Forms = []Form{{Name: c.Variant.Value}}
	p.noteEvals()
	evaluator{w}.declared(&p, c)
	i := w.add(p, st)
	w.holdWords(i, st)
	w.acc.Parts[i].setCanon()
	w.inners(i, st, st, st)
	for _, s := range subs {
		w.substitute(s, st, held{parent: i, context: Value, background: h.background})
	}
}

// opaque adds a part of which only the substitutions are known.
func (w *walker) opaque(n syntax.Node, kind PartKind, why string, st *dirs, h held) int {
	src := w.r.Source(n)
	p := Part{Kind: kind, Source: src, Parent: h.parent, Context: h.context, Background: h.background, WhyNot: why}
	if kind == Command {
		p.Words = []Word{{Text: src, Canon: src, Flags: expand.Unknown}}
		p.Forms = []Form{{}}
	}
	i := w.add(p, st)
	w.acc.Parts[i].setCanon()
	var subs []expand.Substitution
	if w.r.Nested(n, kind == Arithmetic, false, &subs)&expand.Evals != 0 {
		w.acc.Parts[i].Unknown = append(w.acc.Parts[i].Unknown, "it evaluates text once more")
	}
	for _, s := range subs {
		w.substitute(s, st, held{parent: i, context: Value, background: h.background})
	}
	return i
}

func (w *walker) assign(a *syntax.Assign, subs *[]expand.Substitution) Assign {
	out := Assign{Naked: a.Naked, Odd: a.Append || a.Index != nil || a.Array != nil}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Value != nil {
		v := w.r.Read(a.Value, subs)
		out.evals = v.Flags&expand.Evals != 0
		out.Static = v.Flags&(expand.Unknown|expand.Tilde|expand.Home|expand.Pwd) == 0
		out.Value = v.Value
		out.held = v.Value
	} else {
		out.Static = !out.Odd
	}
	for _, n := range []syntax.Node{nodeOrNil(a.Index), nodeOrNil(a.Array)} {
		if n == nil {
			continue
		}
		got := w.r.Nested(n, n == nodeOrNil(a.Index), false, subs)
		out.evals = out.evals || got&expand.Evals != 0
	}
	if a.Array != nil {
		out.held = source.QuotedTexts(a.Array)
		for _, elem := range a.Array.Elems {
			// The keys of a map are text, unless it is expanded once more.
			if elem.Index != nil && (!w.maps || strings.ContainsAny(source.QuotedTexts(elem.Index), "$`")) {
				out.evals = out.evals || w.r.Nested(elem.Index, true, false, nil)&expand.Evals != 0
				if text := source.QuotedTexts(elem.Index); strings.ContainsAny(text, "$`") {
					*subs = append(*subs, expand.Substitution{Text: text})
				}
			}
		}
	}
	if !a.Naked {
		w.late.Sets(out.Name, out.Static && expand.IsNumber(out.Value))
	}
	return out
}

func nodeOrNil(n syntax.Node) syntax.Node {
	switch n := n.(type) {
	case *syntax.ArrayExpr:
		if n == nil {
			return nil
		}
	case nil:
		return nil
	}
	return n
}

// add appends a part and returns its index.
func (w *walker) add(p Part, st *dirs) int {
	p.Moved = st.unknown || len(st.list) != 1 || st.list[0] != w.opt.Cwd && path.Clean(st.list[0]) != w.opt.Cwd
	p.read.dirs = st
	w.acc.Parts = append(w.acc.Parts, p)
	w.acc.Commands++
	return len(w.acc.Parts) - 1
}
