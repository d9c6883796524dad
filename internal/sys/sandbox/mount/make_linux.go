//go:build linux && (amd64 || arm64)

package mount

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// source is an opened tree that waits to be mounted.
type source struct {
	Step
	fd  int
	dir bool
}

// Make makes the file system: the devices, which take as much memory as shared says in bytes (0: the system's
// bound), and what steps say. It needs the capability to mount, and gives up none. Everything is opened
// before the first mount hides anything.
func Make(shared int64, steps []Step) error {
	dev, err := openDevices()
	if err != nil {
		return err
	}
	sources := make([]source, 0, len(steps))
	for _, s := range steps {
		if s.Kind == Memory {
			sources = append(sources, source{Step: s})
			continue
		}
		src, err := s.open()
		if err != nil {
			return err
		}
		sources = append(sources, src)
	}
	if err := dev.attach(shared); err != nil {
		return err
	}
	for _, s := range sources {
		if err := s.attach(); err != nil {
			return err
		}
	}
	return nil
}

// open takes a copy of the tree at the path, with what is mounted in it, and sets whether it can be
// written.
func (s Step) open() (source, error) {
	from := cmp.Or(s.From, s.Path)
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if s.From == "" {
		flags |= unix.AT_SYMLINK_NOFOLLOW // it was resolved when it was planned
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, from, flags)
	if err != nil {
		return source{}, fmt.Errorf("open %s: %w", from, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return source{}, fmt.Errorf("open %s: %w", from, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return source{}, fmt.Errorf("open %s: it became a link", from)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if s.Kind == Writable {
		attr = unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if errors.Is(err, unix.EPERM) && s.Kind == Writable { // something in it is read-only for everybody and stays so
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
	}
	if errors.Is(err, unix.EPERM) && s.Kind == Writable {
		err = nil // all of it is
	}
	if err != nil {
		return source{}, fmt.Errorf("set whether %s can be written: %w", from, err)
	}
	return source{Step: s, fd: fd, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// attach mounts a source where it belongs.
func (s source) attach() error {
	if s.Kind == Memory {
		return memory(s.Path, s.Size)
	}
	err := unix.MoveMount(s.fd, "", unix.AT_FDCWD, s.Path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) { // in a folder that is empty inside
		if err = s.makePlace(); err == nil {
			err = unix.MoveMount(s.fd, "", unix.AT_FDCWD, s.Path, unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
	}
	_ = unix.Close(s.fd)
	if err != nil {
		return fmt.Errorf("mount %s: %w", s.Path, err)
	}
	return nil
}

// memory mounts an empty folder in memory.
func memory(path string, size int64) error {
	options := "mode=0755"
	if size > 0 {
		options += ",size=" + strconv.FormatInt(size, 10)
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount memory at %s: %w", path, err)
	}
	return nil
}

// makePlace makes something to mount on, in the folders that lie in memory and nowhere else: nothing is
// made on the host for what was removed meanwhile.
func (s source) makePlace() error {
	if !strings.HasPrefix(s.Path, "/tmp/") && !strings.HasPrefix(s.Path, "/run/") {
		return unix.ENOENT
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(nearest(s.Path), &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return unix.ENOENT
	}
	if s.dir {
		return os.MkdirAll(s.Path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(s.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// nearest is the part of a path that exists.
func nearest(path string) string {
	for path != "/" {
		if _, err := os.Lstat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
