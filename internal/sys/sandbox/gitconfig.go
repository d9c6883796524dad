package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// harmlessConfig reports that a repository's config was replaced and differs only in which branch
// follows which, and where remotes and submodules are: what git writes all the time at the user's own terminal, and
// what makes it run nothing.
func harmlessConfig(files *contentCache, path string, was, is seen) bool {
	if filepath.Base(path) != "config" || !was.exists || !is.exists || !was.mode.IsRegular() || !is.mode.IsRegular() {
		return false
	}
	old, ok := files.content(was)
	if !ok {
		return false
	}
	now, ok := files.content(is)
	if !ok {
		return false
	}
	a, aok := gitrepo.Unsettled(string(old))
	b, bok := gitrepo.Unsettled(string(now))
	return aok && bok && slices.Equal(a, b)
}

// harmlessWorktree reports that git added or took away a linked worktree: what it keeps of one leads to the
// repository around it, or is gone with its folder.
func harmlessWorktree(files *contentCache, path string, was, is seen) bool {
	dir := filepath.Dir(path)
	if !protected.IsWorktree(dir) {
		return false
	}
	if !is.exists {
		return !exists(dir)
	}
	text, ok := files.content(is)
	if !ok || !is.mode.IsRegular() {
		return false
	}
	to := strings.TrimRight(string(text), "\n")
	switch filepath.Base(path) {
	case "commondir":
		return to == "../.."
	case "gitdir": // of a new one, which leads back
		back, _, ok := linked(to)
		return ok && back == dir && !was.exists
	}
	return false
}
