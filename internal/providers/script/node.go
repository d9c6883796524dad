package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a script; larger ones are not written by hand.
const maxFile = 64 << 20

// parseTree reads YAML, or JSON when the text is a whole JSON object. JSON has a reader of its own
// because YAML 1.1 knows neither all of its escapes nor tabs as blanks.
func parseTree(data []byte) (*yaml.Node, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the file has %d bytes; a script may have %d", len(data), maxFile)
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(data) {
		return jsonTree(data)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty; expected a script with \"turns\"")
		}
		return nil, err
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("line %d: a second document begins; a script is one", second.Line)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, errors.New("the file is empty; expected a script with \"turns\"")
	}
	return doc.Content[0], nil
}

// jsonTree reads JSON into the same nodes YAML gives, with lines.
func jsonTree(data []byte) (*yaml.Node, error) {
	var starts []int // offset of each line
	starts = append(starts, 0)
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	r := &jsonReader{dec: dec, lineAt: func(off int64) int { return sort.SearchInts(starts, int(off)) }}
	return r.value()
}

type jsonReader struct {
	dec    *json.Decoder
	lineAt func(offset int64) int
}

func (r *jsonReader) value() (*yaml.Node, error) {
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Line: max(r.lineAt(r.dec.InputOffset()), 1)}
	switch t := tok.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if t == '{' {
			n.Kind = yaml.MappingNode
		}
		for r.dec.More() { // keys of an object are values of their own here
			child, err := r.value()
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.dec.Token() // the closing bracket
		return n, err
	case string:
		n.Kind, n.Tag, n.Value, n.Style = yaml.ScalarNode, "!!str", t, yaml.DoubleQuotedStyle
	case json.Number:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!float", t.String()
		if _, err := strconv.Atoi(t.String()); err == nil {
			n.Tag = "!!int"
		}
	case bool:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!bool", strconv.FormatBool(t)
	default:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!null", "null"
	}
	return n, nil
}

// The bounds of one input with its aliases followed; an alias may stand inside its own anchor.
const (
	maxNodes = 1_000_000
	maxDepth = 200
)

// jsonWriter writes nodes as JSON, keys in the order of the file.
type jsonWriter struct {
	out   []byte
	nodes int
}

// jsonOf returns a node as JSON.
func jsonOf(n *yaml.Node) (string, error) {
	w := &jsonWriter{}
	err := w.value(n, 0)
	return string(w.out), err
}

func (w *jsonWriter) value(n *yaml.Node, depth int) error {
	n = follow(n)
	if w.nodes++; w.nodes > maxNodes || depth > maxDepth {
		return fmt.Errorf("line %d: the value is too large or too deep", n.Line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.list(n, depth, '{', '}')
	case yaml.SequenceNode:
		return w.list(n, depth, '[', ']')
	case yaml.ScalarNode:
		s, err := jsonScalar(n)
		w.out = append(w.out, s...)
		return err
	default:
		return fmt.Errorf("line %d: expected a value", n.Line)
	}
}

func (w *jsonWriter) list(n *yaml.Node, depth int, opening, closing byte) error {
	w.out = append(w.out, opening)
	for i, c := range n.Content {
		isKey := opening == '{' && i%2 == 0
		switch {
		case i == 0:
		case opening == '{' && !isKey:
			w.out = append(w.out, ':')
		default:
			w.out = append(w.out, ',')
		}
		if isKey { // a key is a string whatever YAML takes it for
			if c.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: expected a plain key", c.Line)
			}
			w.out = append(w.out, quote(c.Value)...)
			continue
		}
		if err := w.value(c, depth+1); err != nil {
			return err
		}
	}
	w.out = append(w.out, closing)
	return nil
}

func jsonScalar(n *yaml.Node) (string, error) {
	switch n.ShortTag() {
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return n.Value, nil // keeps the digits as they were written
		}
		var v any
		if err := n.Decode(&v); err != nil {
			return "", fmt.Errorf("line %d: %w", n.Line, err)
		}
		out, err := json.Marshal(v)
		if err != nil { // .inf and .nan
			return "", fmt.Errorf("line %d: %s is no JSON number", n.Line, n.Value)
		}
		return string(out), nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return "", fmt.Errorf("line %d: %w", n.Line, err)
		}
		return strconv.FormatBool(b), nil
	case "!!null":
		return "null", nil
	case "!!str", "!!timestamp":
		return quote(n.Value), nil
	default:
		return "", fmt.Errorf("line %d: the tag %s has no JSON form", n.Line, n.ShortTag())
	}
}

// quote is a JSON string without HTML escaping, so that placeholders and text stand as written.
func quote(s string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}
