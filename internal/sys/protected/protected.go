// Package protected is the one table of protected places: names at which something is run or loaded
// without anybody's further doing. Tools and the account of shell commands ask before they write there
// ([Asks]); the sandbox holds some of them read-only and looks after the rest ([Of], [InHome]).
//
// It knows names, not files: nothing is read here.
package protected

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Column says how the sandbox protects a place.
type Column uint8

// The columns.
const (
	None  Column = iota // not at all
	Watch               // it can be written; what changed is shown at the end, to be kept or put back
	Mount               // it cannot be written: what is there executes without a further step
)

// where says at which depth a name counts for the sandbox. Tools ask at any depth.
type where uint8

const (
	anywhere where = iota
	atRoot         // directly in a writable root
	nowhere        // tools ask, the sandbox has rules of its own
)

// row is one name of the table.
type row struct {
	name   string
	folder bool // what lies in it is protected, too
	column Column
	where  where
}

func rows() []row {
	out := []row{
		{".git", true, None, nowhere}, // the names in it: see [InGit]
		{".yarn", true, None, nowhere},
		{".claude", true, None, nowhere}, // the names in it: see [Of]
		{".myelin", true, Mount, anywhere},
		{".mcp.json", false, Mount, anywhere},
		{".envrc", false, Mount, anywhere},
		{".gitconfig", false, Mount, atRoot},
		{".gitmodules", false, Watch, atRoot}, // it runs nothing without a further step: see [gitrepo.PlainModules]
		{".ripgreprc", false, Mount, atRoot},
		{".claude.json", false, Mount, atRoot},
		{"gradle-wrapper.properties", false, Watch, anywhere},
		{"maven-wrapper.properties", false, Watch, anywhere},
	}
	for _, n := range startFiles() {
		out = append(out, row{n, false, Mount, atRoot})
	}
	for _, n := range []string{".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".mvn"} {
		out = append(out, row{n, true, Watch, anywhere})
	}
	for _, n := range []string{
		".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", ".devcontainer.json", ".pre-commit-config.yaml",
		"bunfig.toml", ".bunfig.toml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "rust-toolchain", "rust-toolchain.toml",
		".bazelrc", ".bazelversion", ".bazeliskrc", "pyrightconfig.json",
	} {
		out = append(out, row{n, false, Watch, anywhere})
	}
	return out
}

// startFiles are read by shells; they are live in a home, and look it elsewhere.
func startFiles() []string {
	return []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
		".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
	}
}

// Names lists the names of a column that count in a writable root, sorted.
func Names(c Column) []string {
	var out []string
	for _, r := range rows() {
		if r.column == c && r.where != nowhere {
			out = append(out, r.name)
		}
	}
	slices.Sort(out)
	return out
}

var table = sync.OnceValue(func() map[string]row {
	out := map[string]row{}
	for _, r := range rows() {
		out[r.name] = r
	}
	return out
})

// Asks tells why writing always asks at a path in which seg is one name and after what follows it;
// empty: that name is no reason.
func Asks(seg, after string) string {
	if seg == "" {
		return ""
	}
	next, rest, _ := strings.Cut(after, "/")
	if seg == ".config" {
		switch {
		case next == "git", next == "fish" && (rest == "config.fish" || strings.HasPrefix(rest, "conf.d") || strings.HasPrefix(rest, "functions") || rest == ""),
			next == "nushell" && (rest == "config.nu" || rest == "env.nu" || rest == "login.nu" || strings.HasPrefix(rest, "autoload") || rest == ""):
			return seg + "/" + next
		}
		return ""
	}
	r, ok := table()[seg]
	if !ok || after != "" && !r.folder || seg == ".claude" && next == "worktrees" && rest != "" {
		return ""
	}
	return seg
}

// projectNames are what of a folder .claude or .myelin makes programs like this one run or load something.
var projectNames = map[string]bool{
	"settings.json": true, "settings.local.json": true, "skills": true, "agents": true, "commands": true, "hooks": true,
	"workflows": true, "rules": true, "output-styles": true, "scheduled_tasks.json": true,
}

// yarnNames are what of a folder .yarn yarn runs.
var yarnNames = map[string]bool{"releases": true, "plugins": true}

// Of says how the sandbox protects a path, by its name and the folder it is in. root: it lies directly in
// a writable root. dir: it is a folder.
func Of(path string, dir, root bool) Column {
	parent, name := filepath.Split(path)
	parent = strings.TrimSuffix(parent, "/")
	switch filepath.Base(parent) {
	case ".claude":
		if projectNames[name] {
			return Mount
		}
	case ".yarn":
		if yarnNames[name] {
			return Watch
		}
	}
	if name == ".claude" && !dir {
		return Mount // a link, or something that will not be a folder
	}
	if r, ok := table()[name]; ok && (r.where == anywhere || r.where == atRoot && root) {
		return r.column
	}
	if InGit(path) {
		return Mount
	}
	return None
}

// InGit says whether a path is one in a repository's own folder that makes git run something: hooks,
// configuration, and what leads to another repository's.
func InGit(path string) bool {
	parent, name := filepath.Split(path)
	parent = strings.TrimSuffix(parent, "/")
	if name == "attributes" {
		return filepath.Base(parent) == "info" && IsGitFolder(filepath.Dir(parent))
	}
	switch name {
	case "hooks", "config", "config.worktree", "commondir":
		return IsGitFolder(parent)
	}
	return false
}

// IsGitFolder says whether a path is, by its name, a repository's own folder, or that of a submodule or of a
// linked worktree in it.
func IsGitFolder(dir string) bool {
	if filepath.Base(dir) == ".git" {
		return true
	}
	if IsWorktree(dir) {
		return true
	}
	_, below, ok := strings.Cut(dir, "/.git/modules/")
	return ok && below != "" && !strings.HasSuffix(dir, "/modules")
}

// IsWorktree says whether a path is, by its name, what a repository keeps of a linked worktree.
func IsWorktree(dir string) bool {
	above := filepath.Dir(dir)
	return filepath.Base(above) == "worktrees" && IsGitFolder(filepath.Dir(above))
}

// Entered says whether anything in a folder can be protected, or be a file for people: what git keeps of
// contents and history is neither.
func Entered(dir string) bool {
	switch filepath.Base(dir) {
	case "objects", "refs", "logs", "lfs":
		return !IsGitFolder(filepath.Dir(dir))
	}
	return true
}

// InHome lists what is protected in a home folder when it can be written: credentials, and what shells,
// services, desktops and tools start or read as commands. Paths are relative to it.
func InHome() []string {
	out := startFiles()
	for _, n := range []string{"git", "fish", "nushell", "systemd", "autostart", "environment.d", "zsh", "gh", "gcloud", "pip", "npm", "nvim", "vim", "emacs", "tmux", "kitty", "alacritty", "wezterm", "i3", "sway", "hypr", "plasma-workspace", "direnv", "mise", "containers", "Code/User", "Cursor/User"} {
		out = append(out, ".config/"+n)
	}
	return append(
		out, ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".gitconfig", ".pypirc", ".npmrc", ".yarnrc", ".yarnrc.yml",
		".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".cargo/credentials", ".cargo/credentials.toml", ".cargo/bin", ".cargo/env", ".local/bin", "bin", "go/bin",
		".local/share/applications", ".local/share/systemd", ".local/share/dbus-1", ".local/share/fish",
		".vimrc", ".vim", ".gvimrc", ".ideavimrc", ".emacs", ".emacs.d", ".exrc", ".nanorc", ".inputrc", ".tmux.conf", ".screenrc", ".gdbinit", ".lldbinit", ".pythonrc", ".irbrc", ".pryrc", ".gemrc", ".Rprofile",
		".psqlrc", ".sqliterc", ".curlrc", ".wgetrc", ".pam_environment", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".Xresources", ".xbindkeysrc",
		".mozilla", ".claude.json", ".claude", ".myelin", ".codex", ".gemini", ".envrc", ".direnvrc", ".mavenrc", ".m2/settings.xml", ".gradle/init.d", ".gradle/gradle.properties", ".bazelrc", ".vscode",
		".vscode-server", ".oh-my-zsh", ".nvm", ".pyenv", ".rbenv", ".asdf", ".config/mise", ".forward", ".procmailrc", ".rhosts", ".shosts", ".k5login", ".terraformrc", ".pgpass", ".my.cnf", ".mylogin.cnf",
	)
}
