// Package frontmatter splits a Markdown file into its YAML header and its body, and reads the
// header with the place of every field. Headers people really write are often not YAML; what can
// be understood is, and what was wrong is said.
//
// It knows no field's meaning and opens no files. Begin with [Parse].
package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Doc is a file taken apart. It is immutable and safe for concurrent use.
type Doc struct {
	Fields   []Field // in order, each key once
	Body     string  // what follows the header, line breaks as they were
	BodyLine int     // line the body begins on, from 1
	Warnings []Warning
	Present  bool // there is a header, if only an empty or unreadable one
	Repaired bool // the header was not YAML; Fields are what could be understood
}

// Field is one key of the header.
type Field struct {
	Key   string // as written
	Value Value
	At    origin.Origin
}

// Warning is something about the file its author should know. It never hides the rest.
type Warning struct {
	At  origin.Origin
	Msg string
}

// String is one line: place and reason.
func (w Warning) String() string {
	if place := w.At.Place(); place != "" {
		return place + ": " + w.Msg
	}
	return w.Msg
}

// Options says how to read. The zero Options reads strict YAML only.
type Options struct {
	Scope origin.Scope
	File  string // named in origins
	// Keys are the known keys. A header that is not YAML is taken apart at lines that begin with
	// one of them; without keys it is lost.
	Keys []string
}

// Parse takes text apart. It has no errors: what is wrong is in the warnings, and what can be read
// is read. Bytes that are not UTF-8 become U+FFFD; a byte order mark is dropped; lines may end in
// LF, CRLF or a lone CR.
func Parse(text []byte, opts Options) Doc {
	d := Doc{BodyLine: 1}
	p := parser{doc: &d, opts: opts}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		p.warn(1+lineOfInvalid(text), 0, "the text is not UTF-8; bytes that are not were replaced")
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	header, body, bodyLine, ok := split(string(text))
	if !ok {
		d.Body = string(text)
		p.explainMissing(d.Body)
		return d
	}
	d.Present, d.Body, d.BodyLine = true, body, bodyLine
	p.header(header)
	return d
}

// Get returns the field with one of the spellings of key: kebab-case, snake_case and camelCase are
// the same.
func (d Doc) Get(key string) (Field, bool) {
	want := fold(key)
	for _, f := range d.Fields {
		if fold(f.Key) == want {
			return f, true
		}
	}
	return Field{}, false
}

func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

type parser struct {
	doc  *Doc
	opts Options
}

func (p *parser) at(line, column int) origin.Origin {
	return origin.Origin{Scope: p.opts.Scope, File: p.opts.File, Line: line, Column: column}
}

func (p *parser) warn(line, column int, format string, args ...any) {
	p.doc.Warnings = append(p.doc.Warnings, Warning{At: p.at(line, column), Msg: fmt.Sprintf(format, args...)})
}

func (p *parser) explainMissing(text string) {
	first, _, _ := cutLine(text)
	first = strings.TrimRight(first, " \t")
	switch {
	case first == "---":
		p.warn(1, 1, "the header that begins here is never closed by a line ---; the whole file is taken as text")
	case strings.HasPrefix(first, "```"):
		if _, rest, _ := cutLine(text); strings.HasPrefix(rest, "---") {
			p.warn(1, 1, "the header stands inside a code fence and is taken as text; remove the fence")
		}
	}
}

// headerLine is the line the header's first line is on: the one behind the opening ---.
const headerLine = 2

func (p *parser) header(header string) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(header), &root); err != nil {
		line, why := yamlReason(err)
		p.warn(headerLine-1+max(line, 1), 0, "the header is not YAML: %s", why)
		p.repair(header)
		return
	}
	if len(root.Content) == 0 { // blank or comments only
		return
	}
	top := root.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return
	}
	if top.Kind != yaml.MappingNode {
		p.warn(headerLine, 1, "the header is %s, expected key: value lines", kindName(top))
		return
	}
	p.fields(top, 0)
}

// fields adds the keys of a mapping. shift is added to its line numbers.
func (p *parser) fields(m *yaml.Node, shift int) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		at := p.at(headerLine-1+key.Line+shift, key.Column)
		if key.Kind != yaml.ScalarNode {
			p.warn(at.Line, at.Column, "a key of the header is %s, expected a name", kindName(key))
			continue
		}
		p.add(Field{Key: key.Value, Value: Value{node: value}, At: at})
	}
}

// add keeps the last of double keys, as everybody does, and says so.
func (p *parser) add(f Field) {
	for i, old := range p.doc.Fields {
		if old.Key == f.Key {
			p.warn(f.At.Line, f.At.Column, "%s stands here twice; line %d is not used", f.Key, old.At.Line)
			p.doc.Fields[i] = f
			return
		}
	}
	p.doc.Fields = append(p.doc.Fields, f)
}

// repair reads a header that is not YAML: it is cut at lines that begin with a known key, each
// piece is read alone, and one that still is not YAML is taken as plain text.
func (p *parser) repair(header string) {
	lines := splitLines(header)
	seen := map[string]bool{}
	var starts []int
	for i, line := range lines {
		if key := p.keyOf(line); key != "" && !seen[key] {
			seen[key] = true
			starts = append(starts, i)
		}
	}
	for n, start := range starts {
		end := len(lines)
		if n+1 < len(starts) {
			end = starts[n+1]
		}
		p.piece(lines[start:end], start)
	}
	p.doc.Repaired = len(p.doc.Fields) > 0
}

// keyOf returns the known key a line begins with.
func (p *parser) keyOf(line string) string {
	name, rest, ok := strings.Cut(line, ":")
	if !ok || (rest != "" && rest[0] != ' ') {
		return ""
	}
	name = strings.TrimRight(name, " \t")
	for _, k := range p.opts.Keys {
		if fold(k) == fold(name) && name != "" && name[0] != ' ' && name[0] != '\t' {
			return name
		}
	}
	return ""
}

func (p *parser) piece(lines []string, start int) {
	text := strings.Join(lines, "\n")
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) == nil && len(root.Content) == 1 &&
		root.Content[0].Kind == yaml.MappingNode && len(root.Content[0].Content) == 2 {
		p.fields(root.Content[0], start)
		return
	}
	name, value, _ := strings.Cut(text, ":")
	value = unquote(strings.TrimSpace(value))
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	at := p.at(headerLine+start, 1)
	p.warn(at.Line, at.Column, "%s was read as plain text: %s", strings.TrimRight(name, " \t"), strconv.Quote(short(value)))
	p.add(Field{Key: strings.TrimRight(name, " \t"), Value: Value{node: node}, At: at})
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func short(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// yamlReason takes the line out of an error of the YAML library, 0 where it names none.
func yamlReason(err error) (line int, why string) {
	why = strings.TrimPrefix(err.Error(), "yaml: ")
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		why = te.Errors[0]
	}
	if n, _ := fmt.Sscanf(why, "line %d:", &line); n == 1 {
		_, why, _ = strings.Cut(why, ": ")
	}
	return line, why
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a map"
	case yaml.AliasNode:
		return "an alias"
	}
	return "a single value"
}

// split finds the header: it exists when the first line is ---, and ends at the next such line.
func split(text string) (header, body string, bodyLine int, ok bool) {
	first, rest, more := cutLine(text)
	if strings.TrimRight(first, " \t") != "---" || !more {
		return "", "", 0, false
	}
	start := rest
	for line := 2; more; line++ {
		var l string
		before := len(rest)
		l, rest, more = cutLine(rest)
		if strings.TrimRight(l, " \t") == "---" {
			return start[:len(start)-before], rest, line + 1, true
		}
	}
	return "", "", 0, false
}

// cutLine cuts the first line off; more tells whether a line break was found.
func cutLine(text string) (line, rest string, more bool) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, "", false
	}
	next := i + 1
	if text[i] == '\r' && next < len(text) && text[next] == '\n' {
		next++
	}
	return text[:i], text[next:], true
}

func splitLines(text string) []string {
	var out []string
	for more := true; more; {
		var line string
		line, text, more = cutLine(text)
		out = append(out, line)
	}
	return out
}

func lineOfInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return bytes.Count(text[:i], []byte("\n"))
		}
		i += size
	}
	return 0
}
