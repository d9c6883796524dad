package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrWritable is wrapped when a program is only found where somebody less trusted may write.
var ErrWritable = errors.New("it lies in a folder that confined programs may write")

// Finder finds the programs that this program runs for itself: never through a relative entry of
// PATH, and never below a folder that somebody less trusted may write. The zero Finder trusts every
// absolute folder. It is safe for concurrent use when Writable is.
type Finder struct {
	Writable func() []string // absolute folders; nil: none
}

// Find returns the absolute path of a program by its bare name, from the folders of pathVar. Folders
// that may be written are passed over; so are programs that a link leads there. A name with a
// separator must be absolute, and is not looked for.
func (f Finder) Find(name, pathVar string) (string, error) {
	var roots []string
	if f.Writable != nil {
		roots = realRoots(f.Writable())
	}
	if filepath.IsAbs(name) {
		if lies(name, roots) {
			return "", fmt.Errorf("find program %s: %w", name, ErrWritable)
		}
		return Find(name, pathVar)
	}
	last := fmt.Errorf("find program %q: %w", name, exec.ErrNotFound)
	for _, dir := range filepath.SplitList(pathVar) {
		found, err := Find(name, dir)
		switch {
		case errors.Is(err, exec.ErrNotFound):
		case err != nil:
			last = err
		case lies(found, roots):
			last = fmt.Errorf("find program %q: %s: %w", name, found, ErrWritable)
		default:
			return found, nil
		}
	}
	return "", last
}

// Path is the value of PATH without the entries that are relative or may be written, for the programs
// that this program runs for itself: they find others by it.
func (f Finder) Path(pathVar string) string {
	var roots, kept []string
	if f.Writable != nil {
		roots = realRoots(f.Writable())
	}
	for _, dir := range filepath.SplitList(pathVar) {
		if filepath.IsAbs(dir) && !lies(filepath.Join(dir, "x"), roots) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}

// Trusts reports whether a file is one that nobody less trusted may write: it lies below none of the
// folders, by its name nor by where links lead.
func (f Finder) Trusts(path string) bool {
	return f.Writable == nil || !lies(path, realRoots(f.Writable()))
}

// lies reports whether a path is below one of the folders: as it is named, where its folder really
// is, or where it leads.
func lies(path string, roots []string) bool {
	if len(roots) == 0 {
		return false
	}
	if Below(path, roots) {
		return true
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && Below(filepath.Join(dir, filepath.Base(path)), roots) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	return err == nil && Below(real, roots)
}

// realRoots are folders by their names and by where they really are.
func realRoots(dirs []string) []string {
	out := make([]string, 0, 2*len(dirs))
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		out = append(out, dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			out = append(out, real)
		}
	}
	return out
}

// Below reports whether an absolute path is one of the folders or lies below one, by its name alone.
func Below(path string, dirs []string) bool {
	path = filepath.Clean(path)
	for _, dir := range dirs {
		if path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(os.PathSeparator))+string(os.PathSeparator)) {
			return true
		}
	}
	return false
}
