package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// newRepositories tells which changes are those of repositories that came into being meanwhile and run
// nothing: their configuration holds only inert keys, and their hooks are git's own samples.
func (c *Command) newRepositories(final bool) func(path string) bool {
	judged := map[string]bool{} // by the folder of git: may it stay
	return func(path string) bool {
		for dir := path; len(dir) > 1; dir = filepath.Dir(dir) {
			if filepath.Base(dir) != ".git" && (dir == path || !isGitDir(dir) && !begun(dir)) {
				continue
			}
			stays, known := judged[dir]
			if !known {
				stays = !c.knew(dir) && (c.inert(dir) || !final && c.growing(dir))
				judged[dir] = stays
			}
			return stays
		}
		return false
	}
}

// knew says whether a repository was there before.
func (c *Command) knew(dir string) bool {
	return c.before.at(dir).exists || c.before.at(filepath.Join(dir, "config")).exists || c.before.at(filepath.Join(dir, "HEAD")).exists
}

// growing says of a new repository that it was not complete when it was looked at for the first time: git
// may be making it.
func (c *Command) growing(dir string) bool {
	if isGitDir(dir) || c.unfinished[dir] {
		return false
	}
	if c.unfinished == nil {
		c.unfinished = map[string]bool{}
	}
	c.unfinished[dir] = true
	return true
}

// begun says of a folder among the submodules of a repository that git has begun to make it.
func begun(dir string) bool {
	return protected.IsGitFolder(dir) && !protected.IsWorktree(dir) && filepath.Base(dir) != ".git" && (exists(filepath.Join(dir, "config")) || exists(filepath.Join(dir, "hooks")))
}

// inert says whether a repository makes git run nothing, or shares all that with one that was there
// before.
func (c *Command) inert(dir string) bool {
	if filepath.Base(dir) != ".git" { // bare, or of a submodule; a writable root shall be none
		return !slices.Contains(c.plan.write, dir) && gitrepo.Made(dir) == nil
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	if st.IsDir() {
		return gitrepo.Made(dir) == nil
	}
	to, common, ok := linked(dir)
	if !ok || !st.Mode().IsRegular() {
		return false // git does not take it for one yet, and nothing can be said of it
	}
	if c.before.at(filepath.Join(common, "config")).exists {
		return true
	}
	return gitrepo.Made(common) == nil && (to == common || backLinked(filepath.Dir(dir), common))
}

// goneWith says of a path that is gone that a repository went as a whole, with the folder around it: a nested
// one, a submodule's or a linked worktree. There is nothing left that it could make git run.
func goneWith(path string, p *plan, before *snapshot) bool {
	for dir := path; p.writable(dir) && !slices.Contains(p.write, dir) && !within(p.dir, dir); dir = filepath.Dir(dir) {
		top := before.at(filepath.Join(dir, ".git")).exists ||
			dir != path && filepath.Base(dir) != ".git" && protected.IsGitFolder(dir) && before.at(filepath.Join(dir, "config")).exists
		if top && !exists(dir) {
			return true
		}
	}
	return false
}
