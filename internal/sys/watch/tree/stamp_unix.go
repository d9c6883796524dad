//go:build linux || darwin

package tree

import (
	"time"

	"golang.org/x/sys/unix"
)

func stampOf(dir string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return stamp{}, err
	}
	return stamp{ino: st.Ino, ctime: time.Unix(st.Ctim.Unix())}, nil
}
