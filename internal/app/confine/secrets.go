package confine

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// modelKeys are always taken away inside: they pay for the model, and sign in as its user.
var modelKeys = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
	"OPENROUTER_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
}

// secretNames are what names of variables that hold secrets look like, in upper case.
var secretNames = []string{
	"*_KEY", "*_KEY_ID", "*_APIKEY", "*_TOKEN", "*_PAT", "*_SECRET*", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_PASS", "*_PWD", "*_DSN",
	"*CREDENTIAL*", "*_AUTH", "*_AUTHTOKEN", "*_COOKIE", "*_WEBHOOK_URL", "*_CONNECTION_STRING", "*_DATABASE_URL",
	"TOKEN", "SECRET", "PASSWORD", "APIKEY", "API_KEY", "PGPASSWORD", "MYSQL_PWD", "SSHPASS", "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "MONGO_URL",
	"AMQP_URL", "CLOUDAMQP_URL", "CLOUDINARY_URL", "DOCKER_AUTH_CONFIG", "KUBE_CONFIG_DATA", "NPM_CONFIG_*AUTH*", "GITHUB_PAT*",
	"SECRET_*", "TOKEN_*", "PRIVATE_KEY*", "*_KEY_BASE64", "*_JWT", "JWT", "BEARER", "BEARER_*", "AUTH", "COOKIE", "STRIPE_SK",
}

// publicNames look like secrets and are none: what is shown to everybody, and what names an entry.
var publicNames = []string{"*PUBLIC_KEY", "*PUBLISHABLE_KEY", "*_PUB_KEY", "*CACHE_KEY", "*_PRIMARY_KEY", "*_SORT_KEY", "*_PARTITION_KEY", "*_FOREIGN_KEY"}

// secretName says whether the name of a variable looks like that of a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	return sandbox.Matches(name, secretNames) && !sandbox.Matches(name, publicNames)
}

// secrets are the variables of an environment that commands inside do not see, beside those that are named.
func (p *profiler) secrets(env []string) []string {
	allowed := setting[[]string](p.Config(), "sandbox.environment.allow", nil)
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if (secretName(name) || signsIn(value)) && !sandbox.Matches(name, allowed) {
			out = append(out, name)
		}
	}
	return out
}

// signsIn says whether a value is an address with a password in it.
func signsIn(value string) bool {
	if !strings.Contains(value, "://") || !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, some := u.User.Password()
	return some
}

// missed are the variables that were taken away and that a command names, or its output does.
type missed struct {
	mu   sync.Mutex      // guards told
	told map[string]bool // by name: once in a session is enough
}

// names returns those that were not told yet.
func (m *missed) names(dropped []string, command, output string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, name := range dropped {
		if m.told[name] || !mentions(command, name) && !mentions(output, name) {
			continue
		}
		if m.told == nil {
			m.told = map[string]bool{}
		}
		m.told[name] = true
		out = append(out, name)
	}
	return out
}

// mentions says whether a name stands in a text as a word.
func mentions(text, name string) bool {
	if !strings.Contains(text, name) {
		return false
	}
	word, err := regexp.Compile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(name) + `($|[^A-Za-z0-9_])`)
	return err == nil && word.MatchString(text)
}

// keptText says that variables were kept from a command, and how to let it have them.
func keptText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("kept from commands in the sandbox, because the name or the value looks like a secret: %s. To let them have it: sandbox.environment.allow in the user settings", strings.Join(slices.Compact(names), ", "))
}
