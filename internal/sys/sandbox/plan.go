package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// plan is a config brought to the paths of this moment: links resolved, wildcards expanded, what is
// missing named.
type plan struct {
	write  []string        // writable roots, links resolved
	git    []string        // those of them that are a repository shared by worktrees
	temp   []string        // those of them that are temporary or caches: nothing in them is protected
	guards []guard         // protected paths inside them
	ro     []string        // read-only inside a writable root
	hide   []string        // may not be read, exist
	reopen []string        // readable again inside hide
	held   map[string]held // protected paths that a mount holds, and what lies there
	free   bool            // files are not confined
	notes  []string
}

// plan works out what cfg means now.
func (b *Box) plan(cfg Config) (*plan, error) {
	if cfg.FilesFree {
		return &plan{free: true}, nil
	}
	p := &plan{}
	if err := p.roots(cfg); err != nil {
		return nil, err
	}
	if !cfg.ReadOnly {
		p.protect(cfg)
	}
	for _, d := range cfg.DenyWrite {
		if strings.ContainsAny(clean(d), "*?[") && !exists(clean(d)) {
			p.note("write rule %s has a wildcard and is left out: the sandbox binds folders", d)
			continue
		}
		p.denyWrite(clean(d))
	}
	return p, b.reading(p, cfg)
}

func (p *plan) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// clean brings a path of a list into one form.
func clean(path string) string {
	return filepath.Clean(strings.TrimSuffix(path, "/**"))
}

// roots resolves the writable roots.
func (p *plan) roots(cfg Config) error {
	list := []string{}
	if cfg.Temp != "" {
		list = append(list, cfg.Temp)
	}
	if !cfg.ReadOnly {
		list = append(list, cfg.Write...)
		if cfg.Cache != "" {
			list = append(list, cfg.Cache)
		}
	}
	for _, w := range list {
		if strings.ContainsAny(strings.TrimSuffix(w, "/**"), "*?[") && !exists(w) {
			p.note("write rule %s has a wildcard and is left out: the sandbox binds folders", w)
			continue
		}
		if !filepath.IsAbs(w) {
			return fmt.Errorf("sandbox: writable path %q is not absolute", w)
		}
		real, err := filepath.EvalSymlinks(clean(w))
		if errors.Is(err, os.ErrNotExist) {
			p.note("%s does not exist and cannot be made writable", w)
			continue
		}
		if err != nil {
			return fmt.Errorf("sandbox: writable path %s: %w", w, err)
		}
		if forbidden(real) {
			return fmt.Errorf("sandbox: %s can never be writable", real)
		}
		p.write = append(p.write, real)
		if w == cfg.Temp || w == cfg.Cache {
			p.temp = append(p.temp, real)
		}
		if shared := sharedGit(real); shared != "" {
			p.write, p.git = append(p.write, shared), append(p.git, shared)
		}
	}
	slices.Sort(p.write)
	p.write = slices.Compact(p.write)
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// forbidden are trees of the kernel.
func forbidden(path string) bool {
	return within(path, "/proc") || within(path, "/sys") || within(path, "/dev")
}

// protect adds the protected paths that lie in the writable roots, and takes out roots that lie in
// protected paths.
func (p *plan) protect(cfg Config) {
	home, _ := os.UserHomeDir() // none: no start file is live
	always := make([]string, 0, len(cfg.Protect))
	for _, x := range cfg.Protect {
		x = clean(x)
		if real, err := filepath.EvalSymlinks(x); err == nil && real != x {
			always = append(always, real)
		}
		always = append(always, x)
	}
	temp := map[string]bool{}
	for _, t := range p.temp {
		temp[t] = true
	}
	var all []guard
	for _, w := range p.write {
		if !temp[w] && !slices.Contains(p.git, w) { // the guards of a shared repository are those of its worktree
			all = append(all, guards(w, home)...)
		}
	}
	if dir, err := filepath.EvalSymlinks(cfg.Dir); cfg.Dir != "" && err == nil {
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if p.writable(dir) && !slices.Contains(p.write, dir) {
				all = append(all, projectGuards(dir)...)
			}
		}
	}
	p.write = slices.DeleteFunc(p.write, func(w string) bool {
		bad := !temp[w] && (slices.ContainsFunc(always, func(a string) bool { return inside(w, a) }) ||
			slices.ContainsFunc(all, func(g guard) bool { return !g.soft && inside(w, g.path) }))
		if bad {
			p.note("%s is protected and cannot be made writable", w)
		}
		return bad
	})
	for _, a := range always {
		all = append(all, guard{path: a, flat: true})
	}
	seen := map[string]bool{}
	for _, g := range all {
		if !seen[g.path] && p.writable(g.path) && !temp[g.path] && !p.holdsRoot(g, temp) {
			seen[g.path] = true
			p.guards = append(p.guards, g)
		}
	}
}

// inside is [within], but for work that was put into a protected folder on purpose: worktrees.
func inside(path, protected string) bool {
	return within(path, protected) && !strings.HasPrefix(path, protected+"/worktrees/")
}

// holdsRoot reports whether a missing guard would have to be stubbed over a writable root.
func (p *plan) holdsRoot(g guard, temp map[string]bool) bool {
	return !exists(g.path) && slices.ContainsFunc(p.write, func(w string) bool { return within(w, g.path) })
}

// writable reports whether a path lies in a writable root.
func (p *plan) writable(path string) bool {
	return slices.ContainsFunc(p.write, func(w string) bool { return within(path, w) })
}

// denyWrite cuts a path out of the writable roots.
func (p *plan) denyWrite(path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if real != path && p.writable(path) { // the link itself must not be swapped either
			p.guards = append(p.guards, guard{path: path})
		}
		path = real
	}
	if !p.writable(path) {
		return
	}
	if !exists(path) {
		p.guards = append(p.guards, guard{path: path})
		return
	}
	p.ro = append(p.ro, path)
}

// reading works out what may not be read. A wildcard stands for what matches now.
func (b *Box) reading(p *plan, cfg Config) error {
	for _, d := range cfg.DenyRead {
		matches := []string{clean(d)}
		if strings.ContainsAny(d, "*?[{") && !exists(clean(d)) {
			var err error
			if matches, err = b.globs.expand(d); err != nil {
				return fmt.Errorf("%w: read rule %s: %w", ErrUnavailable, d, err)
			}
		}
		for _, m := range matches {
			real, err := filepath.EvalSymlinks(m)
			switch {
			case errors.Is(err, os.ErrNotExist):
				p.note("%s does not exist, so that there is nothing to hide", m)
			case err != nil:
				return fmt.Errorf("%w: read rule %s: %w", ErrUnavailable, d, err)
			case real == "/":
				return fmt.Errorf("%w: reading / cannot be forbidden", ErrUnavailable)
			default:
				p.hide = append(p.hide, real)
			}
		}
	}
	for _, a := range cfg.AllowRead {
		real, err := filepath.EvalSymlinks(clean(a))
		if err == nil && !slices.Contains(p.hide, real) && slices.ContainsFunc(p.hide, func(h string) bool { return within(real, h) }) {
			p.reopen = append(p.reopen, real)
		}
	}
	slices.Sort(p.hide)
	p.hide = slices.Compact(p.hide)
	return nil
}

// between lists the directories between a writable root and a protected path: as mount points they
// cannot be renamed.
func (p *plan) between(path string) []string {
	var out []string
	for dir := filepath.Dir(path); p.writable(dir) && !slices.Contains(p.write, dir); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	return out
}

// mount is one step of making the file system of the program.
type mount struct {
	kind mountKind
	path string
}

type mountKind int

// The kinds, in order of what wins at the same path.
const (
	bindRW   mountKind = iota // writable
	bindRO                    // as it is, read-only
	hideDir                   // a folder in which names are seen and nothing can be opened
	hideFile                  // a file that cannot be opened
	memory                    // an empty folder in memory
)

// mounts lists the steps, parents before what lies in them.
func (p *plan) mounts() []mount {
	at := map[string]mountKind{}
	put := func(kind mountKind, path string) {
		if old, ok := at[path]; !ok || kind > old {
			at[path] = kind
		}
	}
	for _, w := range p.write {
		put(p.bindKind(w), w)
	}
	guarded := func(path string) {
		for _, dir := range p.between(path) {
			put(p.bindKind(dir), dir)
		}
	}
	for _, path := range p.ro {
		guarded(path)
		put(bindRO, path)
	}
	for _, g := range p.guards {
		switch st, err := os.Lstat(g.path); {
		case g.soft, g.only, err != nil:
		case st.Mode()&os.ModeSymlink != 0:
			p.linkTarget(g.path, put, guarded)
		default:
			guarded(g.path)
			put(bindRO, g.path)
		}
	}
	for _, h := range p.hide {
		kind := hideFile
		if isDir(h) {
			kind = hideDir
		}
		put(kind, h)
	}
	for _, r := range p.reopen {
		kind := bindRO
		if p.writable(r) {
			kind = p.bindKind(r)
		}
		put(kind, r)
	}
	out := make([]mount, 0, len(at))
	for path, kind := range at {
		if !p.covered(path, kind) {
			out = append(out, mount{kind, path})
		}
	}
	slices.SortFunc(out, func(a, b mount) int {
		return cmp.Or(strings.Count(a.path, "/")-strings.Count(b.path, "/"), strings.Compare(a.path, b.path))
	})
	return out
}

// bindKind is how a path inside a writable root is bound: what was cut out of it stays so below, but
// for the temporary folders.
func (p *plan) bindKind(path string) mountKind {
	cut := slices.ContainsFunc(p.ro, func(r string) bool { return within(path, r) })
	if cut && !slices.ContainsFunc(p.temp, func(t string) bool { return within(path, t) }) {
		return bindRO
	}
	return bindRW
}

// linkTarget protects what a link at a protected place leads to. The link itself no mount can hold;
// the integrity check does.
func (p *plan) linkTarget(path string, put func(mountKind, string), guarded func(string)) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || !p.writable(target) || slices.Contains(p.write, target) {
		return
	}
	guarded(target)
	put(bindRO, target)
}

// held is what lies at a path on which a mount was made. It is kept open, so that its number is not
// given to another file meanwhile.
type held struct {
	ino   uint64
	close func()
}

// hold remembers what the mounts of the protected paths were made on.
func (p *plan) hold() {
	p.held = map[string]held{}
	for _, m := range p.mounts() {
		if m.kind != bindRO {
			continue
		}
		if h, err := openHeld(m.path); err == nil {
			p.held[m.path] = h
		}
	}
}

// letGo ends hold.
func (p *plan) letGo() {
	for _, h := range p.held {
		h.close()
	}
	p.held = nil
}

// byOthers reports that a change at path was made from outside of the sandbox: a mount that was in
// place all the time lies at it or above it.
func (p *plan) byOthers(path string) bool {
	for at, h := range p.held {
		if within(path, at) {
			if st, err := os.Lstat(at); err == nil && inode(st) == h.ino {
				return true
			}
		}
	}
	return false
}

// open lists what of a hidden folder can be reached all the same.
func (p *plan) open(m mount) []string {
	if m.kind != hideDir {
		return nil
	}
	var out []string
	for _, path := range append(slices.Clone(p.reopen), p.write...) {
		if path != m.path && within(path, m.path) {
			out = append(out, path)
		}
	}
	return out
}

// covered reports whether a mount would lie in a hidden folder, where there is nothing to bind to.
func (p *plan) covered(path string, kind mountKind) bool {
	for _, h := range p.hide {
		if path == h || !within(path, h) {
			continue
		}
		open := slices.ContainsFunc(p.reopen, func(r string) bool { return within(path, r) && within(r, h) })
		if !open && !slices.Contains(p.write, path) {
			return true
		}
	}
	return false
}

// globCache keeps what wildcards stood for, for a moment.
type globCache struct {
	mu sync.Mutex // guards m
	m  map[string]globEntry
}

type globEntry struct {
	at    time.Time
	found []string
}

const (
	globAge = 5 * time.Second
	globMax = 2_000_000 // entries looked at for one pattern
)

var errBroad = errors.New("the wildcard has to look at too many files; name a narrower folder")

// expand returns what a pattern matches now.
func (c *globCache) expand(pattern string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.m[pattern]; ok && time.Since(e.at) < globAge {
		return e.found, nil
	}
	base, rest := doublestar.SplitPattern(filepath.ToSlash(strings.TrimSuffix(pattern, "/**")))
	if !doublestar.ValidatePattern(rest) {
		return nil, errors.New("the pattern cannot be read")
	}
	found, err := match(base, rest)
	if err != nil {
		return nil, err
	}
	if c.m == nil {
		c.m = map[string]globEntry{}
	}
	c.m[pattern] = globEntry{time.Now(), found}
	return found, nil
}

// match walks base for what matches; a matched directory stands for its contents.
func match(base, pattern string) ([]string, error) {
	deep := strings.Contains(pattern, "**")
	levels := strings.Count(pattern, "/")
	var found []string
	looked := 0
	err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
		if looked++; looked > globMax {
			return errBroad
		}
		if err != nil || path == base {
			return nil // what cannot be listed by us cannot be by the program
		}
		rel, _ := filepath.Rel(base, path)
		if ok, _ := doublestar.Match(pattern, filepath.ToSlash(rel)); ok {
			found = append(found, path)
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() && (!deep && strings.Count(rel, "/") >= levels || d.Name() == "objects" && filepath.Base(filepath.Dir(path)) == ".git") {
			return filepath.SkipDir
		}
		return nil
	})
	return found, err
}
