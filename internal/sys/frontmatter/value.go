package frontmatter

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is the value of a field. The zero Value is null. Its readers are lenient, since authors
// write lists for text and text for lists.
type Value struct {
	node *yaml.Node
}

// IsNull reports whether there is no value: nothing, ~ or null.
func (v Value) IsNull() bool {
	n := v.resolved()
	return n == nil || (n.Kind == yaml.ScalarNode && n.Tag == "!!null")
}

// IsList and IsMap tell the shape.
func (v Value) IsList() bool { n := v.resolved(); return n != nil && n.Kind == yaml.SequenceNode }

// IsMap reports whether the value is a map.
func (v Value) IsMap() bool { n := v.resolved(); return n != nil && n.Kind == yaml.MappingNode }

// Text is a scalar as written, whatever type YAML sees in it ("1.0", "on"); ok is false for lists,
// maps and null.
func (v Value) Text() (text string, ok bool) {
	n := v.resolved()
	if n == nil || n.Kind != yaml.ScalarNode || v.IsNull() {
		return "", false
	}
	return n.Value, true
}

// Strings are the elements of a list that are scalars, or a scalar as the only element; nil for
// maps and null.
func (v Value) Strings() []string {
	if s, ok := v.Text(); ok {
		return []string{s}
	}
	n := v.resolved()
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]string, 0, len(n.Content))
	for _, e := range n.Content {
		if s, ok := (Value{node: e}).Text(); ok {
			out = append(out, s)
		}
	}
	return out
}

// Bool reads true, yes, on and 1, or false, no, off and 0, in any case; ok is false for the rest.
func (v Value) Bool() (value, ok bool) {
	s, ok := v.Text()
	if !ok {
		return false, false
	}
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// Decode stores the value in what into points to, by the rules of the YAML library. Errors name
// the YAML type that was expected, not the file.
func (v Value) Decode(into any) error {
	if v.IsNull() {
		return nil
	}
	if err := v.node.Decode(into); err != nil {
		_, why := yamlReason(err)
		return fmt.Errorf("%s", why)
	}
	return nil
}

// resolved follows an alias (*name) to what it stands for.
func (v Value) resolved() *yaml.Node {
	if v.node != nil && v.node.Kind == yaml.AliasNode {
		return v.node.Alias
	}
	return v.node
}
