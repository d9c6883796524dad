//go:build windows

package watch

import "io/fs"

// identity has nothing to add to size and time here.
func identity(fs.FileInfo) string { return "" }
