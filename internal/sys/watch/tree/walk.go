package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// How the index comes to be, and is brought up to the moment.

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
