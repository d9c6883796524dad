// Package search finds files by name and by content: a parallel walk that obeys ignore files, and
// an engine for ripgrep's regular expressions that runs in this process.
//
// It knows no tools and shows nothing; what was left out and why comes back counted, so that "no
// match" is only said of what was really searched. Begin with [Grep] and [Glob]; [Walk] is
// the ground both stand on.
package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// Tree says what is walked. Links inside it are not followed, so a loop of links does no harm;
// devices, pipes and sockets are never opened; the folders in which version control keeps itself
// are left out.
type Tree struct {
	Root     string                           // absolute folder; may be a link itself
	Real     string                           // Root with links followed, as it was decided about: no other folder is walked; empty: found out first
	Ignore   bool                             // leave out what .gitignore, .ignore, .rgignore and git's exclude files name
	NoHidden bool                             // leave out names that begin with a dot
	Depth    int                              // how many levels of folders below Root are entered; 0: all, -1: none
	Want     func(rel string) bool            // only files it says yes to, by path below Root; nil: all
	Skip     func(path string, dir bool) bool // leave out what it says yes to, by absolute path; nil: nothing
	Workers  int                              // 0: one a processor
}

// Entry is a file or link met by a walk.
type Entry struct {
	Path string // absolute
	Rel  string // below the root, with slashes
	Type fs.FileMode
}

// Missed counts what was not looked at.
type Missed struct {
	Ignored    int64    // files and whole folders left out by ignore files
	Skipped    int64    // files and whole folders left out by Tree.Skip
	Binary     int64    // files that are no text
	TooLarge   int64    // files over the size limit
	Special    int64    // devices, pipes, sockets
	Unreadable int64    // files and folders that could not be read
	Names      []string // the first of the unreadable ones, with the cause
	Stopped    bool     // the context ended before everything was seen
}

const maxNames = 5

// tally is Missed while it is being counted.
type tally struct {
	ignored, skipped, binary, large, special, unreadable atomic.Int64

	mu    sync.Mutex // guards names
	names []string
}

func (t *tally) failed(path string, err error) {
	t.unreadable.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.names) < maxNames {
		t.names = append(t.names, path+": "+cause(err))
	}
}

func (t *tally) missed(ctx context.Context) Missed {
	return Missed{
		Ignored: t.ignored.Load(), Skipped: t.skipped.Load(), Binary: t.binary.Load(), TooLarge: t.large.Load(),
		Special: t.special.Load(), Unreadable: t.unreadable.Load(), Names: t.names, Stopped: ctx.Err() != nil,
	}
}

// Walk calls visit for every wanted file and link of the tree, from several goroutines, each with
// its own number from 0 to workers-1. It returns when all calls have returned. An unreadable root is
// an error; what else could not be read is counted. The end of ctx stops it.
func Walk(ctx context.Context, tree Tree, visit func(worker int, e Entry)) (Missed, error) {
	var t tally
	err := walk(ctx, tree, &t, visit)
	return t.missed(ctx), err
}

func (tree Tree) workers() int {
	if tree.Workers > 0 {
		return tree.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func walk(ctx context.Context, tree Tree, t *tally, visit func(int, Entry)) error {
	tree, err := tree.resolved()
	if err != nil {
		return err
	}
	info, err := nolink.Lstat(tree.Real)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "walk", Path: tree.Root, Err: fs.ErrInvalid}
	}
	if err != nil {
		return err
	}
	if d, err := nolink.OpenFile(tree.Real, os.O_RDONLY, 0); err != nil {
		return err
	} else {
		d.Close()
	}
	tree.Skip = tree.skipReal()
	w := &walker{tree: tree, tally: t, visit: visit, ctx: ctx}
	w.cond.L = &w.mu
	root := job{dir: tree.Root}
	if tree.Ignore {
		w.prefix, root.ignores = ignoresAbove(tree.Real)
	}
	w.push(root)
	stop := context.AfterFunc(ctx, w.wake)
	defer stop()
	var wg sync.WaitGroup
	for i := range tree.workers() {
		wg.Go(func() { w.work(i) }) // ends when no job is left or ctx ended
	}
	wg.Wait()
	return nil
}

// resolved is the tree with its real root.
func (tree Tree) resolved() (Tree, error) {
	tree.Root = filepath.Clean(tree.Root)
	if tree.Real != "" {
		return tree, nil
	}
	real, err := filepath.EvalSymlinks(tree.Root)
	tree.Real = real
	return tree, err
}

// at is where an entry below the root really is: there it is opened.
func (tree Tree) at(path string) string {
	if tree.Real == tree.Root || tree.Real == "" {
		return path
	}
	return tree.Real + strings.TrimPrefix(path, tree.Root)
}

// skipReal is Skip asked also about the real paths, where the root was reached through a link: a
// rule may name either.
func (tree Tree) skipReal() func(string, bool) bool {
	if tree.Skip == nil || tree.Real == tree.Root {
		return tree.Skip
	}
	return func(path string, dir bool) bool {
		return tree.Skip(path, dir) || tree.Skip(tree.at(path), dir)
	}
}

// job is a folder to read, or some files to visit.
type job struct {
	dir     string // absolute
	rel     string // "" for the root, else with a slash at its end
	depth   int
	ignores *pathpattern.Ignores
	files   []Entry // nil: read the folder
}

// batch is how many files travel together, so that one large folder is shared out and small ones
// cost no hand-over.
const batch = 64

type walker struct {
	ctx    context.Context
	tree   Tree
	tally  *tally
	visit  func(int, Entry)
	prefix string // of the root below the folder the ignore patterns start from, with a slash at its end

	mu   sync.Mutex // guards jobs and busy
	cond sync.Cond  // a job came, or the last worker fell idle
	jobs []job      // last in, first out: deep before wide, so it stays short
	busy int        // workers that may still add jobs
}

func (w *walker) push(jobs ...job) {
	w.mu.Lock()
	w.jobs = append(w.jobs, jobs...)
	w.mu.Unlock()
	if len(jobs) == 1 {
		w.cond.Signal()
	} else if len(jobs) > 1 {
		w.cond.Broadcast()
	}
}

func (w *walker) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cond.Broadcast()
}

func (w *walker) work(worker int) {
	for {
		j, ok := w.next()
		if !ok {
			return
		}
		if j.files != nil {
			w.visitAll(worker, j.files)
		} else {
			w.readDir(worker, j)
		}
		w.mu.Lock()
		w.busy--
		if w.busy == 0 && len(w.jobs) == 0 {
			w.cond.Broadcast()
		}
		w.mu.Unlock()
	}
}

func (w *walker) next() (job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.jobs) == 0 && w.busy > 0 && w.ctx.Err() == nil {
		w.cond.Wait()
	}
	if len(w.jobs) == 0 || w.ctx.Err() != nil {
		return job{}, false
	}
	j := w.jobs[len(w.jobs)-1]
	w.jobs[len(w.jobs)-1] = job{}
	w.jobs = w.jobs[:len(w.jobs)-1]
	w.busy++
	return j, true
}

func (w *walker) visitAll(worker int, files []Entry) {
	for _, e := range files {
		if w.ctx.Err() != nil {
			return
		}
		w.visit(worker, e)
	}
}

func (w *walker) readDir(worker int, j job) {
	entries, err := listDir(w.tree.at(j.dir))
	if err != nil {
		w.tally.failed(j.dir, err) // what could be read of it is still walked
	}
	if w.tree.Ignore {
		j.ignores = w.ignoresOf(j, entries)
	}
	var dirs []job
	var files []Entry
	for _, d := range entries {
		e := Entry{Path: joinPath(j.dir, d.name), Rel: j.rel + d.name, Type: d.mode}
		if d.mode.IsDir() {
			if w.enters(j, d.name, e) {
				dirs = append(dirs, job{dir: e.Path, rel: e.Rel + "/", depth: j.depth + 1, ignores: j.ignores})
			}
			continue
		}
		if !w.wants(j, d.name, e) {
			continue
		}
		if files = append(files, e); len(files) == batch {
			dirs = append(dirs, job{files: files})
			files = nil
		}
	}
	if len(dirs) > 0 {
		w.push(dirs...)
	}
	w.visitAll(worker, files)
}

func (w *walker) enters(j job, name string, e Entry) bool {
	switch {
	case isVCS(name), w.tree.NoHidden && name[0] == '.':
		return false
	case w.tree.Depth != 0 && j.depth >= w.tree.Depth:
		return false
	case j.ignores != nil && j.ignores.Ignored(w.prefix+e.Rel, true):
		w.tally.ignored.Add(1)
		return false
	case w.tree.Skip != nil && w.tree.Skip(e.Path, true):
		w.tally.skipped.Add(1)
		return false
	}
	return true
}

func (w *walker) wants(j job, name string, e Entry) bool {
	switch {
	case w.tree.NoHidden && name[0] == '.', name == ".git":
		return false
	case w.tree.Want != nil && !w.tree.Want(e.Rel):
		return false
	case j.ignores != nil && j.ignores.Ignored(w.prefix+e.Rel, false):
		w.tally.ignored.Add(1)
		return false
	case w.tree.Skip != nil && w.tree.Skip(e.Path, false):
		w.tally.skipped.Add(1)
		return false
	case e.Type&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice|fs.ModeIrregular) != 0:
		w.tally.special.Add(1)
		return false
	}
	return true
}

// isVCS tells whether a folder is where a version control system keeps its own things.
func isVCS(name string) bool {
	switch name {
	case ".git", ".svn", ".hg", ".bzr", ".jj", ".sl":
		return true
	}
	return false
}

func joinPath(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
