package termtext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKF140_TextIsWhatATerminalShows(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é 日\n":                       "plain\n\ttext é 日\n",
		"dos\r\nlines\r\n":                          "dos\r\nlines\r\n",
		"\x1b[1;31mred\x1b[0m and \x1b[38;5;9mmore": "red and more",
		"\u009b31mred\u009bm":                       "red",
		"\x1b]0;title\adone":                        "done",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":  "link",
		"\x1b(B\x1b=\x1b>text\x1b7\x1b8":            "text",
		" 10%\r 20%\r100%\ndone\n":                  "100%\ndone\n",
		"downloading\r\x1b[Kok\n":                   "ok\n",
		"abcdef\rxy\n":                              "xycdef\n",
		"abc\b\b\bxyz":                              "xyz",
		"a\x1b[2Kb":                                 " b",
		"x\x1b[5Gy":                                 "x   y",
		"one\ntwo\n\x1b[2A\x1b[2KONE\n\x1b[2KTWO\n": "ONE\nTWO\n",
		"l1\nl2\n\x1b[2A\x1b[Jnew":                  "new",
		"\x1b[2J\x1b[Hkept":                         "kept",
		"\x1b[?25lhidden cursor\x1b[?25h":           "hidden cursor",
		"cut \x1b[3":                                "cut ",
		"cut \x1b":                                  "cut ",
		"stray \x1b]0;never ends\nnext":             "stray 0;never ends\nnext",
		"bell\a and \x00null":                       "bell and null",
		"dos\r\n\x1b[1mbold\x1b[m\r\n":              "dos\nbold\n",
		"non-breaking\u00a0blank":                   "non-breaking\u00a0blank",
	} {
		if got := Final(in); got != strings.TrimRight(want, " ") {
			t.Errorf("Final(%q) = %q, want %q", in, got, want)
		}
	}
}

// However long a progress bar runs, it takes one line, and no count makes it large.
func TestKF140_ProgressIsOneLine(t *testing.T) {
	if got := Final(strings.Repeat("\r[=====>     ] 42%", 100_000) + "\x1b[999999999Cx\x1b[999999999Ay\n"); len(got) > 2*maxColumn || strings.Count(got, "\n") != 1 {
		t.Errorf("%d bytes with %d line ends", len(got), strings.Count(got, "\n"))
	}
}

func FuzzFinal(f *testing.F) {
	for _, s := range []string{"a\rb", "\x1b[31m", "\x1b]0;t\a", "\x1b[3A\x1b[2K", "\u009b1;2H", "\x1bP1$r\x1b\\", "\xc2", "\x1b[99999999999999999999C."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		got := Final(s)
		if acts(got) {
			t.Errorf("%q became %q", s, got)
		}
		if again := Final(got); again != got {
			t.Errorf("%q became %q, then %q", s, got, again)
		}
	})
}
