package permission

import (
	"fmt"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// pathsVerdict checks the paths of an otherwise allowed part.
func (s *shellEval) pathsVerdict(p *shellsyntax.Part, v partVerdict) partVerdict {
	for k := range p.Uses {
		u := &p.Uses[k]
		var bad partVerdict
		switch {
		case u.Guess: // counts for deny and ask rules alone
		case u.Network:
			bad = partVerdict{kind: BySafety, why: "it opens a network connection through " + u.Text}
		case u.Intent == shellsyntax.Read || u.Intent == shellsyntax.Enter:
			bad = s.readVerdict(p, u, v)
		default:
			bad = s.writeVerdict(p, u, v)
		}
		if bad.why != "" {
			bad.rule, bad.path = v.rule, u.Text
			if bad.missing == "" {
				bad.missing = v.missing
			}
			return bad
		}
	}
	for k := range p.Redirs {
		if odd := p.Redirs[k].Odd; odd != "" {
			return partVerdict{kind: ByOther, why: "it redirects to " + odd, rule: v.rule}
		}
	}
	if v.kind == ByReadOnly {
		v.ok = true
		for k := range p.Uses {
			if u := &p.Uses[k]; u.Intent == shellsyntax.Write || u.Intent == shellsyntax.Delete {
				v.kind = ByMode
				if r := s.editRule(u); r != nil {
					v.kind, v.rule = ByRule, r
				}
			}
		}
	}
	return v
}

// readVerdict checks a path that is read. The zero verdict means it is fine.
func (s *shellEval) readVerdict(p *shellsyntax.Part, u *shellsyntax.PathUse, v partVerdict) partVerdict {
	switch {
	case u.Tree, u.Input:
		return partVerdict{} // counts for deny rules alone
	case u.Unknown:
		return partVerdict{kind: ByDirectory, why: "which path " + u.Text + " names is only known at run time"}
	case u.Unbased:
		return partVerdict{kind: ByDirectory, why: "in which directory " + u.Text + " lies is only known at run time"}
	case u.Glob:
		if u.Walk != "" || !s.inside(s.placeOf(pathpattern.LiteralHead(u.Path))) {
			return partVerdict{kind: ByDirectory, why: u.Text + " may lie outside of the working directories"}
		}
		if why := s.matches(u).why; why != "" {
			return partVerdict{kind: ByDirectory, why: why}
		}
		return s.followVerdict(u)
	}
	pl := s.placeOfUse(u)
	if pl.err != nil {
		return partVerdict{kind: ByDirectory, why: fmt.Sprintf("%s cannot be resolved: %v", u.Text, pl.err)}
	}
	if s.inside(pl) || s.temporary(pl) || s.ruleNames(p, pl, v) || s.bothSpellings(s.pathRules("Read", AllowList), pl) != nil {
		return s.followVerdict(u)
	}
	verb := "reads"
	if u.Intent == shellsyntax.Enter {
		verb = "goes to"
	}
	return partVerdict{kind: ByDirectory, why: fmt.Sprintf("it %s %s, outside of the working directories", verb, s.shown(u, pl)), missing: readRule(u, pl)}
}

// shown names a path for people, with where it leads when that differs.
func (s *shellEval) shown(u *shellsyntax.PathUse, pl *place) string {
	if pl.real != pl.path {
		return u.Text + " (→ " + pl.real + ")"
	}
	return u.Text
}

// readRule is the rule that would let a path be read, or everything below a directory entered.
func readRule(u *shellsyntax.PathUse, pl *place) string {
	text := "Read(/" + pathpattern.Escape(pl.path)
	if u.Intent == shellsyntax.Enter {
		text += "/**"
	}
	return text + ")"
}

// writeVerdict checks a path that is written or removed.
func (s *shellEval) writeVerdict(p *shellsyntax.Part, u *shellsyntax.PathUse, v partVerdict) partVerdict {
	switch {
	case u.Selected && v.inherited:
		return partVerdict{} // an exact rule named the whole find command
	case u.Unknown, u.Unbased:
		if name := s.protectedUse(u); name != "" {
			return partVerdict{kind: BySafety, why: "it may write " + u.Text + ", which is protected (" + name + ")"}
		}
		return partVerdict{kind: ByDirectory, why: "which file " + u.Text + " is, is only known at run time"}
	case u.Glob:
		return partVerdict{kind: ByDirectory, why: "which files " + u.Text + " names is only known at run time"}
	}
	pl := s.placeOfUse(u)
	if pl.err != nil {
		if name := s.protectedName(pl); name != "" {
			return partVerdict{kind: BySafety, why: fmt.Sprintf("it may write what is protected (%s): %s cannot be resolved: %v", name, u.Text, pl.err)}
		}
		return partVerdict{kind: ByDirectory, why: fmt.Sprintf("%s cannot be resolved: %v", u.Text, pl.err)}
	}
	if bad := s.followVerdict(u); bad.why != "" {
		return bad
	}
	if name := s.protectedName(pl); name != "" {
		return partVerdict{kind: BySafety, why: fmt.Sprintf("it writes %s, which is protected (%s)", s.shown(u, pl), name)}
	}
	if u.Expands || !s.inside(pl) {
		return partVerdict{kind: ByDirectory, why: fmt.Sprintf("it writes %s, outside of the working directories", s.shown(u, pl))}
	}
	if s.pol.Mode == AcceptEdits && (u.Redirect || v.kind == ByMode) {
		return partVerdict{}
	}
	if s.editRule(u) != nil && s.pol.Mode != Plan {
		return partVerdict{}
	}
	if !u.Redirect && v.kind == ByRule && (p.FileTool || u.Product) {
		return partVerdict{}
	}
	return partVerdict{kind: ByDirectory, why: "it writes " + u.Text, missing: "Edit(" + s.editPattern(pl.path) + ")"}
}

// protectedUse looks whether a path that is not known in full could be a protected one.
func (s *shellEval) protectedUse(u *shellsyntax.PathUse) string {
	if u.Path == "" {
		return ""
	}
	return s.protectedName(s.placeOfUse(u))
}

// editPattern is the pattern of an Edit rule for one file. It is anchored at the root, so that it means
// the same wherever it is saved.
func (s *shellEval) editPattern(p string) string { return "/" + pathpattern.Escape(p) }
