// Package faults holds the tests to account: each patch of testdata/faults takes one guard out of the
// program, and a test must fail for it. A patch that no test notices, that does not apply or does
// not build any more is a failure itself. Begin at Run.
//
// A patch begins with a head of lines "Guard: what is taken out" and "Tests: PACKAGE PATTERN", of which
// there may be several; the pattern is that of go test -run. What follows is read by git apply.
package faults

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is one patch.
type Fault struct {
	Name  string // of the file, without its ending
	Path  string // absolute
	Guard string
	Tests []Tests
}

// Tests are tests of one package.
type Tests struct{ Package, Pattern string }

// Load reads the patches of a folder, in the order of their names.
func Load(dir string) ([]Fault, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var out []Fault
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parse(string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if f.Path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		f.Name = strings.TrimSuffix(filepath.Base(path), ".patch")
		out = append(out, f)
	}
	return out, nil
}

func parse(text string) (Fault, error) {
	var f Fault
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "--- ") {
			break
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		switch key, value, ok := strings.Cut(line, ":"); {
		case ok && key == "Guard" && f.Guard == "":
			f.Guard = strings.TrimSpace(value)
		case ok && key == "Tests":
			part := strings.Fields(value)
			if len(part) != 2 || !strings.HasPrefix(part[0], "./") {
				return f, fmt.Errorf("line %d: expected \"Tests: ./package Pattern\"", i+1)
			}
			if _, err := regexp.Compile(part[1]); err != nil {
				return f, fmt.Errorf("line %d: %w", i+1, err)
			}
			f.Tests = append(f.Tests, Tests{part[0], part[1]})
		default:
			return f, fmt.Errorf("line %d: expected \"Guard: …\" once, or \"Tests: …\", before the patch", i+1)
		}
	}
	if f.Guard == "" || len(f.Tests) == 0 {
		return f, errors.New("the head names no guard, or no tests")
	}
	return f, nil
}

// Outcome is what became of one fault.
type Outcome struct {
	Fault   Fault
	Seconds float64
	Killer  string // the test that failed; empty: the fault lives
	Problem string // why the fault lives, or could not be tried
}

// Run tries the faults on copies of the tree at root, beside each other in a number of workers, and tells each
// outcome as it comes. The tests named must pass without a fault. An error is what kept it from trying.
func Run(ctx context.Context, root string, faults []Fault, workers int, tell func(Outcome)) error {
	trees := make(chan string, workers)
	for range workers {
		dir, err := copyTree(ctx, root)
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		trees <- dir
	}
	if err := sound(ctx, trees, faults); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards tell
	for _, f := range faults {
		if ctx.Err() != nil {
			break
		}
		dir := <-trees
		wg.Go(func() {
			begin := time.Now()
			o := try(ctx, dir, f)
			o.Fault, o.Seconds = f, time.Since(begin).Seconds()
			trees <- dir
			mu.Lock()
			defer mu.Unlock()
			tell(o)
		})
	}
	wg.Wait()
	return ctx.Err()
}

// sound runs all tests that the faults name without a fault, one package at a time.
func sound(ctx context.Context, trees chan string, faults []Fault) error {
	patterns := map[string][]string{}
	for _, f := range faults {
		for _, t := range f.Tests {
			if !slices.Contains(patterns[t.Package], t.Pattern) {
				patterns[t.Package] = append(patterns[t.Package], t.Pattern)
			}
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards bad
	var bad error
	for pkg, all := range patterns {
		dir := <-trees
		wg.Go(func() {
			defer func() { trees <- dir }()
			for _, pattern := range joined(all) {
				if r := runTests(ctx, dir, Tests{pkg, pattern}); r.failed {
					mu.Lock()
					bad = errors.Join(bad, fmt.Errorf("without a fault the tests %s of %s do not pass:\n%s", pattern, pkg, r.output))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return bad
}

// joined puts patterns together that go test can match in one run: those of equal depth.
func joined(patterns []string) []string {
	var flat []string
	var out []string
	for _, p := range patterns {
		if strings.Contains(p, "/") {
			out = append(out, p)
		} else {
			flat = append(flat, "(?:"+p+")")
		}
	}
	if len(flat) > 0 {
		out = append(out, strings.Join(flat, "|"))
	}
	return out
}

// try applies one patch, runs its tests until one fails, and takes the patch away again.
func try(ctx context.Context, dir string, f Fault) (o Outcome) {
	if out, err := git(ctx, dir, "apply", f.Path); err != nil {
		o.Problem = "the patch does not apply any more: " + out
		return o
	}
	defer func() {
		if out, err := git(ctx, dir, "apply", "-R", f.Path); err != nil && ctx.Err() == nil {
			o.Problem = "the patch cannot be taken away: " + out
		}
	}()
	for _, t := range f.Tests {
		switch r := runTests(ctx, dir, t); {
		case ctx.Err() != nil:
			return Outcome{Problem: "interrupted"}
		case r.unbuilt:
			return Outcome{Problem: "the patched program does not build:\n" + r.output}
		case r.none:
			return Outcome{Problem: "no test of " + t.Package + " is named " + t.Pattern}
		case r.failed:
			o.Killer = cmp.Or(r.test, t.Pattern)
			return o
		}
	}
	o.Problem = "no test fails"
	return o
}

type testRun struct {
	failed  bool
	unbuilt bool
	none    bool   // no test was run
	test    string // the first that failed
	output  string
}

func runTests(ctx context.Context, dir string, t Tests) testRun {
	cmd := exec.CommandContext(ctx, "go", "test", "-trimpath", "-count=1", "-failfast", "-vet=off", "-ldflags=-w", "-timeout=120s", "-run", t.Pattern, t.Package)
	cmd.Dir = dir
	raw, err := cmd.CombinedOutput()
	text := string(raw)
	r := testRun{
		failed: err != nil, output: text, none: strings.Contains(text, "[no tests to run]") || strings.Contains(text, "[no test files]"),
		unbuilt: strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"),
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			r.test, _, _ = strings.Cut(rest, " ") // the last is the deepest
		}
	}
	return r
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	raw, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(raw)), err
}

// copyTree copies what belongs to the tree, committed or not, into a new folder.
func copyTree(ctx context.Context, root string) (dir string, err error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	raw, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("list the files of %s: %w", root, err)
	}
	if dir, err = os.MkdirTemp("", "faults-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for name := range strings.SplitSeq(strings.TrimRight(string(raw), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) { // removed, not yet committed
			return "", err
		}
	}
	return dir, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, info.Mode().Perm())
}
