package shellsyntax

import (
	"strings"
)

// sed notes what the scripts of a sed command do, and its files.
func (d *describer) sed(ops []int) {
	var scripts []string
	given := false
	for _, o := range d.a.options {
		switch o.opt.role {
		case script:
			given = true
			scripts = append(scripts, o.value)
			if !d.words[o.word].Static() {
				d.runsProgram("has a script that is only known at run time")
			}
		case scriptFile:
			given = true
		}
	}
	if !given && len(ops) > 0 {
		if !d.words[ops[0]].Static() {
			d.runsProgram("has a script that is only known at run time")
		}
		scripts = append(scripts, d.words[ops[0]].Value)
		ops = ops[1:]
		if scripts[0] == "" && len(ops) > 0 { // other seds take "-i ''": then this is the script
			scripts = append(scripts, d.words[ops[0]].Value)
		}
	}
	if d.a.maybe {
		d.runsProgram("has a word that may be an option")
	}
	// Several -e scripts are lines of one: a command may go over from one to the next.
	facts := readSed(strings.Join(scripts, "\n"))
	if facts.why != "" {
		d.runsProgram("has a script that " + facts.why)
	}
	for _, f := range facts.writes {
		d.not("its script writes a file")
		d.p.Exec = append(d.p.Exec, "the script of sed writes "+f)
		d.w.addUse(d.p, d.st, &Word{Text: f, Value: f, Prefix: len(f), flags: flagStatic}, f, Write, false)
	}
	for _, f := range facts.reads {
		d.not("its script reads another file")
		d.p.Exec = append(d.p.Exec, "the script of sed reads "+f)
		d.w.addUse(d.p, d.st, &Word{Text: f, Value: f, Prefix: len(f), flags: flagStatic}, f, Read, false)
	}
	intent := Read
	if _, ok := d.hasRole(inPlace); ok {
		intent = Write
		d.addFromInput(Write)
	}
	d.each(ops, intent)
}

// sedFacts is what a sed script does besides editing.
type sedFacts struct {
	writes, reads []string
	why           string // it executes, or cannot be read; empty: neither
}

// readSed reads a sed script (GNU sed 4.9). What it does not understand counts as executing.
func readSed(script string) sedFacts {
	s := sedReader{text: script}
	for s.facts.why == "" && s.command() {
	}
	return s.facts
}

type sedReader struct {
	text  string
	pos   int
	facts sedFacts
}

func (s *sedReader) fail(why string) bool {
	if s.facts.why == "" {
		s.facts.why = why
	}
	return false
}

func (s *sedReader) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *sedReader) skip(chars string) {
	for s.pos < len(s.text) && strings.IndexByte(chars, s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// command reads one command with its addresses; it reports false at the end or after a failure.
func (s *sedReader) command() bool {
	s.skip(" \t\n;")
	if s.pos >= len(s.text) {
		return false
	}
	if s.peek() == '#' {
		s.line()
		return true
	}
	if !s.addresses() {
		return false
	}
	s.skip(" \t")
	for s.peek() == '!' {
		s.pos++
		s.skip(" \t")
	}
	c := s.peek()
	s.pos++
	switch c {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return true
	case 'l', 'L', 'q', 'Q':
		s.skip(" \t0123456789")
		return true
	case ':', 'b', 't', 'T', 'v':
		for s.pos < len(s.text) && s.peek() != '\n' && s.peek() != ';' && s.peek() != '}' {
			s.pos++
		}
		return true
	case 'a', 'i', 'c':
		s.insertedText()
		return true
	case 'e':
		return s.fail("runs commands")
	case 'w', 'W':
		s.facts.writes = append(s.facts.writes, s.fileName())
		return true
	case 'r', 'R':
		s.facts.reads = append(s.facts.reads, s.fileName())
		return true
	case 's':
		return s.substitute()
	case 'y':
		_, ok := s.delimited(2)
		if !ok {
			return s.fail("cannot be read")
		}
		return true
	}
	return s.fail("cannot be read")
}

func (s *sedReader) line() string {
	end := strings.IndexByte(s.text[s.pos:], '\n')
	if end < 0 {
		end = len(s.text) - s.pos
	}
	out := s.text[s.pos : s.pos+end]
	s.pos += end
	return out
}

func (s *sedReader) fileName() string {
	s.skip(" \t")
	return s.line()
}

// insertedText skips the text of a, i and c: to the end of the line, over escaped line ends.
func (s *sedReader) insertedText() {
	for {
		l := s.line()
		if s.pos >= len(s.text) || !strings.HasSuffix(l, `\`) {
			return
		}
		s.pos++
	}
}

func (s *sedReader) addresses() bool {
	for range 2 {
		s.skip(" \t")
		switch c := s.peek(); {
		case c >= '0' && c <= '9', c == '$', c == '+', c == '~':
			s.pos++
			s.skip("0123456789~")
		case c == '/':
			s.pos++
			if !s.regex('/') {
				return s.fail("cannot be read")
			}
		case c == '\\' && s.pos+1 < len(s.text):
			delim := s.text[s.pos+1]
			s.pos += 2
			if !s.regex(delim) {
				return s.fail("cannot be read")
			}
		}
		s.skip(" \t")
		if s.peek() != ',' {
			return true
		}
		s.pos++
	}
	return true
}

// regex skips to the closing delimiter and over the flags of an address.
func (s *sedReader) regex(delim byte) bool {
	if !s.until(delim) {
		return false
	}
	s.skip("IM")
	return true
}

// until skips to just after the delimiter. Like sed itself it lets a backslash take the next
// character; inside a bracket expression the delimiter is still a delimiter.
func (s *sedReader) until(delim byte) bool {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		switch {
		case c == '\\':
			s.pos++
		case c == delim:
			return true
		case c == '[' && delim != '[':
			// sed lets the delimiter stand in a bracket expression in some versions; both readings
			// must not hide a flag, so such a script counts as unreadable.
			if end := strings.IndexByte(s.text[s.pos:], ']'); end >= 0 && strings.IndexByte(s.text[s.pos:s.pos+end], delim) >= 0 {
				return false
			}
		}
	}
	return false
}

func (s *sedReader) delimited(parts int) (byte, bool) {
	if s.pos >= len(s.text) {
		return 0, false
	}
	delim := s.text[s.pos]
	s.pos++
	if delim == '\n' || delim == '\\' {
		return 0, false
	}
	for range parts {
		if !s.until(delim) {
			return 0, false
		}
	}
	return delim, true
}

func (s *sedReader) substitute() bool {
	if _, ok := s.delimited(2); !ok {
		return s.fail("cannot be read")
	}
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case 'g', 'p', 'i', 'I', 'm', 'M', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			s.pos++
		case 'e':
			return s.fail("runs the result of a substitution")
		case 'w':
			s.pos++
			s.facts.writes = append(s.facts.writes, s.fileName())
			return true
		case ' ', '\t', '\n', ';', '}', '#':
			return true
		default:
			return s.fail("cannot be read")
		}
	}
	return true
}

// awk notes what the program of an awk command may do, and its files.
func (d *describer) awk(ops []int) {
	given := false
	var texts []string
	for _, o := range d.a.options {
		switch o.opt.role {
		case script:
			given = true
			texts = append(texts, o.value)
		case scriptFile:
			given = true
		}
	}
	if !given && len(ops) > 0 {
		if !d.words[ops[0]].Static() {
			d.runsProgram("has a program that is only known at run time")
		}
		texts = append(texts, d.words[ops[0]].Value)
		ops = ops[1:]
	}
	for _, t := range texts {
		if why := awkDanger(t); why != "" {
			d.runsProgram("has a program that " + why)
		}
	}
	for _, i := range ops {
		if !isAssignment(d.words[i].Value) {
			d.operand(i, Read)
		}
	}
}

// awkDanger tells why an awk program may do more than print. It looks at the text alone and errs
// on the side of danger.
func awkDanger(t string) string {
	switch {
	case strings.Contains(t, "system"):
		return "runs commands"
	case strings.Contains(t, "getline"):
		return "reads files or commands"
	case strings.Contains(strings.ReplaceAll(t, "||", ""), "|"):
		return "pipes to a command"
	case strings.Contains(t, "@"):
		return "loads or calls indirectly"
	}
	for i := 0; ; {
		j := strings.Index(t[i:], "print")
		if j < 0 {
			return ""
		}
		i += j + len("print")
		end := strings.IndexAny(t[i:], ";}\n")
		if end < 0 {
			end = len(t) - i
		}
		if strings.Contains(t[i:i+end], ">") || strings.Contains(t[i:], ">") && strings.ContainsAny(t[i:i+end], `"/`) {
			return "writes a file"
		}
	}
}
