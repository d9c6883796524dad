package nolink

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const folder = unix.O_RDONLY | unix.O_DIRECTORY

func open(path string, flag int, perm fs.FileMode) (int, error) {
	for {
		fd, err := unix.Open(path, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW_ANY, uint32(perm.Perm()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ELOOP):
			err = ErrLink
		}
		return fd, err
	}
}

// lstat is good enough as a look before opening, which checks all components.
func lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

func lookAt(path string) (fs.FileInfo, error) { return walkLstat(path) }
