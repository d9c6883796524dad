//go:build !windows

package nolink

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// openers are the ways to open a file: what the system offers, and the walk.
var openers = map[string]func(string, int, fs.FileMode) (*os.File, error){"system": OpenFile, "walk": walkFile}

func place(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"in/deep", "out/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, d, "f"), []byte(d), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"to": "out", "in/deep/l": "f", "in/deep/up": "../../out/deep/f", "in/deep/none": "new"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "in/deep/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenFile(t *testing.T) {
	dir := place(t)
	for name, open := range openers {
		for path, want := range map[string]error{
			"in/deep/f": nil, "in/deep": nil, "in/deep/pipe": nil, "": nil,
			"to/deep/f": ErrLink, "in/deep/l": ErrLink, "in/deep/up": ErrLink, "in/deep/none": ErrLink, "to": ErrLink,
			"in/deep/x": fs.ErrNotExist, "x/f": fs.ErrNotExist, "in/deep/f/x": syscall.ENOTDIR,
		} {
			f, err := open(filepath.Join(dir, path), os.O_RDONLY, 0)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: open %s: %v, want %v", name, path, err, want)
			}
		}
	}
}

func TestOpenFileCreates(t *testing.T) {
	dir := place(t)
	for name, open := range openers {
		for path, want := range map[string]error{
			"in/" + name: nil, "in/deep/f": fs.ErrExist, "in/deep/none": fs.ErrExist, "to/" + name: ErrLink,
		} {
			f, err := open(filepath.Join(dir, path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: create %s: %v, want %v", name, path, err, want)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "out", name)); err == nil {
			t.Errorf("%s: a file was made behind the link", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "in/deep/new")); err == nil {
		t.Error("a file was made at the end of a dangling link")
	}
}

func TestOpenDirAndMkdirAll(t *testing.T) {
	dir := place(t)
	for name, open := range map[string]func(string) (*os.Root, error){
		"system": OpenDir, "walk": walkDir, "make": func(p string) (*os.Root, error) { return MkdirAll(p, 0o755) },
	} {
		for path, want := range map[string]error{"in/deep": nil, "to/deep": ErrLink, "to": ErrLink, "in/deep/f": syscall.ENOTDIR} {
			d, err := open(filepath.Join(dir, path))
			if err == nil {
				d.Close()
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: open %s: %v, want %v", name, path, err, want)
			}
		}
	}
	if _, err := MkdirAll(filepath.Join(dir, "to/a/b"), 0o755); !errors.Is(err, ErrLink) {
		t.Errorf("folders below a link: %v", err)
	}
	d, err := MkdirAll(filepath.Join(dir, "in/a/b/c"), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if info, err := os.Stat(filepath.Join(dir, "in/a/b/c")); err != nil || !info.IsDir() {
		t.Errorf("the folders were not made: %v", err)
	}
}

func TestEntry(t *testing.T) {
	dir := place(t)
	d, err := OpenDir(filepath.Join(dir, "in/deep"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, want := range map[string]error{"f": nil, "pipe": nil, "l": ErrLink, "up": ErrLink, "none": ErrLink, "x": fs.ErrNotExist} {
		f, err := Entry(d, name, os.O_RDONLY, 0)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("open %s: %v, want %v", name, err, want)
		}
	}
}

// TestFD: a bare descriptor reads the same.
func TestFD(t *testing.T) {
	dir := place(t)
	if _, err := FD(filepath.Join(dir, "to/deep/f")); !errors.Is(err, ErrLink) {
		t.Errorf("through a link: %v", err)
	}
	fd, err := FD(filepath.Join(dir, "in/deep/f"))
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "f")
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != "in/deep" {
		t.Errorf("read %q, %v", got, err)
	}
}
