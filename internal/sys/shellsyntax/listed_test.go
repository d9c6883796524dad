package shellsyntax

import (
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
)

func TestKF162_OnlyADirectPipeListsNames(t *testing.T) {
	for command, want := range map[string]bool{
		"find . -print0 | xargs -0 cat":                              true,
		"cd sub; ! find . -print0 | xargs -0 cat":                    true,
		"if true; then find . -print0 | xargs -0 cat; fi":            true,
		`find . -print0 | echo "$(head -c 1 >&2; xargs -0 cat)"`:     false,
		"find . -print0 | xargs -0 cat <(xargs -0 cat)":              false,
		"find . -print0 | { head -c 1 >/dev/null; xargs -0 cat; }":   false,
		"xargs() { sh; }; find . -print0 | xargs -0 cat":             false,
		"alias xargs='xargs -a list'; find . -print0 | xargs -0 cat": false,
		"find() { cat list; }; find . -print0 | xargs -0 cat":        false,
		"git() { cat list; }; git ls-files -z | xargs -0 cat":        false,
		"find . -print0 | xargs -0 cat 0>&3":                         false,
		"find . -print0 | LANG=C xargs -0 cat":                       false,
		"find . -print0 | timeout 5 xargs -0 cat":                    false,
		"find . -print0 | bash -c 'xargs -0 cat'":                    false,
		"find . -print0 | xargs -0":                                  false,
	} {
		got := false
		a := Analyse(command, Options{Cwd: "/p", Home: "/h"})
		for i := range a.Parts {
			p := &a.Parts[i]
			got = got || len(p.Forms) > 1 && p.Forms[1].Wrapper == "xargs" && p.ReadOnly
		}
		if got != want {
			t.Errorf("%s: reads listed names: %t, want %t", command, got, want)
		}
	}
}

func TestSplitsAtZero(t *testing.T) {
	for options, want := range map[string]bool{
		"-0": true, "-r0": true, "-0rn1": true, "-0 -P 4 -n 10": true, "--null --max-procs=2 --no-run-if-empty": true,
		"": false, "-r": false, "-n 0": false, "-n0": false, "-0 -n": false, "-0 -n x": false, "-0 -n1x": false, "-0n1r": false,
		"-0 -d x": false, "-0d/": false, "-0 -a list": false, "-0I{}": true, "-0 -I %": true, "-0 -I": false, "-0 -I a -I b": false, "-0i": false, "-0 --": false, "--max-args=0": false, "-0 --delimiter=x": false,
		"-0 -L 1": false, "-0 -p": false, "-0 -": false, "-0 --null=1": false,
	} {
		var words []Word
		if options != "" {
			a := Analyse("x "+options, Options{Cwd: "/p"})
			words = a.Parts[0].Words[1:]
		}
		if _, got := cmdline.SplitsAtZero(words); got != want {
			t.Errorf("xargs %s: %t, want %t", options, got, want)
		}
	}
}
