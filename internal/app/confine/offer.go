package confine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// signedIn is a kind of command that is known to need what the sandbox keeps closed.
type signedIn struct {
	name    string
	command string   // pattern of commands of the kind
	output  string   // and of what they say when they are not signed in
	stores  []string // what they look into, below home
	env     []string // and the variables they read
}

// kinds are known by the documentation and the messages of the programs.
var kinds = []signedIn{
	{
		"signing with git", `\bgit\b.*\b(commit|tag|merge|rebase|cherry-pick|revert|am|pull)\b`,
		`(?i)gpg failed to sign|signing failed|failed to write commit object|error: Load key|no secret key|ssh-keygen.*failed`,
		[]string{".gnupg", ".ssh"},
		nil,
	},
	{
		"git over ssh", `\bgit\b.*\b(push|pull|fetch|clone|ls-remote|submodule|remote|archive)\b`,
		`(?i)permission denied \(publickey|Load key|host key verification failed|could not read from remote repository|identity file`,
		[]string{".ssh"},
		nil,
	},
	{
		"git over https", `\bgit\b.*\b(push|pull|fetch|clone|ls-remote|submodule)\b`,
		`(?i)could not read (username|password)|authentication failed|terminal prompts disabled|credential-store|returned error: 40[13]`,
		[]string{".git-credentials", ".config/git/credentials", ".netrc", ".config/gh"},
		[]string{"GH_TOKEN", "GITHUB_TOKEN"},
	},
	{"ssh", `\b(ssh|scp|sftp|rsync|mosh)\b`, `(?i)permission denied \(|Load key|host key verification failed|too many authentication failures`, []string{".ssh"}, nil},
	{
		"gh", `\b(gh|glab|hub)\b`, `(?i)auth login|not logged in|authentication|HTTP 401|GH_TOKEN|GITHUB_TOKEN|bad credentials`,
		[]string{".config/gh", ".config/glab-cli", ".config/hub"},
		[]string{"GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN"},
	},
	{
		"publishing to a registry", `\b(npm|pnpm|yarn|bun)\b.*\b(publish|deprecate|dist-tag|unpublish|owner|access|whoami)\b`,
		`(?i)ENEEDAUTH|E40[134]|need auth|not logged in|npm adduser|unauthorized|authentication`,
		[]string{".npmrc"},
		[]string{"NPM_TOKEN", "NODE_AUTH_TOKEN"},
	},
	{
		"publishing to a registry", `\bcargo\b.*\b(publish|yank|owner)\b`, `(?i)no token found|cargo login|credential|unauthorized|40[13]`,
		[]string{".cargo/credentials.toml", ".cargo/credentials"},
		[]string{"CARGO_REGISTRY_TOKEN"},
	},
	{
		"publishing to a registry", `\b(twine|poetry|hatch|flit|uv|gem|rake|mvn|gradle|gradlew|dotnet)\b.*\b(upload|publish|push|release|deploy)\b`,
		`(?i)credential|password|token|unauthorized|40[13]|authentication|api key`,
		[]string{".pypirc", ".gem/credentials", ".config/pypoetry/auth.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config"},
		[]string{"TWINE_PASSWORD", "UV_PUBLISH_TOKEN"},
	},
	{
		"a private repository of packages", `\b(mvn|mvnw|gradle|gradlew|sbt|dotnet|nuget|bundle|mix)\b`,
		`(?i)settings\.xml|gradle\.properties|status(?: code)?:? 40[13]|unauthorized|not authorized|authentication|bad username or password`,
		[]string{".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".ivy2/.credentials", ".sbt/.credentials", ".nuget/NuGet/NuGet.Config", ".bundle/config", ".hex/hex.config"},
		nil,
	},
	{
		"a container registry", `\b(docker|podman|skopeo|buildah|crane|oras|helm)\b.*\b(push|pull|login|build|copy)\b`,
		`(?i)unauthorized|denied: |authentication required|no basic auth`,
		[]string{".docker/config.json", ".config/containers/auth.json"},
		nil,
	},
	{
		"a cloud service", `\b(aws|gcloud|gsutil|bq|az|kubectl|helm|terraform|tofu|pulumi|doctl|flyctl|fly|heroku|vercel|netlify|wrangler|eksctl|sops)\b`,
		`(?i)credential|not logged in|unauthorized|log ?in|authenticat|no configuration has been provided|connection to the server localhost:8080|access denied|403|401`,
		[]string{".aws", ".config/gcloud", ".azure", ".kube", ".config/doctl", ".fly", ".vault-token"},
		[]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
	},
}

var kindPatterns = sync.OnceValue(func() [][2]*regexp.Regexp {
	var out [][2]*regexp.Regexp
	for _, k := range kinds {
		out = append(out, [2]*regexp.Regexp{regexp.MustCompile(`(?s)` + k.command), regexp.MustCompile(k.output)})
	}
	return out
})

// offer says, for a command of a known kind that failed for want of what is closed, that this one command
// may be run outside, which a person is asked about, and then what the smallest grant would be. It runs
// nothing. It is empty for all others.
func (c *Confiner) offer(cfg sandbox.Config, dropped []string, command, output string) string {
	for i, p := range kindPatterns() {
		k := kinds[i]
		if !p[0].MatchString(command) || !p[1].MatchString(output) {
			continue
		}
		var stores, vars []string
		for _, closed := range cfg.Closed {
			if slices.ContainsFunc(k.stores, func(s string) bool { return strings.HasSuffix(closed, "/"+s) }) {
				stores = append(stores, closed)
			}
		}
		for _, name := range k.env {
			if slices.Contains(dropped, name) {
				vars = append(vars, name)
			}
		}
		if len(stores)+len(vars) == 0 {
			continue
		}
		return offerText(k.name, stores, vars, setting(c.given.Config(), "sandbox.allowUnsandboxedCommands", true))
	}
	return ""
}

func offerText(kind string, stores, vars []string, outside bool) string {
	var grants []string
	if len(stores) > 0 {
		grants = append(grants, strings.Join(stores, ", ")+" in sandbox.filesystem.allowRead")
	}
	if len(vars) > 0 {
		grants = append(grants, strings.Join(vars, ", ")+" in sandbox.environment.allow")
	}
	text := fmt.Sprintf("This command looks like %s, and what it signs in with is closed inside the sandbox: %s.", kind, strings.Join(append(slices.Clone(stores), vars...), ", "))
	if outside {
		text += " To run this one command outside, make the call again with dangerouslyDisableSandbox: true; the user is asked."
	}
	return text + " To open it to all commands inside instead, the user can name " + strings.Join(grants, " and ") + " of the user settings."
}
