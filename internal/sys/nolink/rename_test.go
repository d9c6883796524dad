//go:build !windows

package nolink_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

func TestKF157_RenameAndAtFollowNoFolder(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"real", "away"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file, led := filepath.Join(base, "real", "file"), filepath.Join(base, "link", "file")
	if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Symlink("real", filepath.Join(base, "link")), os.Symlink("file", filepath.Join(base, "real", "last"))); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(base, "away", "file")
	if err := nolink.Rename(led, to); !errors.Is(err, nolink.ErrLink) {
		t.Errorf("from behind a link: %v", err)
	}
	if err := nolink.Rename(file, filepath.Join(base, "link", "other")); !errors.Is(err, nolink.ErrLink) {
		t.Errorf("to behind a link: %v", err)
	}
	if _, err := nolink.At(led); !errors.Is(err, nolink.ErrLink) {
		t.Errorf("a look behind a link: %v", err)
	}
	if st, err := nolink.At(filepath.Join(base, "real", "last")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link itself: %v %v", st, err)
	}
	if err := errors.Join(nolink.Rename(file, to), nolink.Rename(filepath.Join(base, "real", "last"), filepath.Join(base, "away", "last"))); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(base, "away", "last")); err != nil {
		t.Error(err)
	}
}
