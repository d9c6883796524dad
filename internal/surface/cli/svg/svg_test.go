package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	text := "plain \x1b[1mbold\x1b[22m \x1b[31mred <&>\x1b[39m\r\n\tx\x1b[2J\x1b]0;t\x07 \x1b[4;9mboth\x1b[m 漢字\n\n"
	got := string(Render(text, Options{Title: `a "title"`}))
	for _, want := range []string{
		`font-weight="bold">bold</text>`, `fill="#e06c75">red &lt;&amp;&gt;</text>`, `underline line-through">both</text>`, "漢字",
		"<title>a &#34;title&#34;</title>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "<text x"); n != 6 {
		t.Errorf("%d pieces", n)
	}
	if strings.Contains(got, "<style>") {
		t.Error("a style sheet would override the colours")
	}
	valid(t, got)
}

func valid(t *testing.T, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("a\x1b[31mb\x1b[0m\n")
	f.Add("\x1b[")
	f.Fuzz(func(t *testing.T, text string) {
		valid(t, string(Render(text, Options{})))
	})
}
