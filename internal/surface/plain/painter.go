package plain

import (
	"strconv"
	"strings"
)

// frame is what stands below the printed lines: some rows, and where the cursor rests in them. No
// row is wider than the window less one cell.
type frame struct {
	rows []string
	row  int // of the cursor
	col  int
}

func (f frame) equal(g frame) bool {
	if f.row != g.row || f.col != g.col || len(f.rows) != len(g.rows) {
		return false
	}
	for i := range f.rows {
		if f.rows[i] != g.rows[i] {
			return false
		}
	}
	return true
}

// painter composes what is sent to the terminal: printed lines, which are never touched again, and
// the frame below them. It moves the cursor relative to where it stands and never erases from the
// frame's first row downwards, for that may be the first row of the screen, which some terminals
// then push into their scrollback.
type painter struct {
	shown   frame
	drawn   bool // a frame stands on the screen
	reflows bool // the terminal wraps its lines anew when its width changes
}

// paint is what to send so that lines are printed and f stands below them; nothing when that is
// how it looks already.
func (p *painter) paint(lines []string, f frame) []byte {
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
	b.WriteString(strings.Join(f.rows, "\r\n"))
	move(&b, len(f.rows)-1-f.row, 'A')
	b.WriteByte('\r')
	move(&b, f.col, 'C')
	b.WriteString("\x1b[?25h")
	p.shown, p.drawn = f, true
	return []byte(b.String())
}

// oneRow draws only the cursor's row anew where nothing else changed, which is what most keys do.
func (p *painter) oneRow(b *strings.Builder, f frame) bool {
	if len(f.rows) != len(p.shown.rows) || f.row != p.shown.row {
		return false
	}
	for i := range f.rows {
		if i != f.row && f.rows[i] != p.shown.rows[i] {
			return false
		}
	}
	b.WriteByte('\r')
	if f.rows[f.row] != p.shown.rows[f.row] {
		b.WriteString(f.rows[f.row])
		b.WriteString("\x1b[K\r")
	}
	move(b, f.col, 'C')
	return true
}

// erase takes the frame off the screen; the cursor stands where it began.
func (p *painter) erase(b *strings.Builder) {
	if !p.drawn {
		return
	}
	b.WriteByte('\r')
	move(b, p.shown.row, 'A')
	b.WriteString("\x1b[2K")
	if len(p.shown.rows) > 1 {
		b.WriteString("\x1b7\x1b[B\x1b[J\x1b8")
	}
}

func move(b *strings.Builder, n int, direction byte) {
	if n > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(n))
		b.WriteByte(direction)
	}
}

// resized tells that the window has a new width. Where the terminal wraps its lines anew, the
// frame's rows now take more rows, and the cursor stands lower.
func (p *painter) resized(cells int) {
	if !p.drawn || !p.reflows || cells < 1 {
		return
	}
	above := 0
	for _, r := range p.shown.rows[:p.shown.row] {
		above += rowsOf(width(r), cells)
	}
	below := 0
	for _, r := range p.shown.rows[p.shown.row+1:] {
		below += rowsOf(width(r), cells)
	}
	row := rowsOf(width(p.shown.rows[p.shown.row]), cells)
	at := p.shown.col / cells
	f := frame{rows: make([]string, above+max(row, at+1)+below), row: above + at}
	p.shown = f // its texts are unknown now, so that the next frame is drawn whole
	for i := range f.rows {
		f.rows[i] = "\x00"
	}
}

func rowsOf(w, cells int) int { return max(1, (w+cells-1)/cells) }

// leave ends the frame: erased, with the cursor at the start of a free row.
func (p *painter) leave() []byte {
	var b strings.Builder
	p.erase(&b)
	p.drawn = false
	return []byte(b.String())
}
