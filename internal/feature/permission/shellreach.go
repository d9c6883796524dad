package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// pathRuling holds the paths of a part against the deny and ask rules about paths.
type pathRuling struct{ *shellEval }

// deniedPath finds a deny or ask rule about a path that the part touches.
func (s pathRuling) deniedPath(p *shellsyntax.Part, list List) (*compiled, string) {
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
		} else if r := s.wholeFolder(read, &u); r != nil {
			found, where = r, u.Text
		} else if r := s.anySpelling(edit, pl); r != nil && !r.path.whole && !p.Known {
			found, where = r, u.Text
		}
		return found == nil
	})
	return found, where
}

// wholeFolder finds a rule about everything below a path: a program nobody knows that is given the folder may read what is in it.
func (s pathRuling) wholeFolder(rules []*compiled, u *shellsyntax.PathUse) *compiled {
	if !u.Below {
		return nil
	}
	below := *u
	below.Path, below.Walk = path.Join(u.Path, "\x02"), "" // a name that no rule spells out
	if r := s.anySpelling(rules, s.placeOfUse(&below)); r != nil && !r.path.whole {
		return r
	}
	return nil
}

// bothPathRules returns the Read and the Edit rules of the deny or ask list; they are looked up once a
// command.
func (s pathRuling) bothPathRules(list List) (read, edit []*compiled) {
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
func (s pathRuling) removesBelow(rules []*compiled, u *shellsyntax.PathUse) *compiled {
	if !u.Below || u.Unknown || u.Guess {
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
func (s pathRuling) couldTouch(p *shellsyntax.Part) *Reason {
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

func (s pathRuling) reachable(rules []*compiled, u *shellsyntax.PathUse) *compiled {
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
	if u.Below && u.Intent != shellsyntax.Read && !u.Guess {
		if !u.Glob {
			return nil // removed or moved as a whole: see removesBelow
		}
	} else if u.Below {
		pattern = strings.TrimSuffix(pattern, "/") + "/**"
	}
	for _, r := range rules {
		if u.Guess && u.Below && r.onlyBelow(u.Path) {
			continue
		}
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

// onlyBelow tells whether a rule is about a name at any depth, and a folder given to a container lies below where the rule begins: that it
// holds such a name is no more than possible.
func (r *compiled) onlyBelow(folder string) bool {
	text := r.path.pattern.String()
	if r.path.whole || strings.Contains(strings.Trim(strings.TrimPrefix(text, "**/"), "/"), "/") {
		return false
	}
	for _, b := range r.path.bases {
		if _, holds := pathpattern.Rel(folder, b); holds {
			return false
		}
	}
	return !strings.HasPrefix(text, "/")
}

// inTree finds a rule about a place in the repository, of which all may be printed.
func (s pathRuling) inTree(rules []*compiled) *compiled {
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
