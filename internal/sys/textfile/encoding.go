package textfile

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Encoding is how the characters of a file are written as bytes.
type Encoding uint8

// The encodings this package tells apart. Any other 8-bit encoding is seen as Windows-1252, which
// gives every byte a character of its own, so such files keep their bytes as well.
const (
	UTF8        Encoding = iota
	UTF8Stray            // UTF-8 with bytes that are none; new text is written as UTF-8
	UTF16LE              //
	UTF16BE              //
	Windows1252          // a superset of Latin-1 as the web defines it: all 256 bytes have a meaning
	ShiftJIS             //
	GB18030              // a superset of GBK and GB 2312
	EUCKR                //
	EUCJP                //
	Big5                 //
)

// String names the encoding for people.
func (e Encoding) String() string {
	return [...]string{"UTF-8", "UTF-8 with invalid bytes", "UTF-16LE", "UTF-16BE", "Windows-1252", "Shift_JIS", "GB18030 (GBK)", "EUC-KR", "EUC-JP", "Big5"}[e]
}

var (
	bomUTF8    = []byte{0xEF, 0xBB, 0xBF}
	bomUTF16LE = []byte{0xFF, 0xFE}
	bomUTF16BE = []byte{0xFE, 0xFF}
	bomUTF32LE = []byte{0xFF, 0xFE, 0, 0}
)

// sniffLen is how much of a file decides whether it is binary; git looks at as much.
const sniffLen = 8000

// detect finds encoding and byte order mark, or says that raw is no text.
func detect(raw []byte) (Encoding, bool, error) {
	switch {
	case bytes.HasPrefix(raw, bomUTF32LE) && len(raw)%4 == 0:
		return 0, false, &BinaryError{"UTF-32 text"}
	case bytes.HasPrefix(raw, bomUTF16LE):
		return UTF16LE, true, nil
	case bytes.HasPrefix(raw, bomUTF16BE):
		return UTF16BE, true, nil
	}
	bom := bytes.HasPrefix(raw, bomUTF8)
	body := raw
	if bom {
		body = raw[len(bomUTF8):]
	}
	head := body[:min(len(body), sniffLen)]
	if bytes.IndexByte(head, 0) >= 0 {
		if enc, ok := bareUTF16(body); ok && !bom {
			return enc, false, nil
		}
		return 0, false, &BinaryError{kindOr(raw, "binary data")}
	}
	if utf8.Valid(body) {
		return UTF8, bom, nil
	}
	if kind := certainKind(raw); kind != "" {
		return 0, false, &BinaryError{kind}
	}
	if controls(head)*20 > len(head) {
		return 0, false, &BinaryError{"binary data"}
	}
	return eightBit(body, bom), bom, nil
}

// eightBit decides for text that is not valid UTF-8.
func eightBit(body []byte, bom bool) Encoding {
	good, bad := 0, 0 // characters of several bytes, and bytes that belong to none
	for i := 0; i < len(body); {
		if body[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		i += n
	}
	if bom || good > bad {
		return UTF8Stray
	}
	if enc, ok := eastAsian(body); ok {
		return enc
	}
	if looksShiftJIS(body) {
		return ShiftJIS
	}
	return Windows1252
}

// eastAsian recognises the encodings that write each character of East Asian text as a pair of high
// bytes or nearly so: everything is valid, characters stand in runs, and nine of ten are among the
// common ones. In Western and Cyrillic text a high byte stands before a blank sooner or later.
func eastAsian(body []byte) (Encoding, bool) {
	c := GB18030.codec()
	var pairs, runs, kana, above, gb, big5 int
	inRun, valid := false, true
	for i := 0; i < len(body); {
		lead := body[i]
		if lead < utf8.RuneSelf {
			inRun = false
			i++
			continue
		}
		if i+1 == len(body) || body[i+1] < 0x40 {
			return 0, false
		}
		trail := body[i+1]
		if r, _ := c.next(body[i:]); r == utf8.RuneError {
			valid = false
		}
		if !inRun {
			runs++
		}
		pairs++
		row := trail >= 0xA1
		switch {
		case row && (lead == 0xA4 || lead == 0xA5):
			kana, gb = kana+1, gb+1
		case row && lead >= 0xB0 && lead <= 0xD7:
			gb++
			if lead > 0xC8 {
				above++
			}
		case row && (lead == 0xA1 || lead == 0xA3):
			gb++
		}
		if lead >= 0xA4 && lead <= 0xC6 || lead == 0xA1 {
			big5++
		}
		inRun = true
		i += 2
	}
	switch {
	case pairs == 0 || pairs < 2*runs:
		return 0, false
	case valid && gb*10 >= pairs*9 && kana*5 >= pairs && allOf(EUCJP, body):
		return EUCJP, true
	case valid && gb*10 >= pairs*9 && above == 0 && pairs >= 4 && allOf(EUCKR, body):
		return EUCKR, true
	case valid && gb*10 >= pairs*9:
		return GB18030, true
	case big5*10 >= pairs*9 && allOf(Big5, body):
		return Big5, true
	}
	return 0, false
}

// allOf tells whether all of body is characters of an encoding.
func allOf(enc Encoding, body []byte) bool {
	c := enc.codec()
	for i := 0; i < len(body); {
		r, n := c.next(body[i:])
		if r == utf8.RuneError {
			return false
		}
		i += n
	}
	return true
}

// bareUTF16 recognises UTF-16 without byte order mark: in one byte order everything is text, with
// at least one blank or line end, and in the other it is not.
func bareUTF16(body []byte) (Encoding, bool) {
	if len(body)%2 != 0 {
		return 0, false
	}
	little, big := utf16Text(body, UTF16LE), utf16Text(body, UTF16BE)
	switch {
	case little > big:
		return UTF16LE, true
	case big > little:
		return UTF16BE, true
	default:
		return 0, false
	}
}

// utf16Text counts the ASCII characters of body read as UTF-16; 0 when it cannot be text.
func utf16Text(body []byte, enc Encoding) int {
	c := enc.codec()
	ascii := 0
	for i := 0; i < len(body); {
		r, n := c.next(body[i:])
		switch {
		case r == utf8.RuneError, r == 0, r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f':
			return 0
		case r < utf8.RuneSelf:
			ascii++
		case !unicode.IsPrint(r) && !unicode.IsSpace(r) && r != 0xFEFF && !unicode.Is(unicode.Cf, r):
			return 0
		}
		i += n
	}
	return ascii
}

// looksShiftJIS tells whether body is valid Shift_JIS and more likely that than Western text. Kana
// decide it; without kana, runs of two-byte characters do: in Western text a byte above 127 seldom
// follows another.
func looksShiftJIS(body []byte) bool {
	c := ShiftJIS.codec()
	pairs, runs, kana, single := 0, 0, 0, 0
	inRun := false
	for i := 0; i < len(body); {
		r, n := c.next(body[i:])
		if r == utf8.RuneError {
			return false
		}
		switch {
		case n == 2:
			pairs++
			if !inRun {
				runs++
			}
			if unicode.In(r, unicode.Hiragana, unicode.Katakana) || r == '、' || r == '。' {
				kana++
			}
		case r >= utf8.RuneSelf:
			single++
		}
		inRun = n == 2
		i += n
	}
	return kana > 0 || (pairs >= 2*runs && pairs > 0 && single == 0)
}

// controls counts the control characters that text does not use.
func controls(head []byte) int {
	n := 0
	for _, b := range head {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != '\b' && b != 0x1B && b != 0x1A {
			n++
		}
	}
	return n
}
