package nolink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// What [ReadFile] refuses.
var (
	ErrSpecial  = errors.New("is not a regular file")
	ErrTooLarge = errors.New("is larger than such a file may be")
)

// ReadFile is the reader for what lies where a confined program may write: notes, metadata of
// repositories, output. The file at path must be a regular one of at most limit bytes and no link; its
// folder may be reached through links. It never waits for a pipe, whatever is exchanged meanwhile.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Regular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case int64(len(data)) > limit:
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return data, nil
}

// Regular opens what [ReadFile] reads, where a caller wants a part of it.
func Regular(path string) (*os.File, error) {
	info, err := os.Lstat(path) // before it is opened: opening a pipe lets its writer go on
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil {
		err = regular(path, now)
	}
	if err == nil && noFollow == 0 && !os.SameFile(info, now) {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrLink}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &fs.PathError{Op: "open", Path: path, Err: ErrLink}
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: ErrSpecial}
	}
	return nil
}

// NewFile is the writer: it makes a file that was not there, with missing folders for the user alone, and
// opens it to read and write; flag adds to that, such as os.O_APPEND. Whatever has the name already, a
// link also, gives fs.ErrExist.
func NewFile(path string, flag int) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|flag, 0o600)
}

// WriteFile makes a new file of data, as [NewFile] does.
func WriteFile(path string, data []byte) error {
	f, err := NewFile(path, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path)) // half a file is worse than none
	}
	return nil
}
