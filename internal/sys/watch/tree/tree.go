// Package tree keeps an index of the names below some folders: one walk for everybody who asks which
// files match a pattern, or where files of certain names are.
//
// [Index.Sync] brings it up to the moment: small trees by comparing the times of each folder, large
// ones by the notifications of the kernel, in which a mark of our own shows that everything before it
// has been heard. It follows no links, reads no contents, and is bounded; what it does not look at it
// tells ([Index.Gaps]). Begin with [New].
package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Options say what to index.
type Options struct {
	// Roots are absolute, without links; more can be added.
	Roots []string
	// Enter says whether a folder is looked into; nil: every one is.
	Enter func(path string) bool
	// Mark says which names are remembered by themselves; nil: none.
	Mark func(path string, dir bool) bool
	// Contents says of a remembered folder whether what is written in it counts as a change; nil: in
	// every one it does.
	Contents func(path string) bool
	// Max bounds the entries; 0: half a million. What lies beyond is a gap.
	Max int
	// Notify is the number of folders from which on the kernel is asked to notify; 0: 200.
	Notify int
	// Scratch is a folder in which files may be made for a moment, needed for notifications; empty: none
	// are asked for.
	Scratch string
	// Report is told, once, why notifications do not work; each Sync of a large tree then takes longer.
	// Nil: nobody.
	Report func(error)
}

// The defaults of [Options].
const (
	defaultMax    = 500_000
	defaultNotify = 200 // comparing them takes about a millisecond
)

// Index is the index. It is safe for concurrent use.
type Index struct {
	opts   Options
	cancel context.CancelFunc
	ctx    context.Context
	done   chan struct{} // closed when the first walk, begun by Start, has ended; nil before

	adding sync.Mutex               // held to change roots
	roots  atomic.Pointer[[]string] // replaced, never changed

	mu       sync.Mutex // guards all below
	folders  map[string]*folder
	marked   map[string]bool // by path; true: a folder
	patterns map[string]*pattern
	entries  int
	gaps     []string
	built    bool
	seq      uint64 // counts the calls of Sync
	touched  map[string]uint64
	rooted   map[string]bool // roots whose entries were asked about as those of a root
	complete uint64          // changes after this Sync are all in touched while live is not nil
	live     *notifier
	failed   bool // notifications were tried in vain
}

// New returns an index. It looks at nothing before [Index.Start] or the first [Index.Sync].
func New(opts Options) *Index {
	if opts.Max == 0 {
		opts.Max = defaultMax
	}
	if opts.Notify == 0 {
		opts.Notify = defaultNotify
	}
	if opts.Report == nil {
		opts.Report = func(error) {}
	}
	x := &Index{opts: opts, folders: map[string]*folder{}, marked: map[string]bool{}, patterns: map[string]*pattern{}, touched: map[string]uint64{}, rooted: map[string]bool{}}
	roots := slices.Clone(opts.Roots)
	x.roots.Store(&roots)
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x
}

// Roots are the folders that are indexed.
func (x *Index) Roots() []string { return *x.roots.Load() }

// Include adds a root, which the next Sync looks at.
func (x *Index) Include(root string) {
	x.adding.Lock()
	defer x.adding.Unlock()
	if now := x.Roots(); !slices.Contains(now, root) {
		now = append(slices.Clone(now), root)
		x.roots.Store(&now)
	}
}

// Includes says whether a folder lies in a root.
func (x *Index) Includes(dir string) bool {
	return slices.ContainsFunc(x.Roots(), func(r string) bool { return within(dir, r) })
}

// Start begins the first walk in the background, and prepares what patterns will match.
func (x *Index) Start(patterns ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done != nil || x.built {
		return
	}
	x.done = make(chan struct{})
	go func() { // ends with the walk, at the latest with Close
		defer close(x.done)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.build()
		for _, p := range patterns {
			_, _ = x.match(p) // who asks for it is told
		}
	}()
}

// Close ends the index. It may be called twice.
func (x *Index) Close() {
	x.cancel()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live != nil {
		x.live.close()
		x.live = nil
	}
}

// Sync brings the index up to everything that had happened when it was called. It returns the number
// of this moment for [Index.Changed].
func (x *Index) Sync(ctx context.Context) (uint64, error) {
	x.mu.Lock()
	done := x.done
	x.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for the index of the tree: %w", context.Cause(ctx))
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx.Err() != nil {
		return 0, errors.New("the index of the tree is closed")
	}
	x.seq++
	switch {
	case !x.built:
		x.build()
	case x.live != nil:
		x.catchUp()
	default:
		x.compareAll()
	}
	return x.seq, nil
}

// Gaps tells what is not looked at, for people.
func (x *Index) Gaps() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.gaps)
}

// Covers says whether everything below a folder is indexed.
func (x *Index) Covers(dir string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.gaps) == 0 && x.Includes(dir)
}

// Marked lists the paths with a name that is remembered, sorted; the value is whether it is a folder.
func (x *Index) Marked() map[string]bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make(map[string]bool, len(x.marked))
	for path, dir := range x.marked {
		out[path] = dir
	}
	return out
}

// Below lists the paths that are indexed below a folder, it left out.
func (x *Index) Below(dir string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	x.below(dir, func(path string, _ bool) { out = append(out, path) })
	return out
}

func (x *Index) below(dir string, each func(path string, dir bool)) {
	f := x.folders[dir]
	if f == nil {
		return
	}
	for _, e := range f.entries {
		path := join(dir, e.name)
		each(path, e.dir)
		if e.dir {
			x.below(path, each)
		}
	}
}

// Changed tells which entries were made, removed or written to since a Sync. known is false when that
// is not known, and the caller has to look itself.
func (x *Index) Changed(since uint64) (paths []string, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live == nil || since < x.complete {
		return nil, false
	}
	for path, at := range x.touched {
		if at > since {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, true
}
