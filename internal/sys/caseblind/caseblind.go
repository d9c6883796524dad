// Package caseblind knows which folders ignore the case of names, and under which spelling such a folder
// files a name. Linux decides that a folder (ext4 and f2fs with casefold) or a mount (vfat, exfat, cifs) at a
// time, macOS a volume at a time. It is for rules that must not be passed by another spelling, not for
// finding files. Begin at Folders and Key.
package caseblind

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Folders remembers of folders whether they ignore case: each is probed once. The zero Folders is ready. It is
// safe for concurrent use.
type Folders struct {
	known sync.Map // folder → bool
}

// Ignores reports whether names in a folder, given as a clean absolute path, are found in any case. What it
// cannot look at counts as the folder it lies in.
func (f *Folders) Ignores(dir string) bool {
	if v, ok := f.known.Load(dir); ok {
		return v.(bool)
	}
	ignores, certain := probe(dir)
	if !certain {
		parent := filepath.Dir(dir)
		if ignores = parent != dir && f.Ignores(parent); !exists(dir) {
			return ignores // it may be made later, and be another then
		}
	}
	f.known.Store(dir, ignores)
	return ignores
}

func exists(dir string) bool {
	_, err := os.Lstat(dir)
	return err == nil
}

// probe looks at a folder: by what the system says of it, else by asking for one of its names in the other case.
func probe(dir string) (ignores, certain bool) {
	if ignores, certain = flagged(dir); certain {
		return ignores, true
	}
	return byNames(dir)
}

func byNames(dir string) (ignores, certain bool) {
	d, err := os.Open(dir)
	if err != nil {
		return false, false
	}
	defer d.Close()
	for range 4 { // batches; a folder without one name that has letters says nothing
		names, err := d.Readdirnames(64)
		for _, name := range names {
			if other := flip(name); other != name {
				return same(filepath.Join(dir, name), filepath.Join(dir, other)), true
			}
		}
		if err == io.EOF || err != nil {
			break
		}
	}
	return false, false
}

// same reports whether two names lead to one file. Two names of one file (hard links) that differ in nothing but
// case make an exact folder look like one that ignores case, which is the careful mistake.
func same(a, b string) bool {
	x, errX := os.Lstat(a)
	y, errY := os.Lstat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// flip is a name with its ASCII letters in the other case.
func flip(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, name)
}

// Key is a spelling that all names of one file share where case is ignored: letters folded ("ſ" is "s", "ß" is
// "ss"), characters taken apart, and those left out that such file systems leave out. File systems differ, and
// names that only some of them take for one may share it, too.
func Key(path string) string {
	ascii, lower := true, true
	for i := range len(path) {
		ascii = ascii && path[i] < 0x80
		lower = lower && (path[i] < 'A' || path[i] > 'Z')
	}
	switch {
	case ascii && lower:
		return path
	case ascii:
		return strings.ToLower(path)
	}
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x034f {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, norm.NFKD.String(path))
	return norm.NFD.String(strings.ReplaceAll(folded, "ß", "ss"))
}
