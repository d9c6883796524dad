package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// ErrNUL is returned for paths with a NUL byte, which no file system takes.
var ErrNUL = errors.New("the path holds a NUL byte; remove it")

// Absolute makes a path clean and absolute: "~" and "~/…" stand for the home directory, what is
// relative starts from cwd. An empty path stays empty.
func Absolute(path, cwd string) (string, error) {
	switch {
	case path == "":
		return "", nil
	case strings.ContainsRune(path, 0):
		return "", ErrNUL
	case path == "~" || strings.HasPrefix(path, "~/"):
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, path[1:]), nil
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	default:
		return filepath.Join(cwd, path), nil
	}
}

// maxLinks is how many links are followed before it is a loop.
const maxLinks = 40

// Real follows every link of an absolute path, as far as the path exists; what does not exist yet
// is kept below its deepest existing parent. So it says where a new file would really be.
func Real(path string) (string, error) {
	rest := ""
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if target, err := os.Readlink(path); err == nil { // dangling
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			path = target
			continue
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest), nil
		}
		real, err = Real(parent)
		if err != nil {
			return "", err
		}
		return filepath.Join(real, filepath.Base(path), rest), nil
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: errors.New("too many links")}
}

// Nearest returns the entry of the missing path's directory whose name is most like the missing
// one, as an absolute path, or "" when none is close. It looks at no more than a few thousand
// entries.
func Nearest(path string) string {
	dir, want := filepath.Split(path)
	d, err := os.Open(dir)
	if err != nil {
		return ""
	}
	defer d.Close()
	names, _ := d.Readdirnames(4096) // what can be read is enough for a hint
	best, bestCost := "", len([]rune(want))/2+1
	stem := strings.TrimSuffix(want, filepath.Ext(want))
	for _, name := range names {
		cost := nearest.Distance(strings.ToLower(want), strings.ToLower(name))
		if stem != "" && strings.TrimSuffix(name, filepath.Ext(name)) == stem {
			cost = min(cost, 1) // the same name with another ending
		}
		if cost < bestCost || (cost == bestCost && best != "" && name < best) {
			best, bestCost = name, cost
		}
	}
	if best == "" {
		return ""
	}
	return filepath.Join(dir, best)
}
