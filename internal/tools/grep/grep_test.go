package grep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/tools/grep"
)

type bench struct {
	*testing.T
	tool  tool.Tool
	scope *tool.Scope
	dir   string
}

func newBench(t *testing.T, w grep.World, files map[string]string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &bench{t, grep.New(w), tool.NewScope("", dir), dir}
}

type in map[string]any

func (b *bench) normalised(input in) (tool.Call, error) {
	b.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	return b.tool.Normalise(tool.Call{Literal: raw, Scope: b.scope})
}

func (b *bench) call(input in) tool.Result {
	b.Helper()
	c, err := b.normalised(input)
	if err != nil {
		return tool.Misuse(err.Error())
	}
	r, err := b.tool.Run(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	if text := msg.TextOf(r.Content); !utf8.ValidString(text) {
		b.Errorf("%v: the result is no valid UTF-8: %q", input, text)
	}
	return r
}

// is compares the text of the answer.
func (b *bench) is(input in, want string) tool.Result {
	b.Helper()
	r := b.call(input)
	if d := cmp.Diff(want, msg.TextOf(r.Content)); d != "" || r.IsError {
		b.Errorf("%v: %s", input, d)
	}
	return r
}

func (b *bench) wants(input in, isError bool, parts ...string) string {
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

// aged gives files modification times, the first the newest.
func (b *bench) aged(names ...string) {
	b.Helper()
	for i, n := range names {
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(filepath.Join(b.dir, n), at, at); err != nil {
			b.Fatal(err)
		}
	}
}

func sample(t *testing.T) *bench {
	b := newBench(t, grep.World{}, map[string]string{
		"a.go":       "package a\n\nfunc Foo() {}\n// foo\n",
		"src/b.go":   "package b\nfunc Bar() {}\n",
		"src/c.ts":   "function foo() {\n  return 1\n}\n",
		"README.md":  "nothing here\n",
		".hidden/d":  "func hidden\n",
		".gitignore": "out/\n",
		"out/e.go":   "func Out() {}\n",
	})
	b.aged("src/b.go", "a.go", "src/c.ts")
	return b
}

func TestFilesWithMatches(t *testing.T) {
	b := sample(t)
	r := b.is(in{"pattern": `func \w`, "glob": "*.go"}, "Found 2 files\nsrc/b.go\na.go")
	if d := cmp.Diff(`{"mode":"files_with_matches","numFiles":2,"filenames":["src/b.go","a.go"]}`, string(r.Structured)); d != "" {
		t.Error(d)
	}
	b.is(in{"pattern": "foo", "-i": true, "type": "ts"}, "Found 1 file\nsrc/c.ts")
	b.is(in{"pattern": "hidden"}, "Found 1 file\n.hidden/d")
	b.is(in{"pattern": "Bar", "path": "src"}, "Found 1 file\nsrc/b.go")
	b.is(in{"pattern": "Bar", "path": "src/b.go"}, "Found 1 file\nsrc/b.go")
	b.is(in{"pattern": "foo", "glob": "src/**/*.ts", "path": "src"}, "Found 1 file\nsrc/c.ts")
	b.is(in{"pattern": "package", "head_limit": 1}, "Found 2 files\nsrc/b.go\n[only files 1 to 1; continue with offset 1, or narrow the search]")
	b.is(in{"pattern": "package", "offset": 1}, "Found 2 files\na.go")
	b.is(in{"pattern": "package", "offset": 2}, "No entries at this offset")
	b.is(in{"pattern": "package", "head_limit": 0}, "Found 2 files\nsrc/b.go\na.go")
}

func TestContent(t *testing.T) {
	b := sample(t)
	r := b.is(in{"pattern": "(?i)foo", "output_mode": "content"}, "a.go:3:func Foo() {}\na.go:4:// foo\nsrc/c.ts:1:function foo() {")
	want := `{"mode":"content","numFiles":2,"filenames":["a.go","src/c.ts"],"content":"a.go:3:func Foo() {}\na.go:4:// foo\nsrc/c.ts:1:function foo() {","numLines":3,"numMatches":3}`
	if d := cmp.Diff(want, string(r.Structured)); d != "" {
		t.Error(d)
	}
	b.is(in{"pattern": "Foo", "output_mode": "content", "-n": false}, "a.go:func Foo() {}")
	b.is(in{"pattern": "Foo", "output_mode": "content", "path": "a.go"}, "3:func Foo() {}")
	b.is(in{"pattern": "Foo", "output_mode": "content", "-B": 1, "-A": "1"}, "a.go-2-\na.go:3:func Foo() {}\na.go-4-// foo")
	b.is(in{"pattern": "foo", "output_mode": "content", "-C": 1}, "a.go-3-func Foo() {}\na.go:4:// foo\n--\nsrc/c.ts:1:function foo() {\nsrc/c.ts-2-  return 1")
	b.is(in{"pattern": "foo", "output_mode": "content", "context": 1, "glob": "*.ts"}, "src/c.ts:1:function foo() {\nsrc/c.ts-2-  return 1")
	b.is(in{"pattern": `\w+oo`, "output_mode": "content", "-o": true, "-C": 3}, "a.go:3:Foo\na.go:4:foo\nsrc/c.ts:1:foo")
	b.is(in{"pattern": `\{\s+return`, "output_mode": "content", "multiline": true}, "src/c.ts:1:function foo() {\nsrc/c.ts:2:  return 1")
	b.is(in{"pattern": "package", "output_mode": "content", "head_limit": 1}, "a.go:1:package a\n[only lines 1 to 1; continue with offset 1, or narrow the search]")
	b.is(in{"pattern": "package", "output_mode": "content", "head_limit": 1, "offset": 1}, "src/b.go:1:package b")
	b.is(in{"pattern": "package", "output_mode": "content", "offset": 5}, "No entries at this offset")
}

func TestCount(t *testing.T) {
	b := sample(t)
	r := b.is(in{"pattern": "(?i)foo", "output_mode": "count"}, "a.go:2\nsrc/c.ts:1\nTotal: 3 matches in 2 files")
	if d := cmp.Diff(`{"mode":"count","numFiles":2,"filenames":[],"content":"a.go:2\nsrc/c.ts:1","numMatches":3}`, string(r.Structured)); d != "" {
		t.Error(d)
	}
	b.is(in{"pattern": "(?i)foo", "output_mode": "count", "head_limit": 1}, "a.go:2\nTotal: 3 matches in 2 files\n[only files 1 to 1; continue with offset 1, or narrow the search]")
}

func TestHeadLimitAtItsBorder(t *testing.T) {
	for _, n := range []int{249, 250, 251} {
		b := newBench(t, grep.World{}, map[string]string{"f": strings.Repeat("x\n", n)})
		r := b.call(in{"pattern": "x", "output_mode": "content"})
		var out struct{ NumLines, AppliedLimit int }
		if err := json.Unmarshal(r.Structured, &out); err != nil {
			t.Fatal(err)
		}
		if out.NumLines != min(n, 250) || (out.AppliedLimit == 250) != (n == 251) {
			t.Errorf("%d lines: %+v", n, out)
		}
	}
}

func TestKF021_FailuresAreNotNoMatch(t *testing.T) {
	b := sample(t)
	for pattern, want := range map[string]string{"foo(": `write \( to search`, "(?=x)": "look-around", "a\x00b": "NUL byte", "a\\nb": "multiline: true", "": "is empty"} {
		b.wants(in{"pattern": pattern}, true, want)
	}
	b.wants(in{"pattern": "x", "glob": "[a"}, true, "invalid glob")
	b.wants(in{"pattern": "x", "type": "klingon"}, true, `unknown file type "klingon"`)
	b.wants(in{"pattern": "x", "path": "a.gp"}, true, "does not exist", "Did you mean "+b.dir+"/a.go?")
	b.wants(in{"pattern": "x", "output_mode": "lines"}, true, "must be one of")
	b.wants(in{"pattern": "x", "path": "/dev/zero"}, true, "device")
	b.is(in{"pattern": "Out", "path": "out"}, "Found 1 file\nout/e.go")
	b.is(in{"pattern": "Out", "path": "out/e.go"}, "Found 1 file\nout/e.go")
	b.is(in{"pattern": "hidden", "path": ".hidden/"}, "Found 1 file\n.hidden/d")
	b.is(in{"pattern": "Out"}, "No files found\n[not searched: 1 ignored files or folders (name one as path to search it)]")
	b.is(in{"pattern": "x", "glob": "*.none"}, "No files found\n[not searched: 1 ignored files or folders (name one as path to search it)]\n[no file was searched; check path, glob and type]")
	b.is(in{"pattern": "zzz", "output_mode": "content", "path": "a.go"}, "No matches found")
	b.is(in{"pattern": "zzz", "output_mode": "count", "path": "a.go"}, "No matches found")
	binary := newBench(t, grep.World{}, map[string]string{"bin": "x\x00\x01"})
	binary.is(in{"pattern": "x"}, "No files found\n[not searched: 1 binary]\n[no file was searched; check path, glob and type]")
	binary.is(in{"pattern": "x", "path": "bin"}, "No files found\n[not searched: 1 binary]\n[no file was searched; check path, glob and type]")
}

func TestKF015_OtherEncodings(t *testing.T) {
	b := newBench(t, grep.World{}, map[string]string{"latin": "x caf\xE9\r\n", "utf16": "\xFF\xFEc\x00a\x00f\x00\xE9\x00", "utf8": "caf\u00e9\n"})
	b.is(in{"pattern": "café", "output_mode": "content"}, "latin:1:x café\nutf16:1:café\nutf8:1:café")
}

func TestKF005_CutsFallBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		b := newBench(t, grep.World{}, map[string]string{"f": strings.Repeat("a", shift) + strings.Repeat("😀", 600) + "needle\n"})
		b.wants(in{"pattern": "needle", "output_mode": "content"}, false, "needle", "cut]")
		b.wants(in{"pattern": ".*", "output_mode": "content", "-o": true}, false, "😀", "cut]")
	}
}

func TestColumns(t *testing.T) {
	for _, n := range []int{499, 500, 501} {
		b := newBench(t, grep.World{}, map[string]string{"f": strings.Repeat("x", n) + "\n"})
		if cut := strings.Contains(b.wants(in{"pattern": "x", "output_mode": "content"}, false), "cut]"); cut != (n == 501) {
			t.Errorf("a line of %d characters: cut %v", n, cut)
		}
	}
}

func TestKF022_OddNames(t *testing.T) {
	for _, name := range []string{"[id].tsx", "a b.txt", "-n", "x\ny", "e\u0301.txt", "é.txt", strings.Repeat("n", 250)} {
		b := newBench(t, grep.World{}, map[string]string{name: "needle\n", "other": "needle\n"})
		b.is(in{"pattern": "needle", "path": name}, "Found 1 file\n"+name)
		b.is(in{"pattern": "needle", "path": name, "output_mode": "content"}, "1:needle")
	}
	b := newBench(t, grep.World{}, map[string]string{"f": "-n -e x\n"})
	b.is(in{"pattern": "-n -e", "output_mode": "content"}, "f:1:-n -e x")
}

func TestKF023_SpecialFilesAndSparseFiles(t *testing.T) {
	b := newBench(t, grep.World{}, map[string]string{"a": "needle\n", "sparse": ""})
	if err := os.Truncate(filepath.Join(b.dir, "sparse"), 4<<30); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(b.dir, "loop")); err != nil {
		t.Fatal(err)
	}
	b.is(in{"pattern": "needle"}, "Found 1 file\na")
	b.is(in{"pattern": "nowhere"}, "No files found\n[not searched: 1 binary, 1 devices, pipes or sockets]")
	b.wants(in{"pattern": "x", "path": "fifo"}, true, "is not searched")
}

func TestKF041_LinkOutOfTheProject(t *testing.T) {
	outside := newBench(t, grep.World{}, map[string]string{"secret": "needle"})
	b := newBench(t, grep.World{}, map[string]string{"a": "needle"})
	if err := os.Symlink(outside.dir, filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	b.is(in{"pattern": "needle"}, "Found 1 file\na")
}

func TestKF042_ReadDenyBindsGrep(t *testing.T) {
	lookedUp := 0
	b := newBench(t, grep.World{Hidden: func() func(string) bool {
		lookedUp++
		return func(p string) bool { return filepath.Base(p) == ".env" }
	}}, map[string]string{".env": "KEY=1", "sub/.env": "KEY=2", "a": "KEY=3"})
	defer func() {
		if lookedUp != 3 {
			t.Errorf("the rules were looked up %d times in 3 searches", lookedUp)
		}
	}()
	b.is(in{"pattern": "KEY", "output_mode": "content"}, "a:1:KEY=3\n[not searched: 2 covered by Read deny rules]")
	if got := b.wants(in{"pattern": "KEY", "path": ".env"}, true, "Read deny rule"); strings.Contains(got, "KEY") {
		t.Errorf("got %s", got)
	}
	if err := os.Symlink(".env", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	b.wants(in{"pattern": "KEY", "path": "link"}, true, "Read deny rule")
}

func TestTimeLimit(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f%d", i%20, i)] = "x\n"
	}
	b := newBench(t, grep.World{Limit: time.Nanosecond}, files)
	r := b.call(in{"pattern": "nowhere"})
	if !strings.Contains(string(r.Structured), `"timedOut":true`) || !strings.Contains(msg.TextOf(r.Content), "stopped after 1ns") {
		t.Errorf("got %s, %s", r.Structured, msg.TextOf(r.Content))
	}
}

func TestCancelled(t *testing.T) {
	b := sample(t)
	c, err := b.normalised(in{"pattern": "x"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.tool.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTraitsAndSize(t *testing.T) {
	b := sample(t)
	c, err := b.normalised(in{"pattern": "x", "path": "src/../src"})
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Traits{ReadOnly: true, Beside: true, Paths: []tool.PathUse{{Path: b.dir + "/src", Intent: tool.Search}}}
	if d := cmp.Diff(want, b.tool.Traits(c)); d != "" {
		t.Error(d)
	}
	if n := len(b.tool.Spec().Description) + len(b.tool.Spec().Schema); n > 2000 {
		t.Errorf("description and schema have %d bytes", n)
	}
}
