package screen

import (
	"encoding/json"
	"slices"
	"sort"
)

// formParts are the fields of a form as its schema describes them: a flat object of strings,
// numbers, truth values and enumerations, as the Model Context Protocol allows for elicitation
// (https://modelcontextprotocol.io/specification).
func formParts(schema json.RawMessage) []part {
	var s struct {
		Properties map[string]struct {
			Type        string   `json:"type"`
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
			EnumNames   []string `json:"enumNames"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { // what must be given first
		a, b := slices.Contains(s.Required, names[i]), slices.Contains(s.Required, names[j])
		if a != b {
			return a
		}
		return names[i] < names[j]
	})
	var out []part
	for _, name := range names {
		f := s.Properties[name]
		p := part{key: name, text: f.Title, detail: f.Description, kind: f.Type, need: slices.Contains(s.Required, name)}
		if p.text == "" {
			p.text = name
		}
		for i, value := range f.Enum {
			c := choice{label: value}
			if i < len(f.EnumNames) {
				c.detail = f.EnumNames[i]
			}
			p.choices = append(p.choices, c)
		}
		out = append(out, p)
	}
	return out
}
