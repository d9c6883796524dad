package inspect

import (
	"encoding/json"
	"regexp"
	"slices"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/store"
)

// Snapshot is a state as JSON, with what may be secret hidden.
func Snapshot[S any](state *S) (json.RawMessage, error) {
	raw, err := store.Snapshot(state)
	if err != nil {
		return nil, err
	}
	return maskSecrets(raw)
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(secret|password|passwd|api_?key|auth_?token|access_?token|authorization|credential)`)
})

const hidden = "***"

// maskSecrets hides the values of environment blocks and of keys that are named like secrets.
func maskSecrets(raw json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return json.Marshal(masked(v))
}

func masked(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	case map[string]any:
		if key, ok := v["key"].(string); ok && slices.Contains([]string{"env", "pluginConfigs"}, key) || ok && secretName().MatchString(key) {
			v["value"] = scalarsHidden(v["value"])
			return v
		}
		for k, inner := range v {
			if text, ok := inner.(string); ok && text != "" && secretName().MatchString(k) {
				v[k] = hidden
				continue
			}
			v[k] = masked(inner)
		}
	}
	return v
}

// scalarsHidden hides every value below a node of the settings and keeps names and places.
func scalarsHidden(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = scalarsHidden(v[i])
		}
		return v
	case map[string]any:
		for k, inner := range v {
			switch k {
			case "scalar":
				v[k] = hidden
			case "members", "elems", "over", "value":
				v[k] = scalarsHidden(inner)
			}
		}
		return v
	case string:
		return hidden
	}
	return v
}
