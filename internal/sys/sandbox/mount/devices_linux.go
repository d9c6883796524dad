//go:build linux && (amd64 || arm64)

package mount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The helper makes /dev itself, as bubblewrap would: for its terminals bubblewrap takes an ordinary user for
// root and leaves the program in a second namespace of users, whose rights do not reach the mounts.

// deviceNames are the devices of the machine that a program needs.
var deviceNames = []string{"null", "zero", "full", "random", "urandom", "tty"}

// deviceLinks are what lies beside them.
var deviceLinks = map[string]string{
	"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	"core": "/proc/kcore", "ptmx": "pts/ptmx",
}

// devices are the machine's devices, opened, in the order of deviceNames.
type devices []int

func openDevices() (devices, error) {
	out := make(devices, 0, len(deviceNames))
	for _, name := range deviceNames {
		path := "/dev/" + name
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, Attr_clr: unix.MOUNT_ATTR_NODEV}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
			return nil, fmt.Errorf("let %s be a device: %w", path, err)
		}
		out = append(out, fd)
	}
	return out, nil
}

// attach makes /dev: those devices, terminals of its own, and memory that programs share, of so many bytes.
// The rest of it cannot be written.
func (d devices) attach(shared int64) error {
	if err := memory("/dev", 0); err != nil {
		return err
	}
	for i, name := range deviceNames {
		path := "/dev/" + name
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
		if err == nil {
			err = errors.Join(f.Close(), unix.MoveMount(d[i], "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH), unix.Close(d[i]))
		}
		if err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	for name, to := range deviceLinks {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return fmt.Errorf("make /dev: %w", err)
		}
	}
	if err := errors.Join(os.Mkdir("/dev/pts", 0o755), os.Mkdir("/dev/shm", 0o755)); err != nil {
		return fmt.Errorf("make /dev: %w", err)
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return fmt.Errorf("mount terminals: %w", err)
	}
	if err := memory("/dev/shm", shared); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/dev", 0, &attr); err != nil {
		return fmt.Errorf("close /dev: %w", err)
	}
	return nil
}
