package fingerprint

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// definers are programs that take what they do from a file in their folder. The files are tracked
// whether they are there or not: each could take over from another.
var definers = map[string][]string{
	"make":           {"GNUmakefile", "makefile", "Makefile"},
	"gmake":          {"GNUmakefile", "makefile", "Makefile"},
	"just":           {"justfile", "Justfile", ".justfile"},
	"task":           {"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml"},
	"rake":           {"Rakefile", "rakefile", "Rakefile.rb"},
	"bundle":         {"Gemfile", ".bundle/config"},
	"cargo":          {"Cargo.toml", ".cargo/config.toml", ".cargo/config", "build.rs", "rust-toolchain", "rust-toolchain.toml"},
	"uv":             {"pyproject.toml", "uv.toml", ".python-version"},
	"uvx":            {"pyproject.toml", "uv.toml"},
	"poetry":         {"pyproject.toml", "poetry.toml"},
	"pdm":            {"pyproject.toml", ".pdm.toml", "pdm.toml"},
	"hatch":          {"pyproject.toml", "hatch.toml"},
	"pipenv":         {"Pipfile"},
	"tox":            {"tox.ini", "setup.cfg", "pyproject.toml"},
	"nox":            {"noxfile.py"},
	"pytest":         {"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"},
	"pre-commit":     {".pre-commit-config.yaml"},
	"lefthook":       {"lefthook.yml", "lefthook.yaml", ".lefthook.yml", "lefthook-local.yml"},
	"lint-staged":    {".lintstagedrc", ".lintstagedrc.json", ".lintstagedrc.yaml", ".lintstagedrc.js", "lint-staged.config.js"},
	"composer":       {"composer.json"},
	"mvn":            {"pom.xml", ".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config"},
	"gradle":         {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"},
	"ant":            {"build.xml"},
	"docker-compose": {"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "compose.override.yaml", "docker-compose.override.yml"},
	"direnv":         {".envrc"},
	"go":             {"go.mod", "go.work"},
	"deno":           {"deno.json", "deno.jsonc"},
}

// managers are the package managers of JavaScript.
var managers = []string{"npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx"}

// step follows the file that defines what a program does.
func (f *finder) step(name string, args []string, at scope) {
	dirs := chosenDirs(args, at)
	if slices.Contains(managers, name) {
		f.node(args, dirs, at)
		return
	}
	switch name {
	case "run-parts":
		folderOfScripts(f, args, at)
	case "go":
		goPackages(f, args, at)
	}
	files, ok := definers[name]
	if name == "gradlew" {
		files, ok = definers["gradle"], true
	}
	if !ok {
		return
	}
	for _, dir := range dirs {
		for _, up := range f.upward(dir) { // most of them look upward
			for _, file := range files {
				f.track(filepath.Join(up, file))
			}
			f.track(filepath.Join(up, ".venv", "bin", firstOperand(args)))
		}
		for _, file := range append(chosenFiles(args), files...) {
			f.defined(name, filepath.Join(dir, file), at)
		}
	}
	switch name {
	case "make", "gmake", "just", "pre-commit":
	default:
		f.cannot("what " + name + " loads besides " + strings.Join(files[:min(2, len(files))], " and "))
	}
	if rest := slices.Index(args, "run"); rest >= 0 && (name == "uv" || name == "poetry" || name == "pdm" || name == "pipenv" || name == "hatch") {
		for rest++; rest < len(args) && strings.HasPrefix(args[rest], "-"); rest++ {
		}
		inner := at
		inner.path = ""
		for _, dir := range dirs {
			for _, up := range f.upward(dir) {
				inner.path += filepath.Join(up, ".venv", "bin") + string(filepath.ListSeparator)
			}
		}
		inner.path += at.path
		f.program(args[rest:], inner)
	}
}

// chosenDirs are the folders a step may be defined in: those where it may run, and those it is told.
func chosenDirs(args []string, at scope) []string {
	out := slices.Clone(at.dirs)
	for i, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "-C", "--directory", "--prefix", "--cwd", "--dir", "--project-dir", "--working-directory":
			if value != "" {
				out = append(out, at.paths(value)...)
			}
		}
	}
	return out
}

// chosenFiles are the files a step is told to be defined in.
func chosenFiles(args []string) (out []string) {
	for i, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "-f", "--file", "--makefile", "-c", "--config", "--justfile", "--manifest-path":
			if value != "" {
				out = append(out, value)
			}
		}
	}
	return out
}

func firstOperand(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && a != "run" && !strings.Contains(a, "/") {
			return a
		}
	}
	return ""
}

// upward are a folder and those above it, as far as others may write them.
func (f *finder) upward(dir string) (out []string) {
	for f.below(dir) {
		out = append(out, dir)
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return out
}

// defined follows a file that defines steps, once.
func (f *finder) defined(name, path string, at scope) {
	if f.track(path); f.read[path] || len(f.read) >= maxScripts {
		return
	}
	text, err := readRegular(path, maxScript)
	if err != nil {
		return
	}
	f.read[path] = true
	inner := at.inside(path)
	inner.dirs = []string{filepath.Dir(path)}
	switch name {
	case "make", "gmake", "just":
		f.makefile(string(text), inner)
	case "pre-commit":
		f.preCommit(text, inner)
	case "nox", "pytest":
		if filepath.Ext(path) == ".py" {
			f.pythonImports(string(text), inner.dirs, inner)
		}
	}
}

var includes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:-include|sinclude|include|import)\s+(.*)`) })

// makefile follows what a makefile includes and what its recipes call.
func (f *finder) makefile(text string, at scope) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := includes().FindStringSubmatch(line); m != nil {
			for _, name := range strings.Fields(strings.ReplaceAll(m[1], "'", "")) {
				if strings.Contains(name, "$") {
					f.cannot("what " + at.self + " includes as " + name)
					continue
				}
				matches, err := filepath.Glob(filepath.Join(at.dirs[0], name))
				if err != nil || len(matches) == 0 {
					matches = at.paths(name)
				}
				for _, path := range matches {
					f.defined("make", path, at)
				}
			}
			continue
		}
		recipe, ok := strings.CutPrefix(line, "\t")
		if _, after, inline := strings.Cut(line, ";"); !ok && inline && strings.Contains(line, ":") {
			recipe, ok = after, true
		}
		if !ok && strings.HasPrefix(line, "    ") {
			recipe, ok = strings.TrimSpace(line), true
		}
		if ok {
			recipe = strings.TrimLeft(recipe, " \t@+-")
			f.text(strings.ReplaceAll(recipe, "$$", "$"), at)
		}
	}
}

// preCommit follows the hooks that a configuration of pre-commit takes from the folder itself.
func (f *finder) preCommit(text []byte, at scope) {
	var conf struct {
		Repos []struct {
			Repo  string `yaml:"repo"`
			Hooks []struct {
				Entry string `yaml:"entry"`
			} `yaml:"hooks"`
		} `yaml:"repos"`
	}
	if err := yaml.Unmarshal(text, &conf); err != nil {
		f.cannot("what " + at.self + " runs: it cannot be read")
		return
	}
	for _, r := range conf.Repos {
		for _, h := range r.Hooks {
			if h.Entry != "" {
				f.text(h.Entry, at)
			}
		}
		if r.Repo != "local" && r.Repo != "meta" {
			f.cannot("what the hooks of " + r.Repo + " load")
		}
	}
}

// node follows a package manager of JavaScript: scripts of package.json and programs of packages.
func (f *finder) node(args, dirs []string, at scope) {
	for _, dir := range dirs {
		var bins []string
		for _, up := range f.upward(dir) {
			bins = append(bins, filepath.Join(up, "node_modules", ".bin"))
		}
		for _, up := range f.upward(dir) {
			for _, name := range []string{"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml"} {
				f.track(filepath.Join(up, name))
			}
			inner := at.inside(filepath.Join(up, "package.json"))
			inner.dirs = []string{up}
			inner.path = strings.Join(append(slices.Clone(bins), at.path), string(filepath.ListSeparator))
			f.packageScripts(args, inner)
			for _, a := range args { // npx eslint, yarn eslint
				if a == "" || strings.HasPrefix(a, "-") || strings.Contains(a, "/") {
					continue
				}
				file := filepath.Join(up, "node_modules", ".bin", a)
				f.track(file)
				f.script(file, nodeText, at)
			}
		}
	}
	if len(args) > 0 {
		f.cannot("the packages that " + strings.Join(args, " ") + " loads from node_modules")
	}
}

// packageScripts follows the scripts of a package.json that the arguments name.
func (f *finder) packageScripts(args []string, at scope) {
	text, err := readRegular(at.self, maxScript)
	if err != nil || at.depth > maxDepth {
		return
	}
	var p struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		f.cannot(fmt.Sprintf("what %s runs: %v", at.self, err))
		return
	}
	for _, a := range args {
		for _, name := range []string{"pre" + a, a, "post" + a} {
			key := at.self + "\x00" + name
			if line := p.Scripts[name]; line != "" && !f.read[key] && len(f.read) < maxScripts {
				f.read[key] = true
				f.text(line, at)
			}
		}
	}
}

// readRegular reads a regular file of at most limit bytes, wherever links lead. The file may lie where
// others write: it is opened without waiting.
func readRegular(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return nolink.ReadFile(real, limit)
}
