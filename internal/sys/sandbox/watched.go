package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// sweepEvery is how often protected places are looked at while a program runs.
const sweepEvery = 2 * time.Second

// Change is what a program changed at a place that is only watched.
type Change struct {
	Path    string
	is, was seen
}

// What is the change in a word: created, changed or removed.
func (c Change) What() string {
	switch {
	case !c.is.exists:
		return "removed"
	case !c.was.exists:
		return "created"
	}
	return "changed"
}

// Text returns what is there now, as far as it is a small file; false: it is not.
func (c Change) Text() (string, bool) {
	if !c.is.hashed {
		return "", false
	}
	data, err := nolink.ReadFile(c.Path, keepFile)
	return string(data), err == nil
}

// sweep looks at protected places while the program runs, so that what is put there does not stay until
// its end. It ends with the program.
func (c *Command) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.Process.Done():
			return
		case <-tick.C:
			found, _, notes := c.check(false)
			c.early.Lock()
			c.swept.Violations = append(c.swept.Violations, found...)
			c.swept.Notes = append(c.swept.Notes, notes...)
			c.early.Unlock()
		}
	}
}

// settle has somebody decide about the changes at watched places, and puts back what is not kept.
func (c *Command) settle(changes []Change) (found []Violation, notes []string) {
	if len(changes) == 0 {
		return nil, nil
	}
	var kept []Change
	if c.cfg.Keep != nil {
		kept = c.cfg.Keep(changes)
	}
	var moved []string
	for _, change := range changes {
		if slices.ContainsFunc(moved, func(m string) bool { return within(change.Path, m) }) {
			continue // went with its folder
		}
		if slices.ContainsFunc(kept, func(k Change) bool { return k.Path == change.Path }) {
			notes = append(notes, fmt.Sprintf("%s was %s and is kept", change.Path, change.What()))
			continue
		}
		if movesAway(change.is, change.was) {
			moved = append(moved, change.Path)
		}
		v, err := c.box.putAside(change.Path, change.is, change.was, c.cfg.Quarantine)
		if err != nil {
			notes = append(notes, err.Error())
		}
		found = append(found, v)
	}
	return found, notes
}

// watches says whether changes at a path may be kept.
func (c *Command) watches(path string) bool {
	any := func(guard) bool { return true }
	g := c.plan.far.over(path, any)
	if g == nil {
		g = c.before.list.over(path, any)
	}
	return g != nil && g.watch
}

// Accept says that this program itself has just written these paths, so that the integrity check of
// the commands that run takes them as they now are. Paths that are not protected are ignored.
func (b *Box) Accept(paths ...string) {
	b.mu.Lock()
	live := slices.Collect(maps.Keys(b.live))
	b.mu.Unlock()
	for _, c := range live {
		for _, path := range paths {
			c.accept(clean(path))
		}
	}
}

// accept takes a path, and what lies below it, as it is.
func (c *Command) accept(path string) {
	c.looking.Lock()
	defer c.looking.Unlock()
	if c.before == nil {
		return
	}
	seq, err := c.box.tree.Sync(context.Background())
	if err != nil {
		return // closed: nobody compares any more
	}
	c.plan.seq = seq
	c.box.guards(c.plan)
	now := map[string]seen{}
	c.box.lookAt(now, path, false)
	for dir := filepath.Dir(path); len(dir) > 1; dir = filepath.Dir(dir) {
		if st, err := os.Lstat(dir); err == nil {
			now[dir] = c.box.files.see(dir, st)
		}
	}
	far := maps.Clone(c.before.far)
	if far == nil {
		far = map[string]seen{}
	}
	for at, is := range now {
		if g := c.plan.far.over(at, func(guard) bool { return true }); g != nil {
			is.flat = g.flat
			far[at] = is
		}
		for _, g := range c.plan.near {
			if within(at, g.path) {
				is.flat = g.flat || c.plan.whole[g.path]
				c.before.near[at] = is
			}
		}
	}
	c.before.far = far
}

// Aside is something that was put aside.
type Aside struct {
	Path string // where it was
	At   string // where it is now
}

// Aside lists what was put aside and not brought back, oldest first.
func (b *Box) Aside() []Aside {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.aside)
}

// BringBack puts what was put aside where it was, in exchange for what is there now, which is put aside
// in turn. The commands that run take it as it then is.
func (b *Box) BringBack(a Aside) error {
	b.mu.Lock()
	i := slices.Index(b.aside, a)
	if i >= 0 {
		b.aside = slices.Delete(b.aside, i, i+1)
	}
	b.mu.Unlock()
	if i < 0 {
		return fmt.Errorf("bring back %s: it was not put aside", a.Path)
	}
	if st, err := nolink.At(a.Path); err == nil {
		is := b.files.see(a.Path, st)
		if _, err := b.putAside(a.Path, is, seen{}, filepath.Dir(a.At)); err != nil {
			return fmt.Errorf("bring back %s: %w", a.Path, err)
		}
	}
	if err := move(a.At, a.Path); err != nil {
		return fmt.Errorf("bring back %s: %w", a.Path, err)
	}
	b.Accept(a.Path)
	return nil
}
