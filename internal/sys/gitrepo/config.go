package gitrepo

import "strings"

// inertConfig returns the first key of a configuration file that is not known to be inert, or the
// first line that cannot be read as git reads it.
func inertConfig(text string) *Obstacle { return configObstacle(text, notInert) }

// configObstacle returns the first key of a configuration file for which refuse gives a reason, or the first
// line that cannot be read as git reads it.
func configObstacle(text string, refuse func(section, sub, name, value string) string) *Obstacle {
	p := configReader{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	for {
		p.skipBlank()
		at := p.line
		switch c := p.peek(); {
		case c == 0 && p.pos >= len(p.text):
			return nil
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			if !p.section() {
				return &Obstacle{Line: at, Why: "is no heading that git would read"}
			}
		default:
			name, value, ok := p.entry()
			if !ok {
				return &Obstacle{Line: at, Why: "is no entry that git would read"}
			}
			if why := refuse(p.name, p.sub, name, value); why != "" {
				return &Obstacle{Line: at, Key: p.key(name), Why: why}
			}
		}
	}
}

// notInert tells why a key may matter to a command that only reads; empty: it cannot.
func notInert(section, sub, name, value string) string {
	const other = "is not among the keys known to be inert"
	switch section {
	case "core":
		switch name {
		case "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode":
			if sub == "" {
				return ""
			}
		}
	case "remote":
		switch {
		case sub == "":
			return other
		case name == "mirror", name == "prune", name == "tagopt":
			return ""
		case name != "url" && name != "fetch":
			return other
		}
		if scheme, _, ok := strings.Cut(value, "::"); name == "url" && ok && !strings.ContainsAny(scheme, "/@[") {
			return "names an address whose transport is a program"
		}
		if strings.HasPrefix(value, "-") {
			return "begins with a dash"
		}
		return ""
	case "branch", "user":
		return ""
	}
	return other
}

// configReader reads the text of a configuration file (git-config(1), "Syntax").
type configReader struct {
	text      string
	pos, line int
	name, sub string // the section it stands in, the name in lower case
	dotted    bool   // the subsection was written [name.sub]
}

func (p *configReader) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// next returns the next byte, with CR LF as one line end; 0 at the end.
func (p *configReader) next() byte {
	if p.pos >= len(p.text) {
		return 0
	}
	c := p.text[p.pos]
	p.pos++
	if c == '\r' && p.peek() == '\n' {
		c = '\n'
		p.pos++
	}
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *configReader) skipBlank() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.next()
	}
}

func (p *configReader) comment() {
	for p.pos < len(p.text) && p.next() != '\n' {
	}
}

func (p *configReader) key(name string) string {
	if p.sub == "" {
		return p.name + "." + name
	}
	return p.name + "." + p.sub + "." + name
}

// section reads [name], [name "sub"] or the old [name.sub].
func (p *configReader) section() bool {
	p.pos++
	start := p.pos
	for isKeyByte(p.peek()) || p.peek() == '.' {
		p.pos++
	}
	p.name, p.sub, p.dotted = strings.ToLower(p.text[start:p.pos]), "", false
	if before, after, ok := strings.Cut(p.name, "."); ok {
		p.name, p.sub, p.dotted = before, after, true
	}
	if p.name == "" {
		return false
	}
	if p.peek() == ']' {
		p.pos++
		return true
	}
	if c := p.peek(); c != ' ' && c != '\t' || p.dotted {
		return false
	}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
	if p.peek() != '"' {
		return false
	}
	p.pos++
	var sub strings.Builder
	for {
		c := p.next()
		switch c {
		case 0, '\n':
			return false
		case '\\':
			if c = p.next(); c == 0 || c == '\n' {
				return false
			}
		case '"':
			p.sub = sub.String()
			return p.next() == ']'
		}
		sub.WriteByte(c)
	}
}

func isKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

// entry reads "name", or "name = value".
func (p *configReader) entry() (name, value string, ok bool) {
	start := p.pos
	for isKeyByte(p.peek()) {
		p.pos++
	}
	name = strings.ToLower(p.text[start:p.pos])
	if name == "" || p.name == "" || name[0] == '-' || '0' <= name[0] && name[0] <= '9' {
		return "", "", false
	}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
	switch {
	case p.pos >= len(p.text):
		return name, "", true
	case p.peek() == '=':
		p.pos++
		value, ok = p.value()
		return name, value, ok
	}
	return name, "", p.next() == '\n'
}

// value reads to the end of the line: quotes, escapes, comments and continued lines.
func (p *configReader) value() (string, bool) {
	var b strings.Builder
	quoted := false
	for {
		c := p.next()
		switch {
		case c == 0 && p.pos < len(p.text):
			return "", false
		case c == 0, c == '\n':
			return strings.TrimSpace(b.String()), !quoted
		case c == '"':
			quoted = !quoted
		case c == '\\':
			e := p.next()
			i := strings.IndexByte("\n\"\\ntb", e)
			if i < 0 || e == 0 {
				return "", false
			}
			if e != '\n' {
				b.WriteByte("\n\"\\\n\t\b"[i])
			}
		case !quoted && (c == '#' || c == ';'):
			p.comment()
			return strings.TrimSpace(b.String()), true
		default:
			b.WriteByte(c)
		}
	}
}
