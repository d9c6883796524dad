//go:build !windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

func replace(target string, data []byte, perm fs.FileMode, prefix string) (err error) {
	dir, base := filepath.Split(target)
	if dir == "" {
		dir = "."
	}
	info, statErr := os.Lstat(target)
	// The name of the pending file is made of the name it is given; the directory must be named,
	// since the default may be another file system's temporary folder.
	f, err := renameio.NewPendingFile(filepath.Join(dir, pendingBase(prefix, base)),
		renameio.WithTempDir(dir), renameio.WithPermissions(perm))
	if err != nil {
		return err
	}
	temp := f.Name()
	done := false
	defer func() {
		if !done {
			err = errors.Join(err, f.Close(), os.Remove(temp))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if statErr == nil {
		keepOwner(f.File, info)
		if err := f.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	done = true
	if err := f.Close(); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, target); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(dir)
}

// pendingBase makes the name renameio derives its temporary name from; renameio puts a dot before
// it and a number behind.
func pendingBase(prefix, base string) string { return prefix[1:] + base + "." }

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
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // a folder one may write but not read
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
