package confine

import (
	"slices"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/netname"
)

func TestKeysOfServicesAreScrubbed(t *testing.T) {
	gone := []string{
		"ANTHROPIC_API_KEY=1", "ANTHROPIC_AUTH_TOKEN=1", "ANTHROPIC_CUSTOM_HEADERS=1", "CLAUDE_CODE_OAUTH_TOKEN=1", "OPENAI_API_KEY=1",
		"GEMINI_API_KEY=1", "GOOGLE_API_KEY=1", "GOOGLE_APPLICATION_CREDENTIALS=1", "AWS_ACCESS_KEY_ID=1", "AWS_SECRET_ACCESS_KEY=1",
		"AWS_SESSION_TOKEN=1", "AWS_BEARER_TOKEN_BEDROCK=1", "AWS_CONTAINER_CREDENTIALS_FULL_URI=1", "AZURE_CLIENT_SECRET=1",
		"AZURE_OPENAI_API_KEY=1", "AZURE_FEDERATED_TOKEN_FILE=1", "MISTRAL_API_KEY=1", "GROQ_API_KEY=1", "OPENROUTER_API_KEY=1",
		"HF_TOKEN=1", "CLOUDFLARE_API_TOKEN=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=1", "ANTHROPIC_FOUNDRY_API_KEY=a=b",
	}
	kept := []string{
		"PATH=/bin", "HOME=/h", "AWS_REGION=eu", "AWS_PROFILE=p", "ANTHROPIC_BASE_URL=u", "ANTHROPIC_MODEL=m", "GOOGLE_CLOUD_PROJECT=x",
		"OPENAI_BASE_URL=u", "GH_TOKEN=1", "NPM_TOKEN=1", "MY_KEY=1", "CLAUDE_CODE_SESSION_ID=s", "EMPTY", "X=ANTHROPIC_API_KEY=1",
	}
	if got := Scrub(append(slices.Clone(gone), kept...)); !slices.Equal(got, kept) {
		t.Errorf("%q", got)
	}
}

func TestScrubbingIsOnUnlessItIsClearlyOff(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, " off ": false, "1": true, "true": true, "perhaps": true} {
		for _, name := range []string{"MYELIN_SUBPROCESS_ENV_SCRUB", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"} {
			if got := Scrubs(config.EnvironOf([]string{name + "=" + value})); got != want {
				t.Errorf("%s=%q: %v", name, value, got)
			}
		}
	}
}

// TestKF138_ConnectionsGoOverTheProxyOfTheEnvironment asks where a connection out of the sandbox goes.
func TestKF138_ConnectionsGoOverTheProxyOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env      []string
		upstream string
		direct   []string
	}{
		{nil, "", nil},
		{[]string{"HTTPS_PROXY=http://u:p@proxy:1"}, "http://u:p@proxy:1", nil},
		{[]string{"https_proxy=proxy:1", "NO_PROXY=a.test"}, "http://proxy:1", []string{"a.test"}},
		{[]string{"ALL_PROXY=socks5h://proxy:1", "no_proxy=.b.test"}, "socks5://proxy:1", []string{"x.b.test"}},
		{[]string{"HTTP_PROXY=http://proxy:2"}, "http://proxy:2", nil},
	} {
		k := hosts{Scene: &Scene{Config: func() *config.State { return &config.State{} }, Env: func() config.Environ { return config.EnvironOf(c.env) }}}
		if got := k.upstream(); got != c.upstream {
			t.Errorf("%q: over %q, want %q", c.env, got, c.upstream)
		}
		for _, name := range []string{"a.test", "x.b.test", "c.test"} {
			to, err := netname.ParsePort(name, 443)
			if err != nil {
				t.Fatal(err)
			}
			if got := k.direct(to); c.upstream != "" && got != slices.Contains(c.direct, name) {
				t.Errorf("%q: %s directly: %v", c.env, name, got)
			}
		}
	}
}
