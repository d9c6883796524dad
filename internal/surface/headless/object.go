package headless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// object is a JSON object that keeps the order of its fields, so that "type" stands first and a
// line can be read by people.
type object []field

type field struct {
	key   string
	value any
}

// with returns the object with one field more.
func (o object) with(key string, value any) object { return append(o, field{key, value}) }

// optional adds a field unless the text is empty.
func (o object) optional(key, text string) object {
	if text == "" {
		return o
	}
	return append(o, field{key, text})
}

// kind returns the type and subtype of a wire object.
func (o object) kind() (string, string) {
	var kind, sub string
	for _, f := range o {
		switch f.key {
		case "type":
			kind, _ = f.value.(string)
		case "subtype":
			sub, _ = f.value.(string)
		}
	}
	return kind, sub
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			buf.WriteByte(',')
		}
		key, err := encode(f.key)
		if err != nil {
			return nil, err
		}
		value, err := encode(f.value)
		if err != nil {
			return nil, fmt.Errorf("write field %q: %w", f.key, err)
		}
		buf.Write(key)
		buf.WriteByte(':')
		buf.Write(value)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// encode is json.Marshal without HTML escaping.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// maxLine is the longest line that may go out. The Python SDK gives up at 1 MiB; the rest is
// room for what a host's own framing adds.
const maxLine = 1<<20 - 4096

// line encodes one wire object as the bytes of one line. Raw JSON inside may come from tools and
// servers, so line separators that a JavaScript reader would split at are escaped and bytes that
// are no UTF-8 replaced; a line too long for the hosts is cut inside its longest texts, with a
// mark.
func line(v any) ([]byte, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	raw = separators(raw)
	if len(raw) > maxLine {
		if raw, err = shrink(raw); err != nil {
			return nil, err
		}
	}
	return append(raw, '\n'), nil
}

// separators escapes U+2028 and U+2029, which can only stand inside strings.
func separators(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte("\xe2\x80")) {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(raw, []byte("\u2029"), []byte(`\u2029`))
}

// shrink cuts the strings of a JSON value until it fits into a line: first to 64 kB each, then to
// half of that, and so on.
func shrink(raw []byte) ([]byte, error) {
	for limit := 64 << 10; limit >= 16; limit /= 2 {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("cut a line of %d bytes: %w", len(raw), err)
		}
		out, err := encode(cut(v, limit))
		if err != nil {
			return nil, err
		}
		if out = separators(out); len(out) <= maxLine {
			return out, nil
		}
	}
	return nil, fmt.Errorf("cut a line of %d bytes: it holds too many fields", len(raw))
}

func cut(v any, limit int) any {
	switch v := v.(type) {
	case string:
		return cutText(v, limit)
	case []any:
		for i := range v {
			v[i] = cut(v[i], limit)
		}
	case map[string]any:
		if media, ok := cutMedia(v, limit); ok {
			return media
		}
		for k := range v {
			v[k] = cut(v[k], limit)
		}
	}
	return v
}

// cutMedia replaces a picture or document too large for a line by a text block: half of one
// would be no picture at all.
func cutMedia(v map[string]any, limit int) (any, bool) {
	source, ok := v["source"].(map[string]any)
	if !ok {
		return nil, false
	}
	data, ok := source["data"].(string)
	if !ok || len(data) <= limit {
		return nil, false
	}
	kind, _ := v["type"].(string)
	return map[string]any{"type": "text", "text": fmt.Sprintf("[%s of %d bytes left out: too large for a line]", kind, len(data))}, true
}

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	keep := limit
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	return s[:keep] + fmt.Sprintf("… [%d bytes left out: too large for a line]", len(s)-keep)
}
