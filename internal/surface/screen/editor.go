package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// A paste longer than one of these is shown folded.
const (
	foldLines = 10
	foldBytes = 2048
)

// cell is one place of the draft: a grapheme cluster, a line end, or a folded paste.
type cell struct {
	text string
	fold *fold // a paste shown folded; text is empty then
}

// fold is a paste that is shown as its size. It is kept as it came, in parts: a paste of many
// megabytes may come in thousands of them.
type fold struct {
	number int
	parts  []string
	bytes  int
	lines  int // line ends
}

func (f *fold) add(part string) {
	f.parts = append(f.parts, part)
	f.bytes += len(part)
	f.lines += strings.Count(part, "\n")
}

// content is the text of a cell as it is sent.
func (c cell) content() string {
	if c.fold != nil {
		return strings.Join(c.fold.parts, "")
	}
	return c.text
}

// Editor is the draft: text with a cursor. It knows no terminal. The zero Editor is an empty
// draft.
type Editor struct {
	cells []cell
	pos   int // cells before the cursor
	goal  int // column that up and down aim at, plus one; 0: none

	kills []string // cut text, newest last
	yank  yankState
	joins bool // the last key cut text, and the next one that does adds to it
	folds int  // pastes so far
	paste pasteState

	undo, redo []snapshot
	typing     bool // the last change was typed text: more of it is one step of undo
}

type snapshot struct {
	cells []cell
	pos   int
}

// yankState is what was put back by the last key; the zero state: nothing.
type yankState struct {
	from, to int
	ring     int // how many cuts back it lies
}

// Text is the whole draft as it is sent, pastes in full.
func (e *Editor) Text() string {
	var b strings.Builder
	for _, c := range e.cells {
		b.WriteString(c.content())
	}
	return b.String()
}

// Empty reports whether there is nothing in the draft.
func (e *Editor) Empty() bool { return len(e.cells) == 0 }

// Before is the text before the cursor.
func (e *Editor) Before() string {
	var b strings.Builder
	for _, c := range e.cells[:e.pos] {
		b.WriteString(c.content())
	}
	return b.String()
}

// Set replaces the draft; the cursor stands at its end. It can be undone.
func (e *Editor) Set(text string) {
	e.change(false)
	e.cells = nil
	e.pos = 0
	e.insert(text)
}

// Clear empties the draft and forgets what could be undone.
func (e *Editor) Clear() { *e = Editor{kills: e.kills, folds: e.folds} }

// Insert puts typed text at the cursor.
func (e *Editor) Insert(text string) {
	e.change(true)
	e.insert(text)
}

// pasteState is the last paste, for parts of it that come later.
type pasteState struct {
	from, to int    // cells it took
	text     string // while it is not folded
}

// Paste puts pasted text at the cursor, folded when it is long. More text of the same paste joins
// what came before it.
func (e *Editor) Paste(text string, more bool) {
	if text == "" {
		return
	}
	if more = more && e.paste.to > e.paste.from && e.paste.to == e.pos; more {
		if f := e.cells[e.pos-1].fold; f != nil {
			f.add(text)
			return
		}
		e.cells = slices.Delete(e.cells, e.paste.from, e.paste.to)
		e.pos = e.paste.from
		text = e.paste.text + text
	} else {
		e.change(false)
	}
	from := e.pos
	if strings.Count(text, "\n") <= foldLines && len(text) <= foldBytes {
		e.insert(text)
		e.paste = pasteState{from, e.pos, text}
		return
	}
	e.folds++
	f := &fold{number: e.folds}
	f.add(text)
	e.cells = slices.Insert(e.cells, e.pos, cell{fold: f})
	e.pos++
	e.paste = pasteState{from: from, to: e.pos}
}

// insert puts text at the cursor. What belongs to a neighbouring character joins it.
func (e *Editor) insert(text string) {
	from, to := e.pos, e.pos
	prefix, suffix := "", ""
	if from > 0 && e.cells[from-1].joinable() {
		from--
		prefix = e.cells[from].text
	}
	if to < len(e.cells) && e.cells[to].joinable() {
		suffix = e.cells[to].text
		to++
	}
	before := segment(prefix + text)
	all := segment(prefix + text + suffix)
	e.cells = slices.Replace(e.cells, from, to, all...)
	e.pos = from + min(len(before), len(all))
	e.goal = 0
}

func (c cell) joinable() bool { return c.fold == nil && c.text != "\n" }

func segment(text string) []cell {
	var out []cell
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out = append(out, cell{text: "\n"})
		}
		graphemes(line, func(c string, _ int) { out = append(out, cell{text: c}) })
	}
	return out
}

// change keeps the draft for undo before it is changed.
func (e *Editor) change(typing bool) {
	e.joins = false
	e.yank = yankState{}
	e.paste = pasteState{}
	if typing && e.typing && len(e.undo) > 0 {
		return
	}
	e.typing = typing
	e.undo = append(e.undo, e.snapshot())
	if len(e.undo) > 200 {
		e.undo = e.undo[1:]
	}
	e.redo = nil
}

func (e *Editor) snapshot() snapshot { return snapshot{slices.Clone(e.cells), e.pos} }

func (e *Editor) step(from, to *[]snapshot) {
	if len(*from) == 0 {
		return
	}
	*to = append(*to, e.snapshot())
	s := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	e.cells, e.pos, e.typing, e.goal = s.cells, s.pos, false, 0
}

// moved ends a run of typing or cutting.
func (e *Editor) moved(pos int) {
	e.paste = pasteState{}
	e.pos, e.goal, e.typing, e.joins = pos, 0, false, false
	e.yank = yankState{}
}

func (e *Editor) lineStart() int {
	i := e.pos
	for i > 0 && e.cells[i-1].text != "\n" {
		i--
	}
	return i
}

func (e *Editor) lineEnd() int {
	i := e.pos
	for i < len(e.cells) && e.cells[i].text != "\n" {
		i++
	}
	return i
}

func (c cell) word() bool {
	if c.fold != nil {
		return true
	}
	for _, r := range c.text {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
	}
	return false
}

func (e *Editor) wordLeft() int {
	i := e.pos
	for i > 0 && !e.cells[i-1].word() {
		i--
	}
	for i > 0 && e.cells[i-1].word() {
		i--
	}
	return i
}

func (e *Editor) wordRight() int {
	i := e.pos
	for i < len(e.cells) && !e.cells[i].word() {
		i++
	}
	for i < len(e.cells) && e.cells[i].word() {
		i++
	}
	return i
}

// blankLeft is the start of the word before the cursor, words being what blanks divide.
func (e *Editor) blankLeft() int {
	blank := func(c cell) bool { return c.fold == nil && strings.TrimSpace(c.text) == "" }
	i := e.pos
	for i > 0 && blank(e.cells[i-1]) {
		i--
	}
	for i > 0 && !blank(e.cells[i-1]) {
		i--
	}
	return i
}

func (e *Editor) remove(from, to int) {
	if from >= to {
		return
	}
	e.change(false)
	e.cells = slices.Delete(e.cells, from, to)
	e.pos, e.goal = from, 0
}

// kill cuts text for a later yank. Cuts in a row become one.
func (e *Editor) kill(from, to int) {
	if from >= to {
		return
	}
	joins, backward := e.joins, from < e.pos
	var b strings.Builder
	for _, c := range e.cells[from:to] {
		b.WriteString(c.content())
	}
	e.remove(from, to)
	switch {
	case !joins || len(e.kills) == 0:
		e.kills = append(e.kills, b.String())
	case backward:
		e.kills[len(e.kills)-1] = b.String() + e.kills[len(e.kills)-1]
	default:
		e.kills[len(e.kills)-1] += b.String()
	}
	e.joins = true
}

func (e *Editor) putBack(ring int) {
	if len(e.kills) == 0 {
		return
	}
	if ring > 0 && e.yank.from == e.yank.to {
		return // nothing was yanked that an older cut could replace
	}
	from := e.pos
	if ring > 0 {
		last := e.yank
		e.remove(last.from, last.to)
		from = last.from
	} else {
		e.change(false)
	}
	n := len(e.kills)
	e.insert(e.kills[((n-1-ring)%n+n)%n])
	e.yank = yankState{from, e.pos, ring}
}

// Key carries out an editing key and reports whether it was one.
func (e *Editor) Key(k Key) bool {
	switch k.Name {
	case "text":
		e.Insert(k.Text)
	case "paste":
		e.Paste(k.Text, k.More)
	case "alt+enter", "shift+enter", "ctrl+j", "alt+ctrl+j", "ctrl+enter":
		e.Insert("\n")
	case "left", "ctrl+b":
		e.moved(max(0, e.pos-1))
	case "right", "ctrl+f":
		e.moved(min(len(e.cells), e.pos+1))
	case "alt+b", "ctrl+left", "alt+left":
		e.moved(e.wordLeft())
	case "alt+f", "ctrl+right", "alt+right":
		e.moved(e.wordRight())
	case "home", "ctrl+a":
		e.moved(e.lineStart())
	case "end", "ctrl+e":
		e.moved(e.lineEnd())
	case "ctrl+home", "alt+<":
		e.moved(0)
	case "ctrl+end", "alt+>":
		e.moved(len(e.cells))
	default:
		return e.cut(k)
	}
	return true
}

// cut carries out the keys that take text out, put it back, or undo.
func (e *Editor) cut(k Key) bool {
	switch k.Name {
	case "backspace", "shift+backspace":
		e.remove(max(0, e.pos-1), e.pos)
	case "delete", "ctrl+d":
		e.remove(e.pos, min(len(e.cells), e.pos+1))
	case "ctrl+k":
		to := e.lineEnd()
		if to == e.pos && to < len(e.cells) {
			to++
		}
		e.kill(e.pos, to)
	case "ctrl+u":
		e.kill(e.lineStart(), e.pos)
	case "ctrl+w":
		e.kill(e.blankLeft(), e.pos)
	case "alt+backspace", "ctrl+backspace":
		e.kill(e.wordLeft(), e.pos)
	case "alt+d", "ctrl+delete":
		e.kill(e.pos, e.wordRight())
	case "ctrl+y":
		e.putBack(0)
	case "alt+y":
		e.putBack(e.yank.ring + 1)
	case "ctrl+_":
		e.step(&e.undo, &e.redo)
	case "alt+_", "ctrl+shift+_":
		e.step(&e.redo, &e.undo)
	default:
		return false
	}
	return true
}

// Replace puts text in the place of the last bytes before the cursor.
func (e *Editor) Replace(bytes int, text string) {
	e.change(false)
	for bytes > 0 && e.pos > 0 {
		bytes -= len(e.cells[e.pos-1].content())
		e.pos--
		e.cells = append(e.cells[:e.pos:e.pos], e.cells[e.pos+1:]...)
	}
	e.insert(text)
}

// CutAll empties the draft; what it held can be put back.
func (e *Editor) CutAll() { e.kill(0, len(e.cells)) }

// Continue replaces a backslash before the cursor by a line end and reports whether there was
// one: a way to write several lines on any terminal.
func (e *Editor) Continue() bool {
	if e.pos == 0 || e.cells[e.pos-1].text != `\` {
		return false
	}
	e.change(false)
	e.cells[e.pos-1] = cell{text: "\n"}
	return true
}

func (c cell) shown() string {
	if c.fold != nil {
		lines := c.fold.lines + 1
		if last := c.fold.parts[len(c.fold.parts)-1]; strings.HasSuffix(last, "\n") {
			lines-- // a line end ends a line, and begins none
		}
		return fmt.Sprintf("[paste %d · %d lines · %s]", c.fold.number, lines, size(c.fold.bytes))
	}
	if c.text == "\t" {
		return "    "
	}
	return visible.Text(c.text)
}

func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
