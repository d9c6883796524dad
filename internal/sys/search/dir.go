package search

import (
	"errors"
	"io/fs"
	"os"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// dirent is an entry of a folder.
type dirent struct {
	name string
	mode fs.FileMode // type bits only
}

// listDir reads a folder, in no order. What was read before an error comes with it. The path holds no
// link: one that was put there since is an error.
func listDir(real string) ([]dirent, error) {
	d, err := nolink.OpenFile(real, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	out := make([]dirent, 0, len(entries))
	for _, e := range entries {
		out = append(out, dirent{e.Name(), e.Type()})
	}
	return out, err
}

// cause is the bare reason of a file system error, without operation and path.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
