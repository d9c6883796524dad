//go:build !windows

package search

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// file is a file open for reading, without what os.File does for the sake of pollers: opening
// twenty thousand of them is most of a search.
type file struct{ fd int }

func openFile(path string) (*file, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == nil {
			return &file{fd}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

func (f *file) read(b []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, b)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, err
		}
	}
}

// size is what the file system says of it, which need not be true of files the kernel makes up.
func (f *file) size() (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return st.Size, err
}

func (f *file) close() { _ = unix.Close(f.fd) } // was only read
