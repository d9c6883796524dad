package screen

import "strings"

// place is one drawn cell of the draft.
type place struct {
	row, col int
}

// layout draws the draft for a window: its rows, and where each cell stands.
func (e *Editor) layout(cells int) (rows []string, places []place) {
	cells = max(cells, 1)
	var row strings.Builder
	col := 0
	places = make([]place, 0, len(e.cells)+1)
	newRow := func() {
		rows = append(rows, row.String())
		row.Reset()
		col = 0
	}
	for _, c := range e.cells {
		if c.text == "\n" {
			places = append(places, place{len(rows), col})
			newRow()
			continue
		}
		shown := c.shown()
		w := Width(shown)
		if w > cells {
			shown = Clip(shown, cells)
			w = Width(shown)
		}
		if col+w > cells {
			newRow()
		}
		places = append(places, place{len(rows), col})
		row.WriteString(shown)
		col += w
	}
	if col >= cells {
		newRow()
	}
	places = append(places, place{len(rows), col})
	return append(rows, row.String()), places
}

// Vertical moves a row up or down on the screen and reports whether there was one.
func (e *Editor) Vertical(down bool, cells int) bool {
	_, places := e.layout(cells)
	at := places[e.pos]
	goal := e.goal
	if goal == 0 {
		goal = at.col + 1
	}
	want := at.row - 1
	if down {
		want = at.row + 1
	}
	if want < 0 || want > places[len(places)-1].row {
		return false
	}
	best := -1
	for i, p := range places {
		if p.row == want && (best < 0 || p.col < goal) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	e.moved(best)
	e.goal = goal
	return true
}

// Frame draws the draft behind a mark, in a window of so many cells; rows beyond those that fit scroll with
// the cursor.
func (e *Editor) Frame(mark string, window, most int) Frame {
	indent := Width(mark)
	rows, places := e.layout(max(window-1-indent, 1))
	at := places[e.pos]
	first := 0
	if len(rows) > most {
		first = min(max(0, at.row-most/2), len(rows)-most)
		rows = rows[first : first+most]
	}
	f := Frame{Row: at.row - first, col: min(indent+at.col, max(window-1, 0))}
	for i, r := range rows {
		if i == 0 && first == 0 {
			f.Rows = append(f.Rows, mark+r)
			continue
		}
		f.Rows = append(f.Rows, strings.Repeat(" ", indent)+r)
	}
	return f
}
