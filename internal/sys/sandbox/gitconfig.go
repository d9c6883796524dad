package sandbox

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// harmlessConfig reports that a repository's config was replaced and differs only in which branch
// follows which, and where remotes are: what git writes all the time at the user's own terminal, and
// what makes it run nothing.
func harmlessConfig(files *contentCache, path string, was, is seen) bool {
	if filepath.Base(path) != "config" || !was.exists || !is.exists || !was.mode.IsRegular() || !is.mode.IsRegular() {
		return false
	}
	old, ok := files.content(was)
	if !ok {
		return false
	}
	now, ok := files.content(is)
	if !ok {
		return false
	}
	a, aok := withoutHarmless(string(old))
	b, bok := withoutHarmless(string(now))
	return aok && bok && a == b
}

// harmlessWorktree reports that git added or took away a linked worktree: what it keeps of one leads to the
// repository around it, or is gone with its folder.
func harmlessWorktree(files *contentCache, path string, was, is seen) bool {
	dir := filepath.Dir(path)
	if !protected.IsWorktree(dir) {
		return false
	}
	if !is.exists {
		return !exists(dir)
	}
	text, ok := files.content(is)
	if !ok || !is.mode.IsRegular() {
		return false
	}
	to := strings.TrimRight(string(text), "\n")
	switch filepath.Base(path) {
	case "commondir":
		return to == "../.."
	case "gitdir": // of a new one, which leads back
		back, _, ok := linked(to)
		return ok && back == dir && !was.exists
	}
	return false
}

var (
	configSection = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[([A-Za-z0-9.-]+)(?: "[^"\\\x00]*")?\]$`)
	})
	configKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*) = ([^\\"#;]*)$`) })
)

// withoutHarmless drops the lines of a config that lead to nothing being run, and the headings of
// their sections; false: it holds lines it cannot be sure about.
func withoutHarmless(text string) (rest string, ok bool) {
	var b strings.Builder
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			m := configSection().FindStringSubmatch(line)
			if m == nil {
				return "", false
			}
			section = strings.ToLower(m[1])
			if section != "branch" && section != "remote" {
				b.WriteString(line + "\n")
			}
			continue
		}
		if strings.HasSuffix(line, `\`) {
			return "", false
		}
		m := configKey().FindStringSubmatch(line)
		if m != nil && harmlessLine(section, strings.ToLower(m[1]), m[2]) {
			continue
		}
		if line != "" {
			b.WriteString(section + " " + line + "\n")
		}
	}
	return b.String(), true
}

// harmlessLine: a url leads nowhere but to a server; "ext::sh -c …" would run a program.
func harmlessLine(section, key, value string) bool {
	switch section + "." + key {
	case "branch.remote", "branch.merge", "branch.rebase", "branch.description", "remote.fetch":
		return true
	case "remote.url", "remote.pushurl":
		for _, scheme := range []string{"https://", "ssh://", "git@"} {
			if strings.HasPrefix(value, scheme) && !strings.Contains(value, "/-") && !strings.Contains(value, "@-") {
				return true
			}
		}
	}
	return false
}
