//go:build linux || darwin

package fingerprint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/sys/fingerprint"
)

// tree makes files below a new folder; a name that ends in "*" is made executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		plain, exec := strings.CutSuffix(name, "*")
		path := filepath.Join(root, plain)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if exec {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func command(root, text string, env ...string) fingerprint.Command {
	return fingerprint.Command{
		Text: text, Dir: root, Roots: []string{root},
		Env: append([]string{"PATH=/usr/bin:/bin", "HOME=/home/u", "CLAUDE_PROJECT_DIR=" + root}, env...),
	}
}

// project holds one of everything that a command can lead to.
var project = map[string]string{
	"scripts/check.sh*":        "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nmake -C tools lint\npython3 tools/deep.py\n",
	"scripts/lib.sh":           "LIB=1\n",
	"scripts/rooted.sh*":       "#!/usr/bin/env bash\nset -eu\nHERE=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\nsource \"$HERE/lib.sh\"\n",
	"tools/Makefile":           "include common.mk\nlint:\n\t@../scripts/lint.sh $$HOME\n",
	"tools/common.mk":          "X=1\n",
	"scripts/lint.sh*":         "#!/bin/sh\n",
	"tools/deep.py":            "import helper, os\nfrom pkg.inner import x\n",
	"tools/helper.py":          "import json\n",
	"tools/pkg/__init__.py":    "",
	"tools/pkg/inner.py":       "from . import other\n",
	"tools/pkg/other.py":       "",
	"package.json":             `{"scripts": {"prelint": "sh scripts/lib.sh", "lint": "eslint . && node tools/run.js", "other": "sh scripts/lint.sh"}}`,
	"node_modules/eslint.js*":  "#!/usr/bin/env node\n",
	"tools/run.js":             "const a = require('./part'); import './more.mjs'\n",
	"tools/part.js":            "",
	"tools/more.mjs":           "",
	".pre-commit-config.yaml":  "repos:\n- repo: local\n  hooks:\n  - id: a\n    entry: scripts/lint.sh --all\n- repo: https://example.test/x\n  hooks: [{id: b}]\n",
	"pyproject.toml":           "",
	".venv/bin/ruff*":          "#!/usr/bin/env python3\n",
	"notes.md":                 "text",
	"conf.yaml":                "a: b",
	"log":                      "",
	"bin/planted*":             "#!/bin/sh\n",
	"deep/er/keep":             "",
	"plain/tool*":              "\x7fELF\x00",
	"mod/__main__.py":          "",
	"scripts/with space.sh*":   "",
	"node_modules/.bin/keep":   "",
	"node_modules/.bin/other*": "#!/bin/sh\n",
}

func TestKF145_WhatACommandLeadsTo(t *testing.T) {
	root := tree(t, project)
	if err := os.Symlink("../eslint.js", filepath.Join(root, "node_modules/.bin/eslint")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		env  string
		want []string // must be among the files
		not  []string
	}{
		{text: `"$CLAUDE_PROJECT_DIR/scripts/check.sh"`, want: []string{"scripts/check.sh", "scripts/lib.sh", "tools/Makefile", "tools/GNUmakefile", "tools/common.mk", "scripts/lint.sh", "tools/deep.py", "tools/helper.py", "tools/pkg/inner.py", "tools/pkg/other.py", "tools/json.py"}},
		{text: `"${CLAUDE_PROJECT_DIR}"/scripts/rooted.sh`, want: []string{"scripts/rooted.sh", "scripts/lib.sh"}},
		{text: `bash -eu scripts/lint.sh`, want: []string{"scripts/lint.sh"}},
		{text: `sh -c '. ./scripts/lib.sh; exec scripts/lint.sh'`, want: []string{"scripts/lib.sh", "scripts/lint.sh"}},
		{text: `cd tools && make lint`, want: []string{"tools/Makefile", "Makefile", "scripts/lint.sh"}},
		{text: `timeout 5 make -C "$CLAUDE_PROJECT_DIR/tools"`, want: []string{"tools/Makefile", "tools/GNUmakefile"}},
		{text: `npm run lint --silent`, want: []string{"package.json", "scripts/lib.sh", "tools/run.js", "tools/part.js", "tools/more.mjs", "node_modules/.bin/eslint", "node_modules/eslint.js", ".npmrc"}, not: []string{"scripts/lint.sh"}},
		{text: `yarn other`, want: []string{"package.json", "scripts/lint.sh", ".yarnrc.yml"}},
		{text: `npx eslint .`, want: []string{"node_modules/.bin/eslint", "package.json"}},
		{text: `pre-commit run`, want: []string{".pre-commit-config.yaml", "scripts/lint.sh"}},
		{text: `uv run ruff check`, want: []string{"pyproject.toml", ".venv/bin/ruff", "uv.toml"}},
		{text: `python3 -m mod`, want: []string{"mod/__main__.py", "mod.py", "mod/__init__.py"}},
		{text: `python3.11 tools/deep.py`, want: []string{"tools/deep.py", "tools/helper.py", "tools/os.py"}},
		{text: `node tools/run.js`, want: []string{"tools/run.js", "tools/part.js"}},
		{text: `planted x`, env: "PATH=" + root + "/bin:/usr/bin", want: []string{"bin/planted"}},
		{text: `git status`, env: "PATH=" + root + "/bin:/usr/bin", want: []string{"bin/git"}},
		{text: `git status`, env: "PATH=bin:/usr/bin", want: []string{"bin/git"}},
		{text: `mytool --config=conf.yaml notes.md`, want: []string{"conf.yaml"}, not: []string{"notes.md"}},
		{text: `cat conf.yaml`, not: []string{"conf.yaml"}},
		{text: `flock log sh -c 'cat >>log'`, not: []string{"log"}},
		{text: `X=scripts; "$X/lint.sh"`, want: []string{"scripts/lint.sh"}},
		{text: `"${MISSING:-scripts}/lint.sh"`, want: []string{"scripts/lint.sh"}},
		{text: `./plain/tool`, want: []string{"plain/tool"}},
		{text: `scripts/with\ space.sh`, want: []string{"scripts/with space.sh"}},
		{text: `scripts/notyet.sh`, want: []string{"scripts/notyet.sh"}},
		{text: `if true; then ( scripts/lint.sh ) & fi; wait`, want: []string{"scripts/lint.sh"}},
		{text: `$(git rev-parse --show-toplevel)/scripts/lint.sh`, want: nil},
		{text: `echo '{}' | jq . >out.json`, not: []string{"out.json"}},
	} {
		cmd := command(root, c.text)
		if c.env != "" {
			cmd.Env = append(cmd.Env, c.env)
		}
		got := cmd.Inputs()
		for _, name := range c.want {
			if !slices.Contains(got.Files, filepath.Join(root, name)) {
				t.Errorf("%s: %s is not among %q", c.text, name, got.Files)
			}
		}
		for _, name := range c.not {
			if slices.Contains(got.Files, filepath.Join(root, name)) {
				t.Errorf("%s: %s is among %q", c.text, name, got.Files)
			}
		}
	}
}

// What is not named but listed: by a pattern, a loop, a folder, the packages of a module, the imports of a text.
func TestKF145_WhatIsListed(t *testing.T) {
	root := tree(t, map[string]string{
		"go.mod": "module example.test/m\n", "tools/h/main.go": "package main\n\nimport (\n\t\"fmt\"\n\tx \"example.test/m/inner\" // ours\n\t\"dep.test/v\"\n)\n", "tools/h/asm.s": "",
		"inner/inner.go": "package inner\nimport \"example.test/m/deeper\"\n", "deeper/d.go": "package deeper\n", "vendor/dep.test/v/v.go": "package v\n", "other/o.go": "package other\n",
		"hooks.d/a.sh*": "#!/bin/sh\n. ./lib.sh\n", "hooks.d/b*": "#!/usr/bin/env python3\nimport helper\n", "lib.sh": "", "data/d.py": "", "foo.py": "import bar\n", "bar.py": "", "more/late.py": "", "conf.d/1.sh": "", "part.js": "",
	})
	for _, c := range []struct {
		text      string
		want, not []string
	}{
		{`go run ./tools/h --flag`, []string{"tools/h/main.go", "tools/h/asm.s", "inner/inner.go", "deeper/d.go", "vendor/dep.test/v/v.go", "go.mod"}, []string{"other/o.go"}},
		{`go run tools/h/main.go`, []string{"tools/h/main.go", "inner/inner.go"}, nil},
		{`cd tools && go run -tags x ./h`, []string{"tools/h/main.go"}, nil},
		{`go test ./...`, []string{"other/o.go", "deeper/d.go"}, nil},
		{`go -C tools run ./h`, []string{"tools/h/main.go"}, nil},
		{`go -C tools version`, nil, []string{"tools/h/main.go"}},
		{`for f in hooks.d/*; do "$f"; done`, []string{"hooks.d/a.sh", "hooks.d/b", "lib.sh", "hooks.d/helper.py"}, nil},
		{`for f in hooks.d/*.sh; do [ -x "$f" ] && sh -e "${f}" x; done`, []string{"hooks.d/a.sh", "lib.sh"}, []string{"hooks.d/b"}},
		{`D=hooks.d; for f in "$D"/*; do . "$f"; done`, []string{"hooks.d/a.sh"}, nil},
		{`for f in data/*; do cat "$f"; ruff check $f; done`, nil, []string{"data/d.py"}},
		{`for name in a.sh b; do ./hooks.d/$name; done`, []string{"hooks.d/a.sh", "hooks.d/b"}, nil},
		{`run-parts hooks.d`, []string{"hooks.d/a.sh", "hooks.d/b"}, nil},
		{`cat conf.d/*.sh | sh`, []string{"conf.d/1.sh"}, nil},
		{`. conf.d/*.sh`, []string{"conf.d/1.sh"}, nil},
		{`python3 -c "import foo"`, []string{"foo.py", "bar.py", "foo/__init__.py"}, nil},
		{`python3 -W ignore -c "import sys; from foo import x"`, []string{"foo.py", "bar.py"}, nil},
		{`python3 -Ic "x = 1; import foo"`, []string{"foo.py"}, nil},
		{`node -e "require('./part')"`, []string{"part.js"}, nil},
	} {
		got := command(root, c.text, "PYTHONPATH="+root+"/more").Inputs()
		for _, name := range c.want {
			if !slices.Contains(got.Files, filepath.Join(root, name)) {
				t.Errorf("%s: %s is not among %q", c.text, name, got.Files)
			}
		}
		for _, name := range c.not {
			if slices.Contains(got.Files, filepath.Join(root, name)) {
				t.Errorf("%s: %s is among %q", c.text, name, got.Files)
			}
		}
		if text := strings.Join(got.Unknown, "\n"); strings.Contains(text, "which program") || strings.Contains(text, "which script") {
			t.Errorf("%s: %s", c.text, text)
		}
	}
	if got := command(root, `python3 -c "import late"`, "PYTHONPATH="+root+"/more").Inputs(); !slices.Contains(got.Files, root+"/more/late.py") {
		t.Errorf("PYTHONPATH: %q", got.Files)
	}
}

func TestKF145_WhatAShellIsFed(t *testing.T) {
	for _, text := range []string{"sh < cmd.txt", "cat cmd.txt | sh", "$(cat cmd.txt)", "eval \"$(cat cmd.txt)\"", "eval `cat cmd.txt`", "bash -s x < cmd.txt", "python3 - < cmd.txt", "cat cmd.txt | xargs -n1 sh -c"} {
		root := tree(t, map[string]string{"cmd.txt": "true\n"})
		if got := command(root, text).Inputs(); !slices.Contains(got.Files, filepath.Join(root, "cmd.txt")) {
			t.Errorf("%s: %v", text, got.Files)
		}
	}
	root := tree(t, map[string]string{"cmd.txt": "true\n"})
	if got := command(root, "cat cmd.txt; grep x cmd.txt").Inputs(); slices.Contains(got.Files, filepath.Join(root, "cmd.txt")) {
		t.Errorf("only read: %v", got.Files)
	}
}

func TestKF145_WordsWithoutAShell(t *testing.T) {
	root := tree(t, project)
	cmd := fingerprint.Command{Words: []string{"bash", "scripts/check.sh"}, Dir: root, Roots: []string{root}, Env: []string{"PATH=/usr/bin"}}
	if got := cmd.Inputs().Files; !slices.Contains(got, filepath.Join(root, "scripts/lib.sh")) {
		t.Errorf("%q", got)
	}
}

func TestKF145_OnlyWhatOthersMayWrite(t *testing.T) {
	root := tree(t, project)
	cmd := command(root, "scripts/check.sh")
	cmd.Roots = []string{filepath.Join(root, "tools")}
	for _, f := range cmd.Inputs().Files {
		if !strings.HasPrefix(f, filepath.Join(root, "tools")+"/") {
			t.Errorf("%s lies outside", f)
		}
	}
	cmd.Roots = nil
	if got := cmd.Inputs().Files; len(got) > 0 {
		t.Errorf("without such folders: %q", got)
	}
}

func TestKF145_WhatCannotBeKnownIsSaid(t *testing.T) {
	root := tree(t, project)
	for text, want := range map[string]string{
		`"$NOBODY" x`:                        "which program",
		`perl -e 'require x'`:                "as text",
		`for f in $(pick); do sh "$f"; done`: "goes through",
		`npm run lint`:                       "node_modules",
		`pre-commit run`:                     "example.test",
		`ruby scripts/lib.sh`:                "what " + root + "/scripts/lib.sh loads",
		`sh "$(mktemp)"`:                     "which script",
		`if then`:                            "cannot be read",
		`make -f "$(pick)"`:                  "",
		`pytest -q`:                          "what pytest loads",
		`eval "$(curl example.test)"`:        "",
	} {
		got := command(root, text).Inputs().Unknown
		if want != "" && !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s: %q does not say %q", text, got, want)
		}
	}
	if got := command(root, "scripts/lint.sh").Inputs().Unknown; len(got) > 0 {
		t.Errorf("a plain script: %q", got)
	}
}

func TestKF145_EndlessScriptsEnd(t *testing.T) {
	root := tree(t, map[string]string{
		"a.sh*": "#!/bin/sh\n./b.sh; make all\n", "b.sh*": "#!/bin/sh\n./a.sh\n", "Makefile": "include Makefile\nall:\n\t./a.sh; make all\n",
		"package.json": `{"scripts": {"a": "npm run b", "b": "npm run a"}}`, "x.py": "import y", "y.py": "import x",
	})
	for _, text := range []string{"./a.sh", "make all", "npm run a", "python3 x.py"} {
		if got := command(root, text).Inputs().Files; len(got) == 0 {
			t.Errorf("%s: nothing found", text)
		}
	}
}

func TestKF145_EveryWayToChangeAFileShows(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"written": func(p string) error { return os.WriteFile(p, []byte("other"), 0o755) },
		"gone":    os.Remove,
		"exchanged by a rename": func(p string) error {
			if err := os.WriteFile(p+"2", []byte("other"), 0o755); err != nil {
				return err
			}
			return os.Rename(p+"2", p)
		},
		"exchanged by a link": func(p string) error {
			if err := os.Rename(p, p+"2"); err != nil {
				return err
			}
			return os.Symlink(p+"2", p)
		},
		"its folder exchanged by a link": func(p string) error {
			dir := filepath.Dir(p)
			if err := os.Rename(dir, dir+"2"); err != nil {
				return err
			}
			return os.Symlink(dir+"2", dir)
		},
		"became a folder": func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Mkdir(p, 0o755)
		},
		"became a pipe": func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return syscall.Mkfifo(p, 0o644)
		},
		"a link to nowhere": func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Symlink("/nonexistent/x", p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"d/s.sh*": "one"})
			path := filepath.Join(root, "d/s.sh")
			before := fingerprint.Take([]string{path})
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			after := fingerprint.Take([]string{path})
			if before[path].Digest == after[path].Digest {
				t.Errorf("the change does not show: %+v", after)
			}
			if after[path].Digest != "" && after[path].Changed.Before(before[path].Changed) {
				t.Errorf("changed %v, after %v", after[path].Changed, before[path].Changed)
			}
		})
	}
}

func TestPrintsOfWhatDidNotChange(t *testing.T) {
	root := tree(t, map[string]string{"s.sh": "one"})
	path := filepath.Join(root, "s.sh")
	before := fingerprint.Take([]string{path, path + "2"})
	if err := os.WriteFile(path, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	after := fingerprint.Take([]string{path, path + "2"})
	if d := cmp.Diff(before[path].Digest, after[path].Digest); d != "" || after[path+"2"].Digest != "" {
		t.Errorf("%s %+v", d, after)
	}
}

func FuzzInputs(f *testing.F) {
	root, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"make -C x lint", `"$CLAUDE_PROJECT_DIR/a.sh" "$(dirname "$0")"`, "npm run a && uv run --with x y", "python -m a.b.c", ". ${X:-y}/z", "sh -c 'sh -c \"a\"'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range command(root, text).Inputs().Files {
			if !filepath.IsAbs(file) || !strings.HasPrefix(file, root) {
				t.Errorf("%q leads to %q", text, file)
			}
		}
	})
}
