package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// File is a text file as it was when it was loaded.
type File struct {
	Path string      // as it was asked for
	Real string      // the file itself, links followed
	Info fs.FileInfo // of the file itself
	Text Text
}

// Errors of opening and saving.
var (
	// ErrSpecial is returned for what is neither file nor directory: devices, pipes, sockets. They
	// are never opened: reading one may block for ever or take something away from its reader.
	ErrSpecial = errors.New("is a device, pipe or socket, not a file")
	// ErrDirectory is returned where a file is wanted.
	ErrDirectory = errors.New("is a directory")
	// ErrChanged is returned by Save when the file is no longer as it was loaded.
	ErrChanged = errors.New("has changed on disk meanwhile")
)

// TooLargeError says that a file is larger than the caller wants to hold.
type TooLargeError struct {
	Size, Limit int64 // bytes
}

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("has %d bytes, more than the limit of %d", e.Size, e.Limit)
}

// OpenRegular opens a regular file for reading and follows links. Devices, pipes and sockets give
// [ErrSpecial] and are not opened, directories [ErrDirectory]; both are wrapped in a *fs.PathError.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	return openRegular(path, os.Stat, os.OpenFile)
}

// OpenReal is OpenRegular along a path without links, as [Real] returns it: a link in it, put there
// since, gives [nolink.ErrLink].
func OpenReal(real string) (*os.File, fs.FileInfo, error) {
	return openRegular(real, nolink.Lstat, nolink.OpenFile)
}

func openRegular(path string, stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error)) (*os.File, fs.FileInfo, error) {
	info, err := stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	// Not blocking, in case the file was replaced by a pipe since.
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func checkRegular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: ErrDirectory}
	case info.Mode()&fs.ModeSymlink != 0:
		return &fs.PathError{Op: "open", Path: path, Err: nolink.ErrLink}
	default:
		return &fs.PathError{Op: "open", Path: path, Err: ErrSpecial}
	}
}

// ReadBytes reads a regular file of at most limit bytes. A larger one gives a *[TooLargeError],
// whatever size it claims to have.
func ReadBytes(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	raw, err := readUpTo(f, info, limit)
	return raw, info, err
}

// ReadReal is ReadBytes along a path without links, as [Real] returns it. It is the reader for whatever
// lies where somebody else may write: nothing it meets blocks it, and nothing larger than limit is held.
func ReadReal(real string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenReal(real)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	raw, err := readUpTo(f, info, limit)
	return raw, info, err
}

func readUpTo(f *os.File, info fs.FileInfo, limit int64) ([]byte, error) {
	if info.Size() > limit {
		return nil, &TooLargeError{info.Size(), limit}
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	case n > limit:
		return nil, &TooLargeError{n, limit}
	}
	return buf.Bytes(), nil
}

// Load reads the text file at path, links followed. Errors: those of the file system, [ErrSpecial],
// [ErrDirectory], *[TooLargeError], *[BinaryError].
func Load(path string, limit int64) (File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, err
	}
	return LoadReal(path, real, limit)
}

// LoadReal is Load where the caller knows, and has decided about, the real path: a link in it gives
// [nolink.ErrLink].
func LoadReal(path, real string, limit int64) (File, error) {
	raw, info, err := ReadReal(real, limit)
	if err != nil {
		return File{}, err
	}
	t, err := Decode(raw)
	return File{Path: path, Real: real, Info: info, Text: t}, err
}

// Save puts next in the place of the file's content: mode, owner and hard links stay, and readers see
// the old or the new content, never a part, where the directory allows that. A file that is no longer
// as f has it gives [ErrChanged] and is left alone; a link in its real path, put there since,
// [nolink.ErrLink].
func (f File) Save(next Text) (File, error) {
	info, err := updateFile(f.Real, f.Text.Raw(), next.Raw())
	if err != nil {
		return f, err
	}
	f.Text, f.Info = next, info
	return f, nil
}

// CreateReal writes a file that does not exist yet, with missing parent directories; its mode follows
// the umask. A file that exists gives fs.ErrExist. real is the path with links resolved: a link in it
// gives [nolink.ErrLink].
func CreateReal(path, real string, t Text) (File, error) {
	dir, err := nolink.MkdirAll(filepath.Dir(real), 0o777)
	if err != nil {
		return File{}, err
	}
	defer dir.Close()
	info, err := createFile(dir, filepath.Base(real), t.Raw())
	if err != nil {
		return File{}, err
	}
	return File{Path: path, Real: real, Info: info, Text: t}, nil
}

func createFile(dir *os.Root, name string, data []byte) (info fs.FileInfo, err error) {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			dir.Remove(name) // half a file is worse than none
		}
	}()
	if _, err = f.Write(data); err != nil {
		return nil, err
	}
	return f.Stat()
}
