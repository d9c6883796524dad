package confine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// cacheFolder is the folder of a project's build caches. Its name holds a hash of the path, for two
// projects can have one key, and what one of them builds the other must not use.
func (p *profiler) cacheFolder() string {
	start := p.Places.Start
	if real, err := filepath.EvalSymlinks(start); err == nil {
		start = real
	}
	sum := sha256.Sum256([]byte(start))
	key := p.ProjectKey()
	return filepath.Join(p.Places.Home, "cache", "build", key[:min(len(key), 120)]+"-"+hex.EncodeToString(sum[:8]))
}

// when says when a command gets a folder of its own in the place of a cache.
type when uint8

const (
	always    when = iota
	used           // where the program's own folder is there, or the variable names one
	onlyNamed      // where the variable names one: else the program asks one of the others
)

// cache is a variable by which a program is told where to keep what can be made or fetched again.
type cache struct {
	name   string
	folder string   // below the project's
	when   when     //
	home   string   // where the program keeps it otherwise, below home
	feed   []string // what a new folder takes over from the machine's: small files are copied, large ones linked; ".": all
	also   string   // a variable by which the program reads the machine's as well
	signs  []string // files of a project that uses it: others take nothing over unless the variable is given; none: all do
}

// cacheTable declares the caches of programs. What such a program runs comes from its cache, so the machine's
// own is never writable inside, and what one project puts into its own no other one reads. Folders that hold
// installed programs and no cache (RUSTUP_HOME, PNPM_HOME, COMPOSER_HOME, NVM_DIR, JAVA_HOME) stay as they
// are, to be read.
func cacheTable() []cache {
	return []cache{
		{name: "XDG_CACHE_HOME", folder: "xdg"},
		{name: "GOCACHE", folder: "go-build"},
		{name: "GOTMPDIR", folder: "go-tmp", when: onlyNamed},
		{name: "GOLANGCI_LINT_CACHE", folder: "golangci-lint"},
		{name: "npm_config_cache", folder: "npm"},
		{name: "npm_config_store_dir", folder: "pnpm"},
		{name: "YARN_CACHE_FOLDER", folder: "yarn"},
		{name: "YARN_GLOBAL_FOLDER", folder: "yarn-global", when: onlyNamed},
		{name: "BUN_INSTALL_CACHE_DIR", folder: "bun", when: used, home: ".bun/install/cache"},
		{name: "DENO_DIR", folder: "deno"},
		{name: "COREPACK_HOME", folder: "corepack", when: used, home: ".cache/node/corepack", feed: []string{"v1", "lastKnownGood.json"}, signs: []string{"package.json"}},
		{name: "NX_CACHE_DIRECTORY", folder: "nx", when: onlyNamed},
		{name: "TURBO_CACHE_DIR", folder: "turbo", when: onlyNamed},
		{name: "ELECTRON_CACHE", folder: "electron", when: used, home: ".cache/electron", feed: []string{"."}, signs: []string{"package.json"}},
		{name: "electron_config_cache", folder: "electron", when: onlyNamed, feed: []string{"."}},
		{name: "ELECTRON_BUILDER_CACHE", folder: "electron-builder", when: used, home: ".cache/electron-builder", feed: []string{"."}, signs: []string{"package.json"}},
		{name: "PLAYWRIGHT_BROWSERS_PATH", folder: "playwright", when: used, home: ".cache/ms-playwright", feed: []string{"."}, signs: []string{"package.json", "pyproject.toml", "requirements*.txt", "pom.xml", "*.csproj"}},
		{name: "PUPPETEER_CACHE_DIR", folder: "puppeteer", when: used, home: ".cache/puppeteer", feed: []string{"."}, signs: []string{"package.json"}},
		{name: "CYPRESS_CACHE_FOLDER", folder: "cypress", when: used, home: ".cache/Cypress", feed: []string{"."}, signs: []string{"package.json"}},
		{name: "PIP_CACHE_DIR", folder: "pip"},
		{name: "UV_CACHE_DIR", folder: "uv"},
		{name: "POETRY_CACHE_DIR", folder: "poetry", when: onlyNamed},
		{name: "PDM_CACHE_DIR", folder: "pdm", when: onlyNamed},
		{name: "PIPENV_CACHE_DIR", folder: "pipenv", when: onlyNamed},
		{name: "PRE_COMMIT_HOME", folder: "pre-commit", when: onlyNamed},
		{name: "PYTHONPYCACHEPREFIX", folder: "pycache", when: onlyNamed},
		{name: "MYPY_CACHE_DIR", folder: "mypy", when: onlyNamed},
		{name: "RUFF_CACHE_DIR", folder: "ruff", when: onlyNamed},
		{name: "PYLINTHOME", folder: "pylint", when: onlyNamed},
		{name: "MPLCONFIGDIR", folder: "matplotlib", when: onlyNamed, feed: []string{"matplotlibrc"}},
		{name: "NUMBA_CACHE_DIR", folder: "numba", when: onlyNamed},
		{name: "HF_HOME", folder: "huggingface", when: used, home: ".cache/huggingface", feed: []string{"hub", "datasets", "modules"}, signs: []string{"*.py", "*.ipynb", "pyproject.toml", "requirements*.txt"}},
		{name: "TORCH_HOME", folder: "torch", when: used, home: ".cache/torch", feed: []string{"."}, signs: []string{"*.py", "*.ipynb", "pyproject.toml", "requirements*.txt"}},
		{name: "CARGO_HOME", folder: "cargo-home", when: used, home: ".cargo", feed: []string{"config.toml", "config", "registry/index", "registry/cache"}, signs: []string{"Cargo.toml"}},
		{name: "CARGO_TARGET_DIR", folder: "cargo-target", when: onlyNamed},
		{name: "CCACHE_DIR", folder: "ccache"},
		{name: "SCCACHE_DIR", folder: "sccache"},
		{name: "ZIG_GLOBAL_CACHE_DIR", folder: "zig", when: onlyNamed},
		{name: "GRADLE_USER_HOME", folder: "gradle", when: used, home: ".gradle", feed: []string{"wrapper/dists"}, signs: []string{"build.gradle*", "settings.gradle*", "gradlew"}},
		{name: "NUGET_PACKAGES", folder: "nuget", when: used, home: ".nuget/packages", also: "NUGET_FALLBACK_PACKAGES"},
		{name: "GEM_HOME", folder: "gem", when: onlyNamed, also: "GEM_PATH"},
		{name: "BUNDLE_PATH", folder: "bundle-path", when: onlyNamed, feed: []string{"."}},
		{name: "BUNDLE_USER_CACHE", folder: "bundle"},
		{name: "COMPOSER_CACHE_DIR", folder: "composer"},
		{name: "PUB_CACHE", folder: "pub", when: used, home: ".pub-cache", feed: []string{"hosted", "hosted-hashes"}, signs: []string{"pubspec.yaml"}},
		{name: "TF_PLUGIN_CACHE_DIR", folder: "terraform", when: onlyNamed, feed: []string{"."}},
		{name: "HELM_CACHE_HOME", folder: "helm", when: onlyNamed, feed: []string{"repository"}},
	}
}

// caches gives the command folders of its own in the place of those that it cannot write.
func (p *profiler) caches(cfg *sandbox.Config, env []string) error {
	if cfg.ReadOnly || cfg.FilesFree || cfg.Cache == "" {
		return nil
	}
	writes := writable(cfg.Write)
	for _, c := range cacheTable() {
		if err := p.cache(cfg, env, c, writes); err != nil {
			return err
		}
	}
	p.goModules(cfg, env, writes)
	return p.maven(cfg, env, writes)
}

func (p *profiler) cache(cfg *sandbox.Config, env []string, c cache, writes func(string) bool) error {
	host := variable(env, c.name)
	if c.folder == "go-build" {
		host = cmp.Or(host, goVariable(env, p.Places.UserHome, c.name))
	}
	given := host != ""
	if given && (!filepath.IsAbs(host) || writes(host)) || !given && c.when == onlyNamed {
		return nil
	}
	if !given && c.home != "" {
		host = p.inHome(c.home)
	}
	if !given && c.when == used && (!isFolder(host) || writes(host)) {
		return nil
	}
	to := filepath.Join(cfg.Cache, c.folder)
	cfg.Set = append(cfg.Set, c.name+"="+to)
	if host == "" || !isFolder(host) {
		return nil
	}
	if c.also != "" {
		cfg.Set = append(cfg.Set, c.also+"="+strings.Join(append([]string{host}, filepath.SplitList(variable(env, c.also))...), string(filepath.ListSeparator)))
		show(cfg, host)
	}
	if c.name == "GRADLE_USER_HOME" && isFolder(filepath.Join(host, "caches", "modules-2")) {
		cfg.Set = append(cfg.Set, "GRADLE_RO_DEP_CACHE="+filepath.Join(host, "caches"))
		show(cfg, filepath.Join(host, "caches"))
	}
	for _, part := range c.feed { // what was linked to lies there
		show(cfg, filepath.Join(host, part))
	}
	if _, err := os.Lstat(to); err == nil || len(c.feed) == 0 || !given && !p.shows(c.signs) {
		return nil
	}
	return seed(host, to, c.feed)
}

// shows says whether one of some files is in the project, or in a folder of it: what others use is not worth
// the time to take it over.
func (p *profiler) shows(signs []string) bool {
	start := escaped(p.Places.Start)
	return len(signs) == 0 || slices.ContainsFunc(signs, func(sign string) bool {
		return slices.ContainsFunc([]string{filepath.Join(start, sign), filepath.Join(start, "*", sign)}, func(pattern string) bool {
			found, err := filepath.Glob(pattern)
			return err == nil && len(found) > 0
		})
	})
}

// inHome is where a program keeps something that is below home.
func (p *profiler) inHome(path string) string {
	if rest, ok := strings.CutPrefix(path, ".cache/"); ok {
		if dir := p.Env().Value("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, rest)
		}
	}
	return filepath.Join(p.Places.UserHome, path)
}

// goModules gives the command a folder of modules, fed from what the machine has downloaded, and one for what
// it installs. They are Go's own defaults, or what the environment or "go env -w" says.
func (p *profiler) goModules(cfg *sandbox.Config, env []string, writes func(string) bool) {
	value := func(name string) string { return goVariable(env, p.Places.UserHome, name) }
	gopath := filepath.Join(p.Places.UserHome, "go")
	if list := filepath.SplitList(value("GOPATH")); len(list) > 0 && filepath.IsAbs(list[0]) {
		gopath = list[0]
	}
	host := cmp.Or(value("GOMODCACHE"), filepath.Join(gopath, "pkg", "mod"))
	if bin := cmp.Or(value("GOBIN"), filepath.Join(gopath, "bin")); filepath.IsAbs(bin) && !writes(bin) {
		cfg.Set = append(cfg.Set, "GOBIN="+filepath.Join(cfg.Cache, "go-bin"))
	}
	if !filepath.IsAbs(host) || writes(host) {
		return
	}
	proxy := cmp.Or(value("GOPROXY"), "https://proxy.golang.org,direct")
	if downloads := filepath.Join(host, "cache", "download"); isFolder(downloads) {
		show(cfg, downloads)
		proxy = "file://" + filepath.ToSlash(downloads) + "," + proxy
	}
	cfg.Set = append(cfg.Set,
		"GOMODCACHE="+filepath.Join(cfg.Cache, "go-mod"), "GOPROXY="+proxy,
		"GOFLAGS="+strings.TrimSpace(value("GOFLAGS")+" -modcacherw")) // so that it can be taken away
}

// maven gives the command a home for maven, whose repository has no variable: with what the machine has
// downloaded, and of the settings the mirrors alone, for the rest signs in.
func (p *profiler) maven(cfg *sandbox.Config, env []string, writes func(string) bool) error {
	host := filepath.Join(p.Places.UserHome, ".m2")
	if !isFolder(host) || writes(host) {
		return nil
	}
	home := filepath.Join(cfg.Cache, "maven")
	if strings.ContainsAny(home, " \t") {
		return nil // MAVEN_OPTS is split at blanks
	}
	options := strings.TrimSpace(variable(env, "MAVEN_OPTS") + " -Duser.home=" + home)
	if repository := filepath.Join(host, "repository"); isFolder(repository) {
		show(cfg, repository)
		options += " -Dmaven.repo.local=" + filepath.Join(home, "repository")
	}
	cfg.Set = append(cfg.Set, "MAVEN_OPTS="+options)
	if _, err := os.Lstat(home); err != nil && p.shows([]string{"pom.xml", ".mvn"}) {
		if err := seed(host, home, []string{"repository"}); err != nil {
			return err
		}
	}
	return mirrors(filepath.Join(host, "settings.xml"), filepath.Join(home, ".m2", "settings.xml"))
}

// goVariable is a variable of Go: what the environment says, or what "go env -w" has written.
func goVariable(env []string, home, name string) string {
	if v := variable(env, name); v != "" {
		return v
	}
	file := variable(env, "GOENV")
	switch {
	case file == "off":
		return ""
	case file == "":
		file = filepath.Join(cmp.Or(variable(env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "go", "env")
	}
	return settled(file, name)
}

// variable is the value of a variable; the last one counts. npm takes its own in any case.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if n, value, _ := strings.Cut(kv, "="); n == name || strings.HasPrefix(name, "npm_config_") && strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// show has the command see a folder that lies where it sees one of its own otherwise.
func show(cfg *sandbox.Config, path string) {
	if isFolder(path) {
		cfg.Show = append(cfg.Show, path)
	}
}

// writable returns what says whether a command may write a folder, so that it needs none in its place. The
// links of the roots are followed when it is asked for the first time, and not again.
func writable(roots []string) func(path string) bool {
	real := sync.OnceValue(func() []string {
		out := make([]string, len(roots))
		for i, root := range roots {
			out[i] = root
			if to, err := filepath.EvalSymlinks(root); err == nil {
				out[i] = to
			}
		}
		return out
	})
	return func(path string) bool {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			path = to
		}
		return slices.ContainsFunc(real(), func(root string) bool { return within(path, root) })
	}
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
