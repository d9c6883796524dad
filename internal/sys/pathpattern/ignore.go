package pathpattern

import "strings"

// List is the patterns of one ignore file, in order; the last that matches decides. It is
// immutable and safe for concurrent use. The zero List ignores nothing.
type List struct {
	pats    []Pattern
	names   map[string][]int // literalBase: name → places, ascending
	exts    map[string][]int // suffixBase of the form ".ext" without another dot
	globs   []int            // all others, ascending
	negates bool
}

// ParseList reads the text of an ignore file: one pattern a line, "#" begins a comment, unescaped
// trailing blanks do not count, a byte order mark is skipped. Lines that can match nothing are
// left out, as git does.
func ParseList(text string, opt Options) *List {
	var pats []Pattern
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = trimBlanks(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		if p, err := Compile(line, opt); err == nil {
			pats = append(pats, p)
		}
	}
	return NewList(pats)
}

// NewList makes a list of patterns; later ones decide over earlier ones.
func NewList(pats []Pattern) *List {
	l := &List{pats: pats, names: map[string][]int{}, exts: map[string][]int{}}
	for i, p := range pats {
		l.negates = l.negates || p.negated
		switch {
		case p.class == literalBase && !p.fold:
			l.names[p.lit] = append(l.names[p.lit], i)
		case p.class == suffixBase && !p.fold && strings.LastIndexByte(p.lit, '.') == 0:
			l.exts[p.lit] = append(l.exts[p.lit], i)
		default:
			l.globs = append(l.globs, i)
		}
	}
	return l
}

// trimBlanks drops trailing blanks that no backslash keeps.
func trimBlanks(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		slashes := 0
		for i := end - 2; i >= 0 && line[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		end--
	}
	return line[:end]
}

// Len is the number of patterns.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.pats)
}

// Find returns the last pattern that matches the path itself. The path is relative to the
// directory of the list, as for [Pattern.Match].
func (l *List) Find(path string, isDir bool) (Pattern, bool) {
	if l.Len() == 0 {
		return Pattern{}, false
	}
	best := -1
	name := base(path)
	best = l.last(l.names[name], best, isDir)
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		best = l.last(l.exts[name[dot:]], best, isDir)
	}
	for k := len(l.globs) - 1; k >= 0 && l.globs[k] > best; k-- {
		if l.pats[l.globs[k]].Match(path, isDir) {
			best = l.globs[k]
		}
	}
	if best < 0 {
		return Pattern{}, false
	}
	return l.pats[best], true
}

// last returns the highest place of places whose pattern takes isDir, at least best.
func (l *List) last(places []int, best int, isDir bool) int {
	for k := len(places) - 1; k >= 0 && places[k] > best; k-- {
		if isDir || !l.pats[places[k]].dirOnly {
			return places[k]
		}
	}
	return best
}

// Ignores is the ignore files in force in one directory: its own and, behind it, those of the
// directories above. It is an immutable link of a chain, so walkers side by side share it. A nil
// *Ignores ignores nothing.
type Ignores struct {
	above *Ignores
	dir   string // relative to the root of the walk, "" for the root itself
	list  *List
}

// Below returns the chain for the directory dir (relative to the root of the walk, clean, "" for
// the root itself), whose own ignore file is list. A list of nothing adds no link. Calling Below
// several times for one directory stacks its files, later ones deciding over earlier ones: that
// is how exclude files (info/exclude, then .gitignore, then .ignore) are ranked.
func (ig *Ignores) Below(dir string, list *List) *Ignores {
	if list.Len() == 0 {
		return ig
	}
	return &Ignores{above: ig, dir: dir, list: list}
}

// Ignored tells whether the path itself is ignored. It does not look at the directories above the
// path: a walk leaves ignored directories out, as git does, and so never asks for what is below.
// The path is relative to the root of the walk.
func (ig *Ignores) Ignored(path string, isDir bool) bool {
	p, ok := ig.Find(path, isDir)
	return ok && !p.negated
}

// IgnoredDeep tells whether the path or a directory above it is ignored, for a path that no walk
// led to. The chain must be that of the path's own directory.
func (ig *Ignores) IgnoredDeep(path string, isDir bool) bool {
	if ig == nil {
		return false
	}
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && ig.Ignored(path[:i], true) {
			return true
		}
	}
	return ig.Ignored(path, isDir)
}

// Find returns the pattern that decides about the path: the last that matches in the nearest file
// that has one.
func (ig *Ignores) Find(path string, isDir bool) (Pattern, bool) {
	for link := ig; link != nil; link = link.above {
		rel := path
		if link.dir != "" {
			below, ok := strings.CutPrefix(path, link.dir)
			if !ok || below == "" || below[0] != '/' {
				continue // the path is the directory itself or above: its file does not speak of it
			}
			rel = below[1:]
		}
		if p, ok := link.list.Find(rel, isDir); ok {
			return p, true
		}
	}
	return Pattern{}, false
}
