package inspect

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Field is one field of the state.
type Field struct {
	Name     string // slice.field
	Type     string
	Lifetime string // process or session
	Writer   string // who alone changes it, and when
}

// Shape is the types of the state: the root of a process and that of a session, each a struct of pointers
// to slices. Writers say who changes a slice, or one of its fields, and when.
type Shape struct {
	Process, Session reflect.Type
	Writers          map[string]string
}

// Fields lists every field of the state, in the order of the types. It is made from the types.
func (s Shape) Fields() []Field {
	var out []Field
	add := func(owner reflect.Type, lifetime string) {
		for f := range structFields(owner) {
			name := jsonName(f)
			if f.Type.Kind() != reflect.Pointer || f.Type.Elem() == s.Process {
				continue
			}
			out = append(out, fieldsOf(name, f.Type.Elem(), lifetime)...)
		}
	}
	add(s.Process, "process")
	add(s.Session, "session")
	for i := range out {
		slice, _, _ := strings.Cut(out[i].Name, ".")
		out[i].Writer = cmp.Or(s.Writers[out[i].Name], s.Writers[slice])
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

// Pick returns parts of a snapshot by "slice" or "slice.field"; a part that is not there is an error.
func (s Shape) Pick(snapshot json.RawMessage, paths []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, path := range paths {
		at := snapshot
		if !s.known(path) {
			return nil, usage("no field %q in the state: myelin state --fields lists them", path)
		}
		names := strings.Split(path, ".")
		if s.ofProcess(names[0]) {
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

// known says whether a path names a slice, a field, or something inside one.
func (s Shape) known(path string) bool {
	return slices.ContainsFunc(s.Fields(), func(f Field) bool {
		return f.Name == path || strings.HasPrefix(f.Name, path+".") || strings.HasPrefix(path, f.Name+".")
	})
}

// ofProcess says whether a slice lives as long as the process.
func (s Shape) ofProcess(slice string) bool {
	for f := range structFields(s.Process) {
		if jsonName(f) == slice {
			return true
		}
	}
	return false
}
