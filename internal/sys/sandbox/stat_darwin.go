package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

func changeTime(st fs.FileInfo) time.Time {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctimespec.Sec, s.Ctimespec.Nsec)
	}
	return time.Time{}
}
