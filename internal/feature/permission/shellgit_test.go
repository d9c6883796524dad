package permission

import (
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// TestKF155_GitInAFolderNobodyTrusts: read-only git asks where the repository may run something, whatever
// stands in front of it; an explicit rule, the sandbox and other programs are not concerned.
func TestKF155_GitInAFolderNobodyTrusts(t *testing.T) {
	const risky = "core.fsmonitor may run a program"
	for command, want := range map[string]Behavior{
		"git status": Ask, "git log --oneline": Ask, "/usr/bin/git diff": Ask, "timeout 5 git status": Ask, "ls && git branch": Ask, "cat f; git show HEAD:f | head": Ask,
		"env git status": Ask, "command git status": Ask, "cd sub && git status": Ask, "git -C . status": Ask, "echo $(git rev-parse HEAD)": Ask, "git --version": Ask,
		"ls": Allow, "cat git": Allow, "grep git f": Allow,
	} {
		pol := Policy{Rules: &Rules{}, Dirs: Dirs{Cwd: "/work", Project: "/work", Home: "/home/u"}, Git: func(dir string) string {
			if dir != "/work" {
				t.Errorf("%s: asked about %s", command, dir)
			}
			return risky
		}}
		req := Request{Tool: "Bash", Traits: tool.Traits{Command: command}, Cwd: "/work"}
		if d := Decide(req, pol); d.Behavior != want {
			t.Errorf("%q: %s (%s), want %s", command, d.Behavior, d.Reason.Text, want)
		} else if want == Ask && command == "git status" && !strings.Contains(d.Reason.Text, risky) {
			t.Errorf("%q: the reason is not told: %s", command, d.Reason.Text)
		}
		if d := Decide(req, Policy{Rules: pol.Rules, Dirs: pol.Dirs, Git: pol.Git, Sandbox: Sandbox{Enabled: true}}); d.Behavior != Allow || d.Confine.Level != tool.Sandboxed {
			t.Errorf("%q in the sandbox: %s, %v", command, d.Behavior, d.Confine)
		}
		if e := EffectsOf(command, "/work", pol); e.ReadOnly != (want == Allow) {
			t.Errorf("%q counts as reading only: %v", command, e.ReadOnly)
		}
	}
	quiet := Policy{Rules: &Rules{}, Dirs: Dirs{Cwd: "/work", Project: "/work", Home: "/home/u"}, Git: func(string) string { return "" }}
	if d := Decide(Request{Tool: "Bash", Traits: tool.Traits{Command: "git status"}, Cwd: "/work"}, quiet); d.Behavior != Allow {
		t.Errorf("an inert repository: %s (%s)", d.Behavior, d.Reason.Text)
	}
}
