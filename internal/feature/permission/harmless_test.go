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
	return Policy{Mode: Default, Dirs: dirs, Files: noFiles(nil), Rules: Compile(rules, Env{Dirs: dirs})}
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
	for _, c := range append(commandList(t, "lookalikes.txt"), commandList(t, "lookalikes-2.txt")...) {
		if d := decideShell(c, plainPolicy()); d.Behavior == Allow {
			t.Errorf("%s: allowed: %s", c, d.Reason.Text)
		}
	}
}

func TestKF151_ProgramsInsideOthersAreDenied(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Bash(rm *)"})
	for _, c := range commandList(t, "inner-rm.txt") {
		c = strings.ReplaceAll(c, "⏎", "\n")
		if d := decideShell(c, pol); d.Behavior == Allow {
			t.Errorf("%s: allowed: %s", c, d.Reason.Text)
		}
	}
}

func TestKF151_TextsThatNameNoDeniedProgramPass(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Bash(rm *)"})
	for _, c := range []string{
		`git -c user.name="$N" commit -m y`, `git -c core.quotepath=off status`, `git rm x`, `docker rm x`, `npm rm x`, `kubectl run x --image=i -- sh`,
		`cmake --build build -j4`, `fd -t f rm`, `tmux ls`, `sqlite3 db .tables`, `psql -c 'select 1'`, `git commit -m 'rm x'`, `concurrently 'npm run a' 'npm run b'`,
		`hyperfine ls 'cat f'`, `parallel ::: 'echo a' 'echo b'`, `git merge -s ours x`, `pyenv install 3.12`, `op item get x`,
	} {
		if d := decideShell(c, pol); d.Behavior != Allow {
			t.Errorf("%s: %s: %s", c, d.Behavior, d.Reason.Text)
		}
	}
}

// rulePairs reads a list of "RULE | COMMAND"; ⏎ stands for the end of a line in a command.
func rulePairs(t *testing.T, file string, each func(rule, command string)) {
	t.Helper()
	for _, line := range commandList(t, file) {
		rule, command, ok := strings.Cut(line, " | ")
		if !ok {
			t.Fatalf("%s: no bar in %q", file, line)
		}
		command = strings.ReplaceAll(command, " ⏎", "\n")
		each(rule, strings.ReplaceAll(command, "⏎", "\n"))
	}
}

func TestKF150_PatternsDoNotCoverPlacesAndUnlistedOptions(t *testing.T) {
	for _, file := range []string{"patterns-ask.txt", "patterns-ask-2.txt"} {
		rulePairs(t, file, func(rule, command string) {
			d := decideShell(command, plainPolicy(Rule{List: AllowList, Text: "Bash(" + rule + ")"}, Rule{List: AllowList, Text: "Bash(echo *)"}))
			if d.Behavior != Ask {
				t.Errorf("allow %s: %s: %s", rule, command, d.Behavior)
			} else if d.Reason.Text == "" || d.Reason.Part == "" && d.Reason.Kind != ByParse {
				t.Errorf("%s: the question shows neither reason nor part: %+v", command, d.Reason)
			}
		})
	}
}

func TestKF150_PatternsCoverEverydayCommands(t *testing.T) {
	rulePairs(t, "patterns-allow.txt", func(rule, command string) {
		d := decideShell(command, plainPolicy(Rule{List: AllowList, Text: "Bash(" + rule + ")"}))
		if d.Behavior != Allow {
			t.Errorf("allow %s: %s: %s", rule, command, d.Reason.Text)
		}
	})
}
