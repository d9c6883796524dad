package immutable

import (
	"go/ast"
	"go/types"
	"strings"
)

// builtin handles the functions of the language itself.
func (w *walk) builtin(name string, x *ast.CallExpr) depth {
	depths := make([]depth, len(x.Args))
	for i, a := range x.Args {
		if !w.pass.TypesInfo.Types[a].IsType() {
			depths[i] = w.eval(a)
		} else {
			depths[i] = clean
		}
	}
	switch name {
	case "append":
		return w.append(x, depths)
	case "copy", "clear", "delete":
		if depths[0] == shared {
			w.found(x.Args[0], name+" on")
		}
	}
	return clean
}

// append writes behind the end of its first argument, where another value may have grown too,
// unless that was clipped.
func (w *walk) append(x *ast.CallExpr, depths []depth) depth {
	first := depths[0]
	rest := clean
	for i, d := range depths[1:] {
		if x.Ellipsis.IsValid() && i == len(depths)-2 {
			d = d.step()
		}
		rest = min(rest, d)
	}
	if clipped(x.Args[0]) {
		return min(first.step(), rest).behind()
	}
	if first == shared && len(depths) > 1 {
		w.found(x.Args[0], "append to")
		return shared
	}
	return min(first, rest.behind())
}

// clipped reports whether x has no room behind its end: s[:n:n], slices.Clip(s).
func clipped(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.SliceExpr:
		return x.Slice3 && types.ExprString(x.High) == types.ExprString(x.Max)
	case *ast.CallExpr:
		sel, ok := x.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Clip"
	}
	return false
}

// What functions of the standard library do with their first argument. Everything that is not
// listed reads only and returns nothing of it.
const (
	changesFirst  = "changes"
	copiesFirst   = "copies"  // a new container with the old elements
	returnsFirst  = "returns" // the argument, or a sequence of its elements
	changesSecond = "changes 2"
)

func known(pkg, name string) string {
	switch pkg + "." + name {
	case "slices.Sort", "slices.SortFunc", "slices.SortStableFunc", "slices.Reverse", "slices.Delete", "slices.DeleteFunc",
		"slices.Insert", "slices.Replace", "slices.Compact", "slices.CompactFunc", "slices.AppendSeq",
		"sort.Slice", "sort.SliceStable", "sort.Sort", "sort.Stable", "sort.Strings", "sort.Ints", "sort.Float64s",
		"maps.Copy", "maps.DeleteFunc", "maps.Insert":
		return changesFirst
	case "slices.Clone", "slices.Collect", "slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc", "slices.Concat",
		"slices.Repeat", "bytes.Clone", "maps.Clone", "maps.Collect":
		return copiesFirst
	case "slices.Clip", "slices.Grow", "slices.Values", "slices.All", "slices.Backward", "slices.Chunk", "maps.Values", "maps.Keys",
		"maps.All", "cmp.Or":
		return returnsFirst
	case "encoding/json.Unmarshal":
		return changesSecond
	}
	return ""
}

// function handles a call of a declared function or method.
func (w *walk) function(fn *types.Func, x *ast.CallExpr) depth {
	if isStoreGet(fn) {
		return shared
	}
	args, depths := w.arguments(fn, x)
	pkg := ""
	if fn.Pkg() != nil {
		pkg = fn.Pkg().Path()
	}
	if fn.Signature().Recv() != nil && strings.HasSuffix(pkg, mapPath) {
		return least(depths) // a persistent map: what is in it stays what it is
	}
	if fn.Signature().Recv() == nil && len(args) > 0 {
		switch known(pkg, fn.Name()) {
		case changesFirst:
			if depths[0] == shared && !clipped(args[0]) {
				w.found(args[0], fn.Name()+" on")
			}
			return min(depths[0], least(depths[1:]).behind())
		case copiesFirst:
			return least(depths).step().behind()
		case returnsFirst:
			return least(depths)
		case changesSecond:
			if len(depths) > 1 && depths[1] == shared {
				w.found(args[1], fn.Name()+" into")
			}
			return clean
		}
	}
	return w.summarised(fn, args, depths)
}

// arguments evaluates receiver and arguments. A function literal among them is gone through with
// what it will be given: shared values from a store, elements from slices and maps.
func (w *walk) arguments(fn *types.Func, x *ast.CallExpr) (args []ast.Expr, depths []depth) {
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		args, depths = append(args, sel.X), append(depths, w.receiver(fn, sel.X))
	}
	given := clean
	if w.givesToStore(x) {
		given = shared
	}
	for i, a := range x.Args {
		lit, ok := ast.Unparen(a).(*ast.FuncLit)
		d := clean
		switch {
		case !ok:
			d = w.eval(a)
		case given == clean && i > 0 && fn.Pkg() != nil && (fn.Pkg().Path() == "slices" || fn.Pkg().Path() == "maps"):
			w.literal(lit, depths[0].step())
		default:
			w.literal(lit, given)
		}
		args, depths = append(args, a), append(depths, d)
	}
	return args, depths
}

// receiver is the depth of what a method gets: &x where it wants a pointer and x is none.
func (w *walk) receiver(fn *types.Func, x ast.Expr) depth {
	_, wants := fn.Signature().Recv().Type().(*types.Pointer)
	_, has := w.pass.TypesInfo.TypeOf(x).Underlying().(*types.Pointer)
	if wants && !has {
		return w.address(x)
	}
	return w.eval(x)
}

func (w *walk) summarised(fn *types.Func, args []ast.Expr, depths []depth) depth {
	s := w.summaryOf(fn)
	if s == nil {
		return clean
	}
	out := clean
	for i, d := range depths {
		at := min(i, len(s.Changes)-1) // the arguments of a variadic function share its last parameter
		if at < 0 || d == clean {
			continue
		}
		if d == shared && s.Changes[at] > 0 || d < s.Changes[at] && len(w.fieldsOf(args[i])) == 0 {
			w.found(args[i], fn.Name()+", called with")
		}
		if s.Returns[at] != clean {
			out = min(out, d+s.Returns[at])
		}
	}
	return out
}

func least(depths []depth) depth {
	out := clean
	for _, d := range depths {
		out = min(out, d)
	}
	return out
}
