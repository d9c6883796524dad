//go:build !windows

package textfile

import (
	"io/fs"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

func bound(f *os.File, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if st.Nlink > 1 {
		return true
	}
	if n, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", nil); err == nil && n > 0 {
		return true
	}
	if os.Geteuid() == 0 {
		return false // can give the new file to anybody
	}
	groups, err := os.Getgroups()
	mine := err == nil && slices.Contains(append(groups, os.Getegid()), int(st.Gid))
	return int(st.Uid) != os.Geteuid() || !mine
}
