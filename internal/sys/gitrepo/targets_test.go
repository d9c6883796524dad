package gitrepo_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

func TestKF153_TargetsOfTheConfiguration(t *testing.T) {
	dir := tempDir(t)
	config := filepath.Join(dir, ".git", "config")
	put(t, config, `[core]
	hooksPath = .githooks
	fsmonitor = tools/monitor --fast
	attributesFile = ~/attributes
	pager = less -R
[include]
	path = ../team.gitconfig
[includeIf "gitdir:/x"]
	path = /etc/shared.gitconfig
[filter "secret"]
	clean = ./bin/clean %f
	smudge = "sh -c 'scripts/smudge.sh'"
[diff "doc"]
	textconv = doc2txt
[alias]
	st = status
	go = !scripts/go.sh
[credential]
	helper = !./bin/helper
[filter "lfs"]
	process = "\"$PWD/bin/process\" x"
	smudge = python3 smudge.py
[init]
	templateDir = templates
[trailer "x"]
	cmd = bin/trailer
[hook "x"]
	command = bin/hook
[remote "other"]
	url = "ext::bin/transport x"
	uploadpack = bin/pack
[safe]
	directory = /some/where
[remote "origin"]
	url = https://example.com/a/b.git
`)
	put(t, filepath.Join(dir, "team.gitconfig"), "[core]\n\tsshCommand = tools/ssh -i x\n[include]\n\tpath = team.gitconfig\n")
	put(t, filepath.Join(dir, "smudge.py"), "")
	got := gitrepo.Targets(config, dir, "/home/x")
	want := []string{
		"/etc/shared.gitconfig", "/home/x/attributes", dir + "/.githooks", dir + "/bin/clean", dir + "/scripts/go.sh", dir + "/scripts/smudge.sh",
		dir + "/bin/helper", dir + "/bin/process", dir + "/PWD/bin/process", dir + "/smudge.py", dir + "/templates", dir + "/bin/trailer", dir + "/bin/hook", dir + "/bin/transport", dir + "/bin/pack",
		dir + "/team.gitconfig", dir + "/tools/monitor", dir + "/tools/ssh",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	must(t, os.Remove(config))
	if got := gitrepo.Targets(config, dir, ""); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
