package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// credStore is a place in which programs keep what signs their owner in. Stores are closed inside unless a
// person or an administrator opens them.
type credStore struct {
	path string   // below home
	env  string   // variable that moves it, to another file or folder; empty: none
	open []string // patterns of what stays readable in it
}

// stores are known by the documentation of the programs they belong to.
var stores = []credStore{
	{path: ".ssh", open: []string{"known_hosts*", "config", "config.d", "*.pub"}},
	{path: ".gnupg", env: "GNUPGHOME", open: []string{"pubring.kbx", "pubring.gpg", "trustdb.gpg", "gpg.conf"}},
	{path: ".aws/credentials", env: "AWS_SHARED_CREDENTIALS_FILE"},
	{path: ".aws"},
	{path: ".azure", env: "AZURE_CONFIG_DIR"},
	{path: ".config/gcloud", env: "CLOUDSDK_CONFIG"},
	{path: ".oci"},
	{path: ".kube", env: "KUBECONFIG"},
	{path: ".docker/config.json", env: "DOCKER_CONFIG"},
	{path: ".config/containers/auth.json", env: "REGISTRY_AUTH_FILE"},
	{path: ".m2/settings.xml"},
	{path: ".m2/settings-security.xml"},
	{path: ".gradle/gradle.properties", env: "GRADLE_USER_HOME"},
	{path: ".ivy2/.credentials"},
	{path: ".sbt/.credentials"},
	{path: ".sbt/credentials"},
	{path: ".nuget/NuGet/NuGet.Config"},
	{path: ".bundle/config", env: "BUNDLE_USER_CONFIG"},
	{path: ".hex/hex.config"},
	{path: ".terraformrc", env: "TF_CLI_CONFIG_FILE"},
	{path: ".config/argocd"},
	{path: ".jupyter/jupyter_server_config.json"},
	{path: ".local/share/jupyter/runtime"},
	{path: ".netrc", env: "NETRC"},
	{path: "_netrc"},
	{path: ".git-credentials"},
	{path: ".config/git/credentials"},
	{path: ".config/gh", env: "GH_CONFIG_DIR"},
	{path: ".config/hub"},
	{path: ".config/glab-cli", env: "GLAB_CONFIG_DIR"},
	{path: ".config/tea"},
	{path: ".npmrc", env: "NPM_CONFIG_USERCONFIG"},
	{path: ".pypirc"},
	{path: ".config/pypoetry/auth.toml"},
	{path: ".cargo/credentials"},
	{path: ".cargo/credentials.toml"},
	{path: ".gem/credentials"},
	{path: ".composer/auth.json"},
	{path: ".config/composer/auth.json"},
	{path: ".terraform.d/credentials.tfrc.json"},
	{path: ".pulumi/credentials.json"},
	{path: ".vault-token"},
	{path: ".databrickscfg"},
	{path: ".snowflake"},
	{path: ".config/doctl"},
	{path: ".config/hcloud"},
	{path: ".config/heroku"},
	{path: ".fly"},
	{path: ".config/netlify"},
	{path: ".config/.wrangler"},
	{path: ".wrangler"},
	{path: ".local/share/com.vercel.cli"},
	{path: ".config/rclone", env: "RCLONE_CONFIG"},
	{path: ".s3cfg"},
	{path: ".boto", env: "BOTO_CONFIG"},
	{path: ".pgpass", env: "PGPASSFILE"},
	{path: ".mylogin.cnf", env: "MYSQL_TEST_LOGIN_FILE"},
	{path: ".my.cnf"},
	{path: ".msmtprc"},
	{path: ".mbsyncrc"},
	{path: ".fetchmailrc"},
	{path: ".aliyun"},
	{path: ".bluemix"},
	{path: ".circleci"},
	{path: ".config/circleci"},
	{path: ".travis"},
	{path: ".vercel"},
	{path: ".sentryclirc"},
	{path: ".ngrok2"},
	{path: ".config/ngrok"},
	{path: ".config/stripe"},
	{path: ".config/linode-cli"},
	{path: ".config/filezilla"},
	{path: ".config/goa-1.0"},
	{path: ".config/helm/registry"},
	{path: ".subversion/auth"},
	{path: ".electrum"},
	{path: ".bitcoin"},
	{path: ".ethereum/keystore"},
	{path: ".kaggle"},
	{path: ".cache/huggingface/token", env: "HF_TOKEN_PATH"},
	{path: ".cache/huggingface/token", env: "HF_HOME"},
	{path: ".cache/huggingface/stored_tokens", env: "HF_HOME"},
	{path: ".huggingface/token"},
	// Keyrings and browsers.
	{path: ".local/share/keyrings"},
	{path: ".local/share/kwalletd"},
	{path: ".local/share/python_keyring"},
	{path: ".password-store", env: "PASSWORD_STORE_DIR"},
	{path: ".config/op"},
	{path: ".config/Bitwarden"},
	{path: ".config/Bitwarden CLI"},
	{path: ".config/keepassxc"},
	{path: ".config/sops"},
	{path: ".config/age"},
	{path: ".mozilla"},
	{path: ".thunderbird"},
	{path: ".config/google-chrome"},
	{path: ".config/chromium"},
	{path: ".config/BraveSoftware"},
	{path: ".config/microsoft-edge"},
	{path: ".config/vivaldi"},
	{path: ".config/opera"},
	{path: "snap/firefox"},
	{path: "snap/chromium"},
	{path: "Library/Keychains"},
	{path: "Library/Cookies"},
	{path: "Library/Application Support/Google/Chrome"},
	{path: "Library/Application Support/Firefox"},
	{path: "Library/Application Support/BraveSoftware"},
	{path: "Library/Application Support/Microsoft Edge"},
	// What other agents keep: keys, and what their users told them.
	{path: ".claude/.credentials.json"},
	{path: ".claude/projects"},
	{path: ".claude/history.jsonl"},
	{path: ".claude.json"},
	{path: ".codex", env: "CODEX_HOME"},
	{path: ".gemini"},
	{path: ".config/github-copilot"},
	{path: ".copilot"},
	{path: ".local/share/opencode"},
	{path: ".local/share/crush"},
	{path: ".local/share/amp"},
	{path: ".config/goose"},
	{path: ".config/Cursor"},
	{path: ".cursor"},
	{path: ".codeium"},
	{path: ".continue"},
	{path: ".aider.conf.yml"},
	{path: ".qwen"},
}

// histories keep what was typed, with the words that were typed by mistake. A variable names another file.
var histories = []credStore{
	{path: ".bash_history", env: "HISTFILE"},
	{path: ".bash_sessions"},
	{path: ".zsh_history"},
	{path: ".zsh_sessions"},
	{path: ".zhistory"},
	{path: ".histfile"},
	{path: ".history"},
	{path: ".sh_history"},
	{path: ".ksh_history"},
	{path: ".ash_history"},
	{path: ".local/share/fish/fish_history"},
	{path: ".config/nushell/history.txt"},
	{path: ".config/nushell/history.sqlite3"},
	{path: ".local/share/powershell/PSReadLine"},
	{path: ".local/share/atuin"},
	{path: ".local/share/mcfly"},
	{path: ".local/share/zsh/history"},
	{path: ".local/state/zsh/history"},
	{path: ".local/state/bash/history"},
	{path: ".python_history", env: "PYTHON_HISTORY"},
	{path: ".local/state/python_history"},
	{path: ".ipython/profile_default/history.sqlite"},
	{path: ".node_repl_history", env: "NODE_REPL_HISTORY"},
	{path: ".ts_node_repl_history"},
	{path: ".irb_history"},
	{path: ".pry_history"},
	{path: ".local/share/pry"},
	{path: ".php_history"},
	{path: ".scala_history"},
	{path: ".ghc/ghci_history"},
	{path: ".julia/logs/repl_history.jl", env: "JULIA_HISTORY"},
	{path: ".Rhistory", env: "R_HISTFILE"},
	{path: ".octave_hist"},
	{path: ".gdb_history", env: "GDBHISTFILE"},
	{path: ".lldb"},
	{path: ".psql_history", env: "PSQL_HISTORY"},
	{path: ".mysql_history", env: "MYSQL_HISTFILE"},
	{path: ".mariadb_history"},
	{path: ".sqlite_history", env: "SQLITE_HISTORY"},
	{path: ".local/state/sqlite_history"},
	{path: ".duckdb_history"},
	{path: ".usql_history"},
	{path: ".rediscli_history", env: "REDISCLI_HISTFILE"},
	{path: ".valkeycli_history"},
	{path: ".dbshell"},
	{path: ".mongodb/mongosh"},
	{path: ".lesshst", env: "LESSHISTFILE"},
	{path: ".local/state/lesshst"},
	{path: ".local/state/less/history"},
	{path: ".viminfo"},
	{path: ".local/state/nvim/shada"},
	{path: ".wget-hsts"},
}

// ownNames are what this program, and the one whose home it reads, keep in their home: settings with keys,
// conversations, what was decided, sockets. What people put there for commands (skills, hooks, agents) is open.
var ownNames = []string{
	"settings.json", "settings.local.json", "state.json", ".claude.json", ".credentials.json", "history.jsonl", "projects", "backups", "run", "outside", "spent", "cache/pages",
	"sessions", "file-history", "todos", "tasks", "teams", "shell-snapshots", "paste-cache", "debug", "statsig", "telemetry", "session-env", "ide",
}

// ownStores is what of this program's own home is closed, and what of it stays open: what belongs to the
// present session, which hooks are pointed to, and the project's memory.
func (p *profiler) ownStores() (closed, open []string) {
	g := p.Places
	for _, home := range []string{g.Home, g.GuestHome} {
		for _, name := range ownNames {
			if home != "" {
				closed = append(closed, filepath.Join(home, name))
			}
		}
	}
	for _, file := range []string{g.StateFile, g.GuestState} {
		if file != "" {
			closed = append(closed, file)
		}
	}
	dir := p.SessionDir()
	return closed, []string{dir, dir + ".jsonl", filepath.Join(filepath.Dir(dir), "memory")}
}

// xdg are the folders of home that a variable moves.
var xdg = []struct{ env, path string }{{"XDG_CONFIG_HOME", ".config"}, {"XDG_DATA_HOME", ".local/share"}, {"XDG_STATE_HOME", ".local/state"}, {"XDG_CACHE_HOME", ".cache"}, {"CARGO_HOME", ".cargo"}}

// places is where a store may lie.
func (s credStore) places(home string, env func(string) string) []string {
	out := []string{filepath.Join(home, s.path)}
	for _, x := range xdg {
		rest, below := strings.CutPrefix(s.path, x.path+"/")
		if dir := env(x.env); below && filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, rest))
		}
	}
	if s.env == "" {
		return out
	}
	for _, path := range filepath.SplitList(env(s.env)) { // KUBECONFIG is a list
		if filepath.IsAbs(path) {
			switch s.env {
			case "DOCKER_CONFIG", "GRADLE_USER_HOME", "HF_HOME": // name the folder around it
				path = filepath.Join(path, filepath.Base(s.path))
			}
			out = append(out, filepath.Clean(path))
		}
	}
	return out
}

// closeStores closes the stores that are there. What a person or an administrator opens by allowRead stays
// open; what a project's files open counts in no store.
func (p *profiler) closeStores(out *sandbox.Config) {
	opened := p.openings(origin.User, origin.Managed, origin.Flag)
	denied := out.DenyRead
	home, env := p.Places.UserHome, p.Env().Value
	closes := func(path string) bool {
		if !closable(path) || slices.Contains(opened, path) || within(out.Dir, path) || within(home, path) {
			return false
		}
		out.Closed = append(out.Closed, path)
		return true
	}
	for _, s := range slices.Concat(stores, histories) {
		for _, path := range s.places(home, env) {
			if !closes(path) {
				continue
			}
			for _, pattern := range s.open {
				matches, err := filepath.Glob(filepath.Join(escaped(path), pattern))
				if err != nil {
					continue // the patterns are ours
				}
				out.AllowRead = append(out.AllowRead, slices.DeleteFunc(matches, func(m string) bool { return forbids(denied, m) })...)
			}
		}
	}
	if foreign := p.openings(origin.Project, origin.Local); len(foreign) > 0 {
		out.AllowRead = slices.DeleteFunc(out.AllowRead, func(path string) bool {
			return slices.Contains(foreign, path) && !slices.Contains(opened, path) &&
				slices.ContainsFunc(out.Closed, func(closed string) bool { return within(path, closed) })
		})
	}
	closed, open := p.ownStores()
	for _, path := range closed {
		closes(path)
	}
	for _, path := range open {
		if !forbids(denied, path) && slices.ContainsFunc(out.Closed, func(closed string) bool { return within(path, closed) }) {
			out.AllowRead = append(out.AllowRead, path)
		}
	}
}

// closable says whether a file or a folder is there: a variable may name /dev/null.
func closable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && (st.IsDir() || st.Mode().IsRegular())
}

// openings are the paths that allowRead of some scopes names.
func (p *profiler) openings(scopes ...origin.Scope) []string {
	return p.pathsOf(allowRead, func(s origin.Scope) bool { return slices.Contains(scopes, s) })
}

// forbids says whether a read rule covers the path.
func forbids(rules []string, path string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool {
		rule = strings.TrimSuffix(strings.TrimSuffix(rule, "/**"), "/")
		for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
			if ok, err := doublestar.PathMatch(rule, at); at == rule || ok || err != nil {
				return true
			}
		}
		return false
	})
}

// escaped is a path as a pattern that matches nothing else.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
