package pathpattern

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		isDir, want   bool
	}{
		{"foo", "foo", false, true},
		{"foo", "a/b/foo", false, true},
		{"/foo", "a/foo", false, false},
		{"/foo", "foo", false, true},
		{"*.go", "a/x.go", false, true},
		{"*.go", "x.goo", false, false},
		{"build/", "build", false, false},
		{"build/", "x/build", true, true},
		{"a/*", "a/b", false, true},
		{"a/*", "a/b/c", false, false},
		{"a/**", "a", true, false},
		{"a/**", "a/b/c", false, true},
		{"a/**/z", "a/z", false, true},
		{"a/**/z", "a/b/c/z", false, true},
		{"**/z", "z", false, true},
		{"**/z", "a/b/z", false, true},
		{"a/**z", "a/b/z", false, false},
		{"a/**z", "a/bz", false, true},
		{"[a-c]x", "bx", false, true},
		{"[!a-c]x", "bx", false, false},
		{"[]]x", "]x", false, true},
		{"[[:digit:]]", "7", false, true},
		{`\*`, "*", false, true},
		{`\*`, "x", false, false},
		{`a\?c`, "a?c", false, true},
		{"a?c", "aéc", false, true},
		{"a*b*c", "axxbyyc", false, true},
		{"a*b*c", "axxbyy", false, false},
		{"foo*", "foobar", false, true},
		{"**", "a/b", false, true},
		{"[a", "[a", false, false},
	} {
		p, _ := Compile(c.pattern, Options{})
		if got := p.Match(c.path, c.isDir); got != c.want {
			t.Errorf("%q on %q (dir %v): %v, want %v", c.pattern, c.path, c.isDir, got, c.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"secret", "secret/a/b", true},
		{"secret/", "x/secret/a", true},
		{"/src/**", "src/a/b", true},
		{"/src/**", "src", false},
		{"*.env", "a/prod.env", true},
		{"/a/b", "a/b/c", true},
		{"/a/b", "a/bc", false},
	} {
		p, err := Compile(c.pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers(c.path); got != c.want {
			t.Errorf("%q covers %q: %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, text := range []string{"SECRET", "Secret*", "*cret", "/secret", "[S]ecret", "[[:upper:]]ecret"} {
		p, err := Compile(text, Options{Fold: true})
		if err != nil || !p.Match("sEcRet", false) {
			t.Errorf("%q does not match sEcRet without case: %v", text, err)
		}
		if l := NewList([]Pattern{p}); func() bool { _, ok := l.Find("sEcRet", false); return !ok }() {
			t.Errorf("a list of %q does not match sEcRet", text)
		}
	}
}

func TestSplitAnchor(t *testing.T) {
	for _, c := range []struct {
		in     string
		anchor Anchor
		rest   string
	}{
		{"//etc/x", AtRoot, "/etc/x"},
		{"~/x/**", AtHome, "/x/**"},
		{"/x", AtSource, "/x"},
		{"./x", AtCwd, "/x"},
		{"x", AtCwd, "x"},
		{"~", AtHome, "/"},
		{"~x", AtCwd, "~x"},
	} {
		if a, r := SplitAnchor(c.in); a != c.anchor || r != c.rest {
			t.Errorf("SplitAnchor(%q) = %v %q, want %v %q", c.in, a, r, c.anchor, c.rest)
		}
	}
}

func TestEscapeMatchesOnlyItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a*?\[\]\\!# b.-]{1,8}`).Draw(t, "name")
		other := rapid.StringMatching(`[a*?\[\]\\!# b.-]{1,8}`).Draw(t, "other")
		l := ParseList(Escape(name), Options{})
		if _, ok := l.Find(name, false); !ok {
			t.Fatalf("Escape(%q) = %q does not match it", name, Escape(name))
		}
		if _, ok := l.Find(other, false); ok != (name == other) {
			t.Fatalf("Escape(%q) = %q and %q: %v", name, Escape(name), other, ok)
		}
	})
}

// TestAgainstGit compares whole trees of random ignore files with what git says.
func TestAgainstGit(t *testing.T) {
	for round := range 12 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			againstGit(t, round)
		})
	}
}

func againstGit(t *testing.T, seed int) {
	root := t.TempDir()
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.excludesFile="}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+root)
		cmd.Stdin = strings.NewReader(stdin)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && out.Len() == 0 && errs.Len() > 0 {
			t.Fatalf("git %v: %v %s", args, err, errs.String())
		}
		return out.String()
	}
	git("", "init", "-q")
	dirs := []string{"", "a", "a/b", "a/b/c", "build", "src", "src/build", "x.d"}
	files := []string{"f.go", "f.txt", "foo", "foobar", "ab", "a*b", "é.go", " sp", "#x", "!y", "x[1]"}
	var ignored []string
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			ignored = append(ignored, strings.TrimPrefix(d+"/"+f, "/"))
		}
	}
	pats := rapid.SampledFrom([]string{
		"*.go", "!*.go", "foo", "!foo", "foo*", "build/", "!build/", "/build", "a/", "a/b", "/a/*", "!/a/b", "**/c", "a/**",
		"a/**/foo", "!a/**/f.go", "**/b/**", "*", "!*/", "f.???", "[ef]*", "[!f]*", `\#x`, `\!y`, "# comment", "x.d/", "b/c", "*b",
		"a*b", `a\*b`, "src/**/", "**", "/**", "**/", "é*", "sp ", `\ sp`, "x[[]1]", "x[[:digit:]]", "[a", "***", "a/***/foo", "/", "!", "f.go/", "*/foo", "*/*/foo",
		`foo\`, "[a-", "[]-a]b", "[^a]b",
	})
	var chain *Ignores
	lists := map[string]*List{}
	for i, d := range []string{"", "a", "a/b", "src"} {
		text := strings.Join(rapid.SliceOfN(pats, 1, 5).Example(seed*10+i), "\n")
		if err := os.WriteFile(filepath.Join(root, d, ".gitignore"), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		lists[d] = ParseList(text, Options{})
	}
	out := git(strings.Join(ignored, "\x00")+"\x00", "check-ignore", "--stdin", "-z", "--no-index")
	byGit := map[string]bool{}
	for _, p := range strings.Split(out, "\x00") {
		byGit[p] = true
	}
	if len(byGit) < 3 && seed == 0 {
		t.Fatalf("git ignores next to nothing: %q", out)
	}
	for _, p := range ignored {
		chain = (*Ignores)(nil).Below("", lists[""])
		for i := range len(p) {
			if p[i] == '/' && lists[p[:i]] != nil {
				chain = chain.Below(p[:i], lists[p[:i]])
			}
		}
		if got := chain.IgnoredDeep(p, false); got != byGit[p] {
			t.Errorf("%q: %v, git says %v; files: %s", p, got, byGit[p], dump(lists))
		}
	}
}

func dump(lists map[string]*List) string {
	var b strings.Builder
	for d, l := range lists {
		fmt.Fprintf(&b, "%s: %q; ", d, l.pats)
	}
	return b.String()
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"a/**/b", "[a-z", `\`, "***/x", "!", "[[:alpha:]]*", "a*b*c*d*e*f*"} {
		f.Add(s, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := Compile(pattern, Options{})
		if err != nil && p.Match(path, false) {
			t.Fatalf("%q is broken and matches %q", pattern, path)
		}
		if p.Match(path, true) && path != "" && !p.Covers(path) {
			t.Fatalf("%q matches %q and does not cover it", pattern, path)
		}
	})
}

func BenchmarkIgnores(b *testing.B) {
	text := "node_modules/\n*.log\n*.o\n*.tmp\n/dist\n.env\n.cache/\ncoverage\n*.min.js\n**/gen/**\n!keep.log\nbuild-*\n"
	chain := (*Ignores)(nil).Below("", ParseList(text, Options{}))
	paths := []string{"src/main.go", "a/b/c/d.log", "web/app/index.min.js", "internal/x/gen/y.go", "README.md"}
	b.ReportAllocs()
	for i := range b.N {
		chain.Ignored(paths[i%len(paths)], false)
	}
}
