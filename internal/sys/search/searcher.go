package search

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

var (
	errBinary   = errors.New("not a text file")
	errTooLarge = errors.New("too large")
)

const (
	firstRead = 64 << 10 // most files are smaller
	maxWindow = 8 << 20  // how much of a file is held at once
	maxWhole  = 64 << 20 // and when it must be held as a whole: several lines, UTF-16
)

// searcher searches one file after the other; it belongs to one worker.
type searcher struct {
	q        *Query
	buf      []byte
	find     finder
	searched int64

	m      FileMatch
	line   int // number of the line at pos
	pos    int // start of the first line not yet looked at
	shown  int // end of what was shown, as an offset; -1: nothing
	after  int // lines of context still owed
	gapped bool
	cr     bool // lines end with CR alone; the buffer has LF in its place
}

// search looks through one file.
func (s *searcher) search(ctx context.Context, real string) (FileMatch, error) {
	f, err := openFile(real)
	if err != nil {
		return FileMatch{}, err
	}
	defer f.close()
	s.begin()
	s.find.ctx = ctx
	if s.buf == nil {
		s.buf = make([]byte, 0, firstRead)
	}
	s.buf = s.buf[:0]
	defer s.release()
	end, err := s.fill(f, firstRead)
	if err != nil {
		return FileMatch{}, err
	}
	if s.foreign() {
		return s.decoded(f, end)
	}
	if s.tooLarge(f, end) {
		return FileMatch{}, errTooLarge
	}
	if err := s.useCR(real, end); err != nil {
		return FileMatch{}, err
	}
	if s.q.Pattern.opt.Multiline {
		return s.wholeFile(f, end)
	}
	s.buf = s.buf[:copy(s.buf, bytes.TrimPrefix(s.buf, bomUTF8))]
	if end && s.hopeless() {
		return FileMatch{}, nil
	}
	if s.legacy(f, end) {
		return s.decoded(f, end)
	}
	return s.windows(ctx, f, end)
}

// legacy tells whether the file is to be searched as the text it stands for: it begins as no UTF-8, and
// it can be held as a whole.
func (s *searcher) legacy(f *file, end bool) bool {
	if end {
		return !utf8.Valid(s.buf)
	}
	for cut := range utf8.UTFMax { // the buffer may end inside a character
		if utf8.Valid(s.buf[:len(s.buf)-cut]) {
			return false
		}
	}
	size, err := f.size()
	return err == nil && size <= maxWhole
}

func (s *searcher) tooLarge(f *file, end bool) bool {
	if end {
		return int64(len(s.buf)) > s.q.MaxSize
	}
	size, err := f.size()
	return err == nil && size > s.q.MaxSize // windows counts what a file of no size turns out to have
}

func (s *searcher) begin() {
	s.m = FileMatch{}
	s.line, s.pos, s.shown, s.after, s.gapped, s.cr = 1, 0, -1, 0, false, false
}

// release gives up a buffer a large file made grow.
func (s *searcher) release() {
	if cap(s.buf) > maxWindow {
		s.buf = nil
	}
}

// fill reads until the buffer holds n bytes or the file ends.
func (s *searcher) fill(f *file, n int) (end bool, err error) {
	for len(s.buf) < n {
		if cap(s.buf) < n {
			grown := make([]byte, len(s.buf), n)
			copy(grown, s.buf)
			s.buf = grown
		}
		m, err := f.read(s.buf[len(s.buf):n])
		if err != nil {
			return false, err
		}
		s.buf = s.buf[:len(s.buf)+m]
		if s.cr {
			toLF(s.buf[len(s.buf)-m:])
		}
		if m == 0 {
			return true, nil
		}
	}
	return false, nil
}

// useCR finds out whether the lines of the file end with CR alone, as textfile sees them.
func (s *searcher) useCR(real string, end bool) error {
	if s.q.Pattern.keepCR || bytes.IndexByte(s.buf, '\n') >= 0 || bytes.IndexByte(s.buf, '\r') < 0 {
		return nil
	}
	if !end { // an LF far behind makes another file of it
		f, err := openFile(real)
		if err != nil {
			return err
		}
		defer f.close()
		buf := make([]byte, firstRead)
		for {
			n, err := f.read(buf)
			switch {
			case err != nil:
				return err
			case bytes.IndexByte(buf[:n], '\n') >= 0:
				return nil
			case n > 0:
				continue
			}
			break
		}
	}
	s.cr = true
	toLF(s.buf)
	return nil
}

func toLF(b []byte) {
	for i, c := range b {
		if c == '\r' {
			b[i] = '\n'
		}
	}
}

// foreign tells whether the buffer begins as UTF-16 or as binary does.
func (s *searcher) foreign() bool {
	if len(s.buf) >= 2 && s.buf[0]|1 == 0xFF && s.buf[1]|1 == 0xFF && s.buf[0] != s.buf[1] {
		return true
	}
	return textfile.IsBinary(s.buf)
}

// hopeless tells that no needle is in the buffer, whatever its 8-bit encoding.
func (s *searcher) hopeless() bool {
	p := s.q.Pattern
	if p.needles == nil || p.wide {
		return false
	}
	s.find.reset(p, s.buf)
	return s.find.candidate(0) < 0
}

// decoded searches a file that is not UTF-8 in the text it stands for.
func (s *searcher) decoded(f *file, end bool) (FileMatch, error) {
	if !end { // one look decides; the rest of a binary file is not read
		if _, err := textfile.Decode(s.buf[:len(s.buf)&^1]); err != nil {
			return FileMatch{}, errBinary
		}
	}
	if err := s.readAll(f, end); err != nil {
		return FileMatch{}, err
	}
	text, err := textfile.Decode(s.buf)
	if err != nil {
		return FileMatch{}, errBinary
	}
	s.searchText([]byte(text.View()))
	return s.m, nil
}

func (s *searcher) wholeFile(f *file, end bool) (FileMatch, error) {
	if err := s.readAll(f, end); err != nil {
		return FileMatch{}, err
	}
	if s.hopeless() && !bytes.Contains(s.buf, []byte("\r\n")) {
		return FileMatch{}, nil
	}
	if s.q.Pattern.keepCR && utf8.Valid(s.buf) {
		s.searchText(s.buf)
		return s.m, nil
	}
	text, err := textfile.Decode(s.buf)
	if err != nil {
		return FileMatch{}, errBinary
	}
	s.searchText([]byte(text.View()))
	return s.m, nil
}

func (s *searcher) readAll(f *file, end bool) error {
	limit := int(min(s.q.MaxSize, maxWhole))
	for n := 4 * firstRead; !end; n *= 4 {
		if len(s.buf) > limit {
			return errTooLarge
		}
		var err error
		if end, err = s.fill(f, min(n, limit+1)); err != nil {
			return err
		}
	}
	return nil
}

func (s *searcher) searchText(view []byte) {
	if s.q.Pattern.opt.Multiline {
		s.multiline(view)
		return
	}
	s.window(view, len(view))
}

// windows searches a file piece by piece, so that one of any size takes bounded memory.
func (s *searcher) windows(ctx context.Context, f *file, end bool) (FileMatch, error) {
	read := int64(len(s.buf))
	for {
		if end {
			s.window(s.buf, len(s.buf))
			return s.m, nil
		}
		if err := ctx.Err(); err != nil {
			return FileMatch{}, err
		}
		if read > s.q.MaxSize {
			return FileMatch{}, errTooLarge
		}
		if lines := bytes.LastIndexByte(s.buf, '\n') + 1; lines > s.pos || len(s.buf) >= maxWindow {
			if lines <= s.pos {
				lines = len(s.buf) // an endless line is searched in pieces
			}
			if s.window(s.buf, lines) {
				return s.m, nil
			}
			s.slide(lines)
		}
		had := len(s.buf)
		var err error
		if end, err = s.fill(f, min(max(4*had, 16*firstRead), maxWindow)); err != nil {
			return FileMatch{}, err
		}
		read += int64(len(s.buf) - had)
	}
}

// slide drops what was searched, but for the lines that may be context of the next match.
func (s *searcher) slide(searched int) {
	keep := searched
	for range s.q.Before {
		i := bytes.LastIndexByte(s.buf[:max(keep-1, 0)], '\n') + 1
		if searched-i > maxWindow/4 {
			break
		}
		keep = i
	}
	n := copy(s.buf, s.buf[keep:])
	s.buf = s.buf[:n]
	s.pos -= keep
	if s.shown >= 0 {
		s.shown = max(s.shown-keep, 0)
	}
}

// window searches the lines of buf[s.pos:end] and tells whether no more is wanted of this file.
func (s *searcher) window(buf []byte, end int) (enough bool) {
	s.find.reset(s.q.Pattern, buf[:end])
	for s.pos < end {
		from, to, ok := s.find.line(s.pos)
		if !ok {
			break
		}
		s.m.Count++
		_, next := s.q.Pattern.lineEnd(buf[:end], to)
		switch s.q.Mode {
		case Files:
			return true
		case Lines:
			s.owed(buf, from)
			s.line += bytes.Count(buf[s.pos:from], newline)
			s.before(buf, from)
			s.show(buf, from, to)
			s.line++
			s.shown, s.after = next, s.q.After
		}
		s.pos = next
		if s.q.Keep > 0 && s.q.Mode == Lines && len(s.m.Lines) >= s.q.Keep {
			return true
		}
	}
	if s.q.Mode == Lines {
		s.owed(buf, end)
		s.line += bytes.Count(buf[s.pos:end], newline)
	}
	s.pos = end
	return false
}

var (
	newline = []byte{'\n'}
	bomUTF8 = []byte("\uFEFF")
)

// owed shows lines of context after the last match, up to the offset limit.
func (s *searcher) owed(buf []byte, limit int) {
	for s.after > 0 && s.pos < limit {
		end, next := s.q.Pattern.lineEnd(buf[:limit], s.pos)
		s.context(buf[s.pos:end])
		s.line++
		s.after--
		s.pos, s.shown = next, next
	}
}

// before shows lines of context before the match at from, which were not shown yet.
func (s *searcher) before(buf []byte, from int) {
	if s.q.Only {
		return
	}
	start, n := from, 0
	for n < s.q.Before && start > max(s.shown, 0) {
		start = bytes.LastIndexByte(buf[:start-1], '\n') + 1
		n++
	}
	s.gapped = s.q.Before+s.q.After > 0 && s.shown >= 0 && start > s.shown
	for at := start; at < from; {
		end, next := s.q.Pattern.lineEnd(buf[:from], at)
		s.line -= n
		s.context(buf[at:end])
		s.line += n
		n--
		at = next
	}
}

func (s *searcher) context(text []byte) {
	if s.q.Only {
		return
	}
	s.add(Line{Number: s.line, Text: window(text, 0, s.q.Columns)})
}

func (s *searcher) add(l Line) {
	l.Gap, s.gapped = s.gapped, false
	s.m.Lines = append(s.m.Lines, l)
}

// show adds a matching line.
func (s *searcher) show(buf []byte, from, to int) {
	text := buf[from:to]
	re := s.q.Pattern.engine(text)
	if !s.q.Only {
		at := 0
		if s.q.Columns > 0 && len(text) > s.q.Columns {
			if loc := re.FindIndex(text); loc != nil {
				at = loc[0]
			}
		}
		s.add(Line{Number: s.line, Text: window(text, at, s.q.Columns), Match: true})
		return
	}
	s.gapped = false
	for _, loc := range re.FindAllIndex(text, -1) {
		if loc[1] > loc[0] {
			s.add(Line{Number: s.line, Text: window(text[loc[0]:loc[1]], 0, s.q.Columns), Match: true})
		}
	}
}

// multiline finds matches that may span lines; Count counts matches.
func (s *searcher) multiline(view []byte) {
	re := s.q.Pattern.engine(view)
	for at := 0; at <= len(view) && s.find.ctx.Err() == nil; {
		loc := re.FindIndex(view[at:])
		if loc == nil {
			break
		}
		from, to := at+loc[0], at+loc[1]
		if from == len(view) && from > 0 { // behind the last line there is nothing
			break
		}
		s.m.Count++
		if s.q.Mode == Files {
			return
		}
		if s.q.Mode == Lines {
			s.span(view, from, to)
		}
		if at = to; from == to {
			at++
		}
		if s.q.Keep > 0 && len(s.m.Lines) >= s.q.Keep {
			return
		}
	}
	if s.q.Mode == Lines {
		s.owed(view, len(view))
	}
}

// span shows the lines a match stands in.
func (s *searcher) span(view []byte, from, to int) {
	if s.q.Only {
		s.line += bytes.Count(view[s.pos:from], newline)
		s.pos = from
		for i, part := range bytes.Split(view[from:to], newline) {
			s.add(Line{Number: s.line + i, Text: window(part, 0, s.q.Columns), Match: true})
		}
		return
	}
	first := bytes.LastIndexByte(view[:from], '\n') + 1
	if first < s.pos {
		first = s.pos // its first line was shown with the match before
	}
	s.owed(view, first)
	if first >= s.pos {
		s.line += bytes.Count(view[s.pos:first], newline)
		s.before(view, first)
	}
	last := to
	if to > from && view[to-1] == '\n' {
		last = to - 1
	}
	for at := first; at <= last && at < len(view); {
		end, next := s.q.Pattern.lineEnd(view, at)
		s.add(Line{Number: s.line, Text: window(view[at:end], max(0, from-at), s.q.Columns), Match: true})
		s.line++
		at = next
		s.pos, s.shown = next, next
	}
	s.after = s.q.After
}

// valid makes text of bytes; what is no UTF-8 shows as U+FFFD.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
