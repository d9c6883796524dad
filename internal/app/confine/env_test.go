package confine

import (
	"slices"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// inside is what a session in /p confines its commands to, under some rules.
func inside(t *testing.T, rules ...permission.Rule) sandbox.Config {
	t.Helper()
	c, state, _, _ := faked(t)
	state.v.Store(&permission.State{})
	none := func() string { return "" }
	c.given.Temp, c.given.SessionDir, c.given.ProjectKey = none, none, none
	dirs := permission.Dirs{Cwd: "/p", Project: "/p", Home: "/home/dev"}
	c.given.Policy = func() permission.Policy {
		return permission.Policy{Rules: permission.Compile(rules, permission.Env{Dirs: dirs}), Dirs: dirs}
	}
	return c.profiler.profile(tool.Confinement{})
}

func TestKeysOfModelServicesStayOutOfTheSandbox(t *testing.T) {
	dropped := inside(t).DropEnv
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
	} {
		if !slices.Contains(dropped, name) {
			t.Errorf("%s stays", name)
		}
	}
}

func TestKF112_DenyRulesHoldInside(t *testing.T) {
	deny := func(text string) permission.Rule { return permission.Rule{List: permission.DenyList, Text: text} }
	cfg := inside(t, deny("Edit(.env)"), deny("Edit(/new/*.lock)"), deny("Edit(~/notes)"), deny("Read(secrets/**)"), deny("MultiEdit(old.txt)"))
	for _, path := range []string{"/p/**/.env", "/p/new/*.lock", "/home/dev/notes", "/p/**/old.txt"} {
		if !slices.Contains(cfg.DenyWrite, path) {
			t.Errorf("%s may be written: %v", path, cfg.DenyWrite)
		}
	}
	if !slices.Contains(cfg.DenyRead, "/p/**/secrets/**") {
		t.Errorf("secrets may be read: %v", cfg.DenyRead)
	}
}
