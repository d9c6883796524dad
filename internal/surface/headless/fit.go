package headless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// maxLine is the longest line that may go out. The Python SDK gives up at 1 MiB; the rest is
// room for what a host's own framing adds.
const maxLine = 1<<20 - 4096

// leftOut is the field of a shortened line that lists where arrays and objects were cut.
const leftOut = "left_out"

// resultDepth is where results lie in a line: in the content of its message.
const resultDepth = 3

// maxListed is how many cut places a line lists.
const maxListed = 20

// line encodes one wire object as the bytes of one line. There is a line for every object: what
// cannot be encoded is replaced by the reason, a line too long for the hosts is cut inside, and both
// are said in the line. Raw JSON may come from tools and servers, so line separators that a
// JavaScript reader would split at are escaped and bytes that are no UTF-8 replaced.
func line(o object) []byte {
	raw, err := encode(o)
	if err != nil {
		raw = encodable(o, 0)
	}
	raw = separators(raw)
	if len(raw) > maxLine {
		raw = shrink(raw)
	}
	return append(raw, '\n')
}

// encodable encodes a value, depth levels below the line, of which some part is no JSON or too deep
// for the readers of JSON; that part becomes the reason.
func encodable(v any, depth int) []byte {
	raw, err := encode(v)
	if err == nil {
		in := slices.Concat(bytes.Repeat([]byte{'['}, depth), raw, bytes.Repeat([]byte{']'}, depth))
		if err = json.Unmarshal(in, new(json.RawMessage)); err == nil {
			return raw
		}
	}
	var out []byte
	switch v := v.(type) {
	case object:
		out = append(out, '{')
		for i, f := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, encodable(f.key, depth+1)...), ':'), encodable(f.value, depth+1)...)
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, encodable(item, depth+1)...)
		}
		return append(out, ']')
	}
	return encodable(fmt.Sprintf("[left out: it cannot be written as JSON: %v]", err), depth)
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

// shrink cuts a JSON object until it fits into a line: texts to 64 kB and arrays to 4,096 items
// each, then to half of that and so on, and at last everything that lies deep. Results of tools are
// kept to the end, however short: a call without one looks as if it were still running.
func shrink(raw []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // else large numbers would change
	var whole map[string]any
	if err := dec.Decode(&whole); err != nil { // not ours: lines are objects that were just encoded
		return encodable(object{{"type", "unknown"}, {leftOut, []any{fmt.Sprintf("all %d bytes: %v", len(raw), err)}}}, 0)
	}
	for c := (cutter{text: 64 << 10, items: 4096, depth: 32}); ; c = c.tighter() {
		out := encodable(c.whole(whole), 0)
		if out = separators(out); len(out) <= maxLine || c.depth == resultDepth {
			return out
		}
	}
}

// cutter shortens values to its limits.
type cutter struct {
	text  int // bytes of a text
	items int // of an array, fields of an object
	depth int // of values in values

	places []any // where arrays and objects were cut, at most maxListed
	more   int   // further places
}

func (c cutter) tighter() cutter {
	switch {
	case c.items > 1:
		return cutter{text: max(c.text/2, 16), items: c.items / 2, depth: c.depth}
	case c.depth > 8:
		return cutter{text: c.text, items: c.items, depth: c.depth / 2}
	}
	return cutter{text: c.text, items: c.items, depth: c.depth - 1}
}

// whole cuts an object and says in it where.
func (c cutter) whole(v map[string]any) map[string]any {
	out := map[string]any{}
	for k, field := range v {
		out[k] = c.value(field, k, 1)
	}
	if c.more > 0 {
		c.places = append(c.places, fmt.Sprintf("and at %d more places", c.more))
	}
	if len(c.places) > 0 {
		out[leftOut] = c.places
	}
	return out
}

func (c *cutter) say(format string, a ...any) {
	if len(c.places) == maxListed {
		c.more++
		return
	}
	c.places = append(c.places, fmt.Sprintf(format, a...))
}

// value cuts what stands at a path, depth levels below the line.
func (c *cutter) value(v any, path string, depth int) any {
	switch v := v.(type) {
	case string:
		return cutText(v, c.text)
	case json.Number:
		if len(v) > max(c.text, 32) {
			return cutText(string(v), c.text)
		}
	case []any:
		if depth >= c.depth && len(v) > 0 {
			c.say("%s: all %d items", path, len(v))
			return []any{}
		}
		return c.array(v, path, depth)
	case map[string]any:
		if media, ok := cutMedia(v, c.text); ok {
			return media
		}
		if depth >= c.depth && len(v) > 0 && !isResult(v) {
			c.say("%s: all %d fields", path, len(v))
			if _, typed := v["type"].(string); typed {
				return textBlock(fmt.Sprintf("[%d fields left out: too large for a line]", len(v)))
			}
			return map[string]any{}
		}
		return c.fields(v, path, depth)
	}
	return v
}

func (c *cutter) array(v []any, path string, depth int) []any {
	out := make([]any, 0, min(len(v), c.items+1))
	cut := 0
	for i, item := range v {
		if i >= c.items && !isResult(item) {
			cut++
			continue
		}
		out = append(out, c.value(item, fmt.Sprintf("%s[%d]", path, i), depth+1))
	}
	if cut == 0 {
		return out
	}
	c.say("%s: %d of %d items", path, cut, len(v))
	mark := fmt.Sprintf("… [%d items left out: too large for a line]", cut)
	switch first := v[0].(type) { // the mark has the shape of its neighbours, if it can
	case string:
		out = append(out, mark)
	case map[string]any:
		if _, typed := first["type"].(string); typed {
			out = append(out, textBlock(mark))
		}
	}
	return out
}

func isResult(v any) bool {
	block, ok := v.(map[string]any)
	return ok && block["type"] == "tool_result" && block["tool_use_id"] != nil
}

// named are fields that a reader needs to make sense of an object; they are never cut away.
var named = []string{"type", "tool_use_id", "id", "role", "content", "is_error", "name"}

func (c *cutter) fields(v map[string]any, path string, depth int) map[string]any {
	out := make(map[string]any, min(len(v), c.items))
	keep := func(k string) { out[cutText(k, 256)] = c.value(v[k], path+"."+cutText(k, 64), depth+1) }
	for _, k := range named {
		if _, ok := v[k]; ok {
			keep(k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if len(out) >= max(c.items, 16) {
			break
		}
		if !slices.Contains(named, k) {
			keep(k)
		}
	}
	if n := len(v) - len(out); n > 0 {
		c.say("%s: %d of %d fields", path, n, len(v))
	}
	return out
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
	return textBlock(fmt.Sprintf("[%s of %d bytes left out: too large for a line]", cutText(kind, 64), len(data))), true
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

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
