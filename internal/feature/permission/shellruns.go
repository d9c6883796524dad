package permission

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// mayRun finds a deny or ask rule about a program that part i names in a text which some other program may run. What becomes of such a
// text cannot be read, so it only asks.
func (s *shellEval) mayRun(i int) *Reason {
	indexes := s.ruledPrograms()
	if len(indexes) == 0 {
		return nil
	}
	p := &s.acc.Parts[i]
	var reason *Reason
	s.acc.Mentions(i, func(m shellsyntax.Mention) bool {
		if m.Variable != "" && safeVariable(m.Variable) {
			return true
		}
		m.Programs(func(name string) bool {
			for _, ix := range indexes {
				if r := ix.about(name); r != nil && holdsWords(s.command, p, r) {
					reason = &Reason{Kind: ByRule, Part: p.Source, Text: runsText(m, name, r)}
				}
			}
			return reason == nil
		})
		return reason == nil
	})
	return reason
}

// ruledPrograms returns the deny and ask rules about commands.
func (s *shellEval) ruledPrograms() []*shellIndex {
	if !s.ruledKnown {
		s.ruledKnown = true
		for _, t := range s.shellRules() {
			for _, list := range [2]List{DenyList, AskList} {
				if ix := t.shell[list]; ix != nil {
					s.ruled0 = append(s.ruled0, ix)
				}
			}
		}
	}
	return s.ruled0
}

// about finds a rule about a program, by its name or the last element of it.
func (ix *shellIndex) about(name string) *compiled {
	base := baseName(name)
	for _, key := range [2]string{name, base} {
		for _, r := range ix.byFirst[key] {
			if !r.shell.Spans {
				return r
			}
		}
	}
	for _, r := range ix.leading {
		if len(r.shell.Program.Parts) > 0 && r.shell.Program.Match(base) {
			return r
		}
	}
	return nil
}

// holdsWords tells whether the line holds the further words that a rule names, or may come to hold them.
func holdsWords(line string, p *shellsyntax.Part, r *compiled) bool {
	for k := range p.Words {
		if p.Words[k].Unknown() {
			return true
		}
	}
	for _, word := range r.shell.Others {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func runsText(m shellsyntax.Mention, name string, r *compiled) string {
	rule := fmt.Sprintf("the rule %s denies that", r.rule.Text)
	if r.rule.List == AskList {
		rule = fmt.Sprintf("the rule %s asks for that", r.rule.Text)
	}
	switch {
	case m.Variable != "":
		return fmt.Sprintf("it sets %s to a text that names %s, which other programs may run; %s", m.Variable, name, rule)
	case m.Whole:
		return fmt.Sprintf("a text given to %s names %s; whether it runs it cannot be read, and %s", m.To, name, rule)
	}
	return fmt.Sprintf("%s is given the name %s and may run it; %s", m.To, name, rule)
}
