package gitrepo

import (
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
	case "core.fsmonitor", "core.sshcommand", "core.pager", "core.editor", "core.askpass", "sequence.editor", "gpg.program", "credential.helper",
		"filter.clean", "filter.smudge", "filter.process", "diff.external", "diff.command", "diff.textconv", "merge.driver", "difftool.cmd", "mergetool.cmd", "interactive.difffilter":
		t.program(value)
	default:
		if section == "alias" && strings.HasPrefix(value, "!") {
			t.program(value[1:])
		}
	}
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

// program enters every word of a command that can be a path.
func (t *targets) program(command string) {
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>=$", r) }) {
		if strings.Contains(word, "/") && !strings.HasPrefix(word, "-") && !strings.Contains(word, "://") {
			t.add(word, t.worktree)
		}
	}
}
