//go:build !windows

package watch

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity tells one file from another of the same name: a replacement within the clock's
// granularity has another inode.
func identity(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
