package shellsyntax

import (
	"runtime"
	"strings"
	"testing"
)

func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{
		"ls -la", "rm -rf {a,b}{1..3} $X", "echo \"$(rm `x`)\" <<E >o\n$(y)\nE", "for i in {a,b}; do cd $i && cat x; done", "f() { eval 'cd x'; }; f", "case $x in a|b) ;; esac",
		"find . -name x -exec sh -c 'rm {}' \\;", "sed -i 's/a/b/w o;1e id' f", "git -c a=b -C x log --outp=y", "env -S 'rm x' A=1", "$'\\x{72}\\u00e9\\c?'", "a=(1 [2]=$(x)) b[$(y)]=3", "((a[$(x)]++)); let a=1", "[[ -v a[$(x)] && b -eq c ]]",
		"tar cIf x y z", "docker run --rm -v /a:/b img rm -rf /", "xargs -I{} bash -c '{}'", "trap 'rm x' EXIT", "ls #\\\nrm", "coproc N { x; }", "select i in a; do x; done <<<y", "echo ${x@P} ${!y} ${z:-$(w)} ${a/b/`c`}",
		"time -p ! { x; } |& y &", "{fd}>x exec 3<>/dev/tcp/a/1", "curl -d @x -F 'a=<b' --outpu=c file:///etc/d", "nix develop -c rm x", "nohup nice -n5 timeout -s KILL 5 command -p rm x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := Analyse(text, Options{Cwd: "/p/q", Home: "/h"})
		for _, p := range a.Problems {
			if p.Kind == Internal {
				t.Fatalf("%q: %s", text, p.Text)
			}
		}
		for i := range a.Parts {
			p := &a.Parts[i]
			if p.Parent >= i {
				t.Fatalf("%q: part %d belongs to part %d", text, i, p.Parent)
			}
			if p.Kind == Command && (len(p.Words) == 0 || len(p.Forms) == 0) {
				t.Fatalf("%q: a command without words", text)
			}
			for _, f := range p.Forms {
				if f.At >= len(p.Words) {
					t.Fatalf("%q: a form beyond the words", text)
				}
				p.Canonical(f.At)
			}
			for _, u := range p.Uses {
				if u.Path != "" && !strings.HasPrefix(u.Path, "/") {
					t.Fatalf("%q: the path %q is not absolute", text, u.Path)
				}
			}
			p.Guesses(func(PathUse) bool { return true })
		}
	})
}

// Inputs that grow in one way must not cost more than in proportion.
func TestLinear(t *testing.T) {
	for name, build := range map[string]func(int) string{
		"parts":         func(n int) string { return strings.Repeat("rm x; ", n) },
		"and":           func(n int) string { return strings.Repeat("rm x && ", n) + "y" },
		"words":         func(n int) string { return "rm" + strings.Repeat(" x", n) },
		"wrappers":      func(n int) string { return strings.Repeat("nohup ", n) + "rm x" },
		"evals":         func(n int) string { return strings.Repeat("eval ", n) + "rm x" },
		"sudo":          func(n int) string { return strings.Repeat("sudo -u u ", n) + "rm x" },
		"subshells":     func(n int) string { return strings.Repeat("(", n) + "x" + strings.Repeat(")", n) },
		"substitutions": func(n int) string { return strings.Repeat("$(", n) + "x" + strings.Repeat(")", n) },
		"cd":            func(n int) string { return strings.Repeat("cd a; ", n) + "rm x" },
		"loops":         func(n int) string { return strings.Repeat("while x; do ", n) + "cd y" + strings.Repeat("; done", n) },
		"functions":     func(n int) string { return strings.Repeat("f() { ", n) + "cd y" + strings.Repeat("; }", n) },
		"comments":      func(n int) string { return strings.Repeat("x #\\\n", n) },
		"braces":        func(n int) string { return "x " + strings.Repeat("{a,b}", n) },
		"open braces":   func(n int) string { return "x 0" + strings.Repeat("{", n) },
		"deep braces":   func(n int) string { return "x " + strings.Repeat("{a,", n) + strings.Repeat("}", n) },
		"quotes":        func(n int) string { return "x " + strings.Repeat("'a'\"b\"", n) },
		"find":          func(n int) string { return "find ." + strings.Repeat(" -exec rm {} \\;", n) },
		"redirections":  func(n int) string { return "x" + strings.Repeat(" >o", n) },
		"backquotes":    func(n int) string { return strings.Repeat("`x` ", n) },
		"unclosed":      func(n int) string { return strings.Repeat("(", n) },
		"ifs":           func(n int) string { return strings.Repeat("if ", n) },
		"definitions":   func(n int) string { return strings.Repeat("x() ", n) },
	} {
		cost := func(n int) float64 {
			text := build(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Analyse(text, Options{Cwd: "/p", Home: "/h"})
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		cost(200) // tables are built by the first call
		small, large := cost(200), cost(2000)
		if large > 30*small+1<<20 {
			t.Errorf("%s: ten times the length costs %.0f instead of %.0f bytes", name, large, small)
		}
	}
}
