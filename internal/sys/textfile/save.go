package textfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
)

// saving holds, for each file being saved, the lock that keeps two agents of one process from
// saving it at once.
var saving pathLocks

// pathLocks is a lock for each path. The zero value is ready.
type pathLocks struct {
	mu    sync.Mutex // guards locks
	locks map[string]*pathLock
}

type pathLock struct {
	sync.Mutex
	users int // holders and waiters; guarded by pathLocks.mu
}

func (p *pathLocks) lock(path string) (unlock func()) {
	p.mu.Lock()
	if p.locks == nil {
		p.locks = map[string]*pathLock{}
	}
	l := p.locks[path]
	if l == nil {
		l = &pathLock{}
		p.locks[path] = l
	}
	l.users++
	p.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(p.locks, path)
		}
	}
}

// updateFile replaces the content of an existing file by what change makes of it. No lock file is
// made: the file is somebody's project, where every strange file is seen by watchers and by git.
func updateFile(path string, change func(current []byte) ([]byte, error)) error {
	defer saving.lock(path)()
	f, info, err := OpenRegular(path)
	if err != nil {
		return err
	}
	current, err := readUpTo(f, info, max(info.Size(), 1<<30))
	f.Close()
	if err != nil {
		return err
	}
	next, err := change(current)
	if err != nil || bytes.Equal(next, current) {
		return err // equal: builds and watchers need not hear of it
	}
	if err := writable(path); err != nil {
		return err
	}
	if !staysInPlace(path, info) {
		err := atomicfile.Write(path, next, info.Mode().Perm())
		if err == nil || !inPlaceHelps(err) {
			return err
		}
	}
	return writeInPlace(path, current, next)
}

// writable refuses files their own mode protects from writing: a rename would pass over that.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// maxBase is the longest name that has room for what a temporary name adds to it.
const maxBase = 200

// staysInPlace tells whether a new file in the place of the old would not be the same: other hard
// links would part from it, or it would get another owner or lose its access list.
func staysInPlace(path string, info fs.FileInfo) bool {
	return len(filepath.Base(path)) > maxBase || bound(path, info)
}

// inPlaceHelps tells whether the folder, not the file, stood in the way: it may not be written, or
// the file itself is a mount point.
func inPlaceHelps(err error) bool {
	for _, e := range []error{fs.ErrPermission, syscall.EROFS, syscall.EBUSY, syscall.EXDEV, syscall.ENAMETOOLONG} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// writeInPlace overwrites the file; when that fails half-way it puts back what was there.
func writeInPlace(path string, old, next []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if err = overwrite(f, next); err != nil {
		err = errors.Join(err, overwrite(f, old))
	}
	return errors.Join(err, f.Close())
}

func overwrite(f *os.File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}
