package fingerprint

import (
	"syscall"
	"time"
)

func ctime(s *syscall.Stat_t) time.Time { return time.Unix(s.Ctimespec.Unix()) }
