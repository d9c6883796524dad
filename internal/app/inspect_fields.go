package app

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/feature/session"
)

type sessionState = session.State

// Field is one field of the state.
type Field struct {
	Name     string // slice.field
	Type     string
	Lifetime string // process or session
	Writer   string // who alone changes it, and when
}

// writers say who changes a slice, and when. A field's own entry wins.
func writers() map[string]string {
	return map[string]string{
		"config":     "feature/config, on load and reload",
		"policy":     "feature/policy, on fetch, expiry and refresh",
		"session":    "feature/session, on operations of surfaces and turns",
		"permission": "feature/permission, on settings, answers and changes of mode",
		"trust":      "feature/trust, at the start and on the answer",
		"tool":       "app/pool, whenever the pool is assembled",
		"task":       "feature/task, from any depth",
		"surfaces":   "app, on an operation of that surface",
		"cost":       "feature/cost, from any depth",
		"shaping":    "feature/shaping, each round",
		"transcript": "feature/transcript, with each record",
		"prompt":     "feature/prompt, each round",
		"hook":       "feature/hook, on load and when hooks run",
		"todo":       "feature/todo, by the list's tools",
		"memory":     "feature/memory, when instruction files are loaded",

		"permission.sandbox": "app, when the sandbox was looked at",
		"session.cwd":        "feature/session, when a command leaves the shell elsewhere",
		"session.model":      "feature/session, on a change of model",
	}
}

// Fields lists every field of the state, in the order of the types. It is made from the types.
func Fields() []Field {
	var out []Field
	add := func(owner reflect.Type, lifetime string) {
		for f := range structFields(owner) {
			name := jsonName(f)
			if f.Type.Kind() != reflect.Pointer || f.Type.Elem() == reflect.TypeFor[Process]() {
				continue
			}
			out = append(out, fieldsOf(name, f.Type.Elem(), lifetime)...)
		}
	}
	add(reflect.TypeFor[Process](), "process")
	add(reflect.TypeFor[State](), "session")
	for i := range out {
		slice, _, _ := strings.Cut(out[i].Name, ".")
		out[i].Writer = writers()[slice]
		if w := writers()[out[i].Name]; w != "" {
			out[i].Writer = w
		}
	}
	return out
}

// fieldsOf lists the fields of a struct; structs inside it are listed by their fields.
func fieldsOf(prefix string, t reflect.Type, lifetime string) []Field {
	var out []Field
	for f := range structFields(t) {
		name := prefix + "." + jsonName(f)
		if nested(f.Type) {
			out = append(out, fieldsOf(name, f.Type, lifetime)...)
			continue
		}
		out = append(out, Field{Name: name, Type: typeName(f.Type), Lifetime: lifetime})
	}
	return out
}

func structFields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && jsonName(f) != "-" && !yield(f) {
				return
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// nested says whether a field is a struct of this program's own that is listed by its fields.
func nested(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && ours(t) && !strings.Contains(t.Name(), "[")
}

func ours(t reflect.Type) bool { return strings.Contains(t.PkgPath(), "/internal/") }

// typeName is a type for people. The structs in lists and maps are shown by their fields' names, as
// far as they are not shown already.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem()) + "?"
	case reflect.Slice:
		return "[]" + typeName(t.Elem())
	case reflect.Map:
		return "map " + typeName(t.Key()) + " → " + typeName(t.Elem())
	case reflect.Struct:
		if name, arguments, ok := strings.Cut(t.Name(), "["); ok && name == "Map" {
			return mapName(t, arguments)
		}
		if ours(t) {
			return t.Name() + " " + members(t)
		}
	}
	if t.Name() == "" {
		return t.String()
	}
	return strings.ToLower(t.Name()[:1]) + t.Name()[1:]
}

// mapName names a persistent map by what its method Get returns.
func mapName(t reflect.Type, arguments string) string {
	key, _, _ := strings.Cut(arguments, ",")
	value := arguments
	if get, ok := t.MethodByName("Get"); ok {
		value = typeName(get.Type.Out(0))
	}
	return "map " + key + " → " + value
}

func members(t reflect.Type) string {
	var names []string
	for f := range structFields(t) {
		names = append(names, jsonName(f))
	}
	return "{" + strings.Join(names, ", ") + "}"
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

// Pick returns parts of a snapshot by "slice" or "slice.field"; a part that is not there is an error.
func Pick(snapshot json.RawMessage, paths []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, path := range paths {
		at := snapshot
		if !knownField(path) {
			return nil, usage("no field %q in the state: myelin state --fields lists them", path)
		}
		names := strings.Split(path, ".")
		if names[0] == "config" || names[0] == "policy" {
			names = append([]string{"process"}, names...)
		}
		for _, name := range names {
			var object map[string]json.RawMessage
			if json.Unmarshal(at, &object) != nil || object[name] == nil {
				at = json.RawMessage("null") // a field that is left out when it is empty
				break
			}
			at = object[name]
		}
		out[path] = at
	}
	return out, nil
}

// knownField says whether a path names a slice, a field, or something inside one.
func knownField(path string) bool {
	return slices.ContainsFunc(Fields(), func(f Field) bool {
		return f.Name == path || strings.HasPrefix(f.Name, path+".") || strings.HasPrefix(path, f.Name+".")
	})
}
