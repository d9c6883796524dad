package notes

import "os"

// sizeOf is the size of an ordinary file; 0 when there is none.
func sizeOf(path string) int {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return int(info.Size())
}
