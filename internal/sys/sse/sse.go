// Package sse reads a stream of server-sent events, as the WHATWG HTML standard (section 9.2)
// frames them, from a response body.
//
// It does not connect, reconnect or decode what the events carry. Begin with [NewReader].
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxEvent is the largest event a reader takes when [NewReader] is told no other bound: 64 MiB.
const MaxEvent = 64 << 20

// ErrTooLong is returned for an event that is larger than the reader's bound.
var ErrTooLong = errors.New("server-sent event is too long")

// Event is one event, or one comment line.
type Event struct {
	Name    string // the "event" field; empty when there was none
	Data    []byte // the "data" lines joined by line feeds; valid until the next call of Next
	Comment bool   // a comment line (servers send them to keep a connection alive); Data is its text
}

// Reader reads events one by one. It is not safe for concurrent use.
type Reader struct {
	in    *bufio.Reader
	max   int
	begun bool   // the byte order mark was looked for
	line  []byte // an assembled line that did not fit the buffer
	data  []byte
	name  string
	last  string // the newest non-repeated name
	any   bool   // a data field was seen
	ended error
	crEnd bool // the last line ended with CR: a following LF belongs to it
}

// NewReader returns a reader of r that refuses events larger than limit bytes; limit <= 0 means
// [MaxEvent].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxEvent
	}
	return &Reader{in: bufio.NewReaderSize(r, 16<<10), max: limit}
}

// Next returns the next event that has data, or the next comment. At the end of the stream it
// returns io.EOF. The standard drops an event that the end cuts off before its empty line; this
// reader returns it, since some servers leave the last empty line out, and whoever decodes it sees
// whether it is whole. Any other error means that the stream broke: what was read of the open
// event is dropped.
func (r *Reader) Next() (Event, error) {
	r.data, r.name, r.any = r.data[:0], "", false
	for {
		line, err := r.readLine()
		if err != nil {
			if err == io.EOF && r.any {
				return r.event(), nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if r.any {
				return r.event(), nil
			}
			r.name = ""
			continue
		}
		if line[0] == ':' {
			if r.any || r.name != "" {
				continue // a comment inside an event is of no use to anybody
			}
			return Event{Data: bytes.TrimPrefix(line[1:], []byte(" ")), Comment: true}, nil
		}
		if err := r.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (r *Reader) event() Event { return Event{Name: r.name, Data: r.data} }

func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		if r.last != string(value) { // streams repeat the same few names: do not allocate each time
			r.last = string(value)
		}
		r.name = r.last
	case "data":
		if r.any {
			r.data = append(r.data, '\n')
		}
		r.any = true
		if len(r.data)+len(value) > r.max {
			r.ended = ErrTooLong
			return ErrTooLong
		}
		r.data = append(r.data, value...)
	}
	return nil // id and retry concern reconnecting; unknown fields are ignored by the standard
}

// readLine returns the next line without its end (LF, CR or CRLF). It is valid until the next
// call.
func (r *Reader) readLine() ([]byte, error) {
	if r.ended != nil {
		return nil, r.ended
	}
	r.line = r.line[:0]
	for {
		// Peek first what is buffered: a CR inside must end the line without waiting for more.
		if r.in.Buffered() == 0 {
			if _, err := r.in.Peek(1); err != nil {
				return r.lastLine(err)
			}
		}
		chunk, _ := r.in.Peek(r.in.Buffered())
		chunk = r.skipStart(chunk)
		if len(chunk) == 0 {
			continue
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			if len(r.line)+len(chunk) > r.max {
				r.ended = ErrTooLong
				return nil, ErrTooLong
			}
			r.line = append(r.line, chunk...)
			r.discard(len(chunk))
			continue
		}
		r.crEnd = chunk[end] == '\r'
		// The line is copied: discarding keeps the buffer's bytes only until the next read.
		r.line = append(r.line, chunk[:end]...)
		r.discard(end + 1)
		return r.line, nil
	}
}

// skipStart drops the byte order mark at the very start and the LF of a CRLF.
func (r *Reader) skipStart(chunk []byte) []byte {
	if !r.begun {
		r.begun = true
		if head, _ := r.in.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
			r.discard(3)
			chunk, _ = r.in.Peek(r.in.Buffered())
		}
	}
	if r.crEnd && len(chunk) > 0 {
		r.crEnd = false
		if chunk[0] == '\n' {
			r.discard(1)
			return chunk[1:]
		}
	}
	return chunk
}

func (r *Reader) lastLine(err error) ([]byte, error) {
	r.ended = err
	if err == io.EOF && len(r.line) > 0 {
		return r.line, nil
	}
	return nil, err
}

func (r *Reader) discard(n int) { _, _ = r.in.Discard(n) } // n bytes are buffered, so it cannot fail
