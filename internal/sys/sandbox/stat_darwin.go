package sandbox

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

func changeTime(st fs.FileInfo) time.Time {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctimespec.Sec, s.Ctimespec.Nsec)
	}
	return time.Time{}
}

// openHeld notes what lies at a path.
func openHeld(path string) (held, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return held{}, err
	}
	return held{ino: inode(st), close: func() {}}, nil
}
