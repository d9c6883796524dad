package headless

import (
	"bytes"
	"encoding/json"
	"fmt"
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
