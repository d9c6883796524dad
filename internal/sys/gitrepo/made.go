package gitrepo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Made returns the first obstacle to keeping the metadata folder of a repository that a program nobody
// trusts has just made: anything in it that makes git run a program, or work on another place. It allows
// what clone, submodule and worktree commands write, which is more than [Inert] allows, and looks at
// this one repository: each submodule is to be looked at by itself. It reads files as data and runs nothing.
func Made(gitDir string) *Obstacle {
	if !isGitDir(gitDir) {
		return &Obstacle{File: gitDir, Why: "is no whole repository"}
	}
	common := filepath.Join(gitDir, "commondir")
	if _, err := os.Lstat(common); !errors.Is(err, fs.ErrNotExist) {
		return &Obstacle{File: common, Why: "leads to another repository"}
	}
	for _, name := range []string{"config", "config.worktree"} {
		file := filepath.Join(gitDir, name)
		text, err := readRegular(file, maxConfig)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return &Obstacle{File: file, Why: "cannot be read as data: " + err.Error()}
		}
		o := configObstacle(text, func(section, sub, key, value string) string {
			if section == "core" && key == "worktree" && sub == "" && name == "config" {
				return workTreeOf(gitDir, value)
			}
			return notMade(section, sub, key, value)
		})
		if o != nil {
			o.File = file
			return o
		}
	}
	return hooks(filepath.Join(gitDir, "hooks"))
}

// notMade tells why a key is none that git itself writes into a new repository without making it run
// anything; empty: it is one.
func notMade(section, sub, name, value string) string {
	if notInert(section, sub, name, value) == "" || settled(section, name, value) {
		return ""
	}
	switch section + "." + name {
	case "core.symlinks", "core.autocrlf", "core.eol", "core.sparsecheckout", "core.sparsecheckoutcone",
		"extensions.objectformat", "extensions.refstorage", "extensions.partialclone", "extensions.worktreeconfig",
		"remote.promisor", "remote.partialclonefilter", "remote.gh-resolved", "lfs.repositoryformatversion":
		return ""
	}
	return notInert(section, sub, name, value)
}

// settled says of an entry of a configuration that git writes it all the time (which branch follows which,
// where remotes and submodules are), and that it leads to nothing being run.
func settled(section, name, value string) bool {
	switch section + "." + name {
	case "branch.merge", "branch.rebase", "branch.description", "remote.fetch", "submodule.active", "submodule.branch":
		return true
	case "submodule.update":
		return value == "checkout" || value == "rebase" || value == "merge" || value == "none"
	case "branch.remote", "branch.pushremote", "remote.url", "remote.pushurl", "submodule.url": // a remote may be an address
		return plainAddress(value)
	}
	return false
}

// Unsettled lists the entries of a configuration that are not [settled], in their order; false: it holds
// something that git would not read.
func Unsettled(text string) (entries []string, ok bool) {
	o := configObstacle(text, func(section, sub, name, value string) string {
		if !settled(section, name, value) {
			entries = append(entries, strconv.Quote(section)+strconv.Quote(sub)+strconv.Quote(name)+strconv.Quote(value))
		}
		return ""
	})
	return entries, o == nil
}

// plainAddress says of the address of a repository that git reaches it with its own transports: "ext::sh -c …"
// would run a program, and what begins with a dash is an option of ssh.
func plainAddress(value string) bool {
	if value == "" || strings.HasPrefix(value, "-") || strings.Contains(value, "/-") || strings.Contains(value, "@-") || strings.ContainsAny(value, "\n\r") {
		return false
	}
	scheme, _, helper := strings.Cut(value, "::")
	if helper && !strings.ContainsAny(scheme, "/@[") {
		return false
	}
	if scheme, _, some := strings.Cut(value, "://"); some {
		switch scheme {
		case "https", "http", "ssh", "git", "file", "git+ssh", "ssh+git":
			return true
		}
		return false
	}
	return true // a path, or host:path for ssh
}

// workTreeOf tells why core.worktree may not be in the metadata of a repository: only that of a submodule
// has it, which lies in the metadata of the repository around it and leads to a folder in its checkout.
func workTreeOf(gitDir, value string) string {
	const other = "leads to a place that is not the submodule's own"
	top, _, ok := strings.Cut(gitDir, "/.git/modules/")
	if !ok || filepath.IsAbs(value) {
		return other
	}
	to := filepath.Join(gitDir, value)
	if to == top || !strings.HasPrefix(to, top+"/") || strings.Contains(to+"/", "/.git/") || real(to) != to {
		return other
	}
	dot := filepath.Join(to, ".git")
	if _, err := os.Lstat(dot); errors.Is(err, fs.ErrNotExist) {
		return "" // it is not checked out
	}
	if back, ok := readGitFile(dot); !ok || back != real(gitDir) {
		return other
	}
	return ""
}

// PlainModules says of the text of a .gitmodules file that it names submodules, their places and addresses,
// and nothing that git would run.
func PlainModules(text string) bool {
	return configObstacle(text, func(section, sub, name, value string) string {
		switch {
		case section != "submodule" || sub == "" || strings.Contains("/"+sub+"/", "/../"):
			return "x"
		case name == "path" && (value == "" || filepath.IsAbs(value) || strings.HasPrefix(value, "-") || !filepath.IsLocal(value)):
			return "x"
		case name == "path", name == "shallow", name == "ignore", name == "fetchrecursesubmodules", settled(section, name, value):
			return ""
		}
		return "x"
	}) == nil
}

// Nested lists the folders of the linked worktrees and submodules that the shared metadata of a repository
// knows, with what it keeps of each. Nothing is run.
func Nested(common string) []string {
	var out []string
	for _, name := range children(filepath.Join(common, "worktrees")) {
		dir := filepath.Join(common, "worktrees", name)
		if text, err := readSmall(filepath.Join(dir, "gitdir")); err == nil {
			out = append(out, dir, filepath.Dir(resolve(dir, strings.TrimSpace(text))))
		}
	}
	return append(out, modulesIn(filepath.Join(common, "modules"), 0)...)
}

// The bounds of the search for submodules: names may hold slashes, and submodules have some of their own.
const (
	maxModules     = 200 // in one folder
	maxModuleDepth = 6
)

func modulesIn(dir string, depth int) []string {
	if depth > maxModuleDepth {
		return nil
	}
	var out []string
	for _, name := range children(dir) {
		at := filepath.Join(dir, name)
		if !isGitDir(at) {
			out = append(out, modulesIn(at, depth+1)...)
			continue
		}
		out = append(out, at)
		text, err := readRegular(filepath.Join(at, "config"), maxConfig)
		if err == nil {
			configObstacle(text, func(section, sub, name, value string) string {
				if section == "core" && sub == "" && name == "worktree" && workTreeOf(at, value) == "" {
					out = append(out, filepath.Join(at, value))
				}
				return ""
			})
		}
		out = append(out, modulesIn(filepath.Join(at, "modules"), depth+1)...)
	}
	return out
}

// children lists the folders in a folder, as far as they are counted.
func children(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxModules) // what cannot be listed is as good as not there
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// HooksRun says whether git would run a hook of the repository, or one that a configuration names: that of
// the repository or another file that is handed in. What cannot be read counts as one.
func HooksRun(common string, configs ...string) bool {
	if hooks(filepath.Join(common, "hooks")) != nil {
		return true
	}
	for _, file := range append([]string{filepath.Join(common, "config"), filepath.Join(common, "config.worktree")}, configs...) {
		text, err := readRegular(file, maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || configObstacle(text, func(section, _, name, _ string) string {
			if section == "core" && (name == "hookspath" || name == "fsmonitor") || section == "include" || section == "includeif" || section == "hook" {
				return "x"
			}
			return ""
		}) != nil {
			return true
		}
	}
	return false
}
