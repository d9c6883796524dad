package webfetch

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// decode makes valid UTF-8 of a body by the encodings of the web: by its byte order mark, by the name
// in the header, by the name it gives itself, else as it looks. note says what of that is a guess and
// what was lost; empty: nothing.
func decode(body []byte, named string) (text, note string) {
	var said []string
	if named == "" {
		named = ownCharset(body)
	}
	e, name := byMark(body)
	if e == nil && named != "" {
		if e, name = byName(named); e == nil {
			said = append(said, fmt.Sprintf("the page names the encoding %q, which is not known", chars(named, 0, 40)))
		}
	}
	switch {
	case e != nil:
	case utf8.Valid(body):
		e, name = unicode.UTF8, "utf-8"
		if len(said) > 0 {
			said = append(said, "it reads as utf-8")
		}
	default: // what browsers take for unnamed text
		e, name = charmap.Windows1252, "windows-1252"
		said = append(said, "it was read as windows-1252, which is a guess: letters beyond ASCII may be wrong")
	}
	out, err := e.NewDecoder().Bytes(body)
	if err != nil { // decoders put U+FFFD where they cannot; one that gives up leaves the bytes
		said = append(said, fmt.Sprintf("it could not be decoded as %s: %v", name, err))
		out = body
	}
	text = strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\uFEFF")
	if lost := strings.Count(text, "\uFFFD") - bytes.Count(body, []byte("\uFFFD")); lost > 0 {
		said = append(said, fmt.Sprintf("at %d places its bytes mean nothing in %s and are shown as U+FFFD", lost, name))
	}
	return text, strings.Join(said, "; ")
}

// byMark is the encoding that a byte order mark stands for, nil without one.
func byMark(body []byte) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return unicode.UTF8, "utf-8"
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM), "utf-16be"
	}
	return nil, ""
}

// byName is the encoding that the web calls so, nil when it knows none.
func byName(name string) (encoding.Encoding, string) {
	e, err := htmlindex.Get(strings.TrimSpace(name))
	if err != nil {
		return nil, ""
	}
	if known, err := htmlindex.Name(e); err == nil {
		name = known
	}
	return e, name
}

// ownCharset finds the name that a page of HTML or XML gives in its first bytes. It can be read, so it
// is none of two bytes a character, whatever it says.
func ownCharset(body []byte) string {
	head := strings.ToLower(string(body[:min(len(body), 1024)]))
	name := ""
	if strings.HasPrefix(strings.TrimSpace(head), "<?xml") {
		declaration, _, _ := strings.Cut(head, "?>")
		name = valueOf(declaration, "encoding")
	}
	if name == "" {
		name = valueOf(head, "charset")
	}
	if strings.HasPrefix(name, "utf-16") || strings.HasPrefix(name, "utf16") {
		return "utf-8"
	}
	return name
}

// valueOf is what stands behind a name and an equals sign, with or without quotes.
func valueOf(text, name string) string {
	for {
		_, after, ok := strings.Cut(text, name)
		if !ok {
			return ""
		}
		text = after
		if after, ok = strings.CutPrefix(strings.TrimLeft(after, " \t\r\n"), "="); !ok {
			continue
		}
		after = strings.TrimLeft(after, "\"' \t\r\n")
		if end := strings.IndexAny(after, "\"'; />\t\r\n?"); end >= 0 {
			return after[:end]
		}
		return ""
	}
}
