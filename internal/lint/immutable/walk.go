package immutable

import (
	"go/ast"
	"go/types"
	"maps"
	"strings"
)

// depth says how many steps through a reference (pointer, slice, map) lead from a value to memory
// of one's own before the next step lands in shared memory. A pointer out of a store has depth 0,
// a struct copied out of it 0 too (its own fields are no step), a pointer to such a copy 1.
type depth uint8

const (
	shared depth = 0
	clean  depth = 200 // never
)

// step is one reference followed.
func (d depth) step() depth {
	if d == shared || d == clean {
		return d
	}
	return d - 1
}

// behind is the depth of a new reference to a value of depth d.
func (d depth) behind() depth {
	if d == clean {
		return d
	}
	return min(d+1, clean-1)
}

// path is a variable, or a field of it: "", ".Items", ".Total.ByModel".
type path struct {
	base   types.Object
	fields string
}

// env is what is known at one point of a function. A path without an entry follows from its parent.
type env map[path]depth

func (e env) join(other env) env {
	out := maps.Clone(e)
	for p, d := range other {
		out[p] = min(d, e.lookup(p))
	}
	for p, d := range e {
		out[p] = min(d, other.lookup(p))
	}
	return out
}

// lookup returns the depth of p: what was noted for it, or else what follows from the nearest
// parent of which something was, with one step taken, since most fields are reached by a pointer.
func (e env) lookup(p path) depth {
	if d, ok := e[p]; ok {
		return d
	}
	for p.fields != "" {
		p.fields = p.fields[:strings.LastIndexByte(p.fields, '.')]
		if d, ok := e[p]; ok {
			return d.step()
		}
	}
	return clean
}

// forget drops what is known of the fields of p.
func (e env) forget(p path) {
	for q := range e {
		if q.base == p.base && strings.HasPrefix(q.fields, p.fields+".") {
			delete(e, q)
		}
	}
}

// walk goes through one function, statement by statement.
type walk struct {
	*checker
	env     env
	report  bool  // tell what is found; a summary only counts
	changed bool  // something shared was changed
	returns depth // least depth of what was returned
	named   []types.Object
	dead    bool // after return, break, continue, panic
}

// params enters the parameters of a function: shared ones when it is handed to a store.
func (w *walk) params(t *ast.FuncType, given bool) {
	for _, f := range t.Params.List {
		for _, name := range f.Names {
			if obj := w.pass.TypesInfo.Defs[name]; given && obj != nil && hasRefs(obj.Type()) {
				w.env[path{obj, ""}] = shared
			}
		}
	}
}

func (w *walk) results(sig *types.Signature) {
	for i := range sig.Results().Len() {
		w.named = append(w.named, sig.Results().At(i))
	}
}

// literal goes through a function literal. given is the depth of its parameters.
func (w *walk) literal(lit *ast.FuncLit, given depth) {
	in := &walk{checker: w.checker, env: maps.Clone(w.env), report: w.report, returns: clean}
	sig, _ := w.pass.TypesInfo.TypeOf(lit).(*types.Signature)
	if sig != nil && w.isUpdate(sig) {
		given = shared
	}
	for _, f := range lit.Type.Params.List {
		for _, name := range f.Names {
			if obj := w.pass.TypesInfo.Defs[name]; given != clean && obj != nil && hasRefs(obj.Type()) {
				in.env[path{obj, ""}] = given
			}
		}
	}
	in.block(lit.Body.List)
	w.changed = w.changed || in.changed
}

func (w *walk) block(list []ast.Stmt) {
	for _, s := range list {
		if w.dead {
			return
		}
		w.stmt(s)
	}
}

// branches runs each of several ways on the present state and joins where they come out. When
// skip is set, none of them may be taken.
func (w *walk) branches(skip bool, ways ...func()) {
	before := w.env
	var out env
	if skip {
		out = maps.Clone(before)
	}
	for _, way := range ways {
		w.env, w.dead = maps.Clone(before), false
		way()
		switch {
		case w.dead:
		case out == nil:
			out = w.env
		default:
			out = out.join(w.env)
		}
	}
	w.dead = out == nil
	w.env = out
	if out == nil {
		w.env = before
	}
}

func (w *walk) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		w.eval(s.X)
		if call, ok := s.X.(*ast.CallExpr); ok && isBuiltin(w.pass.TypesInfo, call, "panic") {
			w.dead = true
		}
	case *ast.AssignStmt:
		w.assign(s.Lhs, s.Rhs)
	case *ast.IncDecStmt:
		w.write(s.X)
	case *ast.DeclStmt:
		w.declare(s)
	case *ast.ReturnStmt:
		w.ret(s)
	case *ast.BranchStmt:
		w.dead = true
	case *ast.BlockStmt:
		w.block(s.List)
	case *ast.LabeledStmt:
		w.stmt(s.Stmt)
	case *ast.GoStmt:
		w.eval(s.Call)
	case *ast.DeferStmt:
		w.eval(s.Call)
	case *ast.SendStmt:
		w.eval(s.Chan)
		w.eval(s.Value)
	default:
		w.control(s)
	}
}

func (w *walk) control(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.IfStmt:
		w.init(s.Init)
		w.eval(s.Cond)
		if s.Else == nil {
			w.branches(true, func() { w.block(s.Body.List) })
			return
		}
		w.branches(false, func() { w.block(s.Body.List) }, func() { w.stmt(s.Else) })
	case *ast.ForStmt:
		w.init(s.Init)
		w.loop(s.Cond == nil, func() {
			if s.Cond != nil {
				w.eval(s.Cond)
			}
			w.block(s.Body.List)
			w.dead = false
			w.init(s.Post)
		})
	case *ast.RangeStmt:
		over := w.eval(s.X)
		w.loop(false, func() {
			w.rangeVars(s, over)
			w.block(s.Body.List)
			w.dead = false
		})
	case *ast.SwitchStmt:
		w.init(s.Init)
		if s.Tag != nil {
			w.eval(s.Tag)
		}
		w.clauses(s.Body, nil, clean)
	case *ast.TypeSwitchStmt:
		w.init(s.Init)
		d, x := clean, ast.Expr(nil)
		switch a := s.Assign.(type) {
		case *ast.AssignStmt:
			x = a.Rhs[0]
		case *ast.ExprStmt:
			x = a.X
		}
		d = w.eval(x)
		w.clauses(s.Body, w.pass.TypesInfo.Implicits, d)
	case *ast.SelectStmt:
		w.clauses(s.Body, nil, clean)
	}
}

func (w *walk) init(s ast.Stmt) {
	if s != nil {
		w.stmt(s)
	}
}

// loop runs a body twice, so that what one round leaves behind is seen by the next.
func (w *walk) loop(forever bool, body func()) {
	for range 2 {
		w.branches(!forever, body)
		w.dead = false
	}
}

func (w *walk) clauses(body *ast.BlockStmt, implicits map[ast.Node]types.Object, d depth) {
	var ways []func()
	whole := false // a default or select: one of the ways is taken
	for _, c := range body.List {
		switch c := c.(type) {
		case *ast.CaseClause:
			whole = whole || c.List == nil
			ways = append(ways, func() {
				if obj := implicits[c]; obj != nil && hasRefs(obj.Type()) {
					w.env[path{obj, ""}] = d
				}
				for _, e := range c.List {
					if w.pass.TypesInfo.Types[e].IsValue() {
						w.eval(e)
					}
				}
				w.breakable(c.Body)
			})
		case *ast.CommClause:
			whole = true
			ways = append(ways, func() {
				w.init(c.Comm)
				w.breakable(c.Body)
			})
		}
	}
	w.branches(!whole, ways...)
}

// breakable runs the body of a clause: a break in it goes on behind the switch.
func (w *walk) breakable(body []ast.Stmt) {
	w.block(body)
	if n := len(body); w.dead && n > 0 {
		if b, ok := body[n-1].(*ast.BranchStmt); ok && b.Label == nil && b.Tok.String() == "break" {
			w.dead = false
		}
	}
}

func (w *walk) rangeVars(s *ast.RangeStmt, over depth) {
	d := over
	if _, array := w.pass.TypesInfo.TypeOf(s.X).Underlying().(*types.Array); !array {
		d = over.step()
	}
	for _, x := range []ast.Expr{s.Key, s.Value} {
		if x != nil {
			w.put(x, d)
		}
	}
}

func (w *walk) declare(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range d.Specs {
		vs, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		lhs := make([]ast.Expr, len(vs.Names))
		for i, n := range vs.Names {
			lhs[i] = n
		}
		if len(vs.Values) > 0 {
			w.assign(lhs, vs.Values)
		}
	}
}

func (w *walk) ret(s *ast.ReturnStmt) {
	for _, x := range s.Results {
		if d := w.eval(x); hasRefs(w.pass.TypesInfo.TypeOf(x)) {
			w.returns = min(w.returns, d)
		}
	}
	if len(s.Results) == 0 {
		for _, obj := range w.named {
			w.returns = min(w.returns, w.env.lookup(path{obj, ""}))
		}
	}
	w.dead = true
}

func (w *walk) assign(lhs, rhs []ast.Expr) {
	if len(lhs) != len(rhs) { // one call, map read or assertion gives them all
		d := w.eval(rhs[0])
		for _, x := range lhs {
			w.put(x, d)
		}
		return
	}
	depths := make([]depth, len(rhs))
	subs := make([]env, len(rhs))
	for i, x := range rhs {
		depths[i], subs[i] = w.eval(x), w.fieldsOf(x)
	}
	for i, x := range lhs {
		w.put(x, depths[i])
		w.putFields(x, subs[i])
	}
}

// put gives the place x a value of depth d.
func (w *walk) put(x ast.Expr, d depth) {
	w.write(x)
	p, ok := w.pathOf(x)
	if !ok {
		return
	}
	w.env.forget(p)
	if !hasRefs(w.pass.TypesInfo.TypeOf(x)) {
		return
	}
	if _, behind := ast.Unparen(x).(*ast.StarExpr); behind { // the path is that of the pointer
		d = d.behind()
	}
	w.env[p] = d
}

// write reports x when it lies in shared memory.
func (w *walk) write(x ast.Expr) {
	if w.sharedPlace(x) {
		w.found(x, "assignment to")
	}
	switch x := ast.Unparen(x).(type) { // reading on the way
	case *ast.IndexExpr:
		w.eval(x.Index)
	case *ast.SelectorExpr:
		if call, ok := x.X.(*ast.CallExpr); ok {
			w.eval(call)
		}
	}
}

func (w *walk) found(x ast.Expr, what string) {
	w.changed = true
	if w.report && !w.told[x.Pos()] {
		w.told[x.Pos()] = true
		w.pass.ReportRangef(x, "%s %s changes in place what came from a store and is shared by all its readers: change a copy", what, types.ExprString(x))
	}
}
