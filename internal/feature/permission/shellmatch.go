package permission

import (
	"path"
	"strings"

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
