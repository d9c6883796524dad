package app

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

const (
	schemaFile   = "../../docs/settings.schema.json"
	settingsPage = "../../docs/settings.md"
)

// Run "go test ./internal/app -run Current -update" after a change of the declarations.
func TestSchemaFileIsCurrent(t *testing.T) {
	want, err := SettingsSchema()
	if err != nil {
		t.Fatal(err)
	}
	current(t, schemaFile, want)
}

// inertBegin is the line of docs/settings.md behind which the generated lists are.
const inertBegin = "## What has no effect yet\n"

func TestSettingsPageIsCurrent(t *testing.T) {
	raw, err := os.ReadFile(settingsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(raw), inertBegin)
	if !ok {
		t.Fatalf("%s has no line %q", settingsPage, inertBegin)
	}
	var b strings.Builder
	b.WriteString(head + inertBegin + "\nThese keys of the published format are known, kept, and named when they are set; nothing acts upon them in this\nrelease:\n\n")
	wrap(&b, slices.Collect(func(yield func(string) bool) {
		for _, e := range config.Effects(sections()...) {
			if e.By == "" && e.Lock == "" && !yield(e.Key) {
				return
			}
		}
	}))
	b.WriteString("\nThe same for these environment variables (`MYELIN_X` is `CLAUDE_CODE_X` as well):\n\n")
	wrap(&b, slices.Collect(func(yield func(string) bool) {
		for _, v := range config.VariableEffects(usedVariables()) {
			if v.By == "" && !yield(v.Name) {
				return
			}
		}
	}))
	current(t, settingsPage, []byte(b.String()))
}

func wrap(b *strings.Builder, names []string) {
	width := 0
	for i, n := range names {
		n = "`" + n + "`"
		if i < len(names)-1 {
			n += ","
		} else {
			n += "."
		}
		switch {
		case width == 0:
		case width+1+len(n) > 118:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(n)
		width += len(n)
	}
	b.WriteByte('\n')
}

func current(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the declarations say; run this test with -update", file)
	}
}

// declarations are the files that name keys and variables without acting upon them.
var declarations = []string{
	"app/keys.go", "app/confine/keys.go", "feature/config/keys.go", "feature/config/keys_surface.go", "feature/config/effects.go",
	"feature/config/variables.go", "feature/config/env.go", "feature/config/envblock.go",
	"feature/permission/shellparts.go", "sys/shellsyntax/programs.go", "app/inspect/doctor.go",
}

// literals are the texts of the program's sources, with the files that hold them.
func literals(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "lint" || d.Name() == "testkit" || d.Name() == "fakeapi"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || slices.Contains(declarations, rel):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out[s] = append(out[s], rel)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everyday are keys whose names are words that texts of other meanings hold too; mentioned are keys that the
// sources name without acting upon them: in a list of what has no effect, or of what is shown masked.
var (
	everyday  = []string{"agent", "verbose", "models", "theme", "tui", "voice"}
	mentioned = []string{
		"sandbox.network.tlsTerminate", "sandbox.credentials.allowPlaintextInject", "sandbox.credentials.awsPairs",
		"sandbox.credentials.sigv4", "sandbox.enableWeakerNetworkIsolation", "sandbox.allowAppleEvents", "sandbox.socatPath",
		"sandbox.ripgrep", "pluginConfigs", "enabledPlugins", "extraKnownMarketplaces",
	}
)

// TestKF115_WhatWorksIsWhatIsDeclared: a key or variable is declared as acted upon exactly if the sources
// name it where it is read.
func TestKF115_WhatWorksIsWhatIsDeclared(t *testing.T) {
	found := literals(t)
	for _, e := range config.Effects(sections()...) {
		read := len(found[e.Key]) > 0 || strings.HasPrefix(e.Key, "shaping.") // read by their common beginning
		switch {
		case e.By != "" && !read:
			t.Errorf("%s is declared by %s, and nothing reads it", e.Key, e.By)
		case e.By == "" && read && !slices.Contains(everyday, e.Key) && !slices.Contains(mentioned, e.Key):
			t.Errorf("%s is read by %v, and nobody declares it", e.Key, found[e.Key])
		}
		if e.By != "" {
			if _, err := os.Stat(filepath.Join("..", e.By)); err != nil && !strings.HasPrefix(e.By, "app/") {
				t.Errorf("%s is declared by %s, which is no folder", e.Key, e.By)
			}
		}
	}
	for _, v := range config.VariableEffects(usedVariables()) {
		if v.Holds {
			continue
		}
		read := len(found[v.Name]) > 0
		if rest, ok := strings.CutPrefix(v.Name, "MYELIN_"); ok {
			read = read || len(found["CLAUDE_CODE_"+rest]) > 0 || len(found[rest]) > 0
		}
		switch {
		case v.By != "" && !read:
			t.Errorf("%s is declared by %s, and nothing reads it", v.Name, v.By)
		case v.By == "" && read:
			t.Errorf("%s is read by %v, and nobody declares it", v.Name, found[v.Name])
		}
	}
	for owner, names := range usedVariables() {
		for _, name := range names {
			if !slices.ContainsFunc(config.VariableEffects(nil), func(v config.Variable) bool { return v.Name == name }) {
				t.Errorf("%s declares %s, which is not among the known variables", owner, name)
			}
		}
	}
}
