//go:build !windows

package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nonBlocking = syscall.O_NONBLOCK
	noFollow    = syscall.O_NOFOLLOW
)

// FD is [OpenFile] for reading, without what an os.File does for the sake of pollers, and without
// patience: of the many files of a search some may be missed.
func FD(path string) (int, error) {
	return again(path, hurried, func() (int, error) { return openFD(path) })
}

func openFD(path string) (int, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if !errors.Is(err, errors.ErrUnsupported) {
		return fd, err
	}
	f, err := walkFile(path, os.O_RDONLY, 0)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

func openFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := open(path, flag|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return walkFile(path, flag, perm)
	case err != nil:
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Rename moves the entry at one absolute, clean path to another one; no folder on the two ways may be a
// link. A link at from is moved itself.
func Rename(from, to string) error {
	_, err := again(from, patient, func() (struct{}, error) { return struct{}{}, rename(from, to) })
	return err
}

func rename(from, to string) error {
	var at [2]*os.File
	for i, path := range []string{from, to} {
		dir, err := OpenDir(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer dir.Close()
		if at[i], err = dir.Open("."); err != nil {
			return err
		}
		defer at[i].Close()
	}
	return unix.Renameat(int(at[0].Fd()), filepath.Base(from), int(at[1].Fd()), filepath.Base(to))
}

// openDir compares: a Root is opened by name only.
func openDir(path string) (*os.Root, error) {
	fd, err := open(path, folder, 0)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return walkDir(path)
	case err != nil:
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	want, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	got, err := dir.Stat(".")
	if err == nil && !os.SameFile(want, got) {
		err = ErrLink
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
