package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

func changeTime(st fs.FileInfo) time.Time {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec))
	}
	return time.Time{}
}
