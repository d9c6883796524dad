//go:build unix

package app

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestControlSocketIsForItsOwnerAlone: whatever rights new files get here, and the folder had.
func TestControlSocketIsForItsOwnerAlone(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := listen(filepath.Join(dir, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "s.sock"): 0o600} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has rights %o, want %o", path, got, want)
		}
	}
}
