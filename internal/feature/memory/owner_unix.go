//go:build unix

package memory

import (
	"os"
	"syscall"
)

// foreign reports whether a folder belongs neither to this user nor to the administrator.
func foreign(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid != 0 && int(st.Uid) != os.Getuid()
}
