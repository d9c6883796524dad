package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// caches are variables by which build tools are told where to keep what can be made again, with the
// folder below the cache. Those that only count are set only where they were.
var caches = []struct {
	name, folder string
	only         bool
}{
	{"XDG_CACHE_HOME", "xdg", false},
	{"GOCACHE", "go-build", false},
	{"npm_config_cache", "npm", false},
	{"YARN_CACHE_FOLDER", "yarn", false},
	{"npm_config_store_dir", "pnpm", false},
	{"PIP_CACHE_DIR", "pip", false},
	{"UV_CACHE_DIR", "uv", false},
	{"CCACHE_DIR", "ccache", false},
	{"SCCACHE_DIR", "sccache", false},
	{"DENO_DIR", "deno", false},
	{"BUNDLE_USER_CACHE", "bundle", false},
	{"COMPOSER_CACHE_DIR", "composer", false},
	{"GOLANGCI_LINT_CACHE", "golangci-lint", false},
	{"BUN_INSTALL_CACHE_DIR", "bun", true},
	{"CARGO_TARGET_DIR", "cargo-target", true},
	{"GOTMPDIR", "go-tmp", true},
	{"MYPY_CACHE_DIR", "mypy", true},
	{"NX_CACHE_DIRECTORY", "nx", true},
	{"PDM_CACHE_DIR", "pdm", true},
	{"PIPENV_CACHE_DIR", "pipenv", true},
	{"POETRY_CACHE_DIR", "poetry", true},
	{"PYTHONPYCACHEPREFIX", "pycache", true},
	{"RUFF_CACHE_DIR", "ruff", true},
	{"TURBO_CACHE_DIR", "turbo", true},
	{"YARN_GLOBAL_FOLDER", "yarn-global", true},
}

// environment is what the program sees.
func (c Config) environment(env []string, p *plan) []string {
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
	if c.Cache != "" && !c.FilesFree && !c.ReadOnly {
		for _, v := range caches {
			value, given := lookup(out, v.name)
			if !given && !v.only || given && !p.keepsCache(value) {
				set(v.name, filepath.Join(c.Cache, v.folder))
			}
		}
	}
	for _, kv := range c.Set {
		name, value, _ := strings.Cut(kv, "=")
		set(name, value)
	}
	return out
}

// keepsCache says whether a folder that a variable names can be written inside.
func (p *plan) keepsCache(path string) bool {
	path = clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.IsAbs(path) && p.writable(path)
}

// lookup finds a variable. npm takes its own in any case.
func lookup(env []string, name string) (value string, given bool) {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); sameVariable(n, name) {
			value, given = v, true
		}
	}
	return value, given
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
