package msg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // dimensions of GIF
	_ "image/jpeg" // dimensions of JPEG
	_ "image/png"  // dimensions of PNG
	"strings"
	"unicode/utf8"

	_ "golang.org/x/image/webp" // dimensions of WebP
)

// CleanText returns s with every byte that is no valid UTF-8 (half characters and lone surrogates
// among them) replaced by U+FFFD. Valid text comes back unchanged and uncopied.
func CleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Cut returns the longest prefix of s that has at most n bytes and ends at a character boundary.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// CutTail returns the longest suffix of s that has at most n bytes and starts at a character
// boundary.
func CutTail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// cleanJSON repairs JSON text: bytes that are no UTF-8, and escapes of lone surrogates.
func cleanJSON(raw json.RawMessage) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		unit, n := escapedUnit(raw[i:])
		switch {
		case n == 2: // \n, \", \\ and so on
			out = append(out, raw[i], raw[i+1])
		case isLow(unit):
			out = append(out, `\ufffd`...)
		case isHigh(unit):
			low, m := escapedUnit(raw[i+n:])
			if m != 6 || !isLow(low) {
				out = append(out, `\ufffd`...)
				break
			}
			out = append(out, raw[i:i+n+m]...)
			n += m
		default:
			out = append(out, raw[i:i+n]...)
		}
		i += n
	}
	return out
}

// escapedUnit reads \uXXXX at the start of raw: the UTF-16 unit and 6, or 2 for another escape, or
// 0 when there is none.
func escapedUnit(raw []byte) (unit uint32, n int) {
	if len(raw) < 2 || raw[0] != '\\' {
		return 0, 0
	}
	if raw[1] != 'u' || len(raw) < 6 {
		return 0, 2
	}
	for _, c := range raw[2:6] {
		unit <<= 4
		switch {
		case c >= '0' && c <= '9':
			unit |= uint32(c - '0')
		case c >= 'a' && c <= 'f':
			unit |= uint32(c-'a') + 10
		case c >= 'A' && c <= 'F':
			unit |= uint32(c-'A') + 10
		default:
			return 0, 2
		}
	}
	return unit, 6
}

func isHigh(u uint32) bool { return u >= 0xD800 && u < 0xDC00 }
func isLow(u uint32) bool  { return u >= 0xDC00 && u < 0xE000 }

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// boundImage returns the picture, with its true media type, or a note in its place when a provider
// would refuse it.
func boundImage(v Image, b Bounds) Block {
	if len(v.Data) == 0 {
		if v.URL == "" {
			return nil
		}
		return v
	}
	if len(v.Data) > b.ImageBytes {
		return Text{fmt.Sprintf("[picture left out: %d bytes, more than the %d a model accepts]", len(v.Data), b.ImageBytes)}
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(v.Data))
	if err != nil {
		return Text{"[picture left out: not a readable PNG, JPEG, GIF or WebP]"}
	}
	if cfg.Width > b.ImagePixels || cfg.Height > b.ImagePixels {
		return Text{fmt.Sprintf("[picture left out: %d × %d pixels, more than the %d a model accepts]", cfg.Width, cfg.Height, b.ImagePixels)}
	}
	v.MediaType = "image/" + format
	return v
}

// Reminders mark texts as the harness's own, for the model.
func Reminders(texts []string) []Block {
	var out []Block
	for _, t := range texts {
		out = append(out, Text{Text: "<system-reminder>\n" + t + "\n</system-reminder>"})
	}
	return out
}

// Reminder is the message that tells the model texts of the harness; none when there are none.
func Reminder(texts []string) []Message {
	if len(texts) == 0 {
		return nil
	}
	return []Message{{Role: User, Origin: FromHarness, Content: Reminders(texts)}}
}
