package confine

import (
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// TestKF159_SecretsByName: what looks like a secret is kept from commands, what does not is not.
func TestKF159_SecretsByName(t *testing.T) {
	c, state, _, _ := faked(t)
	state.v.Store(&permission.State{})
	c.given.Config = func() *config.State { return &config.State{} }
	secret := []string{
		"GROQ_API_KEY", "MISTRAL_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_CLIENT_SECRET", "GH_TOKEN", "GITHUB_TOKEN", "GITHUB_PAT", "AWS_ACCESS_KEY_ID",
		"JWT", "BEARER", "COOKIE", "SIGNING_KEY_BASE64", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "SENTRY_DSN", "DB_PASSWORD", "MYSQL_PWD", "PGPASSWORD",
		"DATABASE_URL", "SECRET", "TOKEN", "STRIPE_SECRET_KEY", "npm_token", "NPM_CONFIG__AUTH", "SLACK_WEBHOOK_URL", "HF_TOKEN", "X_APIKEY", "CREDENTIALS", "SESSION_SECRET", "SESSION_TOKEN", "PUBLIC_KEY_PASSPHRASE", "STRIPE_SK",
	}
	plain := []string{
		"PATH", "HOME", "PWD", "OLDPWD", "LANG", "TERM", "GOFLAGS", "KEYBOARD", "TOKENIZERS_PARALLELISM", "EDITOR", "MONKEY", "PYTHONPATH", "NODE_ENV", "CI", "USER",
		"MYELIN_SESSION_ID", "TERM_SESSION_ID", "XDG_SESSION_ID", "SSH_SESSION_ID", "VITE_STRIPE_PUBLISHABLE_KEY", "SIGNING_PUBLIC_KEY", "TURBO_CACHE_KEY", "GIT_CONFIG_KEY_0", "MAX_TOKENS", "SESSION_MANAGER",
	}
	var env []string
	for _, name := range append(slices.Clone(secret), plain...) {
		env = append(env, name+"=x")
	}
	got := c.profiler.secrets(append(env, "INDEX=https://me:word@host/simple", "MIRROR=https://host/@scope", "MAIL=me@host"))
	if want := append(secret, "INDEX"); !slices.Equal(got, want) {
		t.Errorf("kept %v\nwant %v", got, want)
	}
}

// TestKF159_MissedOnce: a variable is told of when a command or its output names it, once.
func TestKF159_MissedOnce(t *testing.T) {
	var m missed
	kept := []string{"GH_TOKEN", "NPM_TOKEN"}
	for i, step := range []struct{ command, output, want string }{
		{"echo $MY_GH_TOKEN", "", ""}, {"gh pr list", "set the GH_TOKEN environment variable", "GH_TOKEN"}, {"echo $GH_TOKEN", "", ""}, {"echo ${NPM_TOKEN}", "", "NPM_TOKEN"},
	} {
		if got := strings.Join(m.names(kept, step.command, step.output), " "); got != step.want {
			t.Errorf("%d: %q, want %q", i, got, step.want)
		}
	}
}

// TestKF159_OfferOnlyForWhatIsClosed: the offer needs a known kind, its complaint, and something closed.
func TestKF159_OfferOnlyForWhatIsClosed(t *testing.T) {
	c, _, _, _ := faked(t)
	c.given.Config = func() *config.State { return &config.State{} }
	cfg := sandbox.Config{Closed: []string{"/h/.ssh", "/h/.npmrc", "/h/.aws"}}
	for _, step := range []struct{ command, output, want string }{
		{"git push", "git@github.com: Permission denied (publickey).", "git over ssh"},
		{"git commit -S -m x", "error: gpg failed to sign the data", "signing with git"},
		{"npm publish", "npm error code ENEEDAUTH", "publishing to a registry"},
		{"aws s3 ls", "Unable to locate credentials", "a cloud service"},
		{"git push", "! [rejected] main -> main", ""},
		{"make test", "Permission denied (publickey).", ""},
		{"gh pr list", "please run: gh auth login", ""}, // nothing of it is here
	} {
		got := c.offer(cfg, nil, step.command, step.output)
		if step.want == "" && got != "" || !strings.Contains(got, step.want) {
			t.Errorf("%s: %q, want %q", step.command, got, step.want)
		}
	}
}
