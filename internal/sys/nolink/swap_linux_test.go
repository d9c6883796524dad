package nolink

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKF146_NothingBehindALinkIsOpened: while a folder and a link to another are exchanged, either the
// folder is opened or nothing.
func TestKF146_NothingBehindALinkIsOpened(t *testing.T) {
	dir := place(t)
	in, to := filepath.Join(dir, "in"), filepath.Join(dir, "to")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, in, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	})
	for name, open := range openers {
		opened := 0
		for range 2000 {
			f, err := open(filepath.Join(in, "deep/f"), os.O_RDONLY, 0)
			if err != nil {
				continue
			}
			opened++
			got, err := io.ReadAll(f)
			if f.Close(); err != nil || string(got) != "in/deep" {
				t.Fatalf("%s: read %q, %v", name, got, err)
			}
		}
		if opened == 0 {
			t.Errorf("%s: nothing was opened in 2,000 tries", name)
		}
	}
	for range 500 {
		if d, err := MkdirAll(filepath.Join(in, "made", "below"), 0o755); err == nil {
			d.Close()
		}
	}
	close(stop)
	wg.Wait()
	if _, err := os.Lstat(filepath.Join(dir, "out/made")); err == nil {
		t.Error("a folder was made behind the link")
	}
}
