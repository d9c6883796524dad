package permission

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linkedProject is a project with links out of it, decided about in the real file system.
func linkedProject(t *testing.T) (string, func(*Request, *Policy)) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := root + "/project"
	for _, f := range []string{"project/a.txt", "project/sub/b.txt", "project/secrets/deep/key", "project/.git/hooks/pre-commit", "outside/dir/hosts", "outside/hosts"} {
		if err := os.MkdirAll(filepath.Dir(root+"/"+f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/"+f, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"x": "../outside/dir", "l.txt": "../outside/hosts", "in": "sub", "h": ".git/hooks", "s": "secrets/deep", "deep/back": "../sub", "k.md": "secrets/deep/key", "loop": "loop", "up": "sub/..",
	} {
		if err := os.MkdirAll(filepath.Dir(project+"/"+link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, project+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	return project, func(r *Request, p *Policy) {
		var rules []Rule
		for _, list := range []List{AllowList, AskList, DenyList} {
			for _, t := range []string{"Bash", "Read"} {
				if ix := p.Rules.byTool[t]; ix != nil {
					for _, c := range append(ix.bare, ix.paths[list]...) {
						if c.rule.List == list {
							rule := c.rule
							rule.Base = project
							rules = append(rules, rule)
						}
					}
				}
			}
		}
		r.Cwd = project
		p.Dirs.Cwd, p.Dirs.Project, p.Resolve, p.Files = project, project, ResolveLinks, Disk()
		p.Rules = Compile(rules, Env{Dirs: p.Dirs, Resolve: p.Resolve})
	}
}

func TestKF147_LinksBeforeDots(t *testing.T) {
	_, at := linkedProject(t)
	for _, c := range []struct {
		mode    Mode
		command string
		want    Behavior
	}{
		{Default, "cat x/../hosts", Ask},
		{Default, "cat sub/../a.txt", Allow},
		{Default, "cat sub/./../sub/b.txt", Allow},
		{Default, "cat in/../a.txt", Allow},
		{Default, "ls x/..", Ask},
		{Default, "grep -r a x/..", Ask},
		{Default, "cat < x/../hosts", Ask},
		{Default, "cd x/.. && ls", Ask},
		{Default, "cd sub && cat ../x/../hosts", Ask},
		{Default, "cd sub && cat ../a.txt", Allow},
		{Default, "cd sub/.. && cat a.txt", Allow},
		{Default, "cd in && cat ../a.txt", Allow},
		{Default, "cat nothing/../a.txt", Allow},
		{Default, "cat loop/../a.txt", Ask},
		{Default, "cat up/a.txt", Allow},
		{Default, "wc -l deep/back/../a.txt", Ask},
		{Default, "cat deep/back/../../hosts", Ask},
		{AcceptEdits, "touch x/../y", Ask},
		{AcceptEdits, "touch sub/../y", Allow},
		{AcceptEdits, "cp a.txt h/../config", Ask},
		{AcceptEdits, "mv a.txt x/../y", Ask},
		{AcceptEdits, "sed -i s/a/b/ x/../hosts", Ask},
		{AcceptEdits, "echo hi > x/../y", Ask},
		{AcceptEdits, "mkdir d && touch d/../y", Allow},
		{AcceptEdits, "mv x y && touch y/../z", Ask},
		{AcceptEdits, "touch y/../z; mv x y", Ask},
		{AcceptEdits, "cp -a x y && touch y/../z", Ask},
		{Bypass, "rm -rf x/../../project", Ask},
	} {
		if d := decideLine(t, c.mode, nil, c.command, at); d.Behavior != c.want {
			t.Errorf("%q in %s: %s (%s), want %s", c.command, c.mode, d.Behavior, d.Reason.Text, c.want)
		}
	}
	for _, command := range []string{"cat s/../deep/key", "cat s/../../secrets/deep/key", "cp s/../deep/key a", "cd s && cat ../deep/key", "cat < s/../deep/key"} {
		if d := decideLine(t, Bypass, []string{"-Read(secrets/**)", "+Bash"}, command, at); d.Behavior != Deny {
			t.Errorf("%q reaches a denied file: %s (%s)", command, d.Behavior, d.Reason.Text)
		}
	}
	for _, command := range []string{"tar xf a.tar && cat d/../a.txt", "git checkout b -- d; cat d/../a.txt", "./build && cat d/../a.txt", "ln -s /etc d; cat d/../a.txt", "cat d/../a.txt | ln -s /etc d"} {
		if d := decideLine(t, Default, []string{"+Bash"}, command, at); d.Behavior != Ask {
			t.Errorf("%q: %s, although d may become a link", command, d.Behavior)
		}
	}
}

func TestKF154_PatternsAndRecursionGoThroughLinks(t *testing.T) {
	project, at := linkedProject(t)
	for command, want := range map[string]Behavior{
		"cat *.txt": Ask, "cat a*.txt": Allow, "cat sub/*": Allow, "cat x*/hosts": Ask, "cat */hosts": Ask, "cat ?/hosts": Ask, "cat [x]/hosts": Ask, "cat [\"x\"]/hosts": Ask, "cat s*/b.txt": Allow, "head -1 in/*.txt": Allow, "cat d*/b*/b.txt": Allow, "wc {a,l}*": Ask, "ls *": Ask, "cat nothing*": Allow, "cat ../out*/hosts": Ask,
		"grep -R x .": Ask, "grep -r x .": Allow, "ls -RL": Ask, "ls -LR .": Ask, "ls -R": Allow, "find -L . -name x": Ask, "find . -follow": Ask, "find . -name x": Allow, "diff -r sub deep": Ask, "diff -r --no-dereference sub deep": Allow, "du -L": Ask, "du": Allow, "rg -L x": Ask, "grep --dereference-recursive x sub": Ask,
	} {
		if d := decideLine(t, Default, nil, command, at); d.Behavior != want {
			t.Errorf("%q: %s (%s), want %s", command, d.Behavior, d.Reason.Text, want)
		}
	}
	for _, command := range []string{"cat *.md", "cat k?md", "cp k* y", "cat s*"} {
		if d := decideLine(t, Bypass, []string{"-Read(secrets/**)", "+Bash"}, command, at); d.Behavior == Allow {
			t.Errorf("%q reaches a denied file: %s", command, d.Behavior)
		}
	}
	if err := os.Mkdir(project+"/many", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range maxEntries + 1 {
		if err := os.WriteFile(fmt.Sprintf("%s/many/%d", project, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := decideLine(t, Default, nil, "cat many/*", at); d.Behavior != Ask || !strings.Contains(d.Reason.Text, "thousand") {
		t.Errorf("a pattern over too many files: %s (%s)", d.Behavior, d.Reason.Text)
	}
}

// What is resolved must be what the kernel opens, for any chain of links and dots.
func TestResolveAsTheKernel(t *testing.T) {
	project, _ := linkedProject(t)
	names := []string{"x", "in", "sub", "up", "deep", "back", "..", ".", "a.txt", "s", "hosts", "l.txt", "h"}
	for i := range len(names) * len(names) * len(names) {
		p := project + "/" + names[i%len(names)] + "/" + names[i/len(names)%len(names)] + "/" + names[i/len(names)/len(names)]
		got, err := ResolveLinks(p)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := os.Stat(p)
		if errA != nil {
			continue
		}
		b, errB := os.Lstat(got.Path)
		if errB != nil || !os.SameFile(a, b) {
			t.Errorf("%s is not %s (%v)", p, got.Path, errB)
		}
	}
}

// Redirections of their own, which no rule names, are decided like others.
func TestRedirectionsAlone(t *testing.T) {
	_, at := linkedProject(t)
	for command, want := range map[string]Behavior{"{ ls; } < x/hosts": Ask, "< x/hosts": Ask, "(ls) < a.txt": Allow, "< a.txt": Allow} {
		if d := decideLine(t, Default, nil, command, at); d.Behavior != want {
			t.Errorf("%q: %s (%s), want %s", command, d.Behavior, d.Reason.Text, want)
		}
	}
}
