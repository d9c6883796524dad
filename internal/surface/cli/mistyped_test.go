package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestKF166_ASlipIsNoPrompt(t *testing.T) {
	for _, args := range [][]string{{"mdoels"}, {"modles"}, {"mcp", "list"}, {"mcp"}, {"docter"}, {"sesions", "list"}, {"plugin", "install"}} {
		for _, tty := range []bool{true, false} {
			got := run(t, surroundings{deps: Wired(), tty: tty, inTTY: tty}, args...)
			if got.code != 2 || got.opened != nil || !strings.Contains(got.err, "as a prompt: myelin -- "+strings.Join(args, " ")) {
				t.Errorf("%v: %+v", args, got)
			}
		}
	}
	for _, args := range [][]string{{"-p", "mdoels"}, {"--", "mdoels"}, {"explain this"}, {"fix", "the", "test"}, {"hello"}, {"explain", "it"}, {"agents are what"}} {
		if got := run(t, surroundings{deps: Wired(), in: ""}, args...); got.opened == nil {
			t.Errorf("%v: no session was begun: %s", args, got.err)
		}
	}
}

func TestKF166_ListsOfRulesTakeSeveralValues(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		allow  []string
		prompt string
	}{
		"two rules":         {[]string{"--allowedTools", "Bash(a *)", "Bash(b *)", "do it"}, []string{"Bash(a *)", "Bash(b *)"}, "do it"},
		"rule and a tool":   {[]string{"--allowed-tools", "Bash(go test *)", "Read", "-p", "go"}, []string{"Bash(go test *)", "Read"}, "go"},
		"joined":            {[]string{"--allowed-tools=Read", "Grep", "why (is it so)"}, []string{"Read", "Grep"}, "why (is it so)"},
		"a prompt behind":   {[]string{"--allowed-tools", "Read", "Reading is fun"}, []string{"Read"}, "Reading is fun"},
		"of a server":       {[]string{"--allowed-tools", "Read", "mcp__db__query", "hi"}, []string{"Read", "mcp__db__query"}, "hi"},
		"repeated":          {[]string{"--allowed-tools", "Read", "--allowed-tools", "Grep", "hi"}, []string{"Read", "Grep"}, "hi"},
		"behind the dashes": {[]string{"--allowed-tools", "Read", "--", "Grep"}, []string{"Read"}, "Grep"},
	} {
		got := run(t, surroundings{}, append([]string{"-p"}, tc.args...)...)
		if got.opened == nil || !slices.Equal(got.opened.Allow, tc.allow) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		if words := got.flags.set.Args(); strings.Join(words, " ") != tc.prompt {
			t.Errorf("%s: prompt %q", name, words)
		}
	}
}
