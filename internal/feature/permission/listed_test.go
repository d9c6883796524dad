package permission

import (
	"fmt"
	"os"
	"testing"
)

func TestKF162_ListedNamesAndLinks(t *testing.T) {
	project, at := linkedProject(t)
	for i := range maxEntries {
		if err := os.MkdirAll(fmt.Sprintf("%s/many/%d", project, i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		allow, command string
		want           Behavior
	}{
		{"", "find . -print0 | xargs -0 cat", Ask}, // l.txt leads out
		{"", "find . -type f -print0 | xargs -0 cat", Allow},
		{"", "find . -type f -o -print0 | xargs -0 cat", Ask},
		{"", "find . ! -type f -print0 | xargs -0 cat", Ask},
		{"", "find . -print0 -type f | xargs -0 cat", Ask},
		{"", "find . -type l -print0 | xargs -0 cat", Ask},
		{"", "find sub -print0 | xargs -0 cat", Allow},
		{"", "find sub a.txt -print0 | xargs -0 cat", Allow},
		{"", "find sub x -type f -print0 | xargs -0 cat", Ask},
		{"", "find x/ -type f -print0 | xargs -0 cat", Ask},
		{"", "find x/.. -type f -print0 | xargs -0 cat", Ask},
		{"", "find deep -print0 | xargs -0 cat", Ask}, // deep/back leads to what is not below deep
		{"", "cd sub && find . -print0 | xargs -0 cat", Allow},
		{"", "cd x && find . -type f -print0 | xargs -0 cat", Ask},
		{"", "find many -print0 | xargs -0 cat", Allow},
		{"", "find many sub -print0 | xargs -0 cat", Allow},
		{"", "git ls-files -z | xargs -0 cat", Ask},
		{"Bash(ln *)", "ln a.txt sub/new; find sub -print0 | xargs -0 cat", Ask},
	} {
		var rules []Rule
		if c.allow != "" {
			rules = []Rule{{List: AllowList, Text: c.allow}}
		}
		pol := plainPolicy(rules...)
		req := Request{Tool: "Bash"}
		at(&req, &pol)
		pol.Rules = Compile(rules, Env{Dirs: pol.Dirs, Resolve: pol.Resolve})
		if d := decideShell(c.command, pol); d.Behavior != c.want {
			t.Errorf("%s: %s (%s), want %s", c.command, d.Behavior, d.Reason.Text, c.want)
		}
	}
	for command, want := range map[string]Behavior{"find . -print0 | xargs -0 cat": Ask, "find sub -print0 | xargs -0 cat": Allow, "find . -type f -print0 | xargs -0 cat": Allow} {
		pol := plainPolicy()
		at(&Request{}, &pol)
		pol.Mode = Bypass
		pol.Rules = Compile([]Rule{{List: DenyList, Text: "Read(//etc/**)"}}, Env{Dirs: pol.Dirs, Resolve: pol.Resolve})
		if d := decideShell(command, pol); d.Behavior != want {
			t.Errorf("a deny rule about what a link may lead to: %s: %s (%s)", command, d.Behavior, d.Reason.Text)
		}
	}
	if err := os.WriteFile(project+"/many/one", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	pol := plainPolicy()
	at(&Request{}, &pol)
	if d := decideShell("find many -print0 | xargs -0 cat", pol); d.Behavior != Ask {
		t.Errorf("more files than are looked at: %s", d.Behavior)
	}
}

func TestKF162_ListedNamesOfARepository(t *testing.T) {
	project, at := linkedProject(t)
	for _, name := range []string{"x", "l.txt", "loop"} {
		if err := os.Remove(project + "/" + name); err != nil {
			t.Fatal(err)
		}
	}
	pol := plainPolicy()
	at(&Request{}, &pol)
	if d := decideShell("git ls-files -z | xargs -0 cat", pol); d.Behavior != Allow {
		t.Errorf("links within the repository: %s: %s", d.Behavior, d.Reason.Text)
	}
	if err := os.Symlink("../../outside/hosts", project+"/.git/out"); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]Behavior{"git ls-files -z | xargs -0 cat": Allow, "find . -print0 | xargs -0 cat": Ask} {
		if d := decideShell(command, pol); d.Behavior != want {
			t.Errorf("%s with a link in .git: %s: %s", command, d.Behavior, d.Reason.Text)
		}
	}
}

func TestKF162_RulesAboutListedNames(t *testing.T) {
	for _, c := range []struct {
		rule    string
		list    List
		command string
		want    Behavior
	}{
		{"Read(./secrets/**)", DenyList, "find . -type f -print0 | xargs -0 cat", Ask},
		{"Read(./secrets/**)", DenyList, "find . -print0 | xargs -0 cat", Ask},
		{"Read(./secrets/**)", DenyList, "git ls-files -z | xargs -0 cat", Ask},
		{"Read(./secrets/**)", DenyList, "find src -type f -print0 | xargs -0 cat", Allow},
		{"Read(**/*.key)", DenyList, "find src -type f -print0 | xargs -0 cat", Ask},
		{"Read(./secrets/**)", DenyList, "find secrets -type f -print0 | xargs -0 cat", Ask},
		{"Bash(cat ./secret*)", DenyList, "find . -type f -print0 | xargs -0 cat", Ask},
		{"Bash(cat ./secret*)", AskList, "find . -type f -print0 | xargs -0 cat", Ask},
		{"Bash(*secret*)", DenyList, "find . -type f -print0 | xargs -0 cat", Ask},
		{"Bash(xargs * ./secret)", DenyList, "find . -type f -print0 | xargs -0 cat", Ask},
		{"Bash(cat *)", DenyList, "find . -type f -print0 | xargs -0 cat", Deny},
		{"Bash(find *)", DenyList, "find . -type f -print0 | xargs -0 cat", Deny},
		{"Bash(rm *)", DenyList, "find . -type f -print0 | xargs -0 cat", Allow},
		{"Bash(cat ./secret*)", DenyList, "find . -type f -print0 | xargs -0 wc -l", Allow},
	} {
		if d := decideShell(c.command, plainPolicy(Rule{List: c.list, Text: c.rule, Base: "/home/dev/app"})); d.Behavior != c.want {
			t.Errorf("%s with %s: %s (%s), want %s", c.command, c.rule, d.Behavior, d.Reason.Text, c.want)
		}
	}
}
