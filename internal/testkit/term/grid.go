// Package term is a terminal for tests: a screen grid that understands what this program sends,
// with a scrollback, and a fake terminal around it that tests type into.
//
// It is no emulator: sequences it does not know are kept in a list, so that a test can say which
// must never be sent. Begin with [New] for the grid alone, [Open] for a whole terminal.
package term

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Grid is a screen with its scrollback. Not for concurrent use.
type Grid struct {
	w, h   int
	reflow bool
	rows   []row // scrollback first; the last h are the screen
	y, x   int   // cursor, y from the top of the screen
	wrap   bool  // the cursor stands behind the last column: the next character begins a row
	saved  [2]int
	style  string
	rest   []byte // begun character or sequence

	Modes     map[string]bool // private modes by number, as they were last set
	Sequences map[string]int  // final bytes and kinds of what was sent, counted
}

type row struct {
	cells   []cell
	wrapped bool // the line goes on in the next row
}

type cell struct {
	text  string // empty: the second half of a wide character
	style string
}

// New makes an empty screen. A reflowing one wraps its lines anew when its width changes, as tmux
// and most emulators do; the other cuts them, as xterm and the Linux console do.
func New(w, h int, reflow bool) *Grid {
	g := &Grid{w: w, h: h, reflow: reflow, Modes: map[string]bool{"25": true}, Sequences: map[string]int{}}
	for range h {
		g.rows = append(g.rows, row{})
	}
	return g
}

// Write takes what a program sends.
func (g *Grid) Write(p []byte) (int, error) {
	g.rest = append(g.rest, p...)
	for {
		n := g.step()
		if n == 0 {
			return len(p), nil
		}
		g.rest = g.rest[n:]
	}
}

// step takes one character or sequence and returns its length, 0 when more bytes are needed.
func (g *Grid) step() int {
	b := g.rest
	if len(b) == 0 {
		return 0
	}
	switch c := b[0]; {
	case c == 0x1b:
		return g.escape()
	case c < 0x20 || c == 0x7f:
		g.control(c)
		return 1
	case !utf8.FullRune(b):
		return 0
	}
	end := 0
	for end < len(b) && b[end] >= 0x20 && b[end] != 0x7f {
		end++
	}
	text := b[:end]
	cluster, w := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	g.put(string(cluster), w)
	return len(cluster)
}

func (g *Grid) control(c byte) {
	switch c {
	case '\r':
		g.x, g.wrap = 0, false
	case '\n':
		g.wrap = false
		g.down()
	case '\b':
		g.x, g.wrap = max(0, g.x-1), false
	case '\t':
		g.x = min(g.w-1, (g.x/8+1)*8)
	default:
		g.Sequences["c0:"+strconv.Itoa(int(c))]++
	}
}

func (g *Grid) top() int      { return len(g.rows) - g.h }
func (g *Grid) current() *row { return &g.rows[g.top()+g.y] }

func (g *Grid) down() {
	if g.y < g.h-1 {
		g.y++
		return
	}
	g.rows = append(g.rows, row{})
}

func (g *Grid) put(text string, w int) {
	if w == 0 || w > g.w {
		return
	}
	if g.wrap || g.x+w > g.w {
		g.current().wrapped = true
		g.x, g.wrap = 0, false
		g.down()
	}
	r := g.current()
	for len(r.cells) < g.x+w {
		r.cells = append(r.cells, cell{text: " "})
	}
	r.cells[g.x] = cell{text, g.style}
	for i := 1; i < w; i++ {
		r.cells[g.x+i] = cell{"", g.style}
	}
	g.x += w
	if g.x >= g.w {
		g.x, g.wrap = g.w-1, true
	}
}

func (g *Grid) escape() int {
	b := g.rest
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				g.csi(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^':
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				g.Sequences["string:"+string(b[1])]++
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
				g.Sequences["string:"+string(b[1])]++
				return i + 2
			}
		}
		return 0
	case '7':
		g.saved = [2]int{g.y, g.x}
	case '8':
		g.y, g.x, g.wrap = min(g.saved[0], g.h-1), min(g.saved[1], g.w-1), false
	default:
		g.Sequences["esc:"+string(b[1])]++
	}
	return 2
}

func (g *Grid) csi(params string, final byte) {
	n, err := strconv.Atoi(params)
	if err != nil || n == 0 {
		n = 1
	}
	name := string(final)
	if final == 'J' || final == 'K' {
		name = params + name
	}
	g.Sequences["csi:"+name]++
	if strings.HasPrefix(params, "?") {
		if final == 'h' || final == 'l' {
			g.Modes[params[1:]] = final == 'h'
		}
		return
	}
	switch final {
	case 'A':
		g.y, g.wrap = max(0, g.y-n), false
	case 'B':
		g.y, g.wrap = min(g.h-1, g.y+n), false
	case 'C':
		g.x, g.wrap = min(g.w-1, g.x+n), false
	case 'D':
		g.x, g.wrap = max(0, g.x-n), false
	case 'K':
		g.eraseLine(params)
	case 'J':
		g.eraseBelow()
	case 'm':
		g.sgr(params)
	}
}

func (g *Grid) eraseLine(how string) {
	r := g.current()
	switch how {
	case "", "0":
		if len(r.cells) > g.x {
			r.cells = r.cells[:g.x]
		}
	case "2":
		r.cells = nil
	}
	r.wrapped = false
}

func (g *Grid) eraseBelow() {
	r := g.current()
	if len(r.cells) > g.x {
		r.cells = r.cells[:g.x]
	}
	r.wrapped = false
	for i := g.top() + g.y + 1; i < len(g.rows); i++ {
		g.rows[i] = row{}
	}
}

func (g *Grid) sgr(params string) {
	if params == "" || params == "0" {
		g.style = ""
		return
	}
	g.style += params + ";"
}

func (r row) text() string {
	var b strings.Builder
	for _, c := range r.cells {
		b.WriteString(c.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Screen is the text of the visible rows.
func (g *Grid) Screen() []string { return texts(g.rows[g.top():]) }

// Scrollback is the text of the rows above the screen, oldest first.
func (g *Grid) Scrollback() []string { return texts(g.rows[:g.top()]) }

func texts(rows []row) []string {
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.text())
	}
	return out
}

// Lines are all lines as they were printed, those that wrapped joined again, without the empty
// ones at the end.
func (g *Grid) Lines() []string {
	var out []string
	line, open := "", false
	for _, r := range g.rows {
		text := r.text()
		if r.wrapped {
			text = r.full()
		}
		if open {
			line += text
		} else {
			line = text
		}
		if open = r.wrapped; !open {
			out = append(out, line)
		}
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// full is the text of a row with the blanks at its end.
func (r row) full() string {
	var b strings.Builder
	for _, c := range r.cells {
		b.WriteString(c.text)
	}
	return b.String()
}

// Cursor is the cursor's place on the screen, from 0.
func (g *Grid) Cursor() (row, col int) { return g.y, g.x }

// Size is the size of the screen.
func (g *Grid) Size() (w, h int) { return g.w, g.h }

// Resize changes the size of the screen.
func (g *Grid) Resize(w, h int) {
	at := g.top() + g.y
	last := len(g.rows) - 1
	for last > at && len(g.rows[last].cells) == 0 {
		last--
	}
	rows, y, x := g.rows[:last+1], at, g.x
	if w != g.w {
		if g.reflow {
			rows, y, x = rewrap(rows, at, g.x, w)
		} else {
			rows, x = cutRows(rows, w), min(x, w-1)
		}
	}
	g.w, g.h, g.wrap = w, h, false
	g.rows = append([]row(nil), rows...)
	for len(g.rows) < h {
		g.rows = append(g.rows, row{})
	}
	if y < g.top() { // rows below the cursor give way before the cursor does
		g.rows = g.rows[:max(y+h, h)]
	}
	g.y, g.x = y-g.top(), min(x, w-1)
}

func cutRows(rows []row, w int) []row {
	out := make([]row, len(rows))
	for i, r := range rows {
		out[i] = row{cells: r.cells[:min(len(r.cells), w)], wrapped: r.wrapped}
	}
	return out
}

// rewrap breaks the lines anew and follows the cursor.
func rewrap(rows []row, y, x, w int) (out []row, ny, nx int) {
	for i := 0; i < len(rows); {
		var line []cell
		cursor := -1
		for {
			if i == y {
				cursor = len(line) + x
			}
			line = append(line, rows[i].cells...)
			wrapped := rows[i].wrapped
			i++
			if !wrapped || i >= len(rows) {
				break
			}
		}
		first := len(out)
		for {
			n := min(len(line), w)
			if n < len(line) && n > 0 && line[n].text == "" { // not through a wide character
				n--
			}
			part := line[:n]
			line = line[n:]
			out = append(out, row{cells: append([]cell(nil), part...), wrapped: len(line) > 0})
			if len(line) == 0 {
				break
			}
		}
		if cursor >= 0 {
			ny, nx = min(first+cursor/w, len(out)), cursor%w
			for len(out) <= ny {
				out = append(out, row{})
			}
		}
	}
	return out, ny, nx
}
