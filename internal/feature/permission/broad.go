package permission

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
)

// isBroad tells whether an allow rule grants running anything, so that auto mode sets it aside:
// the classifier could not see what runs under it.
func isBroad(p Parsed, t ruletext.Shell) bool {
	switch p.Tool {
	case "Agent", "Monitor":
		return true
	case "Bash", "PowerShell":
	default:
		return false
	}
	if p.Specifier == "" {
		return true
	}
	if t.Pattern.Literal {
		return false
	}
	if t.First == "" {
		return true // begins with a wildcard: any program
	}
	words := strings.Fields(strings.TrimSuffix(t.Pattern.Parts[0], " "))
	switch name := words[0]; {
	case isInterpreter(name), isExecWrapper(name):
		return true
	case isRunner(name):
		return len(words) == 1 || runnerVerb(words[1])
	}
	return false
}

func isInterpreter(name string) bool {
	for _, p := range []string{"python", "node", "ruby", "perl", "php", "lua", "bash", "sh", "zsh", "dash", "ksh", "fish", "pypy", "deno", "Rscript", "tclsh", "osascript", "pwsh", "powershell", "iex", "irb", "ghci", "groovy", "scala", "julia", "awk", "gawk"} {
		if name == p || (strings.HasPrefix(name, p) && strings.Trim(name[len(p):], "0123456789.") == "") {
			return true
		}
	}
	return false
}

func isExecWrapper(name string) bool {
	switch name {
	case "env", "sudo", "doas", "su", "xargs", "eval", "exec", "watch", "setsid", "ionice", "chrt", "taskset", "flock", "chroot",
		"unshare", "nsenter", "setpriv", "strace", "ltrace", "gdb", "script", "parallel", "busybox", "toybox", "source", ".",
		"command", "builtin", "nohup", "nice", "timeout", "time", "stdbuf", "ssh":
		return true
	}
	return false
}

func isRunner(name string) bool {
	switch name {
	case "npm", "npx", "yarn", "pnpm", "bun", "bunx", "uv", "uvx", "pipx", "poetry", "devbox", "mise", "direnv", "nix", "docker",
		"podman", "kubectl", "cargo", "go", "bundle", "composer":
		return true
	}
	return false
}

// runnerVerb tells the subcommands that run scripts or packages.
func runnerVerb(verb string) bool {
	switch verb {
	case "run", "exec", "x", "dlx", "run-script", "start", "develop", "shell", "rum", "urn", "create", "init":
		return true
	}
	return false
}
