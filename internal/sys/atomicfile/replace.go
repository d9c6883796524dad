package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// WriteIn is [Write] for an entry of a folder that the caller holds open: the temporary file and the
// renaming lie beneath that very folder, wherever its name leads meanwhile. A link of that name is
// replaced, not followed.
func WriteIn(dir *os.Root, name string, data []byte, perm fs.FileMode) error {
	if err := replaceIn(dir, name, data, perm, writePrefix); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir.Name(), name), err)
	}
	return nil
}

func replace(target string, data []byte, perm fs.FileMode, prefix string) error {
	dir, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer dir.Close()
	return replaceIn(dir, filepath.Base(target), data, perm, prefix)
}

func replaceIn(dir *os.Root, name string, data []byte, perm fs.FileMode, prefix string) error {
	f, temp, err := createTemp(dir, prefix+name+".", perm)
	if err != nil {
		return err
	}
	err = fill(f, dir, name, data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(dir, temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return syncDir(dir)
}

// fill writes the new file and gives it the owner and the mode of the one it will replace.
func fill(f *os.File, dir *os.Root, name string, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old, err := dir.Lstat(name); err == nil && old.Mode().IsRegular() {
		keepOwner(f, old)
		if err := f.Chmod(old.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
			return err
		}
	}
	return f.Sync()
}

// createTemp makes a file with a name nobody has.
func createTemp(dir *os.Root, prefix string, perm fs.FileMode) (f *os.File, name string, err error) {
	for range 1000 {
		name = prefix + strconv.FormatUint(rand.Uint64(), 36)
		f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, name, err
}
