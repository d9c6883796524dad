package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

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

// snapshot is what the protected paths of a plan were before a program, by path. Entries of
// protected folders are in it, too.
type snapshot map[string]seen

// look records the protected paths.
func (b *Box) look(p *plan) snapshot {
	if p.free || len(p.guards) == 0 {
		return nil
	}
	s := snapshot{}
	for _, g := range p.guards {
		b.lookAt(s, g.path, g.flat)
	}
	return s
}

// lookAt records a path and, unless flat, what it holds.
func (b *Box) lookAt(s snapshot, path string, flat bool) {
	st, err := os.Lstat(path)
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
		if err != nil || sub == path {
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
		c.read(path, &s)
	}
	return s
}

func (c *contentCache) read(path string, s *seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.files[path]; ok && have.sameFile(*s) {
		s.hash, s.hashed = have.hash, true
		return
	}
	data, err := nolink.ReadFile(path, keepFile)
	if err != nil {
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

// check compares the protected paths with what they were. Whatever was put there or changed is moved
// to the quarantine, what was there before is restored where it is known, and both are told. What a
// mount has held all the time can only have been changed from outside, by the user or by this
// program, and is left alone.
func (c *Command) check() (found []Violation, notes []string) {
	c.looking.Lock()
	defer c.looking.Unlock()
	if c.before == nil {
		return nil, nil
	}
	b, p, before := c.box, c.plan, c.before
	now := b.look(p)
	var changed []string
	for path := range now {
		if !now[path].unchanged(before[path]) {
			changed = append(changed, path)
		}
	}
	for path, was := range before {
		if _, still := now[path]; !still && was.exists {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	changed = slices.DeleteFunc(p.withoutSoft(changed), func(path string) bool {
		return p.byOthers(path) || harmlessConfig(b.files, path, before[path], now[path])
	})
	var moved []string
	for _, path := range changed {
		if slices.ContainsFunc(moved, func(m string) bool { return path != m && within(path, m) && !before[path].exists }) {
			continue // went with its folder
		}
		v, err := b.putAside(path, now[path], before[path], c.cfg.Quarantine)
		if err != nil {
			notes = append(notes, err.Error())
		}
		moved = append(moved, path)
		found = append(found, v)
	}
	return found, notes
}

// Accept says that this program itself has just written these paths, so that the integrity check of
// the commands that run takes them as they now are. Paths that are not protected are ignored.
func (b *Box) Accept(paths ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.live {
		for _, path := range paths {
			c.accept(clean(path))
		}
	}
}

// accept takes a path, and what lies below it, as it is. Caller holds the box's mu.
func (c *Command) accept(path string) {
	c.looking.Lock()
	defer c.looking.Unlock()
	for _, g := range c.plan.guards {
		if within(path, g.path) {
			c.box.lookAt(c.before, path, g.flat)
			for dir := filepath.Dir(path); within(dir, g.path); dir = filepath.Dir(dir) {
				if st, err := os.Lstat(dir); err == nil {
					c.before[dir] = c.box.files.see(dir, st)
				}
			}
		}
	}
}

// withoutSoft drops the names that only together make a repository, unless they do.
func (p *plan) withoutSoft(changed []string) []string {
	soft := map[string]bool{}
	for _, g := range p.guards {
		if g.soft {
			soft[g.path] = true
		}
	}
	return slices.DeleteFunc(changed, func(path string) bool {
		return soft[path] && filepath.Base(path) != "HEAD" && !isGitDir(filepath.Dir(path))
	})
}

// putAside moves what is at path to the quarantine and restores what was there.
func (b *Box) putAside(path string, is, was seen, quarantine string) (Violation, error) {
	v := Violation{Path: path, Operation: "write", Certain: true}
	switch {
	case !is.exists:
		v.Detail = "it was removed"
	case !was.exists:
		v.Detail = "it was created"
	default:
		v.Detail = "it was changed"
	}
	if is.exists && !(is.mode.IsDir() && was.mode.IsDir()) {
		to, err := quarantinePath(quarantine, path)
		if err == nil {
			err = move(path, to)
		}
		if err != nil {
			return v, fmt.Errorf("put %s aside: %w", path, err)
		}
		v.Detail += " and is now " + to
	}
	if !was.exists {
		return v, nil
	}
	restored, err := b.restore(path, was)
	if err != nil {
		return v, fmt.Errorf("restore %s: %w", path, err)
	}
	if restored {
		v.Detail += "; what was there before is restored"
	} else {
		v.Detail += "; what was there before is not known and not restored"
	}
	return v, nil
}

func quarantinePath(dir, path string) (string, error) {
	if dir == "" {
		return "", errors.New("there is no quarantine folder")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := strings.Trim(strings.ReplaceAll(path, "/", "_"), "_")
	return filepath.Join(dir, uuid.NewString()[:8]+"-"+name[max(0, len(name)-100):]), nil
}

// move renames, or copies where the quarantine is on another file system. Nothing in it is followed
// or run.
func move(from, to string) error {
	err := os.Rename(from, to)
	if err == nil {
		return nil
	}
	st, serr := os.Lstat(from)
	if serr != nil {
		return err
	}
	switch {
	case st.IsDir():
		err = os.CopyFS(to, os.DirFS(from))
	case st.Mode().IsRegular():
		err = copyFile(from, to)
	default:
		err = nil // a link or a special file has nothing to keep
	}
	return errors.Join(err, os.RemoveAll(from))
}

// maxCopied is how much is copied of a file that is put aside, in bytes.
const maxCopied = 256 << 20

func copyFile(from, to string) error {
	in, err := nolink.Regular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := nolink.NewFile(to, 0)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxCopied))
	if info, look := in.Stat(); look == nil && err == nil && n < info.Size() {
		err = fmt.Errorf("only the first %d bytes of %s are kept", n, from)
	}
	return errors.Join(err, out.Close())
}

// restore makes path what it was; false: its content is not known.
func (b *Box) restore(path string, was seen) (bool, error) {
	switch {
	case was.mode&fs.ModeSymlink != 0:
		return true, os.Symlink(was.link, path)
	case was.mode.IsDir():
		if err := os.Mkdir(path, was.mode.Perm()); err != nil && !errors.Is(err, os.ErrExist) {
			return false, err
		}
		return true, os.Chmod(path, was.mode.Perm())
	}
	data, ok := b.files.content(was)
	if !ok {
		return false, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, was.mode.Perm())
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	return true, errors.Join(err, f.Chmod(was.mode.Perm()), f.Close())
}
