// Package atomicfile replaces files so that every reader, at every moment and after every crash,
// sees either the whole old or the whole new content, and so that two processes that change one
// file at once both survive.
//
// It knows nothing of what is in a file. Append-only files do not belong here. Begin with [Update]
// for read-change-write and [Write] when the old content does not matter.
package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is returned by [Update] when another process holds the file's lock for longer than
// anybody should.
var ErrLocked = errors.New("locked by another process")

// ErrNotRegular is returned when the path leads to something that is no regular file.
var ErrNotRegular = errors.New("not a regular file")

const (
	lockWait  = 30 * time.Second
	lockRetry = 2 * time.Millisecond
	maxHops   = 40 // as the kernel counts symbolic links
)

// Write replaces the file at path by data: temporary file beside it, sync, rename. A symbolic link
// is followed, its target replaced. An existing file keeps its permission bits and, where that is
// allowed, its owner; a new one gets perm less the umask. Missing folders are made, readable for
// whom perm is. It takes no lock: the last of several writers wins.
func Write(path string, data []byte, perm fs.FileMode) error {
	target, err := Resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := makeParent(target, perm); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replace(target, data, perm, writePrefix); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Update changes the file at path: it takes the file's lock, reads it anew, calls edit with what it
// holds and replaces it like [Write] by what edit returns. old is nil when there is no file (yet),
// and an empty slice when it is empty. When edit returns an error, or exactly old, nothing is
// written. The lock excludes goroutines and processes alike; it is a file path+".lock" that is gone
// again afterwards. edit must not update the same file.
func Update(path string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) error {
	target, err := Resolve(path)
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	if err := makeParent(target, perm); err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	unlock, err := Lock(target)
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	defer unlock()
	if err := updateLocked(target, perm, edit); err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	return nil
}

func updateLocked(target string, perm fs.FileMode, edit func([]byte) ([]byte, error)) error {
	old, err := os.ReadFile(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case old == nil:
		old = []byte{}
	}
	data, err := edit(old)
	if err != nil {
		return err
	}
	if (old == nil) == (data == nil) && bytes.Equal(old, data) {
		return nil
	}
	sweep(target)
	return replace(target, data, perm, updatePrefix)
}

// Lock takes the lock [Update] takes and returns what gives it back. It waits up to 30 seconds for
// another holder. The folder must exist.
func Lock(path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	name := path + ".lock"
	for {
		l := flock.New(name, flock.SetPermissions(0o600))
		ok, err := l.TryLockContext(ctx, lockRetry)
		if errors.Is(err, context.DeadlineExceeded) || (err == nil && !ok) {
			return nil, ErrLocked
		}
		if err != nil {
			return nil, err
		}
		if current(l, name) {
			return func() { release(l, name) }, nil
		}
		if err := l.Unlock(); err != nil { // the holder before us removed the file we locked
			return nil, err
		}
	}
}

// current reports whether the locked file is still the one the name leads to. A holder removes the
// lock file before it lets go, so a waiter may have locked a file nobody else can find.
func current(l *flock.Flock, name string) bool {
	locked, err1 := l.Stat()
	named, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(locked, named)
}

// Resolve follows symbolic links of the last part of path to the file they lead to, which need not
// exist. It is an error when that is no regular file, or the links go in a circle.
func Resolve(path string) (string, error) {
	for range maxHops {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if !info.Mode().IsRegular() {
				return "", fmt.Errorf("%s: %w", path, ErrNotRegular)
			}
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// The folder may be a link itself, and ".." in the link counts from where it really is.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

func makeParent(target string, perm fs.FileMode) error {
	dir := filepath.Dir(target)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return os.MkdirAll(dir, perm|(perm&0o444)>>2)
}

// Temporary files of the two functions differ, because only those of Update are known to be left
// over when one holds the lock.
const (
	writePrefix  = ".write-"
	updatePrefix = ".update-"
)

// sweep removes temporary files a killed Update left beside target. The caller holds the lock.
func sweep(target string) {
	dir, base := filepath.Split(target)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return // the write that follows will say what is wrong with the folder
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), updatePrefix+base+".") && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name())) // litter; the next sweep tries again
		}
	}
}
