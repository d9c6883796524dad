package shellsyntax

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds that keep reading linear. What goes beyond is reported as a problem, never skipped.
const (
	maxText    = 1 << 20 // bytes of one command line
	maxNesting = 2000    // brackets within brackets
	maxDepth   = 24      // programs within programs (-c within -c)
	maxPath    = 1024    // bytes of a directory that is followed
	maxDirs    = 4       // directories the shell may stand in before it counts as unknown
)

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse reads shell text. The parser is not safe for concurrent use, hence the pool.
func parse(text string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(text), "")
}

// endComments gives comments the end they have in bash. The parser lets a backslash at the end of
// a comment join the next line to it, and so would hide a command. Every such backslash becomes a
// blank, which keeps all offsets. Each round can uncover another comment, so the rounds are bounded.
func endComments(text string) (string, bool) {
	if !strings.Contains(text, "\\\n") || !strings.Contains(text, "#") {
		return text, true
	}
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	const rounds = 20
	for range rounds {
		file, err := p.Parse(strings.NewReader(text), "")
		if err != nil {
			return text, true // the caller meets the same error
		}
		at := -1
		syntax.Walk(file, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.Comment); ok && at < 0 {
				from := int(c.Hash.Offset())
				line := strings.IndexByte(text[from:], '\n')
				if line > 0 && text[from+line-1] == '\\' {
					at = from + line - 1
				}
			}
			return at < 0
		})
		if at < 0 {
			return text, true
		}
		text = text[:at] + " " + text[at+1:]
	}
	return text, false
}

// Analyse reads a command line. It never fails: what cannot be read is a problem of the account.
// It is safe for concurrent use.
func Analyse(text string, opt Options) (a *Account) {
	a = &Account{Text: text, Problems: checkRaw(text)}
	defer func() {
		if broken := recover(); broken != nil { // whatever went wrong here or in the parser must not pass for "nothing found"
			a.Parsed = false
			a.Problems = append(a.Problems, Problem{Kind: Internal, Text: fmt.Sprintf("the command could not be analysed: %v", broken)})
		}
	}()
	budget := 16*len(text) + 1<<16
	w := &walker{acc: a, opt: opt, budget: &budget}
	w.start = &dirs{list: []string{opt.Cwd}}
	if opt.Cwd == "" {
		w.start = &dirs{list: []string{"/"}, unknown: true}
	}
	file, text, problem := readText(text)
	if problem != "" {
		a.Problems = append(a.Problems, Problem{Kind: ParseError, Text: problem})
		return a
	}
	a.Parsed = true
	a.Parts = make([]Part, 0, partsIn(text))
	w.enter(text, file)
	w.stmts(file.Stmts, w.start, held{parent: -1})
	return a
}

// partsIn guesses how many parts a text has, so that they are stored without copying.
func partsIn(text string) int {
	n := 1
	for i := range len(text) {
		switch text[i] {
		case ';', '|', '\n', '(', '`':
			n++
		case '&':
			if i == 0 || text[i-1] != '&' {
				n++
			}
		}
	}
	return min(n, 1<<14)
}

// readText parses text after looking whether that is safe to do. It returns the text that offsets
// in the tree refer to, and why there is no tree.
func readText(text string) (*syntax.File, string, string) {
	if len(text) > maxText {
		return nil, text, "the command is longer than a megabyte"
	}
	if nesting(text) > maxNesting {
		return nil, text, "the command is nested too deeply to be read"
	}
	text, ok := endComments(text)
	if !ok {
		return nil, text, "the command has too many comments that end in a backslash"
	}
	file, err := parse(text)
	if err != nil {
		return nil, text, "the command is no valid shell text: " + err.Error()
	}
	return file, text, ""
}

// nesting is an upper bound for how deep brackets and compound commands are nested.
func nesting(text string) int {
	if len(text) < maxNesting {
		return 0
	}
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			depth++
			most = max(most, depth)
		case ')', '}':
			depth = max(depth-1, 0)
		}
	}
	for _, word := range []string{"if", "while", "until", "case", "for", "`"} {
		most = max(most, strings.Count(text, word)-strings.Count(text, ";")-strings.Count(text, "\n"))
	}
	return most
}

// dirs is where the shell may stand. It is immutable.
type dirs struct {
	list    []string // at least one
	unknown bool     // or anywhere else
}

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
	r         wordReader
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
	pwd       bool   // $PWD is what the walk knows
	words     []Word // room for words, so that not every command allocates
	forms0    []Form // the same for forms
}

// pendingInner is a program found in the arguments of the part that is being read.
type pendingInner struct {
	words   []Word
	text    string
	isText  bool
	static  bool
	st      *dirs
	context Context
}

func (w *walker) enter(text string, file *syntax.File) {
	w.r = wordReader{text: text, home: w.opt.Home}
	if strings.Contains(text, "HOME") && homeChanges(text) {
		w.r.home = ""
	}
	w.pwd = strings.Contains(text, "PWD") && !strings.Contains(text, "PWD=")
	w.file = file
}

// mayMove tells whether the text changes the directory anywhere. Only loops and functions ask, so it
// is worked out when the first does.
func (w *walker) mayMove() bool {
	if !w.looked {
		w.looked = true
		w.moves = mentionsMoves(w.r.text) && w.movesIn(w.file)
	}
	return w.moves
}

// mentionsMoves is a cheap first look whether a text could change the directory: the names, or
// anything that could hide them.
func mentionsMoves(text string) bool {
	return strings.ContainsAny(text, "\\'\"$`{.*?[") || strings.Contains(text, "cd") || strings.Contains(text, "pushd") ||
		strings.Contains(text, "popd") || strings.Contains(text, "source") || strings.Contains(text, "eval")
}

// movesIn tells whether a command below the node may change the directory of the shell: cd and its like,
// what runs text in this shell, a function defined here, and names that are only known at run time.
func (w *walker) movesIn(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return !found
		}
		for _, arg := range call.Args {
			word := w.r.read(arg, nil)
			if !word.Static() {
				found = true
				break
			}
			switch word.Text {
			case "cd", "chdir", "pushd", "popd", "eval", "source", ".", "trap":
				found = true
			case "command", "builtin", "noglob", "time", "-p", "--":
				continue
			default:
				found = w.functions[word.Text].moves
			}
			break
		}
		return !found
	})
	return found
}

// homeChanges tells whether HOME may mean something else by the time it is used.
func homeChanges(text string) bool {
	for i := 0; ; {
		j := strings.Index(text[i:], "HOME")
		if j < 0 {
			return false
		}
		i += j
		if i == 0 || (text[i-1] != '$' && text[i-1] != '{') {
			return true
		}
		i += len("HOME")
		if strings.HasPrefix(text[i:], "=") || strings.HasPrefix(text[i:], ":=") {
			return true
		}
	}
}

// union is every directory of both.
func (w *walker) union(a, b *dirs) *dirs {
	if a == b {
		return a
	}
	out := &dirs{list: slices.Clone(a.list), unknown: a.unknown || b.unknown}
	for _, d := range b.list {
		if !slices.Contains(out.list, d) {
			out.list = append(out.list, d)
		}
	}
	if len(out.list) > maxDirs {
		out.list, out.unknown = out.list[:maxDirs], true
	}
	return out
}

func (w *walker) anywhere(st *dirs) *dirs {
	if st.unknown {
		return st
	}
	return &dirs{list: st.list, unknown: true}
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

func (w *walker) both(ok, fail *dirs) *dirs { return w.union(ok, fail) }

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
	if from < 0 || to > len(w.r.text) || from > to {
		return ""
	}
	return w.r.text[from:to]
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
		all := w.union(w.union(o, f), w.union(w.both(o2, f2), st))
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
		return w.stmt(c.Stmt, st, h)
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
	switch c.Op {
	case syntax.AndStmt:
		o, f := w.stmt(c.X, st, h)
		o2, f2 := w.stmt(c.Y, o, h)
		return o2, w.union(f, f2)
	case syntax.OrStmt:
		o, f := w.stmt(c.X, st, h)
		o2, f2 := w.stmt(c.Y, f, h)
		return w.union(o, o2), f2
	}
	w.stmt(c.X, st, h)
	was := w.piped
	w.piped = true
	w.stmt(c.Y, st, h)
	w.piped = was
	return st, st
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

// maxLoopScan is how deep loops are looked into one by one; deeper ones count as changing the
// directory when the text does, so that the cost stays linear.
const maxLoopScan = 8

// loopState is where a loop's body may stand: when it changes the directory, each round may begin
// elsewhere.
func (w *walker) loopState(st *dirs, parts ...[]*syntax.Stmt) *dirs {
	if !w.mayMove() {
		return st
	}
	for _, list := range parts {
		for _, s := range list {
			if w.loops >= maxLoopScan || w.movesIn(s) {
				return w.anywhere(st)
			}
		}
	}
	return st
}

func (w *walker) forClause(c *syntax.ForClause, st *dirs, h held) (ok, fail *dirs) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		w.headerWords(l.Items, st, h)
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
	var subs []substitution
	var flags wordFlag
	for _, word := range words {
		if word != nil {
			got := w.r.read(word, &subs)
			flags |= got.flags
		}
	}
	if flags&(flagEvals|flagArith) != 0 {
		i := w.add(Part{Kind: Arithmetic, Parent: h.parent, Context: h.context, Background: h.background, WhyNot: "a word evaluates text stored in a variable"}, st)
		if flags&flagEvals != 0 {
			w.acc.Parts[i].Unknown = []string{"a word evaluates text stored in a variable"}
		}
	}
	for _, s := range subs {
		w.stmts(s.stmts, st, held{parent: h.parent, context: Bare, background: h.background})
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
	var subs []substitution
	words := []Word{staticWord("[[")}
	var collect func(x syntax.TestExpr)
	collect = func(x syntax.TestExpr) {
		switch x := x.(type) {
		case *syntax.Word:
			words = append(words, w.r.read(x, &subs))
		case *syntax.UnaryTest:
			words = append(words, staticWord(x.Op.String()))
			collect(x.X)
		case *syntax.BinaryTest:
			collect(x.X)
			words = append(words, staticWord(x.Op.String()))
			collect(x.Y)
		case *syntax.ParenTest:
			collect(x.X)
		}
	}
	collect(c.X)
	for i := range words { // patterns here are compared, never expanded to file names
		words[i].flags &^= flagGlob
		if words[i].flags&(flagUnknown|flagTilde|flagHome|flagPwd) == 0 {
			words[i].flags |= flagStatic
		}
	}
	p := Part{Kind: Command, Source: w.r.source(c), Words: words, Forms: []Form{{Name: "[["}}, Parent: h.parent, Context: h.context, Background: h.background}
	p.noteEvals()
	i := w.add(p, st)
	w.acc.Parts[i].setCanon()
	w.settle(i, st)
	for _, s := range subs {
		w.stmts(s.stmts, st, held{parent: i, context: Quoted, background: h.background})
	}
}

func (w *walker) declClause(c *syntax.DeclClause, st *dirs, h held) {
	p := Part{Kind: Declaration, Source: w.r.source(c), Parent: h.parent, Context: h.context, Background: h.background}
	var subs []substitution
	p.Words = append(p.Words, staticWord(c.Variant.Value))
	p.WhyNot = c.Variant.Value + " changes what later commands see"
	for _, a := range c.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			word := w.r.read(a.Value, &subs)
			p.Words = append(p.Words, word)
			p.Assigns = append(p.Assigns, Assign{Name: word.Text, Naked: true, Odd: true})
			continue
		}
		p.Assigns = append(p.Assigns, w.assign(a, &subs))
		p.Words = append(p.Words, Word{Text: w.r.source(a), Canon: w.r.source(a), Value: w.r.source(a), flags: flagUnknown})
	}
	p.Forms = []Form{{Name: c.Variant.Value}}
	p.noteEvals()
	i := w.add(p, st)
	w.acc.Parts[i].setCanon()
	for _, s := range subs {
		w.stmts(s.stmts, st, held{parent: i, context: Value, background: h.background})
	}
}

// opaque adds a part of which only the substitutions are known.
func (w *walker) opaque(n syntax.Node, kind PartKind, why string, st *dirs, h held) int {
	src := w.r.source(n)
	p := Part{Kind: kind, Source: src, Parent: h.parent, Context: h.context, Background: h.background, WhyNot: why}
	if kind == Command {
		p.Words = []Word{{Text: src, Canon: src, flags: flagUnknown}}
		p.Forms = []Form{{}}
	}
	i := w.add(p, st)
	w.acc.Parts[i].setCanon()
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts, st, held{parent: i, context: Value, background: h.background})
			return false
		case *syntax.ProcSubst:
			w.stmts(n.Stmts, st, held{parent: i, context: Value, background: h.background})
			return false
		}
		return true
	})
	return i
}

func (w *walker) assign(a *syntax.Assign, subs *[]substitution) Assign {
	out := Assign{Naked: a.Naked, Odd: a.Append || a.Index != nil || a.Array != nil}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Value != nil {
		v := w.r.read(a.Value, subs)
		out.evals = v.flags&flagEvals != 0
		out.Static = v.flags&(flagUnknown|flagTilde|flagHome|flagPwd) == 0
		out.Value = v.Value
	} else {
		out.Static = !out.Odd
	}
	for _, n := range []syntax.Node{nodeOrNil(a.Index), nodeOrNil(a.Array)} {
		if n == nil {
			continue
		}
		e := wordEval{r: &w.r, subs: subs}
		e.nested(n, false)
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
	p.Moved = st.unknown || len(st.list) != 1 || st.list[0] != w.opt.Cwd
	p.dirs = st
	w.acc.Parts = append(w.acc.Parts, p)
	w.acc.Commands++
	return len(w.acc.Parts) - 1
}

// redirs notes the redirections of part i.
func (w *walker) redirs(i int, list []*syntax.Redirect, st *dirs) {
	for _, r := range list {
		var subs []substitution
		w.redir(&w.acc.Parts[i], r, st, &subs)
		for _, s := range subs {
			w.stmts(s.stmts, st, held{parent: i, context: Target, background: w.acc.Parts[i].Background})
		}
	}
}

func (w *walker) redir(p *Part, r *syntax.Redirect, st *dirs, subs *[]substitution) {
	out := Redir{Op: r.Op.String()}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			out.Target = w.hereDocument(r, subs)
		}
		out.Inert = true
		if out.Target.Unknown() {
			p.Loose = append(p.Loose, "the here-document holds text that is only known at run time")
		}
		p.Redirs = append(p.Redirs, out)
		return
	case syntax.WordHdoc:
		out.Target = w.r.read(r.Word, subs)
		out.Inert = true
		if out.Target.Unknown() {
			p.Loose = append(p.Loose, "the here-string is only known at run time")
		}
		p.Redirs = append(p.Redirs, out)
		return
	}
	out.Target = w.r.read(r.Word, subs)
	if hasBrace(r.Word) {
		out.Target.flags = out.Target.flags&^flagStatic | flagUnknown
	}
	t := &out.Target
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		switch {
		case t.Static() && isDescriptor(t.Text):
			out.Inert = true
			p.Redirs = append(p.Redirs, out)
			return
		case t.Unknown():
			out.Odd = "a descriptor that is only known at run time"
			p.Loose = append(p.Loose, out.Odd)
		}
	}
	intent := Write
	if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
		intent = Read
	}
	if t.Static() && inertDevice(t.Text, intent) {
		out.Inert = true
	} else {
		n := len(p.Uses)
		w.addUse(p, st, t, t.Value, intent, false)
		for k := n; k < len(p.Uses); k++ {
			p.Uses[k].Redirect = true
		}
	}
	p.Redirs = append(p.Redirs, out)
}

// hereDocument reads the body of a here-document, which is like double quotes unless its
// delimiter was quoted.
func (w *walker) hereDocument(r *syntax.Redirect, subs *[]substitution) Word {
	quoted := false
	for _, p := range r.Word.Parts {
		lit, ok := p.(*syntax.Lit)
		quoted = quoted || !ok || strings.Contains(lit.Value, `\`)
	}
	w.r.buf, w.r.pat = w.r.buf[:0], w.r.pat[:0]
	e := wordEval{r: &w.r, prefix: -1, subs: subs}
	for _, p := range r.Hdoc.Parts {
		if lit, ok := p.(*syntax.Lit); ok && quoted {
			e.str(lit.Value)
			continue
		}
		e.part(p, false, true)
	}
	out := Word{Text: string(w.r.buf), Value: string(w.r.buf), Prefix: len(w.r.buf), flags: e.flags &^ (flagHome | flagPwd)}
	if e.flags&flagUnknown == 0 {
		out.flags |= flagStatic
	} else {
		out.Prefix = e.prefix
	}
	return out
}

func isDescriptor(s string) bool {
	s = strings.TrimSuffix(s, "-")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// inertDevice tells the devices that keep nothing.
func inertDevice(p string, intent Intent) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr":
		return true
	case "/dev/stdin":
		return intent == Read
	}
	return false
}

// addUse notes that a part touches the path that is value of word.
func (w *walker) addUse(p *Part, st *dirs, word *Word, value string, intent Intent, below bool) {
	u := PathUse{
		Text: word.Text, Intent: intent, Glob: word.Glob(), Unknown: word.Unknown(), Tilde: word.flags&flagTilde != 0,
		Expands: word.flags&(flagTilde|flagHome|flagPwd) != 0,
		Below:   below, Recognise: true, Slash: len(value) > 1 && strings.HasSuffix(value, "/"),
	}
	if word.Static() && len(value) != len(word.Value) {
		u.Text = value
	}
	if !u.Glob && !u.Unknown && inertDevice(value, intent) {
		return
	}
	if word.Static() && strings.HasPrefix(value, "~") && value != word.Value { // --opt=~/x, of=~/x
		if rest, ok := strings.CutPrefix(value, "~/"); ok && w.r.home != "" {
			value, u.Tilde, u.Expands = w.r.home+"/"+rest, true, true
		}
	}
	u.Rooted, u.Selected = word.Prefix > 0, word.flags&flagSelected != 0
	u.Network = strings.HasPrefix(value, "/dev/tcp/") || strings.HasPrefix(value, "/dev/udp/")
	w.place(p, st, u, value)
}

// place makes the path absolute: one use for each directory the shell may stand in.
func (w *walker) place(p *Part, st *dirs, u PathUse, value string) {
	if u.Unknown && value == "" {
		u.Unbased = true
	}
	if strings.HasPrefix(value, "/") {
		u.Path = path.Clean(value)
		if u.Unknown {
			u.Empty = u.Path
		}
		p.Uses = append(p.Uses, u)
		return
	}
	u.Unbased = u.Unbased || st.unknown || p.Elsewhere
	for _, d := range st.list {
		u.Path = path.Clean(d + "/" + value)
		if u.Unknown {
			u.Empty = ""
			if value != "" {
				u.Empty = u.Path
			}
		}
		p.Uses = append(p.Uses, u)
	}
}
