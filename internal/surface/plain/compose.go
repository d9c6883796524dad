package plain

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// The most rows of the parts of a frame.
const (
	frameRows  = 14
	tailRows   = 3
	queuedRows = 3
	menuRows   = 6
)

// draftCells is the width the draft is laid out in.
func (k *keyFace) draftCells() int { return max(k.cells-1-width(k.promptMark()), 1) }

func (k *keyFace) promptMark() string {
	if k.cells <= 4 {
		return ""
	}
	return k.style.sign("› ", "> ")
}

// compose is the frame as it should be: what goes on, what waits, what is asked, the draft. What
// does not fit into the window is left out in that order.
func (k *keyFace) compose() frame {
	most := max(1, min(frameRows, k.height-2))
	tiny := k.height <= 3 || k.cells <= 12
	input := k.inputFrame(max(1, min(most, 10)))
	var above []string
	if !tiny {
		above = k.surroundings()
	}
	if room := most - len(input.rows); len(above) > room {
		above = above[len(above)-max(room, 0):]
	}
	for i, r := range above {
		above[i] = clip(r, k.cells-1)
	}
	input.rows = append(above, input.rows...)
	input.row += len(above)
	return input
}

// surroundings are the rows above the draft.
func (k *keyFace) surroundings() []string {
	var out []string
	if tail := strings.TrimSpace(k.printer.Tail()); tail != "" {
		rows := wrap(strings.Join(strings.Fields(tail), " "), max(k.cells-3, 1))
		rows = rows[max(0, len(rows)-tailRows):]
		for _, r := range rows {
			out = append(out, k.style.dim("  "+r))
		}
	}
	if a := k.activityRow(); a != "" {
		out = append(out, a)
	}
	for i, q := range k.queued {
		if i == queuedRows {
			out = append(out, k.style.dim(fmt.Sprintf("  %d more queued", len(k.queued)-i)))
			break
		}
		out = append(out, k.style.dim("  queued: "+visible.Line(q.Text)))
	}
	if n := len(k.questions); n > 1 {
		out = append(out, k.style.yellow("  waiting: "+count(n-1, "more question")))
	}
	if hint := k.leaveHint(); hint != "" {
		out = append(out, k.style.yellow(hint))
	}
	return append(out, k.menu.rows(k.style)...)
}

func (k *keyFace) activityRow() string {
	switch {
	case !k.busy():
		return ""
	case k.asked() != nil:
		return ""
	case k.stopping:
		return k.style.yellow("stopping … Ctrl-C again leaves")
	}
	a := k.printer.Activity()
	if a == "" {
		a = "working"
	}
	return k.style.dim(k.style.sign("· ", "* ") + a + "  (Esc stops)")
}

// inputFrame is the row or rows something is typed in.
func (k *keyFace) inputFrame(most int) frame {
	switch q := k.asked(); {
	case q != nil && !q.shown.IsZero():
		return k.editorFrame(&k.answer, k.style.bold(clip(q.hint(), max(k.cells-4, 1))), most)
	case k.search != nil:
		mark := clip(fmt.Sprintf("search %q: ", k.search.query), max(k.cells-4, 1))
		e := Editor{}
		e.insert(k.search.found)
		e.pos = 0
		return k.editorFrame(&e, k.style.dim(mark), most)
	}
	return k.editorFrame(&k.draft, k.style.bold(k.promptMark()), most)
}

// editorFrame draws a draft behind a mark; rows beyond those that fit scroll with the cursor.
func (k *keyFace) editorFrame(e *Editor, mark string, most int) frame {
	indent := width(mark)
	cells := max(k.cells-1-indent, 1)
	rows, places := e.layout(cells)
	at := places[e.pos]
	first := 0
	if len(rows) > most {
		first = min(max(0, at.row-most/2), len(rows)-most)
		rows = rows[first : first+most]
	}
	f := frame{row: at.row - first, col: min(indent+at.col, max(k.cells-1, 0))}
	for i, r := range rows {
		if i == 0 && first == 0 {
			f.rows = append(f.rows, mark+r)
			continue
		}
		f.rows = append(f.rows, strings.Repeat(" ", indent)+r)
	}
	return f
}
