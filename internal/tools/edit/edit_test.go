package edit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
	"github.com/myelin-agent/myelin/internal/tools/edit"
	"github.com/myelin-agent/myelin/internal/tools/read"
)

// bench is the tool with an agent in a folder of its own.
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
	return &bench{t, edit.New(files), tool.NewScope("", dir), dir}
}

// free lets the agent change what it has not read.
func free() tool.Files { return tool.Files{MayRead: func(string) bool { return true }} }

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
	b.scope.Reads.Put(tool.ReadRecord{Path: f.Real, Hash: f.Text.Hash(), Content: f.Text.Raw(), Size: int64(len(f.Text.Raw()))})
}

func (b *bench) content(path string) string {
	b.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(raw)
}

type in map[string]any

func (b *bench) call(input in) (tool.Result, error) {
	b.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	c, err := b.tool.Normalise(tool.Call{Name: edit.Name, Literal: raw, Scope: b.scope})
	if err != nil {
		return tool.Misuse(err.Error()), nil
	}
	return b.tool.Run(context.Background(), c)
}

// wants runs the tool and looks for parts in its answer.
func (b *bench) wants(input in, isError bool, parts ...string) tool.Result {
	b.Helper()
	r, err := b.call(input)
	if err != nil {
		b.Fatal(err)
	}
	got := msg.TextOf(r.Content)
	if r.IsError != isError {
		b.Errorf("%v: error is %v: %s", input, r.IsError, got)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			b.Errorf("%v: %q is not in %q", input, p, got)
		}
	}
	return r
}

func (b *bench) becomes(path, want string) {
	b.Helper()
	if got := b.content(path); got != want {
		b.Errorf("%s has %q, want %q", filepath.Base(path), got, want)
	}
}

func one(path, old, with string) in {
	return in{"file_path": path, "old_string": old, "new_string": with}
}

func TestEdit(t *testing.T) {
	b := newBench(t, free())
	path := b.put("a.go", "one\ntwo\nthree\n")
	r := b.wants(one("a.go", "two", "2\n2b"), false, "Edited "+path, "2\t2\n3\t2b")
	b.becomes(path, "one\n2\n2b\nthree\n")
	want := `{"filePath":"` + path + `","oldString":"two","newString":"2\n2b","originalFile":"one\ntwo\nthree\n",` +
		`"structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":4,"lines":[" one","-two","+2","+2b"," three"]}],"userModified":false,"replaceAll":false}`
	if d := cmp.Diff(want, string(r.Structured)); d != "" {
		t.Error(d)
	}
	if r.Added != 2 || r.Removed != 1 {
		t.Errorf("+%d -%d, want +2 -1", r.Added, r.Removed)
	}
}

func TestReplaceAll(t *testing.T) {
	b := newBench(t, free())
	path := b.put("f", "x x\nx\n")
	b.wants(one(path, "x", "y"), true, "Found 3 matches", "lines 1, 1, 2", "replace_all")
	b.becomes(path, "x x\nx\n")
	b.wants(in{"file_path": path, "old_string": "x", "new_string": "xx", "replace_all": "true"}, false)
	b.becomes(path, "xx xx\nxx\n")
}

func TestSeveralEditsAreAllOrNothing(t *testing.T) {
	b := newBench(t, free())
	path := b.put("f", "a b c\n")
	edits := []in{{"old_string": "a", "new_string": "b"}, {"old_string": "b b", "new_string": "x"}, {"old_string": "c", "new_string": "d", "replace_all": true}}
	b.wants(in{"file_path": path, "edits": edits}, false)
	b.becomes(path, "x d\n")
	edits = []in{{"old_string": "x", "new_string": "y"}, {"old_string": "nowhere", "new_string": "z"}}
	b.wants(in{"file_path": path, "edits": edits}, true, "Edit 2 of 2: String to replace not found", "None of the edits was made")
	b.becomes(path, "x d\n")
	b.wants(in{"file_path": path, "edits": edits, "old_string": "x"}, true, "not both")
	b.wants(in{"file_path": path, "edits": []in{}}, true, "at least 1 items")
	b.wants(in{"file_path": path, "edits": []in{{"old_string": "x"}}}, true, "`edits[0].new_string` is missing")
	b.wants(in{"file_path": filepath.Join(b.dir, "new"), "edits": []in{{"old_string": "", "new_string": "one"}, {"old_string": "one", "new_string": "two"}}}, false)
	b.becomes(filepath.Join(b.dir, "new"), "two")
}

func TestErrors(t *testing.T) {
	b := newBench(t, free())
	path := b.put("main.go", "func main() {\n\tx := 1\n}\n")
	b.wants(one("mian.go", "a", "b"), true, "does not exist", "Did you mean "+path)
	b.wants(one(path, "y := 1", "z"), true, "String to replace not found in file.\nString: y := 1")
	b.wants(one(path, "    x :=  1", "z"), true, "something like it", "2\t\tx := 1")
	b.wants(one(path, "x", "x"), true, "are the same")
	b.wants(one(path, "", "x"), true, "exists and is not empty")
	b.wants(one("n.ipynb", "a", "b"), true, "NotebookEdit")
	b.wants(one(".", "a", "b"), true, "is a directory")
	b.wants(one(b.put("bin", "\x7fELF\x00"), "E", "b"), true, "ELF program")
	b.wants(one("/dev/null", "a", "b"), true, "device")
	b.wants(one("", "a", "b"), true, "is empty")
	b.wants(one("a\x00b", "a", "b"), true, "NUL")
	b.wants(in{"file_path": path, "old_string": "a"}, true, "The required parameter `new_string` is missing")
	b.wants(in{"file_path": path}, true, "The required parameter `old_string` is missing")
	b.becomes(path, "func main() {\n\tx := 1\n}\n")
	for _, input := range []in{one(path, "zz", "b"), one("none", "a", "b")} {
		if r, _ := b.call(input); !strings.HasPrefix(msg.TextOf(r.Content), "<tool_use_error>") {
			t.Errorf("%v: %s", input, msg.TextOf(r.Content))
		}
	}
}

func TestEmptyOldStringCreates(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := filepath.Join(b.dir, "new/deep/f.txt")
	r := b.wants(one(path, "", "hello\n"), false, "Created")
	b.becomes(path, "hello\n")
	if !strings.Contains(string(r.Structured), `"originalFile":null`) || r.Added != 1 {
		t.Errorf("structured %s, +%d", r.Structured, r.Added)
	}
	empty := b.put("empty", "")
	b.wants(one(empty, "", "x"), false)
	b.becomes(empty, "x")
	b.wants(one(empty, "x", "y"), false) // what it wrote it knows
	b.becomes(empty, "y")
}

func TestReadBeforeEdit(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := b.put("f", "a b\n")
	b.wants(one(path, "a", "x"), true, "has not been read yet")
	b.read(path)
	b.wants(one(path, "a", "x"), false)
	b.wants(one(path, "b", "y"), false)
	b.becomes(path, "x y\n")
	b.scope.Reads.Put(tool.ReadRecord{Path: path, Hash: mustLoad(t, path).Text.Hash(), Partial: true})
	b.wants(one(path, "x", "z"), true, "only in part")
	relaxed := newBench(t, tool.Files{MayRead: func(p string) bool { return !strings.HasSuffix(p, "secret") }})
	relaxed.wants(one(relaxed.put("open", "a"), "a", "b"), false)
	relaxed.wants(one(relaxed.put("secret", "a"), "a", "b"), true, "has not been read yet")
	strict := newBench(t, tool.Files{MayRead: func(string) bool { return true }, ReadFirst: func() bool { return true }})
	strict.wants(one(strict.put("open", "a"), "a", "b"), true, "has not been read yet")
}

func mustLoad(t *testing.T, path string) textfile.File {
	t.Helper()
	f, err := textfile.Load(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestKF015_BytesThatAreNotUTF8(t *testing.T) {
	cases := []struct{ raw, old, with, want string }{
		{"const x = 1;\n// caf\xE9 note\n", "x = 1", "x = 2", "const x = 2;\n// caf\xE9 note\n"},
		{"\xA9 x = 1 \x80\n", "x = 1", "x = “2”", "\xA9 x = \x932\x94 \x80\n"},
		{"\xFF\xFEx\x00=\x001\x00\n\x00\xE9\x00", "x=1", "x=é", "\xFF\xFEx\x00=\x00\xE9\x00\n\x00\xE9\x00"},
		{"\x83\x5C\x82\xA0 x = 1\n", "x = 1", "x = ソ", "\x83\x5C\x82\xA0 x = \x83\x5C\n"},
	}
	for _, c := range cases {
		b := newBench(t, free())
		path := b.put("f", c.raw)
		b.wants(one(path, c.old, c.with), false)
		b.becomes(path, c.want)
		if strings.Contains(b.content(path), "\uFFFD") {
			t.Errorf("U+FFFD in %q", b.content(path))
		}
	}
	b := newBench(t, free())
	path := b.put("f", "caf\xE9 x\n")
	b.wants(one(path, "x", "日本"), true, "Windows-1252", "cannot hold", "Nothing was written")
	b.becomes(path, "caf\xE9 x\n")
	// A lone surrogate in what a model writes arrives as U+FFFD.
	r := rawCall(b, `{"file_path":"f","old_string":"x","new_string":"\ud800"}`)
	if got := msg.TextOf(r.Content); !r.IsError || !strings.Contains(got, "U+FFFD") {
		t.Errorf("got %s", got)
	}
	b.becomes(path, "caf\xE9 x\n")
}

func rawCall(b *bench, literal string) tool.Result {
	b.Helper()
	c, err := b.tool.Normalise(tool.Call{Literal: json.RawMessage(literal), Scope: b.scope})
	if err != nil {
		b.Fatal(err)
	}
	r, err := b.tool.Run(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func TestKF016_BOMStays(t *testing.T) {
	b := newBench(t, free())
	with, without := b.put("with", "\uFEFFä x\n"), b.put("without", "ä x\n")
	for _, path := range []string{with, without} {
		b.wants(one(path, "ä", "ö"), false)
	}
	b.becomes(with, "\uFEFFö x\n")
	b.becomes(without, "ö x\n")
}

func TestKF017_CRLF(t *testing.T) {
	b := newBench(t, free())
	path := b.put("f", "a\r\nb\r\nc\r\nd\r\n")
	r := b.wants(one(path, "b\nc", "b\nnew\nc"), false)
	b.becomes(path, "a\r\nb\r\nnew\r\nc\r\nd\r\n")
	if strings.Contains(string(r.Structured), `\r`) || r.Added != 1 || r.Removed != 0 {
		t.Errorf("the diff shows more than the wanted line: %s", r.Structured)
	}
	b.wants(one(path, "new\r\nc", "newer\r\nc"), false)
	b.becomes(path, "a\r\nb\r\nnewer\r\nc\r\nd\r\n")
	lf := b.put("lf", "a\nb\n")
	b.wants(one(lf, "a\r\nb", "x\r\ny"), false)
	b.becomes(lf, "x\ny\n")
}

func TestKF018_DollarSigns(t *testing.T) {
	const with = `log("$& $1 $$ ${x} \\1 ok");`
	b := newBench(t, free())
	path := b.put("f", `log("done");`+"\n")
	b.wants(one(path, `log("done");`, with), false)
	b.becomes(path, with+"\n")
	all := b.put("all", "log(\"done\");\nlog(\"done\");\n")
	b.wants(in{"file_path": all, "old_string": `log("done");`, "new_string": with, "replace_all": true}, false)
	b.becomes(all, with+"\n"+with+"\n")
}

func TestKF019_Mode(t *testing.T) {
	b := newBench(t, free())
	for _, mode := range []fs.FileMode{0o755, 0o640} {
		path := b.put("f", "a")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		b.wants(one(path, "a", "b"), false)
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("mode %v, want %v (%v)", info.Mode(), mode, err)
		}
	}
}

func TestKF020_FileChangedSinceItWasRead(t *testing.T) {
	b := newBench(t, free())
	path := b.put("f", "aaa\nbbb\nccc\n")
	b.read(path)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b.put("f", "aaa\nBBB\nccc\n") // the same size, and the time set back
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	b.wants(one(path, "bbb", "xxx"), true, "not found", "has changed on disk since you read it", "2\tBBB", "Read it again")
	b.becomes(path, "aaa\nBBB\nccc\n")
	b.read(path)
	b.wants(one(path, "BBB", "xxx"), false)
	b.becomes(path, "aaa\nxxx\nccc\n")
}

func TestKF020_ChangeElsewhereIsToldAndKept(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := b.put("f", "aaa\nbbb\n")
	b.read(path)
	b.put("f", "aaa\nbbb\nuser\n")
	b.wants(one(path, "aaa", "xxx"), false, "had also changed since you read it", "3\tuser")
	b.becomes(path, "xxx\nbbb\nuser\n")
	b.put("f", "xxx\nxxx\n")
	b.wants(one(path, "xxx", "y"), true, "Found 2 matches", "has changed on disk")
	strict := newBench(t, tool.Files{ReadFirst: func() bool { return true }})
	path = strict.put("f", "aaa\nbbb\n")
	strict.read(path)
	strict.put("f", "aaa\nbbb\nuser\n")
	strict.wants(one(path, "aaa", "xxx"), true, "has changed on disk", "3\tuser")
	strict.becomes(path, "aaa\nbbb\nuser\n")
}

func TestKF020_FormatterHookCausesNoRetryLoop(t *testing.T) {
	files := tool.Files{ReadFirst: func() bool { return true }}
	b := newBench(t, files)
	path := b.put("f", "a=1\nb=2\n")
	b.read(path)
	b.wants(one(path, "a=1", "a=3"), false)
	b.put("f", "a = 3\nb = 2\n")
	note := files.Drift(b.scope, path)
	if !strings.Contains(note, "1\ta = 3\n2\tb = 2") {
		t.Errorf("the agent is told %q", note)
	}
	if again := files.Drift(b.scope, path); again != "" {
		t.Errorf("and told again %q", again)
	}
	b.wants(one(path, "b = 2", "b = 4"), false)
	b.becomes(path, "a = 3\nb = 4\n")
}

func TestKF022_OddNames(t *testing.T) {
	b := newBench(t, free())
	for _, name := range []string{"[id].tsx", "a b.txt", "-n", "x\ny", "e\u0301.txt", "é.txt", strings.Repeat("n", 250)} {
		path := b.put(name, "old")
		b.wants(one(name, "old", "new"), false)
		b.becomes(path, "new")
	}
}

func TestKF041_LinksAreFollowedAndKept(t *testing.T) {
	var kept []string
	files := free()
	files.Before = func(_ context.Context, path string) error { kept = append(kept, path); return nil }
	b := newBench(t, files)
	outside := newBench(t, free())
	target := outside.put("f", "old")
	link := filepath.Join(b.dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	b.wants(one(link, "old", "new"), false)
	outside.becomes(target, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if d := cmp.Diff([]string{target}, kept); d != "" {
		t.Error("what was kept:", d)
	}
}

func TestKF042_ReadDeny(t *testing.T) {
	files := free()
	files.Hidden = func(p string) bool { return filepath.Base(p) == ".env" }
	b := newBench(t, files)
	path := b.put(".env", "KEY=1")
	r := b.wants(one(path, "KEY", "x"), true, "File is covered by a Read deny rule in your permission settings and cannot be edited.")
	if strings.Contains(msg.TextOf(r.Content), "KEY") {
		t.Error("the content is shown")
	}
	b.wants(one(path, "", "x"), true, "Read deny rule")
	if err := os.Symlink(path, filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	b.wants(one("link", "KEY", "x"), true, "Read deny rule")
	b.becomes(path, "KEY=1")
}

func TestNothingChangesWithoutBeingKept(t *testing.T) {
	files := free()
	files.Before = func(context.Context, string) error { return errors.New("disk full") }
	b := newBench(t, files)
	path := b.put("f", "a")
	for _, input := range []in{one(path, "a", "b"), one(filepath.Join(b.dir, "new"), "", "b")} {
		if _, err := b.call(input); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%v: %v", input, err)
		}
	}
	b.becomes(path, "a")
	if _, err := os.Stat(filepath.Join(b.dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new file: %v", err)
	}
}

// A file that changes between reading it and writing it is left alone.
func TestChangeInTheLastMoment(t *testing.T) {
	files := free()
	var path string
	files.Before = func(context.Context, string) error { return os.WriteFile(path, []byte("user's\n"), 0o644) }
	b := newBench(t, files)
	path = b.put("f", "a\n")
	b.wants(one(path, "a", "b"), true, "has changed on disk", "1\tuser's")
	b.becomes(path, "user's\n")
}

// Agents of one process that edit one file at once lose nothing.
func TestEditsSideBySide(t *testing.T) {
	b := newBench(t, free())
	path := b.put("f", "0\n1\n2\n3\n4\n5\n6\n7\n")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			scope := tool.NewScope("agent", b.dir)
			raw, _ := json.Marshal(one(path, string(rune('0'+i)), "done "+string(rune('a'+i))))
			for {
				c, err := b.tool.Normalise(tool.Call{Literal: raw, Scope: scope})
				if err != nil {
					t.Error(err)
					return
				}
				r, err := b.tool.Run(context.Background(), c)
				if err != nil {
					t.Error(err)
					return
				}
				if !r.IsError {
					return
				}
			}
		})
	}
	wg.Wait()
	b.becomes(path, "done a\ndone b\ndone c\ndone d\ndone e\ndone f\ndone g\ndone h\n")
}

// Ten readers beside each other and an edit after them, as one answer of a model may ask for.
func TestTenReadsAndAnEdit(t *testing.T) {
	b := newBench(t, tool.Files{})
	reader := read.New(read.World{})
	var wg sync.WaitGroup
	for i := range 10 {
		path := b.put("f"+string(rune('0'+i)), "old "+string(rune('0'+i))+"\n")
		wg.Go(func() {
			raw, _ := json.Marshal(in{"file_path": path})
			c, err := reader.Normalise(tool.Call{Literal: raw, Scope: b.scope})
			if err != nil {
				t.Error(err)
				return
			}
			if r, err := reader.Run(context.Background(), c); err != nil || r.IsError {
				t.Error(err, msg.TextOf(r.Content))
			}
		})
	}
	wg.Wait()
	for i := range 10 {
		path := filepath.Join(b.dir, "f"+string(rune('0'+i)))
		b.wants(one(path, "old", "new"), false)
		b.becomes(path, "new "+string(rune('0'+i))+"\n")
	}
}

// A partial view does not count as read.
func TestPartialReadDoesNotCount(t *testing.T) {
	b := newBench(t, tool.Files{})
	path := b.put("f", strings.Repeat("line\n", 2001)+"last\n")
	reader := read.New(read.World{})
	raw, _ := json.Marshal(in{"file_path": path})
	c, err := reader.Normalise(tool.Call{Literal: raw, Scope: b.scope})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	b.wants(one(path, "last", "x"), true, "only in part")
	c.Input = json.RawMessage(`{"file_path":"` + path + `","offset":2000,"limit":10}`)
	if _, err := reader.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	b.wants(one(path, "last", "x"), false)
}

func TestReadOnlyFileIsNotReplaced(t *testing.T) {
	if os.Geteuid() == 0 {
		return // root may write everything
	}
	b := newBench(t, free())
	path := b.put("f", "a")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	b.wants(one(path, "a", "b"), true, "permission denied")
}

func TestTraitsAndSize(t *testing.T) {
	b := newBench(t, free())
	raw, _ := json.Marshal(one("x/../f", "a", "b"))
	c, err := b.tool.Normalise(tool.Call{Literal: raw, Scope: b.scope})
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Traits{Paths: []tool.PathUse{{Path: b.dir + "/f", Intent: tool.Write}}, Snapshot: true}
	if d := cmp.Diff(want, b.tool.Traits(c)); d != "" {
		t.Error(d)
	}
	spec := b.tool.Spec()
	if n := len(spec.Description) + len(spec.Schema); n > 1200 {
		t.Errorf("description and schema have %d bytes", n)
	}
}
