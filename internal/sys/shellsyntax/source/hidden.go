package source

import (
	"fmt"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Hidden is a character that a person does not see as it is.
type Hidden struct {
	Text string // a sentence for people
	At   int    // byte offset
}

// Invisible looks at the text itself for characters that hide, reorder or split what a person
// reads. Ordinary letters of any script are fine.
func Invisible(text string) []Hidden {
	if isPrintableASCII(text) {
		return nil
	}
	var out []Hidden
	quote := byte(0) // the open quote, as far as blanks are concerned
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			quote = nextQuote(quote, text, i)
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				out = append(out, Hidden{"the command holds the control character " + controlName(c), i})
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if why := suspicious(r, n, quote != 0); why != "" {
			out = append(out, Hidden{why, i})
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

// suspicious is why a character beyond ASCII makes a command ask, empty when it does not.
func suspicious(r rune, size int, quoted bool) string {
	switch visible.Of(r, size) {
	case visible.Broken:
		return "the command holds bytes that are no UTF-8 text"
	case visible.Direction:
		return fmt.Sprintf("the command holds the text direction control U+%04X: it may not read as it runs", r)
	case visible.Invisible:
		return fmt.Sprintf("the command holds the invisible character U+%04X", r)
	case visible.Separator:
		return fmt.Sprintf("the command holds the line separator U+%04X", r)
	case visible.Control:
		return fmt.Sprintf("the command holds the control character U+%04X", r)
	case visible.Blank:
		if !quoted {
			return fmt.Sprintf("the command holds the blank U+%04X outside of quotes, which separates nothing", r)
		}
	}
	return ""
}
