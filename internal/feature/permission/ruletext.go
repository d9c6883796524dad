package permission

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
)

// shellText is the specifier of a shell rule in the spelling that commands are compared in.
type shellText struct {
	pattern wildcard              // canonical, every "*" a wildcard
	exact   string                // canonical, quoted stars literal; empty when a star stands outside of quotes
	raw     wildcard              // as written, blanks collapsed
	first   string                // canonical first word; empty when it holds a wildcard
	spans   bool                  // holds operators of the shell, so that no single command can match
	quoted  bool                  // as written differs from canonical
	options *cmdline.NamedOptions // the options it names; nil: none
}

// star stands for a wildcard inside a canonical text: a byte that no text of a settings file holds.
const star = cmdline.Star

// parseShellText brings a specifier into canonical form. It knows quotes and backslashes as the
// shell does; text with open quotes is kept as it stands.
func parseShellText(spec string) shellText {
	spec = strings.TrimSpace(spec)
	if strings.HasSuffix(spec, ":*") {
		spec = spec[:len(spec)-2] + " *"
	}
	spec = strings.ReplaceAll(spec, "\\\n", " ")
	r := ruleReader{text: spec}
	words := r.words()
	out := shellText{spans: r.spans, quoted: r.quoted}
	collapsed := strings.Join(strings.Fields(spec), " ")
	out.raw = newWildcard(strings.Split(collapsed, "*"))
	if r.open {
		out.pattern = out.raw
		return out
	}
	canon := strings.Join(words, " ")
	out.pattern = newWildcard(strings.Split(strings.ReplaceAll(canon, quotedStar, star), star))
	if !strings.Contains(canon, star) {
		out.exact = strings.ReplaceAll(canon, quotedStar, `\*`)
	}
	if !out.spans {
		out.options = cmdline.NewNamedOptions(words)
	}
	if len(words) > 0 && !strings.Contains(words[0], star) && !strings.Contains(words[0], quotedStar) {
		out.first = words[0]
	}
	return out
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
