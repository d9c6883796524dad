// Package fingerprint finds the files that decide what a command line will run, as far as they lie
// in folders that somebody less trusted may write, and tells whether they changed between two looks.
//
// It follows what can be followed without running anything: the programs that are named and how PATH
// finds them, scripts and what they source, call and import, and the files that define a step
// (Makefile, package.json and their like). It is no proof: what a program loads by itself is not
// known, and [Inputs.Unknown] says what was seen to be so.
//
// Begin with [Command.Inputs], then [Take].
package fingerprint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Command is a command line that is about to run.
type Command struct {
	Text  string   // for a shell; empty: Words
	Words []string // a program and its arguments, run without a shell
	Dir   string   // where it runs, absolute
	Env   []string // NAME=value
	Roots []string // absolute folders that others may write; only files below them count
}

// Inputs are the files that decide what a command runs.
type Inputs struct {
	Files   []string // absolute, sorted; some do not exist: their appearing would change what runs
	Unknown []string // what else decides it and cannot be known, for people
}

// Limits of one look. Beyond them the rest is reported as unknown.
const (
	maxScripts = 300       // files that are read
	maxScript  = 256 << 10 // bytes of one
	maxDepth   = 8         // scripts that call scripts
	maxFiles   = 2000
)

// finder is one look.
type finder struct {
	roots   []string
	env     map[string]string
	files   map[string]bool
	written map[string]bool // what the command itself writes
	read    map[string]bool // scripts that were followed
	unknown []string
}

// scope is where a piece of text stands.
type scope struct {
	dirs  []string            // where it may run; the first is where it begins
	self  string              // the script it stands in; empty: none
	vars  map[string]string   // set by the text, over the environment
	loops map[string][]string // variables that go through a list
	path  string              // PATH
	depth int
}

// Inputs looks at the command as things are now.
func (c Command) Inputs() Inputs {
	f := &finder{env: map[string]string{}, files: map[string]bool{}, written: map[string]bool{}, read: map[string]bool{}}
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		f.env[name] = value
	}
	for _, r := range c.Roots {
		f.roots = append(f.roots, filepath.Clean(r))
		if real, err := filepath.EvalSymlinks(r); err == nil && real != filepath.Clean(r) {
			f.roots = append(f.roots, real)
		}
	}
	at := scope{dirs: []string{c.Dir}, vars: map[string]string{}, path: f.env["PATH"]}
	if c.Text != "" {
		f.text(c.Text, at)
	} else {
		f.words(c.Words, at)
	}
	out := Inputs{Unknown: f.unknown}
	for file := range f.files {
		if !f.written[file] {
			out.Files = append(out.Files, file)
		}
	}
	slices.Sort(out.Files)
	return out
}

// words follows a command that no shell reads, but for one that is a shell with a text.
func (f *finder) words(words []string, at scope) {
	f.program(words, at)
	for _, w := range words[min(1, len(words)):] {
		f.argument(w, at)
	}
	if len(words) > 2 && interpreters[plainName(words[0])] == shellText {
		if i := slices.IndexFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") }) + 2; i > 1 && i < len(words) {
			f.text(words[i], at)
		}
	}
}

// cannot notes something that is not known.
func (f *finder) cannot(text string) {
	if !slices.Contains(f.unknown, text) {
		f.unknown = append(f.unknown, text)
	}
}

// below reports whether others may write a path.
func (f *finder) below(path string) bool { return proc.Below(path, f.roots) }

// track enters a file, whether it exists or not.
func (f *finder) track(path string) {
	if !f.below(path) || f.files[path] {
		return
	}
	if len(f.files) >= maxFiles {
		f.cannot("more files than are looked at")
		return
	}
	f.files[path] = true
}

// text follows the text of a shell.
func (f *finder) text(text string, at scope) {
	if at.depth > maxDepth {
		f.cannot("scripts that call scripts more than a few times over")
		return
	}
	account := shellsyntax.Analyse(text, shellsyntax.Options{Cwd: at.dirs[0], Home: f.env["HOME"]})
	if !account.Parsed {
		f.cannot("what " + at.name(text) + " does: it cannot be read as text for a shell")
		return
	}
	at.dirs = slices.Clone(at.dirs)
	for i := range account.Parts {
		f.prepare(&account.Parts[i], &at)
	}
	at.loops = loops(f, text, at)
	fed := false
	for i := range account.Parts {
		if p := &account.Parts[i]; len(p.Words) > 0 {
			f.part(p, at)
			fed = fed || f.fed(p, at)
		}
	}
	if fed {
		f.reads(account.Parts, at)
	}
}

// fed reports that what a part runs comes from elsewhere: from its input, or from what another command prints.
func (f *finder) fed(p *shellsyntax.Part, at scope) bool {
	for _, form := range append(slices.Clone(p.Forms), p.Alts...) {
		if form.At >= len(p.Words) {
			continue
		}
		name, ok := f.word(&p.Words[form.At], at)
		if !ok {
			return true
		}
		switch name = plainName(name); name {
		case "eval", "xargs", "parallel", "source", ".":
			return true
		}
		if _, ok := interpreters[name]; !ok {
			continue
		}
		given := false // a script
		for i := form.At + 1; i < len(p.Words); i++ {
			arg, ok := f.word(&p.Words[i], at)
			if arg == "-s" {
				return true // the others are its arguments
			}
			given = given || ok && (!strings.HasPrefix(arg, "-") || arg == "-c" || arg == "-m" || arg == "-e")
		}
		if !given {
			return true
		}
	}
	return false
}

// reads tracks the files that the parts of a text read.
func (f *finder) reads(parts []shellsyntax.Part, at scope) {
	for i := range parts {
		for _, u := range parts[i].Uses {
			if u.Intent != shellsyntax.Read || u.Unknown || u.Below {
				continue
			}
			paths := at.paths(u.Path)
			if u.Glob {
				paths = listed(f, u.Path, at)
			}
			for _, path := range paths {
				if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
					f.track(path)
				}
			}
		}
	}
}

// prepare learns what a part changes for the others: variables, folders, files it writes.
func (f *finder) prepare(p *shellsyntax.Part, at *scope) {
	for _, a := range p.Assigns {
		value, ok := a.Value, a.Static
		if !ok && len(p.Assigns) == 1 {
			_, raw, _ := strings.Cut(p.Source, "=")
			value, ok = f.expand(raw, *at)
		}
		if ok && a.Name == "PATH" {
			at.path = value
		}
		if ok {
			at.vars[a.Name] = value
		} else {
			delete(at.vars, a.Name)
		}
	}
	for _, u := range p.Uses {
		if (u.Intent == shellsyntax.Write || u.Intent == shellsyntax.Delete) && !u.Unknown && !u.Glob && !u.Below {
			for _, path := range at.paths(u.Path) {
				f.written[path] = true
			}
		}
	}
	if name := p.Name(); (name == "cd" || name == "pushd") && len(p.Words) > 1 {
		if dir, ok := f.word(&p.Words[len(p.Words)-1], *at); ok {
			for _, path := range at.paths(dir) {
				if !slices.Contains(at.dirs, path) && len(at.dirs) < 20 {
					at.dirs = append(at.dirs, path)
				}
			}
		}
	}
}

// part follows one simple command: the program and what wrappers in front of it run.
func (f *finder) part(p *shellsyntax.Part, at scope) {
	words := make([]string, len(p.Words))
	for i := range p.Words {
		if value, ok := f.word(&p.Words[i], at); ok {
			words[i] = value
		}
	}
	first := -1
	for _, form := range append(slices.Clone(p.Forms), p.Alts...) {
		if form.At >= len(words) || form.At == first {
			continue
		}
		first = form.At
		if looped(f, p, form.At, at) {
			continue
		}
		if words[form.At] == "" {
			f.cannot("which program " + visible.ExactLine(p.Source) + " runs")
			continue
		}
		f.program(words[form.At:], at)
	}
	if !p.Known || !p.ReadOnly { // what is only read decides nothing
		for _, w := range words {
			f.argument(w, at)
		}
	}
}

// argument tracks a file that is there and could be code or configuration.
func (f *finder) argument(word string, at scope) {
	if strings.HasPrefix(word, "-") {
		_, value, ok := strings.Cut(word, "=")
		if !ok {
			return
		}
		word = value
	}
	if word == "" || strings.ContainsAny(word, "\n*?") {
		return
	}
	for _, path := range at.paths(word) {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && (st.Mode()&0o111 != 0 || steering(path)) {
			f.track(path)
		}
	}
}

// steering reports a name that files with code or configuration have.
func steering(path string) bool {
	switch filepath.Ext(path) {
	case ".sh", ".bash", ".zsh", ".ksh", ".fish", ".py", ".rb", ".pl", ".pm", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".lua", ".php",
		".awk", ".sed", ".jq", ".mk", ".r", ".R", ".groovy", ".gradle", ".kts", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".env", ".ps1":
		return true
	case ".json":
		return strings.Contains(filepath.Base(path), "rc") || strings.Contains(filepath.Base(path), "config") || filepath.Base(path) == "package.json"
	}
	base := filepath.Base(path)
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, "rc")
}

// paths are the places a path may mean.
func (at scope) paths(path string) []string {
	if filepath.IsAbs(path) {
		return []string{filepath.Clean(path)}
	}
	out := make([]string, len(at.dirs))
	for i, dir := range at.dirs {
		out[i] = filepath.Join(dir, path)
	}
	return out
}

// name is what people know a piece of text by.
func (at scope) name(text string) string {
	if at.self != "" {
		return at.self
	}
	line, _, more := strings.Cut(text, "\n")
	if more {
		line += " …"
	}
	return visible.ExactLine(line)
}

// inside is the scope of a script that is run from here.
func (at scope) inside(script string) scope {
	at.self, at.depth, at.vars, at.loops = script, at.depth+1, map[string]string{}, nil
	return at
}
