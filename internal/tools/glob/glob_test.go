package glob_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/tools/glob"
)

type bench struct {
	*testing.T
	tool  tool.Tool
	scope *tool.Scope
	dir   string
}

func newBench(t *testing.T, w glob.World, files ...string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &bench{t, glob.New(w), tool.NewScope("", dir), dir}
}

func (b *bench) normalised(input map[string]string) (tool.Call, error) {
	b.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	return b.tool.Normalise(tool.Call{Literal: raw, Scope: b.scope})
}

func (b *bench) call(input map[string]string) tool.Result {
	b.Helper()
	c, err := b.normalised(input)
	if err != nil {
		return tool.Misuse(err.Error())
	}
	r, err := b.tool.Run(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) wants(input map[string]string, isError bool, parts ...string) string {
	b.Helper()
	r := b.call(input)
	got := msg.TextOf(r.Content)
	if r.IsError != isError {
		b.Errorf("%v: error is %v: %s", input, r.IsError, got)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			b.Errorf("%v: %q is not in %q", input, p, got)
		}
	}
	return got
}

func (b *bench) finds(input map[string]string, want ...string) {
	b.Helper()
	got := strings.Split(b.wants(input, false), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("%v: %s", input, d)
	}
}

func TestGlob(t *testing.T) {
	b := newBench(t, glob.World{}, "a.go", "src/b.go", "src/c.ts", "src/deep/d.go", ".hidden/e.go", ".git/f.go", "build/g.go", ".gitignore")
	if err := os.WriteFile(filepath.Join(b.dir, ".gitignore"), []byte("build/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.finds(map[string]string{"pattern": "**/*.go"}, "a.go", "src/b.go", "src/deep/d.go", ".hidden/e.go", "build/g.go")
	b.finds(map[string]string{"pattern": "src/**/*.{go,ts}"}, "src/b.go", "src/c.ts", "src/deep/d.go")
	b.finds(map[string]string{"pattern": "*.go", "path": "src"}, "src/b.go")
	b.finds(map[string]string{"pattern": b.dir + "/src/*.go"}, "src/b.go")
	b.finds(map[string]string{"pattern": "../src/*.ts", "path": "build"}, "src/c.ts")
	b.finds(map[string]string{"pattern": "a.go"}, "a.go")
	b.finds(map[string]string{"pattern": b.dir + "/a.go"}, "a.go")
	b.wants(map[string]string{"pattern": "*.ts"}, false, "No files found", "**/*.ts")
	if got := b.wants(map[string]string{"pattern": "**/*.rs"}, false); got != "No files found" {
		t.Errorf("got %q", got)
	}
	outside := newBench(t, glob.World{}, "x.go")
	b.finds(map[string]string{"pattern": "*.go", "path": outside.dir}, outside.dir+"/x.go")
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"CLAUDE_CODE_GLOB_HIDDEN": "false", "CLAUDE_CODE_GLOB_NO_IGNORE": "false"}
	b := newBench(t, glob.World{Env: func(k string) string { return env[k] }}, "a.go", ".h/b.go", "build/c.go", ".gitignore")
	if err := os.WriteFile(filepath.Join(b.dir, ".gitignore"), []byte("build/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.finds(map[string]string{"pattern": "**/*.go"}, "a.go")
	delete(env, "CLAUDE_CODE_GLOB_HIDDEN")
	b.finds(map[string]string{"pattern": "**/*.go"}, "a.go", ".h/b.go")
}

func TestLimit(t *testing.T) {
	for _, n := range []int{99, 100, 101} {
		var files []string
		for i := range n {
			files = append(files, fmt.Sprintf("d%d/f%d", i%7, i))
		}
		b := newBench(t, glob.World{}, files...)
		r := b.call(map[string]string{"pattern": "**"})
		var out struct {
			Filenames       []string
			NumFiles        int
			Truncated       bool
			TotalMatches    int
			CountIsComplete bool
		}
		if err := json.Unmarshal(r.Structured, &out); err != nil {
			t.Fatal(err)
		}
		if out.NumFiles != min(n, 100) || len(out.Filenames) != min(n, 100) || out.Truncated != (n > 100) || out.TotalMatches != n || !out.CountIsComplete {
			t.Errorf("%d files: %s", n, r.Structured)
		}
		if told := strings.Contains(msg.TextOf(r.Content), "newest 100 of 101"); told != (n > 100) {
			t.Errorf("%d files: %v", n, told)
		}
	}
}

func TestKF021_FailuresAreTold(t *testing.T) {
	b := newBench(t, glob.World{}, "a.go")
	b.wants(map[string]string{"pattern": "[a"}, true, "[ is not closed")
	b.wants(map[string]string{"pattern": "{a"}, true, "{ is not closed")
	b.wants(map[string]string{"pattern": "a\x00"}, true, "NUL byte")
	b.wants(map[string]string{"pattern": " "}, true, "is empty")
	b.wants(map[string]string{}, true, "`pattern` is missing")
	b.wants(map[string]string{"pattern": "*", "path": "none"}, true, "does not exist: "+b.dir+"/none")
	b.wants(map[string]string{"pattern": "*", "path": "a.go"}, true, "not a directory")
}

func TestKF021_UnreadableFolderIsTold(t *testing.T) {
	b := newBench(t, glob.World{}, "open/a.go", "locked/b.go")
	locked := filepath.Join(b.dir, "locked")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(locked, 0o755)
	if os.Geteuid() == 0 { // root may read everything: be somebody else for a moment
		for d := b.dir; d != "/"; d = filepath.Dir(d) {
			if info, err := os.Stat(d); err != nil || info.Mode().Perm()&0o5 != 0o5 {
				if err := os.Chmod(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := syscall.Setresuid(-1, 65534, 0); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setresuid(-1, 0, 0); err != nil {
				t.Fatal(err)
			}
		}()
	}
	b.wants(map[string]string{"pattern": "**/*.go"}, false, "open/a.go", "1 folders could not be read: "+locked+": permission denied")
	b.wants(map[string]string{"pattern": "*", "path": "locked"}, true, "permission denied")
}

func TestKF022_OddNames(t *testing.T) {
	names := []string{"[id].tsx", "a b.txt", "-n", "e\u0301.txt", "é.txt", strings.Repeat("n", 250)}
	b := newBench(t, glob.World{}, names...)
	b.finds(map[string]string{"pattern": "**/*"}, names...)
	for _, n := range names {
		b.finds(map[string]string{"pattern": n}, n)
	}
	b.finds(map[string]string{"pattern": `\[id\].*`}, "[id].tsx")
	odd := newBench(t, glob.World{}, "x\ny")
	odd.wants(map[string]string{"pattern": "x*"}, false, "x\ny")
}

func TestKF042_HiddenFilesAreLeftOut(t *testing.T) {
	lookedUp := 0
	b := newBench(t, glob.World{Hidden: func() func(string) bool {
		lookedUp++
		return func(p string) bool { return filepath.Base(p) == ".env" || filepath.Base(p) == "vault" }
	}}, ".env", "a/.env", "b", "vault/c")
	got := b.wants(map[string]string{"pattern": "**/*"}, false, "3 left out by Read deny rules")
	if strings.Contains(got, ".env") || strings.Contains(got, "vault") {
		t.Errorf("got %q", got)
	}
	b.wants(map[string]string{"pattern": "*", "path": "vault"}, true, "Read deny rule")
	if lookedUp != 2 {
		t.Errorf("the rules were looked up %d times in 2 searches", lookedUp)
	}
}

func TestCancelled(t *testing.T) {
	b := newBench(t, glob.World{}, "a")
	c, err := b.normalised(map[string]string{"pattern": "*"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.tool.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What a pattern begins with is decided about as a folder named to Grep is; what only the walk meets is no link
// that it goes through.
func TestKF154_PatternsThroughLinks(t *testing.T) {
	b := newBench(t, glob.World{})
	outside := t.TempDir()
	for _, link := range []string{"out", "sub/out"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(b.dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(b.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{"out/**": b.dir + "/out", "sub/out/s*": b.dir + "/sub/out", "out/../**": b.dir, "out/{a,secret}": b.dir + "/out"} {
		call, err := b.normalised(map[string]string{"pattern": pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.tool.Traits(call).Paths; len(got) != 1 || got[0].Path != want || got[0].Intent != tool.Search {
			t.Errorf("%s: decided about %v, want %s", pattern, got, want)
		}
	}
	for _, pattern := range []string{"**/secret", "*/secret", "o*/**", "[o]ut/secret", "{out,x}/secret", "sub/*/secret", "*/../*/secret"} {
		if got := b.call(map[string]string{"pattern": pattern}); strings.Contains(msg.TextOf(got.Content), "secret\n") || strings.Contains(msg.TextOf(got.Content), "/secret") {
			t.Errorf("%s goes through a link: %s", pattern, msg.TextOf(got.Content))
		}
	}
}

func TestTraitsAndSize(t *testing.T) {
	b := newBench(t, glob.World{})
	t.Setenv("HOME", "/home/u")
	for _, c := range []struct{ pattern, path, want string }{
		{"**/*.go", "", b.dir}, {"*.go", "sub", b.dir + "/sub"}, {"/etc/*.conf", "", "/etc"}, {"~/x/*", "", "/home/u/x"}, {"../y/*", "sub", b.dir + "/y"}, {"/*", "", "/"},
	} {
		call, err := b.normalised(map[string]string{"pattern": c.pattern, "path": c.path})
		if err != nil {
			t.Fatal(err)
		}
		want := tool.Traits{ReadOnly: true, Beside: true, Paths: []tool.PathUse{{Path: c.want, Intent: tool.Search}}}
		if d := cmp.Diff(want, b.tool.Traits(call)); d != "" {
			t.Errorf("%v: %s", c, d)
		}
	}
	if n := len(b.tool.Spec().Description) + len(b.tool.Spec().Schema); n > 500 {
		t.Errorf("description and schema have %d bytes", n)
	}
}
