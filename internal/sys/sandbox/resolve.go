package sandbox

import (
	"os"
	"path/filepath"
)

// resolver finds paths without links. It remembers the folders, by path, so that those of many paths are
// looked at once, and is for one moment. Nil remembers nothing.
type resolver map[string]string

// real is [filepath.EvalSymlinks].
func (r resolver) real(path string) (string, error) {
	dir := filepath.Dir(path)
	if r == nil || dir == path || path != filepath.Clean(path) || !filepath.IsAbs(path) {
		return filepath.EvalSymlinks(path)
	}
	parent, known := r[dir]
	if !known {
		var err error
		if parent, err = r.real(dir); err != nil {
			return "", err
		}
		r[dir] = parent
	}
	path = filepath.Join(parent, filepath.Base(path))
	st, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if st.Mode()&os.ModeSymlink != 0 {
		return filepath.EvalSymlinks(path)
	}
	return path, nil
}
