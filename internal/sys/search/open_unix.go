//go:build !windows

package search

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// file is a file open for reading, without what os.File does for the sake of pollers: opening
// twenty thousand of them is most of a search.
type file struct{ fd int }

func openFile(real string) (*file, error) {
	fd, err := nolink.FD(real)
	if err != nil {
		return nil, err
	}
	return &file{fd}, nil
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
