package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

func TestSchemaValidates(t *testing.T) {
	data, err := config.Schema(config.Section{Key: "hooks", Schema: json.RawMessage(`{"type": "object", "additionalProperties": {"type": "array"}}`)})
	must(t, err)
	var s jsonschema.Schema
	must(t, json.Unmarshal(data, &s))
	r, err := s.Resolve(nil)
	must(t, err)
	for text, ok := range map[string]bool{
		`{"model": "x", "permissions": {"deny": ["A"]}, "unknown": 1, "sandbox": {"enabled": "auto"}}`: true,
		`{"sandbox": {"enabled": true, "network": {"httpProxyPort": 80}}, "hooks": {"Stop": []}}`:      true,
		`{"model": 1}`: false, `{"permissions": {"deny": "A"}}`: false, `{"sandbox": {"enabled": "always"}}`: false, `{"hooks": {"Stop": 1}}`: false,
		`{"autoCompactWindow": 1}`: false,
	} {
		var v any
		must(t, json.Unmarshal([]byte(text), &v))
		if err := r.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := config.Schema(config.Section{Key: "x", Schema: json.RawMessage(`{`)}); err == nil {
		t.Error("a broken schema of a section was taken")
	}
}

func TestCatalogueIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range config.Keys() {
		if seen[k.Name] {
			t.Errorf("%s stands in the catalogue twice", k.Name)
		}
		seen[k.Name] = true
		if k.Type == 0 || k.Scopes == 0 || k.Need < 1 || k.Need > 3 || k.Kind == 0 || k.Meaning == "" {
			t.Errorf("%s is incomplete: %+v", k.Name, k)
		}
		for _, text := range append([]string{k.Default, k.Closed}, k.Strict...) {
			if text != "" && !json.Valid([]byte(text)) {
				t.Errorf("%s: %s is not JSON", k.Name, text)
			}
		}
		if len(k.Enum) > 0 && k.Default != "" && strings.HasPrefix(k.Default, `"`) {
			found := false
			for _, e := range k.Enum {
				found = found || `"`+e+`"` == k.Default
			}
			if !found {
				t.Errorf("%s: the default %s is not one of %v", k.Name, k.Default, k.Enum)
			}
		}
	}
	for name := range seen {
		for i := range name {
			if name[i] == '.' && seen[name[:i]] {
				t.Errorf("%s lies inside the known key %s", name, name[:i])
			}
		}
	}
}
