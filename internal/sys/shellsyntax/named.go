package shellsyntax

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// NamedOptions is the text of a rule that names options of a program, such as "git commit --no-verify *". It finds the options
// wherever they stand before "--", in short, joined and abbreviated forms. It is immutable.
type NamedOptions struct {
	words []Word // canonical; wildcards as Star
	open  bool   // ends in a wildcard: more may follow
}

// Star stands for a wildcard in the words of a rule: a byte that no text of a settings file holds.
const Star = "\x00"

// Likeness says whether a command is one that a rule describes.
type Likeness uint8

// The degrees of likeness.
const (
	Unlike Likeness = iota
	Perhaps
	Alike
)

// NewNamedOptions reads the canonical words of a rule; nil when it names no option, or not the program.
func NewNamedOptions(words []string) *NamedOptions {
	if len(words) < 2 || strings.Contains(words[0], Star) {
		return nil
	}
	n := &NamedOptions{open: strings.HasSuffix(words[len(words)-1], Star)}
	names := false
	for _, w := range words {
		n.words = append(n.words, Word{Text: w, Canon: w, Value: w, Prefix: len(w), flags: flagStatic})
		names = names || len(w) > 1 && w[0] == '-' && w != "--"
	}
	if !names {
		return nil
	}
	return n
}

// commandArgs is a command line taken apart, git's own options apart.
type commandArgs struct {
	args
	global []Word // git's options before the subcommand
	key    string // program and sub-command
}

func takeCommand(words []Word, at int) commandArgs {
	name := baseName(words[at].Text)
	s := options.Find(name)
	if s == nil {
		s = &options.Spec{}
	}
	if name != "git" {
		a := takeArgs(s, words, at)
		return commandArgs{args: a, key: strings.TrimSpace(name + " " + a.sub)}
	}
	g := readGitGlobal(words, at)
	c := commandArgs{global: words[at+1 : g.sub], key: name}
	if g.sub >= len(words) {
		c.spec = s
		return c
	}
	c.key += " " + words[g.sub].Text
	sub := s.Sub(words[g.sub].Text)
	if sub == nil {
		sub = &options.Spec{}
	}
	c.args = takeArgs(sub, words, g.sub)
	c.sub = strings.TrimSpace(words[g.sub].Text + " " + c.sub)
	c.maybe = c.maybe || g.unknown
	return c
}

// plain are the sub-commands and operands in canonical spelling.
func (c *commandArgs) plain(words []Word) []string {
	out := strings.Fields(c.sub)
	for _, i := range c.operands {
		out = append(out, words[i].Canon)
	}
	return out
}

// Match tells whether the form of a part is a command that the rule describes.
func (n *NamedOptions) Match(p *Part, form Form) Likeness {
	if form.Name == "" || baseName(form.Name) != n.words[0].Text && form.Name != n.words[0].Text {
		return Unlike
	}
	rule, call := takeCommand(n.words, 0), takeCommand(p.Words, form.At)
	if !n.open && (len(rule.operands) != len(call.operands) || len(rule.options) != len(call.options)) {
		return Unlike
	}
	if !inOrder(rule.plain(n.words), call.plain(p.Words)) {
		return Unlike
	}
	for _, g := range rule.global {
		if !hasGlobal(&g, call.global) {
			return Unlike
		}
	}
	best := Alike
	for i := range rule.options {
		got := call.holds(&rule.options[i])
		if got == Unlike {
			return Unlike
		}
		best = min(best, got)
	}
	return best
}

// inOrder tells whether the words of a rule stand in a command in this order, the first at its beginning.
func inOrder(rule, call []string) bool {
	k := 0
	for i, r := range rule {
		if strings.Trim(r, Star) == "" && r != "" {
			continue // any number of words
		}
		found := false
		for ; k < len(call) && !found; k++ {
			found = likeText(r, call[k])
			if !found && i == 0 {
				return false
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func hasGlobal(g *Word, call []Word) bool {
	for i := range call {
		v := call[i].Value
		if likeText(g.Text, v) || strings.HasPrefix(g.Text, "-") && strings.HasPrefix(v, g.Text) {
			return true
		}
	}
	return strings.Trim(g.Text, Star) == ""
}

// holds tells whether a command has an option of a rule.
func (c *commandArgs) holds(o *arg) Likeness {
	long, known := options.Twins(c.key)
	perhaps := c.maybe
	for i := range c.options {
		have := &c.options[i]
		if sameOption(o.name, have.name, long) {
			if o.value == "" || o.opt.Arg == options.NoArg && !strings.Contains(o.value, Star) || likeText(o.value, Canonical(have.value)) || likeText(o.value, have.value) {
				return Alike
			}
			continue
		}
		oneLong := strings.HasPrefix(o.name, "--") != strings.HasPrefix(have.name, "--")
		perhaps = perhaps || !known && oneLong && !c.spec.Single
	}
	if perhaps {
		return Perhaps
	}
	return Unlike
}

// sameOption compares the name of an option in a rule with one in a command: as written, abbreviated, or in its other form.
func sameOption(rule, have string, long map[string]string) bool {
	for _, r := range [2]string{rule, long[rule]} {
		for _, h := range [2]string{have, long[have]} {
			if r == "" || h == "" {
				continue
			}
			if likeText(r, h) || len(h) > 2 && strings.HasPrefix(h, "--") && strings.HasPrefix(r, h) {
				return true
			}
		}
	}
	return false
}

// likeText compares a text with one in which Star is any run of characters.
func likeText(pattern, text string) bool {
	parts := strings.Split(pattern, Star)
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
