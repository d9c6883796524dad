//go:build !windows

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByOther reports whether somebody else owns what stands at path; what is not there is owned
// by nobody.
func ownedByOther(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	uid, ok := ownerOf(info)
	return ok && uid != os.Getuid()
}

func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
