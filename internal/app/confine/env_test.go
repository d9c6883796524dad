package confine

import (
	"slices"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

func TestKeysOfModelServicesStayOutOfTheSandbox(t *testing.T) {
	c, state, _, _ := faked(t)
	state.v.Store(&permission.State{})
	none := func() string { return "" }
	c.given.Temp, c.given.SessionDir, c.given.ProjectKey = none, none, none
	dropped := c.profile(tool.Confinement{}).DropEnv
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
	} {
		if !slices.Contains(dropped, name) {
			t.Errorf("%s stays", name)
		}
	}
}
