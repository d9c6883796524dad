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
[remote "origin"]
	url = https://example.com/a/b.git
`)
	put(t, filepath.Join(dir, "team.gitconfig"), "[core]\n\tsshCommand = tools/ssh -i x\n[include]\n\tpath = team.gitconfig\n")
	got := gitrepo.Targets(config, dir, "/home/x")
	want := []string{
		"/etc/shared.gitconfig", "/home/x/attributes", dir + "/.githooks", dir + "/bin/clean", dir + "/scripts/go.sh", dir + "/scripts/smudge.sh",
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
