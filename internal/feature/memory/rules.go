package memory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/myelin-agent/myelin/internal/sys/frontmatter"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// rule is a rule file with paths, which is loaded when a file matches.
type rule struct {
	path  string
	level Level
	base  string // patterns are relative to it
	globs []string
}

const (
	maxRules    = 2000    // files of one rules folder
	maxPatterns = 1000    // patterns of all rules that braces are expanded to
	maxExpanded = 4 << 20 // bytes of these
)

// ruleFolder loads the rules below a folder: those without paths at once, the others when a file
// matches. base is the folder their patterns are relative to.
func (w *walk) ruleFolder(dir string, level Level, base string) {
	for _, path := range ruleFiles(dir, w.i.report) {
		globs, ok := w.globsOf(path)
		if !ok {
			continue
		}
		if globs == nil {
			w.file(path, level)
			continue
		}
		r := rule{path: path, level: level, base: base, globs: globs}
		if !slices.ContainsFunc(w.i.rules, func(o rule) bool { return o.path == path }) {
			w.i.rules = append(w.i.rules, r)
		}
	}
}

// ruleFiles lists the .md files below a folder in order of their names. Links are followed; a folder
// that was seen is not entered again.
func ruleFiles(dir string, report func(string)) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] {
			return
		}
		seen[real] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			report(dir + " cannot be read: " + reasonOf(err))
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			info, err := os.Stat(path)
			switch {
			case err != nil:
				report(path + " cannot be read: " + reasonOf(err))
			case info.IsDir():
				visit(path)
			case strings.HasSuffix(e.Name(), ".md") && info.Mode().IsRegular():
				if len(out) == maxRules {
					report(dir + " holds more than 2,000 rules; the rest is not loaded")
					return
				}
				out = append(out, path)
			}
		}
	}
	if _, err := os.Lstat(dir); err == nil {
		visit(dir)
	}
	return out
}

// globsOf reads the paths of a rule's header. ok is false for a file that cannot be read; nil globs
// mean that the rule always applies.
func (w *walk) globsOf(path string) (globs []string, ok bool) {
	raw, _, problem := readRaw(path)
	if problem != "" {
		w.i.report(path + ": " + problem)
		return nil, false
	}
	doc := frontmatter.Parse([]byte(raw), frontmatter.Options{Scope: origin.Project, File: path, Keys: []string{"paths", "description"}})
	for _, warning := range doc.Warnings {
		w.i.report(warning.String())
	}
	field, there := doc.Get("paths")
	if !there || doc.Repaired { // a header that is not YAML must not narrow a rule
		return nil, true
	}
	for _, text := range field.Value.Strings() {
		parts := []string{text}
		if !field.Value.IsList() {
			parts = splitCommas(text)
		}
		for _, p := range parts {
			if p = strings.TrimSpace(p); p != "" {
				globs = append(globs, p)
			}
		}
	}
	return globs, true
}

// splitCommas splits at commas that are not within braces.
func splitCommas(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth <= 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// matching loads the rules that a file matches, by the path it was named with or the one it resolves
// to.
func (w *walk) matching(path string) {
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		paths = append(paths, real)
	}
	var rest []rule
	for _, r := range w.i.rules {
		if !slices.ContainsFunc(paths, r.matches) {
			rest = append(rest, r)
			continue
		}
		if f, _ := w.read(r.path, r.level); f != nil {
			f.Globs = r.globs
			w.i.shown[f.real] = snapshot{file: *f, stamp: w.i.shown[f.real].stamp}
			w.take(*f, 0)
		}
	}
	w.i.rules = rest
}

func (r rule) matches(path string) bool {
	rel, err := filepath.Rel(r.base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return false
	}
	budget := &expansion{patterns: maxPatterns, bytes: maxExpanded}
	for _, g := range r.globs {
		g = strings.TrimPrefix(strings.TrimPrefix(g, "./"), "/")
		for _, one := range budget.expand(g) {
			if ok, err := doublestar.Match(one, rel); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// expansion bounds how many patterns the braces of one rule may stand for.
type expansion struct{ patterns, bytes int }

// expand expands braces; a pattern that would pass the budget is taken literally.
func (e *expansion) expand(g string) []string {
	out := []string{g}
	for i := 0; i < len(out); {
		head, choices, tail, ok := braces(out[i])
		if !ok {
			i++
			continue
		}
		next := make([]string, 0, len(choices))
		size := 0
		for _, c := range choices {
			next = append(next, head+c+tail)
			size += len(head) + len(c) + len(tail)
		}
		if len(out)+len(next) > e.patterns || size > e.bytes {
			return []string{escapeGlob(g)}
		}
		e.bytes -= size
		out = append(out[:i], append(next, out[i+1:]...)...)
	}
	e.patterns -= len(out)
	return out
}

// braces finds the first group of braces with a comma.
func braces(g string) (head string, choices []string, tail string, ok bool) {
	start := -1
	depth := 0
	for i := 0; i < len(g); i++ {
		switch g[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				start = i
			}
			depth++
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				return g[:start], splitCommas(g[start+1 : i]), g[i+1:], true
			}
		}
	}
	return "", nil, "", false
}

func escapeGlob(g string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(g)
}
