package tree

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pattern is a wildcard and what it matches now.
type pattern struct {
	base  string // without wildcards
	rest  string // below it
	last  string // the last part of rest, by which most names are ruled out; empty: it says nothing
	found map[string]bool
	list  []string // found, sorted, without what lies in another; nil: to be made anew
}

// ErrPattern is wrapped by the error of [Index.Match] about a pattern that cannot be read.
var ErrPattern = errors.New("the pattern cannot be read")

// Match lists what an absolute pattern matches, sorted: "*" within a name, "**" over any number of
// folders, "?", "[…]", "{a,b}". A matched folder stands for what it holds. The first call for a
// pattern looks at every entry, later ones at none. [Index.Sync] says for which moment it holds.
func (x *Index) Match(text string) ([]string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.match(text)
}

// match is Match. Caller holds mu.
func (x *Index) match(text string) ([]string, error) {
	p := x.patterns[text]
	if p == nil {
		base, rest := doublestar.SplitPattern(filepath.ToSlash(strings.TrimSuffix(text, "/**")))
		if !doublestar.ValidatePattern(rest) {
			return nil, ErrPattern
		}
		p = &pattern{base: base, rest: rest, found: map[string]bool{}}
		if i := strings.LastIndexByte(rest, '/'); !strings.Contains(rest[i+1:], "**") && !strings.ContainsAny(rest, `{}\`) {
			p.last = rest[i+1:]
		}
		for _, root := range x.Roots() {
			switch {
			case within(root, base):
				x.below(root, func(path string, _ bool) { p.arrived(path) })
			case within(base, root):
				x.below(base, func(path string, _ bool) { p.arrived(path) })
			}
		}
		x.patterns[text] = p
	}
	if p.list == nil {
		p.list = p.outermost()
	}
	return slices.Clone(p.list), nil
}

// arrived adds a path if it matches.
func (p *pattern) arrived(path string) {
	if !within(path, p.base) || path == p.base {
		return
	}
	if p.last != "" {
		if ok, _ := doublestar.Match(p.last, path[strings.LastIndexByte(path, '/')+1:]); !ok {
			return
		}
	}
	rel := strings.TrimPrefix(path[len(p.base):], "/")
	if ok, _ := doublestar.Match(p.rest, rel); ok {
		p.found[path] = true
		p.list = nil
	}
}

func (p *pattern) left(path string) {
	if p.found[path] {
		delete(p.found, path)
		p.list = nil
	}
}

// outermost lists what was found without what lies in a found folder.
func (p *pattern) outermost() []string {
	out := make([]string, 0, len(p.found))
	for path := range p.found {
		inside := false
		for dir := filepath.Dir(path); len(dir) > len(p.base) && !inside; dir = filepath.Dir(dir) {
			inside = p.found[dir]
		}
		if !inside {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
