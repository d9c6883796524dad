//go:build !windows

package gitrepo_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// TestKF156_HostileMetadata: metadata that is a pipe, leads to a device or is huge is no metadata, and
// nobody waits for it.
func TestKF156_HostileMetadata(t *testing.T) {
	hostile := map[string]func(path string) error{
		"pipe":   func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"device": func(p string) error { return os.Symlink("/dev/zero", p) },
		"sparse": func(p string) error {
			f, err := os.Create(p)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(40 << 30)
		},
	}
	for kind, make := range hostile {
		for _, name := range []string{"HEAD", "commondir", "../.git"} {
			dir := t.TempDir()
			git := filepath.Join(dir, ".git")
			for _, sub := range []string{"objects", "refs"} {
				if err := os.MkdirAll(filepath.Join(git, sub), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if name == "../.git" {
				if err := os.RemoveAll(git); err != nil {
					t.Fatal(err)
				}
			} else if name != "HEAD" {
				if err := os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := make(filepath.Join(git, name)); err != nil {
				t.Fatal(err)
			}
			repo, err := gitrepo.Find(dir)
			branch, _, headErr := repo.Branch()
			switch {
			case name == "HEAD" && (err != nil || headErr == nil),
				name == "commondir" && (err != nil || branch != "main" || repo.CommonDir != repo.GitDir),
				name == "../.git" && err == nil && repo.Root == dir:
				t.Errorf("%s as %s: %+v, %v; branch %q, %v", name, kind, repo, err, branch, headErr)
			}
		}
	}
}
