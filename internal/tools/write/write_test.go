package write_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
	"github.com/myelin-agent/myelin/internal/tools/write"
)

type bench struct {
	*testing.T
	tool  tool.Tool
	scope *tool.Scope
	dir   string
}

func newBench(t *testing.T, files tool.Files) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, write.New(files), tool.NewScope("", dir), dir}
}

func (b *bench) put(name, content string) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

// read makes the agent know the file as it is.
func (b *bench) read(path string) {
	b.Helper()
	f, err := textfile.Load(path, 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	b.scope.Reads.Put(tool.ReadRecord{Path: f.Real, Hash: f.Text.Hash(), Content: f.Text.Raw()})
}

func (b *bench) wants(path, content string, isError bool, parts ...string) tool.Result {
	b.Helper()
	raw, err := json.Marshal(map[string]string{"file_path": path, "content": content})
	if err != nil {
		b.Fatal(err)
	}
	var r tool.Result
	c, err := b.tool.Normalise(tool.Call{Literal: raw, Scope: b.scope})
	if err != nil {
		r = tool.Misuse(err.Error())
	} else if r, err = b.tool.Run(context.Background(), c); err != nil {
		b.Fatal(err)
	}
	got := msg.TextOf(r.Content)
	if r.IsError != isError {
		b.Errorf("%s: error is %v: %s", path, r.IsError, got)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			b.Errorf("%s: %q is not in %q", path, p, got)
		}
	}
	return r
}

func (b *bench) becomes(path, want string) {
	b.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if string(raw) != want {
		b.Errorf("%s has %q, want %q", filepath.Base(path), raw, want)
	}
}

func TestCreateAndUpdate(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := filepath.Join(b.dir, "x/y/f.txt")
	r := b.wants("x/y/f.txt", "a\nb\n", false, "Created "+path)
	b.becomes(path, "a\nb\n")
	want := `{"type":"create","filePath":"` + path + `","content":"a\nb\n","structuredPatch":[],"originalFile":null,"userModified":false}`
	if d := cmp.Diff(want, string(r.Structured)); d != "" || r.Added != 2 || r.Removed != 0 {
		t.Errorf("%s +%d -%d", d, r.Added, r.Removed)
	}
	r = b.wants(path, "a\nc\n", false, "Updated "+path, "1 lines added, 1 removed") // what it wrote it knows
	b.becomes(path, "a\nc\n")
	want = `{"type":"update","filePath":"` + path + `","content":"a\nc\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" a","-b","+c"]}],"originalFile":"a\nb\n","userModified":false}`
	if d := cmp.Diff(want, string(r.Structured)); d != "" || r.Added != 1 || r.Removed != 1 {
		t.Errorf("%s +%d -%d", d, r.Added, r.Removed)
	}
	b.wants(b.put("empty", ""), "now\r\n", false)
	b.becomes(filepath.Join(b.dir, "empty"), "now\r\n")
}

func TestReadBeforeWrite(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := b.put("f", "old\nold\n")
	b.wants(path, "new", true, "has not been read yet")
	b.scope.Reads.Put(tool.ReadRecord{Path: path, Hash: load(t, path).Text.Hash(), Offset: 1, Limit: 1})
	b.wants(path, "new", true, "only in part")
	b.scope.Reads.Put(tool.ReadRecord{Path: path, Hash: load(t, path).Text.Hash(), Partial: true})
	b.wants(path, "new", true, "only in part")
	b.scope.Reads.Put(tool.ReadRecord{Path: path, Hash: load(t, path).Text.Hash(), Offset: 1, Limit: 2})
	b.wants(path, "new", false)
	b.becomes(path, "new")

	relaxed := newBench(t, tool.Files{MayRead: func(string) bool { return true }})
	path = relaxed.put("f", "old")
	relaxed.wants(path, "new", false)
	relaxed.wants(relaxed.put("n.ipynb", "{}"), "{}", true, "notebook that has not been read")
	relaxed.scope.Reads.Put(tool.ReadRecord{Path: path, Hash: load(t, path).Text.Hash(), Partial: true})
	relaxed.wants(path, "new", true, "only in part")
}

func load(t *testing.T, path string) textfile.File {
	t.Helper()
	f, err := textfile.Load(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestErrors(t *testing.T) {
	b := newBench(t, tool.Files{})
	b.wants(b.dir, "x", true, "is a directory")
	b.wants("/dev/full", "x", true, "device")
	b.wants(b.put("bin", "\x89PNG\r\n\x1a\n\x00"), "x", true, "PNG image")
	b.wants(filepath.Join(b.put("file", "x"), "below"), "x", true, "cannot be written")
	b.wants("a\x00", "x", true, "NUL")
	b.wants("", "x", true, "is empty")
	b.wants("new", "a \uFFFD", true, "U+FFFD")
}

func TestKF015_WholeFileInItsEncoding(t *testing.T) {
	cases := []struct{ raw, content, want string }{
		{"caf\xE9 x\n\xA9\n", "café y\n©\n", "caf\xE9 y\n\xA9\n"},
		{"\xFF\xFEx\x00\n\x00", "é\n", "\xFF\xFE\xE9\x00\n\x00"},
		{"\x83\x5C\x82\xA0\n", "ソあ\n新\n", "\x83\x5C\x82\xA0\n\x90\x56\n"},
	}
	for _, c := range cases {
		b := newBench(t, tool.Files{})
		path := b.put("f", c.raw)
		b.read(path)
		b.wants(path, c.content, false)
		b.becomes(path, c.want)
	}
	b := newBench(t, tool.Files{})
	path := b.put("f", "caf\xE9\n")
	b.read(path)
	b.wants(path, "café 日本\n", true, "cannot hold", "Nothing was written")
	b.becomes(path, "caf\xE9\n")
}

func TestKF016_BOM(t *testing.T) {
	b := newBench(t, tool.Files{})
	with, without := b.put("with", "\uFEFFä\n"), b.put("without", "ä\n")
	for _, content := range []string{"ö\n", "\uFEFFü\n"} {
		for _, path := range []string{with, without} {
			b.read(path)
			b.wants(path, content, false)
		}
	}
	b.becomes(with, "\uFEFFü\n")
	b.becomes(without, "ü\n")
}

func TestKF017_CRLF(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := b.put("f", "a\r\nb\r\nc\r\n")
	b.read(path)
	r := b.wants(path, "a\nB\nc\nd\n", false)
	b.becomes(path, "a\r\nB\r\nc\r\nd\r\n")
	if r.Added != 2 || r.Removed != 1 {
		t.Errorf("+%d -%d, want +2 -1", r.Added, r.Removed)
	}
	mixed := b.put("mixed", "a\r\nb\nc\r\n")
	b.read(mixed)
	b.wants(mixed, "a\nb\nC\n", false)
	b.becomes(mixed, "a\r\nb\nC\r\n")
}

func TestKF019_Mode(t *testing.T) {
	b := newBench(t, tool.Files{})
	for _, mode := range []fs.FileMode{0o755, 0o640} {
		path := b.put("f", "a")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		b.read(path)
		b.wants(path, "b", false)
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("mode %v, want %v (%v)", info.Mode(), mode, err)
		}
	}
}

func TestKF020_FileChangedSinceItWasRead(t *testing.T) {
	for _, files := range []tool.Files{{}, {MayRead: func(string) bool { return true }}} {
		b := newBench(t, files)
		path := b.put("f", "aaa\nbbb\n")
		b.read(path)
		b.put("f", "aaa\nBBB\n")
		b.wants(path, "mine\n", true, "has changed on disk since you read it", "2\tBBB", "Nothing was written")
		b.becomes(path, "aaa\nBBB\n")
		b.read(path)
		b.wants(path, "mine\n", false)
		b.becomes(path, "mine\n")
	}
}

func TestKF041_NewFileThroughALink(t *testing.T) {
	var kept []string
	b := newBench(t, tool.Files{Before: func(_ context.Context, p string) error { kept = append(kept, p); return nil }})
	outside := newBench(t, tool.Files{})
	if err := os.Symlink(outside.dir, filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	b.wants("out/sub/new.txt", "x", false)
	outside.becomes(filepath.Join(outside.dir, "sub/new.txt"), "x")
	if d := cmp.Diff([]string{filepath.Join(outside.dir, "sub/new.txt")}, kept); d != "" {
		t.Error("what was kept is not the real place:", d)
	}
}

func TestKF042_ReadDeny(t *testing.T) {
	b := newBench(t, tool.Files{Hidden: func(p string) bool { return filepath.Base(p) == ".env" }, MayRead: func(string) bool { return true }})
	path := b.put(".env", "KEY=1")
	b.wants(path, "x", true, "File is covered by a Read deny rule in your permission settings and cannot be written.")
	b.becomes(path, "KEY=1")
}

func TestTraitsAndSize(t *testing.T) {
	b := newBench(t, tool.Files{})
	c, err := b.tool.Normalise(tool.Call{Literal: json.RawMessage(`{"file_path":"x/../f","content":""}`), Scope: b.scope})
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Traits{Paths: []tool.PathUse{{Path: b.dir + "/f", Intent: tool.Write}}, Snapshot: true}
	if d := cmp.Diff(want, b.tool.Traits(c)); d != "" {
		t.Error(d)
	}
	if n := len(b.tool.Spec().Description) + len(b.tool.Spec().Schema); n > 700 {
		t.Errorf("description and schema have %d bytes", n)
	}
}
