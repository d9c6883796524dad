package sandbox

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// The bounds of what is remembered of protected files, so that it can be restored.
const (
	keepFile    = 256 << 10 // bytes of one file
	keepAll     = 16 << 20  // bytes together
	lookEntries = 3000      // entries of one protected folder
)

// seen is one path as it was: type, identity, content.
type seen struct {
	exists bool
	mode   fs.FileMode
	ino    uint64
	size   int64
	mtime  time.Time
	ctime  time.Time
	link   string
	hash   [sha256.Size]byte
	hashed bool
	flat   bool // its content does not count
}

// snapshot is what the protected paths of a plan were at a moment. Entries of protected folders are in
// it, too. It is nil when nothing is protected.
type snapshot struct {
	near, far map[string]seen // by path; far is shared and not changed once made
	list      *farGuards      // what far is of
}

// farLook is what the guards of the index were at a moment.
type farLook struct {
	of   *farGuards
	seq  uint64
	seen map[string]seen
}

// at is what was seen at a path.
func (s *snapshot) at(path string) seen {
	if is, ok := s.near[path]; ok {
		return is
	}
	return s.far[path]
}

// look records the protected paths as they are now; the index must have been brought to this moment, and
// p be planned for it.
func (b *Box) look(p *plan) *snapshot {
	if p.free || len(p.near)+len(p.far.list) == 0 {
		return nil
	}
	s := &snapshot{near: map[string]seen{}, list: p.far}
	for _, g := range p.near {
		b.lookAt(s.near, g.path, g.flat || p.whole[g.path])
	}
	s.far = b.lookFar(p)
	return s
}

// lookFar looks at the guards of the index, or only at those that changed since it did so last.
func (b *Box) lookFar(p *plan) map[string]seen {
	b.mu.Lock()
	last := b.base
	b.mu.Unlock()
	out, changed, known := map[string]seen(nil), []string(nil), false
	if last.seen != nil && last.of.key == p.far.key {
		changed, known = b.tree.Changed(last.seq)
	}
	switch {
	case known && len(changed) == 0 && last.of == p.far:
		return last.seen
	case known:
		out = maps.Clone(last.seen)
		for _, path := range changed {
			b.lookAgain(out, last.of, p.far, path)
		}
	default:
		out = make(map[string]seen, len(p.far.list))
		for _, g := range p.far.list {
			b.lookAt(out, g.path, g.flat)
		}
	}
	b.mu.Lock()
	b.base = farLook{p.far, p.seq, out}
	b.mu.Unlock()
	return out
}

// lookAgain looks at the guards of one path that changed.
func (b *Box) lookAgain(s map[string]seen, was, is *farGuards, path string) {
	any := func(guard) bool { return true }
	if g := was.over(path, any); g != nil {
		maps.DeleteFunc(s, func(p string, _ seen) bool { return within(p, g.path) })
	}
	if g := is.over(path, any); g != nil {
		b.lookAt(s, g.path, g.flat)
	}
	if filepath.Base(path) == "HEAD" || filepath.Base(path) == ".git" { // others come and go with it
		for _, g := range is.list {
			if _, had := s[g.path]; !had && within(g.path, filepath.Dir(path)) {
				b.lookAt(s, g.path, g.flat)
			}
		}
	}
}

// lookAt records a path and, unless flat, what it holds.
func (b *Box) lookAt(s map[string]seen, path string, flat bool) {
	st, err := nolink.At(path) // a link on the way, which was none a moment ago, leads to what is not protected here
	if err != nil {
		s[path] = seen{}
		return
	}
	if flat {
		link, _ := os.Readlink(path) // no link: no target
		s[path] = seen{exists: true, flat: true, mode: st.Mode(), ino: inode(st), link: link}
		return
	}
	s[path] = b.files.see(path, st)
	if !st.IsDir() {
		return
	}
	n := 0
	_ = filepath.WalkDir(path, func(sub string, d fs.DirEntry, err error) error { // what cannot be listed is as good as not there
		if err != nil || sub == path || strings.HasSuffix(sub, ".sample") { // git's own examples, which nobody runs
			return nil
		}
		if n++; n > lookEntries {
			return fs.SkipAll
		}
		if st, err := d.Info(); err == nil {
			s[sub] = b.files.see(sub, st)
		}
		return nil
	})
}

// contentCache remembers what small protected files hold, by their identity, so that an unchanged
// file is read once.
type contentCache struct {
	mu    sync.Mutex      // guards all below
	files map[string]seen // by path, the newest
	texts map[[sha256.Size]byte][]byte
	bytes int
}

func newContentCache() *contentCache {
	return &contentCache{files: map[string]seen{}, texts: map[[sha256.Size]byte][]byte{}}
}

// see makes the record of a path. Only regular files are read.
func (c *contentCache) see(path string, st fs.FileInfo) seen {
	s := seen{exists: true, mode: st.Mode(), ino: inode(st), size: st.Size(), mtime: st.ModTime(), ctime: changeTime(st)}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		s.link, _ = os.Readlink(path) // gone meanwhile: no target, which differs from one
	case st.Mode().IsRegular() && st.Size() <= keepFile:
		c.read(path, st, &s)
	}
	return s
}

// read reads the file that st describes, and no other one that got its name meanwhile.
func (c *contentCache) read(path string, st fs.FileInfo, s *seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.files[path]; ok && have.sameFile(*s) {
		s.hash, s.hashed = have.hash, true
		return
	}
	f, err := nolink.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !os.SameFile(is, st) {
		return
	}
	data, err := io.ReadAll(io.LimitReader(f, keepFile+1))
	if err != nil || len(data) > keepFile {
		return
	}
	s.hash, s.hashed = sha256.Sum256(data), true
	if c.bytes+len(data) > keepAll {
		c.files, c.texts, c.bytes = map[string]seen{}, map[[sha256.Size]byte][]byte{}, 0
	}
	if _, known := c.texts[s.hash]; !known {
		c.texts[s.hash] = data
		c.bytes += len(data)
	}
	c.files[path] = *s
}

// content returns what a file held when it was as described.
func (c *contentCache) content(as seen) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok := c.texts[as.hash]
	return data, ok && as.hashed
}

// sameFile reports that nothing points to a change: same file, same times.
func (s seen) sameFile(o seen) bool {
	return s.exists == o.exists && s.mode == o.mode && s.ino == o.ino && s.size == o.size && s.mtime.Equal(o.mtime) && s.ctime.Equal(o.ctime)
}

// unchanged reports that two records are of the same thing: type, mode and target or content. The
// identity may differ: the user may save a file meanwhile with the same content.
func (s seen) unchanged(o seen) bool {
	if s.exists != o.exists || s.mode != o.mode || s.link != o.link {
		return false
	}
	if !s.exists || s.mode.IsDir() || s.sameFile(o) {
		return true
	}
	if s.flat && o.flat {
		return true
	}
	return s.hashed && o.hashed && s.hash == o.hash
}

// check compares the protected paths with what they were. Whatever was put there or changed is moved to
// the quarantine, what was there before is restored where it is known, and both are told. What a mount
// has held all the time can only have been changed from outside, by the user or by this program, and is
// left alone; so is a new repository that runs nothing. Changes at places that are only watched are left
// for the end, and returned. final: the program has ended.
func (c *Command) check(final bool) (found []Violation, watched []Change, notes []string) {
	c.looking.Lock()
	defer c.looking.Unlock()
	if c.before == nil {
		return nil, nil, nil
	}
	changed, now, err := c.changes(final)
	if err != nil {
		return nil, nil, []string{"the check of protected places: " + err.Error()}
	}
	var moved []string
	for _, path := range changed {
		if slices.ContainsFunc(moved, func(m string) bool { return path != m && within(path, m) }) {
			continue // went with its folder
		}
		if c.watches(path) {
			watched = append(watched, Change{Path: path, is: now.at(path), was: c.before.at(path)})
			continue
		}
		v, err := c.box.putAside(path, now.at(path), c.before.at(path), c.cfg.Quarantine)
		if err != nil {
			notes = append(notes, err.Error())
		}
		if is, was := now.at(path), c.before.at(path); movesAway(is, was) {
			moved = append(moved, path)
		}
		found = append(found, v)
	}
	return found, watched, notes
}

// changes lists the protected paths that are not what they were, without those that may be. Caller
// holds looking.
func (c *Command) changes(final bool) ([]string, *snapshot, error) {
	b, p := c.box, c.plan
	seq, err := b.tree.Sync(context.Background())
	if err != nil {
		return nil, nil, err
	}
	p.seq = seq
	b.guards(p)
	now := b.look(p)
	if now == nil {
		now = &snapshot{list: p.far}
	}
	changed := differing(c.before.near, now.near)
	if len(c.before.far) != len(now.far) || c.before.list != now.list || !sameMap(c.before.far, now.far) {
		changed = append(changed, differing(c.before.far, now.far)...)
	}
	slices.Sort(changed)
	changed = slices.Compact(changed)
	news := c.newRepositories(final)
	changed = slices.DeleteFunc(p.withoutSoft(changed), func(path string) bool {
		return p.byOthers(path) || goneWith(path, p, c.before) || news(path) || harmlessWorktree(b.files, path, c.before.at(path), now.at(path)) || harmlessConfig(b.files, path, c.before.at(path), now.at(path))
	})
	return changed, now, nil
}

func sameMap(a, b map[string]seen) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// differing lists the paths at which two looks differ.
func differing(before, now map[string]seen) []string {
	var out []string
	for path, is := range now {
		if !is.unchanged(before[path]) {
			out = append(out, path)
		}
	}
	for path, was := range before {
		if _, still := now[path]; !still && was.exists {
			out = append(out, path)
		}
	}
	return out
}

// withoutSoft drops the names that only together make a repository, unless they do.
func (p *plan) withoutSoft(changed []string) []string {
	soft := map[string]bool{}
	for _, g := range p.near {
		if g.soft {
			soft[g.path] = true
		}
	}
	return slices.DeleteFunc(changed, func(path string) bool {
		return soft[path] && filepath.Base(path) != "HEAD" && !isGitDir(filepath.Dir(path))
	})
}

// movesAway says whether what is at a path now has to go: not a folder that was one before.
func movesAway(is, was seen) bool {
	return is.exists && !(was.exists && is.mode.IsDir() && was.mode.IsDir())
}
