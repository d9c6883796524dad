package nolink

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const folder = unix.O_PATH | unix.O_DIRECTORY

// open gives errors.ErrUnsupported where the kernel, or the filter of a container, has no openat2.
func open(path string, flag int, perm fs.FileMode) (int, error) {
	if !supported() {
		return -1, errors.ErrUnsupported
	}
	mode := uint64(0)
	if flag&unix.O_CREAT != 0 {
		mode = uint64(perm.Perm())
	}
	fd, err := openat2(path, flag, mode)
	if errors.Is(err, unix.ELOOP) {
		err = ErrLink
	}
	return fd, err
}

func lstat(path string) (fs.FileInfo, error) { return look(path, unix.O_PATH) }

func lookAt(path string) (fs.FileInfo, error) { return look(path, unix.O_PATH|unix.O_NOFOLLOW) }

func look(path string, flag int) (fs.FileInfo, error) {
	fd, err := open(path, flag, 0)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return walkLstat(path)
	case err != nil:
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Stat()
}

var supported = sync.OnceValue(func() bool {
	fd, err := openat2("/", folder, 0)
	if err != nil {
		return false
	}
	return unix.Close(fd) == nil
})

func openat2(path string, flag int, mode uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Mode: mode, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}
