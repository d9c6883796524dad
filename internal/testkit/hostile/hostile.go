// Package hostile fills values with texts that try to act on a terminal or to deceive a reader,
// for tests of what prints them.
package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode"
)

// Text is a text with one of everything that must not reach a terminal: an escape sequence, a
// title change, carriage return, backspace, NUL, C1 and direction controls, invisible characters, a
// separator, and a byte that is no UTF-8.
const Text = "a\x1b[2Jb\x1b]0;t\ac\rd\be\x00f\u009bg\u202eh\u2066i\u200bj\ufeffk\u2028l\x7fm\U000e0041n\xffo\nmyelin: forged"

// Acts names the first character of s that acts without being seen; empty when there is none.
// Line feeds and tabs pass.
func Acts(s string) string {
	for i, r := range s {
		if r == '\n' || r == '\t' {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar && s[i] == 0xff {
			return fmt.Sprintf("U+%04X", r)
		}
	}
	return ""
}

// Variants are copies of a struct, each with [Text] behind one of its texts, at any depth.
func Variants(v any) []any {
	var out []any
	n := texts(reflect.ValueOf(v), -1, nil)
	for i := range n {
		var copied reflect.Value
		texts(reflect.ValueOf(v), i, &copied)
		out = append(out, copied.Interface())
	}
	return out
}

// texts counts the texts in a value, and makes a copy of it in which the one numbered at is hostile.
func texts(v reflect.Value, at int, copied *reflect.Value) int {
	w := walk{at: at}
	c := w.value(v)
	if copied != nil {
		*copied = c
	}
	return w.n
}

type walk struct{ n, at int }

func (w *walk) value(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		if w.n++; w.n-1 == w.at {
			out.SetString(v.String() + Text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(w.value(v.Field(i)))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(w.value(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(w.value(v.Elem()))
		}
	case reflect.Slice:
		out.Set(w.slice(v))
	}
	return out
}

func (w *walk) slice(v reflect.Value) reflect.Value {
	if raw, ok := v.Interface().(json.RawMessage); ok {
		return reflect.ValueOf(w.raw(raw))
	}
	if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(w.value(v.Index(i)))
	}
	return out
}

// raw treats the texts within JSON as texts of the value.
func (w *walk) raw(raw json.RawMessage) json.RawMessage {
	var x any
	if len(raw) == 0 || json.Unmarshal(raw, &x) != nil {
		return raw
	}
	out, err := json.Marshal(w.tree(x))
	if err != nil {
		return raw
	}
	return out
}

func (w *walk) tree(x any) any {
	switch x := x.(type) {
	case string:
		if w.n++; w.n-1 == w.at {
			return x + Text
		}
	case []any:
		for i := range x {
			x[i] = w.tree(x[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			x[k] = w.tree(x[k])
		}
	}
	return x
}
