//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the helper may, it makes the file system of the program itself: with the calls of the kernel a
// mount costs some microseconds, however many there are, where bubblewrap reads the table of all
// mounts again for each. Everything is opened before the first mount hides anything.

// source is an opened tree that waits to be mounted.
type source struct {
	step
	fd  int
	dir bool
}

// mount makes the file system. It needs the capability to mount, and gives up none.
func (o orders) mount() error {
	sources := make([]source, 0, len(o.Mounts))
	for _, s := range o.Mounts {
		if s.Kind == memory {
			sources = append(sources, source{step: s})
			continue
		}
		src, err := s.open()
		if err != nil {
			return err
		}
		sources = append(sources, src)
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
func (s step) open() (source, error) {
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
	if s.Kind == bindRW {
		attr = unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if errors.Is(err, unix.EPERM) && s.Kind == bindRW { // something in it is read-only for everybody and stays so
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
	}
	if errors.Is(err, unix.EPERM) && s.Kind == bindRW {
		err = nil // all of it is
	}
	if err != nil {
		return source{}, fmt.Errorf("set whether %s can be written: %w", from, err)
	}
	return source{step: s, fd: fd, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// attach mounts a source where it belongs.
func (s source) attach() error {
	if s.Kind == memory {
		options := "mode=0755"
		if s.Size > 0 {
			options += ",size=" + strconv.FormatInt(s.Size, 10)
		}
		if err := unix.Mount("tmpfs", s.Path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return fmt.Errorf("mount memory at %s: %w", s.Path, err)
		}
		return nil
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
	for !exists(path) && path != "/" {
		path = filepath.Dir(path)
	}
	return path
}

// closeNamespaces refuses further user namespaces, in which the program would have capabilities again.
// The filter of system calls refuses them, too.
func closeNamespaces() error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return fmt.Errorf("refuse further user namespaces: %w", err)
	}
	return nil
}

// dropCapabilities gives up every capability of the thread that becomes the program, for good: none
// can be had back by running anything.
func dropCapabilities() error {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: this kernel does not know it
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := unix.Syscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}
