package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// guard is one protected path.
type guard struct {
	path string
	soft bool // an ordinary project may hold it: not mounted, and put aside only together with its likes
	flat bool // what lies in it may be changed by this very program: only what it is counts, not what it holds
	only bool // looked after, but not mounted: a mount above holds it, or this program must be able to make it
}

// projectNames are protected in the directory of the work and in every one above it, as far as
// that can be written. They make programs like this one run or load something.
var projectNames = []string{
	"settings.json", "settings.local.json", "skills", "agents", "commands", "hooks", "workflows",
	"rules", "output-styles", "scheduled_tasks.json",
}

// startFiles are read by shells; in the directory of the work they matter when it is a home.
var startFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
}

// bareNames are what makes a directory a repository by itself.
var bareNames = []string{"HEAD", "objects", "refs", "config", "hooks"}

// repoDepth and repoDirs bound the search for repositories inside a writable root.
const (
	repoDepth = 3
	repoDirs  = 2000
)

// guards lists what is protected because of a writable root. home is the user's home, where start
// files are live.
func guards(root, home string) []guard {
	out := projectGuards(root)
	add := func(names ...string) {
		for _, n := range names {
			out = append(out, guard{path: filepath.Join(root, n)})
		}
	}
	add(startFiles...)
	add(".gitconfig", ".gitmodules", ".ripgreprc", ".envrc", ".vscode", ".idea")
	if isDir(filepath.Join(root, ".git")) {
		out = append(out, guard{path: filepath.Join(root, ".git"), flat: true, only: true})
	}
	out = append(out, bareGuards(root)...)
	out = append(out, repoGuards(filepath.Join(root, ".git"))...)
	return append(out, nestedGuards(root)...)
}

// projectGuards are the names that matter in a root and in the directories above it.
func projectGuards(dir string) []guard {
	native := filepath.Join(dir, ".myelin")
	out := []guard{
		{path: filepath.Join(dir, ".mcp.json")},
		{path: native, flat: true},
	}
	if isDir(native) {
		for _, n := range projectNames {
			out = append(out, guard{path: filepath.Join(native, n), only: true})
		}
	}
	guest := filepath.Join(dir, ".claude")
	st, err := os.Lstat(guest)
	if err != nil { // nothing there: one stub for all
		return append(out, guard{path: guest})
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		out = append(out, guard{path: guest})
	}
	if target, err := filepath.EvalSymlinks(guest); err == nil {
		guest = target
	}
	if st, err := os.Stat(guest); err != nil || !st.IsDir() {
		return append(out, guard{path: guest})
	}
	for _, n := range projectNames {
		out = append(out, guard{path: filepath.Join(guest, n)})
	}
	return out
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

// repoGuards are what in a .git makes git run something: hooks, configuration, and the files that
// lead to another repository's.
func repoGuards(dotGit string) []guard {
	st, err := os.Lstat(dotGit)
	if err != nil {
		return nil
	}
	if !st.IsDir() {
		return append(linkGuards(dotGit), guard{path: dotGit})
	}
	out := gitDirGuards(dotGit)
	modules, err := os.ReadDir(filepath.Join(dotGit, "modules"))
	if err != nil {
		return out
	}
	for _, m := range modules[:min(len(modules), 200)] {
		sub := filepath.Join(dotGit, "modules", m.Name())
		if isGitDir(sub) {
			out = append(out, guard{path: filepath.Join(sub, "hooks")}, guard{path: filepath.Join(sub, "config")})
		}
	}
	return out
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

// nestedGuards look for repositories inside a root.
func nestedGuards(root string) []guard {
	var out []guard
	seen := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			if seen >= repoDirs {
				return
			}
			if !e.IsDir() || e.Name() == ".git" || slices.Contains([]string{"node_modules", ".cache", ".venv", "target"}, e.Name()) {
				continue
			}
			seen++
			sub := filepath.Join(dir, e.Name())
			out = append(out, repoGuards(filepath.Join(sub, ".git"))...)
			if isGitDir(sub) { // a bare one
				out = append(out, guard{path: filepath.Join(sub, "hooks")}, guard{path: filepath.Join(sub, "config")})
				continue
			}
			if depth < repoDepth {
				walk(sub, depth+1)
			}
		}
	}
	walk(root, 1)
	return out
}

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
