package search

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// GlobFile is a file found by name.
type GlobFile struct {
	Path    string // absolute
	ModTime time.Time
}

// GlobFound is the result of a search by name.
type GlobFound struct {
	Files  []GlobFile // newest first
	Total  int64      // how many match, also those beyond the limit
	Missed Missed
}

// Glob finds the files below a tree whose path from its root matches a pattern of * ? [class]
// {one,other} and **, which stands for any number of folders. The limit newest come back; 0
// means all. Tree.Want and Tree.Depth are set by Glob. A pattern that is itself the name of a file
// finds it, whatever characters it holds. The end of ctx stops the search: what was found until
// then comes back with Missed.Stopped. A bad pattern is a *[GlobError].
func Glob(ctx context.Context, tree Tree, pattern string, limit int) (GlobFound, error) {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	if err := CheckGlob(pattern); err != nil {
		return GlobFound{}, err
	}
	base, rest := splitGlob(pattern)
	under := tree
	if tree.Real != "" {
		under.Real = filepath.Join(tree.Real, filepath.FromSlash(base))
	}
	under.Root = filepath.Join(tree.Root, filepath.FromSlash(base))
	under.Depth = depthOf(rest)
	under.Want = func(rel string) bool {
		ok, err := doublestar.Match(rest, rel)
		return ok && err == nil // the pattern was checked
	}
	g := &globber{limit: limit, tree: under}
	missed, err := Walk(ctx, under, func(_ int, e Entry) { g.visit(e) })
	if err != nil && !(base != "" && isMissing(err)) { // no such folder: nothing below it
		return GlobFound{}, err
	}
	g.literal(ctx, tree, pattern)
	sort.Slice(g.files, func(i, j int) bool { return newer(g.files[i], g.files[j]) })
	return GlobFound{Files: g.files, Total: g.total, Missed: missed}, nil
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
}

// CheckGlob tells what is wrong with a pattern, as a *[GlobError]; nil: nothing.
func CheckGlob(pattern string) error {
	switch {
	case strings.TrimSpace(pattern) == "":
		return &GlobError{pattern, "it is empty"}
	case strings.ContainsRune(pattern, 0):
		return &GlobError{strings.ReplaceAll(pattern, "\x00", `\0`), "it holds a NUL byte; remove it"}
	case !doublestar.ValidatePattern(pattern):
		return &GlobError{pattern, globProblem(pattern)}
	}
	return nil
}

// GlobError says what is wrong with a glob.
type GlobError struct{ Pattern, Problem string }

// Error implements error.
func (e *GlobError) Error() string {
	return fmt.Sprintf("invalid glob %q: %s", e.Pattern, e.Problem)
}

func globProblem(pattern string) string {
	open := rune(0)
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case open == '[' && r == ']':
			open = 0
		case open == '[':
		case r == '[' || r == '{':
			open = r
		case r == '}':
			open = 0
		}
	}
	switch {
	case open == '[':
		return `a [ is not closed; write \[ for the character`
	case open == '{':
		return `a { is not closed; write \{ for the character`
	case escaped:
		return "it ends in a lone backslash"
	default:
		return "its brackets or braces do not match"
	}
}

// splitGlob parts the folders without wildcards from the rest.
func splitGlob(pattern string) (base, rest string) {
	base, rest = doublestar.SplitPattern(pattern)
	if base == "." {
		base = ""
	}
	return base, rest
}

// depthOf is how many levels of folders a pattern can reach into; 0: any.
func depthOf(rest string) int {
	if strings.Contains(rest, "**") || strings.ContainsAny(rest, "{\\") {
		return 0
	}
	n := strings.Count(rest, "/")
	if n == 0 {
		return -1
	}
	return n
}

// globber keeps the newest files.
type globber struct {
	limit int
	tree  Tree

	mu    sync.Mutex // guards all below
	files oldestFirst
	total int64
}

func (g *globber) visit(e Entry) {
	real := g.tree.at(e.Path)
	info, err := os.Lstat(real)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if info, err = os.Stat(real); err == nil && !info.Mode().IsRegular() {
			return // a link to a folder or device is no file
		}
	}
	f := GlobFile{Path: e.Path}
	if err == nil { // a dangling link, or gone since: it has a name all the same
		f.ModTime = info.ModTime()
	}
	g.add(f)
}

func (g *globber) add(f GlobFile) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total++
	switch {
	case g.limit <= 0 || len(g.files) < g.limit:
		heap.Push(&g.files, f)
	case newer(f, g.files[0]):
		g.files[0] = f
		heap.Fix(&g.files, 0)
	}
}

// literal adds the file whose name is the pattern itself, such as "[id].tsx".
func (g *globber) literal(ctx context.Context, tree Tree, pattern string) {
	if !strings.ContainsAny(pattern, "[{*?") || ctx.Err() != nil {
		return
	}
	path := filepath.Join(tree.Root, filepath.FromSlash(pattern))
	info, err := os.Stat(tree.at(path))
	if err != nil || !info.Mode().IsRegular() || (tree.Skip != nil && tree.Skip(path, false)) {
		return
	}
	for _, f := range g.files {
		if f.Path == path {
			return
		}
	}
	g.add(GlobFile{path, info.ModTime()})
}

func newer(a, b GlobFile) bool {
	if !a.ModTime.Equal(b.ModTime) {
		return a.ModTime.After(b.ModTime)
	}
	return a.Path < b.Path
}

// oldestFirst is a heap with the file to be dropped next on top.
type oldestFirst []GlobFile

func (h oldestFirst) Len() int           { return len(h) }
func (h oldestFirst) Less(i, j int) bool { return newer(h[j], h[i]) }
func (h oldestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *oldestFirst) Push(x any) { *h = append(*h, x.(GlobFile)) }

// Pop implements heap.Interface.
func (h *oldestFirst) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	*h = (*h)[:last]
	return f
}
