package ruletext

import "strings"

// IsInterpreter tells programs that run the text they are given.
func IsInterpreter(name string) bool {
	for _, p := range []string{"python", "node", "ruby", "perl", "php", "lua", "bash", "sh", "zsh", "dash", "ksh", "fish", "pypy", "deno", "Rscript", "tclsh", "osascript", "pwsh", "powershell", "iex", "irb", "ghci", "groovy", "scala", "julia", "awk", "gawk"} {
		if name == p || (strings.HasPrefix(name, p) && strings.Trim(name[len(p):], "0123456789.") == "") {
			return true
		}
	}
	return false
}

// IsExecWrapper tells programs that run another one.
func IsExecWrapper(name string) bool {
	switch name {
	case "env", "sudo", "doas", "su", "xargs", "eval", "exec", "watch", "setsid", "ionice", "chrt", "taskset", "flock", "chroot",
		"unshare", "nsenter", "setpriv", "strace", "ltrace", "gdb", "script", "parallel", "busybox", "toybox", "source", ".",
		"command", "builtin", "nohup", "nice", "timeout", "time", "stdbuf", "ssh":
		return true
	}
	return false
}

// IsRunner tells tools of which some sub-commands run scripts or packages.
func IsRunner(name string) bool {
	switch name {
	case "npm", "npx", "yarn", "pnpm", "bun", "bunx", "uv", "uvx", "pipx", "poetry", "devbox", "mise", "direnv", "nix", "docker",
		"podman", "kubectl", "cargo", "go", "bundle", "composer":
		return true
	}
	return false
}

// RunnerVerb tells the subcommands that run scripts or packages.
func RunnerVerb(verb string) bool {
	switch verb {
	case "run", "exec", "x", "dlx", "run-script", "start", "develop", "shell", "rum", "urn", "create", "init":
		return true
	}
	return false
}
