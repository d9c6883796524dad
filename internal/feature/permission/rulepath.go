package permission

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// RulePath is the pattern of a Read or Edit rule as one absolute path, perhaps with wildcards, so that
// a sandbox can enforce for every program what the rule says of files. A bare name of a deny rule,
// which holds at any depth, comes back below "**". ok is false for a rule about no path.
func RulePath(r Rule, dirs Dirs) (p string, ok bool) {
	parsed, err := ParseRule(r.Text)
	if err != nil || parsed.Specifier == "" || (parsed.Tool != "Read" && parsed.Tool != "Edit") {
		return "", false
	}
	c := compiler{out: &Rules{}, env: Env{Dirs: dirs}}
	anchor, rest := pathpattern.SplitAnchor(parsed.Specifier)
	base := c.base(anchor, r)
	if base == "" {
		return "", false
	}
	bare := anchor == pathpattern.AtCwd && !strings.HasPrefix(parsed.Specifier, "./") && !strings.Contains(strings.Trim(rest, "/"), "/")
	rest = strings.Trim(rest, "/")
	if bare && rest != "**" && rest != "" {
		rest = "**/" + rest
	}
	return path.Join(base, rest), true
}
