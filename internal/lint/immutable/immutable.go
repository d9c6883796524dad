// Package immutable is an analyzer that reports code which changes in place what it got from a
// store: an assignment, append, map write, delete or sort through anything reached from the result
// of Get, the argument of an update given to Set, or the old and new of a watcher. A value of a
// store is shared by everybody who reads it, so whoever wants another one makes a copy.
//
// It follows values through variables, fields, copies, clones, loops and calls, within a function
// statement by statement and between functions by summaries (across packages as facts). What it
// cannot follow it does not report: values kept in fields of other objects, passed through
// channels, or to functions held in variables. The build tag storecheck covers those at run time.
//
// Begin with [Analyzer]; internal/lint/cmd/immutable makes a program of it for go vet -vettool.
package immutable

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer reports changes of shared state in place.
var Analyzer = &analysis.Analyzer{
	Name:      "immutable",
	Doc:       "report code that changes in place what it got from a store",
	Run:       run,
	FactTypes: []analysis.Fact{new(summary)},
}

// storePath and mapPath end the import paths of the packages whose meaning is built in.
const (
	module    = "github.com/myelin-agent/myelin"
	storePath = "core/store"
	mapPath   = "sys/pmap"
)

// summary is what callers need to know of a function: for each parameter (the receiver first)
// how deep the function changes what is behind it (0: not at all, 1: what an argument of depth 0
// shares, 2: also what an argument of depth 1 shares), and how deep in the result it lies.
type summary struct {
	Changes []depth
	Returns []depth
}

// AFact marks summary as a fact about a function.
func (*summary) AFact() {}

// String shows the summary in tests.
func (s *summary) String() string { return fmt.Sprintf("changes %v returns %v", s.Changes, s.Returns) }

type checker struct {
	pass      *analysis.Pass
	summaries map[*types.Func]*summary
	states    []types.Type         // the types that stores and slices of this package hold
	updates   map[*types.Func]bool // functions handed to a store by name
	told      map[token.Pos]bool   // what was reported: loops are gone through twice
}

func run(pass *analysis.Pass) (any, error) {
	c := &checker{pass: pass, summaries: map[*types.Func]*summary{}, updates: map[*types.Func]bool{}, told: map[token.Pos]bool{}}
	if path := pass.Pkg.Path(); !strings.HasPrefix(path, module) || strings.HasSuffix(path, storePath) {
		return nil, nil // not ours, or the store itself
	}
	c.findStates()
	c.summarise()
	for _, f := range pass.Files {
		for _, d := range f.Decls {
			c.checkDecl(d)
		}
	}
	for fn, s := range c.summaries {
		if s.tells() {
			pass.ExportObjectFact(fn, s)
		}
	}
	return nil, nil
}

func (s *summary) tells() bool {
	for i := range s.Changes {
		if s.Changes[i] != 0 || s.Returns[i] != clean {
			return true
		}
	}
	return false
}

func (c *checker) checkDecl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Body == nil {
			return
		}
		w := &walk{checker: c, env: env{}, report: true}
		if fn, ok := c.pass.TypesInfo.Defs[d.Name].(*types.Func); ok {
			w.params(d.Type, c.updates[fn] || c.isUpdate(fn.Signature()))
		}
		w.block(d.Body.List)
	case *ast.GenDecl: // function literals in package variables
		w := &walk{checker: c, env: env{}, report: true}
		ast.Inspect(d, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok {
				w.literal(lit, clean)
				return false
			}
			return true
		})
	}
}

// findStates collects the types held by stores, and the functions handed to them by name.
func (c *checker) findStates() {
	seen := map[string]bool{}
	for _, tv := range c.pass.TypesInfo.Types {
		named, ok := types.Unalias(tv.Type).(*types.Named)
		if !ok || !isStoreType(named) || named.TypeArgs().Len() != 1 {
			continue
		}
		if t := named.TypeArgs().At(0); !seen[t.String()] {
			seen[t.String()] = true
			c.states = append(c.states, t)
		}
	}
	for _, f := range c.pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !c.givesToStore(call) {
				return true
			}
			for _, arg := range call.Args {
				if fn, ok := typeutil.Callee(c.pass.TypesInfo, &ast.CallExpr{Fun: arg}).(*types.Func); ok {
					c.updates[fn] = true
				}
			}
			return true
		})
	}
}

// summarise computes what each function of the package does to its parameters, until nothing new
// is learnt: functions may call each other.
func (c *checker) summarise() {
	for changed, rounds := true, 0; changed && rounds < 10; rounds++ {
		changed = false
		for _, f := range c.pass.Files {
			for _, d := range f.Decls {
				if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil && c.summariseOne(fd) {
					changed = true
				}
			}
		}
	}
}

func (c *checker) summariseOne(d *ast.FuncDecl) (changed bool) {
	fn, ok := c.pass.TypesInfo.Defs[d.Name].(*types.Func)
	if !ok {
		return false
	}
	params := paramsOf(fn.Signature())
	old := c.summaries[fn]
	s := &summary{Changes: make([]depth, len(params)), Returns: make([]depth, len(params))}
	for i, p := range params {
		s.Returns[i] = clean
		if !hasRefs(p.Type()) {
			continue
		}
		for given := shared; given < 2; given++ {
			w := &walk{checker: c, env: env{path{p, ""}: given}, returns: clean}
			w.results(fn.Signature())
			w.block(d.Body.List)
			if w.changed {
				s.Changes[i] = given + 1
			}
			if given == shared {
				s.Returns[i] = w.returns
			}
		}
		changed = changed || old == nil || old.Changes[i] != s.Changes[i] || old.Returns[i] != s.Returns[i]
	}
	c.summaries[fn] = s
	return changed
}

func (c *checker) summaryOf(fn *types.Func) *summary {
	fn = fn.Origin()
	if s := c.summaries[fn]; s != nil {
		return s
	}
	var s summary
	if fn.Pkg() != nil && fn.Pkg() != c.pass.Pkg && c.pass.ImportObjectFact(fn, &s) {
		return &s
	}
	return nil
}

func paramsOf(sig *types.Signature) []*types.Var {
	var out []*types.Var
	if sig.Recv() != nil {
		out = append(out, sig.Recv())
	}
	for i := range sig.Params().Len() {
		out = append(out, sig.Params().At(i))
	}
	return out
}

// isUpdate reports whether a function looks like an update of a state of this package:
// func(*S) *S.
func (c *checker) isUpdate(sig *types.Signature) bool {
	if sig.Recv() != nil || sig.Params().Len() != 1 || sig.Results().Len() != 1 {
		return false
	}
	p, ok := sig.Params().At(0).Type().(*types.Pointer)
	if !ok || !types.Identical(p, sig.Results().At(0).Type()) {
		return false
	}
	for _, t := range c.states {
		if types.Identical(t, p.Elem()) {
			return true
		}
	}
	return false
}

// givesToStore reports whether call hands functions to a store that will get shared values.
func (c *checker) givesToStore(call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(c.pass.TypesInfo, call).(*types.Func)
	if !ok || fn.Pkg() == nil || !strings.HasSuffix(fn.Pkg().Path(), storePath) {
		return false
	}
	switch fn.Name() {
	case "Set", "Watch", "New", "Focus":
		return true
	}
	return false
}

// isStoreGet reports whether fn is Get of a store or slice.
func isStoreGet(fn *types.Func) bool {
	return fn.Name() == "Get" && fn.Pkg() != nil && strings.HasSuffix(fn.Pkg().Path(), storePath)
}

func isStoreType(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && strings.HasSuffix(named.Obj().Pkg().Path(), storePath)
}

// hasRefs reports whether a value of type t can lead to memory that another value shares.
func hasRefs(t types.Type) bool { return refs(t, map[types.Type]bool{}) }

func refs(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return p != nil // may be anything
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Array:
		return refs(u.Elem(), seen)
	case *types.Tuple:
		for i := range u.Len() {
			if refs(u.At(i).Type(), seen) {
				return true
			}
		}
		return false
	case *types.Struct:
		for f := range u.Fields() {
			if refs(f.Type(), seen) {
				return true
			}
		}
		return false
	}
	return true
}
