// Package gitrepo tells facts about git repositories: where one begins, which checkout is the main
// one of a linked worktree, what branch is out, what has changed.
//
// Everything up to [Repo.Branch] only reads a few small files and runs nothing, so it may be asked
// about a folder nobody trusts yet; so does [Inert], which tells whether the repository could make
// git run something. [Git] runs the git program, with the repository's hooks and
// file-system monitor off. It changes no repository. Begin with [Find].
package gitrepo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// ErrNone is returned by [Find] when a folder is in no repository.
var ErrNone = errors.New("not in a git repository")

// Repo is where a repository's parts are. All paths are absolute; symbolic links are kept as they
// were walked, except in GitDir and CommonDir.
type Repo struct {
	Root      string // top folder of this checkout
	GitDir    string // metadata of this checkout
	CommonDir string // metadata shared by all checkouts; GitDir when there is one only
	Main      string // top folder of the main checkout; Root unless Linked
	Linked    bool   // this is a linked worktree whose main checkout knows it
	// Doubt says why Root claims to belong to another repository without that repository knowing of
	// it; empty when there is nothing to say. Such a folder is a repository of its own.
	Doubt string
}

// Find walks up from dir to the nearest repository. It runs nothing. A folder that merely claims,
// by its .git file, to be a worktree of another repository is not believed unless the metadata of
// that repository names the folder. Without a repository the error is [ErrNone].
func Find(dir string) (Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, fmt.Errorf("find repository: %w", err)
	}
	for {
		if r, ok := at(dir); ok {
			return r, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return Repo{}, ErrNone
		}
		dir = up
	}
}

// at reports the repository whose top folder is dir.
func at(dir string) (Repo, bool) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	if err != nil {
		return Repo{}, false
	}
	if info.IsDir() {
		if !isGitDir(dot) {
			return Repo{}, false
		}
		// A commondir file in a real .git folder is never made by git, but git obeys it. The
		// checkout is its own main one whatever it says.
		return Repo{Root: dir, GitDir: dot, CommonDir: commonDir(dot), Main: dir, Doubt: doubtCommon(dot)}, true
	}
	gitDir, ok := readGitFile(dot)
	if !ok || !isGitDir(gitDir) {
		return Repo{}, false
	}
	r := Repo{Root: dir, GitDir: gitDir, CommonDir: commonDir(gitDir), Main: dir}
	if r.CommonDir == r.GitDir {
		return r, true // a submodule, or a repository with its metadata elsewhere
	}
	if why := backlink(gitDir, dot); why != "" {
		r.Doubt = why
		return r, true
	}
	r.Linked = true
	if main := filepath.Dir(r.CommonDir); filepath.Base(r.CommonDir) == ".git" {
		r.Main = main
	}
	return r, true
}

func doubtCommon(dot string) string {
	if commonDir(dot) != dot {
		return fmt.Sprintf("%s shares the metadata of %s, which does not know of it", dot, commonDir(dot))
	}
	return ""
}

// isGitDir applies git's own test: a HEAD, and objects and refs here or in the shared folder.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common := commonDir(dir)
	for _, name := range []string{"objects", "refs"} {
		info, err := os.Stat(filepath.Join(common, name))
		if err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// readGitFile reads "gitdir: PATH" (gitrepository-layout(5)).
func readGitFile(file string) (string, bool) {
	text, err := readSmall(file)
	if err != nil {
		return "", false
	}
	to, ok := strings.CutPrefix(text, "gitdir:")
	if !ok {
		return "", false
	}
	return real(resolve(filepath.Dir(file), strings.TrimSpace(to))), true
}

func commonDir(gitDir string) string {
	text, err := readSmall(filepath.Join(gitDir, "commondir"))
	if err != nil || strings.TrimSpace(text) == "" {
		return gitDir
	}
	return real(resolve(gitDir, strings.TrimSpace(text)))
}

// backlink checks that the metadata names the checkout: gitDir must be a folder of its own under
// worktrees/ of the shared metadata, and its gitdir file must lead to dot. It returns what is
// wrong.
func backlink(gitDir, dot string) string {
	if filepath.Dir(gitDir) != filepath.Join(commonDir(gitDir), "worktrees") {
		return fmt.Sprintf("%s is no worktree of %s", gitDir, commonDir(gitDir))
	}
	text, err := readSmall(filepath.Join(gitDir, "gitdir"))
	if err != nil {
		return fmt.Sprintf("%s does not say which folder it belongs to", gitDir)
	}
	back := resolve(gitDir, strings.TrimSpace(text))
	a, errA := os.Stat(back)
	b, errB := os.Stat(dot)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return fmt.Sprintf("%s belongs to %s, not to %s", gitDir, back, dot)
	}
	return ""
}

func resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// readSmall reads a metadata file, which anybody may have written; git's own are one line.
func readSmall(path string) (string, error) {
	data, err := nolink.ReadFile(path, 64<<10)
	return string(data), err
}

// Branch is the name of the branch that is out, read from HEAD; detached tells that there is none,
// and name is then the commit. Repositories with the reftable format do not keep it there: name is
// empty for them, and [Git.Status] knows it.
func (r Repo) Branch() (name string, detached bool, err error) {
	text, err := readSmall(filepath.Join(r.GitDir, "HEAD"))
	if err != nil {
		return "", false, fmt.Errorf("read branch: %w", err)
	}
	text = strings.TrimSpace(text)
	ref, ok := strings.CutPrefix(text, "ref:")
	if !ok {
		return text, true, nil
	}
	ref = strings.TrimSpace(ref)
	if ref == "refs/heads/.invalid" {
		return "", false, nil
	}
	return strings.TrimPrefix(ref, "refs/heads/"), false, nil
}
