package app

import (
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/offline"
)

// optionsOf are the options of the first request of a session with these settings and variables.
func optionsOf(t *testing.T, settings string, env map[string]string, more func(*Options)) (provider.Options, *looked) {
	t.Helper()
	home := t.TempDir()
	vars := map[string]string{"HOME": home, "MYELIN_HOME": home + "/.myelin", "PATH": "/usr/bin:/bin"}
	for k, v := range env {
		vars[k] = v
	}
	o := Options{Cwd: t.TempDir(), Env: vars, Sources: Sources{Settings: settings}}
	if more != nil {
		more(&o)
	}
	l, err := lookAt(t.Context(), o, offline.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	_, opts := l.rooms.models.round()
	return opts, &l
}

func TestKF115_EffortAndThinking(t *testing.T) {
	flag := func(o *Options) { o.Effort = "medium" }
	for _, c := range []struct {
		settings string
		env      map[string]string
		more     func(*Options)
		effort   string
		thinking int
	}{
		{`{}`, nil, nil, "", 0},
		{`{"effortLevel": "high", "alwaysThinkingEnabled": false}`, nil, nil, "high", -1},
		{`{"effortLevel": "high", "alwaysThinkingEnabled": true}`, nil, flag, "medium", 0},
		{`{"effortLevel": "high"}`, map[string]string{"CLAUDE_CODE_EFFORT_LEVEL": "low", "MAX_THINKING_TOKENS": "2000"}, flag, "low", 2000},
		{`{}`, map[string]string{"MYELIN_EFFORT_LEVEL": "enormous", "MAX_THINKING_TOKENS": "0"}, flag, "medium", -1},
	} {
		opts, _ := optionsOf(t, c.settings, c.env, c.more)
		if opts.Effort != c.effort || opts.Thinking != c.thinking {
			t.Errorf("%s, %v: effort %q, thinking %d; want %q, %d", c.settings, c.env, opts.Effort, opts.Thinking, c.effort, c.thinking)
		}
	}
}

func TestKF115_WishesStandInTheSystemPrompt(t *testing.T) {
	for settings, want := range map[string]string{
		`{"language": "French"}`:                    "language: French",
		`{"attribution": {"commit": "By: me"}}`:     "By: me",
		`{"attribution": {"commit": ""}}`:           "no trailer",
		`{"includeCoAuthoredBy": false}`:            "no trailer",
		`{"attribution": {"pr": "made with care"}}`: "made with care",
	} {
		_, l := optionsOf(t, settings, nil, func(o *Options) { o.AppendSystemPrompt = "the end" })
		blocks, err := system(t.Context(), l.rooms)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		text.WriteString(msg.TextOf(blocks))
		if !strings.Contains(text.String(), want) || !strings.Contains(text.String(), "the end") {
			t.Errorf("%s: %q is not in the system prompt", settings, want)
		}
	}
}

func TestKF115_PlansStayInTheProject(t *testing.T) {
	for settings, outside := range map[string]bool{
		`{"plansDirectory": "notes/plans"}`: false, `{"plansDirectory": "/elsewhere"}`: true, `{"plansDirectory": "../x"}`: true, `{}`: false,
	} {
		_, l := optionsOf(t, settings, nil, nil)
		dir, problem := l.rooms.rights.plans()
		if (problem != "") != outside || strings.Contains(settings, "notes") != strings.HasSuffix(dir, "notes/plans") {
			t.Errorf("%s: %s, %q", settings, dir, problem)
		}
	}
}

func TestKF115_FoldersAndToolsByVariable(t *testing.T) {
	dir := t.TempDir()
	_, l := optionsOf(t, `{}`, map[string]string{"CLAUDE_CODE_TMPDIR": dir, "MYELIN_SIMPLE": "1"}, nil)
	if !strings.HasPrefix(l.rooms.folders.temp(), dir+"/") {
		t.Errorf("the temporary folder is %s, want one in %s", l.rooms.folders.temp(), dir)
	}
	if got := strings.Join(l.rooms.pool.Names(), " "); got != "Bash Edit Read" && got != "Bash Read Edit" && got != "Read Edit Bash" {
		t.Errorf("the tools are %s", got)
	}
}
