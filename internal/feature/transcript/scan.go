package transcript

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// A transcript may hold hundreds of megabytes, most of them in long strings that a reader only has
// to step over, and encoding/json looks at every byte five times on the way to a block of text. So
// records are taken apart here: a doc is a line, a span a value in it. Stepping over a value refuses
// what is no JSON, since that is how a torn record is noticed.

// doc is a JSON text that is taken apart. It is for one goroutine.
type doc struct {
	data []byte
	ends map[int]int // of long strings: from opening quote to behind the closing one, so that they are stepped over once
}

// span is a value in a doc, without blanks around it. The zero span is no value.
type span struct{ from, to int }

func (s span) ok() bool { return s.to > s.from }

// at returns the text of a value.
func (d *doc) at(s span) []byte { return d.data[s.from:s.to] }

// is reports whether a value is written as word.
func (d *doc) is(s span, word string) bool { return string(d.data[s.from:s.to]) == word }

// first is the first byte of a value, which tells its kind; 0 of none.
func (d *doc) first(s span) byte {
	if !s.ok() {
		return 0
	}
	return d.data[s.from]
}

const maxDepth = 10_000 // as encoding/json

// scan returns the index just behind the value that begins at i, -1 when there is none.
func (d *doc) scan(i, depth int) int {
	if i >= len(d.data) || depth > maxDepth {
		return -1
	}
	switch c := d.data[i]; {
	case c == '"':
		return d.scanString(i)
	case c == '{':
		return d.scanObject(i, depth, nil)
	case c == '[':
		return d.scanArray(i, depth, nil)
	case c == 't':
		return d.scanWord(i, "true")
	case c == 'f':
		return d.scanWord(i, "false")
	case c == 'n':
		return d.scanWord(i, "null")
	case c == '-' || c >= '0' && c <= '9':
		return d.scanNumber(i)
	}
	return -1
}

func (d *doc) skipBlanks(i int) int {
	for i < len(d.data) && (d.data[i] == ' ' || d.data[i] == '\t' || d.data[i] == '\r' || d.data[i] == '\n') {
		i++
	}
	return i
}

func (d *doc) scanWord(i int, word string) int {
	if len(d.data)-i < len(word) || string(d.data[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// scanString returns the index behind the closing quote of the string that opens at start.
func (d *doc) scanString(start int) int {
	if end, ok := d.ends[start]; ok {
		return end
	}
	for i := start + 1; i < len(d.data); {
		n := bytes.IndexByte(d.data[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		slashes := 0
		for end-1-slashes >= i && d.data[end-1-slashes] == '\\' {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			d.remember(start, i)
			return i
		}
	}
	return -1
}

func (d *doc) remember(start, end int) {
	if end-start < 512 {
		return
	}
	if d.ends == nil {
		d.ends = map[int]int{}
	}
	d.ends[start] = end
}

func (d *doc) scanNumber(start int) int {
	i := start
	for i < len(d.data) {
		switch c := d.data[i]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			i++
			continue
		}
		break
	}
	if !json.Valid(d.data[start:i]) {
		return -1
	}
	return i
}

// scanArray steps over an array and calls each, where not nil, with its elements.
func (d *doc) scanArray(i, depth int, each func(span)) int {
	i = d.skipBlanks(i + 1)
	if i < len(d.data) && d.data[i] == ']' {
		return i + 1
	}
	for {
		from := d.skipBlanks(i)
		i = d.scan(from, depth+1)
		if i < 0 {
			return -1
		}
		if each != nil {
			each(span{from, i})
		}
		if i = d.skipBlanks(i); i >= len(d.data) {
			return -1
		}
		switch d.data[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

// scanObject steps over an object and calls each, where not nil, with the key as it is written,
// without its quotes, and the value.
func (d *doc) scanObject(i, depth int, each func(key []byte, v span)) int {
	i = d.skipBlanks(i + 1)
	if i < len(d.data) && d.data[i] == '}' {
		return i + 1
	}
	for {
		key := d.skipBlanks(i)
		if key >= len(d.data) || d.data[key] != '"' {
			return -1
		}
		end := d.scanString(key)
		if end < 0 {
			return -1
		}
		colon := d.skipBlanks(end)
		if colon >= len(d.data) || d.data[colon] != ':' {
			return -1
		}
		from := d.skipBlanks(colon + 1)
		i = d.scan(from, depth+1)
		if i < 0 {
			return -1
		}
		if each != nil {
			each(d.data[key+1:end-1], span{from, i})
		}
		if i = d.skipBlanks(i); i >= len(d.data) {
			return -1
		}
		switch d.data[i] {
		case ',':
			i++
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// fields calls each with the fields of the object s. It reports false when s is none; then some
// fields may have been told already.
func (d *doc) fields(s span, each func(key string, v span)) bool {
	if d.first(s) != '{' {
		return false
	}
	return d.scanObject(s.from, 0, func(key []byte, v span) { each(string(key), v) }) == s.to
}

// elements returns the values of the array s, nil when it is none.
func (d *doc) elements(s span) []span {
	if d.first(s) != '[' {
		return nil
	}
	out := []span{}
	if d.scanArray(s.from, 0, func(v span) { out = append(out, v) }) != s.to {
		return nil
	}
	return out
}

// text returns the string that s stands for, "" when it is none.
func (d *doc) text(s span) string { return text(d.data[s.from:s.to]) }

// text returns the string that the JSON string value stands for, "" when it is none. What is no
// valid UTF-8 or no valid escape becomes U+FFFD, as with encoding/json.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	in := value[1 : len(value)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		if utf8.Valid(in) {
			return string(in)
		}
		return string(bytes.ToValidUTF8(in, []byte("\uFFFD")))
	}
	out := make([]byte, 0, len(in))
	for {
		n := 0
		for n < len(in) && in[n] != '\\' {
			n++
		}
		if n+1 >= len(in) {
			out = append(out, in...)
			break
		}
		out, in = unescape(append(out, in[:n]...), in[n:])
	}
	if !utf8.Valid(out) {
		return string(bytes.ToValidUTF8(out, []byte("\uFFFD")))
	}
	return string(out)
}

// unescape appends what the escape at the beginning of in stands for and returns what follows it.
func unescape(out, in []byte) (grown, rest []byte) {
	switch c := in[1]; c {
	case 'n':
		return append(out, '\n'), in[2:]
	case 't':
		return append(out, '\t'), in[2:]
	case 'r':
		return append(out, '\r'), in[2:]
	case 'b':
		return append(out, '\b'), in[2:]
	case 'f':
		return append(out, '\f'), in[2:]
	case '"', '\\', '/':
		return append(out, c), in[2:]
	case 'u':
		r := hex4(in[2:])
		if r < 0 {
			return utf8.AppendRune(out, utf8.RuneError), in[2:]
		}
		in = in[6:]
		if utf16.IsSurrogate(r) {
			second := rune(-1)
			if len(in) >= 6 && in[0] == '\\' && in[1] == 'u' {
				second = hex4(in[2:])
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				in = in[6:]
			}
		}
		return utf8.AppendRune(out, r), in
	}
	return utf8.AppendRune(out, utf8.RuneError), in[2:]
}

func hex4(in []byte) rune {
	if len(in) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range in[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
