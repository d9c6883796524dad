package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// Set gives the key at path (keys of nested objects, at least one) the value, which must be JSON.
// Objects on the way are made; it is an error when something else stands there. The text changes
// in no other place, and a value that is already there changes nothing.
func (d *Doc) Set(path []string, value json.RawMessage) error {
	if !json.Valid(value) {
		return fmt.Errorf("set %s: the new value is not JSON", strings.Join(path, "."))
	}
	at, rest, err := d.walk(path)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		if same(at.JSON(), value) {
			return nil
		}
		return d.splice(at.Start, at.End, d.format(value, d.indentAt(at.Start), d.inline(at)))
	}
	for i := len(rest) - 1; i > 0; i-- {
		value = append(append(append([]byte("{"), quote.JSON(nil, rest[i])...), ':'), append(bytes.Clone(value), '}')...)
	}
	return d.insert(at, quote.JSON(nil, rest[0]), []json.RawMessage{value})
}

// Delete takes the key at path away, with every double of it. It is no error when it is not there,
// but one when something else than an object stands on the way. An empty path deletes nothing.
func (d *Doc) Delete(path []string) error {
	for len(path) > 0 {
		parent, rest, err := d.walk(path[:len(path)-1])
		if err != nil || len(rest) > 0 || parent.Kind != Object {
			return err
		}
		i := -1
		for j, m := range parent.Members {
			if m.Name == path[len(path)-1] {
				i = j
			}
		}
		if i < 0 {
			return nil
		}
		if err := d.cut(parent, i); err != nil {
			return err
		}
	}
	return nil
}

// Append adds to the array at path those values that are not in it yet, at its end. The array, and
// objects on the way, are made when missing; it is an error when something else stands there.
func (d *Doc) Append(path []string, values ...json.RawMessage) error {
	at, rest, err := d.walk(path)
	if err != nil {
		return err
	}
	var fresh []json.RawMessage
	for _, v := range values {
		if !json.Valid(v) {
			return fmt.Errorf("add to %s: the new value is not JSON", strings.Join(path, "."))
		}
		if !contains(fresh, v) && (len(rest) > 0 || !holds(at, v)) {
			fresh = append(fresh, v)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if len(rest) > 0 {
		// Not by json.Marshal: it would escape <, > and &.
		array := append(append([]byte("["), bytes.Join(rawBytes(fresh), []byte(","))...), ']')
		return d.Set(path, array)
	}
	if at.Kind != Array {
		return d.wrong(path, at, "an array")
	}
	return d.insert(at, nil, fresh)
}

// Remove takes every element for which drop returns true out of the array at path. It is no error
// when there is no such array.
func (d *Doc) Remove(path []string, drop func(json.RawMessage) bool) error {
	for {
		at, rest, err := d.walk(path)
		if err != nil || len(rest) > 0 || at.Kind != Array {
			return err
		}
		i := -1
		for j, e := range at.Elems {
			if drop(e.JSON()) {
				i = j
			}
		}
		if i < 0 {
			return nil
		}
		if err := d.cut(at, i); err != nil {
			return err
		}
	}
}

// walk goes down path as far as it leads and returns where it ended and what is left of path.
func (d *Doc) walk(path []string) (at *Node, rest []string, err error) {
	at = d.root
	for i, key := range path {
		if at.Kind != Object {
			return nil, nil, d.wrong(path[:i], at, "an object")
		}
		next := at.Get(key)
		if next == nil {
			return at, path[i:], nil
		}
		at = next
	}
	return at, nil, nil
}

func (d *Doc) wrong(path []string, at *Node, want string) error {
	name := strings.Join(path, ".")
	if name == "" {
		name = "the file"
	}
	return fmt.Errorf("%s: %s is %s, not %s", d.At(at).Place(), name, at.Kind, want)
}

// splice replaces text and reads the result anew, so that an edit that would break the text is an
// error and changes nothing.
func (d *Doc) splice(from, to int, with []byte) error {
	next := &Doc{file: d.file, scope: d.scope, bom: d.bom}
	next.text = append(append(bytes.Clone(d.text[:from]), with...), d.text[to:]...)
	if err := next.parse(); err != nil {
		return fmt.Errorf("edit %s: %w", d.file, err)
	}
	*d = *next
	return nil
}

// insert adds values at the end of an array (name nil), or one value under name to an object.
func (d *Doc) insert(parent *Node, name []byte, values []json.RawMessage) error {
	last := lastEnd(parent)
	if last < 0 {
		return d.fill(parent, name, values)
	}
	multi := bytes.IndexByte(d.text[parent.Start:parent.End], '\n') >= 0
	comma := skipExtra(d.text, last)
	trailing := d.text[comma] == ','
	at := last
	if trailing {
		at = comma + 1
	}
	sep := []byte(" ")
	end := at
	indent := d.indentAt(parent.Start)
	if multi {
		indent = d.memberIndent(parent)
		sep = append([]byte(d.newline()), indent...)
		end = endOfLine(d.text, at)
	}
	out := bytes.Clone(d.text[at:end])
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, sep...)
		out = d.appendItem(out, name, v, indent, !multi)
	}
	if trailing {
		out = append(out, ',')
	} else {
		out = append([]byte(","), out...)
	}
	return d.splice(at, end, out)
}

// fill puts the first values into an empty array or object, behind the comments it may hold.
func (d *Doc) fill(parent *Node, name []byte, values []json.RawMessage) error {
	inner := comments(d.text[parent.Start+1 : parent.End-1])
	outer := d.indentAt(parent.Start)
	multi := parent == d.root || bytes.IndexByte(d.text[d.root.Start:d.root.End], '\n') >= 0
	indent := outer
	nl := ""
	if multi {
		nl = d.newline()
		indent = outer + d.unit()
	}
	out := append([]byte{d.text[parent.Start]}, inner...)
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
			if !multi {
				out = append(out, ' ')
			}
		}
		if multi {
			out = append(append(out, nl...), indent...)
		}
		out = d.appendItem(out, name, v, indent, !multi)
	}
	if multi {
		out = append(append(out, nl...), outer...)
	}
	return d.splice(parent.Start, parent.End, append(out, d.text[parent.End-1]))
}

// comments is what stands inside an empty container, up to its last line break; nothing when that
// is white space only.
func comments(inner []byte) []byte {
	text := bytes.TrimRight(inner, " \t\r\n")
	if len(text) == 0 {
		return nil
	}
	if i := bytes.LastIndexByte(inner[len(text):], '\n'); i >= 0 {
		return bytes.TrimSuffix(inner[:len(text)+i], []byte("\r"))
	}
	return text
}

func (d *Doc) appendItem(out, name []byte, value json.RawMessage, indent string, inline bool) []byte {
	if name != nil {
		out = append(append(out, name...), ": "...)
	}
	return append(out, d.format(value, indent, inline)...)
}

// cut takes the i-th member or element away, with its comma. Comments stay; a line that becomes
// empty goes.
func (d *Doc) cut(parent *Node, i int) error {
	start, end := itemSpan(parent, i)
	next := skipExtra(d.text, end)
	var with []byte
	switch {
	case d.text[next] == ',':
		with = bytes.Clone(d.text[end:next])
		end = next + 1
	case i > 0: // the last one, without a comma behind it: the comma before it goes
		_, before := itemSpan(parent, i-1)
		comma := skipExtra(d.text, before)
		with = bytes.Clone(d.text[comma+1 : start])
		start = comma
	}
	return d.splice(d.dropLine(start, end, with))
}

// dropLine widens a cut whose line would be left blank to the whole line, and otherwise takes the
// blanks behind it along.
func (d *Doc) dropLine(start, end int, with []byte) (from, to int, text []byte) {
	text = bytes.TrimRight(with, " \t\r\n")
	from, to = start, end
	for to < len(d.text) && (d.text[to] == ' ' || d.text[to] == '\t') {
		to++
	}
	if len(text) > 0 {
		if to < len(d.text) && d.text[to] != '\r' && d.text[to] != '\n' {
			text = with // a line comment in it must not swallow what follows
		}
		return start, end, text
	}
	lineStart := start
	for lineStart > 0 && (d.text[lineStart-1] == ' ' || d.text[lineStart-1] == '\t') {
		lineStart--
	}
	ownLine := lineStart == 0 || d.text[lineStart-1] == '\n'
	rest := to
	if rest < len(d.text) && d.text[rest] == '\r' {
		rest++
	}
	atEnd := rest < len(d.text) && d.text[rest] == '\n'
	if ownLine && atEnd {
		return lineStart, rest + 1, nil
	}
	if atEnd { // something stands before it on the line
		return from, end, nil
	}
	return from, to, nil
}

func itemSpan(parent *Node, i int) (start, end int) {
	if parent.Kind == Object {
		return parent.Members[i].Start, parent.Members[i].Value.End
	}
	return parent.Elems[i].Start, parent.Elems[i].End
}

// lastEnd is the offset behind the last member or element, -1 where there is none.
func lastEnd(parent *Node) int {
	n := len(parent.Members) + len(parent.Elems)
	if n == 0 {
		return -1
	}
	_, end := itemSpan(parent, n-1)
	return end
}

// format writes a value as it should stand at a place of that indentation.
func (d *Doc) format(value json.RawMessage, indent string, inline bool) []byte {
	var buf bytes.Buffer
	if inline {
		_ = json.Compact(&buf, value) // the caller checked that it is JSON
		return spaced(buf.Bytes())
	}
	_ = json.Indent(&buf, value, indent, d.unit())
	if nl := d.newline(); nl != "\n" {
		return bytes.ReplaceAll(buf.Bytes(), []byte("\n"), []byte(nl))
	}
	return buf.Bytes()
}

// inline reports whether what replaces a node should stay on one line: the node does, and is an
// array or object with something in it, or its line holds other things as well.
func (d *Doc) inline(n *Node) bool {
	if bytes.IndexByte(d.text[n.Start:n.End], '\n') >= 0 {
		return false
	}
	if bytes.IndexByte(d.text[d.root.Start:d.root.End], '\n') < 0 {
		return n != d.root
	}
	return lastEnd(n) >= 0
}

// spaced puts a blank behind the commas and colons of compact JSON.
func spaced(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+16)
	for i := 0; i < len(compact); {
		if compact[i] == '"' {
			end := skipString(compact, i)
			out = append(out, compact[i:end]...)
			i = end
			continue
		}
		out = append(out, compact[i])
		if compact[i] == ',' || compact[i] == ':' {
			out = append(out, ' ')
		}
		i++
	}
	return out
}

// indentAt is the white space the line of an offset begins with.
func (d *Doc) indentAt(offset int) string {
	line, _ := d.Position(offset)
	start := d.lines[line-1]
	end := start
	for end < len(d.text) && (d.text[end] == ' ' || d.text[end] == '\t') {
		end++
	}
	return string(d.text[start:end])
}

// memberIndent is the indentation the members of a container of several lines have.
func (d *Doc) memberIndent(parent *Node) string {
	for i := len(parent.Members) + len(parent.Elems) - 1; i >= 0; i-- {
		start, _ := itemSpan(parent, i)
		line, column := d.Position(start)
		indent := d.indentAt(start)
		if len(indent) == column-1 && d.lines[line-1] > parent.Start {
			return indent
		}
	}
	return d.indentAt(parent.Start) + d.unit()
}

// unit is one step of indentation: what the first member on a line of its own has more than its
// parent, two blanks where nothing shows it.
func (d *Doc) unit() string {
	for i := range len(d.root.Members) + len(d.root.Elems) {
		start, _ := itemSpan(d.root, i)
		_, column := d.Position(start)
		if indent := d.indentAt(start); len(indent) > 0 && len(indent) == column-1 {
			return indent
		}
	}
	return "  "
}

func (d *Doc) newline() string {
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func holds(array *Node, value json.RawMessage) bool {
	for _, e := range array.Elems {
		if same(e.JSON(), value) {
			return true
		}
	}
	return false
}

func contains(list []json.RawMessage, value json.RawMessage) bool {
	for _, v := range list {
		if same(v, value) {
			return true
		}
	}
	return false
}

func same(a, b json.RawMessage) bool { return bytes.Equal(Canonical(a), Canonical(b)) }

// Canonical writes JSON so that equal values have equal bytes: sorted keys, one spelling of every
// string and number. Text that is not JSON is returned as it is.
func Canonical(value json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber() // big numbers must not become equal by rounding
	var v any
	if err := dec.Decode(&v); err != nil {
		return value
	}
	out, err := json.Marshal(v)
	if err != nil {
		return value
	}
	return out
}

func rawBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
