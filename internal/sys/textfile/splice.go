package textfile

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Edit replaces the part [Start, End) of a view, counted in bytes, by New.
type Edit struct {
	Start, End int
	New        string
}

// maxDiff is the length of text up to which a replacement is refined line by line.
const maxDiff = 4 << 20

// Find returns the byte offsets in the view at which old stands, left to right and not overlapping,
// and the length of a match. Where an old with CRLF line ends is not found, it is looked for with LF,
// which in the view stands for either.
func (t Text) Find(old string) (at []int, length int) {
	if at = findAll(t.view, old); at == nil && strings.Contains(old, "\r\n") {
		old = strings.ReplaceAll(old, "\r\n", "\n")
		at = findAll(t.view, old)
	}
	return at, len(old)
}

func findAll(s, part string) []int {
	if part == "" {
		return nil
	}
	var at []int
	for from := 0; ; {
		i := strings.Index(s[from:], part)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + len(part)
	}
}

// convertsEnds tells whether the view's LF stands for something else in the file.
func (t Text) convertsEnds() bool { return t.ends == CRLF || t.ends == Mixed || t.ends == CR }

// Splice returns the text with the edits made. They must not overlap and must begin and end between
// characters of the view; order does not matter. Only bytes that have to change change: what the
// old and new part share at their ends, and whole lines they share, stay as they are, with their
// own line ends. New lines end like their neighbours.
//
// It gives a *[CharError] when the file's encoding has no place for the new text, and
// [ErrReplacement] rather than writing U+FFFD.
func (t Text) Splice(edits ...Edit) (Text, error) {
	edits = append([]Edit(nil), edits...)
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].Start < edits[j].Start })
	var fine []piece
	last := 0
	for _, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(t.view) {
			return Text{}, fmt.Errorf("splice text: edit [%d, %d) is outside the text or overlaps another", e.Start, e.End)
		}
		last = e.End
		eol := t.endAt(e)
		if t.convertsEnds() && !strings.Contains(t.view, "\r\n") {
			e.New = strings.ReplaceAll(e.New, "\r\n", "\n")
		}
		for _, f := range t.refine(e) {
			fine = append(fine, piece{f, eol})
		}
	}
	raw, err := t.apply(fine)
	if err != nil {
		return Text{}, err
	}
	return t.again(raw), nil
}

// Rewrite returns the text with view as its whole content, as if the lines that differ had been
// edited one by one: encoding, byte order mark and line ends stay. A byte order mark at the start
// of view is ignored.
func (t Text) Rewrite(view string) (Text, error) {
	view = strings.TrimPrefix(view, "\uFEFF")
	return t.Splice(Edit{0, len(t.view), view})
}

// again decodes raw as t was decoded; an empty file has no encoding to keep.
func (t Text) again(raw []byte) Text {
	return decodeAs(raw, t.enc, t.bom)
}

// piece is an edit with the line end its new lines get.
type piece struct {
	Edit
	eol string
}

// refine cuts an edit down to what differs.
func (t Text) refine(e Edit) []Edit {
	old := t.view[e.Start:e.End]
	pre := commonPrefix(old, e.New)
	old, e.New, e.Start = old[pre:], e.New[pre:], e.Start+pre
	suf := commonSuffix(old, e.New)
	old, e.New, e.End = old[:len(old)-suf], e.New[:len(e.New)-suf], e.End-suf
	switch {
	case old == "" && e.New == "":
		return nil
	case !strings.Contains(old, "\n") || !strings.Contains(e.New, "\n") || len(old)+len(e.New) > maxDiff:
		return []Edit{e}
	}
	var out []Edit
	for _, d := range udiff.Lines(old, e.New) {
		part := old[d.Start:d.End]
		pre := commonPrefix(part, d.New)
		suf := commonSuffix(part[pre:], d.New[pre:])
		f := Edit{e.Start + d.Start + pre, e.Start + d.End - suf, d.New[pre : len(d.New)-suf]}
		if f.Start < f.End || f.New != "" {
			out = append(out, f)
		}
	}
	return out
}

// commonPrefix is the length of the longest common prefix that ends between characters.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (inChar(a, n) || inChar(b, n)) {
		n--
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (inChar(a, len(a)-n) || inChar(b, len(b)-n)) {
		n--
	}
	return n
}

func inChar(s string, i int) bool { return i < len(s) && !utf8.RuneStart(s[i]) }

// apply encodes the pieces into a copy of the bytes.
func (t Text) apply(pieces []piece) ([]byte, error) {
	if len(pieces) == 0 {
		return t.raw, nil
	}
	offsets := make([]int, 0, 2*len(pieces))
	for _, p := range pieces {
		offsets = append(offsets, p.Start, p.End)
	}
	at, err := t.rawOffsets(offsets)
	if err != nil {
		return nil, err
	}
	c := t.enc.codec()
	out := make([]byte, 0, len(t.raw)+len(t.raw)/16+64)
	done := 0
	for i, p := range pieces {
		out = append(out, t.raw[done:at[2*i]]...)
		if out, err = t.encode(c, out, p); err != nil {
			return nil, err
		}
		done = at[2*i+1]
	}
	return append(out, t.raw[done:]...), nil
}

func (t Text) encode(c codec, out []byte, p piece) ([]byte, error) {
	for _, r := range p.New {
		if r == utf8.RuneError {
			return nil, ErrReplacement
		}
		if r == '\n' && p.eol != "\n" {
			for _, e := range p.eol {
				out, _ = c.put(out, e) // every encoding has CR and LF
			}
			continue
		}
		var ok bool
		if out, ok = c.put(out, r); !ok {
			return nil, &CharError{t.enc, r}
		}
	}
	return out, nil
}

// rawOffsets turns ascending offsets in the view into offsets in the bytes.
func (t Text) rawOffsets(view []int) ([]int, error) {
	out := make([]int, len(view))
	raw := t.bomLen()
	if t.enc == UTF8 && !t.doubleEnds() { // byte for byte the same
		for i, v := range view {
			if inChar(t.view, v) {
				return nil, fmt.Errorf("splice text: offset %d is inside a character", v)
			}
			out[i] = raw + v
		}
		return out, nil
	}
	c := t.enc.codec()
	seen := 0
	for i, v := range view {
		for seen < v {
			n, width := t.step(c, raw)
			raw += n
			seen += width
		}
		if seen > v {
			return nil, fmt.Errorf("splice text: offset %d is inside a character", v)
		}
		out[i] = raw
	}
	return out, nil
}

func (t Text) doubleEnds() bool { return t.ends == CRLF || t.ends == Mixed }

// step returns how many bytes the character at raw takes in the file and in the view.
func (t Text) step(c codec, raw int) (n, width int) {
	r, n := c.next(t.raw[raw:])
	if r == '\r' && t.doubleEnds() && raw+n < len(t.raw) {
		if next, m := c.next(t.raw[raw+n:]); next == '\n' {
			return n + m, 1
		}
	}
	return n, utf8.RuneLen(r)
}

// endAt says how lines that an edit adds shall end.
func (t Text) endAt(e Edit) string {
	switch t.ends {
	case CRLF:
		return "\r\n"
	case CR:
		return "\r"
	case Mixed:
		return t.neighbourEnd(e)
	default:
		return "\n"
	}
}

// neighbourEnd finds, in a file with mixed line ends, the nearest one: inside the edit, else after
// it, else before it.
func (t Text) neighbourEnd(e Edit) string {
	i := strings.IndexByte(t.view[e.Start:], '\n')
	if i >= 0 {
		i += e.Start
	} else if i = strings.LastIndexByte(t.view[:e.Start], '\n'); i < 0 {
		return "\n"
	}
	at, err := t.rawOffsets([]int{i})
	if err != nil {
		return "\n"
	}
	if r, _ := t.enc.codec().next(t.raw[at[0]:]); r == '\r' {
		return "\r\n"
	}
	return "\n"
}
