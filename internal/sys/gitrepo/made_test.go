package gitrepo

import (
	"slices"
	"testing"
)

func TestKF119_WhatGitWritesItself(t *testing.T) {
	for text, plain := range map[string]bool{
		"[submodule \"a/b\"]\n\tpath = a/b\n\turl = ../x\n\tbranch = main\n\tshallow = true\n\tupdate = merge\n": true,
		"":                                               true,
		"[submodule \"a\"]\n\tupdate = !evil\n":          false,
		"[submodule \"a\"]\n\tpath = ../a\n":             false,
		"[submodule \"a\"]\n\tpath = /a\n":               false,
		"[submodule \"a\"]\n\tpath = -a\n":               false,
		"[submodule \"../a\"]\n\tpath = a\n":             false,
		"[submodule \"a\"]\n\turl = ext::sh -c evil\n":   false,
		"[submodule \"a\"]\n\turl = -evil\n":             false,
		"[submodule \"a\"]\n\turl = ssh://-oProxy=x/y\n": false,
		"[submodule \"a\"]\n\turl = weird://x\n":         false,
		"[submodule \"a\"]\n\tother = x\n":               false,
		"[core]\n\tfsmonitor = evil\n":                   false,
		"evil":                                           false,
	} {
		if got := PlainModules(text); got != plain {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string][]string{
		"[branch \"a\"]\nremote = origin\nmerge = refs/heads/a\n[core]\nbare = false\n": {`"core""""bare""false"`},
		"[branch \"a\"]\nremote = ext::sh -c evil\n":                                    {`"branch""a""remote""ext::sh -c evil"`},
		"[remote \"a\"]\nurl = git@host:a/b.git\nfetch = x\nuploadpack = evil\n":        {`"remote""a""uploadpack""evil"`},
	} {
		if got, ok := Unsettled(text); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
	if _, ok := Unsettled("[core\nx"); ok {
		t.Error("what git cannot read counts as read")
	}
}
