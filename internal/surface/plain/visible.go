package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes text from models, tools, files and servers harmless to a terminal and honest to
// its reader: control characters, escape sequences, direction controls, zero-width and tag
// characters and bytes that are no UTF-8 are shown as escapes. Line feeds and tabs pass, and the
// joiner inside an emoji sequence does.
func visible(s string) string { return escape(s, false) }

// exact is visible without the exception for emoji, and with blanks that are none in sight: for
// what a person is asked to allow.
func exact(s string) string { return escape(s, true) }

func escape(s string, strict bool) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	prev := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		rest := s[i+size:]
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02X`, s[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == 0x200D && !strict && joins(prev, rest):
			b.WriteRune(r)
		case hidden(r) || strict && r != ' ' && unicode.IsSpace(r):
			b.WriteString(escapeOf(r))
		default:
			b.WriteRune(r)
		}
		prev = r
		i += size
	}
	return b.String()
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// joins reports whether a zero-width joiner stands between two emoji.
func joins(prev rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return pictograph(prev) && pictograph(next)
}

func pictograph(r rune) bool {
	return r >= 0x2190 && r < 0x2C00 || r == 0xFE0F || r >= 0x1F000 && r < 0x20000
}

// hidden reports whether a character acts on a terminal or a reader without being seen.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r == 0xAD, r == 0x061C, r == 0x180E:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
		return true
	case r == 0xFEFF, r >= 0xFFF9 && r <= 0xFFFB:
		return true
	case r >= 0xE0000 && r < 0xE1000: // tags and more variation selectors
		return true
	}
	return false
}

func escapeOf(r rune) string {
	switch {
	case r == '\r':
		return `\r`
	case r < 0x100:
		return fmt.Sprintf(`\x%02X`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04X`, r)
	}
	return fmt.Sprintf(`\U%08X`, r)
}

// lastState is what a line of output that overwrites itself by carriage returns shows in the end.
func lastState(line string) string {
	line = strings.TrimRight(line, "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		return line[i+1:]
	}
	return line
}

// outputLines are the lines of a command's output, safe to print.
func outputLines(text string) []string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = visible(stripSGR(lastState(l)))
	}
	return lines
}

// stripSGR takes out the colours of a command's output. Other sequences stay, to be made visible.
func stripSGR(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		j := i + 2
		for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == ';' || s[j] == ':') {
			j++
		}
		if j < len(s) && s[j] == 'm' {
			b.WriteString(s[:i])
		} else {
			b.WriteString(s[:j])
		}
		s = s[min(len(s), j+boolInt(j < len(s) && s[j] == 'm')):]
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// oneLine is a text on one line, safe to print.
func oneLine(s string) string { return visible(strings.Join(strings.Fields(s), " ")) }
