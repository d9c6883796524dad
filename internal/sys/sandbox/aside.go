package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// What is put aside and put back lies where confined programs write, also while it is done: everything
// happens in an open folder that was reached through no link, so that nothing elsewhere is moved or
// written.

// putAside moves what is at path to the quarantine and restores what was there.
func (b *Box) putAside(path string, is, was seen, quarantine string) (Violation, error) {
	v := Violation{Path: path, Operation: "write", Certain: true}
	switch {
	case !is.exists:
		v.Detail = "it was removed"
	case !was.exists:
		v.Detail = "it was created"
	default:
		v.Detail = "it was changed"
	}
	if movesAway(is, was) {
		to, err := quarantinePath(quarantine, path)
		if err == nil {
			err = move(path, to)
		}
		if err != nil {
			return v, fmt.Errorf("put %s aside: %w", path, err)
		}
		v.Detail += " and is now " + to
		b.mu.Lock()
		b.aside = append(b.aside, Aside{Path: path, At: to})
		b.mu.Unlock()
	}
	if !was.exists {
		return v, nil
	}
	restored, err := b.restore(path, was)
	if err != nil {
		return v, fmt.Errorf("restore %s: %w", path, err)
	}
	if restored {
		v.Detail += "; what was there before is restored"
	} else {
		v.Detail += "; what was there before is not known and not restored"
	}
	return v, nil
}

func quarantinePath(dir, path string) (string, error) {
	if dir == "" {
		return "", errors.New("there is no quarantine folder")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	name := strings.Trim(strings.ReplaceAll(path, "/", "_"), "_")
	return filepath.Join(dir, uuid.NewString()[:8]+"-"+name[max(0, len(name)-100):]), nil
}

// move renames, or copies where the quarantine is on another file system. Nothing in it is followed
// or run.
func move(from, to string) error {
	err := nolink.Rename(from, to)
	if err == nil || errors.Is(err, nolink.ErrLink) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent, perr := nolink.OpenDir(filepath.Dir(from))
	if perr != nil {
		return perr
	}
	defer parent.Close()
	name := filepath.Base(from)
	st, serr := parent.Lstat(name)
	if serr != nil {
		return err
	}
	switch {
	case st.IsDir():
		err = copyFolder(parent, name, to)
	case st.Mode().IsRegular():
		err = copyFile(parent, name, to)
	default:
		err = nil // a link or a special file has nothing to keep
	}
	return errors.Join(err, parent.RemoveAll(name))
}

// maxCopied is how much is copied of what is put aside, in bytes.
const maxCopied = 256 << 20

func copyFolder(parent *os.Root, name, to string) error {
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	size := int64(0)
	err = fs.WalkDir(dir.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if st, err := d.Info(); err == nil && st.Mode().IsRegular() {
			size += st.Size()
		}
		return nil
	})
	if err == nil && size > maxCopied {
		err = fmt.Errorf("%s is larger than %d bytes and is not kept", name, maxCopied)
	}
	if err != nil {
		return err
	}
	return os.CopyFS(to, dir.FS())
}

func copyFile(parent *os.Root, name, to string) error {
	in, err := nolink.Entry(parent, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := nolink.NewFile(to, 0)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxCopied))
	if info, look := in.Stat(); look == nil && err == nil && n < info.Size() {
		err = fmt.Errorf("only the first %d bytes of %s are kept", n, name)
	}
	return errors.Join(err, out.Close())
}

// restore makes path what it was; false: its content is not known.
func (b *Box) restore(path string, was seen) (bool, error) {
	parent, err := nolink.OpenDir(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer parent.Close()
	name := filepath.Base(path)
	switch {
	case was.mode&fs.ModeSymlink != 0:
		return true, parent.Symlink(was.link, name)
	case was.mode.IsDir():
		if err := parent.Mkdir(name, was.mode.Perm()); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		return true, parent.Chmod(name, was.mode.Perm())
	}
	data, ok := b.files.content(was)
	if !ok {
		return false, nil
	}
	f, err := nolink.Entry(parent, name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, was.mode.Perm())
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	return true, errors.Join(err, f.Chmod(was.mode.Perm()), f.Close())
}
