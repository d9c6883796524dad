package permission

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// commandList reads a list of commands, one a line.
func commandList(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(path.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// plainPolicy is a project without rules and without a sandbox.
func plainPolicy(rules ...Rule) Policy {
	dirs := Dirs{Cwd: "/home/dev/app", Home: "/home/dev", Project: "/home/dev/app"}
	return Policy{Mode: Default, Dirs: dirs, Files: noFiles(), Rules: Compile(rules, Env{Dirs: dirs})}
}

func decideShell(command string, pol Policy) Decision {
	return Decide(Request{Tool: "Bash", Literal: []byte(`{}`), Traits: tool.Traits{Command: command, Shell: true}}, pol)
}

func TestKF162_HarmlessCommandsDoNotAsk(t *testing.T) {
	list := commandList(t, "harmless.txt")
	if len(list) < 100 {
		t.Fatalf("only %d commands", len(list))
	}
	asked := 0
	for _, c := range list {
		if d := decideShell(c, plainPolicy()); d.Behavior != Allow {
			asked++
			t.Logf("%s: %s", c, d.Reason.Text)
		}
	}
	if asked*20 > len(list) {
		t.Errorf("%d of %d ask", asked, len(list))
	}
}

func TestKF162_LookAlikesAsk(t *testing.T) {
	for _, c := range commandList(t, "lookalikes.txt") {
		if d := decideShell(c, plainPolicy()); d.Behavior == Allow {
			t.Errorf("%s: allowed: %s", c, d.Reason.Text)
		}
	}
}
