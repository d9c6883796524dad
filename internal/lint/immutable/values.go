package immutable

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// fieldsOf returns what is known of the fields of x beyond its own depth, keyed by a nil base: of a
// literal its elements, of a variable its fields, of & of either the same.
func (w *walk) fieldsOf(x ast.Expr) env {
	x = ast.Unparen(x)
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op.String() == "&" {
		x = ast.Unparen(u.X)
	} else if star, ok := x.(*ast.StarExpr); ok {
		x = ast.Unparen(star.X)
	}
	out := env{}
	if lit, ok := x.(*ast.CompositeLit); ok {
		w.literalFields(lit, "", out)
		return out
	}
	p, ok := w.pathOf(x)
	if !ok {
		return nil
	}
	for q, d := range w.env {
		if q.base == p.base && strings.HasPrefix(q.fields, p.fields+".") {
			out[path{nil, q.fields[len(p.fields):]}] = d
		}
	}
	return out
}

func (w *walk) literalFields(lit *ast.CompositeLit, prefix string, out env) {
	st, ok := w.pass.TypesInfo.TypeOf(lit).Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		name, value := "", e
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				name = id.Name
			}
			value = kv.Value
		} else if i < st.NumFields() {
			name = st.Field(i).Name()
		}
		at := prefix + "." + name
		quiet := *w
		quiet.report = false // the literal itself was looked at already
		out[path{nil, at}] = quiet.eval(value)
		for q, d := range quiet.fieldsOf(value) {
			out[path{nil, at + q.fields}] = d
		}
	}
}

func (w *walk) putFields(x ast.Expr, fields env) {
	p, ok := w.pathOf(x)
	if !ok {
		return
	}
	for q, d := range fields {
		w.env[path{p.base, p.fields + q.fields}] = d
	}
}

// pathOf returns the path of a variable or of a field of one.
func (w *walk) pathOf(x ast.Expr) (path, bool) {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		obj := w.pass.TypesInfo.ObjectOf(x)
		v, ok := obj.(*types.Var)
		return path{obj, ""}, ok && v.Parent() != w.pass.Pkg.Scope() && x.Name != "_"
	case *ast.SelectorExpr:
		if sel := w.pass.TypesInfo.Selections[x]; sel == nil || sel.Kind() != types.FieldVal {
			return path{}, false
		}
		p, ok := w.pathOf(x.X)
		return path{p.base, p.fields + "." + x.Sel.Name}, ok
	case *ast.StarExpr:
		return w.pathOf(x.X)
	}
	return path{}, false
}

// sharedPlace reports whether the place x denotes lies in shared memory.
func (w *walk) sharedPlace(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.SelectorExpr:
		sel := w.pass.TypesInfo.Selections[x]
		if sel == nil || sel.Kind() != types.FieldVal {
			return false
		}
		if sel.Indirect() {
			return w.quiet(x.X) == shared
		}
		return w.sharedPlace(x.X)
	case *ast.IndexExpr:
		if _, array := w.pass.TypesInfo.TypeOf(x.X).Underlying().(*types.Array); array {
			return w.sharedPlace(x.X)
		}
		return w.quiet(x.X) == shared
	case *ast.StarExpr:
		return w.quiet(x.X) == shared
	}
	return false
}

// quiet is eval without a report: of what was or will be looked at anyway.
func (w *walk) quiet(x ast.Expr) depth {
	q := *w
	q.report = false
	return q.eval(x)
}

// eval returns the depth of the value of x and reports the changes it makes.
func (w *walk) eval(x ast.Expr) depth {
	d := w.value(x)
	if t := w.pass.TypesInfo.TypeOf(x); t != nil && !hasRefs(t) {
		return clean
	}
	return d
}

func (w *walk) value(x ast.Expr) depth {
	switch x := x.(type) {
	case *ast.Ident:
		return w.env.lookup(path{w.pass.TypesInfo.ObjectOf(x), ""})
	case *ast.ParenExpr:
		return w.eval(x.X)
	case *ast.SelectorExpr:
		return w.selector(x)
	case *ast.IndexExpr:
		d := w.eval(x.X)
		w.eval(x.Index)
		if _, array := w.pass.TypesInfo.TypeOf(x.X).Underlying().(*types.Array); array {
			return d
		}
		return d.step()
	case *ast.SliceExpr:
		if _, array := w.pass.TypesInfo.TypeOf(x.X).Underlying().(*types.Array); array {
			return w.address(x.X)
		}
		return w.eval(x.X)
	case *ast.StarExpr:
		return w.eval(x.X).step()
	case *ast.UnaryExpr:
		if x.Op.String() == "&" {
			return w.address(x.X)
		}
		w.eval(x.X)
	case *ast.BinaryExpr:
		w.eval(x.X)
		w.eval(x.Y)
	case *ast.TypeAssertExpr:
		return w.eval(x.X)
	case *ast.CompositeLit:
		return w.composite(x)
	case *ast.FuncLit:
		w.literal(x, clean)
	case *ast.CallExpr:
		return w.call(x)
	}
	return clean
}

func (w *walk) selector(x *ast.SelectorExpr) depth {
	sel := w.pass.TypesInfo.Selections[x]
	if sel == nil || sel.Kind() != types.FieldVal {
		return clean
	}
	if p, ok := w.pathOf(x); ok {
		if d, ok := w.env[p]; ok {
			return d
		}
	}
	if named, ok := types.Unalias(sel.Recv()).(*types.Named); ok && isStoreType(named) && named.Obj().Name() == "Change" {
		return shared // Old and New
	}
	d := w.eval(x.X)
	if sel.Indirect() {
		return d.step()
	}
	return d
}

func (w *walk) address(x ast.Expr) depth {
	d := w.eval(x)
	if w.sharedPlace(x) {
		return shared
	}
	return d.behind()
}

func (w *walk) composite(x *ast.CompositeLit) depth {
	d := clean
	for _, e := range x.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		d = min(d, w.eval(e))
	}
	switch w.pass.TypesInfo.TypeOf(x).Underlying().(type) {
	case *types.Slice, *types.Map:
		return d.behind()
	}
	return d
}

func (w *walk) call(x *ast.CallExpr) depth {
	if tv := w.pass.TypesInfo.Types[x.Fun]; tv.IsType() { // a conversion
		return w.eval(x.Args[0])
	}
	switch callee := typeutil.Callee(w.pass.TypesInfo, x).(type) {
	case *types.Builtin:
		return w.builtin(callee.Name(), x)
	case *types.Func:
		return w.function(callee, x)
	}
	if lit, ok := ast.Unparen(x.Fun).(*ast.FuncLit); ok {
		w.literal(lit, clean)
	} else {
		w.eval(x.Fun)
	}
	for _, a := range x.Args {
		w.eval(a)
	}
	return clean
}

func isBuiltin(info *types.Info, call *ast.CallExpr, name string) bool {
	b, ok := typeutil.Callee(info, call).(*types.Builtin)
	return ok && b.Name() == name
}
