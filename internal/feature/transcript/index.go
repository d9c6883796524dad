package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// entry is what is remembered of a record while a file is read from its end.
type entry struct {
	at   int64 // place of its first byte
	size int

	uuid, parent, logical string
	linked, speaks        bool
	user, side, summary   bool
	boundary              *Boundary // of a boundary record
}

// index is the part of a file that was read so far, the newest record first. It grows on demand:
// who asks for a record that is not there yet makes it read on.
type index struct {
	file    io.ReaderAt
	lines   *backward
	entries []entry
	byID    map[string]int // the newest record with this uuid
	fresh   map[int]*head  // heads of the line read last, still in memory
	broken  []fragment
	notes   []Note // newest first
	rewind  *rewind
	first   bool
	end     bool
}

// fragment is a piece of a line that cannot be read.
type fragment struct {
	at   int64
	size int
	torn bool // the end of the file
}

// rewind says that the conversation goes on behind another record than the last one.
type rewind struct {
	to     string
	before int // number of entries that are newer
}

func newIndex(file io.ReaderAt, size int64) (*index, error) {
	lines, err := newBackward(file, size)
	if err != nil {
		return nil, err
	}
	return &index{file: file, lines: lines, byID: map[string]int{}, first: true}, nil
}

// extend reads one line more. It reports false at the beginning of the file.
func (x *index) extend() (bool, error) {
	if x.end {
		return false, nil
	}
	line, at, err := x.lines.next()
	if errors.Is(err, io.EOF) {
		x.end = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	torn := x.first && x.lines.torn
	x.first = false
	clear(x.fresh)
	if len(bytes.TrimSpace(line)) == 0 {
		return true, nil
	}
	if h, ok := readHead(line); ok {
		return true, x.add(&h, at, len(line))
	}
	good, bad := salvage(line)
	for _, f := range bad {
		x.broken = append(x.broken, fragment{at + int64(f.from), f.to - f.from, torn && f.to == len(line)})
	}
	for i := len(good) - 1; i >= 0; i-- {
		h, _ := readHead(line[good[i].from:good[i].to]) // salvage has read it
		if err := x.add(&h, at+int64(good[i].from), good[i].to-good[i].from); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (x *index) add(h *head, at int64, size int) error {
	if h.version > Version {
		return fmt.Errorf("it has records of version %d; this program reads up to %d", h.version, Version)
	}
	if h.kind == noteKind {
		x.addNote(h)
		return nil
	}
	if !h.linked() {
		return nil
	}
	e := entry{
		at: at, size: size, uuid: h.uuid, parent: h.parent, logical: h.logical, linked: true, speaks: h.speaks() && !h.team,
		user: h.kind == "user", side: h.sidechain, summary: h.summary,
	}
	if h.isBoundary() {
		e.boundary = h.boundary
	}
	if _, ok := x.byID[e.uuid]; !ok {
		x.byID[e.uuid] = len(x.entries)
	}
	if x.fresh == nil {
		x.fresh = map[int]*head{}
	}
	x.fresh[len(x.entries)] = h
	x.entries = append(x.entries, e)
	return nil
}

// find returns the place of the record with an id, -1 when the file has none.
func (x *index) find(id string) (int, error) {
	for {
		if i, ok := x.byID[id]; ok {
			return i, nil
		}
		if more, err := x.extend(); err != nil || !more {
			return -1, err
		}
	}
}

// from returns the first entry from i on, towards the beginning of the file, that which accepts;
// -1 when there is none.
func (x *index) from(i int, which func(*entry) bool) (int, error) {
	for ; ; i++ {
		for i >= len(x.entries) {
			if more, err := x.extend(); err != nil || !more {
				return -1, err
			}
		}
		if which(&x.entries[i]) {
			return i, nil
		}
	}
}

// head reads a record again, unless it is still in memory.
func (x *index) head(i int) (*head, error) {
	if h, ok := x.fresh[i]; ok {
		return h, nil
	}
	e := &x.entries[i]
	line := make([]byte, e.size)
	if n, err := x.file.ReadAt(line, e.at); n < len(line) {
		return nil, fmt.Errorf("read record %s: %w", e.uuid, err)
	}
	h, ok := readHead(line)
	if !ok || h.uuid != e.uuid {
		return nil, fmt.Errorf("read record %s: the file was changed meanwhile", e.uuid)
	}
	return &h, nil
}

// salvage finds the whole records in a line that is none as a whole: a write was cut off, and the
// next one glued to it. It returns them and what is left over, both in order.
func salvage(line []byte) (good, bad []span) {
	lost := 0 // where the piece that cannot be read begins
	leave := func(to int) {
		if piece := bytes.Trim(line[lost:to], " \t\r\x00"); len(piece) > 0 {
			bad = append(bad, span{lost, to})
		}
	}
	for i := 0; i < len(line); {
		n := nextRecord(line[i:])
		if n < 0 {
			break
		}
		i += n
		d := &doc{data: line}
		end := d.scan(i, 0)
		if end < 0 || !isRecord(line[i:end]) {
			i++
			continue
		}
		leave(i)
		good = append(good, span{i, end})
		i, lost = end, end
	}
	leave(len(line))
	return good, bad
}

// nextRecord returns where the next piece begins that looks like the beginning of a record.
func nextRecord(data []byte) int {
	best := -1
	for _, start := range []string{`{"type":`, `{"parentUuid":`, `{"uuid":`, `{"sessionId":`, `{"isSidechain":`, `{"timestamp":`, `{ "`} {
		if i := bytes.Index(data, []byte(start)); i >= 0 && (best < 0 || i < best) {
			best = i
		}
	}
	return best
}

// isRecord tells a record from an object inside one.
func isRecord(object []byte) bool {
	h, ok := readHead(object)
	if !ok {
		return false
	}
	if h.linked() {
		return true
	}
	switch h.kind {
	case noteKind, "custom-title", "ai-title", "tag", "summary", "last-prompt":
		return true
	}
	return strings.Contains(h.kind, "-")
}
