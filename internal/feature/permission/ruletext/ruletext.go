// Package ruletext reads what a rule about shell commands says into the spelling that commands are compared in, and matches texts with "*".
// It decides nothing.
//
// Begin with [ParseShell] and [Wildcard].
package ruletext

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
)

// Shell is the specifier of a shell rule in the spelling that commands are compared in.
type Shell struct {
	Pattern Wildcard              // canonical, every "*" a Wildcard
	Exact   string                // canonical, quoted stars literal; empty when a star stands outside of quotes
	Raw     Wildcard              // as written, blanks collapsed
	First   string                // canonical first word; empty when it holds a Wildcard
	Spans   bool                  // holds operators of the shell, so that no single command can match
	Quoted  bool                  // as written differs from canonical
	Options *cmdline.NamedOptions // the options it names; nil: none
	Program Wildcard              // the first word, when it holds letters and a Wildcard
	Others  []string              // the words after the first that are neither options nor hold a Wildcard
}

// star stands for a Wildcard inside a canonical text: a byte that no text of a settings file holds.
const star = cmdline.Star

// ParseShell brings a specifier into canonical form. It knows quotes and backslashes as the
// shell does; text with open quotes is kept as it stands.
func ParseShell(spec string) Shell {
	spec = strings.TrimSpace(spec)
	if strings.HasSuffix(spec, ":*") {
		spec = spec[:len(spec)-2] + " *"
	}
	spec = strings.ReplaceAll(spec, "\\\n", " ")
	r := ruleReader{text: spec}
	words := r.words()
	out := Shell{Spans: r.spans, Quoted: r.quoted}
	collapsed := strings.Join(strings.Fields(spec), " ")
	out.Raw = NewWildcard(strings.Split(collapsed, "*"))
	if r.open {
		out.Pattern = out.Raw
		return out
	}
	canon := strings.Join(words, " ")
	out.Pattern = NewWildcard(strings.Split(strings.ReplaceAll(canon, quotedStar, star), star))
	if !strings.Contains(canon, star) {
		out.Exact = strings.ReplaceAll(canon, quotedStar, `\*`)
	}
	if !out.Spans {
		out.Options = cmdline.NewNamedOptions(words)
	}
	if len(words) > 0 && !strings.Contains(words[0], star) && !strings.Contains(words[0], quotedStar) {
		out.First = words[0]
	}
	out.names(words)
	return out
}

// names notes the program that a rule is about, and the further words that a command of it would have to hold.
func (t *Shell) names(words []string) {
	if len(words) == 0 || t.Spans {
		return
	}
	if t.First == "" && strings.Trim(words[0], star+quotedStar) != "" {
		t.Program = NewWildcard(strings.Split(words[0], star))
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, star+quotedStar) {
			t.Others = append(t.Others, w)
		}
	}
}

const quotedStar = "\x01"

// ruleReader splits the text of a rule into words.
type ruleReader struct {
	text   string
	pos    int
	spans  bool
	quoted bool
	open   bool
}

func (r *ruleReader) words() []string {
	var out []string
	for {
		for r.pos < len(r.text) && strings.IndexByte(" \t\n", r.text[r.pos]) >= 0 {
			r.spans = r.spans || r.text[r.pos] == '\n'
			r.pos++
		}
		if r.pos >= len(r.text) || r.open {
			return out
		}
		out = append(out, r.word())
	}
}

// word reads one word and returns its canonical spelling with stars marked.
func (r *ruleReader) word() string {
	from := r.pos
	var b strings.Builder // value; stars marked
	dynamic := false
	quote := byte(0)
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		if quote == 0 && strings.IndexByte(" \t\n", c) >= 0 {
			break
		}
		r.pos++
		switch {
		case quote == 0 && (c == '\'' || c == '"'), quote != 0 && c == quote:
			r.quoted = true
			if quote == 0 {
				quote = c
			} else {
				quote = 0
			}
		case c == '*':
			if quote != 0 {
				b.WriteString(quotedStar)
			} else {
				b.WriteString(star)
			}
		case c == '\\' && quote != '\'' && r.pos < len(r.text):
			r.quoted = true
			n := r.text[r.pos]
			if quote == '"' && strings.IndexByte("$`\"\\", n) < 0 {
				b.WriteByte('\\')
				continue
			}
			r.pos++
			if n == '*' {
				b.WriteString(quotedStar)
			} else {
				b.WriteByte(n)
			}
		case quote != '\'' && (c == '$' || c == '`'):
			dynamic = true
			r.spans = r.spans || c == '`' || strings.HasPrefix(r.text[r.pos:], "(")
			b.WriteByte(c)
		case quote == 0 && strings.IndexByte("|;&<>()", c) >= 0:
			r.spans = true
			b.WriteByte(c)
		case quote == 0 && (c == '?' || c == '['), quote == 0 && c == '~' && r.pos-1 == from:
			dynamic = true // a pattern or "~" keeps its source text in a command, too
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		r.open = true
	}
	if dynamic {
		return strings.ReplaceAll(r.text[from:r.pos], "*", star)
	}
	return canonicalWithStars(b.String())
}

// canonicalWithStars spells a value, leaving the marks of stars alone.
func canonicalWithStars(v string) string {
	if !strings.ContainsAny(v, star+quotedStar) {
		return shellsyntax.Canonical(v)
	}
	var b strings.Builder
	rest := v
	for rest != "" {
		i := strings.IndexAny(rest, star+quotedStar)
		if i < 0 {
			b.WriteString(shellsyntax.Canonical(rest))
			break
		}
		if i > 0 {
			b.WriteString(shellsyntax.Canonical(rest[:i]))
		}
		b.WriteByte(rest[i])
		rest = rest[i+1:]
	}
	return b.String()
}
