package screen

import "golang.org/x/sys/unix"

// waiting is how many bytes were typed, as whole lines, before the terminal handed keys on one by one.
func waiting(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
