package fingerprint

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// program follows a program and its arguments. Words that are not known are empty.
func (f *finder) program(words []string, at scope) {
	if len(words) == 0 || words[0] == "" {
		return
	}
	name := plainName(words[0])
	switch name {
	case ".", "source":
		if len(words) > 1 {
			f.scripts(words[1], shellText, at)
		}
		return
	}
	f.resolve(words[0], at)
	args := words[1:]
	if lang, ok := interpreters[name]; ok {
		f.interpreted(lang, args, at)
	}
	f.step(name, args, at)
}

// plainName is the name of a program without folder, extension and version: python3.11 is python.
func plainName(word string) string {
	base := strings.TrimSuffix(filepath.Base(word), ".exe")
	for _, name := range []string{"python", "pypy", "ruby", "node", "perl", "php", "lua"} {
		if rest, ok := strings.CutPrefix(base, name); ok && strings.Trim(rest, "0123456789.-") == "" {
			return name
		}
	}
	return base
}

// resolve tracks where a program is found, and where another one could be put before it.
func (f *finder) resolve(name string, at scope) {
	if strings.Contains(name, "/") {
		f.scripts(name, unknownText, at)
		return
	}
	for _, dir := range filepath.SplitList(at.path) {
		for _, file := range at.paths(filepath.Join(dir, name)) {
			f.track(file)
			if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				f.script(file, unknownText, at)
				return
			}
		}
	}
}

// language is how a file is read for what it calls.
type language int

const (
	unknownText language = iota
	shellText
	pythonText
	nodeText
	otherText // an interpreter whose files are tracked and not followed
)

// interpreters are programs whose first operand is a script.
var interpreters = map[string]language{
	"sh": shellText, "bash": shellText, "dash": shellText, "zsh": shellText, "ksh": shellText, "ash": shellText,
	"python": pythonText, "pypy": pythonText,
	"node": nodeText, "nodejs": nodeText, "tsx": nodeText, "ts-node": nodeText, "bun": nodeText, "deno": nodeText,
	"ruby": otherText, "perl": otherText, "php": otherText, "lua": otherText, "fish": otherText, "pwsh": otherText,
	"Rscript": otherText, "awk": otherText, "gawk": otherText, "osascript": otherText, "groovy": otherText,
}

// interpreted follows the script an interpreter is given.
func (f *finder) interpreted(lang language, args []string, at scope) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "":
			f.cannot("which script an interpreter is given")
			return
		case lang == pythonText && arg == "-m" && i+1 < len(args):
			f.module(args[i+1], at.dirs, at)
			f.step(args[i+1], args[i+2:], at)
			return
		case lang == pythonText && strings.HasPrefix(arg, "-m") && len(arg) > 2:
			f.module(arg[2:], at.dirs, at)
			return
		case lang == shellText && strings.HasPrefix(arg, "-") && strings.Contains(arg, "c") && !strings.HasPrefix(arg, "--"):
			return // the text is a part of its own
		case lang != shellText && (arg == "-c" || arg == "-e" || arg == "--eval" || arg == "-p" || lang == pythonText && shortWith(arg, "c")):
			if i+1 < len(args) {
				textGiven(f, lang, args[i+1], at)
			}
			return
		case lang == pythonText && (arg == "-W" || arg == "-X"):
			i++
		case takesFile[arg] && i+1 < len(args):
			i++
			f.scripts(args[i], lang, at)
		case arg == "run" && (lang == nodeText):
			continue
		case strings.HasPrefix(arg, "-"):
		default:
			f.scripts(arg, lang, at)
			return
		}
	}
}

// shortWith says of a word that it is some options of one letter, the last of which is the one named.
func shortWith(arg, last string) bool {
	return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, last)
}

// takesFile are options of interpreters whose value is code.
var takesFile = map[string]bool{
	"-r": true, "--require": true, "--import": true, "--loader": true, "--rcfile": true, "--init-file": true, "-f": true, "--file": true,
	"--env-file": true,
}

// scripts tracks and follows a script by a name that may be relative.
func (f *finder) scripts(name string, lang language, at scope) {
	paths := at.paths(name)
	if isPattern(name) {
		paths = append(paths, listed(f, name, at)...)
	}
	for _, path := range paths {
		f.track(path)
		f.script(path, lang, at)
	}
}

// script follows what a script calls, once.
func (f *finder) script(path string, lang language, at scope) {
	if f.read[path] || system(path) {
		return
	}
	if len(f.read) >= maxScripts {
		f.cannot("more scripts than are looked at")
		return
	}
	f.read[path] = true
	text, err := readRegular(path, maxScript)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return // not there, or no text: its content still counts
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		f.track(real)
	}
	if lang == unknownText {
		lang = languageOf(path, text)
	}
	inner := at.inside(path)
	switch lang {
	case shellText:
		f.text(string(text), inner)
	case pythonText:
		f.pythonImports(string(text), []string{filepath.Dir(path)}, inner)
	case nodeText:
		f.nodeImports(string(text), inner)
	case otherText:
		f.cannot("what " + path + " loads")
	}
}

// system reports programs of the system, which nobody less trusted writes.
func system(path string) bool {
	for _, dir := range []string{"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "/usr/lib/", "/opt/homebrew/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// languageOf tells by its first line, then by its name, who reads a script.
func languageOf(path string, text []byte) language {
	if rest, ok := bytes.CutPrefix(text, []byte("#!")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		words := strings.Fields(string(line))
		for len(words) > 1 && (plainName(words[0]) == "env" || strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		if len(words) > 0 {
			if lang, ok := interpreters[plainName(words[0])]; ok {
				return lang
			}
			return otherText
		}
	}
	switch filepath.Ext(path) {
	case ".sh", ".bash", "":
		return shellText
	case ".py":
		return pythonText
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		return nodeText
	}
	return otherText
}

var pythonImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w., \t]+))`)
})

// pythonImports follows modules that lie in the folders Python looks in first. A name that is not
// there is tracked too: a file of that name would be taken before the library's.
func (f *finder) pythonImports(text string, dirs []string, at scope) {
	for _, dir := range filepath.SplitList(f.env["PYTHONPATH"]) {
		if !slices.Contains(dirs, dir) && filepath.IsAbs(dir) {
			dirs = append(slices.Clone(dirs), dir)
		}
	}
	for _, m := range pythonImport().FindAllStringSubmatch(text, 2000) {
		from := dirs
		if m[1] != "" { // relative to the module's own package
			dir := filepath.Dir(at.self)
			for range len(m[1]) - 1 {
				dir = filepath.Dir(dir)
			}
			from = []string{dir}
		}
		if m[2] != "" {
			f.module(m[2], from, at)
		}
		if m[1]+m[2] != "" {
			for _, name := range strings.Split(m[3], ",") {
				if words := strings.Fields(name); len(words) > 0 && words[0] != "import" {
					f.module(strings.Trim(m[2]+"."+words[0], "."), from, at)
				}
			}
			continue
		}
		for _, name := range strings.Split(m[4], ",") {
			if words := strings.Fields(name); len(words) > 0 {
				f.module(words[0], from, at)
			}
		}
	}
}

// module follows a Python module by its dotted name.
func (f *finder) module(name string, dirs []string, at scope) {
	parts := strings.Split(name, ".")
	for _, dir := range dirs {
		for i := range parts {
			base := filepath.Join(append([]string{dir}, parts[:i+1]...)...)
			files := []string{base + ".py", filepath.Join(base, "__init__.py")}
			if i == len(parts)-1 {
				files = append(files, filepath.Join(base, "__main__.py"))
			}
			for _, file := range files {
				if !f.below(file) || (i > 0 && !isDir(filepath.Dir(file))) {
					continue
				}
				f.track(file)
				if !f.read[file] && isRegular(file) {
					inner := at.inside(file)
					text, err := readRegular(file, maxScript)
					if f.read[file] = true; err == nil && inner.depth < maxScripts && len(f.read) < maxScripts {
						f.pythonImports(string(text), dirs, inner)
					}
				}
			}
		}
	}
}

var nodeImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:require|import)\\s*\\(\\s*['\"`](\\.{1,2}/[^'\"`]*)['\"`]|(?:from|import)\\s*['\"](\\.{1,2}/[^'\"]*)['\"]")
})

// nodeImports follows what a script requires or imports by a relative name.
func (f *finder) nodeImports(text string, at scope) {
	for _, m := range nodeImport().FindAllStringSubmatch(text, 2000) {
		base := filepath.Join(filepath.Dir(at.self), m[1]+m[2])
		for _, file := range []string{base, base + ".js", base + ".mjs", base + ".cjs", base + ".ts", base + ".json", filepath.Join(base, "index.js"), filepath.Join(base, "index.ts")} {
			if isRegular(file) {
				f.track(file)
				f.script(file, nodeText, at)
			}
		}
	}
	if strings.Contains(text, "node_modules") || nodePackages().MatchString(text) {
		f.cannot("the packages that " + at.self + " loads")
	}
}

var nodePackages = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:require\s*\(\s*|from\s*|import\s*)['"](?:@[\w-]+/)?[a-zA-Z][\w./-]*['"]`)
})

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func isRegular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
