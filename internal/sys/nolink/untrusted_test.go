//go:build !windows

package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestKF156_HostileFiles: nothing blocks the reader, leads it elsewhere, or fills the memory.
func TestKF156_HostileFiles(t *testing.T) {
	dir := place(t)
	sparse := filepath.Join(dir, "sparse")
	f, err := os.Create(sparse)
	if err == nil {
		err = errors.Join(f.Truncate(40<<30), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"zero": "/dev/zero", "self": "self", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"sparse": ErrTooLarge, "zero": ErrLink, "self": ErrLink, "gone": ErrLink, "pipe": ErrSpecial, "in": ErrSpecial,
		"none": fs.ErrNotExist, "in/deep/l": ErrLink,
	} {
		if _, err := ReadFile(filepath.Join(dir, path), 1<<10); !errors.Is(err, want) {
			t.Errorf("read %s: %v, want %v", path, err, want)
		}
	}
	if _, err := ReadFile("/dev/zero", 10); !errors.Is(err, ErrSpecial) {
		t.Errorf("read a device: %v", err)
	}
	if got, err := ReadFile(filepath.Join(dir, "to/deep/f"), 8); err != nil || string(got) != "out/deep" {
		t.Errorf("a small file in a folder behind a link: %q, %v", got, err)
	}
}

// TestKF157_PlantedLinks: the writer goes through no link, and over nothing that is there.
func TestKF157_PlantedLinks(t *testing.T) {
	dir := place(t)
	for _, name := range []string{"in/deep/l", "in/deep/none", "in/deep/f", "in/deep/pipe"} {
		if err := WriteFile(filepath.Join(dir, name), []byte("ours")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "in/deep/f")); err != nil || string(got) != "in/deep" {
		t.Errorf("the linked file reads %q, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "in/deep/new")); err == nil {
		t.Error("a file was made at the end of a dangling link")
	}
	path := filepath.Join(dir, "fresh/folder/f")
	if err := WriteFile(path, []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new folder: %v, %v", info.Mode(), err)
	}
}
