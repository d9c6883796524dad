package permission

import (
	"path"
	"slices"
	"strings"

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
				if r.shell.Raw.Match(written) {
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
				if r.shell.Options.Match(p.Words, f.At) >= like {
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
		if r.shell.Pattern.Match(text) {
			return r
		}
	}
	if leading {
		for _, r := range ix.leading {
			if r.shell.Pattern.Match(text) {
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
			if r.shell.Raw.Match(line) {
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
