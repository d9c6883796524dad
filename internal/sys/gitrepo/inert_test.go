package gitrepo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// appendConfig adds to a repository's configuration.
func appendConfig(t *testing.T, dir, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func TestKF155_InertConfigurations(t *testing.T) {
	for name, text := range map[string]string{
		"as made":     "",
		"with remote": "[remote \"origin\"]\n\turl = https://h/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
		"user":        "[user]\n\tname = A \"B\" # c\n\temail = a@b ; d\n",
		"odd letters": "[CORE] FileMode\n[Remote \"a\\\"b\"] URL = git@h:x::y\n",
		"continued":   "[user]\nname = a\\\n  b\n; comment [include]\n",
	} {
		dir := filepath.Join(tempDir(t), "r")
		repo(t, dir)
		appendConfig(t, dir, text)
		must(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755))
		for _, at := range []string{dir, filepath.Join(dir, "sub", "deep")} {
			if o := gitrepo.Inert(at); o != nil {
				t.Errorf("%s: %s", name, o)
			}
		}
	}
	if o := gitrepo.Inert(tempDir(t)); o != nil {
		t.Errorf("no repository: %s", o)
	}
}

func TestKF155_ConfigurationThatActs(t *testing.T) {
	for text, want := range map[string]string{
		"[core]\n\tfsmonitor = touch PWN\n":                    "core.fsmonitor",
		"[core] sshCommand = x\n":                              "core.sshcommand",
		"[core]\n\tbare = false\\\n\n\thooksPath = /x\n":       "core.hookspath",
		"[core]\nbare=\"\n":                                    "no entry",
		"[core \"x\"]\nbare=1\n":                               "core.x.bare",
		"[include]\n\tpath = x\n":                              "include.path",
		"[includeIf \"gitdir:/\"]\n\tpath = x\n":               "includeif.gitdir:/.path",
		"[extensions]\n\tpartialClone = origin\n":              "extensions.partialclone",
		"[extensions] worktreeConfig\n":                        "extensions.worktreeconfig",
		"[remote \"o\"]\n\tpromisor = true\n":                  "remote.o.promisor",
		"[remote \"o\"]\n\turl = ext::sh -c x\n":               "remote.o.url",
		"[remote \"o\"]\n\turl = \"ext\"::x\n":                 "remote.o.url",
		"[remote \"o\"]\n\turl = --upload-pack=x\n":            "remote.o.url",
		"[remote \"o\"]\n\tuploadpack = x\n":                   "remote.o.uploadpack",
		"[remote.o]\n\tvcs = x\n":                              "remote.o.vcs",
		"[filter \"x\"]\n\tclean = x\n":                        "filter.x.clean",
		"[diff]\n\texternal = x\n":                             "diff.external",
		"[diff \"x\"]\n\ttextconv = x\n":                       "diff.x.textconv",
		"[merge \"x\"]\n\tdriver = x\n":                        "merge.x.driver",
		"[gpg]\n\tprogram = x\n":                               "gpg.program",
		"[alias]\n\tst = !x\n":                                 "alias.st",
		"[user]\nname = \"a\n[core]\nfsmonitor = x\n":          "no entry",
		"[user]\nname = a ; \\\nfoo = b\n[core]\neditor = x\n": "core.editor",
		"[user] name = a # \\\n[pager] log = x\n":              "pager.log",
		"[user\n":               "no heading",
		"[user]\nname = a\\x\n": "no entry",
		"[user]\rname = a\r\n[core]\r\nfsmonitor\r\n":             "core.fsmonitor",
		"[submodule \"x\"]\n\turl = x\n":                          "submodule.x.url",
		"[user]\nname = " + strings.Repeat("a", 300<<10) + "\n":   "larger than",
		"[http]\nproxy=x\n":                                       "http.proxy",
		"[core]\nworktree = /\n":                                  "core.worktree",
		"[remote]\npushDefault = x\n":                             "remote.pushdefault",
		"[url \"ext::sh -c\"]\n\tinsteadOf = https://h\n":         "url.ext::sh -c.insteadof",
		"[CORE]\n\tFSMonitor = x\n":                               "core.fsmonitor",
		"[core]\nbare = false ; x\n[core]\n  fsmonitor\\\n = x\n": "no entry",
	} {
		dir := filepath.Join(tempDir(t), "r")
		repo(t, dir)
		appendConfig(t, dir, text)
		o := gitrepo.Inert(dir)
		if o == nil || !strings.Contains(o.String(), want) {
			t.Errorf("%.80q: %v, want %s", text, o, want)
			continue
		}
		if o.File != filepath.Join(dir, ".git", "config") {
			t.Errorf("%.80q: stands in %s", text, o.File)
		}
	}
	dir := filepath.Join(tempDir(t), "r")
	repo(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("[core]\n\tbare = false\n\n# x\n[alias]\n\tx = \"!y\"\n"), 0o644))
	if o := gitrepo.Inert(dir); o == nil || o.Line != 6 {
		t.Errorf("%v, want line 6", o)
	}
}

func TestKF155_RepositoriesThatAct(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, dir string) string{
		"a hook": func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, ".git/hooks/post-index-change"), "#!/bin/sh\n")
			return dir
		},
		"a link for the configuration": func(t *testing.T, dir string) string {
			must(t, os.Rename(filepath.Join(dir, ".git/config"), filepath.Join(dir, "c")))
			must(t, os.Symlink("../c", filepath.Join(dir, ".git/config")))
			return dir
		},
		"a pipe for the configuration": func(t *testing.T, dir string) string {
			must(t, os.Remove(filepath.Join(dir, ".git/config")))
			must(t, syscall.Mkfifo(filepath.Join(dir, ".git/config"), 0o600))
			return dir
		},
		"a link for the metadata": func(t *testing.T, dir string) string {
			must(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "g")))
			must(t, os.Symlink("g", filepath.Join(dir, ".git")))
			return dir
		},
		"metadata of somebody else": func(t *testing.T, dir string) string {
			other := filepath.Join(dir, "..", "other")
			repo(t, other)
			put(t, filepath.Join(dir, ".git/commondir"), other+"/.git\n")
			return dir
		},
		"a bare repository below": func(t *testing.T, dir string) string {
			bare := filepath.Join(dir, "docs")
			must(t, os.MkdirAll(bare, 0o755))
			git(t, bare, "init", "-q", "--bare")
			return filepath.Join(bare, "refs")
		},
		"a submodule": func(t *testing.T, dir string) string {
			repo(t, filepath.Join(dir, "m"))
			git(t, dir, "add", "m")
			return dir
		},
		"a submodule in a packed index": func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, "longer/name/one"), "")
			put(t, filepath.Join(dir, "longer/name/two"), "")
			repo(t, filepath.Join(dir, "m"))
			git(t, dir, "add", ".")
			git(t, dir, "update-index", "--index-version", "4")
			return dir
		},
		"an index in two files": func(t *testing.T, dir string) string {
			git(t, dir, "update-index", "--split-index")
			return dir
		},
		"a head nobody reads": func(t *testing.T, dir string) string { // git goes on looking above
			inner := filepath.Join(dir, "inner")
			repo(t, inner)
			put(t, filepath.Join(inner, ".git/HEAD"), "nothing\n")
			appendConfig(t, dir, "[core]\nfsmonitor = x\n")
			return inner
		},
		"a file that leads nowhere": func(t *testing.T, dir string) string {
			put(t, filepath.Join(dir, "w/.git"), "gitdir: /nowhere\n")
			return filepath.Join(dir, "w")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "r")
			repo(t, dir)
			if o := gitrepo.Inert(dir); o != nil {
				t.Fatalf("as made: %s", o)
			}
			at := build(t, dir)
			if o := gitrepo.Inert(at); o == nil {
				t.Error("counts as inert")
			}
		})
	}
}

func TestInertIndexes(t *testing.T) {
	dir := filepath.Join(tempDir(t), "r")
	repo(t, dir)
	for _, f := range []string{"a/b/c", "a/b/cc", "a/d", "e", "longlonglonglonglonglong/x"} {
		put(t, filepath.Join(dir, f), f)
	}
	git(t, dir, "add", ".")
	git(t, dir, "add", "-N", ".")
	for _, v := range []string{"2", "3", "4"} {
		git(t, dir, "update-index", "--index-version", v)
		put(t, filepath.Join(dir, "new"+v), "")
		git(t, dir, "add", "-N", "new"+v) // needs the longer entries of version 3
		git(t, dir, "status")
		if o := gitrepo.Inert(dir); o != nil {
			t.Errorf("version %s: %s", v, o)
		}
	}
	linked := filepath.Join(dir, "..", "linked")
	git(t, dir, "worktree", "add", "-q", linked)
	if o := gitrepo.Inert(linked); o != nil {
		t.Errorf("linked worktree: %s", o)
	}
}

// What the reader takes for inert, git must read as the same keys.
func FuzzInert(f *testing.F) {
	for _, s := range []string{
		"[core]\nbare = true\n", "[core]\nbare = \"a\\\nb\" ; c\n[user] name\n", "[remote \"a\\\\b\"]\nurl = x\n", "[branch.X]\nmerge=y", "[user]\nname = a \\\n[core]\nfsmonitor = x\n", "\ufeff[user]\r\nname = x\r\n", "[user]name=a#\\\n[core]fsmonitor=b", "[core]\x00", "[user]\nname = \"x\" y \"#\"\n",
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	out, err := exec.Command("git", "init", "-q", "--template=", dir).CombinedOutput()
	if err != nil {
		f.Fatalf("git init: %v\n%s", err, out)
	}
	file := filepath.Join(dir, ".git", "config")
	f.Fuzz(func(t *testing.T, text string) {
		must(t, os.WriteFile(file, []byte(text), 0o644))
		if gitrepo.Inert(dir) != nil {
			return
		}
		cmd := exec.Command("git", "config", "--file", file, "--name-only", "-z", "--list")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		keys, err := cmd.Output()
		if err != nil {
			t.Fatalf("git does not read %q, which counts as inert", text)
		}
		for key := range strings.SplitSeq(strings.TrimSuffix(string(keys), "\x00"), "\x00") {
			section, _, _ := strings.Cut(key, ".")
			last := key[strings.LastIndexByte(key, '.')+1:]
			switch {
			case key == "", section == "branch", section == "user":
			case section == "remote" && (last == "url" || last == "fetch"):
			case section == "core" && strings.Contains(" repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode ", " "+last+" "):
			default:
				t.Fatalf("%q: git reads the key %s, which the reader did not see", text, key)
			}
		}
	})
}
