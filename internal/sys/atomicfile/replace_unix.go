//go:build !windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

func rename(dir *os.Root, from, to string) error { return dir.Rename(from, to) }

// keepOwner gives the new file the owner of the old one, so that root editing somebody's file does
// not take it away from him. Who may not give files away keeps it as his own.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if now, err := f.Stat(); err == nil {
		if n, ok := now.Sys().(*syscall.Stat_t); ok && n.Uid == st.Uid && n.Gid == st.Gid {
			return
		}
	}
	_ = f.Chown(int(st.Uid), int(st.Gid)) // refused to ordinary users: the file is theirs then
}

// syncDir makes the rename itself durable. Some file systems refuse to sync a folder; the content
// is safe there all the same.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) &&
		!errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EBADF) {
		return err
	}
	return nil
}

// release removes the lock file and then lets go: whoever waits sees that its file is no longer
// the named one and tries again.
func release(l *flock.Flock, name string) {
	_ = os.Remove(name) // left over, the file is only litter: the lock itself goes with the handle
	_ = l.Unlock()
}
