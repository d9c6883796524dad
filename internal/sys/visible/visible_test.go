package visible

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestKF161_Text(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":         "plain\ttext\n",
		"\x1b[31mred\x1b]0;t\a": `\x1B[31mred\x1B]0;t\x07`,
		"a\rb":                  `a\rb`,
		"\u202eabc\u200b":       `\u202Eabc\u200B`,
		"\xff\xc3":              `\xFF\xC3`,
		"👩‍👧 ✈️":                "👩‍👧 ✈️",
		"a\u200db":              `a\u200Db`,
		"\U000E0041":            `\U000E0041`,
		"\u0085\u009b1m\x7f":    `\x85\x9B1m\x7F`,
		"naïve 漢字 \u0601":       "naïve 漢字 \u0601",
		"a\u00a0b":              "a\u00a0b",
		"x\u034f\ufe00\u2028y":  `x\u034F\uFE00\u2028y`,
		"\ufffd":                "\ufffd",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestKF161_Line(t *testing.T) {
	if got := Line(" a\r\n\tb\x1b[1m\u2028c "); got != `a b\x1B[1m c` {
		t.Errorf("got %q", got)
	}
}

func TestKF050_Exact(t *testing.T) {
	for in, want := range map[string]string{
		"echo hi" + strings.Repeat("\t", 300) + "; rm\u202e x\u200b \x1b[2K" + strings.Repeat(" ", 40) + "y\r": `echo hi⟨300 tabs⟩; rm\u202E x\u200B \x1B[2K ⟨40 blanks⟩ y\r`,
		"a\u00a0b\u2003c 👩‍👧": `a\xA0b\u2003c 👩\u200D👧`,
		"\u3164x\u2800\u115f": `\u3164x\u2800\u115F`,
		"a\tb":                `a\tb`,
		"{\n    \"a\":  1\n}": "{\n    \"a\":  1\n}",
		strings.Repeat(" ", 41) + "x\n" + strings.Repeat(" ", 40) + "y": " ⟨41 blanks⟩ x\n" + strings.Repeat(" ", 40) + "y",
	} {
		if got := Exact(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := ExactLine("a\nb\tc"); got != `a\nb\tc` {
		t.Errorf("on one line: %q", got)
	}
}

// hostile draws texts full of what the package is for.
func hostile() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{
		"\x1b[2J", "\x1b]0;x\a", "\r", "\b", "\x00", "\x7f", "\u009b", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028",
		"\u00a0", "\u3164", "\U000e0041", "\xff", "\xe2\x80", "\n", "\t", "   ", "👩\u200d👧", "é", "word",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.OneOf(odd, rapid.String()), 0, 12).Draw(t, "parts"), "")
	})
}

// acts reports the first character that a terminal or a reader would be deceived by, found
// without the package's own table.
func acts(s string) (rune, bool) {
	for _, r := range s {
		if r == '\n' || r == '\t' || r == 0x200d { // the joiner of emoji has a test of its own
			continue
		}
		if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) ||
			unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
			return r, true
		}
	}
	return 0, false
}

func TestKF161_NothingActsUnseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := hostile().Draw(t, "text")
		for name, f := range map[string]func(string) string{"Text": Text, "Line": Line, "Exact": Exact, "ExactLine": ExactLine} {
			got := f(in)
			if r, bad := acts(got); bad || !utf8.ValidString(got) {
				t.Fatalf("%s(%q) = %q holds U+%04X", name, in, got, r)
			}
			if again := f(got); again != got {
				t.Fatalf("%s is not stable: %q becomes %q", name, got, again)
			}
			if one := strings.HasSuffix(name, "Line"); one && strings.ContainsAny(got, "\n\t") {
				t.Fatalf("%s(%q) = %q has more than one line", name, in, got)
			}
		}
		if got := Exact("x" + in); strings.ContainsAny(got, "\u00a0\u3164\u200d") {
			t.Fatalf("Exact(%q) = %q", in, got)
		}
	})
}

func TestWriter(t *testing.T) {
	var b strings.Builder
	n, err := fmt.Fprintf(Writer(&b), "error: %s\n", "a\x1b[1mb\u202e")
	if b.String() != "error: a\\x1B[1mb\\u202E\n" || err != nil || n != len("error: a\x1b[1mb\u202e\n") {
		t.Errorf("%q, %d, %v", b.String(), n, err)
	}
	if n, err := Writer(full{}).Write([]byte("abc\x1b")); n != 2 || err == nil {
		t.Errorf("a full disk: %d, %v", n, err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 2, errors.New("full") }
