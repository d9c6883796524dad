package anthropic

import (
	"bytes"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// Nearly every event of a stream is a piece of text in the one form the service writes it in. Reading
// that form by itself takes a tenth of what a JSON reader takes; any other form goes to the reader.

// quick reads a piece of a text, of thinking or of a call's input; false: the event is something else,
// or is written differently. The text is valid until the next call.
func (d *decoder) quick(data []byte) (index int, text wire.Text, ok bool) {
	s := scan{rest: data}
	s.take(`{`, `"type"`, `:`, `"content_block_delta"`, `,`, `"index"`, `:`)
	index = s.number()
	s.take(`,`, `"delta"`, `:`, `{`, `"type"`, `:`)
	switch {
	case s.next(`"text_delta"`):
		s.take(`,`, `"text"`, `:`)
	case s.next(`"input_json_delta"`):
		s.take(`,`, `"partial_json"`, `:`)
	case s.next(`"thinking_delta"`):
		s.take(`,`, `"thinking"`, `:`)
	default:
		return 0, nil, false
	}
	d.text = s.text(d.text[:0])
	s.take(`}`, `}`)
	return index, d.text, !s.lost && len(bytes.TrimSpace(s.rest)) == 0
}

// scan goes through what an event should look like; lost once it looks different.
type scan struct {
	rest []byte
	lost bool
}

func (s *scan) next(token string) bool {
	for len(s.rest) > 0 && s.rest[0] == ' ' {
		s.rest = s.rest[1:]
	}
	if s.lost || len(s.rest) < len(token) || string(s.rest[:len(token)]) != token {
		return false
	}
	s.rest = s.rest[len(token):]
	return true
}

func (s *scan) take(tokens ...string) {
	for _, t := range tokens {
		s.lost = s.lost || !s.next(t)
	}
}

func (s *scan) number() int {
	s.next("")
	n, digits := 0, 0
	for ; digits < len(s.rest) && digits < 6 && s.rest[digits] >= '0' && s.rest[digits] <= '9'; digits++ {
		n = 10*n + int(s.rest[digits]-'0')
	}
	s.lost = s.lost || digits == 0 || digits > 1 && s.rest[0] == '0'
	s.rest = s.rest[digits:]
	return n
}

// text appends a string to out. Escapes of the \u form, and bytes that are no UTF-8, are the JSON
// reader's business.
func (s *scan) text(out []byte) []byte {
	s.take(`"`)
	if s.lost {
		return out
	}
	start := len(out)
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			s.rest = s.rest[i+1:]
			s.lost = !utf8.Valid(out[start:])
			return out
		case c < ' ':
			s.lost = true
			return out
		case c != '\\':
			out = append(out, c)
			continue
		}
		if i++; i == len(s.rest) {
			break
		}
		c, ok := unescaped(s.rest[i])
		if !ok {
			break
		}
		out = append(out, c)
	}
	s.lost = true
	return out
}

func unescaped(c byte) (byte, bool) {
	switch c {
	case '"', '\\', '/':
		return c, true
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	}
	return 0, false
}
