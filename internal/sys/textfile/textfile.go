// Package textfile reads and changes text files without changing a byte that was not meant to
// change: encoding, byte order mark, line ends, mode, owner and links stay as they were.
//
// It is no editor and knows nothing of agents, permissions or what is worth showing. Begin with
// [Load] or [Decode] to get a [Text], change it with [Text.Splice] or [Text.Rewrite], and put it back
// with [Save]. [ReadPage] shows lines of files of any size.
package textfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Text is the content of a text file: its bytes, and the view of them as Unicode text in which
// every line end is LF and the byte order mark is left out. A Text is immutable and safe for
// concurrent use. The zero Text is an empty UTF-8 file.
type Text struct {
	raw  []byte
	view string
	enc  Encoding
	bom  bool
	ends LineEnds
}

// LineEnds says how the lines of a file end.
type LineEnds uint8

// The kinds of line ends.
const (
	NoLineEnds LineEnds = iota // the file has at most one line, without an end
	LF
	CRLF
	CR    // CR alone, and no LF in the file
	Mixed // LF and CRLF
)

// String names the kind for people.
func (e LineEnds) String() string {
	return [...]string{"none", "LF", "CRLF", "CR", "mixed"}[e]
}

// BinaryError says that bytes are not text.
type BinaryError struct {
	Kind string // what it seems to be: "PNG image", "ZIP archive", "binary data"
}

// Error implements error.
func (e *BinaryError) Error() string { return "not a text file: " + e.Kind }

// ErrReplacement is returned when U+FFFD would be written. That character stands for a byte that
// could not be shown; writing it would destroy the byte.
var ErrReplacement = errors.New("the new text holds U+FFFD, which stands for bytes that could not be shown; it is never written")

// CharError says that the encoding of a file cannot hold a character of the new text.
type CharError struct {
	Encoding Encoding
	Char     rune
}

// Error implements error.
func (e *CharError) Error() string {
	return fmt.Sprintf("the file was read as %s, which cannot hold %q (U+%04X)", e.Encoding, e.Char, e.Char)
}

// Decode finds out the encoding of raw and returns its text. It keeps raw, which must not be
// changed afterwards. What is no text gives a *[BinaryError].
func Decode(raw []byte) (Text, error) {
	enc, bom, err := detect(raw)
	if err != nil {
		return Text{}, err
	}
	return decodeAs(raw, enc, bom), nil
}

// FromString makes the text of a new file: UTF-8, the bytes of s as they are. It gives
// [ErrReplacement] when s holds U+FFFD or is not UTF-8.
func FromString(s string) (Text, error) {
	if strings.ContainsRune(s, utf8.RuneError) { // true for invalid bytes also
		return Text{}, ErrReplacement
	}
	raw := []byte(s)
	return decodeAs(raw, UTF8, bytes.HasPrefix(raw, bomUTF8)), nil
}

// Raw is the file's bytes. They must not be changed.
func (t Text) Raw() []byte { return t.raw }

// View is the text with LF line ends and without byte order mark. Bytes that mean nothing in a
// UTF-8 file appear as the Windows-1252 character they would be; half surrogates of UTF-16 appear
// as U+FFFD.
func (t Text) View() string { return t.view }

// Encoding is how the file is encoded.
func (t Text) Encoding() Encoding { return t.enc }

// Guessed tells that nothing but its look says how the file is encoded.
func (t Text) Guessed() bool { return guessed(t.enc, t.bom) }

func guessed(e Encoding, bom bool) bool { return e != UTF8 && e != UTF8Stray && !bom }

// BOM tells whether the file begins with a byte order mark.
func (t Text) BOM() bool { return t.bom }

// LineEnds tells how the lines end.
func (t Text) LineEnds() LineEnds { return t.ends }

// Hash is the SHA-256 of the bytes.
func (t Text) Hash() [sha256.Size]byte { return sha256.Sum256(t.raw) }

// Lines counts the lines: an end of line ends a line, and what follows the last one is a line too
// unless it is empty. An empty file has none.
func (t Text) Lines() int { return CountLines(t.view) }

// CountLines counts the lines of a view as [Text.Lines] does.
func CountLines(view string) int {
	n := strings.Count(view, "\n")
	if view != "" && !strings.HasSuffix(view, "\n") {
		n++
	}
	return n
}

func decodeAs(raw []byte, enc Encoding, bom bool) Text {
	t := Text{raw: raw, enc: enc, bom: bom}
	body := raw[t.bomLen():]
	if enc == UTF8 {
		t.ends = lineEndsOf(body)
		// The bytes are never changed, so the view may be the same memory: a large file is held once.
		t.view = toLF(unsafe.String(unsafe.SliceData(body), len(body)), t.ends)
		return t
	}
	c := enc.codec()
	var b strings.Builder
	b.Grow(len(body) + len(body)/8)
	for i := 0; i < len(body); {
		r, n := c.next(body[i:])
		b.WriteRune(r)
		i += n
	}
	text := b.String()
	t.ends = lineEndsOf([]byte(text))
	t.view = toLF(text, t.ends)
	return t
}

func lineEndsOf(body []byte) LineEnds {
	lf := bytes.Count(body, []byte{'\n'})
	if lf == 0 {
		if bytes.IndexByte(body, '\r') >= 0 {
			return CR
		}
		return NoLineEnds
	}
	switch crlf := bytes.Count(body, []byte("\r\n")); crlf {
	case 0:
		return LF
	case lf:
		return CRLF
	default:
		return Mixed
	}
}

func toLF(s string, ends LineEnds) string {
	switch ends {
	case CRLF, Mixed:
		return strings.ReplaceAll(s, "\r\n", "\n")
	case CR:
		return strings.ReplaceAll(s, "\r", "\n")
	default:
		return s
	}
}

func (t Text) bomLen() int {
	switch {
	case !t.bom:
		return 0
	case t.enc == UTF16LE || t.enc == UTF16BE:
		return 2
	default:
		return len(bomUTF8)
	}
}
