package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Schema is the JSON Schema (draft-07, which editors know best) of a settings file: the catalogue,
// refined by sections. docs/settings.schema.json is Schema without sections.
func Schema(sections ...Section) ([]byte, error) {
	cat := catalogueOf(sections)
	root := object("Settings of myelin. Comments and trailing commas are allowed.")
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "myelin settings"
	for _, name := range cat.order {
		k := cat.keys[name]
		if k.Scopes == InGlobal {
			continue // it stands in the state file
		}
		s, err := keySchema(k)
		if err != nil {
			return nil, err
		}
		place(root, strings.Split(name, "."), s)
	}
	place(root, []string{"$schema"}, map[string]any{"type": "string"})
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write settings schema: %w", err)
	}
	return append(out, '\n'), nil
}

func object(text string) map[string]any {
	return map[string]any{"type": "object", "description": text, "properties": map[string]any{}}
}

// place puts a key's schema where its name says, making the objects on the way.
func place(at map[string]any, path []string, schema map[string]any) {
	for _, step := range path[:len(path)-1] {
		props, _ := at["properties"].(map[string]any)
		next, ok := props[step].(map[string]any)
		if !ok {
			next = object("")
			delete(next, "description")
			props[step] = next
		}
		at = next
	}
	props, _ := at["properties"].(map[string]any)
	props[path[len(path)-1]] = schema
}

func keySchema(k *Key) (map[string]any, error) {
	out := map[string]any{}
	if k.schema != nil {
		if err := json.Unmarshal(k.schema, &out); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", k.Name, err)
		}
	} else if err := typeSchema(k, out); err != nil {
		return nil, err
	}
	text := k.Meaning
	if k.Scopes != Anywhere {
		text += " (only in: " + k.Scopes.String() + ")"
	}
	if k.By == "" && k.Lacks == "" && k.Unkept == "" {
		text += " (no effect in this release)"
	}
	out["description"] = text
	return out, nil
}

func typeSchema(k *Key, out map[string]any) error {
	if k.Type&TAny != 0 {
		return nil
	}
	var kinds []map[string]any
	if k.Type&TString != 0 {
		s := map[string]any{"type": "string"}
		if len(k.Enum) > 0 {
			s["enum"] = k.Enum
		}
		kinds = append(kinds, s)
	}
	if k.Type&(TNumber|TInt) != 0 {
		n := map[string]any{"type": "number"}
		if k.Type&TNumber == 0 {
			n["type"] = "integer"
		}
		if k.Max != 0 {
			n["minimum"], n["maximum"] = k.Min, k.Max
		}
		kinds = append(kinds, n)
	}
	for _, t := range []struct {
		bit    Type
		schema map[string]any
	}{
		{TBool, map[string]any{"type": "boolean"}},
		{TStrings, map[string]any{"type": "array", "items": map[string]any{"type": "string"}}},
		{TObjects, map[string]any{"type": "array", "items": map[string]any{"type": "object"}}},
		{TArray, map[string]any{"type": "array"}},
		{TObject, map[string]any{"type": "object"}},
		{TStringMap, map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}},
		{TBoolMap, map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "boolean"}}},
	} {
		if k.Type&t.bit != 0 {
			kinds = append(kinds, t.schema)
		}
	}
	if len(kinds) == 1 {
		for name, v := range kinds[0] {
			out[name] = v
		}
	} else {
		out["anyOf"] = kinds
	}
	if k.Default == "" {
		return nil
	}
	var def any
	if err := json.Unmarshal([]byte(k.Default), &def); err != nil {
		return fmt.Errorf("default of %s: %w", k.Name, err)
	}
	out["default"] = def
	return nil
}
