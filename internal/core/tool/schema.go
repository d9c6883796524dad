package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// schema is the part of JSON Schema that tool inputs use: types, properties, required, enum,
// items and bounds. What it does not know it does not check.
type schema struct {
	Type       typeList           `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Enum       []json.RawMessage  `json:"enum"`
	Items      *schema            `json:"items"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	MinItems   *int               `json:"minItems"`
	MaxItems   *int               `json:"maxItems"`
	MinLength  *int               `json:"minLength"`
	Strict     json.RawMessage    `json:"additionalProperties"`
}

// typeList is "string" or ["string", "null"].
type typeList []string

// UnmarshalJSON reads a schema; true, false and null as a schema say nothing that is checked here.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	switch string(bytes.TrimSpace(data)) {
	case "true", "false", "null":
		*s = schema{}
		return nil
	}
	return json.Unmarshal(data, (*plain)(s))
}

func (t *typeList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeList{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func parseSchema(raw json.RawMessage) (*schema, error) {
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &s, nil
}

// check validates input, coerces scalars written as strings, and returns the mended object.
func (s *schema) check(name string, input json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	var problems []string
	out := s.walk("", input, &problems)
	switch len(problems) {
	case 0:
		return out, nil
	case 1:
		return nil, fmt.Errorf("InputValidationError: %s failed due to the following issue: %s", name, problems[0])
	default:
		return nil, fmt.Errorf("InputValidationError: %s failed due to the following issues: %s", name, strings.Join(problems, "; "))
	}
}

func (s *schema) walk(path string, value json.RawMessage, problems *[]string) json.RawMessage {
	value = bytes.TrimSpace(value)
	got := kindOf(value)
	if len(s.Type) > 0 && !s.accepts(got, value) {
		mended, ok := s.coerce(got, value)
		if !ok {
			*problems = append(*problems, fmt.Sprintf("The parameter `%s` must be %s, not %s", orInput(path), strings.Join(s.Type, " or "), got))
			return value
		}
		value, got = mended, kindOf(mended)
	}
	if got == "number" && slices.Contains(s.Type, "integer") && !slices.Contains(s.Type, "number") {
		value, got = integer(value), "integer" // 5.0 is one, but no Go integer reads it
	}
	if p := s.bounds(path, got, value); p != "" {
		*problems = append(*problems, p)
	}
	switch got {
	case "object":
		return s.walkObject(path, value, problems)
	case "array":
		return s.walkArray(path, value, problems)
	}
	return value
}

func (s *schema) walkObject(path string, value json.RawMessage, problems *[]string) json.RawMessage {
	obj, err := readObject(value)
	if err != nil {
		*problems = append(*problems, fmt.Sprintf("`%s` is no valid JSON object: %v", orInput(path), err))
		return value
	}
	for _, name := range s.Required {
		if v, ok := obj.get(name); !ok || string(v) == "null" && !s.Properties[name].takesNull() {
			*problems = append(*problems, fmt.Sprintf("The required parameter `%s` is missing", join(path, name)))
		}
	}
	out := object{}
	for _, f := range obj {
		prop, known := s.Properties[f.key]
		switch {
		case known && string(f.value) == "null" && !prop.takesNull():
			continue // null for an optional field means: not given
		case known && prop != nil:
			f.value = prop.walk(join(path, f.key), f.value, problems)
		case string(s.Strict) == "false":
			*problems = append(*problems, fmt.Sprintf("The parameter `%s` is not known", join(path, f.key)))
		}
		out = append(out, f)
	}
	encoded, err := out.encode()
	if err != nil {
		return value
	}
	return encoded
}

func (s *schema) walkArray(path string, value json.RawMessage, problems *[]string) json.RawMessage {
	if s.Items == nil {
		return value
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		*problems = append(*problems, fmt.Sprintf("`%s` is no valid JSON array: %v", orInput(path), err))
		return value
	}
	for i, it := range items {
		items[i] = s.Items.walk(fmt.Sprintf("%s[%d]", path, i), it, problems)
	}
	encoded, err := encodeJSON(items)
	if err != nil {
		return value
	}
	return encoded
}

func (s *schema) bounds(path, got string, value json.RawMessage) string {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e json.RawMessage) bool { return bytes.Equal(e, value) }) {
		all := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			all[i] = string(e)
		}
		return fmt.Sprintf("The parameter `%s` must be one of %s, not %s", path, strings.Join(all, ", "), value)
	}
	switch got {
	case "number", "integer":
		f, _ := strconv.ParseFloat(string(value), 64)
		if s.Minimum != nil && f < *s.Minimum {
			return fmt.Sprintf("The parameter `%s` must be at least %v, not %s", path, *s.Minimum, value)
		}
		if s.Maximum != nil && f > *s.Maximum {
			return fmt.Sprintf("The parameter `%s` must be at most %v, not %s", path, *s.Maximum, value)
		}
	case "array":
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return ""
		}
		if s.MinItems != nil && len(items) < *s.MinItems {
			return fmt.Sprintf("The parameter `%s` must have at least %d items, not %d", path, *s.MinItems, len(items))
		}
		if s.MaxItems != nil && len(items) > *s.MaxItems {
			return fmt.Sprintf("The parameter `%s` must have at most %d items, not %d", path, *s.MaxItems, len(items))
		}
	case "string":
		var text string
		if s.MinLength != nil && json.Unmarshal(value, &text) == nil && len([]rune(text)) < *s.MinLength {
			return fmt.Sprintf("The parameter `%s` must have at least %d characters", path, *s.MinLength)
		}
	}
	return ""
}

// takesNull reports whether null is a value of its own here, not another way to leave a field out.
func (s *schema) takesNull() bool { return s != nil && slices.Contains(s.Type, "null") }

func (s *schema) accepts(got string, value json.RawMessage) bool {
	for _, t := range s.Type {
		if t == got || (t == "number" && got == "integer") || (t == "integer" && got == "number" && whole(value)) {
			return true
		}
	}
	return false
}

// coerce turns "5" into 5 and "true" into true where the schema asks for it, and an object or
// array written as a JSON string into itself.
func (s *schema) coerce(got string, value json.RawMessage) (json.RawMessage, bool) {
	if got != "string" {
		if slices.Contains(s.Type, "string") && (got == "integer" || got == "number" || got == "boolean") {
			return json.RawMessage(`"` + string(value) + `"`), true
		}
		return nil, false
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil, false
	}
	inner := json.RawMessage(strings.TrimSpace(text))
	if !json.Valid(inner) {
		return nil, false
	}
	kind := kindOf(inner)
	return inner, kind != "string" && kind != "null" && s.accepts(kind, inner)
}

// whole reports whether a number is an integer that a float holds exactly.
func whole(value json.RawMessage) bool {
	f, err := strconv.ParseFloat(string(value), 64)
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

// integer writes a whole number without fraction and exponent.
func integer(value json.RawMessage) json.RawMessage {
	f, _ := strconv.ParseFloat(string(value), 64) // whole has read it
	return json.RawMessage(strconv.FormatInt(int64(f), 10))
}

func kindOf(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(value, ".eE") {
		return "number"
	}
	return "integer"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orInput(path string) string {
	if path == "" {
		return "input"
	}
	return path
}
