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
	s := t.splicer(len(t.raw) + len(t.raw)/16 + 64)
	last := 0
	for _, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(t.view) {
			return Text{}, fmt.Errorf("splice text: edit [%d, %d) is outside the text or overlaps another", e.Start, e.End)
		}
		last = e.End
		e.New = t.ownEnds(e.New)
		for _, f := range t.refine(t.view[e.Start:e.End], e.New) {
			if err := s.put(f.moved(e.Start), e); err != nil {
				return Text{}, err
			}
		}
	}
	return s.text(), nil
}

// Replace returns the text with every occurrence of old replaced, as [Text.Find] finds them and
// [Text.Splice] replaces them, and how many there were. It needs no memory for each of them.
func (t Text) Replace(old, new string) (Text, int, error) {
	n := strings.Count(t.view, old)
	if n == 0 && strings.Contains(old, "\r\n") {
		old = strings.ReplaceAll(old, "\r\n", "\n")
		new = strings.ReplaceAll(new, "\r\n", "\n")
		n = strings.Count(t.view, old)
	}
	if n == 0 || old == "" {
		return t, 0, nil
	}
	new = t.ownEnds(new)
	fine := t.refine(old, new)
	s := t.splicer(len(t.raw) + max(0, n*(len(new)-len(old))) + 64)
	for from := 0; ; {
		i := strings.Index(t.view[from:], old)
		if i < 0 {
			return s.text(), n, nil
		}
		at := from + i
		from = at + len(old)
		for _, f := range fine {
			if err := s.put(f.moved(at), Edit{at, from, new}); err != nil {
				return Text{}, n, err
			}
		}
	}
}

// ownEnds writes the line ends of new text as the view has them.
func (t Text) ownEnds(new string) string {
	if t.convertsEnds() && strings.Contains(new, "\r\n") && !strings.Contains(t.view, "\r\n") {
		return strings.ReplaceAll(new, "\r\n", "\n")
	}
	return new
}

// Rewrite returns the text with view as its whole content, as if the lines that differ had been
// edited one by one: encoding, byte order mark and line ends stay. A byte order mark at the start
// of view is ignored.
func (t Text) Rewrite(view string) (Text, error) {
	view = strings.TrimPrefix(view, "\uFEFF")
	return t.Splice(Edit{0, len(t.view), view})
}

func (e Edit) moved(by int) Edit { return Edit{e.Start + by, e.End + by, e.New} }

// refine cuts the replacement of old by new down to what differs.
func (t Text) refine(old, new string) []Edit {
	pre := commonPrefix(old, new)
	old, new = old[pre:], new[pre:]
	suf := commonSuffix(old, new)
	old, new = old[:len(old)-suf], new[:len(new)-suf]
	switch {
	case old == "" && new == "":
		return nil
	case !strings.Contains(old, "\n") || !strings.Contains(new, "\n") || len(old)+len(new) > maxDiff:
		return []Edit{{pre, pre + len(old), new}}
	}
	var out []Edit
	for _, d := range udiff.Lines(old, new) {
		part := old[d.Start:d.End]
		head := commonPrefix(part, d.New)
		suf := commonSuffix(part[head:], d.New[head:])
		f := Edit{pre + d.Start + head, pre + d.End - suf, d.New[head : len(d.New)-suf]}
		if f.Start < f.End || f.New != "" {
			out = append(out, f)
		}
	}
	return out
}

// stride is how much is compared at once, at the speed of memory.
const stride = 1 << 10

// commonPrefix is the length of the longest common prefix that ends between characters.
func commonPrefix(a, b string) int {
	n := 0
	for n+stride <= min(len(a), len(b)) && a[n:n+stride] == b[n:n+stride] {
		n += stride
	}
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
	for n+stride <= min(len(a), len(b)) && a[len(a)-n-stride:len(a)-n] == b[len(b)-n-stride:len(b)-n] {
		n += stride
	}
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (inChar(a, len(a)-n) || inChar(b, len(b)-n)) {
		n--
	}
	return n
}

func inChar(s string, i int) bool { return i < len(s) && !utf8.RuneStart(s[i]) }

// splicer makes the bytes of a text with edits that come in order.
type splicer struct {
	t    Text
	c    codec
	out  []byte
	done int    // bytes of the text that are in out, or were replaced
	at   cursor // at the last edit
}

func (t Text) splicer(size int) *splicer {
	return &splicer{t: t, c: t.enc.codec(), out: make([]byte, 0, size), at: cursor{raw: t.bomLen()}}
}

// text is the result, decoded as the text was.
func (s *splicer) text() Text {
	return decodeAs(append(s.out, s.t.raw[s.done:]...), s.t.enc, s.t.bom)
}

// put makes one edit, which is a part of whole.
func (s *splicer) put(e, whole Edit) error {
	eol := "\n"
	if strings.Contains(e.New, "\n") {
		eol = s.endAt(whole)
	}
	if err := s.t.move(s.c, &s.at, e.Start); err != nil {
		return err
	}
	s.out = append(s.out, s.t.raw[s.done:s.at.raw]...)
	if err := s.encode(e.New, eol); err != nil {
		return err
	}
	err := s.t.move(s.c, &s.at, e.End)
	s.done = s.at.raw
	return err
}

func (s *splicer) encode(text, eol string) error {
	for _, r := range text {
		if r == utf8.RuneError {
			return ErrReplacement
		}
		if r == '\n' && eol != "\n" {
			for _, e := range eol {
				s.out, _ = s.c.put(s.out, e) // every encoding has CR and LF
			}
			continue
		}
		var ok bool
		if s.out, ok = s.c.put(s.out, r); !ok {
			return &CharError{s.t.enc, r}
		}
	}
	return nil
}

// cursor is one place in the view and in the bytes.
type cursor struct{ view, raw int }

// move moves the cursor forward to an offset of the view.
func (t Text) move(c codec, at *cursor, view int) error {
	if t.enc == UTF8 && !t.doubleEnds() { // byte for byte the same
		at.view, at.raw = view, t.bomLen()+view
	}
	for at.view < view {
		n, width := t.step(c, at.raw)
		at.raw += n
		at.view += width
	}
	if at.view > view || inChar(t.view, view) {
		return fmt.Errorf("splice text: offset %d is inside a character", view)
	}
	return nil
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
func (s *splicer) endAt(e Edit) string {
	switch s.t.ends {
	case CRLF:
		return "\r\n"
	case CR:
		return "\r"
	case Mixed:
		return s.neighbourEnd(e)
	default:
		return "\n"
	}
}

// neighbourEnd finds, in a file with mixed line ends, the nearest one: inside the edit, else after
// it, else before it.
func (s *splicer) neighbourEnd(e Edit) string {
	at := cursor{raw: s.t.bomLen()}
	i := strings.IndexByte(s.t.view[e.Start:], '\n')
	if i >= 0 {
		i += e.Start
		if s.at.view <= i {
			at = s.at // so that many edits do not walk through the file many times
		}
	} else if i = strings.LastIndexByte(s.t.view[:e.Start], '\n'); i < 0 {
		return "\n"
	}
	if err := s.t.move(s.c, &at, i); err != nil {
		return "\n"
	}
	if r, _ := s.c.next(s.t.raw[at.raw:]); r == '\r' {
		return "\r\n"
	}
	return "\n"
}
