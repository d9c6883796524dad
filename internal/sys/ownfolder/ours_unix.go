//go:build unix

package ownfolder

import (
	"io/fs"
	"os"
	"syscall"
)

func ours(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

func others(st fs.FileInfo) bool { return st.Mode().Perm()&0o022 != 0 }
