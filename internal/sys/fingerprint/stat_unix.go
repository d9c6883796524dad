//go:build linux || darwin

package fingerprint

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is when anything of a file last changed.
func changed(st fs.FileInfo) time.Time {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return ctime(s)
	}
	return st.ModTime()
}
