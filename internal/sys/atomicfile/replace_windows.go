package atomicfile

import (
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// rename is tried for a second: a virus scanner or an editor may hold the target for a moment.
func rename(dir *os.Root, from, to string) (err error) {
	for range 20 {
		if err = dir.Rename(from, to); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func keepOwner(*os.File, fs.FileInfo) {} // files belong to whom their folder says

func syncDir(*os.Root) error { return nil } // folders cannot be synced here

// release lets go. An open file cannot be removed here, so it is removed afterwards; who waits may
// have it already, and then it stays.
func release(l *flock.Flock, name string) {
	_ = l.Unlock()
	_ = os.Remove(name)
}
