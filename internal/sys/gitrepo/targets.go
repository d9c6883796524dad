package gitrepo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxIncludes bounds how deep files of configuration are followed.
const maxIncludes = 5

// Targets lists the paths to which a repository's configuration leads git: folders of hooks, further
// configuration, programs that git runs (monitors, filters, drivers, helpers, aliases). file is the
// configuration, worktree where git runs, home the user's. Paths are absolute; they need not exist,
// and a name that git would look for in PATH is none. Nothing is run, no link is followed, and only a
// bounded part of anything is read.
func Targets(file, worktree, home string) []string {
	t := targets{worktree: worktree, home: home}
	t.read(file, 0)
	slices.Sort(t.out)
	return slices.Compact(t.out)
}

type targets struct {
	worktree, home string
	out            []string
}

func (t *targets) read(file string, depth int) {
	text, err := readRegular(file, maxConfig)
	if err != nil || depth > maxIncludes {
		return
	}
	p := configReader{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	for {
		p.skipBlank()
		switch c := p.peek(); {
		case c == 0 && p.pos >= len(p.text):
			return
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			if !p.section() {
				return // git stops here, too
			}
		default:
			name, value, ok := p.entry()
			if !ok {
				return
			}
			t.entry(p.name, name, value, file, depth)
		}
	}
}

func (t *targets) entry(section, name, value, file string, depth int) {
	switch section + "." + name {
	case "core.hookspath", "core.attributesfile":
		t.add(value, t.worktree)
	case "include.path", "includeif.path":
		if to := t.add(value, filepath.Dir(file)); to != "" {
			t.read(to, depth+1)
		}
	case "core.fsmonitor":
		t.program(value)
	case "init.templatedir":
		t.add(value, t.worktree)
	case "remote.url", "remote.pushurl":
		if command, ok := strings.CutPrefix(value, "ext::"); ok {
			t.program(command)
		}
	default:
		if command, ok := strings.CutPrefix(value, "!"); ok { // aliases, updates of submodules, helpers
			t.program(command)
		} else if runs(section, name) {
			t.program(value)
		}
	}
}

// runs says whether the value of a key is a command, by its name: there are many, and more in each version
// of git. One that is no command costs a guard for each path in its value.
func runs(section, name string) bool {
	switch section {
	case "pager":
		return true
	case "browser", "difftool", "mergetool", "man", "guitool":
		if name == "path" {
			return true
		}
	case "filter":
		return name == "clean" || name == "smudge" || name == "process"
	}
	for _, end := range []string{
		"command", "cmd", "program", "helper", "driver", "editor", "pager", "askpass", "external", "textconv", "filter", "gitproxy", "uploadpack", "receivepack", "smtpserver", "hook",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// add enters a path and returns it; relative ones start at base.
func (t *targets) add(value, base string) string {
	switch {
	case value == "":
		return ""
	case strings.HasPrefix(value, "~/"):
		value = filepath.Join(t.home, value[2:])
	case !filepath.IsAbs(value):
		value = filepath.Join(base, value)
	}
	value = filepath.Clean(value)
	t.out = append(t.out, value)
	return value
}

// program enters every word of a command that can be a path, and what would be one in the worktree after
// a variable or the output of a command.
func (t *targets) program(command string) {
	computed := strings.ContainsAny(command, "$`")
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>=${}!", r) }) {
		switch before, after, slash := strings.Cut(word, "/"); {
		case strings.HasPrefix(word, "-"), strings.Contains(word, "://"):
		case slash:
			t.add(word, t.worktree)
			if computed && before != "." && before != ".." {
				t.add(after, t.worktree)
			}
		case word != command: // what an interpreter is given
			if _, err := os.Lstat(filepath.Join(t.worktree, word)); err == nil {
				t.add(word, t.worktree)
			}
		}
	}
}
