package fingerprint

import (
	"bytes"
	"cmp"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// What a command runs is often not named but listed: by a pattern, by a loop over one, by a folder of
// scripts, by the packages of a module.

// maxListed bounds how many files a pattern or a folder stands for.
const maxListed = 200

// maxPatterns bounds how many names of one path may be patterns.
const maxPatterns = 3

// listed are the files that a path with a pattern stands for now, as far as others may write them.
func listed(f *finder, path string, at scope) []string {
	var out []string
	for _, pattern := range at.paths(path) {
		names := strings.Split(pattern, "/")
		first := slices.IndexFunc(names, isPattern)
		if first < 0 || !f.below(cmp.Or(strings.Join(names[:first], "/"), "/")) {
			continue
		}
		if n := len(slices.DeleteFunc(names[first:], func(n string) bool { return !isPattern(n) })); n > maxPatterns {
			f.cannot("what " + visible.ExactLine(path) + " stands for")
			continue
		}
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // then the shell takes it for a name, which is tracked
		}
		if len(matches) > maxListed {
			f.cannot("all that " + visible.ExactLine(path) + " stands for")
		}
		out = append(out, matches[:min(len(matches), maxListed)]...)
	}
	return out
}

func isPattern(path string) bool { return strings.ContainsAny(path, "*?[") }

var forLoop = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bfor[ \t]+(\w+)[ \t]+in[ \t]+([^;\n]+)`) })

// loops are the variables of a text that go through a list, with what they become as far as it is known.
func loops(f *finder, text string, at scope) map[string][]string {
	out := map[string][]string{}
	for _, m := range forLoop().FindAllStringSubmatch(text, 50) {
		for _, word := range strings.Fields(m[2]) {
			value, ok := f.expand(word, at)
			switch {
			case !ok:
				f.cannot("what " + m[1] + " goes through: " + word)
			case isPattern(value):
				out[m[1]] = append(out[m[1]], listed(f, value, at)...)
			default:
				out[m[1]] = append(out[m[1]], value)
			}
		}
		out[m[1]] = append(out[m[1]], "")
	}
	return out
}

// loopOf is the variable of a loop that a word is, or is a part of; empty: none.
func loopOf(word string, at scope) string {
	for name := range at.loops {
		if strings.Contains(word, "${"+name+"}") || mentioned(word, "$"+name) {
			return name
		}
	}
	return ""
}

func mentioned(word, variable string) bool {
	_, after, ok := strings.Cut(word, variable)
	return ok && (after == "" || !strings.ContainsAny(after[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
}

// looped follows a command at a form for each value of the loop whose variable names the program, or the script
// of an interpreter; false: there is none. What a loop only hands to a program as data decides nothing.
func looped(f *finder, p *shellsyntax.Part, form int, at scope) bool {
	name := loopOf(p.Words[form].Text, at)
	if name == "" {
		program, _ := f.word(&p.Words[form], at)
		_, runs := interpreters[plainName(program)]
		if !runs && !slices.Contains([]string{".", "source", "exec", "command", "env"}, program) {
			return false
		}
		for i := form + 1; i < len(p.Words) && name == ""; i++ {
			name = loopOf(p.Words[i].Text, at)
		}
	}
	if name == "" {
		return false
	}
	for _, value := range at.loops[name] {
		if value == "" {
			continue
		}
		inner := at
		inner.vars = map[string]string{name: value}
		for k, v := range at.vars {
			if k != name {
				inner.vars[k] = v
			}
		}
		var words []string
		for i := form; i < len(p.Words); i++ {
			word, _ := f.word(&p.Words[i], inner) // not known: empty, as for every command
			words = append(words, word)
		}
		f.program(words, inner)
	}
	return true
}

// folderOfScripts follows every file of a folder, as run-parts does.
func folderOfScripts(f *finder, args []string, at scope) {
	for _, arg := range args {
		if arg == "" || strings.HasPrefix(arg, "-") {
			continue
		}
		for _, file := range listed(f, filepath.Join(arg, "*"), at) {
			f.scripts(file, unknownText, at)
		}
	}
}

// goCommands are those of go that compile or run what lies in the folders they are given.
var goCommands = []string{"run", "test", "build", "install", "generate", "vet", "tool"}

// goPackages tracks the files of the packages that a go command is given, and of those of the same module
// that they import.
func goPackages(f *finder, args []string, at scope) {
	at.dirs = chosenDirs(args, at)
	if len(args) > 2 && args[0] == "-C" {
		args = args[2:]
	}
	if len(args) == 0 || !slices.Contains(goCommands, args[0]) {
		return
	}
	operands := slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return a == "" || strings.HasPrefix(a, "-") })
	if args[0] != "run" && !slices.ContainsFunc(operands, func(a string) bool { return strings.HasPrefix(a, ".") }) {
		operands = append(operands, ".")
	}
	for _, arg := range operands {
		path, below := strings.CutSuffix(arg, "...")
		for _, at := range at.paths(path) {
			switch {
			case strings.HasSuffix(at, ".go"):
				goFile(f, at, goModule(f, filepath.Dir(at)))
			case below:
				goTree(f, at)
			default:
				goFolder(f, at, goModule(f, at))
			}
		}
	}
}

// module is what of a go.mod leads from imports to folders.
type module struct{ root, path string }

var moduleLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)`) })

func goModule(f *finder, dir string) module {
	for _, up := range f.upward(dir) {
		text, err := readRegular(filepath.Join(up, "go.mod"), maxScript)
		if m := moduleLine().FindSubmatch(text); err == nil && m != nil {
			return module{up, string(m[1])}
		}
	}
	return module{}
}

// goTree is every package below a folder.
func goTree(f *finder, dir string) {
	if !f.below(dir) {
		return
	}
	m, n := goModule(f, dir), 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // what cannot be listed, go does not compile
		}
		if name := d.Name(); path != dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if n++; n > maxListed {
			return fs.SkipAll
		}
		goFolder(f, path, m)
		return nil
	})
	if err != nil || n > maxListed {
		f.cannot("more folders of go than are looked at below " + dir)
	}
}

func goFolder(f *finder, dir string, m module) {
	if f.read[dir] || !f.below(dir) {
		return
	}
	f.read[dir] = true
	if len(f.read) > maxScripts {
		f.cannot("more packages of go than are looked at")
		return
	}
	for _, ending := range []string{"*.go", "*.s", "*.c", "*.h", "*.cc", "*.cpp", "*.syso"} {
		matches, err := filepath.Glob(filepath.Join(dir, ending))
		if err != nil {
			f.cannot("which packages of go lie in " + dir)
			return
		}
		for _, file := range matches {
			goFile(f, file, m)
		}
	}
}

var goImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?"([^"\n]+)"[ \t]*(?://.*)?$`)
})

func goFile(f *finder, file string, m module) {
	f.track(file)
	text, err := readRegular(file, maxScript)
	if err != nil || !strings.HasSuffix(file, ".go") || m.root == "" {
		return
	}
	head, _, _ := bytes.Cut(text, []byte("\nfunc "))
	for _, i := range goImport().FindAllSubmatch(head, maxListed) {
		path := string(i[1])
		if rest, ok := strings.CutPrefix(path+"/", m.path+"/"); ok {
			goFolder(f, filepath.Join(m.root, rest), m)
		} else if vendored := filepath.Join(m.root, "vendor", path); isDir(vendored) {
			goFolder(f, vendored, m)
		}
	}
}

// textGiven follows a program that an interpreter is given as text.
func textGiven(f *finder, lang language, text string, at scope) {
	inner := at.inside(filepath.Join(at.dirs[0], "[text]"))
	switch lang {
	case pythonText:
		f.pythonImports(strings.ReplaceAll(text, ";", "\n"), at.dirs, inner)
	case nodeText:
		f.nodeImports(text, inner)
	default:
		f.cannot("what a program given to an interpreter as text loads")
	}
}
