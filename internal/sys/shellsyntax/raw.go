package shellsyntax

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// checkRaw looks at the text itself for characters that hide, reorder or split what a person
// reads. Ordinary letters of any script are fine.
func checkRaw(text string) []Problem {
	if isPrintableASCII(text) {
		return nil
	}
	var out []Problem
	quote := byte(0) // the open quote, as far as blanks are concerned
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			quote = nextQuote(quote, text, i)
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				out = append(out, Problem{Invisible, "the command holds the control character " + controlName(c), i})
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if why := suspicious(r, n, quote != 0); why != "" {
			out = append(out, Problem{Invisible, why, i})
		}
		i += n
		if len(out) >= 20 {
			break
		}
	}
	return out
}

func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || (c < ' ' && c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

// nextQuote follows quotes well enough to tell a blank in a text from a blank between words. A
// wrong guess can only make a no-break space inside quotes suspicious or one outside pass as part of a
// word, which it is.
func nextQuote(open byte, text string, i int) byte {
	c := text[i]
	if c != '\'' && c != '"' {
		return open
	}
	if open != '\'' && i > 0 && text[i-1] == '\\' {
		return open
	}
	switch open {
	case 0:
		return c
	case c:
		return 0
	}
	return open
}

func controlName(c byte) string {
	switch c {
	case '\r':
		return "carriage return"
	case 0x1b:
		return "escape"
	case 0x07:
		return "bell"
	case 0:
		return "NUL"
	}
	return fmt.Sprintf("0x%02x", c)
}

func suspicious(r rune, size int, quoted bool) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "the command holds bytes that are no UTF-8 text"
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x061c:
		return fmt.Sprintf("the command holds the text direction control U+%04X: it may not read as it runs", r)
	case r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff, r == 0x00ad, r >= 0xe0000 && r <= 0xe007f, r == 0x180e, r >= 0x2061 && r <= 0x2064:
		return fmt.Sprintf("the command holds the invisible character U+%04X", r)
	case r == 0x2028 || r == 0x2029:
		return fmt.Sprintf("the command holds the line separator U+%04X", r)
	case r >= 0x80 && r < 0xa0:
		return fmt.Sprintf("the command holds the control character U+%04X", r)
	case !quoted && r != ' ' && (unicode.Is(unicode.Zs, r) || r == 0x2800 || r == 0x3164 || r == 0x115f || r == 0x1160):
		return fmt.Sprintf("the command holds the blank U+%04X outside of quotes, which separates nothing", r)
	}
	return ""
}

// Visible makes a text safe to show: control, direction and invisible characters are escaped,
// tabs and runs of more than two blanks are marked. Nothing is cut.
func Visible(text string) string {
	if isPlainLine(text) {
		return text
	}
	var b []byte
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			n := 1
			for i+n < len(text) && text[i+n] == ' ' {
				n++
			}
			if n > 2 {
				b = fmt.Appendf(b, " ⟨%d blanks⟩ ", n)
			} else {
				b = append(b, text[i:i+n]...)
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\t':
			m := 1
			for i+m < len(text) && text[i+m] == '\t' {
				m++
			}
			if m > 1 {
				b = fmt.Appendf(b, "⟨%d tabs⟩", m)
			} else {
				b = append(b, "→"...)
			}
			n = m
		case r == '\n':
			b = append(b, '\n')
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, "⟨0x%02x⟩", text[i])
		case r < ' ' || r == 0x7f || suspicious(r, n, false) != "":
			b = fmt.Appendf(b, "⟨U+%04X⟩", r)
		default:
			b = append(b, text[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// isPlainLine tells whether a text shows as it is: printable ASCII without runs of blanks.
func isPlainLine(s string) bool {
	blanks := 0
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f {
			return false
		}
		if c != ' ' {
			blanks = 0
		} else if blanks++; blanks > 2 {
			return false
		}
	}
	return true
}
