// Package nolink opens files and folders along a path in which no component is a symbolic link: a path
// that somebody resolved and decided about leads to what was decided, or gives [ErrLink], whatever is
// exchanged in the file system meanwhile.
//
// It is also the one reader and the one writer for places where a confined program may write: [ReadFile]
// and [NewFile] meet regular files alone.
//
// It decides nothing and resolves nothing. Begin with [OpenFile] for one file and [OpenDir] for a folder in
// which several steps must meet the same entries.
package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// ErrLink is returned when a component of the path is a symbolic link, or was exchanged while the
// path was walked. It comes wrapped in a *fs.PathError.
var ErrLink = errors.New("the path leads through a symbolic link")

// OpenFile opens the file at an absolute, clean path; flag and perm are those of [os.OpenFile], but
// without os.O_CREATE unless os.O_EXCL comes with it, and without os.O_TRUNC. Pipes do not block it.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return again(path, patient, func() (*os.File, error) { return openFile(path, flag, perm) })
}

// Lstat looks at what is at the path without opening it, which for pipes and devices is an effect.
func Lstat(path string) (fs.FileInfo, error) {
	return again(path, patient, func() (fs.FileInfo, error) { return lstat(path) })
}

// At looks at the entry that has the path, which may be a link itself; what leads to it may be none.
func At(path string) (fs.FileInfo, error) {
	return again(path, patient, func() (fs.FileInfo, error) { return lookAt(path) })
}

// OpenDir opens a folder. Names looked up in it are single components; what a name leads to is for
// [Entry] to say.
func OpenDir(path string) (*os.Root, error) {
	return again(path, patient, func() (*os.Root, error) { return openDir(path) })
}

// Entry opens the entry name of an open folder, which must be no link. Flags are as for [OpenFile].
func Entry(dir *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := dir.OpenFile(name, flag|nonBlocking, perm)
	if err != nil {
		if info, look := dir.Lstat(name); look == nil && info.Mode()&fs.ModeSymlink != 0 && flag&os.O_EXCL == 0 {
			err = ErrLink
		}
		return nil, atPath(filepath.Join(dir.Name(), name), err)
	}
	// A root follows links that stay in it: compare what was opened with what the name stands for.
	opened, err := f.Stat()
	if err == nil {
		err = same(dir, name, opened)
	}
	if err != nil {
		f.Close()
		return nil, atPath(filepath.Join(dir.Name(), name), err)
	}
	return f, nil
}

// MkdirAll makes a folder and the missing ones above it and opens it.
func MkdirAll(path string, perm fs.FileMode) (*os.Root, error) {
	dir, err := OpenDir(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return dir, err
	}
	parent, err := MkdirAll(filepath.Dir(path), perm)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if err := parent.Mkdir(filepath.Base(path), perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, atPath(path, err)
	}
	dir, err = child(parent, filepath.Base(path))
	return dir, atPath(path, err)
}

// How often a path is tried that leads through a link: who exchanges a folder and a link all the time
// shall not keep anybody from the folder.
const (
	hurried = 50           // without waiting
	patient = hurried + 20 // and each of the last after a pause
	pause   = 100 * time.Microsecond
)

// again opens until no link is met, at most as often as tries.
func again[T any](path string, tries int, open func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		got, err := open()
		if try == tries || !errors.Is(err, ErrLink) {
			return got, atPath(path, err)
		}
		if try < hurried {
			runtime.Gosched()
		} else {
			time.Sleep(pause)
		}
	}
}

// walkDir opens a folder component by component, where the system offers nothing better.
func walkDir(path string) (*os.Root, error) {
	dir := filepath.Dir(path)
	if dir == path {
		return os.OpenRoot(path)
	}
	parent, err := walkDir(dir)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return child(parent, filepath.Base(path))
}

// walkFile is walkDir for a file.
func walkFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	dir, err := walkDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return Entry(dir, filepath.Base(path), flag, perm)
}

func walkLstat(path string) (fs.FileInfo, error) {
	dir, err := walkDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Lstat(filepath.Base(path))
}

func child(parent *os.Root, name string) (*os.Root, error) {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		switch info, look := parent.Lstat(name); {
		case look == nil && info.Mode()&fs.ModeSymlink != 0:
			err = ErrLink
		case look == nil && !info.IsDir():
			err = syscall.ENOTDIR
		}
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil {
		err = same(parent, name, opened)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// same checks that the entry of a folder is what was opened under its name, and no link to it.
func same(dir *os.Root, name string, opened fs.FileInfo) error {
	entry, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // moved away since
		return ErrLink
	case err != nil:
		return err
	case !os.SameFile(entry, opened):
		return ErrLink
	}
	return nil
}

// atPath names the whole path in an error, once.
func atPath(path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}
