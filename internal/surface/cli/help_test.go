package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestHelpIsGrouped(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"resume", "--help"}} {
		help := run(t, surroundings{deps: Deps{Inert: inertFlags()}}, args...).out
		at := 0
		for _, head := range []string{"Session:", "Model:", "Permissions:", "Output:", "Tools:", "Advanced:"} {
			i := strings.Index(help, "\n"+head+"\n")
			if i < at {
				t.Fatalf("%v: %q does not stand in its place in\n%s", args, head, help)
			}
			at = i
		}
		for _, want := range []string{"mcp-config", "(no effect yet)", "(refused: cannot be heeded yet)", "--allowedTools is --allowed-tools"} {
			if !strings.Contains(help, want) {
				t.Errorf("%v: %q is missing in\n%s", args, want, help)
			}
		}
		if strings.Contains(help, "task-budget") {
			t.Errorf("%v: a flag that is only accepted is offered", args)
		}
	}
}

// Every flag has a group, and is in the help of a narrow window as of a wide one.
func TestHelpFitsTheWindow(t *testing.T) {
	for _, columns := range []int{0, 40, 60, 120} {
		c := &command{process: Process{Columns: columns}, deps: Deps{Inert: inertFlags()}}
		root := c.root()
		help := usage(root, c.flags.groups(), c.process.columns())
		for _, name := range flagNames(root.Flags()) {
			if !strings.Contains(help, "--"+name) {
				t.Errorf("%d columns: --%s is missing", columns, name)
			}
		}
		if columns < 100 {
			continue
		}
		for l := range strings.Lines(help) {
			if ansi.StringWidth(strings.TrimRight(l, "\n")) > columns {
				t.Errorf("%d columns: %q", columns, l)
			}
		}
	}
	f := &Flags{}
	for _, g := range f.groups() {
		if !slices.Contains([]string{"Session", "Model", "Permissions", "Output", "Tools", "Advanced"}, g.title) {
			t.Errorf("group %q", g.title)
		}
	}
}
