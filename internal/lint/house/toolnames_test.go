package house_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// ownWords are packages in which the name of a tool is a word of the package's own: the language of
// permission rules, the table of older names, texts for the model, and what plays a model.
var ownWords = []string{
	"internal/feature/permission", "internal/feature/prompt", "internal/core/tool", "internal/providers/offline",
	"internal/providers/script",
}

// spelledNames finds tools that are known by name outside of their folder: what others need to know of a
// tool, it says in its tool.Spec.
func spelledNames(t *testing.T) map[excess]int {
	t.Helper()
	names := map[string]bool{}
	sources(t, func(path string, _ *token.FileSet, file *ast.File) {
		if strings.HasPrefix(placeOf(path), "internal/tools/") {
			toolNames(file, names)
		}
	})
	if len(names) < 15 {
		t.Fatalf("only %d tools were found: %v", len(names), names)
	}
	out := map[excess]int{}
	sources(t, func(path string, _ *token.FileSet, file *ast.File) {
		place := placeOf(path)
		for _, own := range ownWords {
			if place == own {
				return
			}
		}
		if testOnly(place) || strings.HasPrefix(place, "internal/tools/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && names[s] {
					out[excess{"spells", place, s}]++
				}
			}
			return true
		})
	})
	return out
}

// toolNames collects the names of the tools of a file: the field Name of a Spec, written out or by a
// constant of the package.
func toolNames(file *ast.File, names map[string]bool) {
	constants := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		for i := 0; ok && i < len(v.Names) && i < len(v.Values); i++ {
			if lit, isText := v.Values[i].(*ast.BasicLit); isText && lit.Kind == token.STRING {
				constants[v.Names[i].Name], _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if s, isSel := c.Type.(*ast.SelectorExpr); !isSel || s.Sel.Name != "Spec" {
			return true
		}
		for _, e := range c.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if k, ok := kv.Key.(*ast.Ident); !ok || k.Name != "Name" {
				continue
			}
			switch v := kv.Value.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(v.Value); err == nil {
					names[s] = true
				}
			case *ast.Ident:
				if constants[v.Name] != "" {
					names[constants[v.Name]] = true
				}
			}
		}
		return true
	})
}
