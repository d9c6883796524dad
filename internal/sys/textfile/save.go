package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
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

// updateFile replaces the content of an existing file, which must be old, by next, and returns what the
// file is then; other content gives [ErrChanged]. No lock file is made: the file is somebody's project,
// where every strange file is seen by watchers and by git.
func updateFile(real string, old, next []byte) (fs.FileInfo, error) {
	defer saving.lock(real)()
	f, info, err := OpenReal(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	same, err := holds(f, old)
	switch {
	case err != nil:
		return nil, err
	case !same:
		return nil, &fs.PathError{Op: "write", Path: real, Err: ErrChanged}
	case bytes.Equal(next, old):
		return info, nil // builds and watchers need not hear of it
	}
	// Opened also where the file will be replaced: its own mode may protect it, and a rename would
	// pass over that.
	w, err := openSame(real, info)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if !staysInPlace(f, info) {
		now, err := replace(real, info, next)
		if err == nil || !inPlaceHelps(err) {
			return now, err
		}
	}
	if err := writeInPlace(w, old, next); err != nil {
		return nil, err
	}
	return w.Stat()
}

// holds tells whether a file has this content, without holding it a second time.
func holds(f *os.File, content []byte) (bool, error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if !bytes.HasPrefix(content, buf[:n]) {
			return false, nil
		}
		content = content[n:]
		switch {
		case errors.Is(err, io.EOF):
			return len(content) == 0, nil
		case err != nil:
			return false, fmt.Errorf("read %s: %w", f.Name(), err)
		}
	}
}

// openSame opens for writing what info is about.
func openSame(real string, info fs.FileInfo) (*os.File, error) {
	w, err := nolink.OpenFile(real, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if now, err := w.Stat(); err != nil || !os.SameFile(now, info) {
		w.Close()
		return nil, errors.Join(err, &fs.PathError{Op: "write", Path: real, Err: ErrChanged})
	}
	return w, nil
}

// replace puts a new file in the place of the one info is about, beneath one open folder.
func replace(real string, info fs.FileInfo, next []byte) (fs.FileInfo, error) {
	dir, err := nolink.OpenDir(filepath.Dir(real))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := filepath.Base(real)
	if now, err := dir.Lstat(name); err != nil || !os.SameFile(now, info) {
		return nil, errors.Join(err, &fs.PathError{Op: "write", Path: real, Err: ErrChanged})
	}
	if err := atomicfile.WriteIn(dir, name, next, info.Mode().Perm()); err != nil {
		return nil, err
	}
	return dir.Lstat(name)
}

// maxBase is the longest name that has room for what a temporary name adds to it.
const maxBase = 200

// staysInPlace tells whether a new file in the place of the old would not be the same: other hard
// links would part from it, or it would get another owner or lose its access list.
func staysInPlace(f *os.File, info fs.FileInfo) bool {
	return len(filepath.Base(f.Name())) > maxBase || bound(f, info)
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
func writeInPlace(f *os.File, old, next []byte) error {
	err := overwrite(f, next)
	if err != nil {
		err = errors.Join(err, overwrite(f, old))
	}
	return err
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
