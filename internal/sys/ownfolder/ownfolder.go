// Package ownfolder makes folders in places where others may make some too, such as the system's
// temporary folder.
package ownfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Make makes a folder that only this user can use, or takes one that is there and is such a one. It
// refuses a link, a file, a folder of somebody else's and one that others may write to: whoever made it
// could put things into it, or exchange what lies there.
func Make(path string) error {
	if err := os.Mkdir(path, 0o700); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s is no folder", path)
	case !ours(st):
		return fmt.Errorf("%s belongs to another user", path)
	case others(st):
		return fmt.Errorf("others may write to %s", path)
	}
	return nil
}
