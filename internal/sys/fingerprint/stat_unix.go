//go:build linux || darwin

package fingerprint

import (
	"io/fs"
	"syscall"
	"time"
)

// noWait opens a pipe without waiting for its other end, and no link in the last place.
const noWait = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// changed is when anything of a file last changed.
func changed(st fs.FileInfo) time.Time {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return ctime(s)
	}
	return st.ModTime()
}
