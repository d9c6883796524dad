package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func parse(p *KeyParser, reads ...string) string {
	var out []string
	at := time.Unix(0, 0)
	for _, r := range reads {
		at = at.Add(time.Second)
		for _, k := range p.Feed([]byte(r), at) {
			out = append(out, describe(k))
		}
	}
	for _, k := range p.Flush() {
		out = append(out, describe(k))
	}
	return strings.Join(out, " ")
}

func describe(k Key) string {
	if k.Name == "text" || k.Name == "paste" {
		return fmt.Sprintf("%s:%q", k.Name, k.Text)
	}
	return k.Name
}

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"abc":                  `text:"abc"`,
		"é漢🇩🇪":                 `text:"é漢🇩🇪"`,
		"\r":                   "enter",
		"\n":                   "ctrl+j",
		"a\tb":                 `text:"a" tab text:"b"`,
		"\x01\x05\x0b\x15\x17": "ctrl+a ctrl+e ctrl+k ctrl+u ctrl+w",
		"\x7f\x08":             "backspace backspace",
		"\x1b":                 "esc",
		"\x1b\x1b":             "esc esc",
		"\x1b[A\x1b[B":         "up down",
		"\x1bOA\x1bOH":         "up home",
		"\x1b[1;5C":            "ctrl+right",
		"\x1b[1;3D":            "alt+left",
		"\x1b[1;2A":            "shift+up",
		"\x1b\x1b[D":           "alt+left",
		"\x1b[3~\x1b[5~":       "delete pgup",
		"\x1b[3;5~":            "ctrl+delete",
		"\x1b[H\x1b[F":         "home end",
		"\x1b[1~\x1b[4~":       "home end",
		"\x1bb\x1bf":           "alt+b alt+f",
		"\x1b\r":               "alt+enter",
		"\x1b\x7f":             "alt+backspace",
		"\x1b[Z":               "shift+tab",
		"\x1b[13;2u":           "shift+enter",
		"\x1b[27;2;13~":        "shift+enter",
		"\x1b[99;5u":           "ctrl+c",
		"\x1b[97;2u":           `text:"A"`,
		"\x1b[228u":            `text:"ä"`,
		"\x1b[32;2u":           `text:" "`,
		"\x1b[27u":             "esc",
		"\x1b[57399u":          "",
		"\x1b[I\x1b[O":         "",
		"\x1b[?1;2c":           "",
		"\x1b[12;40R":          "",
		"\x1b[?2026;2$y":       "",
		"\x1b]11;rgb:0/0/0\a":  "",
		"\x1b]11;rgb:0\x1b\\x": `text:"x"`,
		"\x1bP1$r0m\x1b\\":     "",
		"\x1b[M !!x":           `text:"x"`,
		"\x1b[200~a\x1b[201~b": `paste:"a" text:"b"`,
		"\x1b[99999999999999u": "",
		"\x1b[\x07x":           `ctrl+g text:"x"`,
		"\xff":                 `text:"\xff"`,
		"\x1bé":                "alt+é",
		"\x1f\x1d":             "ctrl+_ ctrl+]",
	} {
		t.Run(fmt.Sprintf("%q", in), func(t *testing.T) {
			if got := parse(&KeyParser{}, in); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestBytesMayBeCutAnywhereInKeys(t *testing.T) {
	in := "aé漢\x1b[1;5C\x1b[200~p\r\nq\x1b[201~\x1b]11;x\x07\x1bb\x1b[13;2uz"
	want := parse(&KeyParser{}, in)
	for cut := 1; cut < len(in); cut++ {
		if got := parse(&KeyParser{}, in[:cut], in[cut:]); join(got) != join(want) {
			t.Errorf("cut at %d: got %s, want %s", cut, got, want)
		}
	}
	if got := parse(&KeyParser{}, strings.Split(strings.ReplaceAll(in, "é漢", ""), "")...); join(got) != join(parse(&KeyParser{}, strings.ReplaceAll(in, "é漢", ""))) {
		t.Errorf("byte by byte: %s", got)
	}
}

// join makes neighbouring texts one.
func join(s string) string { return strings.ReplaceAll(s, `" text:"`, "") }

func TestALineTypedByAProgramIsNoPaste(t *testing.T) {
	line := "explain the shape of this repository to me"
	if got := parse(&KeyParser{}, line+"\r"); got != fmt.Sprintf("text:%q enter", line) {
		t.Errorf("got %s", got)
	}
	if got := parse(&KeyParser{}, "one line and\ranother one behind it"); got != `paste:"one line and\nanother one behind it"` {
		t.Errorf("got %s", got)
	}
}

func TestNothingTypedIsLostOrMadeUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zé漢 ]{0,40}`).Draw(t, "text")
		var reads []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			reads, rest = append(reads, rest[:n]), rest[n:]
		}
		var p KeyParser
		got := ""
		for _, r := range reads {
			for _, k := range p.Feed([]byte(r), time.Unix(0, 0)) {
				got += k.Text
			}
		}
		if got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[200~a\x1b[201~"), 3)
	f.Add([]byte("\x1b[1;5C\x1bOA\x1b]0;x"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		if len(data) == 0 {
			return
		}
		var p KeyParser
		var e Editor
		cut = (cut & 0x7fffffff) % len(data)
		at := time.Unix(0, 0)
		for _, part := range [][]byte{data[:cut], data[cut:]} {
			at = at.Add(time.Second)
			for _, k := range p.Feed(part, at) {
				if k.Name == "" {
					t.Error("a key without a name")
				}
				if k.Name == "text" && strings.ContainsRune(k.Text, 0x1b) {
					t.Errorf("a sequence became text: %q", k.Text)
				}
				e.Key(k)
			}
		}
		p.Flush()
		rows, places := e.layout(20)
		if len(places) != len(e.cells)+1 || e.pos > len(e.cells) {
			t.Error("the cursor is nowhere")
		}
		for _, r := range rows {
			if strings.ContainsAny(r, "\x1b\r\n") || !utf8.ValidString(r) {
				t.Errorf("unsafe row %q", r)
			}
		}
	})
}
