package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a JSON string that may hold half a character: raw bytes that are no UTF-8 yet, or one
// half of a surrogate pair (kept in the three bytes UTF-8 would give it). encoding/json would
// replace both for good, so a character that a service cuts between two deltas would be lost.
// [Answer] joins the halves. JSON null leaves a Text as it is.
type Text []byte

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] == 'n' {
		return nil
	}
	if raw[0] != '"' || len(raw) < 2 {
		return fmt.Errorf("expected a string, got %.20s", raw)
	}
	raw = raw[1 : len(raw)-1]
	out := (*t)[:0]
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 || at+1 >= len(raw) {
			*t = append(out, raw...)
			return nil
		}
		out = append(out, raw[:at]...)
		raw = raw[at+1:]
		if raw[0] != 'u' || len(raw) < 5 {
			out = append(out, unescape(raw[0]))
			raw = raw[1:]
			continue
		}
		r := hex4(raw[1:5])
		raw = raw[5:]
		if utf16.IsSurrogate(r) && len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
			if both := utf16.DecodeRune(r, hex4(raw[2:6])); both != utf8.RuneError {
				out = utf8.AppendRune(out, both)
				raw = raw[6:]
				continue
			}
		}
		out = appendRune(out, r)
	}
}

// String is the text with what is no character replaced.
func (t Text) String() string { return string(mend(nil, t)) }

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c // the JSON reader lets only ", \ and / through
}

func hex4(s []byte) rune {
	n, err := strconv.ParseUint(string(s), 16, 32)
	if err != nil {
		return utf8.RuneError // the JSON reader lets only hex digits through
	}
	return rune(n)
}

// appendRune is utf8.AppendRune that also writes the half of a surrogate pair.
func appendRune(b []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(b, r)
	}
	return append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
}

// half reports the surrogate half at the start of b, 0 if there is none.
func half(b []byte) rune {
	if len(b) < 3 || b[0] != 0xED || b[1] < 0xA0 || b[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F)
}

const highEnd = 0xDC00 // below it a surrogate half waits for its second

// mend appends text to out with surrogate halves joined and everything that is no UTF-8 replaced
// by U+FFFD.
func mend(out, text []byte) []byte {
	if utf8.Valid(text) {
		return append(out, text...)
	}
	for len(text) > 0 {
		if r := half(text); r != 0 {
			text = text[3:]
			if low := half(text); r < highEnd && low >= highEnd {
				out = utf8.AppendRune(out, utf16.DecodeRune(r, low))
				text = text[3:]
				continue
			}
			out = utf8.AppendRune(out, utf8.RuneError)
			continue
		}
		r, n := utf8.DecodeRune(text)
		out = utf8.AppendRune(out, r)
		text = text[n:]
	}
	return out
}

// whole is the length of the part of text that ends with a whole character; the rest is half of
// one whose other half may come.
func whole(text []byte) int {
	n := len(text)
	if n >= 3 {
		if r := half(text[n-3:]); r != 0 && r < highEnd {
			return n - 3
		}
	}
	for back := 1; back <= min(3, n); back++ {
		if at := n - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return n
}

// Marshal is json.Marshal without HTML escapes and line end, so that the same value always gives
// the same bytes and text stands on the wire as it was said.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// CleanJSON returns raw with what services refuse inside strings replaced by U+FFFD: bytes that
// are no UTF-8, and \u escapes of half a surrogate pair. Valid JSON stays valid; without such a
// place raw itself comes back.
func CleanJSON(raw json.RawMessage) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' || i+6 > len(raw) {
			out = append(out, raw[i], raw[i+1])
			i += 2
			continue
		}
		r := hex4(raw[i+2 : i+6])
		if !utf16.IsSurrogate(r) {
			out = append(out, raw[i:i+6]...)
			i += 6
			continue
		}
		if i+12 <= len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' &&
			utf16.DecodeRune(r, hex4(raw[i+8:i+12])) != utf8.RuneError {
			out = append(out, raw[i:i+12]...)
			i += 12
			continue
		}
		out = append(out, `\ufffd`...)
		i += 6
	}
	return out
}

// Object returns raw as a compact JSON object, {} when it is none.
func Object(raw json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || json.Compact(&buf, CleanJSON(raw)) != nil {
		return json.RawMessage("{}")
	}
	return buf.Bytes()
}

// Schema returns a tool's input schema as services want it: an object of type object.
func Schema(raw json.RawMessage) json.RawMessage {
	out := Object(raw)
	var head struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(out, &head) == nil && string(head.Type) == `"object"` {
		return out
	}
	if string(out) == "{}" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if len(head.Type) > 0 {
		return out // something else than an object: the service says so, with the tool's name
	}
	return append(json.RawMessage(`{"type":"object",`), out[1:]...)
}

// List is a member of an object whose values are encoded already.
type List struct {
	Name   string
	Values []json.RawMessage
	Always bool // also when it is empty
}

// MarshalLists is [Marshal] of a struct with lists as its last members; empty ones are left out. What
// is encoded already is taken as it is, since reading it again takes longer than all the rest: it must
// be valid.
func MarshalLists(head any, lists ...List) ([]byte, error) {
	raw, err := Marshal(head)
	if err != nil {
		return nil, err
	}
	return withLists(raw, lists).Bytes(), nil
}

// Body is the body of a request in pieces: a long conversation is not copied for each request.
type Body [][]byte

// Len is its length in bytes.
func (b Body) Len() int {
	n := 0
	for _, piece := range b {
		n += len(piece)
	}
	return n
}

// Bytes is the body in one piece.
func (b Body) Bytes() []byte {
	if len(b) == 1 {
		return b[0]
	}
	return bytes.Join(b, nil)
}

// Reader reads the body from its beginning.
func (b Body) Reader() io.Reader {
	readers := make([]io.Reader, len(b))
	for i, piece := range b {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// ownPiece is the size from which a value is a piece of its own.
const ownPiece = 16 << 10

func withLists(head []byte, lists []List) Body {
	size := len(head)
	for _, l := range lists {
		size += len(l.Name) + 6
		for _, v := range l.Values {
			if size++; len(v) < ownPiece {
				size += len(v)
			}
		}
	}
	var pieces Body
	out := make([]byte, 0, size)
	out = append(out, head[:len(head)-1]...)
	members := len(out) > 1
	for _, l := range lists {
		if len(l.Values) == 0 && !l.Always {
			continue
		}
		if members {
			out = append(out, ',')
		}
		members = true
		out = append(append(append(out, '"'), l.Name...), `":[`...)
		for i, v := range l.Values {
			if i > 0 {
				out = append(out, ',')
			}
			if len(v) < ownPiece {
				out = append(out, v...)
				continue
			}
			pieces = append(pieces, out, v)
			out = out[len(out):]
		}
		out = append(out, ']')
	}
	return append(pieces, append(out, '}'))
}

// MarshalWith is [Marshal] with the members of extra set in the object v gives. Nil extra: none.
func MarshalWith(v any, extra json.RawMessage) ([]byte, error) {
	raw, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	return with(raw, extra)
}

// with sets the members of extra in an encoded object. Nil extra: none.
func with(raw, extra json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return raw, nil
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(extra, &all); err != nil {
		return nil, fmt.Errorf("extra body: %w", err)
	}
	return Marshal(all) // sorted by name, so stable as well
}
