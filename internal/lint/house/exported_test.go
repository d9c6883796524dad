package house_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// export is an exported name at the top of a package.
type export struct{ place, name string }

// names collects exported names, who uses them, and which of them a declaration shows with itself.
type names struct {
	declared map[export]bool
	shows    map[export][]string // exported names of the same package in its signature, fields or value
	used     map[export]bool
}

// unusedNames finds exported functions, types, constants and variables that no other package uses, as a
// name of its own or with one that is used: a type in a signature is used with its function, a value of an
// enumeration with its type. Methods are left to deadcode, which knows the interfaces they satisfy.
func unusedNames(t *testing.T) map[excess]int {
	t.Helper()
	n := names{map[export]bool{}, map[export][]string{}, map[export]bool{}}
	sources(t, func(path string, _ *token.FileSet, file *ast.File) {
		place := placeOf(path)
		if file.Name.Name != "main" && !testOnly(place) {
			n.declare(place, file)
		}
		n.use(place, file)
	})
	for more := true; more; {
		more = false
		for e := range n.used {
			for _, name := range n.shows[e] {
				shown := export{e.place, name}
				if n.declared[shown] && !n.used[shown] {
					n.used[shown], more = true, true
				}
			}
		}
	}
	out := map[excess]int{}
	for e := range n.declared {
		if !n.used[e] {
			out[excess{"unused", e.place, e.name}] = 1
		}
	}
	return out
}

// testOnly reports packages that exist for tests.
func testOnly(place string) bool {
	for _, dir := range []string{"internal/testkit", "internal/lint", "internal/bench", "internal/providers/contract", "internal/surface/fakeapi"} {
		if place == dir || strings.HasPrefix(place, dir+"/") {
			return true
		}
	}
	return false
}

func (n names) declare(place string, file *ast.File) {
	add := func(name string, shown ...ast.Node) {
		e := export{place, name}
		if !ast.IsExported(name) {
			return
		}
		n.declared[e] = true
		for _, s := range shown {
			n.shows[e] = append(n.shows[e], exportedIn(s)...)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name.Name, d.Type)
			} else if owner := receiver(d); ast.IsExported(owner) && d.Name.IsExported() {
				n.shows[export{place, owner}] = append(n.shows[export{place, owner}], exportedIn(d.Type)...)
			}
		case *ast.GenDecl:
			n.declareSpecs(place, d, add)
		}
	}
}

func (n names) declareSpecs(place string, d *ast.GenDecl, add func(string, ...ast.Node)) {
	var last ast.Expr // type of the constants of a group, as far as it was given
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			add(s.Name.Name, s.Type)
		case *ast.ValueSpec:
			if s.Type != nil || len(s.Values) > 0 {
				last = s.Type
			}
			for _, id := range s.Names {
				add(id.Name)
				if last == nil {
					continue
				}
				add(id.Name, last)
				if of, ok := last.(*ast.Ident); ok && d.Tok == token.CONST && id.IsExported() {
					owner := export{place, of.Name}
					n.shows[owner] = append(n.shows[owner], id.Name)
				}
			}
		}
	}
}

// exportedIn are the exported names that a node spells without a package before them.
func exportedIn(node ast.Node) []string {
	var out []string
	ast.Inspect(node, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.Ident:
			if x.IsExported() {
				out = append(out, x.Name)
			}
		}
		return true
	})
	return out
}

// use notes every name of another package that a file spells.
func (n names) use(place string, file *ast.File) {
	imports := map[string]string{} // local name → folder
	for _, i := range file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		folder, ours := strings.CutPrefix(path, module+"/")
		if !ours {
			continue
		}
		name := folder[strings.LastIndexByte(folder, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = folder
	}
	ast.Inspect(file, func(x ast.Node) bool {
		s, ok := x.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok {
			if folder := imports[id.Name]; folder != "" && folder != place {
				n.used[export{folder, s.Sel.Name}] = true
			}
		}
		return true
	})
}
