package textfile

import (
	"io/fs"
	"os"
)

// bound tells nothing on Windows, where a replaced file takes the access list of its folder.
func bound(*os.File, fs.FileInfo) bool { return false }
