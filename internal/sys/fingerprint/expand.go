package fingerprint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// word returns what a word of a command becomes, as far as that is known.
func (f *finder) word(w *shellsyntax.Word, at scope) (string, bool) {
	if w.Static() {
		return w.Text, true
	}
	return f.expand(w.Text, at)
}

// here are the usual ways in which a script names its own folder, the working folder and the
// repository.
var here = sync.OnceValue(func() []*regexp.Regexp {
	own := `(?:\$0|\$\{0\}|\$\{?BASH_SOURCE(?:\[0\]\})?)`
	dir := `\$\(\s*dirname\s+(?:--\s+)?"?` + own + `"?\s*\)`
	return []*regexp.Regexp{
		regexp.MustCompile(`\$\(\s*cd\s+(?:-P\s+)?(?:--\s+)?"?` + dir + `(/[\w./-]*)?"?\s*(?:>\s*/dev/null(?:\s+2>&1)?\s*)?(?:&&|;)\s*pwd(?:\s+-P)?\s*\)`),
		regexp.MustCompile(dir),
		regexp.MustCompile(own + `%/\*\}|\$\{0%/\*\}`),
		regexp.MustCompile(`\$\(\s*git\s+rev-parse\s+--show-toplevel\s*\)`),
		regexp.MustCompile(`\$\(\s*pwd\s*\)|\$PWD\b|\$\{PWD\}`),
	}
})

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:(\w+)|\{(\w+)(?::?-([^{}$]*))?\})`)
})

// expand fills in what is known of a word as it is written.
func (f *finder) expand(text string, at scope) (string, bool) {
	for i, re := range here() {
		if !strings.Contains(text, "$") {
			break
		}
		dir := ""
		switch {
		case i < 3 && at.self != "":
			dir = filepath.Dir(at.self)
		case i == 3:
			dir = repository(at.dirs[0])
		case i == 4:
			dir = at.dirs[0]
		}
		if dir == "" {
			continue
		}
		if i == 0 {
			text = re.ReplaceAllString(text, strings.ReplaceAll(dir, "$", "$$")+"$1")
		} else {
			text = re.ReplaceAllLiteralString(text, dir)
		}
	}
	known := true
	text = variable().ReplaceAllStringFunc(text, func(s string) string {
		m := variable().FindStringSubmatch(s)
		name := m[1] + m[2]
		if value, ok := at.vars[name]; ok {
			return value
		}
		if value, ok := f.env[name]; ok {
			return value
		}
		if strings.Contains(s, "-") {
			return m[3]
		}
		known = false
		return ""
	})
	text = strings.NewReplacer(`\"`, `"`, `"`, "", `'`, "").Replace(text)
	if strings.ContainsAny(text, "`") || strings.Contains(text, "$") {
		known = false
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		text = filepath.Join(f.env["HOME"], rest)
	}
	return text, known
}

// repository is the top of the repository a folder is in; empty: none.
func repository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
