package textfile

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Patch is how one view differs from another, as far as it is worth carrying around.
type Patch struct {
	Hunks          []Hunk // never nil
	Added, Removed int    // lines, whether in Hunks or not
	LeftOut        int    // lines added and removed that are not in Hunks
}

// Rest is what a patch that was cut says of the whole change.
type Rest struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	LeftOut int `json:"leftOut"`
}

// Rest is nil for a patch that is whole.
func (p Patch) Rest() *Rest {
	if p.LeftOut == 0 {
		return nil
	}
	return &Rest{p.Added, p.Removed, p.LeftOut}
}

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

// What a patch holds at most. Results, events and transcripts carry patches, so a patch is bounded
// however much of a file changed.
const (
	maxPatchLines = 1000
	maxPatchBytes = 512 << 10
	maxPatchLine  = 10_000 // characters of one line; longer ones are cut as [Cut] does
)

// Diff returns what turns the view old into new, with at most 1,000 lines and half a megabyte in its
// hunks. It holds little more than that, whatever the size of the views.
func Diff(old, new string) Patch { return diff(old, new, maxPatchLines) }

func diff(old, new string, lines int) Patch {
	return (&patcher{old: old, new: new, lines: lines, bytes: maxPatchBytes}).run()
}

// change replaces bytes [from, to) of the old view by [newFrom, newTo) of the new one; both are whole
// lines.
type change struct{ from, to, newFrom, newTo int }

// patcher makes hunks out of changes that come in order, until it has enough.
type patcher struct {
	old, new     string
	lines, bytes int  // what may still be taken
	after        bool // only what is in the new view is of interest
	patch        Patch
	hunk         *Hunk // the open one
	done         int   // offset in old behind the last change
	oldLine      int   // number of lines before done
	newLine      int
	full         bool
}

func (b *patcher) run() Patch {
	b.patch.Hunks = []Hunk{}
	for c := range changes(b.old, b.new, windowLines, windowBytes) {
		b.add(c)
		if b.full && b.after {
			break // nobody asks for counts
		}
	}
	if b.hunk != nil {
		b.context(firstLines(b.old[b.done:], Context))
		b.close()
	}
	return b.patch
}

func (b *patcher) add(c change) {
	gap := b.old[b.done:c.from]
	n := CountLines(gap)
	if b.hunk != nil && n > 2*Context {
		b.context(firstLines(gap, Context))
		b.close()
	}
	switch {
	case b.full:
	case b.hunk != nil:
		b.context(gap)
	default:
		lead := lastLines(gap, Context)
		k := CountLines(lead)
		b.hunk = &Hunk{OldStart: b.oldLine + n - k + 1, NewStart: b.newLine + n - k + 1}
		b.context(lead)
	}
	removed, added := b.old[c.from:c.to], b.new[c.newFrom:c.newTo]
	nr, na := CountLines(removed), CountLines(added)
	b.changed(removed, added, nr, na)
	b.oldLine, b.newLine, b.done = b.oldLine+n+nr, b.newLine+n+na, c.to
}

// changed takes the lines of a change. Where they are too many, what was there and what is there now
// get half of the room each.
func (b *patcher) changed(removed, added string, nr, na int) {
	b.patch.Removed += nr
	b.patch.Added += na
	tr := 0
	if !b.after {
		tr = b.take('-', removed, max(b.lines/2, b.lines-na), max(b.bytes/2, b.bytes-len(added)-na))
	}
	ta := b.take('+', added, b.lines, b.bytes)
	b.patch.LeftOut += nr - tr + na - ta
	b.full = b.full || ta < na || (tr < nr && !b.after)
}

func (b *patcher) context(text string) {
	b.full = b.take(' ', text, b.lines, b.bytes) < CountLines(text) || b.full
}

// take adds at most so many lines and bytes to the open hunk and returns how many lines it has taken.
func (b *patcher) take(mark byte, text string, lines, bytes int) int {
	taken := 0
	if b.full {
		return taken
	}
	for line := range strings.Lines(text) {
		shown := string(mark) + Cut(strings.TrimSuffix(line, "\n"), maxPatchLine)
		if taken == lines || bytes < len(shown) {
			break
		}
		taken++
		bytes -= len(shown)
		b.bytes -= len(shown)
		b.hunk.add(mark, shown, strings.HasSuffix(line, "\n"))
	}
	b.lines -= taken
	return taken
}

func (h *Hunk) add(mark byte, shown string, ended bool) {
	if mark != '+' {
		h.OldLines++
	}
	if mark != '-' {
		h.NewLines++
	}
	h.Lines = append(h.Lines, shown)
	if !ended {
		h.Lines = append(h.Lines, `\ No newline at end of file`)
	}
}

// close ends the open hunk, unless nothing that changed found room in it.
func (b *patcher) close() {
	h := *b.hunk
	b.hunk = nil
	if !b.after && !slices.ContainsFunc(h.Lines, func(l string) bool { return l[0] == '+' || l[0] == '-' }) {
		return
	}
	if h.OldLines == 0 {
		h.OldStart = max(0, h.OldStart-1) // a unified diff names the line before
	}
	if h.NewLines == 0 {
		h.NewStart = max(0, h.NewStart-1)
	}
	b.patch.Hunks = append(b.patch.Hunks, h)
}

func firstLines(text string, n int) string {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		end += lineLen(text[end:])
	}
	return text[:end]
}

func lastLines(text string, n int) string {
	from := len(text)
	for ; n > 0 && from > 0; n-- {
		from = strings.LastIndexByte(text[:from-1], '\n') + 1
	}
	return text[from:]
}

// lineLen is the length of the first line with its end.
func lineLen(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// How much of each view is compared at once. What lies beyond is compared after it, so that large
// views need no more memory than small ones; a place that moved farther than this is seen as removed
// and added.
const (
	windowBytes = 1 << 20
	windowLines = 16 << 10
)

// changes yields the lines that differ, in order. lines and bytes are the size of a window.
func changes(old, new string, lines, bytes int) iter.Seq[change] {
	return func(yield func(change) bool) {
		suf := commonEnd(old, new)
		oldEnd, newEnd := len(old)-suf, len(new)-suf
		var wa, wb []string
		for a, b := 0, 0; ; {
			same := commonStart(old[a:oldEnd], new[b:newEnd])
			a, b = a+same, b+same
			switch {
			case a == oldEnd && b == newEnd:
				return
			case a == oldEnd || b == newEnd:
				yield(change{a, oldEnd, b, newEnd})
				return
			}
			wa, wb = window(wa[:0], old[a:oldEnd], lines, bytes), window(wb[:0], new[b:newEnd], lines, bytes)
			found := lcs.DiffLines(wa, wb)
			// A change that reaches the end of a window is not known to end there. It is left to the
			// next windows, as long as there is another; behind the last windows nothing is left.
			if n := len(found) - 1; n > 0 && (found[n].End == len(wa) || found[n].ReplEnd == len(wb)) {
				found = found[:n]
			}
			i, j := 0, 0
			for _, d := range found {
				a, b = a+size(wa[i:d.Start]), b+size(wb[j:d.ReplStart])
				c := change{a, a + size(wa[d.Start:d.End]), b, b + size(wb[d.ReplStart:d.ReplEnd])}
				if !yield(c) {
					return
				}
				a, b, i, j = c.to, c.newTo, d.End, d.ReplEnd
			}
		}
	}
}

// window appends the first lines of a text, as many as are compared at once; at least one.
func window(to []string, text string, lines, bytes int) []string {
	for line := range strings.Lines(text) {
		if bytes -= len(line); len(to) > 0 && (bytes < 0 || len(to) == lines) {
			break
		}
		to = append(to, line)
	}
	return to
}

func size(lines []string) int {
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// commonStart is the length of the whole lines that both texts begin with.
func commonStart(a, b string) int {
	n := commonPrefix(a, b)
	if n == len(a) && n == len(b) {
		return n
	}
	return strings.LastIndexByte(a[:n], '\n') + 1
}

// commonEnd is the length of the whole lines that both texts end with.
func commonEnd(a, b string) int {
	n := commonSuffix(a, b)
	atStart := func(s string) bool { return n == len(s) || s[len(s)-n-1] == '\n' }
	if n == 0 || (atStart(a) && atStart(b)) {
		return n
	}
	return n - lineLen(a[len(a)-n:])
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
	b := patcher{old: old, new: new, lines: limit, bytes: maxPatchBytes, after: true}
	var out []string
	for i, h := range b.run().Hunks {
		if i > 0 {
			out = append(out, "...")
		}
		n := h.NewStart
		for _, l := range h.Lines {
			if l[0] != '\\' {
				out = append(out, strconv.Itoa(n)+"\t"+Cut(l[1:], MaxLine))
				n++
			}
		}
	}
	if b.full {
		out = append(out, "… and more")
	}
	return strings.Join(out, "\n")
}
