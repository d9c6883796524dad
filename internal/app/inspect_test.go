package app

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/app/inspect"
)

// Run "go test ./internal/app -run TestStatePageIsCurrent -update" after a change of the types.
var update = flag.Bool("update", false, "write the tables of docs/state.md anew")

const statePage = "../../docs/state.md"

// tablesBegin is the line of docs/state.md behind which the generated tables are.
const tablesBegin = "## The fields\n"

func TestStatePageIsCurrent(t *testing.T) {
	raw, err := os.ReadFile(statePage)
	if err != nil {
		t.Fatal(err)
	}
	head, got, ok := strings.Cut(string(raw), tablesBegin)
	if !ok {
		t.Fatalf("%s has no line %q", statePage, tablesBegin)
	}
	want := fieldsTable()
	if *update {
		if err := os.WriteFile(statePage, []byte(head+tablesBegin+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("docs/state.md is not what the types say; run this test with -update")
	}
}

func TestEveryFieldHasLifetimeAndWriter(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range StateShape().Fields() {
		if f.Lifetime == "" || f.Writer == "" || f.Type == "" {
			t.Errorf("%s: lifetime %q, writer %q, type %q", f.Name, f.Lifetime, f.Writer, f.Type)
		}
		if seen[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		seen[f.Name] = true
	}
	for name := range StateShape().Writers {
		if !slices.ContainsFunc(StateShape().Fields(), func(f inspect.Field) bool { return f.Name == name || strings.HasPrefix(f.Name, name+".") }) {
			t.Errorf("a writer is named for %s, which is not there", name)
		}
	}
}

func TestNoStructOfTheStateIsLarge(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(x reflect.Type) {
		if seen[x] {
			return
		}
		seen[x] = true
		switch x.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(x.Elem())
		case reflect.Map:
			walk(x.Key())
			walk(x.Elem())
		case reflect.Struct:
			if !strings.Contains(x.PkgPath(), "/internal/") {
				return
			}
			if n := x.NumField(); n > 25 {
				t.Errorf("%s has %d fields", x, n)
			}
			for i := range x.NumField() {
				walk(x.Field(i).Type)
			}
			if get, ok := x.MethodByName("Get"); ok && get.Type.NumOut() > 0 { // a persistent map
				walk(get.Type.Out(0))
			}
		case reflect.Func, reflect.Chan:
			t.Errorf("the state holds a %s", x)
		}
	}
	for i := range reflect.TypeFor[State]().NumField() {
		walk(reflect.TypeFor[State]().Field(i).Type.Elem())
	}
}

// fieldsTable is the list of fields as docs/state.md has it: a table a slice.
func fieldsTable() string {
	shape := StateShape()
	var b strings.Builder
	last := ""
	for _, f := range shape.Fields() {
		slice, _, _ := strings.Cut(f.Name, ".")
		if slice != last {
			fmt.Fprintf(&b, "\n### %s\n\nLives as long as the %s. Written by %s.\n\n| field | type | written otherwise |\n|---|---|---|\n", slice, f.Lifetime, shape.Writers[slice])
			last = slice
		}
		other := ""
		if f.Writer != shape.Writers[slice] {
			other = f.Writer
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, strings.ReplaceAll(f.Type, "|", `\|`), other)
	}
	return b.String()
}
