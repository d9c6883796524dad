package permission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

func loadVectors(tb testing.TB) VectorFile {
	tb.Helper()
	f, err := os.Open("testdata/bash-vectors.json")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	file, err := ReadVectors(f)
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// fiftyRules are rules as a project collects them.
func fiftyRules() []string {
	var out []string
	for _, p := range []string{"git status", "git diff *", "git log *", "git add *", "git commit *", "npm run test *", "npm run build", "go test *", "go build *", "go vet ./..."} {
		out = append(out, "Bash("+p+")")
	}
	for i := range 30 {
		out = append(out, fmt.Sprintf("Bash(tool%d run *)", i))
	}
	return append(out, "Read(~/.config/app/**)", "Edit(/docs/**)", "Read(//usr/share/**)", "WebFetch(domain:example.com)", "mcp__github__get_*",
		"Bash(* --version)", "Bash(make *)", "Bash(cargo test *)", "Bash(ls -la *)", "Bash(kubectl get *)")
}

// prepared is a vector ready to decide.
type prepared struct {
	req Request
	pol Policy
}

// withFifty prepares every vector with its own rules and fifty more.
func withFifty(tb testing.TB) []prepared {
	tb.Helper()
	file := loadVectors(tb)
	var out []prepared
	for _, v := range file.Vectors {
		v.Rules.Allow = append(slices.Clone(v.Rules.Allow), fiftyRules()...)
		v.Rules.Deny = append(slices.Clone(v.Rules.Deny), "Read(~/.ssh/**)", "Bash(shutdown *)")
		req, pol, err := v.Case(file.Defaults)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, prepared{req, pol})
	}
	return out
}

func BenchmarkDecide(b *testing.B) {
	cases := withFifty(b)
	took := make([]time.Duration, 0, len(cases))
	for _, c := range cases {
		best := time.Hour
		for range 7 {
			t0 := time.Now()
			Decide(c.req, c.pol)
			best = min(best, time.Since(t0))
		}
		took = append(took, best)
	}
	slices.Sort(took)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := cases[i%len(cases)]
		Decide(c.req, c.pol)
	}
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "µs-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "µs-p99")
	b.ReportMetric(float64(took[len(took)-1].Nanoseconds())/1e3, "µs-max")
}

func BenchmarkDecideLong(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			command := strings.TrimSuffix(strings.Repeat("git log --oneline src/a.go && ", n), " && ")
			dirs := Dirs{Cwd: "/home/dev/app", Home: "/home/dev", Project: "/home/dev/app"}
			var rules []Rule
			for _, t := range fiftyRules() {
				rules = append(rules, Rule{List: AllowList, Text: t})
			}
			rules = append(rules, Rule{List: DenyList, Text: "Bash(rm *)"}, Rule{List: DenyList, Text: "Read(.env)"})
			pol := Policy{Rules: Compile(rules, Env{Dirs: dirs}), Dirs: dirs}
			req := Request{Tool: "Bash", Traits: tool.Traits{Command: command}, Literal: []byte(`{}`)}
			for b.Loop() {
				if d := Decide(req, pol); d.Behavior != Ask {
					b.Fatal(d.Behavior)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	var rules []Rule
	for _, t := range fiftyRules() {
		rules = append(rules, Rule{List: AllowList, Text: t})
	}
	for b.Loop() {
		Compile(rules, Env{Dirs: Dirs{Cwd: "/p", Home: "/h"}})
	}
}

// BenchmarkDecidePattern decides about a pattern that is expanded in a folder of 900 files.
func BenchmarkDecidePattern(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for n := range 900 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", n)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	dirs := Dirs{Cwd: dir, Home: "/home/dev", Project: dir}
	pol := Policy{Dirs: dirs, Resolve: ResolveLinks, Files: Disk(), Rules: Compile(nil, Env{Dirs: dirs})}
	req := Request{Tool: "Bash", Traits: tool.Traits{Command: "cat *.txt"}, Literal: []byte(`{}`), Cwd: dir}
	for b.Loop() {
		if d := Decide(req, pol); d.Behavior != Allow {
			b.Fatal(d.Behavior, d.Reason)
		}
	}
}
