package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Mode is what a search by content returns.
type Mode uint8

// The modes.
const (
	Files  Mode = iota // the files that match
	Lines              // the matching lines
	Counts             // how many lines match in each file
)

// Query says what is searched for and how much of it is wanted.
type Query struct {
	Pattern *Pattern
	Mode    Mode
	Before  int   // Lines: lines of context before a match
	After   int   // Lines: and after it
	Only    bool  // Lines: the matching parts alone, one a line, without context
	Columns int   // Lines: longest line shown, in characters; 0: no bound
	Keep    int   // Lines: how many lines are wanted in all; 0: as many as memory allows
	MaxSize int64 // larger files are left out and counted; 0: 512 MiB
}

// Line is a line of a result.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool // false: context
	Gap    bool // lines were left out between this one and the one before
}

// FileMatch is what a file has of what is searched for.
type FileMatch struct {
	Path    string
	Rel     string // below the root of the tree; the name for a single file
	Count   int    // matching lines; Files: 1. With Lines, as many as were seen before Keep was reached
	Lines   []Line
	ModTime time.Time // Files only
}

// Found is the result of a search.
type Found struct {
	Files    []FileMatch // Files: newest first, else by path. Lines: up to those that have Keep lines
	Total    int         // files that match
	Searched int64       // files whose content was looked at
	Missed   Missed
	Cut      bool // more was found than memory allows to keep
}

const (
	defaultMaxSize = 512 << 20
	maxKeptBytes   = 32 << 20 // of lines and paths of all files together
)

// Grep searches the content of a tree's files. The end of ctx stops it: what was found until then
// comes back with Missed.Stopped. An unreadable root is an error.
func Grep(ctx context.Context, tree Tree, q Query) (Found, error) {
	tree, err := tree.resolved()
	if err != nil {
		return Found{}, err
	}
	g := newGrep(q, tree.workers())
	err = walk(ctx, tree, &g.tally, func(worker int, e Entry) {
		if e.Type&os.ModeSymlink == 0 {
			g.file(ctx, g.searchers[worker], place{e.Path, tree.at(e.Path), e.Rel})
		}
	})
	if err != nil {
		return Found{}, err
	}
	return g.found(ctx), nil
}

// GrepFile searches the content of one file; real is its path with links followed. Its errors are those
// of [textfile.OpenReal].
func GrepFile(ctx context.Context, path, real string, q Query) (Found, error) {
	f, info, err := textfile.OpenReal(real)
	if err != nil {
		return Found{}, err
	}
	f.Close()
	if q.MaxSize == 0 { // who names a file wants it searched
		q.MaxSize = info.Size()
	}
	g := newGrep(q, 1)
	g.file(ctx, g.searchers[0], place{path, real, filepath.Base(path)})
	return g.found(ctx), nil
}

type grep struct {
	q         Query
	tally     tally
	searchers []*searcher

	mu       sync.Mutex // guards all below
	files    []FileMatch
	kept     int // bytes
	lines    int
	total    int
	searched int64
	cut      bool
	last     string // Lines: with paths up to this one there are enough lines; empty: not yet
}

func newGrep(q Query, workers int) *grep {
	if q.MaxSize == 0 {
		q.MaxSize = defaultMaxSize
	}
	g := &grep{q: q}
	for range workers {
		g.searchers = append(g.searchers, &searcher{q: &g.q})
	}
	return g
}

// place is a file: as it is shown, where it is opened, and below the root of the tree.
type place struct{ path, real, rel string }

func (g *grep) file(ctx context.Context, s *searcher, at place) {
	m, err := s.search(ctx, at.real)
	switch {
	case errors.Is(err, errBinary):
		g.tally.binary.Add(1)
		return
	case errors.Is(err, errTooLarge):
		g.tally.large.Add(1)
		return
	case err != nil && ctx.Err() != nil:
		return
	case err != nil:
		g.tally.failed(at.path, err)
		return
	}
	s.searched++
	if m.Count == 0 {
		return
	}
	m.Path, m.Rel = at.path, at.rel
	if g.q.Mode == Files {
		if info, err := nolink.Lstat(at.real); err == nil {
			m.ModTime = info.ModTime()
		}
	}
	g.keep(m)
}

func (g *grep) keep(m FileMatch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total++
	if g.last != "" && m.Path > g.last {
		return
	}
	g.files = append(g.files, m)
	g.lines += len(m.Lines)
	g.kept += m.bytes()
	enough := g.q.Mode == Lines && g.q.Keep > 0 && g.lines > 4*g.q.Keep+1000
	if enough || g.kept > maxKeptBytes {
		g.prune()
	}
}

// bytes is about how much memory the match takes.
func (m *FileMatch) bytes() int {
	n := len(m.Path) + len(m.Rel) + 128
	for _, l := range m.Lines {
		n += len(l.Text) + 40
	}
	return n
}

// prune drops the files behind those that have all lines wanted, and whatever takes too much
// memory.
func (g *grep) prune() {
	g.sort()
	g.kept, g.lines = 0, 0
	for i := range g.files {
		f := &g.files[i]
		g.kept += f.bytes()
		g.lines += len(f.Lines)
		enough := g.q.Mode == Lines && g.q.Keep > 0 && g.lines >= g.q.Keep
		if !enough && g.kept <= maxKeptBytes/2 {
			continue
		}
		g.cut = g.cut || !enough
		clear(g.files[i+1:])
		g.files = g.files[:i+1]
		if g.q.Mode != Files {
			g.last = f.Path
		}
		return
	}
}

func (g *grep) sort() {
	sort.Slice(g.files, func(i, j int) bool {
		a, b := &g.files[i], &g.files[j]
		if g.q.Mode == Files && !a.ModTime.Equal(b.ModTime) {
			return a.ModTime.After(b.ModTime)
		}
		return a.Path < b.Path
	})
}

func (g *grep) found(ctx context.Context) Found {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sort()
	for _, s := range g.searchers {
		g.searched += s.searched
	}
	return Found{Files: g.files, Total: g.total, Searched: g.searched, Missed: g.tally.missed(ctx), Cut: g.cut}
}

// window shows the part of a long line around a match, in at most columns characters.
func window(line []byte, at, columns int) string {
	if columns <= 0 || len(line) <= columns {
		return valid(line)
	}
	text := []rune(valid(line))
	if len(text) <= columns {
		return string(text)
	}
	before := len([]rune(valid(line[:min(at, len(line))])))
	from := max(0, min(before-columns/4, len(text)-columns))
	out := string(text[from : from+columns])
	if from > 0 {
		out = "…" + out
	}
	if from+columns < len(text) {
		out += "…"
	}
	return fmt.Sprintf("%s [line of %d characters, cut]", out, len(text))
}
