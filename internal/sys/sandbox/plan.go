package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/sandbox/mount"
)

// plan is a config brought to the paths of this moment: links resolved, wildcards expanded, what is
// missing named.
type plan struct {
	dir      string            // the directory the work belongs to
	home     string            // the user's
	write    []string          // writable roots, links resolved
	git      []string          // those of them that are a repository shared by worktrees
	temp     []string          // those of them that are temporary or caches: nothing in them is protected
	open     []string          // protected by their names, but only looked after for this program, with all below
	always   []string          // protected whatever else is said
	denied   []guard           // what may not be written by the rules: mounted as far as there is something
	patterns []string          // the same with wildcards: what matches is denied, also what comes to match
	near     []guard           // what is protected in the writable roots by rules and by path
	far      *farGuards        // the same by name, from the index
	byRule   map[string]bool   // those of near that come from rules, also by a pattern
	restored int64             // bytes of them that the check would have to bring back
	links    map[string]string // links on the way to guards when it was made, and where they lead
	whole    map[string]bool   // guards that a mount holds with all they have in them
	mounted  []place           // the steps of making the file system
	hide     []string          // may not be read, exist
	closed   []string          // those of them that seem empty
	reopen   []string          // readable again inside hide
	held     map[string]held   // protected paths that a mount holds, and what lies there
	free     bool              // files are not confined
	seq      uint64            // the moment of the index
	paths    resolver          // while it is made
	notes    []string
}

// mostMounts bounds the mounts that protect: each costs something with every command. What is
// left over is looked after.
const mostMounts = 40

// plan works out what cfg means now.
func (b *Box) plan(ctx context.Context, cfg Config) (*plan, error) {
	if cfg.FilesFree {
		return &plan{free: true}, nil
	}
	p := &plan{paths: resolver{}}
	defer func() { p.paths = nil }() // what it knows is of this moment
	p.home, _ = os.UserHomeDir()     // none: no start file is live
	if real, err := filepath.EvalSymlinks(p.home); p.home != "" && err == nil {
		p.home = real
	}
	if err := p.roots(cfg); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(cfg.Dir); cfg.Dir != "" && err == nil {
		p.dir = real
	}
	p.alwaysProtected(cfg)
	for _, w := range cfg.Watch {
		if real, err := filepath.EvalSymlinks(w); err == nil {
			p.open = append(p.open, real)
		}
	}
	if err := b.index(ctx, p, cfg); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, d := range cfg.DenyWrite {
		if err := b.denyWrite(p, d); err != nil {
			return nil, err
		}
	}
	p.far = &farGuards{}
	if !cfg.ReadOnly {
		b.guards(p)
		p.withoutProtectedRoots()
	}
	if err := b.reading(p, cfg); err != nil {
		return nil, err
	}
	p.mounted = p.mounts()
	return p, nil
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
		real, err := p.paths.real(clean(w))
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

// alwaysProtected resolves what is protected whatever else is said.
func (p *plan) alwaysProtected(cfg Config) {
	for _, x := range cfg.Protect {
		x = clean(x)
		if real, err := p.paths.real(x); err == nil && real != x {
			p.always = append(p.always, real)
		}
		p.always = append(p.always, x)
	}
}

// withoutProtectedRoots takes out roots that lie in protected paths.
func (p *plan) withoutProtectedRoots() {
	p.write = slices.DeleteFunc(p.write, func(w string) bool {
		bad := !slices.Contains(p.temp, w) && (slices.ContainsFunc(p.always, func(a string) bool { return inside(w, a) }) ||
			slices.ContainsFunc(p.near, func(g guard) bool { return !g.soft && !p.denies(g) && inside(w, g.path) }) || p.far.closes(w))
		if bad {
			p.note("%s is protected and cannot be made writable", w)
		}
		return bad
	})
}

// denies says whether a guard comes from a rule, and not from what the place is.
func (p *plan) denies(g guard) bool {
	return slices.ContainsFunc(p.denied, func(d guard) bool { return d.path == g.path })
}

// guardable says whether a path can be written, so that protecting it means something.
func (p *plan) guardable(path string) bool {
	return slices.ContainsFunc(p.write, func(w string) bool {
		return within(path, w) && !slices.Contains(p.temp, w)
	})
}

// inside is [within], but for work that was put into a protected folder on purpose: worktrees.
func inside(path, protected string) bool {
	return within(path, protected) && !strings.HasPrefix(path, protected+"/worktrees/")
}

// holdsRoot reports whether a missing guard would have to be made above a writable root.
func (p *plan) holdsRoot(g guard) bool {
	return slices.ContainsFunc(p.write, func(w string) bool { return within(w, g.path) }) && !exists(g.path)
}

// writable reports whether a path lies in a writable root.
func (p *plan) writable(path string) bool {
	return slices.ContainsFunc(p.write, func(w string) bool { return within(path, w) })
}

// denyWrite cuts what a rule names out of the writable roots: what is there is mounted, what is not there
// yet, or a link, is looked after.
func (b *Box) denyWrite(p *plan, rule string) error {
	path := clean(rule)
	if hasWildcard(path) && !exists(path) {
		if _, err := b.matches(p, rule); err != nil {
			return fmt.Errorf("%w: write rule %s: %w", ErrUnavailable, rule, err)
		}
		p.patterns = append(p.patterns, rule)
		return nil
	}
	p.denied = append(p.denied, guard{path: path})
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		p.denied = append(p.denied, guard{path: real})
	}
	return nil
}

func hasWildcard(path string) bool { return strings.ContainsAny(path, "*?[{") }

// reading works out what may not be read. A wildcard stands for what matches now.
func (b *Box) reading(p *plan, cfg Config) error {
	for _, d := range cfg.DenyRead {
		matches := []string{clean(d)}
		if hasWildcard(d) && !exists(clean(d)) {
			var err error
			if matches, err = b.matches(p, d); err != nil {
				return fmt.Errorf("%w: read rule %s: %w", ErrUnavailable, d, err)
			}
		}
		for _, m := range matches {
			real, err := p.paths.real(m)
			switch {
			case errors.Is(err, os.ErrNotExist): // nothing to hide
			case err != nil:
				return fmt.Errorf("%w: read rule %s: %w", ErrUnavailable, d, err)
			case real == "/":
				return fmt.Errorf("%w: reading / cannot be forbidden", ErrUnavailable)
			default:
				p.hide = append(p.hide, real)
			}
		}
	}
	for _, s := range cfg.Closed {
		real, err := p.paths.real(clean(s))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil || real == "/":
			return fmt.Errorf("%w: %s cannot be closed: %w", ErrUnavailable, s, cmp.Or(err, errRoot))
		case !slices.Contains(p.hide, real):
			p.hide, p.closed = append(p.hide, real), append(p.closed, real)
		}
	}
	for _, a := range cfg.AllowRead {
		real, err := p.paths.real(clean(a))
		if err == nil && !slices.Contains(p.hide, real) && slices.ContainsFunc(p.hide, func(h string) bool { return within(real, h) }) {
			p.reopen = append(p.reopen, real)
		}
	}
	slices.Sort(p.hide)
	p.hide = slices.Compact(p.hide)
	return nil
}

var errRoot = errors.New("it is the root folder")

// between lists the directories between a writable root and a protected path: as mount points they
// cannot be renamed.
func (p *plan) between(path string) []string {
	var out []string
	for dir := filepath.Dir(path); p.writable(dir) && !slices.Contains(p.write, dir); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	return out
}

// place is a path of the program's file system at which something is mounted.
type place struct {
	kind mount.Kind
	path string
}

// mounts lists the steps, parents before what lies in them. Guards that a mount holds need not be looked
// into afterwards.
func (p *plan) mounts() []place {
	at := map[string]mount.Kind{}
	put := func(kind mount.Kind, path string) {
		if old, ok := at[path]; !ok || kind > old {
			at[path] = kind
		}
	}
	for _, w := range p.write {
		put(p.bindKind(w), w)
	}
	p.protect(at)
	above := map[string]bool{} // folders that were looked at
	for _, h := range p.hide {
		kind := mount.HiddenFile
		if isDir(h) {
			kind = mount.HiddenDir
		}
		put(kind, h)
		if above[filepath.Dir(h)] {
			continue
		}
		above[filepath.Dir(h)] = true
		for _, dir := range p.between(h) { // else it is renamed, and the rule does not know what lies in it any more
			put(p.bindKind(dir), dir)
		}
	}
	for _, r := range p.reopen {
		kind := mount.ReadOnly
		if p.writable(r) {
			kind = p.bindKind(r)
		}
		put(kind, r)
	}
	hidden := make(map[string]bool, len(p.hide))
	for _, h := range p.hide {
		hidden[h] = true
	}
	out := make([]place, 0, len(at))
	for path, kind := range at {
		if !p.covered(path, hidden) {
			out = append(out, place{kind, path})
		}
	}
	slices.SortFunc(out, func(a, b place) int {
		return cmp.Or(strings.Count(a.path, "/")-strings.Count(b.path, "/"), strings.Compare(a.path, b.path))
	})
	return out
}

// protect mounts guards, the most important first, as far as mostMounts goes.
func (p *plan) protect(at map[string]mount.Kind) {
	left := mostMounts
	p.whole = map[string]bool{}
	named := len(p.near) + p.far.first
	for i, g := range p.inOrder() {
		if left <= 0 && i >= named {
			break // the rest comes from its names alone, and from no rule
		}
		if left <= 0 && !p.mustMount(g) {
			continue
		}
		if g.soft || g.only || g.watch || !p.guardable(g.path) {
			continue
		}
		path, st := g.path, os.FileInfo(nil)
		var err error
		if st, err = os.Lstat(path); err != nil {
			continue
		}
		link := st.Mode()&os.ModeSymlink != 0
		if link { // the link itself no mount can hold; what it leads to can
			if path, err = filepath.EvalSymlinks(path); err != nil || !p.guardable(path) || slices.Contains(p.write, path) {
				continue
			}
		}
		steps := map[string]mount.Kind{path: mount.ReadOnly}
		for _, dir := range p.between(path) {
			steps[dir] = p.bindKind(dir)
		}
		for step, kind := range steps {
			if old, there := at[step]; !there {
				left--
			} else if old >= kind {
				continue
			}
			at[step] = kind
		}
		p.whole[g.path] = !link
	}
}

// mustMount says of what a rule forbids that the check afterwards could not bring it back.
func (p *plan) mustMount(g guard) bool {
	if !p.byRule[g.path] {
		return false
	}
	st, err := os.Lstat(g.path)
	if err != nil || st.IsDir() {
		return err == nil
	}
	p.restored += st.Size()
	return st.Size() > keepFile || p.restored > keepAll/2
}

// bindKind is how a path inside a writable root is bound: what was cut out of it stays so below, but
// for the temporary folders.
func (p *plan) bindKind(path string) mount.Kind {
	cut := slices.ContainsFunc(p.denied, func(d guard) bool { return within(path, d.path) })
	if cut && !slices.ContainsFunc(p.temp, func(t string) bool { return within(path, t) }) {
		return mount.ReadOnly
	}
	return mount.Writable
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
	for _, m := range p.mounted {
		if m.kind != mount.ReadOnly {
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

// ways lists what of a hidden folder can be reached all the same.
func (p *plan) ways(m place) []string {
	if m.kind != mount.HiddenDir {
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

// covered reports whether a mount would lie in a hidden folder, where there is nothing to bind to. hidden are
// the hidden paths.
func (p *plan) covered(path string, hidden map[string]bool) bool {
	for h := filepath.Dir(path); len(h) > 1; h = filepath.Dir(h) {
		if !hidden[h] || slices.Contains(p.write, path) {
			continue
		}
		if !slices.ContainsFunc(p.reopen, func(r string) bool { return within(path, r) && within(r, h) }) {
			return true
		}
	}
	return false
}
