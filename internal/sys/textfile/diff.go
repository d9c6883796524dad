package textfile

import (
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Hunk is one changed place with its context, in the shape public tools exchange: counts as in a
// unified diff, lines with a first character of ' ', '-' or '+' and without line end.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// Context is how many unchanged lines stand around a change.
const Context = 3

// Diff returns what turns the view old into new, never nil.
func Diff(old, new string) []Hunk {
	out := []Hunk{}
	if old == new {
		return out
	}
	u, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, new), Context)
	if err != nil { // cannot happen: the edits are of this very text
		return out
	}
	for _, h := range u.Hunks {
		k := Hunk{OldStart: h.FromLine, NewStart: h.ToLine}
		for _, l := range h.Lines {
			mark := " "
			switch l.Kind {
			case udiff.Delete:
				mark = "-"
				k.OldLines++
			case udiff.Insert:
				mark = "+"
				k.NewLines++
			default:
				k.OldLines++
				k.NewLines++
			}
			k.Lines = append(k.Lines, mark+strings.TrimSuffix(l.Content, "\n"))
			if !strings.HasSuffix(l.Content, "\n") {
				k.Lines = append(k.Lines, `\ No newline at end of file`)
			}
		}
		if k.OldLines == 0 {
			k.OldStart = max(0, k.OldStart-1) // a unified diff names the line before
		}
		if k.NewLines == 0 {
			k.NewStart = max(0, k.NewStart-1)
		}
		out = append(out, k)
	}
	return out
}

// Count returns how many lines the hunks add and remove.
func Count(hunks []Hunk) (added, removed int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed
}

// Numbered returns the lines from to to (1-based, both included, clamped) of a view, each as its
// number, a tab and the text.
func Numbered(view string, from, to int) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(view) {
		n++
		if n < from {
			continue
		}
		if n > to {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('\t')
		b.WriteString(Cut(strings.TrimSuffix(line, "\n"), MaxLine))
	}
	return b.String()
}

// LineAt is the 1-based number of the line that holds the byte offset of a view.
func LineAt(view string, offset int) int {
	return 1 + strings.Count(view[:min(max(offset, 0), len(view))], "\n")
}

// Changes shows the current text of what differs between two views as numbered lines of new, with
// context, at most limit lines; places are parted by a line of three dots.
func Changes(old, new string, limit int) string {
	var b strings.Builder
	for _, h := range Diff(old, new) {
		if limit <= 0 {
			b.WriteString("\n… and more")
			break
		}
		from, to := h.NewStart, h.NewStart+h.NewLines-1
		if h.NewLines == 0 { // only deleted: show where it was
			to = from + 1
		}
		to = min(to, from+limit-1)
		limit -= to - from + 1
		if b.Len() > 0 {
			b.WriteString("\n...\n")
		}
		b.WriteString(Numbered(new, max(1, from), to))
	}
	return b.String()
}
