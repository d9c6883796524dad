// Package house_test holds the rules of the house: who may import whom, what each package must say
// of itself, how wide a function and how large a call may be. Each failure prints its reason.
package house_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/myelin-agent/myelin"

// root is the checkout, seen from this package.
const root = "../../.."

type pkg struct {
	ImportPath string
	Doc        string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Doc,Imports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// floor is the place of a package in the house, and its room on that floor.
func floor(path string) (floor, room string) {
	rest, ok := strings.CutPrefix(path, module+"/")
	switch {
	case path == module:
		return "sdk", ""
	case !ok:
		return "", "" // not ours
	}
	parts := strings.Split(strings.TrimPrefix(rest, "internal/"), "/")
	if parts[0] == "cmd" {
		return parts[0], ""
	}
	if len(parts) == 1 {
		return parts[0], ""
	}
	return parts[0], parts[1]
}

// mayImport lists the floors below each floor. Imports may skip floors, never go up.
var mayImport = map[string][]string{
	"cmd":       {"surface", "app", "sys"},
	"sdk":       {"app", "core"},
	"surface":   {"app", "core", "sys"},
	"app":       {"tools", "feature", "providers", "core", "sys"},
	"tools":     {"feature", "core", "sys"},
	"feature":   {"core", "sys"},
	"providers": {"core", "sys"},
	"core":      {"sys"},
	"sys":       {},
}

// sideways are the imports allowed within one floor.
var sideways = map[string][]string{
	"core engine":     {"msg", "proto", "tool", "provider"},
	"core tool":       {"msg"},
	"core provider":   {"msg"},
	"core proto":      {"msg"},
	"sys fingerprint": {"nolink", "proc", "shellsyntax", "visible"},
	"sys sandbox":     {"gitrepo", "netname", "nolink", "proc", "protected", "watch"},
	"sys gitrepo":     {"nolink", "proc"},
	"sys search":      {"nolink", "textfile", "pathpattern"},
	"sys proc":        {"nolink"},
	"sys textfile":    {"atomicfile", "nearest", "nolink"},
	"sys twotier":     {"atomicfile"},
	"sys jsonc":       {"origin", "quote"},
	"sys frontmatter": {"origin"},
	"sys shellsyntax": {"visible"},
}

func allowed(from, to string) (bool, string) {
	f, room := floor(from)
	g, other := floor(to)
	if g == "" || from == to || g == "lint" && f == "lint" {
		return true, ""
	}
	if f == g {
		switch {
		case room == other, f == "app" && room == "": // parts of one room; the wiring knows every room of its floor
			return true, ""
		case f == "app" && other == "":
			return false, "a room of app does not know app: it is handed functions and slices"
		case slices.Contains(sideways[f+" "+room], other):
			return true, ""
		case f == "providers" && other == "wire", f == "providers" && room == "discover", f == "surface" && room == "cli", f == "surface" && other == "screen":
			return true, "" // what rooms of a floor share; discover and cli open the doors of theirs
		}
		return false, fmt.Sprintf("rooms of %s do not know each other; hand a function in, or move what both need down", f)
	}
	if f == "surface" && room == "fakeapi" && g == "providers" && other == "script" {
		return true, ""
	}
	if slices.Contains(mayImport[f], g) {
		return true, ""
	}
	return false, fmt.Sprintf("%s may import %v only", f, mayImport[f])
}

func TestImportRules(t *testing.T) {
	for _, p := range packages(t) {
		f, _ := floor(p.ImportPath)
		if f == "testkit" || f == "lint" || f == "bench" || f == "conformance" {
			continue // test code
		}
		if _, known := mayImport[f]; !known {
			t.Errorf("%s stands on no floor of the house (%s)", p.ImportPath, f)
			continue
		}
		features := map[string]bool{}
		for _, to := range p.Imports {
			g, other := floor(to)
			if ok, why := allowed(p.ImportPath, to); !ok {
				t.Errorf("%s imports %s: %s", p.ImportPath, to, why)
			}
			if g == "testkit" {
				t.Errorf("%s imports %s: test code does not belong into the product", p.ImportPath, to)
			}
			if g == "feature" {
				features[other] = true
			}
		}
		if f == "tools" && len(features) > 1 {
			t.Errorf("%s imports %d features; a tool may import the one whose state it changes", p.ImportPath, len(features))
		}
	}
}

func TestCoreIsPinned(t *testing.T) {
	var got []string
	for _, p := range packages(t) {
		if f, room := floor(p.ImportPath); f == "core" && !slices.Contains(got, room) {
			got = append(got, room)
		}
	}
	slices.Sort(got)
	want := []string{"engine", "msg", "proto", "provider", "store", "tool"}
	if !slices.Equal(got, want) {
		t.Errorf("core has the rooms %v, want %v: what everybody may import grows only on purpose", got, want)
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && !strings.Contains(p.ImportPath, "/lint/house") && !strings.Contains(p.ImportPath, "/bench") {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		for _, bad := range []string{"utils", "util", "common", "helpers", "helper", "shared", "manager", "misc"} {
			if slices.Contains(strings.Split(p.ImportPath, "/"), bad) {
				t.Errorf("%s: %q is no idea a folder can be named after", p.ImportPath, bad)
			}
		}
	}
}

func sources(t *testing.T, each func(path string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "conformance" || (strings.HasPrefix(d.Name(), ".") && path != root) || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err == nil {
			each(path, fset, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestParametersStayFew: a function with more than six parameters hides what it uses.
func TestParametersStayFew(t *testing.T) {
	sources(t, func(path string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncType)
			if !ok || f.Params == nil {
				return true
			}
			if n := f.Params.NumFields(); n > 6 {
				t.Errorf("%s: %d parameters, at most 6", fset.Position(f.Pos()), n)
			}
			return true
		})
	})
}

// TestStateStructsStaySmall: a slice of the state with more than 25 fields is two slices.
func TestStateStructsStaySmall(t *testing.T) {
	sources(t, func(path string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok || s.Name.Name != "State" && s.Name.Name != "Call" {
				return true
			}
			limit := 25
			if s.Name.Name == "Call" && strings.Contains(path, "core/tool") {
				limit = 8
			}
			if st, ok := s.Type.(*ast.StructType); ok && st.Fields.NumFields() > limit {
				t.Errorf("%s: %s has %d fields, at most %d", fset.Position(s.Pos()), s.Name.Name, st.Fields.NumFields(), limit)
			}
			return true
		})
	})
}

// TestOneProcedureDecides: a decided call is made by the gate alone, so that nothing runs past it.
func TestOneProcedureDecides(t *testing.T) {
	found := 0
	sources(t, func(path string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			f, ok := n.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Decide" {
				return true
			}
			if x, ok := f.X.(*ast.Ident); !ok || x.Name != "tool" {
				return true
			}
			if found++; filepath.Base(filepath.Dir(path)) != "gate" {
				t.Errorf("%s: calls are decided in app/gate alone", fset.Position(n.Pos()))
			}
			return true
		})
	})
	if found != 1 {
		t.Errorf("tool.Decide is called in %d places, want the one procedure in app/gate", found)
	}
}

// TestNoInit: nothing runs before main.
func TestNoInit(t *testing.T) {
	sources(t, func(path string, fset *token.FileSet, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init functions cost every start", fset.Position(f.Pos()))
			}
		}
	})
}

// TestNobodyOverridesErrDot: a program in the current directory must never be taken for one on PATH,
// so nobody asks for exec.ErrDot to go on all the same, or clears the error of a command.
func TestNobodyOverridesErrDot(t *testing.T) {
	sources(t, func(_ string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Is" && len(n.Args) == 2 {
					if s, ok := n.Args[1].(*ast.SelectorExpr); ok && s.Sel.Name == "ErrDot" {
						t.Errorf("%s: exec.ErrDot is not to be looked for: the refusal stands", fset.Position(n.Pos()))
					}
				}
			case *ast.AssignStmt:
				if s, ok := n.Lhs[0].(*ast.SelectorExpr); ok && s.Sel.Name == "Err" {
					if v, ok := n.Rhs[0].(*ast.Ident); ok && v.Name == "nil" {
						t.Errorf("%s: the error of a command is not to be cleared", fset.Position(n.Pos()))
					}
				}
			}
			return true
		})
	})
}
