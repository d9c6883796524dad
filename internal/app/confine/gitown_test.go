package confine

import (
	"fmt"
	"strings"
	"testing"
)

// Only a command that is nothing but git's own steps may change what git keeps of a repository.
func TestKF119_GitSteps(t *testing.T) {
	for command, want := range map[string]string{
		"git submodule add ../x mod":                        "/p submodule add ../x mod",
		"cd a && git -C b worktree remove ../c":             "/p/a/b worktree remove ../c",
		"git add -A && git commit -m 'a; b' && git push -u": "/p add -A|/p commit -m a; b|/p push -u",
		`git commit -m "it's done" --author=x`:              "/p commit -m it's done --author=x",
		"rm -rf wt && git worktree prune":                   "/p rm -rf wt|/p worktree prune",
		"git rm -f mod":                                     "/p submodule rm",
		"cd a":                                              "",
		"git submodule foreach evil":                        "",
		"git -c core.fsmonitor=evil status":                 "",
		"git --exec-path=x status":                          "",
		"git clone -c core.fsmonitor=evil x":                "",
		"git clone --config core.fsmonitor=evil x":          "",
		"git fetch --upload-pack=evil":                      "",
		"git clone ext::evil":                               "",
		"git clone --template=x y":                          "",
		"git rebase -x evil":                                "",
		"git clone -u evil x":                               "",
		"git evil":                                          "",
		"git submodule update; evil":                        "",
		"git submodule update & evil":                       "",
		"git submodule update\nevil":                        "",
		"git submodule update || evil":                      "",
		"git submodule update && evil":                      "",
		"git submodule add $(evil)":                         "",
		"git submodule add `evil`":                          "",
		`git commit -m "$(evil)"`:                           "",
		"X=1 git submodule update":                          "",
		"git submodule update > .git/config":                "",
		"cd ~ && git push":                                  "",
		"git submodule add 'open":                           "",
		"":                                                  "",
	} {
		var got []string
		for _, s := range gitSteps(command, "/p") {
			got = append(got, fmt.Sprint(s.dir, " ", strings.Join(s.words, " ")))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", command, strings.Join(got, "|"), want)
		}
	}
}
