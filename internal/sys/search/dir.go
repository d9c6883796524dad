package search

import (
	"errors"
	"io/fs"
	"os"
)

// dirent is an entry of a folder.
type dirent struct {
	name string
	mode fs.FileMode // type bits only
}

// listDir reads a folder, in no order. What was read before an error comes with it.
func listDir(dir string) ([]dirent, error) {
	d, err := os.Open(dir)
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
