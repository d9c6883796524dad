package plain

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/surface/screen"
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
func (k *keyFace) draftCells() int { return max(k.cells-1-screen.Width(k.promptMark()), 1) }

func (k *keyFace) promptMark() string {
	if k.cells <= 4 {
		return ""
	}
	return k.style.Sign("› ", "> ")
}

// compose is the frame as it should be: what goes on, what waits, what is asked, the draft. What
// does not fit into the window is left out in that order.
func (k *keyFace) compose() screen.Frame {
	most := max(1, min(frameRows, k.height-2))
	tiny := k.height <= 3 || k.cells <= 12
	input := k.inputFrame(max(1, min(most, 10)))
	var above []string
	if !tiny {
		above = k.surroundings()
	}
	if room := most - len(input.Rows); len(above) > room {
		above = above[len(above)-max(room, 0):]
	}
	for i, r := range above {
		above[i] = screen.Clip(r, k.cells-1)
	}
	input.Rows = append(above, input.Rows...)
	input.Row += len(above)
	return input
}

// surroundings are the rows above the draft.
func (k *keyFace) surroundings() []string {
	var out []string
	if tail := strings.TrimSpace(k.printer.Tail()); tail != "" {
		rows := screen.Wrap(strings.Join(strings.Fields(tail), " "), max(k.cells-3, 1))
		rows = rows[max(0, len(rows)-tailRows):]
		for _, r := range rows {
			out = append(out, k.style.Dim("  "+r))
		}
	}
	if a := k.activityRow(); a != "" {
		out = append(out, a)
	}
	for i, q := range k.queued {
		if i == queuedRows {
			out = append(out, k.style.Dim(fmt.Sprintf("  %d more queued", len(k.queued)-i)))
			break
		}
		out = append(out, k.style.Dim("  queued: "+visible.Line(q.Text)))
	}
	if n := len(k.questions); n > 1 {
		out = append(out, k.style.Yellow("  waiting: "+count(n-1, "more question")))
	}
	if q := k.asked(); q != nil && q.Shown.IsZero() {
		out = append(out, k.style.Yellow("  a question waits: Tab answers it"))
	} else if q != nil && k.focus.note != "" {
		out = append(out, k.style.Yellow("  "+visible.Line(k.focus.note)))
	}
	if hint := k.leaveHint(); hint != "" {
		out = append(out, k.style.Yellow(hint))
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
		return k.style.Yellow("stopping … Ctrl-C again leaves")
	}
	a := k.printer.Activity()
	if a == "" {
		a = "working"
	}
	return k.style.Dim(k.style.Sign("· ", "* ") + a + "  (Esc stops)")
}

// inputFrame is the row or rows something is typed in.
func (k *keyFace) inputFrame(most int) screen.Frame {
	switch q := k.asked(); {
	case q != nil && !q.Shown.IsZero():
		return k.questionFrame(q, most)
	case k.search != nil:
		mark := screen.Clip(fmt.Sprintf("search %q: ", k.search.query), max(k.cells-4, 1))
		e := screen.Editor{}
		e.Set(k.search.found)
		e.Key(screen.Key{Name: "ctrl+home"})
		return e.Frame(k.style.Dim(mark), k.cells, most)
	}
	return k.draft.Frame(k.style.Bold(k.promptMark()), k.cells, most)
}
