package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain removes the tree of the benchmarks, if one was made.
func TestMain(m *testing.M) {
	code := m.Run()
	if madeTree != "" {
		os.RemoveAll(madeTree)
	}
	os.Exit(code)
}

var madeTree string // set by sourceTree

// sourceTree makes, once for all benchmarks, a tree of 20,000 source-like files of 175 MB in 1,250
// folders. Setting SEARCH_BENCH_TREE takes an existing one instead.
var sourceTree = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("SEARCH_BENCH_TREE"); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "search-bench-")
	if err != nil {
		return "", err
	}
	madeTree = dir
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields(`func return if err nil string int for range package import type struct const var error context
		http Handler ListenAndServe request response buffer reader writer // the of to a is and // TODO FIXME value index name path
		server client == != := = ( ) { } , . + - * "text" 'x' 0 1 42 100 _private MAX_VALUE file_name x y z i j k`)
	for f := range 20_000 {
		folder := filepath.Join(dir, fmt.Sprintf("m%02d", f%50), fmt.Sprintf("p%02d", f/50%25))
		if f < 1250 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return "", err
			}
		}
		var b strings.Builder
		for size := rnd.IntN(17_500); b.Len() < size; {
			b.WriteString(strings.Repeat("\t", rnd.IntN(3)))
			for range rnd.IntN(12) {
				w := words[rnd.IntN(len(words))]
				if w == "ListenAndServe" && rnd.IntN(400) != 0 {
					w = "ok"
				}
				b.WriteString(w)
				b.WriteByte(' ')
			}
			b.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.go", f)), []byte(b.String()), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// BenchmarkGrep reports the time of a search, and how it compares with ripgrep where that is
// installed ("rg-ratio", ours divided by its).
func BenchmarkGrep(b *testing.B) {
	dir, err := sourceTree()
	if err != nil {
		b.Fatal(err)
	}
	for _, pattern := range []string{
		`ListenAndServe`, `(?i)listenandserve`, `func \w+Handler`, `TODO|FIXME|XXX`, `nosuchtext`, `err`, `\w+_name = \d`,
		`[A-Z]{3,}_\w+ ==`, `^\s*\w+ \w+ $`, `\d{3} \d+`,
	} {
		p, err := Compile(pattern, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(pattern, func(b *testing.B) {
			var files int
			for b.Loop() {
				found, err := Grep(context.Background(), Tree{Root: dir, Ignore: true}, Query{Pattern: p})
				if err != nil {
					b.Fatal(err)
				}
				files = len(found.Files)
			}
			b.ReportMetric(float64(files), "files")
			if rg, err := exec.LookPath("rg"); err == nil {
				theirs := ripgrep(b, rg, pattern, dir, files)
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(theirs), "rg-ratio")
			}
		})
	}
}

// ripgrep times the same search, the best of five.
func ripgrep(b *testing.B, rg, pattern, dir string, files int) time.Duration {
	best := time.Hour
	for range 5 {
		begin := time.Now()
		out, err := exec.Command(rg, "-l", "--hidden", "--no-require-git", "-e", pattern, dir).Output()
		if err != nil && len(out) > 0 {
			b.Fatal(err)
		}
		best = min(best, time.Since(begin))
		if n := strings.Count(string(out), "\n"); n != files && os.Getenv("SEARCH_BENCH_TREE") == "" {
			b.Fatalf("ripgrep finds %d files, we %d", n, files)
		}
	}
	return best
}

func BenchmarkGlob(b *testing.B) {
	dir, err := sourceTree()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found, err := Glob(context.Background(), Tree{Root: dir}, "**/*.go", 100)
		if err != nil || found.Total < 20_000 {
			b.Fatal(found.Total, err)
		}
	}
}
