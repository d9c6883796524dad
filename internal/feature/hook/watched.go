package hook

import (
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/watch"
)

// Watched are the files FileChanged hooks hear of: those their matchers name, and those that hooks
// asked for since. Nothing is watched while there are none.
type Watched struct {
	start string        // the folder the session began in
	cwd   func() string // where the agent stands
	fire  func(Event)   // may wait for programs

	mu    sync.Mutex // guards the rest
	named []string
	asked []string
	there map[string]bool // whether something stood at a path when it was last told of
	w     *watch.Watcher  // nil: nothing is watched
	over  bool            // closed for good
}

// NewWatched watches nothing yet. start is the folder the session began in, cwd where the agent stands; fire
// may wait for programs.
func NewWatched(start string, cwd func() string, fire func(Event)) *Watched {
	return &Watched{start: start, cwd: cwd, fire: fire}
}

// Name sets the files that matchers name, in the folder the session began in.
func (w *Watched) Name(names []string) {
	w.set(&w.named, names, w.start)
}

// Ask sets the files that a hook asked for; nil changes nothing.
func (w *Watched) Ask(paths *[]string) {
	if paths != nil {
		w.set(&w.asked, *paths, w.cwd())
	}
}

func (w *Watched) set(list *[]string, names []string, dir string) {
	paths := make([]string, len(names))
	for i, n := range names {
		if paths[i] = n; !filepath.IsAbs(n) {
			paths[i] = filepath.Join(dir, n)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || slices.Equal(*list, paths) {
		return
	}
	*list = paths
	if w.w != nil {
		go w.w.Close() // waits for the notice it may be in the middle of, which may be where we are
		w.w = nil
	}
	all := slices.Concat(w.named, w.asked)
	if len(all) == 0 {
		return
	}
	w.there = map[string]bool{}
	for _, p := range all {
		w.there[p] = exists(p)
	}
	w.w = watch.Start(watch.Options{Paths: all, Changed: w.changed})
}

// changed fires the hooks for files that changed.
func (w *Watched) changed(paths []string) {
	for _, path := range paths {
		now := exists(path)
		w.mu.Lock()
		before := w.there[path]
		w.there[path] = now
		w.mu.Unlock()
		what := "change"
		switch {
		case !now:
			what = "unlink"
		case !before:
			what = "add"
		}
		w.fire(Event{Name: FileChanged, Match: filepath.Base(path), Fields: map[string]any{"file_path": path, "event": what}})
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Close ends watching.
func (w *Watched) Close() {
	w.mu.Lock()
	old := w.w
	w.w, w.over = nil, true
	w.mu.Unlock()
	if old != nil {
		old.Close()
	}
}
