package textfile

import (
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/transform"
)

// codec reads and writes one character. Its methods hold no state between calls but buffers, so a
// codec serves one goroutine.
type codec interface {
	// next decodes the first character of b, which is not empty. What means nothing is U+FFFD with
	// the length of the bytes that stand for it.
	next(b []byte) (r rune, n int)
	// put appends r and tells whether the encoding has it.
	put(dst []byte, r rune) ([]byte, bool)
}

func (e Encoding) codec() codec {
	switch e {
	case UTF16LE:
		return utf16Codec{low: 0, high: 1}
	case UTF16BE:
		return utf16Codec{low: 1, high: 0}
	case Windows1252:
		return westernCodec{}
	case ShiftJIS:
		return newShiftJIS()
	case GB18030:
		return newTable(simplifiedchinese.GB18030)
	case EUCKR:
		return newTable(korean.EUCKR)
	case EUCJP:
		return newTable(japanese.EUCJP)
	case Big5:
		return newTable(traditionalchinese.Big5)
	default:
		return utf8Codec{}
	}
}

// utf8Codec shows a stray byte as the Windows-1252 character it would be.
type utf8Codec struct{}

func (utf8Codec) next(b []byte) (rune, int) {
	if b[0] < utf8.RuneSelf {
		return rune(b[0]), 1
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return western(b[0]), 1
	}
	return r, n
}

func (utf8Codec) put(dst []byte, r rune) ([]byte, bool) { return utf8.AppendRune(dst, r), true }

// utf16Codec holds where the low and the high byte of a unit stand.
type utf16Codec struct{ low, high int }

func (c utf16Codec) next(b []byte) (rune, int) {
	if len(b) < 2 {
		return utf8.RuneError, 1
	}
	u := rune(b[c.low]) | rune(b[c.high])<<8
	if !utf16.IsSurrogate(u) {
		return u, 2
	}
	if len(b) >= 4 {
		second := rune(b[2+c.low]) | rune(b[2+c.high])<<8
		if r := utf16.DecodeRune(u, second); r != utf8.RuneError {
			return r, 4
		}
	}
	return utf8.RuneError, 2
}

func (c utf16Codec) put(dst []byte, r rune) ([]byte, bool) {
	for _, u := range utf16.AppendRune(nil, r) {
		var pair [2]byte
		pair[c.low], pair[c.high] = byte(u), byte(u>>8)
		dst = append(dst, pair[0], pair[1])
	}
	return dst, true
}

// windows1252 holds the characters of the bytes 0x80 to 0x9F as the WHATWG Encoding Standard has
// them; every other byte is the code point of the same number.
const windows1252 = "\u20AC\u0081\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u008D\u017D\u008F" +
	"\u0090\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u009D\u017E\u0178"

func western(b byte) rune {
	if b < 0x80 || b > 0x9F {
		return rune(b)
	}
	k := int(b - 0x80)
	for _, r := range windows1252 {
		if k == 0 {
			return r
		}
		k--
	}
	return rune(b)
}

type westernCodec struct{}

func (westernCodec) next(b []byte) (rune, int) { return western(b[0]), 1 }

func (westernCodec) put(dst []byte, r rune) ([]byte, bool) {
	if r < 0x80 || (r > 0x9F && r <= 0xFF) {
		return append(dst, byte(r)), true
	}
	k := byte(0x80)
	for _, w := range windows1252 {
		if w == r {
			return append(dst, k), true
		}
		k++
	}
	return dst, false
}

// shiftJISCodec uses the tables of golang.org/x/text one character at a time.
type shiftJISCodec struct {
	dec, enc transform.Transformer
}

func newShiftJIS() *shiftJISCodec {
	return &shiftJISCodec{dec: japanese.ShiftJIS.NewDecoder(), enc: japanese.ShiftJIS.NewEncoder()}
}

func (c *shiftJISCodec) next(b []byte) (rune, int) {
	lead := b[0]
	switch {
	case lead < 0x80:
		return rune(lead), 1
	case lead >= 0xA1 && lead <= 0xDF:
		return rune(lead) - 0xA1 + '｡', 1 // half-width katakana stand in one row
	case len(b) < 2 || !shiftJISTrail(b[1]):
		return utf8.RuneError, 1
	}
	var out [8]byte
	n, _, err := c.dec.Transform(out[:], b[:2], true)
	if err != nil {
		return utf8.RuneError, 1
	}
	r, size := utf8.DecodeRune(out[:n])
	if r == utf8.RuneError || size != n {
		return utf8.RuneError, 1
	}
	return r, 2
}

func shiftJISTrail(b byte) bool { return b >= 0x40 && b <= 0xFC && b != 0x7F }

func (c *shiftJISCodec) put(dst []byte, r rune) ([]byte, bool) {
	if r < 0x80 {
		return append(dst, byte(r)), true
	}
	var out [8]byte
	n, _, err := c.enc.Transform(out[:], utf8.AppendRune(nil, r), true)
	if err != nil || n == 0 {
		return dst, false
	}
	// The tables fold some look-alikes onto one code; only what reads back as itself is kept.
	if back, size := c.next(out[:n]); back != r || size != n {
		return dst, false
	}
	return append(dst, out[:n]...), true
}

// tableCodec uses the tables of golang.org/x/text for encodings in which ASCII stands for itself and
// other characters take two to four bytes.
type tableCodec struct {
	dec, enc transform.Transformer
}

func newTable(e encoding.Encoding) *tableCodec {
	return &tableCodec{dec: e.NewDecoder(), enc: e.NewEncoder()}
}

func (c *tableCodec) next(b []byte) (rune, int) {
	if b[0] < utf8.RuneSelf {
		return rune(b[0]), 1
	}
	var out [16]byte
	for n := 2; n <= min(4, len(b)); n++ {
		m, used, err := c.dec.Transform(out[:], b[:n], true)
		if err != nil || used != n {
			continue
		}
		if r, size := utf8.DecodeRune(out[:m]); r != utf8.RuneError && size == m {
			return r, n
		}
	}
	return utf8.RuneError, 1
}

func (c *tableCodec) put(dst []byte, r rune) ([]byte, bool) {
	if r < utf8.RuneSelf {
		return append(dst, byte(r)), true
	}
	var out [16]byte
	n, _, err := c.enc.Transform(out[:], utf8.AppendRune(nil, r), true)
	if err != nil || n == 0 {
		return dst, false
	}
	// Only what reads back as itself is kept.
	if back, size := c.next(out[:n]); back != r || size != n {
		return dst, false
	}
	return append(dst, out[:n]...), true
}
