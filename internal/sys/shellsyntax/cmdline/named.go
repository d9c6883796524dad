package cmdline

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// NamedOptions is the text of a rule that names options of a program, such as "git commit --no-verify *". It finds the options
// wherever they stand before "--", in short, joined and abbreviated forms. It is immutable.
type NamedOptions struct {
	words []expand.Word // canonical; wildcards as Star
	open  bool          // ends in a wildcard: more may follow
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
		n.words = append(n.words, expand.Word{Text: w, Canon: w, Value: w, Prefix: len(w), Flags: expand.Static})
		names = names || len(w) > 1 && w[0] == '-' && w != "--"
	}
	if !names {
		return nil
	}
	return n
}

// commandArgs is a command line taken apart, git's own options apart.
type commandArgs struct {
	Args
	global []expand.Word // git's options before the subcommand
	key    string        // program and sub-command
}

func takeCommand(words []expand.Word, at int) commandArgs {
	name := baseName(words[at].Text)
	s := options.Find(name)
	if s == nil {
		s = &options.Spec{}
	}
	if name != "git" {
		a := Take(s, words, at)
		return commandArgs{Args: a, key: strings.TrimSpace(name + " " + a.Sub)}
	}
	g := ReadGitGlobal(words, at)
	c := commandArgs{global: words[at+1 : g.Sub], key: name}
	if g.Sub >= len(words) {
		c.Spec = s
		return c
	}
	c.key += " " + words[g.Sub].Text
	sub := s.Sub(words[g.Sub].Text)
	if sub == nil {
		sub = &options.Spec{}
	}
	c.Args = Take(sub, words, g.Sub)
	c.Sub = strings.TrimSpace(words[g.Sub].Text + " " + c.Sub)
	c.Maybe = c.Maybe || g.Unknown
	return c
}

// plain are the sub-commands and operands in canonical spelling.
func (c *commandArgs) plain(words []expand.Word) []string {
	out := strings.Fields(c.Sub)
	for _, i := range c.Operands {
		out = append(out, words[i].Canon)
	}
	return out
}

// Match tells whether the command line that begins at a word is one that the rule describes.
func (n *NamedOptions) Match(line []expand.Word, at int) Likeness {
	if name := line[at].Text; !line[at].Static() || baseName(name) != n.words[0].Text && name != n.words[0].Text {
		return Unlike
	}
	rule, call := takeCommand(n.words, 0), takeCommand(line, at)
	if !n.open && (len(rule.Operands) != len(call.Operands) || len(rule.Options) != len(call.Options)) {
		return Unlike
	}
	if !inOrder(rule.plain(n.words), call.plain(line)) {
		return Unlike
	}
	for _, g := range rule.global {
		if !hasGlobal(&g, call.global) {
			return Unlike
		}
	}
	best := Alike
	for i := range rule.Options {
		got := call.holds(&rule.Options[i])
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

func hasGlobal(g *expand.Word, call []expand.Word) bool {
	for i := range call {
		v := call[i].Value
		if likeText(g.Text, v) || strings.HasPrefix(g.Text, "-") && strings.HasPrefix(v, g.Text) {
			return true
		}
	}
	return strings.Trim(g.Text, Star) == ""
}

// holds tells whether a command has an option of a rule.
func (c *commandArgs) holds(o *Arg) Likeness {
	long, known := options.Twins(c.key)
	perhaps := c.Maybe
	for i := range c.Options {
		have := &c.Options[i]
		if sameOption(o.Name, have.Name, long) {
			if o.Value == "" || o.Opt.Arg == options.NoArg && !strings.Contains(o.Value, Star) || likeText(o.Value, expand.Canonical(have.Value)) || likeText(o.Value, have.Value) {
				return Alike
			}
			continue
		}
		oneLong := strings.HasPrefix(o.Name, "--") != strings.HasPrefix(have.Name, "--")
		perhaps = perhaps || !known && oneLong && !c.Spec.Single
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
