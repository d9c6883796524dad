package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fresh is how long after a change of a folder another may have left the same time.
const fresh = 50 * time.Millisecond

type entry struct {
	name string
	dir  bool
}

type folder struct {
	entries []entry // sorted by name
	stamp   stamp
	young   bool // changed so shortly before it was read that another change may look the same
	watch   int  // what the kernel calls it
}

// stamp is what changes with the entries of a folder.
type stamp struct {
	ino   uint64
	ctime time.Time
}

// read lists a folder.
func read(dir string) (entries []entry, st stamp, young bool, err error) {
	if st, err = stampOf(dir); err != nil {
		return nil, st, true, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, st, false, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, st, true, err
	}
	entries = make([]entry, 0, len(list))
	for _, e := range list {
		entries = append(entries, entry{e.Name(), e.IsDir()})
	}
	slices.SortFunc(entries, compareEntries)
	return entries, st, time.Since(st.ctime) < fresh, nil
}

func compareEntries(a, b entry) int {
	if c := strings.Compare(a.name, b.name); c != 0 {
		return c
	}
	switch {
	case a.dir == b.dir:
		return 0
	case a.dir:
		return 1
	}
	return -1
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + string(filepath.Separator) + name
}

func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
