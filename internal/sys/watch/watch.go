// Package watch tells when files change: created, replaced by rename, deleted, reached through a
// symbolic link that now leads elsewhere, or whole folders that come and go.
//
// Notifications of the kernel only wake it; what counts is a comparison of what stands at each
// path. So nothing is missed when an editor replaces a file, and where notifications fail it polls.
// It reads no contents and watches no trees. Begin with [Start].
package watch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say what to watch. Paths and Changed are needed.
type Options struct {
	// Paths are absolute names of files and folders; none needs to exist. Of a folder its direct
	// entries count.
	Paths []string
	// Changed is told, after things were quiet for Debounce, the paths that changed since it was
	// last called; sorted. It is called from one goroutine.
	Changed func(paths []string)
	// Debounce is how long to wait for more; 0: 200 ms. A path that never rests is told after ten
	// times as long.
	Debounce time.Duration
	// Poll is how often to look where the kernel does not notify; 0: 2 s.
	Poll time.Duration
	// ForcePoll does without notifications.
	ForcePoll bool
	// After is how long the kernel is not asked yet: to ask it, and above all to stop, takes tens of
	// milliseconds that a program of one short task should not pay. What changes meanwhile is told then.
	After time.Duration
	// Report is told, once, why notifications do not work and that polling takes over. Nil: nobody.
	Report func(error)
}

// Watcher watches until it is closed. Its methods are safe for concurrent use.
type Watcher struct {
	opts   Options
	cancel context.CancelFunc
	done   chan struct{}

	once  sync.Once  // the report that polling takes over
	mu    sync.Mutex // guards paths and known
	paths []string
	known map[string]string // path → what stood there when Changed last heard of it
	wake  chan struct{}     // holds one: paths were added
}

// Start begins to watch. What stands at the paths when it returns is the state that later changes
// are measured against. Close ends it.
func Start(opts Options) *Watcher {
	if opts.Debounce == 0 {
		opts.Debounce = 200 * time.Millisecond
	}
	if opts.Poll == 0 {
		opts.Poll = 2 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watcher{opts: opts, cancel: cancel, done: make(chan struct{}), known: map[string]string{}, wake: make(chan struct{}, 1)}
	w.Add(opts.Paths...)
	if opts.After == 0 {
		events := w.notifier()
		w.arm(events)
		go func() { // ends when Close cancels
			defer close(w.done)
			w.run(ctx, events)
		}()
		return w
	}
	go func() { // ends when Close cancels
		defer close(w.done)
		select {
		case <-ctx.Done():
		case <-time.After(opts.After):
			w.run(ctx, w.notifier())
		}
	}()
	return w
}

// Close ends watching and waits until Changed is not running any more. It must not be called from
// Changed. Closing twice is harmless.
func (w *Watcher) Close() {
	w.cancel()
	<-w.done
}

// Add watches more paths. What stands there now is where changes begin; a path that is already
// watched keeps the state it was last told in.
func (w *Watcher) Add(paths ...string) {
	w.mu.Lock()
	for _, p := range paths {
		p = filepath.Clean(p)
		if _, ok := w.known[p]; !ok {
			w.paths = append(w.paths, p)
			w.known[p] = stamp(p)
		}
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// notifier opens the kernel's notifications; nil means polling.
func (w *Watcher) notifier() *fsnotify.Watcher {
	if w.opts.ForcePoll {
		return nil
	}
	n, err := fsnotify.NewWatcher()
	if err != nil {
		w.report(err)
		return nil
	}
	return n
}

func (w *Watcher) report(err error) {
	if w.opts.Report == nil {
		return
	}
	w.once.Do(func() {
		w.opts.Report(fmt.Errorf("no notifications of changed files, looking every %s instead: %w", w.opts.Poll, err))
	})
}

func (w *Watcher) run(ctx context.Context, n *fsnotify.Watcher) {
	var poll <-chan time.Time // nil while the kernel notifies: an idle program must not wake up
	polled := func() <-chan time.Time {
		t := time.NewTicker(w.opts.Poll)
		context.AfterFunc(ctx, t.Stop)
		return t.C
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	var since time.Time // of the first change not told yet
	events, errs := channels(n)
	failed := n == nil
	for {
		if failed && poll == nil {
			poll = polled()
		}
		select {
		case <-ctx.Done():
			if n != nil {
				_ = n.Close() // nothing is read from it any more
			}
			return
		case <-w.wake:
			failed = w.arm(n) || failed
			if !w.differs() {
				continue
			}
		case _, ok := <-events:
			if !ok {
				events, errs, failed = nil, nil, true
				continue
			}
		case err := <-errs:
			// Lost events (a full queue) are made good by comparing; other errors by polling.
			if err != nil && !failed {
				failed = true
				w.report(err)
			}
		case <-poll:
			if !w.differs() {
				continue
			}
		case <-quiet.C:
			since = time.Time{}
			w.tell()
			failed = w.arm(n) || failed
			// What happened in a new folder before it was watched is told by nobody.
			if !w.differs() {
				continue
			}
		}
		if since.IsZero() {
			since = time.Now()
		}
		if wait := time.Until(since.Add(10 * w.opts.Debounce)); wait < w.opts.Debounce {
			quiet.Reset(max(wait, 0))
		} else {
			quiet.Reset(w.opts.Debounce)
		}
	}
}

func channels(n *fsnotify.Watcher) (<-chan fsnotify.Event, <-chan error) {
	if n == nil {
		return nil, nil
	}
	return n.Events, n.Errors
}

// arm asks the kernel for every folder that matters now and reports whether some cannot be had.
func (w *Watcher) arm(n *fsnotify.Watcher) (failed bool) {
	if n == nil {
		return true
	}
	w.mu.Lock()
	paths := append([]string(nil), w.paths...)
	w.mu.Unlock()
	have := map[string]bool{}
	for _, dir := range n.WatchList() {
		have[dir] = true
	}
	for _, p := range paths {
		for _, dir := range folders(p) {
			if have[dir] {
				continue
			}
			have[dir] = true
			if err := n.Add(dir); err != nil && !os.IsNotExist(err) {
				failed = true
				w.report(fmt.Errorf("%s: %w", dir, err))
			}
		}
	}
	return failed
}

// tell compares every path with what was last told and calls Changed with those that differ.
func (w *Watcher) tell() {
	w.mu.Lock()
	var changed []string
	for _, p := range w.paths {
		if now := stamp(p); now != w.known[p] {
			w.known[p] = now
			changed = append(changed, p)
		}
	}
	w.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	sort.Strings(changed)
	w.opts.Changed(changed)
}

func (w *Watcher) differs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.paths {
		if stamp(p) != w.known[p] {
			return true
		}
	}
	return false
}

const maxHops = 40

// folders are the folders whose entries decide what stands at path: for the path itself and each
// link it goes through, the nearest folder that exists, and the path when it is a folder.
func folders(path string) []string {
	var out []string
	for range maxHops {
		out = append(out, nearest(filepath.Dir(path)))
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		out = append(out, path)
	}
	return out
}

func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// stamp describes what stands at path: type, identity, size, times, link target, and of a folder
// its entries. Equal stamps mean nothing changed that a reader could see.
func stamp(path string) string {
	var b strings.Builder
	link, err := os.Readlink(path)
	if err == nil {
		b.WriteString("->" + link + ";")
	}
	info, err := os.Stat(path)
	if err != nil {
		if os.IsNotExist(err) {
			return b.String() + "absent"
		}
		return b.String() + err.Error()
	}
	writeInfo(&b, info)
	if !info.IsDir() {
		return b.String()
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return b.String() + err.Error()
	}
	for _, e := range entries {
		b.WriteString("\n" + e.Name() + " ")
		// Through links, so that a file that is replaced behind one counts.
		if info, err := os.Stat(filepath.Join(path, e.Name())); err == nil {
			writeInfo(&b, info)
		}
	}
	return b.String()
}

func writeInfo(b *strings.Builder, info fs.FileInfo) {
	if info.IsDir() { // its own times change with entries nobody asked for
		fmt.Fprintf(b, "%s %s", info.Mode(), identity(info))
		return
	}
	fmt.Fprintf(b, "%s %d %d %s", info.Mode(), info.Size(), info.ModTime().UnixNano(), identity(info))
}
