package search

import (
	"errors"
	"io"
	"os"
)

type file struct{ f *os.File }

// openFile does not look for links again: its folder was listed along a path without one, and a walk
// for each file would be most of a search.
func openFile(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &file{f}, nil
}

func (f *file) read(b []byte) (int, error) {
	n, err := f.f.Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (f *file) size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *file) close() { _ = f.f.Close() } // was only read
