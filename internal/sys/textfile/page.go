package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// MaxLine is the length at which lines are cut for showing, in characters.
const MaxLine = 2000

// Cut returns at most limit characters of a line; what was left out is told at its end.
func Cut(line string, limit int) string {
	if len(line) <= limit {
		return line
	}
	n := 0
	for i := range line {
		if n == limit {
			return fmt.Sprintf("%s… [%d more characters]", line[:i], utf8.RuneCountInString(line[i:]))
		}
		n++
	}
	return line
}

// Want says which lines of a file to read.
type Want struct {
	First    int // 1-based number of the first line; 0: 1
	Count    int // how many lines; 0: 2000
	Column   int // 1-based number of the first character of each line; 0: 1
	Width    int // characters of a line; 0: MaxLine
	MaxBytes int // of all lines together, as UTF-8; 0: no bound
}

func (w Want) withDefaults() Want {
	if w.First <= 0 {
		w.First = 1
	}
	if w.Count <= 0 {
		w.Count = 2000
	}
	w.Column = max(w.Column, 1)
	if w.Width <= 0 {
		w.Width = MaxLine
	}
	return w
}

// Page is some lines of a file.
type Page struct {
	Lines    []string // with LF view, without line ends, Width characters from Column on
	Long     []Long   // those that are longer, in order
	First    int      // number of the first line shown
	Total    int      // lines of the whole file, -1 when it was not read to its end
	Full     bool     // MaxBytes ended the page early; the first line is there all the same
	Encoding Encoding
	Guessed  bool // nothing but its look says that this is the encoding
}

// Long is a line of which not all is shown.
type Long struct{ Number, Chars int }

// PageOf returns lines of a text.
func PageOf(t Text, w Want) Page {
	p := pager{want: w.withDefaults()}
	p.page = Page{First: p.want.First, Encoding: t.enc, Guessed: t.Guessed()}
	for line := range strings.Lines(t.view) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	p.page.Total = p.seen
	return p.page
}

// countAfter is how many bytes behind the wanted lines are read just to know how many lines there
// are.
const countAfter = 64 << 20

// chunk is how much of a file is read at once.
const chunk = 1 << 20

// ReadPage reads lines of a regular file of any size and holds no more of it than them; real is as
// [Real] returns it. It gives the errors of [OpenReal] and *[BinaryError]; the encoding is judged from
// the beginning of the file. The end of ctx ends it.
func ReadPage(ctx context.Context, real string, w Want) (Page, error) {
	f, _, err := OpenReal(real)
	if err != nil {
		return Page{}, err
	}
	defer f.Close()
	p := &pager{want: w.withDefaults()}
	p.page = Page{First: p.want.First, Total: -1}
	buf := make([]byte, chunk)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Page{}, fmt.Errorf("read %s: %w", real, err)
	}
	enc, bom, err := detectHead(buf[:n])
	if err != nil {
		return Page{}, err
	}
	p.page.Encoding, p.page.Guessed = enc, guessed(enc, bom)
	head := buf[Text{enc: enc, bom: bom}.bomLen():n]
	if p.cr, err = onlyCR(f, enc, head, n < len(buf)); err != nil {
		return Page{}, err
	}
	err = p.stream(ctx, f, enc, head, buf)
	return p.page, err
}

// onlyCR tells whether the lines of a file that begins with head end with CR alone, as [Decode] judges
// it from the whole file. It leaves f where it was.
func onlyCR(f *os.File, enc Encoding, head []byte, whole bool) (bool, error) {
	if enc == UTF16LE || enc == UTF16BE || bytes.IndexByte(head, '\n') >= 0 || bytes.IndexByte(head, '\r') < 0 {
		return false, nil
	}
	if whole {
		return true, nil
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		found := bytes.IndexByte(buf[:n], '\n') >= 0
		if err == nil && !found {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		_, err = f.Seek(at, io.SeekStart)
		return !found, err
	}
}

// detectHead is detect for the first bytes of a file, which may end inside a character.
func detectHead(head []byte) (Encoding, bool, error) {
	enc, bom, err := detect(head)
	if err != nil || enc == UTF8 || len(head) < chunk {
		return enc, bom, err
	}
	for cut := 1; cut < utf8.UTFMax; cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return UTF8, bom, nil
		}
	}
	if enc == Windows1252 { // which takes what is cut inside a character
		for cut := 1; cut < utf8.UTFMax; cut++ {
			if whole := eightBit(head[:len(head)-cut], bom); whole != Windows1252 {
				return whole, bom, nil
			}
		}
	}
	return enc, bom, nil
}

func (p *pager) stream(ctx context.Context, f *os.File, enc Encoding, data, buf []byte) error {
	c := enc.codec()
	var carry []byte
	after := 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.done() {
			if after += len(data); after > countAfter {
				return nil
			}
		}
		n := p.feed(c, enc, data)
		carry = append(carry[:0], data[n:]...)
		if len(carry) > len(buf)/2 {
			return fmt.Errorf("read %s: a character of %d bytes", f.Name(), len(carry))
		}
		m, err := f.Read(buf[copy(buf, carry):])
		data = buf[:len(carry)+m]
		if errors.Is(err, io.EOF) {
			p.finish(c, data)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
	}
}

// pager collects the wanted lines of a text that comes in pieces.
type pager struct {
	want  Want
	page  Page
	seen  int // complete lines so far
	bytes int // of the lines kept
	open  []byte
	chars int  // characters of the open line, also those not kept
	begun bool // the open line has begun
	wasCR bool // the last character was CR
	cr    bool // lines end with CR alone
}

func (p *pager) wanted() bool {
	return p.seen+1 >= p.want.First && len(p.page.Lines) < p.want.Count && !p.page.Full
}

func (p *pager) done() bool { return p.page.Full || len(p.page.Lines) >= p.want.Count }

// line adds one whole line.
func (p *pager) line(s string) {
	if p.wanted() {
		p.open = p.open[:0]
		p.chars = 0
		if len(s) <= p.want.Width && p.want.Column == 1 {
			p.keep(s, 0)
		} else {
			for _, r := range s {
				p.add(r)
			}
			p.keep(string(p.open), p.chars)
		}
	}
	p.seen++
}

// keep adds what is shown of a line of so many characters.
func (p *pager) keep(s string, chars int) {
	if p.want.MaxBytes > 0 && len(p.page.Lines) > 0 && p.bytes+len(s)+1 > p.want.MaxBytes {
		p.page.Full = true
		return
	}
	p.bytes += len(s) + 1
	p.page.Lines = append(p.page.Lines, s)
	if p.want.Column > 1 || chars > p.want.Width {
		p.page.Long = append(p.page.Long, Long{p.seen + 1, chars})
	}
}

// feed takes what is complete of data and returns how much that was.
func (p *pager) feed(c codec, enc Encoding, data []byte) int {
	i := 0
	for i < len(data) {
		if !p.wanted() && enc != UTF16LE && enc != UTF16BE {
			i += p.skip(data[i:])
			continue
		}
		if len(data)-i < utf8.UTFMax && !(data[i] < utf8.RuneSelf && enc != UTF16LE && enc != UTF16BE) {
			return i // may be cut
		}
		r, n := c.next(data[i:])
		p.char(r)
		i += n
	}
	return i
}

// skip passes over lines that are not wanted, in encodings where the byte LF is always a line end.
func (p *pager) skip(data []byte) int {
	end := byte('\n')
	if p.cr {
		end = '\r'
	}
	j := bytes.IndexByte(data, end)
	if j < 0 {
		p.begun = true
		p.chars += len(data)
		return len(data)
	}
	p.endLine()
	return j + 1
}

func (p *pager) char(r rune) {
	if r == '\n' || (p.cr && r == '\r') {
		p.endLine()
		return
	}
	if p.wasCR {
		p.add('\r')
	}
	if p.wasCR = r == '\r'; !p.wasCR {
		p.add(r)
	}
	p.begun = true
}

func (p *pager) add(r rune) {
	if p.chars++; p.chars >= p.want.Column && p.chars < p.want.Column+p.want.Width {
		p.open = utf8.AppendRune(p.open, r)
	}
}

func (p *pager) endLine() {
	if p.wanted() {
		p.keep(string(p.open), p.chars)
	}
	p.seen++
	p.open, p.chars, p.begun, p.wasCR = p.open[:0], 0, false, false
}

func (p *pager) finish(c codec, rest []byte) {
	for len(rest) > 0 {
		r, n := c.next(rest)
		p.char(r)
		rest = rest[n:]
	}
	if p.begun {
		p.endLine()
	}
	p.page.Total = p.seen
}
