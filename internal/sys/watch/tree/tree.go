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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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
	// Notify is the number of folders from which on the kernel is asked to notify; 0: 1,000.
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
	defaultNotify = 1000
)

// fresh is how long after a change of a folder another may have left the same time.
const fresh = 50 * time.Millisecond

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

type entry struct {
	name string
	dir  bool
}

type folder struct {
	entries []entry // sorted by name
	stamp   stamp
	young   bool // changed so shortly before it was read that another change may look the same
	watch   int  // what the kernel calls it
}

// stamp is what changes with the entries of a folder.
type stamp struct {
	ino   uint64
	ctime time.Time
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

// build walks for the first time. Caller holds mu.
func (x *Index) build() {
	x.built = true
	x.addRoots()
	if len(x.folders) >= x.opts.Notify {
		x.listen()
	}
}

// addRoots reads roots that are not indexed yet. What lies in one that is, as a folder of another, is
// asked about again: its names may count now. Caller holds mu.
func (x *Index) addRoots() {
	for _, root := range x.Roots() {
		f := x.folders[root]
		if f == nil {
			x.add(root)
		} else if !x.rooted[root] && x.opts.Mark != nil {
			for _, e := range f.entries {
				if path := join(root, e.name); x.opts.Mark(path, e.dir) {
					x.marked[path], x.touched[path] = e.dir, x.seq
				}
			}
		}
		x.rooted[root] = x.folders[root] != nil
	}
}

// listen asks the kernel to notify from now on. Caller holds mu.
func (x *Index) listen() {
	if x.failed || x.opts.Scratch == "" {
		return
	}
	live, err := newNotifier(x.opts.Scratch)
	if err == nil {
		for dir, f := range x.folders {
			if f.watch, err = live.add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				break
			}
			err = nil
		}
	}
	if err != nil {
		if live != nil {
			live.close()
		}
		x.failed = true
		x.opts.Report(fmt.Errorf("no notifications of changed folders, comparing %d of them for each command instead: %w", len(x.folders), err))
		return
	}
	x.live = live
	x.compareAll() // what changed before it was watched
	x.touched, x.complete = map[string]uint64{}, x.seq
}

// catchUp takes what the kernel has told up to now. Caller holds mu.
func (x *Index) catchUp() {
	told, err := x.live.drain()
	if err != nil { // something was lost
		x.compareAll()
		x.touched, x.complete = map[string]uint64{}, x.seq
		return
	}
	dirty := map[string]bool{}
	for _, t := range told {
		if t.name != "" && x.interesting(t.dir, t.name) {
			x.touched[join(t.dir, t.name)] = x.seq
		}
		if t.entries {
			dirty[t.dir] = true
		}
	}
	x.addRoots()
	for _, root := range x.Roots() { // nobody tells of these
		if now, err := stampOf(root); x.folders[root] == nil {
			continue
		} else if err != nil || now != x.folders[root].stamp {
			dirty[root] = true
		}
	}
	x.refresh(dirty)
	if len(x.touched) > 10_000 {
		x.touched, x.complete = map[string]uint64{}, x.seq
	}
}

// interesting says whether somebody may want to know that an entry was written to: one with a name that
// is remembered, or one in such a folder.
func (x *Index) interesting(dir, name string) bool {
	if _, ok := x.marked[join(dir, name)]; ok {
		return true
	}
	for ; len(dir) > 1; dir = filepath.Dir(dir) {
		if _, ok := x.marked[dir]; ok && (x.opts.Contents == nil || x.opts.Contents(dir)) {
			return true
		}
	}
	return x.opts.Mark != nil && x.opts.Mark(join(dir, name), false)
}

// compareAll compares every folder with what it was. Caller holds mu.
func (x *Index) compareAll() {
	dirty := map[string]bool{}
	for dir, f := range x.folders {
		now, err := stampOf(dir)
		if err != nil || f.young || now != f.stamp {
			dirty[dir] = true
		}
	}
	x.addRoots()
	x.refresh(dirty)
	if x.live == nil && len(x.folders) >= x.opts.Notify {
		x.listen()
	}
}

// refresh reads folders again: first what is gone goes, then what is new comes, so that a folder that
// was moved is watched where it is now. Caller holds mu.
func (x *Index) refresh(dirty map[string]bool) {
	type arrival struct {
		in string
		entry
	}
	var gone []string
	var come []arrival
	for dir := range dirty {
		f := x.folders[dir]
		if f == nil {
			continue
		}
		now, st, young, err := read(dir)
		if err != nil {
			now = nil
		}
		was := f.entries
		f.entries, f.stamp, f.young = now, st, young
		x.entries += len(now) - len(was)
		for _, e := range was {
			if !slices.Contains(now, e) { // gone, or another kind of thing
				gone = append(gone, join(dir, e.name))
			}
		}
		for _, e := range now {
			if _, had := slices.BinarySearchFunc(was, e, compareEntries); !had {
				come = append(come, arrival{dir, e})
			} else if e.dir && x.replaced(join(dir, e.name)) {
				gone, come = append(gone, join(dir, e.name)), append(come, arrival{dir, e})
			}
		}
		if err != nil && !exists(dir) {
			x.forget(dir)
		}
	}
	for _, path := range gone {
		x.left(path)
	}
	for _, a := range come {
		x.arrived(join(a.in, a.name), a.dir)
	}
}

// replaced says whether another folder stands where one is watched. Without notifications the folder's
// own time tells. Caller holds mu.
func (x *Index) replaced(dir string) bool {
	f := x.folders[dir]
	if f == nil || x.live == nil {
		return false
	}
	now, err := stampOf(dir)
	return err != nil || now.ino != f.stamp.ino || !x.live.watches(f.watch)
}

// add reads a folder and everything in it. Caller holds mu.
func (x *Index) add(dir string) {
	if x.folders[dir] != nil || x.ctx.Err() != nil {
		return
	}
	if x.opts.Enter != nil && !x.opts.Enter(dir) {
		return
	}
	if x.entries > x.opts.Max {
		x.gap(dir)
		return
	}
	f := &folder{}
	if x.live != nil {
		var err error
		if f.watch, err = x.live.add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			x.live.close()
			x.live, x.failed = nil, true
			x.opts.Report(fmt.Errorf("no notifications of changed folders any more, comparing them for each command instead: %w", err))
		}
	}
	var err error
	if f.entries, f.stamp, f.young, err = read(dir); err != nil && errors.Is(err, fs.ErrNotExist) {
		return
	}
	x.folders[dir] = f
	x.entries += len(f.entries)
	for _, e := range f.entries {
		x.arrived(join(dir, e.name), e.dir)
	}
}

func (x *Index) gap(dir string) {
	if len(x.gaps) < 5 {
		x.gaps = append(x.gaps, dir)
	}
}

// arrived enters a path. Caller holds mu.
func (x *Index) arrived(path string, dir bool) {
	if x.opts.Mark != nil && x.opts.Mark(path, dir) {
		x.marked[path] = dir
		x.touched[path] = x.seq
	}
	for _, p := range x.patterns {
		p.arrived(path)
	}
	if dir {
		x.add(path)
	}
}

// left takes a path out, and what was in it. Caller holds mu.
func (x *Index) left(path string) {
	if _, ok := x.marked[path]; ok {
		delete(x.marked, path)
		x.touched[path] = x.seq
	}
	for _, p := range x.patterns {
		p.left(path)
	}
	if f := x.folders[path]; f != nil {
		for _, e := range f.entries {
			x.left(join(path, e.name))
		}
		x.forget(path)
	}
}

// forget takes a folder out. Caller holds mu.
func (x *Index) forget(dir string) {
	f := x.folders[dir]
	if f == nil {
		return
	}
	x.entries -= len(f.entries)
	delete(x.folders, dir)
	if x.live != nil {
		x.live.remove(f.watch)
	}
}

// read lists a folder.
func read(dir string) (entries []entry, st stamp, young bool, err error) {
	if st, err = stampOf(dir); err != nil {
		return nil, st, true, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, st, false, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, st, true, err
	}
	entries = make([]entry, 0, len(list))
	for _, e := range list {
		entries = append(entries, entry{e.Name(), e.IsDir()})
	}
	slices.SortFunc(entries, compareEntries)
	return entries, st, time.Since(st.ctime) < fresh, nil
}

func compareEntries(a, b entry) int {
	if c := strings.Compare(a.name, b.name); c != 0 {
		return c
	}
	switch {
	case a.dir == b.dir:
		return 0
	case a.dir:
		return 1
	}
	return -1
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + string(filepath.Separator) + name
}

func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
