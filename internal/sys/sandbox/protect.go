package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// guard is one protected path.
type guard struct {
	path  string
	watch bool // it can be written, and what changed may be kept
	soft  bool // an ordinary project may hold it: not mounted, and put aside only together with its likes
	flat  bool // what lies in it may be changed by this very program, or is held by a mount: only what it is counts
	only  bool // looked after, but not mounted: a mount above holds it, or this program must be able to make it
}

// projectNames are what of a folder .myelin makes programs like this one run or load something.
var projectNames = []string{
	"settings.json", "settings.local.json", "skills", "agents", "commands", "hooks", "workflows",
	"rules", "output-styles", "scheduled_tasks.json",
}

// bareNames are what makes a directory a repository by itself.
var bareNames = []string{"HEAD", "objects", "refs", "config", "hooks"}

// bareRoots bounds the writable roots in which each of these names is looked for.
const bareRoots = 10

// marks says which names the index remembers: protected ones, and what shows a repository.
func (b *Box) marks(path string, dir bool) bool {
	name := filepath.Base(path)
	return name == ".git" || name == ".claude" || name == "HEAD" && !protected.IsGitFolder(filepath.Dir(path)) || protected.Of(path, dir, b.isRoot(filepath.Dir(path))) != protected.None
}

// farGuards are those that come from the index. They are not changed once made, and shared by programs
// until something changes.
type farGuards struct {
	key    string // what they depend on beside the index
	seq    uint64 // of the index
	first  int    // so many of list come before all other guards
	list   []guard
	byPath map[string]int
}

// closes says whether a root lies in a place that is protected by its name.
func (f *farGuards) closes(root string) bool {
	return f.over(root, func(g guard) bool { return !g.soft && !g.watch && inside(root, g.path) }) != nil
}

// over finds the guard at a path or above it.
func (f *farGuards) over(path string, ok func(guard) bool) *guard {
	for ; len(path) > 1; path = filepath.Dir(path) {
		if i, found := f.byPath[path]; found && ok(f.list[i]) {
			return &f.list[i]
		}
	}
	return nil
}

// guards works out what is protected now in the writable roots.
func (b *Box) guards(p *plan) {
	near := slices.Clone(p.denied)
	for _, pattern := range p.patterns {
		found, _ := b.matches(p, pattern) // was found readable when it was planned
		for _, path := range found {
			near = append(near, guard{path: path})
		}
	}
	p.byRule = make(map[string]bool, len(near))
	for _, g := range near {
		p.byRule[g.path] = true
	}
	near = p.pastLinks(append(near, b.fixedGuards(p)...))
	seen := make(map[string]bool, len(near))
	p.near = slices.DeleteFunc(near, func(g guard) bool {
		drop := seen[g.path] || !p.guardable(g.path) || p.holdsRoot(g)
		seen[g.path] = true
		return drop
	})
	p.far = b.farGuards(p)
}

// pastLinks replaces guards whose path leads through a link by one of the link and one of the place itself:
// what is protected elsewhere stays so, and nothing is moved or written through a link that a program made.
// Links that are there when the plan is made are taken for the user's.
func (p *plan) pastLinks(list []guard) []guard {
	first := p.links == nil
	if first {
		p.links = map[string]string{}
	}
	ways := map[string]string{} // by folder: the first link on the way to it
	out := make([]guard, 0, len(list))
	for _, g := range list {
		at := p.linkTo(filepath.Dir(g.path), ways)
		if at == "" {
			out = append(out, g)
			continue
		}
		out = append(out, guard{path: at, flat: true, only: true})
		to, _ := os.Readlink(at) // exchanged meanwhile: no target, which differs from one
		if first {
			p.links[at] = to
		}
		if known, ok := p.links[at]; !ok || known != to {
			continue
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(g.path)); err == nil {
			g.path = filepath.Join(dir, filepath.Base(g.path))
			out = append(out, g)
		}
	}
	for at := range p.links { // also those that are gone
		out = append(out, guard{path: at, flat: true, only: true})
	}
	return out
}

// linkTo finds the first link on the way from a writable root to a folder in it; empty: there is none.
func (p *plan) linkTo(dir string, ways map[string]string) string {
	if !p.writable(dir) || slices.Contains(p.write, dir) {
		return ""
	}
	if at, ok := ways[dir]; ok {
		return at
	}
	at := p.linkTo(filepath.Dir(dir), ways)
	if at == "" {
		if st, err := os.Lstat(dir); err == nil && st.Mode()&os.ModeSymlink != 0 {
			at = dir
		}
	}
	ways[dir] = at
	return at
}

// farGuards are the guards of the names in the index: those of before if nothing has changed.
func (b *Box) farGuards(p *plan) *farGuards {
	key := strings.Join(slices.Concat(p.write, []string{"", p.dir, ""}, p.temp, []string{""}, p.open), "\x00")
	b.mu.Lock()
	last := b.far
	b.mu.Unlock()
	if last != nil && last.key == key {
		if changed, known := b.tree.Changed(last.seq); known && len(changed) == 0 {
			return last
		}
	}
	out := &farGuards{key: key, seq: p.seq, byPath: map[string]int{}}
	marked := b.tree.Marked()
	type ranked struct {
		path string
		rank int
	}
	paths := make([]ranked, 0, len(marked))
	for path := range marked {
		if p.guardable(path) {
			paths = append(paths, ranked{path, p.rank(path)})
		}
	}
	slices.SortFunc(paths, func(x, y ranked) int { return cmp.Or(x.rank-y.rank, strings.Compare(x.path, y.path)) })
	for _, r := range paths {
		for _, g := range b.guardsAt(p, r.path, marked[r.path]) {
			if _, had := out.byPath[g.path]; !had && p.guardable(g.path) && !p.holdsRoot(g) {
				g = opened(g, p.open)
				out.byPath[g.path] = len(out.list)
				out.list = append(out.list, g)
			}
		}
	}
	for out.first < len(out.list) && p.rank(out.list[out.first].path) == 0 {
		out.first++
	}
	b.mu.Lock()
	b.far = out
	b.mu.Unlock()
	return out
}

// opened is a guard as it is for a program that may write there: hooks are watched, all else is looked after
// and not mounted.
func opened(g guard, open []string) guard {
	if slices.ContainsFunc(open, func(dir string) bool { return within(g.path, dir) }) {
		hooks := slices.Contains(open, g.path) && filepath.Base(g.path) == "hooks"
		g.watch, g.only = g.watch || hooks, !hooks
	}
	return g
}

// inOrder lists all guards, the most important first: what the rules forbid, the working directory and
// its repository, home, other roots, nested repositories.
func (p *plan) inOrder() []guard {
	denied, first := min(len(p.denied), len(p.near)), p.far.first
	return slices.Concat(p.near[:denied], p.far.list[:first], p.near[denied:], p.far.list[first:])
}

// fixedGuards are those that do not come from the index: places by their path, there or not.
func (b *Box) fixedGuards(p *plan) []guard {
	var out []guard
	if p.home != "" && p.guardable(p.home) {
		for _, n := range protected.InHome() {
			out = append(out, guard{path: filepath.Join(p.home, n)})
		}
	}
	for _, a := range p.always {
		out = append(out, guard{path: a, flat: true})
	}
	for i, w := range p.write {
		if i < bareRoots && p.guardable(w) && !slices.Contains(p.git, w) {
			out = append(out, bareGuards(w)...)
		}
	}
	return out
}

// guardsAt are those because of one remembered name.
func (b *Box) guardsAt(p *plan, path string, dir bool) []guard {
	parent := filepath.Dir(path)
	switch filepath.Base(path) {
	case ".git":
		if !dir {
			return append(linkGuards(path), guard{path: path})
		}
		return append(b.targetGuards(p, path), guard{path: path, flat: true, only: true})
	case ".claude":
		return []guard{{path: path, flat: dir, only: dir}}
	case "HEAD":
		if slices.Contains(p.write, parent) || !isGitDir(parent) {
			return nil
		}
		return []guard{{path: filepath.Join(parent, "hooks")}, {path: filepath.Join(parent, "config")}}
	case ".myelin":
		out := []guard{{path: path, flat: true}}
		for _, n := range projectNames {
			if dir {
				out = append(out, guard{path: filepath.Join(path, n), only: true})
			}
		}
		return out
	case "config.worktree", "commondir", "attributes":
		if protected.InGit(path) { // each mount costs time, and these lead nowhere without the config, which is held
			return []guard{{path: path, only: true}}
		}
	}
	switch protected.Of(path, dir, b.isRoot(parent)) {
	case protected.Watch:
		return []guard{{path: path, watch: true}}
	case protected.Mount:
		return []guard{{path: path}}
	}
	return nil
}

// targetGuards are the paths in writable roots to which a repository's configuration leads git. What
// was read is kept until the file changes.
func (b *Box) targetGuards(p *plan, dotGit string) []guard {
	var out []guard
	for _, file := range []string{
		filepath.Join(dotGit, "config"), filepath.Join(dotGit, "config.worktree"),
		filepath.Join(p.home, ".gitconfig"), filepath.Join(p.home, ".config", "git", "config"), "/etc/gitconfig", // relative paths in these lead into each repository
	} {
		st, err := os.Lstat(file)
		if err != nil {
			continue
		}
		is := seen{exists: true, mode: st.Mode(), ino: inode(st), size: st.Size(), mtime: st.ModTime(), ctime: changeTime(st)}
		key := dotGit + "\x00" + file
		b.mu.Lock()
		known, ok := b.targets[key]
		b.mu.Unlock()
		if !ok || !known.file.sameFile(is) {
			known = gitTargets{is, gitrepo.Targets(file, filepath.Dir(dotGit), p.home)}
			b.mu.Lock()
			b.targets[key] = known
			b.mu.Unlock()
		}
		for _, to := range known.paths {
			if !within(dotGit, to) { // above the repository: what it leads to is not to be closed with it
				out = append(out, guard{path: to})
			}
		}
	}
	return out
}

// gitTargets is what was read of a repository's configuration.
type gitTargets struct {
	file  seen
	paths []string
}

// rank orders what is protected by how much depends on it.
func (p *plan) rank(path string) int {
	dir := filepath.Dir(path)
	switch {
	case dir == p.dir, within(path, filepath.Join(p.dir, ".git")), filepath.Dir(dir) == p.dir:
		return 0
	case within(p.dir, dir):
		return 1
	case slices.Contains(p.write, dir):
		return 2
	}
	return 3
}

// bareGuards protect a root from becoming a repository, or the repository that it is.
func bareGuards(root string) []guard {
	bare := isGitDir(root)
	var out []guard
	for _, n := range bareNames {
		out = append(out, guard{path: filepath.Join(root, n), soft: !bare, flat: true})
	}
	return out
}

// isGitDir reports whether git would take a directory for a repository.
func isGitDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func gitDirGuards(dir string) []guard {
	return []guard{
		{path: filepath.Join(dir, "hooks")},
		{path: filepath.Join(dir, "config")},
		// Each mount costs time, and these lead nowhere without the config, which is held: looked after.
		{path: filepath.Join(dir, "config.worktree")},
		{path: filepath.Join(dir, "info", "attributes"), only: true},
		{path: filepath.Join(dir, "commondir")}, // an empty one would break git
	}
}

// linkGuards are for a .git that is a file: a linked worktree, or a submodule.
func linkGuards(dotGit string) []guard {
	dir, common, ok := linked(dotGit)
	if !ok {
		return nil
	}
	out := []guard{
		{path: filepath.Join(dir, "config.worktree")},
		{path: filepath.Join(dir, "commondir")},
		{path: filepath.Join(dir, "gitdir")},
	}
	if common != dir {
		return append(out, gitDirGuards(common)...)
	}
	return append(out, gitDirGuards(dir)...)
}

// maxPointer bounds the files in which git keeps one path, in bytes.
const maxPointer = 8 << 10

// linked follows a .git file to its git directory and to the one it shares with the main worktree
// (gitrepository-layout(5)).
func linked(dotGit string) (dir, common string, ok bool) {
	data, err := nolink.ReadFile(dotGit, maxPointer)
	if err != nil {
		return "", "", false
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !ok {
		return "", "", false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(dotGit), to)
	}
	if dir, err = filepath.EvalSymlinks(to); err != nil {
		return "", "", false
	}
	common = dir
	if data, err := nolink.ReadFile(filepath.Join(dir, "commondir"), maxPointer); err == nil {
		c := strings.TrimRight(string(data), "\r\n")
		if !filepath.IsAbs(c) {
			c = filepath.Join(dir, c)
		}
		if c, err = filepath.EvalSymlinks(c); err == nil {
			common = c
		}
	}
	return dir, common, isGitDir(common)
}

// sharedGit returns what must be writable beside a worktree so that git works in it: the directory
// it shares with the main one.
func sharedGit(root string) string {
	st, err := os.Lstat(filepath.Join(root, ".git"))
	if err != nil || st.IsDir() {
		return ""
	}
	_, common, ok := linked(filepath.Join(root, ".git"))
	if !ok || !backLinked(root, common) {
		return ""
	}
	return common
}

// backLinked reports that the shared directory knows the worktree: a .git file alone, which anybody
// may have written, opens nothing.
func backLinked(root, common string) bool {
	dir, _, _ := linked(filepath.Join(root, ".git"))
	data, err := nolink.ReadFile(filepath.Join(dir, "gitdir"), maxPointer)
	if err != nil {
		return dir == common && strings.Contains(dir, string(filepath.Separator)+"modules"+string(filepath.Separator))
	}
	back := strings.TrimRight(string(data), "\r\n")
	real, err := filepath.EvalSymlinks(filepath.Dir(back))
	here, herr := filepath.EvalSymlinks(root)
	return err == nil && herr == nil && real == here && within(dir, common)
}

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}
