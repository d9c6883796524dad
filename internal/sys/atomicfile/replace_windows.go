//go:build windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// replace writes beside the target and renames over it (MoveFileEx with replace). A virus scanner
// or an editor may hold the target for a moment, so the rename is tried for a second.
func replace(target string, data []byte, perm fs.FileMode, prefix string) (err error) {
	dir, base := filepath.Split(target)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, prefix+base+".*")
	if err != nil {
		return err
	}
	temp := f.Name()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if info, statErr := os.Lstat(target); statErr == nil {
		perm = info.Mode().Perm()
	}
	if err := os.Chmod(temp, perm); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	for range 20 {
		if err = os.Rename(temp, target); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(err, os.Remove(temp))
}

// release lets go. An open file cannot be removed here, so it is removed afterwards; who waits may
// have it already, and then it stays.
func release(l *flock.Flock, name string) {
	_ = l.Unlock()
	_ = os.Remove(name)
}
