// Package jsonc reads JSON that people write – comments, trailing commas and a byte order mark are
// accepted – knows the line and column of every value, and edits the text so that everything not
// meant to change keeps its bytes: comments, order, indentation, unknown keys.
//
// It knows no schema and reads no files. Begin with [Parse]; [Doc.Root] is the tree, [Doc.Set] and
// its relatives change the text.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// MaxDepth is how deep arrays and objects may nest. Deeper text is a [SyntaxError]: the parser
// recurses, and a settings file must not be able to exhaust the stack.
const MaxDepth = 1000

// Kind is the kind of a value.
type Kind byte

// The kinds. The zero Kind is no value.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// String is the kind's name in a sentence: "a number".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "nothing"
}

// Node is one value. Nodes are immutable and stay valid after the Doc was edited.
type Node struct {
	Kind       Kind
	Start, End int      // byte offsets in the text that was parsed, without its byte order mark
	Members    []Member // of an object, in order, duplicates included
	Elems      []*Node  // of an array

	literal []byte // the raw text of a scalar
}

// Member is one key of an object with its value.
type Member struct {
	Name  string // decoded
	Start int    // byte offset of the name
	Value *Node
}

// Doc is a parsed text. The zero Doc is not usable. A Doc that is not edited is safe for concurrent
// use.
type Doc struct {
	file  string
	scope origin.Scope
	bom   bool
	text  []byte // without byte order mark
	lines []int  // offsets of the beginnings of lines
	root  *Node
}

// SyntaxError says where and why a text is not JSON.
type SyntaxError struct {
	At  origin.Origin
	Msg string
}

// Error is one line: place and reason.
func (e *SyntaxError) Error() string {
	if e.At.File == "" {
		return fmt.Sprintf("line %d, column %d: %s", e.At.Line, e.At.Column, e.Msg)
	}
	return e.At.Place() + ": " + e.Msg
}

const bom = "\ufeff"

// Parse reads text. scope and file are only named in errors and origins. Errors are of type
// [*SyntaxError]. The Doc keeps a copy of text.
func Parse(scope origin.Scope, file string, text []byte) (*Doc, error) {
	d := &Doc{file: file, scope: scope}
	body, had := bytes.CutPrefix(text, []byte(bom))
	d.bom = had
	d.text = bytes.Clone(body)
	if err := d.parse(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Doc) parse() error {
	d.lines = lineStarts(d.text)
	if i := firstInvalid(d.text); i >= 0 {
		return d.errorAt(i, "the text is not UTF-8 here")
	}
	open, tooDeep := scan(d.text)
	if tooDeep >= 0 {
		return d.errorAt(tooDeep, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	// A line comment at the very end needs no line break, though the parser wants one.
	src := append(bytes.Clone(d.text), '\n')
	v, err := hujson.Parse(src)
	if err != nil {
		return d.syntaxError(err, open)
	}
	d.root = convert(&v)
	return nil
}

// syntaxError turns a parser's error into ours. open is the offset of the innermost bracket that
// is never closed, or -1.
func (d *Doc) syntaxError(err error, open int) error {
	var line, column int
	at := len(d.text)
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 && line <= len(d.lines) {
		at = min(d.lines[line-1]+column-1, len(d.text))
	}
	msg := err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		msg = inner.Error()
	}
	switch {
	case len(bytes.TrimSpace(d.text)) == 0:
		msg = "the text is empty, expected a JSON value"
	case errors.Is(err, io.ErrUnexpectedEOF) && open >= 0:
		l, c := d.Position(open)
		msg = fmt.Sprintf("the text ends too early: the %q of line %d, column %d is not closed", d.text[open], l, c)
	case errors.Is(err, io.ErrUnexpectedEOF):
		msg = "the text ends too early"
	case strings.HasPrefix(msg, "invalid literal: "):
		msg = short(msg)
	}
	return d.errorAt(at, msg)
}

func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (d *Doc) errorAt(offset int, msg string) error {
	return &SyntaxError{At: d.at(offset), Msg: msg}
}

func convert(v *hujson.Value) *Node {
	n := &Node{Start: v.StartOffset, End: v.EndOffset}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Object
		n.Members = make([]Member, 0, len(t.Members))
		for i := range t.Members {
			m := &t.Members[i]
			name, _ := m.Name.Value.(hujson.Literal)
			n.Members = append(n.Members, Member{Name: name.String(), Start: m.Name.StartOffset, Value: convert(&m.Value)})
		}
	case *hujson.Array:
		n.Kind = Array
		n.Elems = make([]*Node, 0, len(t.Elements))
		for i := range t.Elements {
			n.Elems = append(n.Elems, convert(&t.Elements[i]))
		}
	case hujson.Literal:
		n.literal = t
		n.Kind = literalKind(t)
	}
	return n
}

func literalKind(l hujson.Literal) Kind {
	switch l.Kind() {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	}
	return Number
}

// Root is the whole value.
func (d *Doc) Root() *Node { return d.root }

// File is the name given to [Parse].
func (d *Doc) File() string { return d.file }

// Bytes is the text as it stands now, with the byte order mark it had.
func (d *Doc) Bytes() []byte {
	if d.bom {
		return append([]byte(bom), d.text...)
	}
	return bytes.Clone(d.text)
}

// Position tells line and column, both from 1, of a byte offset; columns count bytes.
func (d *Doc) Position(offset int) (line, column int) {
	i := sort.SearchInts(d.lines, offset+1)
	if i == 0 {
		return 1, 1
	}
	return i, offset - d.lines[i-1] + 1
}

// At is the origin of a node.
func (d *Doc) At(n *Node) origin.Origin { return d.at(n.Start) }

// AtMember is the origin of a member's name.
func (d *Doc) AtMember(m Member) origin.Origin { return d.at(m.Start) }

func (d *Doc) at(offset int) origin.Origin {
	line, column := d.Position(offset)
	return origin.Origin{Scope: d.scope, File: d.file, Line: line, Column: column}
}

// Get walks keys of objects and decimal indexes of arrays. It returns nil where there is nothing.
// Of a key that stands there twice it takes the last, as everybody does.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.child(key)
	}
	return n
}

func (n *Node) child(key string) *Node {
	switch n.Kind {
	case Object:
		for i := len(n.Members) - 1; i >= 0; i-- {
			if n.Members[i].Name == key {
				return n.Members[i].Value
			}
		}
	case Array:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Elems) {
			return n.Elems[i]
		}
	}
	return nil
}

// Text is the value of a string; the raw text of another scalar; empty for arrays and objects.
func (n *Node) Text() string { return hujson.Literal(n.literal).String() }

// JSON is the value as plain compact JSON: no comments, of double keys the last in the place of
// the first.
func (n *Node) JSON() json.RawMessage { return n.appendJSON(nil) }

func (n *Node) appendJSON(b []byte) []byte {
	switch n.Kind {
	case Object:
		b = append(b, '{')
		for i, m := range Unique(n.Members) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote.JSON(b, m.Name), ':')
			b = m.Value.appendJSON(b)
		}
		return append(b, '}')
	case Array:
		b = append(b, '[')
		for i, e := range n.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.appendJSON(b)
		}
		return append(b, ']')
	}
	return append(b, n.literal...)
}

// Unique drops double keys: the value of the last in the place of the first. Without double keys
// it returns members itself.
func Unique(members []Member) []Member {
	seen := make(map[string]int, len(members))
	double := false
	for i, m := range members {
		if _, ok := seen[m.Name]; ok {
			double = true
		}
		seen[m.Name] = i
	}
	if !double {
		return members
	}
	out := make([]Member, 0, len(seen))
	for _, m := range members {
		last, ok := seen[m.Name]
		if !ok {
			continue
		}
		out = append(out, members[last])
		delete(seen, m.Name)
	}
	return out
}

func lineStarts(text []byte) []int {
	lines := []int{0}
	for i, c := range text {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}

func firstInvalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
