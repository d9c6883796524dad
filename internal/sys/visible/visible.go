// Package visible makes text from models, tools, files, servers and settings harmless to a terminal
// and honest to its reader: what would act without being seen is spelled out. Every surface uses
// it, for the error stream, questions, refusals, reports and the terminal alike, so that no two of
// them differ in what they let through. What goes to a model or into a JSON protocol is not its
// business. Begin at Text; Of is the one table of the characters concerned.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the way in which a character acts without being seen.
type Kind int

// The kinds. Shown is every character a reader sees for what it is.
const (
	Shown     Kind = iota
	Control        // C0, DEL and C1, but for line feed and tab
	Direction      // reorders the text around it
	Invisible      // takes no room, or stands for a mark of its own only by convention
	Separator      // a line or paragraph end other than line feed
	Blank          // looks like a blank and separates nothing
	Broken         // a byte that is no UTF-8
)

// Of is the kind of a character as utf8.DecodeRune returns it. Line feed and tab are Shown: who
// needs them on one line, or told from blanks, says so by Line and Exact.
func Of(r rune, size int) Kind {
	switch {
	case r == '\n', r == '\t', r >= ' ' && r < 0x7f:
		return Shown
	case r < 0xa0:
		return Control
	case r == utf8.RuneError && size == 1:
		return Broken
	case r == 0x061c, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return Direction
	case r == 0x2028, r == 0x2029:
		return Separator
	case r == 0x2800, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, unicode.Is(unicode.Zs, r):
		return Blank
	case ignorable(r), unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return Invisible
	}
	return Shown
}

// ignorable reports the characters that Unicode lets a display leave out and that are no format
// characters. The selectors of emoji and text style stand at sight of what they change, and pass.
func ignorable(r rune) bool {
	switch {
	case r == 0x034f, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f, r == 0x2065:
		return true
	case r >= 0xfe00 && r <= 0xfe0d, r >= 0xfff0 && r <= 0xfffb:
		return true
	}
	return r >= 0xe0000 && r < 0xe1000 // tags and more variation selectors
}

// Text returns s with the characters that act unseen as escapes, and nothing cut. Line feeds and
// tabs pass, and so do blanks of every width and the joiner within an emoji.
func Text(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	prev := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch k := Of(r, size); {
		case k == Shown, k == Blank, r == 0x200d && joins(prev, s[i+size:]):
			b.WriteString(s[i : i+size])
		default:
			escape(&b, r, s[i], k)
		}
		prev = r
		i += size
	}
	return b.String()
}

// Line is Text on one line: every run of white space becomes one blank.
func Line(s string) string { return Text(strings.Join(strings.Fields(s), " ")) }

// Exact is for what a person is asked to allow. Line feeds and indentation pass; tabs, odd blanks
// and joiners are spelled out, and so are runs of blanks that could push text out of sight.
func Exact(s string) string {
	if plain(s) && !strings.Contains(s, "   ") && !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	start := true // nothing but indentation stands before on this line
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch k := Of(r, size); {
		case r == ' ':
			size = run(s[i:], ' ')
			if size > 2 && !start || size > mostIndent {
				fmt.Fprintf(&b, " ⟨%d blanks⟩ ", size)
			} else {
				b.WriteString(s[i : i+size])
			}
		case r == '\t':
			if size = run(s[i:], '\t'); start && size <= mostTabs {
				b.WriteString(s[i : i+size])
			} else if size > 1 {
				fmt.Fprintf(&b, "⟨%d tabs⟩", size)
			} else {
				b.WriteString(`\t`)
			}
		case k == Shown:
			b.WriteString(s[i : i+size])
		default:
			escape(&b, r, s[i], k)
		}
		start = r == '\n' || start && (r == ' ' || r == '\t')
		i += size
	}
	return b.String()
}

// How many blanks and tabs at the start of a line are still taken for indentation.
const (
	mostIndent = 40
	mostTabs   = 8
)

// ExactLine is Exact on one line, with line ends and indentation by tabs spelled out.
func ExactLine(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Exact(s), "\n", `\n`), "\t", `\t`)
}

func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// plain reports printable ASCII with line feeds and tabs, which shows as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
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
	return r >= 0x2190 && r < 0x2800 || r >= 0x2900 && r < 0x2c00 || r == 0xfe0f || r >= 0x1f000 && r < 0x20000
}

func escape(b *strings.Builder, r rune, first byte, k Kind) {
	switch {
	case k == Broken:
		fmt.Fprintf(b, `\x%02X`, first)
	case r == '\r':
		b.WriteString(`\r`)
	case r < 0x100:
		fmt.Fprintf(b, `\x%02X`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04X`, r)
	default:
		fmt.Fprintf(b, `\U%08X`, r)
	}
}

// Writer passes on what is written to it as Text. It is the last guard of a stream that people
// read: a message that nobody made visible reaches it raw. Each call of Write is a text by itself,
// as the functions of fmt write it; a character that is split between two calls shows as bytes.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ w io.Writer }

// Write implements io.Writer. It counts what was handed in, which escapes do not change.
func (v writer) Write(p []byte) (int, error) {
	shown := Text(string(p))
	n, err := io.WriteString(v.w, shown)
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}
