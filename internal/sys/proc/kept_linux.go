package proc

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// told waits for the kernel's word that the process has ended; not known where there is no such word
// (before Linux 5.10).
func (k Kept) told(ctx context.Context) (gone, known bool) {
	fd, err := unix.PidfdOpen(k.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false, false
	}
	f := os.NewFile(uintptr(fd), "process")
	defer f.Close()
	if !k.Alive() { // what was opened is another one
		return true, true
	}
	if f.SetReadDeadline(time.Time{}) != nil { // the runtime cannot wait for it
		return false, false
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := f.SyscallConn()
	if err != nil {
		return false, false
	}
	err = raw.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	})
	return err == nil, true
}
