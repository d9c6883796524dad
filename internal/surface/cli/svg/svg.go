// Package svg draws the printed output of a terminal as a picture: text with styles in, SVG out.
//
// It is no screen: it knows lines, tabs and the styles of SGR sequences; every other sequence is
// left out. The one function to begin with is [Render].
package svg

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Options say how the picture looks. The zero Options are fine.
type Options struct {
	Title   string // for the window's bar and for readers; empty: none
	Columns int    // least width in cells; 0: that of the longest line
}

// Sizes of the picture, in pixels.
const (
	fontSize   = 14
	cellWidth  = 8.4
	lineHeight = 20
	padding    = 18
	barHeight  = 34
)

// fonts are those with one width for every character, in order of liking.
const fonts = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

// look is how a piece of text is drawn.
type look struct {
	color                                   string
	bold, dim, italic, underline, struckOut bool
}

type piece struct {
	text string
	look look
}

// Render draws text as a window with dark ground. The same text gives the same bytes.
func Render(text string, o Options) []byte {
	lines := parse(text)
	columns := o.Columns
	for _, l := range lines {
		columns = max(columns, cells(l))
	}
	w := float64(columns)*cellWidth + 2*padding
	h := len(lines)*lineHeight + 2*padding + barHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", w, h, w, h)
	if o.Title != "" {
		fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(o.Title))
	}
	fmt.Fprintf(&b, `<rect width="%.0f" height="%d" rx="8" fill="#1e222a"/>`+"\n", w, h)
	for i, color := range []string{"#e06c75", "#e5c07b", "#98c379"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="6" fill="%s"/>`+"\n", padding+i*20, barHeight/2, color)
	}
	// Looks are attributes, which a style sheet would override.
	fmt.Fprintf(&b, `<g font-family="%s" font-size="%d" fill="#d8dee9" xml:space="preserve" style="white-space:pre">`+"\n", fonts, fontSize)
	for i, l := range lines {
		drawLine(&b, l, barHeight+padding+i*lineHeight+fontSize)
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// drawLine places each piece at its own column, so that a font with other widths cannot shift what
// follows it.
func drawLine(b *strings.Builder, line []piece, y int) {
	column := 0
	for _, p := range line {
		w := ansi.StringWidth(p.text)
		if strings.TrimSpace(p.text) != "" {
			fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n",
				padding+float64(column)*cellWidth, y, float64(w)*cellWidth, p.look.attributes(), html.EscapeString(p.text))
		}
		column += w
	}
}

func (l look) attributes() string {
	var out strings.Builder
	if l.color != "" {
		fmt.Fprintf(&out, ` fill="%s"`, l.color)
	}
	if l.bold {
		out.WriteString(` font-weight="bold"`)
	}
	if l.dim {
		out.WriteString(` opacity="0.6"`)
	}
	if l.italic {
		out.WriteString(` font-style="italic"`)
	}
	switch {
	case l.underline && l.struckOut:
		out.WriteString(` text-decoration="underline line-through"`)
	case l.underline:
		out.WriteString(` text-decoration="underline"`)
	case l.struckOut:
		out.WriteString(` text-decoration="line-through"`)
	}
	return out.String()
}

func cells(line []piece) int {
	n := 0
	for _, p := range line {
		n += ansi.StringWidth(p.text)
	}
	return n
}

// parse takes text apart into lines of pieces with one look each. Empty lines at the end go.
func parse(text string) [][]piece {
	var lines [][]piece
	var line []piece
	var l look
	var part strings.Builder
	flush := func() {
		if part.Len() > 0 {
			line = append(line, piece{part.String(), l})
			part.Reset()
		}
	}
	text = strings.Map(func(r rune) rune {
		if r == '\r' || r == 0xFFFE || r == 0xFFFF { // XML has no way to hold the latter
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	state := byte(0)
	column := 0
	for len(text) > 0 {
		seq, w, n, next := ansi.DecodeSequence(text, state, nil)
		state = next
		text = text[n:]
		switch {
		case seq == "\n":
			flush()
			lines = append(lines, line)
			line, column = nil, 0
		case seq == "\t":
			part.WriteString(strings.Repeat(" ", 8-column%8))
			column += 8 - column%8
		case w > 0:
			part.WriteString(seq)
			column += w
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			flush()
			l = l.apply(seq[2 : len(seq)-1])
		}
	}
	flush()
	lines = append(lines, line)
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// palette are the sixteen colours of a terminal, on dark ground.
func palette(n int) string {
	return [...]string{
		"#4b5263", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
		"#6b7280", "#f08a92", "#b5d99c", "#f0d197", "#85c4f5", "#d99ae8", "#7fd1db", "#ffffff",
	}[n]
}

func (l look) apply(params string) look {
	for p := range strings.SplitSeq(params, ";") {
		n, err := strconv.Atoi(p)
		switch {
		case err != nil || n == 0:
			l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.dim = true
		case n == 3:
			l.italic = true
		case n == 4:
			l.underline = true
		case n == 9:
			l.struckOut = true
		case n == 22:
			l.bold, l.dim = false, false
		case n == 23:
			l.italic = false
		case n == 24:
			l.underline = false
		case n == 29:
			l.struckOut = false
		case n >= 30 && n <= 37:
			l.color = palette(n - 30)
		case n == 39:
			l.color = ""
		case n >= 90 && n <= 97:
			l.color = palette(n - 82)
		case n == 38 || n == 48:
			return l // colours of more than one number are not drawn
		}
	}
	return l
}

// Strip is the text without any sequence.
func Strip(text string) string { return ansi.Strip(text) }
