package screen

import (
	"slices"
	"strconv"
	"strings"
)

// Frame is what stands below the printed lines: some rows, and where the cursor rests in them. No
// row is wider than the window less one cell.
type Frame struct {
	Rows []string
	Row  int // of the cursor
	col  int
}

func (f Frame) equal(g Frame) bool {
	if f.Row != g.Row || f.col != g.col || len(f.Rows) != len(g.Rows) {
		return false
	}
	for i := range f.Rows {
		if f.Rows[i] != g.Rows[i] {
			return false
		}
	}
	return true
}

// Painter composes what is sent to the terminal: printed lines, which are never touched again, and
// the frame below them. It moves the cursor relative to where it stands and never erases from the
// frame's first row downwards, for that may be the first row of the screen, which some terminals
// then push into their scrollback.
type Painter struct {
	shown   Frame
	drawn   bool // a frame stands on the screen
	Reflows bool // the terminal wraps its lines anew when its width changes
}

// Paint is what to send so that lines are printed and f stands below them; nothing when that is
// how it looks already.
func (p *Painter) Paint(lines []string, f Frame) []byte {
	if p.drawn && len(lines) == 0 && f.equal(p.shown) {
		return nil
	}
	var b strings.Builder
	if p.drawn && len(lines) == 0 && p.oneRow(&b, f) {
		p.shown = f
		return []byte(b.String())
	}
	b.WriteString("\x1b[?25l")
	p.erase(&b)
	for _, l := range lines {
		b.WriteString(l)
		if strings.Contains(l, "\x1b") {
			b.WriteString("\x1b[m")
		}
		b.WriteString("\r\n")
	}
	b.WriteString(strings.Join(f.Rows, "\r\n"))
	move(&b, len(f.Rows)-1-f.Row, 'A')
	b.WriteByte('\r')
	move(&b, f.col, 'C')
	b.WriteString("\x1b[?25h")
	p.shown, p.drawn = f, true
	return []byte(b.String())
}

// oneRow draws only the cursor's row anew where nothing else changed, which is what most keys do.
func (p *Painter) oneRow(b *strings.Builder, f Frame) bool {
	if len(f.Rows) != len(p.shown.Rows) || f.Row != p.shown.Row {
		return false
	}
	for i := range f.Rows {
		if i != f.Row && f.Rows[i] != p.shown.Rows[i] {
			return false
		}
	}
	b.WriteByte('\r')
	if f.Rows[f.Row] != p.shown.Rows[f.Row] {
		b.WriteString(f.Rows[f.Row])
		b.WriteString("\x1b[K\r")
	}
	move(b, f.col, 'C')
	return true
}

// erase takes the frame off the screen; the cursor stands where it began.
func (p *Painter) erase(b *strings.Builder) {
	if !p.drawn {
		return
	}
	b.WriteByte('\r')
	move(b, p.shown.Row, 'A')
	b.WriteString("\x1b[2K")
	if len(p.shown.Rows) > 1 {
		b.WriteString("\x1b7\x1b[B\x1b[J\x1b8")
	}
}

func move(b *strings.Builder, n int, direction byte) {
	if n > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(n))
		b.WriteByte(direction)
	}
}

// Resized tells that the window has a new width. Where the terminal wraps its lines anew, the
// frame's rows now take more rows, and the cursor stands lower.
func (p *Painter) Resized(cells int) {
	if !p.drawn || !p.Reflows || cells < 1 {
		return
	}
	above := 0
	for _, r := range p.shown.Rows[:p.shown.Row] {
		above += rowsOf(Width(r), cells)
	}
	below := 0
	for _, r := range p.shown.Rows[p.shown.Row+1:] {
		below += rowsOf(Width(r), cells)
	}
	row := rowsOf(Width(p.shown.Rows[p.shown.Row]), cells)
	at := p.shown.col / cells
	p.shown = Frame{Row: above + at}
	p.unknown(above + max(row, at+1) + below)
}

func rowsOf(w, cells int) int { return max(1, (w+cells-1)/cells) }

// Forget makes the next frame be drawn whole.
func (p *Painter) Forget() { p.unknown(len(p.shown.Rows)) }

// unknown says that so many rows stand on the screen, with what is not known.
func (p *Painter) unknown(rows int) {
	p.shown.Rows = slices.Repeat([]string{"\x00"}, rows)
}

// Leave ends the frame: erased, with the cursor at the start of a free row.
func (p *Painter) Leave() []byte {
	var b strings.Builder
	p.erase(&b)
	p.drawn = false
	return []byte(b.String())
}
