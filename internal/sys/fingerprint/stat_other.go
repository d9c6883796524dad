//go:build !linux && !darwin

package fingerprint

import (
	"io/fs"
	"time"
)

// changed is the time of the last change of content; there is no better one here.
func changed(st fs.FileInfo) time.Time { return st.ModTime() }
