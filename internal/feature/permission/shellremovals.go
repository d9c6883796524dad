package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/caseblind"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// removals finds what rm and rmdir must never remove without a question.
type removals struct{ *shellEval }

// first finds an rm or rmdir of a place that must never go without a question.
func (s removals) first() (*shellsyntax.Part, string) {
	for i := range s.acc.Parts {
		p := &s.acc.Parts[i]
		for k := range p.Uses {
			u := &p.Uses[k]
			if u.Intent == shellsyntax.Delete && s.critical(u) {
				return p, u.Text
			}
		}
	}
	return nil, ""
}

// critical tells whether a removal is of the root, a directory right below it, home, a working
// directory, a parent of one, or of everything in one of these.
func (s removals) critical(u *shellsyntax.PathUse) bool {
	if u.Unknown {
		return s.ifEmpty(u)
	}
	if u.Glob {
		return s.glob(u.Path)
	}
	if u.Path == "" {
		return false
	}
	if t := strings.TrimRight(u.Text, `/\`); len(t) == 2 && t[1] == ':' && (t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z') {
		return true // the root of a drive
	}
	pl := s.placeOfUse(u)
	if s.path(u.Path) || s.path(pl.real) {
		return true
	}
	return pl.err != nil && slices.ContainsFunc(pl.hops, s.path)
}

// ifEmpty judges a path as it would be if all that is unknown in it were empty.
func (s removals) ifEmpty(u *shellsyntax.PathUse) bool {
	if printsFolder(u.Text) {
		return true
	}
	if u.Empty == "" {
		return u.Tilde // "~user": somebody's home
	}
	if u.Glob {
		return s.glob(u.Empty)
	}
	if !u.Rooted {
		return u.Empty == "/"
	}
	return s.path(u.Empty)
}

// printsFolder reports whether a word is the output of a command that prints a working directory, the
// top of a repository, home or a parent, or everything in what it prints.
func printsFolder(text string) bool {
	at := printedFolder().FindStringIndex(text)
	if at == nil {
		return false
	}
	end := strings.LastIndexAny(text, ")`")
	return end >= at[0] && strings.Trim(text[end+1:], `/.*"'{},`) == ""
}

var printedFolder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[\"']*(?:\\$\\(|`)\\s*(?:(?:builtin|command)\\s+|/(?:usr/)?bin/)?" +
		"(?:pwd\\b|git\\b.*\\brev-parse\\b|dirname\\b|realpath\\b|readlink\\b|(?:echo|printf|cd)\\s+(?:\\S+\\s+)?[\"']?(?:[~/.]|\\$\\{?(?:HOME|PWD|OLDPWD)\\b))")
})

func (s removals) path(p string) bool {
	if p == "/" || path.Dir(p) == "/" {
		return true
	}
	if dir := path.Dir(p); path.Dir(dir) == "/" && dir == "/private" {
		switch path.Base(p) {
		case "etc", "var", "tmp", "home":
			return true
		}
	}
	fold := s.foldsAt(p)
	for _, d := range append([]string{s.pol.Dirs.Home, s.req.Cwd}, s.workDirs()...) {
		if _, ok := relTo(p, d, fold); ok && d != "" {
			return true
		}
	}
	return false
}

// glob judges an unexpanded pattern: one that takes everything in a critical place, or could
// become one.
func (s removals) glob(pattern string) bool {
	dir, last := path.Split(pattern)
	dir = path.Clean(dir)
	if !pathpattern.HasMeta(dir) {
		if dir == "/" {
			return true
		}
		if takesAll(last) && s.path(dir) {
			return true
		}
	}
	key := func(name string) string { return name }
	if s.foldsAt(path.Join(pathpattern.LiteralHead(pattern), "x")) {
		key = caseblind.Key
	}
	p, err := pathpattern.Compile(key(pattern), pathpattern.Options{})
	if err != nil {
		return true
	}
	for _, c := range append([]string{s.pol.Dirs.Home, s.req.Cwd}, s.workDirs()...) {
		for ; c != "" && c != "/"; c = path.Dir(c) {
			if p.Match(key(c[1:]), true) {
				return true
			}
		}
	}
	return false
}

// takesAll tells whether the last segment of a pattern holds nothing that selects.
func takesAll(seg string) bool {
	return strings.Trim(seg, "*?.[]!^") == ""
}
