package sandbox

import (
	"slices"
	"strings"
)

// environment is what the program sees.
func (c Config) environment(env []string) []string {
	out := make([]string, 0, len(env)+32)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !Matches(name, hidden) && !Matches(name, c.DropEnv) && !slices.Contains(proxyVars, name) {
			out = append(out, kv)
		}
	}
	set := func(name, value string) { out = append(without(out, name), name+"="+value) }
	set("IS_SANDBOX", "1")
	if c.Temp != "" && !c.FilesFree {
		set("TMPDIR", c.Temp)
	}
	for _, kv := range c.Set {
		name, value, _ := strings.Cut(kv, "=")
		set(name, value)
	}
	return out
}

func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(kv string) bool {
		n, _, _ := strings.Cut(kv, "=")
		return sameVariable(n, name)
	})
}

func sameVariable(a, b string) bool {
	return a == b || strings.HasPrefix(b, "npm_config_") && strings.EqualFold(a, b)
}
