package search

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// ignoreNames are the ignore files of a folder, weakest first.
func ignoreNames() [3]string { return [3]string{".gitignore", ".ignore", ".rgignore"} }

// maxIgnore is the size up to which an ignore file is read.
const maxIgnore = 4 << 20

// ignoresOf adds the ignore files of a folder to those above it.
func (w *walker) ignoresOf(j job, entries []dirent) *pathpattern.Ignores {
	var found [3]bool
	some := false
	for _, e := range entries {
		if e.name[0] != '.' || e.mode.IsDir() {
			continue
		}
		for i, name := range ignoreNames() {
			if e.name == name {
				found[i], some = true, true
			}
		}
	}
	if !some {
		return j.ignores
	}
	ig := j.ignores
	for i, name := range ignoreNames() {
		if found[i] {
			ig = w.below(ig, strings.TrimSuffix(w.prefix+j.rel, "/"), filepath.Join(w.tree.at(j.dir), name))
		}
	}
	return ig
}

func (w *walker) below(ig *pathpattern.Ignores, dir, file string) *pathpattern.Ignores {
	list, err := readIgnore(file)
	if err != nil {
		w.tally.failed(file, err)
		return ig
	}
	return ig.Below(dir, list)
}

func readIgnore(file string) (*pathpattern.List, error) {
	raw, _, err := textfile.ReadBytes(file, maxIgnore)
	if err != nil {
		return nil, err
	}
	return pathpattern.ParseList(string(raw), pathpattern.Options{}), nil
}

// ignoresAbove returns what the folders above root and git's exclude files ignore, and the path of
// root, a real path, below the folder those patterns start from. When they ignore root itself they do not
// count: who names an ignored folder wants to see into it. Outside a repository there is nothing
// above.
func ignoresAbove(root string) (prefix string, ig *pathpattern.Ignores) {
	top, gitDir := repository(root)
	if top == "" {
		return "", globalIgnores()
	}
	rel, err := filepath.Rel(top, root)
	if err != nil {
		return "", nil
	}
	ig = globalIgnores()
	if list, err := readIgnore(filepath.Join(gitDir, "info", "exclude")); err == nil {
		ig = ig.Below("", list)
	}
	if rel == "." {
		return "", ig
	}
	rel = filepath.ToSlash(rel)
	at := ""
	for _, part := range strings.Split(rel, "/") {
		for _, name := range ignoreNames() {
			// An ignore file above the root that cannot be read hides nothing, which is the safe side.
			if list, err := readIgnore(filepath.Join(top, filepath.FromSlash(at), name)); err == nil {
				ig = ig.Below(at, list)
			}
		}
		at = strings.TrimPrefix(at+"/"+part, "/")
	}
	if ig.IgnoredDeep(rel, true) {
		return "", nil
	}
	return rel + "/", ig
}

// globalIgnores reads the user's own ignore file at the place git has for it by default.
func globalIgnores() *pathpattern.Ignores {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	list, err := readIgnore(filepath.Join(dir, "git", "ignore"))
	if err != nil {
		return nil
	}
	var none *pathpattern.Ignores
	return none.Below("", list)
}

// repository finds the work tree dir lies in, and the folder with its info/exclude; "" outside.
func repository(dir string) (top, gitDir string) {
	for {
		dotGit := filepath.Join(dir, ".git")
		if info, err := os.Stat(dotGit); err == nil {
			if info.IsDir() {
				return dir, dotGit
			}
			return dir, linkedGitDir(dir, dotGit)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ""
		}
		dir = parent
	}
}

// linkedGitDir follows the ".git" file of a linked work tree to the repository's own folder.
func linkedGitDir(dir, file string) string {
	raw, _, err := textfile.ReadBytes(file, 1<<16)
	if err != nil {
		return ""
	}
	to, ok := bytes.CutPrefix(bytes.TrimSpace(raw), []byte("gitdir:"))
	if !ok {
		return ""
	}
	at := resolve(dir, string(bytes.TrimSpace(to)))
	if common, _, err := textfile.ReadBytes(filepath.Join(at, "commondir"), 1<<16); err == nil {
		return resolve(at, string(bytes.TrimSpace(common)))
	}
	return at
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
