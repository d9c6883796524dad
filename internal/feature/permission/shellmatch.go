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
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
)

// matchPart finds a deny or ask rule for a part: in every form its wrappers leave, with and without
// the directory of the program, past git's own options, and as it was written.
func (s *shellEval) matchPart(p *shellsyntax.Part, list List) *compiled {
	if len(p.Words) == 0 {
		return nil
	}
	for _, t := range s.shellRules() {
		ix := t.shell[list]
		if ix == nil {
			continue
		}
		for k := range p.Forms {
			if r := ix.form(p, p.Forms[k], k == 0); r != nil {
				return r
			}
		}
		for _, f := range p.Alts {
			if r := ix.form(p, f, false); r != nil {
				return r
			}
		}
		if r := ix.options(p, cmdline.Alike); r != nil {
			return r
		}
		if len(ix.raw) > 0 {
			written := strings.Join(strings.Fields(p.Source), " ")
			for _, r := range ix.raw {
				if r.shell.raw.match(written) {
					return r
				}
			}
		}
	}
	return nil
}

// options finds a rule whose options a part has, in whatever spelling and place.
func (ix *shellIndex) options(p *shellsyntax.Part, like cmdline.Likeness) *compiled {
	if len(ix.named) == 0 {
		return nil
	}
	for _, forms := range [2][]shellsyntax.Form{p.Forms, p.Alts} {
		for _, f := range forms {
			for _, r := range ix.named[baseName(f.Name)] {
				if r.shell.options.Match(p.Words, f.At) >= like {
					return r
				}
			}
		}
	}
	return nil
}

// mayHold finds a deny or ask rule whose options a part might have in a spelling that is not known.
func (s *shellEval) mayHold(p *shellsyntax.Part) *Reason {
	for _, t := range s.shellRules() {
		for _, list := range [2]List{DenyList, AskList} {
			ix := t.shell[list]
			if ix == nil {
				continue
			}
			if r := ix.options(p, cmdline.Perhaps); r != nil {
				return &Reason{Kind: ByRule, Text: "one of its options may be another spelling of what the rule " + r.rule.Text + " names", Part: p.Source}
			}
		}
	}
	return nil
}

// form matches one form. Rules that begin with a wildcard are compared with the outermost form
// alone: what they match in an inner one they match there.
func (ix *shellIndex) form(p *shellsyntax.Part, f shellsyntax.Form, outermost bool) *compiled {
	first := p.Words[f.At].Canon
	text := p.Canonical(f.At)
	if r := ix.text(first, text, outermost); r != nil {
		return r
	}
	base := first
	if f.Name != "" && strings.Contains(f.Name, "/") {
		b := path.Base(f.Name)
		base = shellsyntax.Canonical(b)
		text = baseForm(p, f, b)
		if r := ix.text(base, text, true); r != nil {
			return r
		}
	}
	if sub := shellsyntax.Subcommand(p, f.At, base); sub > f.At+1 {
		return ix.text(base, base+" "+p.Canonical(sub), true)
	}
	return nil
}

func (ix *shellIndex) text(first, text string, leading bool) *compiled {
	for _, r := range ix.byFirst[first] {
		if r.shell.pattern.match(text) {
			return r
		}
	}
	if leading {
		for _, r := range ix.leading {
			if r.shell.pattern.match(text) {
				return r
			}
		}
	}
	return nil
}

// wholeLine matches the rules that hold operators against the line as a whole.
func (s *shellEval) wholeLine(list List) *compiled {
	for _, t := range s.shellRules() {
		ix := t.shell[list]
		if ix == nil || len(ix.spans) == 0 {
			continue
		}
		line := strings.Join(strings.Fields(s.command), " ")
		for _, r := range ix.spans {
			if r.shell.raw.match(line) {
				return r
			}
		}
	}
	return nil
}

// deniedPath finds a deny or ask rule about a path that the part touches.
func (s *shellEval) deniedPath(p *shellsyntax.Part, list List) (*compiled, string) {
	read, edit := s.bothPathRules(list)
	if len(read) == 0 && len(edit) == 0 {
		return nil, ""
	}
	for i := range p.Uses {
		u := &p.Uses[i]
		if u.Glob && !u.Unknown && !u.Unbased {
			for _, pl := range s.matches(u).links {
				if r := s.anySpelling(read, pl); r != nil {
					return r, u.Text
				}
			}
		}
		if u.Glob || u.Path == "" || (u.Unknown && u.Unbased) {
			continue
		}
		pl := s.placeOfUse(u)
		if r := s.anySpelling(read, pl); r != nil && !u.Unknown {
			return r, u.Text
		}
		if u.Intent == shellsyntax.Write || u.Intent == shellsyntax.Delete {
			if r := s.anySpelling(edit, pl); r != nil && !u.Unknown {
				return r, u.Text
			}
			if r := s.removesBelow(edit, u); r != nil {
				return r, u.Text
			}
			if r := s.removesBelow(read, u); r != nil {
				return r, u.Text
			}
		}
	}
	var found *compiled
	var where string
	p.Guesses(func(u shellsyntax.PathUse) bool {
		if u.Glob {
			return true // see couldTouch
		}
		pl := s.placeOfUse(&u)
		if r := s.anySpelling(read, pl); r != nil && !r.path.whole {
			found, where = r, u.Text
		} else if r := s.anySpelling(edit, pl); r != nil && !r.path.whole && !p.Known {
			found, where = r, u.Text
		}
		return found == nil
	})
	return found, where
}

// bothPathRules returns the Read and the Edit rules of the deny or ask list; they are looked up once a
// command.
func (s *shellEval) bothPathRules(list List) (read, edit []*compiled) {
	k := 0
	if list == AskList {
		k = 1
	}
	if !s.pathsKnown[k] {
		s.pathsKnown[k] = true
		s.readRules[k], s.editRules[k] = s.pathRules("Read", list), s.pathRules("Edit", list)
	}
	return s.readRules[k], s.editRules[k]
}

// removesBelow finds a rule about a place inside a directory that goes as a whole.
func (s *shellEval) removesBelow(rules []*compiled, u *shellsyntax.PathUse) *compiled {
	if !u.Below || u.Unknown {
		return nil
	}
	for _, r := range rules {
		if r.path.whole {
			continue
		}
		text := r.path.pattern.String()
		if !strings.Contains(strings.TrimSuffix(text, "/"), "/") || strings.HasPrefix(text, "**/") {
			continue // at any depth: it has no place
		}
		for _, b := range r.path.bases {
			head := pathpattern.LiteralHead(path.Join(pathpattern.Escape(b), text))
			if _, below := pathpattern.Rel(u.Path, head); below {
				return r
			}
		}
	}
	return nil
}

// couldTouch tells whether a pattern, an unknown word or a recursive reader could reach what a deny
// rule is about.
func (s *shellEval) couldTouch(p *shellsyntax.Part) *Reason {
	read, edit := s.bothPathRules(DenyList)
	if len(read) == 0 && len(edit) == 0 {
		return nil
	}
	for i := range p.Uses {
		u := &p.Uses[i]
		rules := read
		if u.Intent == shellsyntax.Write || u.Intent == shellsyntax.Delete {
			rules = append(append([]*compiled{}, read...), edit...)
		}
		if r := s.reachable(rules, u); r != nil {
			return couldBe(p, u, r)
		}
	}
	if !slices.ContainsFunc(p.Words, func(w shellsyntax.Word) bool { return w.Glob() }) {
		return nil
	}
	var reason *Reason
	for u := range p.Guesses {
		if !u.Glob {
			continue
		}
		if r := s.reachable(read, &u); r != nil && !r.path.whole {
			reason = couldBe(p, &u, r)
			break
		}
	}
	return reason
}

func couldBe(p *shellsyntax.Part, u *shellsyntax.PathUse, r *compiled) *Reason {
	return &Reason{Kind: ByRule, Text: "what it touches is only known at run time, and " + u.Text + " could be what the rule " + r.rule.Text + " denies", Path: u.Text, Part: p.Source}
}

func (s *shellEval) reachable(rules []*compiled, u *shellsyntax.PathUse) *compiled {
	if len(rules) == 0 || u.Intent == shellsyntax.Enter {
		return nil
	}
	pattern := ""
	switch {
	case u.Tree:
		return s.inTree(rules)
	case u.Unknown, u.Listed != shellsyntax.Nobody && s.linksBelow(u) != "":
		return rules[0] // it could be anything
	case u.Glob:
		pattern = u.Path
	case u.Below:
		pattern = pathpattern.Escape(u.Path)
	default:
		return nil
	}
	if u.Below && u.Intent != shellsyntax.Read {
		if !u.Glob {
			return nil // removed or moved as a whole: see removesBelow
		}
	} else if u.Below {
		pattern = strings.TrimSuffix(pattern, "/") + "/**"
	}
	for _, r := range rules {
		if s.couldReach(r, pattern) {
			return r
		}
		if u.Glob {
			continue
		}
		if real := s.placeOf(u.Path).real; real != u.Path && s.couldReach(r, strings.TrimSuffix(pathpattern.Escape(real), "/")+"/**") {
			return r
		}
	}
	return nil
}

// inTree finds a rule about a place in the repository, of which all may be printed.
func (s *shellEval) inTree(rules []*compiled) *compiled {
	for _, dir := range []string{s.pol.Dirs.Project, s.req.Cwd} {
		if dir == "" {
			continue
		}
		for _, r := range rules {
			if s.couldReach(r, strings.TrimSuffix(pathpattern.Escape(dir), "/")+"/**") {
				return r
			}
		}
	}
	return nil
}

// critical tells whether a removal is of the root, a directory right below it, home, a working
// directory, a parent of one, or of everything in one of these.
func (s *shellEval) critical(u *shellsyntax.PathUse) bool {
	if u.Unknown {
		return s.criticalIfEmpty(u)
	}
	if u.Glob {
		return s.criticalGlob(u.Path)
	}
	if u.Path == "" {
		return false
	}
	if t := strings.TrimRight(u.Text, `/\`); len(t) == 2 && t[1] == ':' && (t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z') {
		return true // the root of a drive
	}
	pl := s.placeOfUse(u)
	if s.criticalPath(u.Path) || s.criticalPath(pl.real) {
		return true
	}
	return pl.err != nil && slices.ContainsFunc(pl.hops, s.criticalPath)
}

// criticalIfEmpty judges a path as it would be if all that is unknown in it were empty.
func (s *shellEval) criticalIfEmpty(u *shellsyntax.PathUse) bool {
	if printsFolder(u.Text) {
		return true
	}
	if u.Empty == "" {
		return u.Tilde // "~user": somebody's home
	}
	if u.Glob {
		return s.criticalGlob(u.Empty)
	}
	if !u.Rooted {
		return u.Empty == "/"
	}
	return s.criticalPath(u.Empty)
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

func (s *shellEval) criticalPath(p string) bool {
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

// criticalGlob judges an unexpanded pattern: one that takes everything in a critical place, or could
// become one.
func (s *shellEval) criticalGlob(pattern string) bool {
	dir, last := path.Split(pattern)
	dir = path.Clean(dir)
	if !pathpattern.HasMeta(dir) {
		if dir == "/" {
			return true
		}
		if takesAll(last) && s.criticalPath(dir) {
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
