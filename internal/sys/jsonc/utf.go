package jsonc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// UTF8 returns a text in UTF-8 that may be in UTF-16 or UTF-32: by its byte order mark, or, without
// one, by the zero bytes around its first characters, which in JSON are ASCII. Byte order marks are
// taken off a text that was in another encoding; one in UTF-8 is returned as it is. An error means that the text is not what it begins as.
func UTF8(text []byte) ([]byte, error) {
	order, width, mark := encodingOf(text)
	if width == 1 {
		return text, nil
	}
	body := text[mark:]
	if len(body)%width != 0 {
		return text, errors.New("the text breaks off in the middle of a character")
	}
	if width == 4 {
		return fromUTF32(body, order)
	}
	return fromUTF16(body, order)
}

// encodingOf tells byte order, bytes a unit and the length of the byte order mark; width 1 is UTF-8.
func encodingOf(text []byte) (order binary.ByteOrder, width, mark int) {
	for _, e := range []struct {
		mark  string
		order binary.ByteOrder
		width int
	}{ // the marks of UTF-32 first: one of them begins like that of UTF-16
		{"\x00\x00\xfe\xff", binary.BigEndian, 4},
		{"\xff\xfe\x00\x00", binary.LittleEndian, 4},
		{"\xfe\xff", binary.BigEndian, 2},
		{"\xff\xfe", binary.LittleEndian, 2},
	} {
		if bytes.HasPrefix(text, []byte(e.mark)) {
			return e.order, e.width, len(e.mark)
		}
	}
	zero := func(i int) bool { return i < len(text) && text[i] == 0 }
	switch {
	case len(text) < 2:
	case zero(0) && zero(1) && zero(2) && !zero(3):
		return binary.BigEndian, 4, 0
	case !zero(0) && zero(1) && zero(2) && zero(3):
		return binary.LittleEndian, 4, 0
	case zero(0) && !zero(1):
		return binary.BigEndian, 2, 0
	case !zero(0) && zero(1):
		return binary.LittleEndian, 2, 0
	}
	return nil, 1, 0
}

func fromUTF16(body []byte, order binary.ByteOrder) ([]byte, error) {
	units := make([]uint16, 0, len(body)/2)
	for i := 0; i < len(body); i += 2 {
		units = append(units, order.Uint16(body[i:]))
	}
	out := make([]byte, 0, len(units))
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i+1 == len(units) {
				return body, errHalf
			}
			i++
			if r = utf16.DecodeRune(r, rune(units[i])); r == utf8.RuneError {
				return body, errHalf
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

var errHalf = errors.New("the text is UTF-16 with half a character in it")

func fromUTF32(body []byte, order binary.ByteOrder) ([]byte, error) {
	out := make([]byte, 0, len(body)/4)
	for i := 0; i < len(body); i += 4 {
		r := order.Uint32(body[i:])
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return body, errors.New("the text is UTF-32 with something in it that is no character")
		}
		out = utf8.AppendRune(out, rune(r))
	}
	return out, nil
}
