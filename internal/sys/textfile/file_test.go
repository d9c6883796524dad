package textfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

func put(t *testing.T, path, content string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func rewrite(t *testing.T, path, view string) File {
	t.Helper()
	f, err := Load(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	next, err := f.Text.Rewrite(view)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.Save(next); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestKF019_ModeOwnerAndLinksStay(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"a": 0o755, "b": 0o640, "c": 0o600, "d": 0o755 | fs.ModeSetuid, strings.Repeat("n", 250): 0o744} {
		path := put(t, filepath.Join(dir, name), "old\n", mode)
		f := rewrite(t, path, "new\n")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != mode || f.Info.Mode() != mode || content(t, path) != "new\n" {
			t.Errorf("%.10s: mode %v, want %v; content %q", name, info.Mode(), mode, content(t, path))
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 5 {
		t.Errorf("%d entries in the folder, want 5 (%v)", len(left), err)
	}
}

func TestKF019_HardLinksAndOwner(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "a"), "old\n", 0o640)
	if err := os.Link(path, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	rewrite(t, path, "new, longer\n")
	if got := content(t, filepath.Join(dir, "b")); got != "new, longer\n" {
		t.Errorf("the other hard link has %q", got)
	}
	rewrite(t, path, "s\n")
	if got := content(t, filepath.Join(dir, "b")); got != "s\n" {
		t.Errorf("the other hard link has %q", got)
	}
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	other := put(t, filepath.Join(dir, "c"), "old\n", 0o644)
	if err := os.Chown(other, 1234, 4321); err != nil {
		t.Fatal(err)
	}
	f := rewrite(t, other, "new\n")
	if st := f.Info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 4321 {
		t.Errorf("owner is %d:%d, want 1234:4321", st.Uid, st.Gid)
	}
}

func TestKF019_SetgidFolderAndUmask(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	gid := os.Getegid()
	if os.Geteuid() == 0 {
		gid = 4321
		if err := os.Chown(dir, -1, gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755|fs.ModeSetgid); err != nil {
			t.Fatal(err)
		}
	}
	text, err := FromString("x\n")
	if err != nil {
		t.Fatal(err)
	}
	plain := put(t, filepath.Join(t.TempDir(), "plain"), "", 0o666)
	f, err := create(filepath.Join(dir, "sub", "new"), text)
	if err != nil {
		t.Fatal(err)
	}
	if st := f.Info.Sys().(*syscall.Stat_t); int(st.Gid) != gid {
		t.Errorf("group of a file in a setgid folder is %d, want %d", st.Gid, gid)
	}
	f = rewrite(t, f.Path, "y\n")
	if st := f.Info.Sys().(*syscall.Stat_t); int(st.Gid) != gid {
		t.Errorf("group after a rewrite is %d, want %d", st.Gid, gid)
	}
	ref, err := os.OpenFile(plain+"2", os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close()
	want, err := ref.Stat()
	if err != nil || f.Info.Mode() != want.Mode() {
		t.Errorf("mode of a new file is %v, want that of the umask %v (%v)", f.Info.Mode(), want.Mode(), err)
	}
	if _, err := create(f.Path, text); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a file: %v", err)
	}
}

func TestSaveFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	target := put(t, filepath.Join(dir, "target"), "old\n", 0o644)
	link := filepath.Join(dir, "link")
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	rewrite(t, link, "new\n")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || content(t, target) != "new\n" {
		t.Errorf("link is %v, target has %q (%v)", info.Mode(), content(t, target), err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink("later", dangling); err != nil {
		t.Fatal(err)
	}
	text, _ := FromString("made\n")
	if _, err := create(dangling, text); err != nil || content(t, filepath.Join(dir, "later")) != "made\n" {
		t.Errorf("create through a dangling link: %v", err)
	}
}

func TestKF020_SaveRefusesAChangedFile(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "f"), "one\n", 0o644)
	f, err := Load(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "two\n", 0o644)
	if err := os.Chtimes(path, f.Info.ModTime(), f.Info.ModTime()); err != nil {
		t.Fatal(err)
	}
	next, _ := f.Text.Rewrite("three\n")
	if _, err := f.Save(next); !errors.Is(err, ErrChanged) || content(t, path) != "two\n" {
		t.Errorf("Save = %v, content %q", err, content(t, path))
	}
}

// Of many who load and save one file at once, each that succeeds has built on what was there.
func TestSavesAreOneAfterTheOther(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "f"), "", 0o644)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for done := false; !done; {
				f, err := Load(path, 1<<20)
				if err != nil {
					t.Error(err)
					return
				}
				next, _ := f.Text.Rewrite(f.Text.View() + "x\n")
				_, err = f.Save(next)
				if done = err == nil; !done && !errors.Is(err, ErrChanged) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := content(t, path); got != strings.Repeat("x\n", 8) {
		t.Errorf("got %q", got)
	}
}

func TestWriteInPlaceShrinksAndGrows(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "f"), "0123456789", 0o644)
	for _, next := range []string{"abc", "longer than before it was", ""} {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeInPlace(f, []byte(content(t, path)), []byte(next)); err != nil || content(t, path) != next {
			t.Errorf("got %q, %v, want %q", content(t, path), err, next)
		}
		f.Close()
	}
}

func TestSpecialFilesAreNeverOpened(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{fifo: ErrSpecial, "/dev/zero": ErrSpecial, "/dev/null": ErrSpecial, link: ErrSpecial, dir: ErrDirectory, filepath.Join(dir, "none"): fs.ErrNotExist} {
		if _, err := Load(path, 1<<20); !errors.Is(err, want) {
			t.Errorf("Load(%s) = %v, want %v", path, err, want)
		}
		if path == link { // where it leads is for who decides about it
			want = nolink.ErrLink
		}
		if _, err := ReadPage(context.Background(), path, Want{}); !errors.Is(err, want) {
			t.Errorf("ReadPage(%s) = %v, want %v", path, err, want)
		}
	}
	var large *TooLargeError
	if _, err := Load(put(t, filepath.Join(dir, "big"), "12345", 0o644), 4); !errors.As(err, &large) {
		t.Errorf("Load of a large file: %v", err)
	}
}

func TestReadPageOfALargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := strings.Repeat("é", 50) + "\r\n"
	const n = 60_000 // 6 MB, and characters cut by the edges of chunks
	if _, err := f.WriteString(strings.Repeat(line, n) + "last"); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPage(context.Background(), path, Want{First: n, Count: 5})
	want := Page{Lines: []string{strings.Repeat("é", 50), "last"}, First: n, Total: n + 1}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	got, err = ReadPage(context.Background(), path, Want{MaxBytes: 250})
	want = Page{Lines: []string{strings.Repeat("é", 50), strings.Repeat("é", 50)}, First: 1, Total: n + 1, Full: true}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadPage(ctx, path, Want{First: n}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestReadPageOfOneEndlessLine(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "f"), strings.Repeat("日", 3<<20)+"\nnxt\n", 0o644)
	got, err := ReadPage(context.Background(), path, Want{Width: 3})
	want := Page{Lines: []string{"日日日", "nxt"}, Long: []Long{{1, 3145728}}, First: 1, Total: 2}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestCut(t *testing.T) {
	for limit, want := range map[int]string{2: "日本… [1 more characters]", 3: "日本語", 4: "日本語"} {
		if got := Cut("日本語", limit); got != want {
			t.Errorf("Cut at %d = %q, want %q", limit, got, want)
		}
	}
}

func TestAbsolute(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for in, want := range map[string]string{"": "", "a": "/w/a", "../a": "/a", "/x/../y": "/y", "~": "/home/u", "~/a": "/home/u/a", "~u": "/w/~u", "-n": "/w/-n"} {
		if got, err := Absolute(in, "/w"); err != nil || got != want {
			t.Errorf("Absolute(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := Absolute("a\x00b", "/"); !errors.Is(err, ErrNUL) {
		t.Errorf("NUL: %v", err)
	}
}

func TestKF041_RealPathOfNewFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"P", "OUT"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"P/out": "../OUT", "P/link.txt": filepath.Join(dir, "OUT/f"), "P/loop": "loop", "Q": "P"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		"P/out/new.txt": "OUT/new.txt", "P/out/a/b/new.txt": "OUT/a/b/new.txt", "P/link.txt": "OUT/f",
		"Q/x/y": "P/x/y", "Q/out/z": "OUT/z", "P/plain": "P/plain",
	} {
		if got, err := Real(filepath.Join(dir, in)); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("Real(%s) = %s, %v, want %s", in, got, err, want)
		}
	}
	if got, err := Real(filepath.Join(dir, "P/loop/x")); err == nil {
		t.Errorf("a loop gave %s", got)
	}
}

func TestNearest(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"main.go", "parser.go", "README.md", "é.txt"} {
		put(t, filepath.Join(dir, n), "", 0o644)
	}
	for in, want := range map[string]string{"mian.go": "main.go", "readme.md": "README.md", "parser.ts": "parser.go", "zzzzzz": "", "e\u0301.txt": "é.txt"} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := Nearest(filepath.Join(dir, in)); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Nearest(filepath.Join(dir, "no/such/x")); got != "" {
		t.Errorf("in a missing folder: %q", got)
	}
}

func BenchmarkSplice(b *testing.B) {
	for name, raw := range map[string]string{
		"utf8-lf":   strings.Repeat("a line of ordinary source text\n", 30_000),
		"utf8-crlf": strings.Repeat("a line of ordinary source text\r\n", 30_000),
	} {
		text, err := Decode([]byte(raw))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := text.Splice(Edit{500_000, 500_010, "other"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// create is CreateReal for a path that may hold links.
func create(path string, t Text) (File, error) {
	real, err := Real(path)
	if err != nil {
		return File{}, err
	}
	return CreateReal(path, real, t)
}
