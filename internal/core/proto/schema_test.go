package proto_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

const schemaFile = "../../../docs/events.schema.json"

// TestSchemaIsCurrent compares docs/events.schema.json with the types it is made of; run the test
// with -update to write it anew.
func TestSchemaIsCurrent(t *testing.T) {
	got, err := json.MarshalIndent(wireSchema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say: go test ./internal/core/proto -run Schema -update", schemaFile)
	}
}

// TestSamplesFitTheSchema: what is written is what the schema tells others to expect, and a wrong
// type is not.
func TestSamplesFitTheSchema(t *testing.T) {
	resolved, err := wireSchema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, e := range sampleEvents() {
		all = append(all, e)
	}
	for _, o := range sampleOps() {
		all = append(all, o)
	}
	for _, b := range proto.EventBodies() {
		all = append(all, proto.E(b))
	}
	for _, v := range all {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]any{}
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(fields); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		fields["of_tomorrow"] = true
		if err := resolved.Validate(fields); err != nil {
			t.Errorf("an unknown field: %v", err)
		}
		fields["v"] = "one"
		if resolved.Validate(fields) == nil {
			t.Errorf("%s with a wrong version fits the schema", raw)
		}
	}
}

func wireSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema",
		Title:  "myelin operations and events",
		Description: "One object a line. Operations go in, events come out. Unknown fields are to be kept, " +
			"unknown events to be passed over, a version (v) above the one known to be refused.",
		Defs: map[string]*jsonschema.Schema{
			"block": {
				Type: "object", Required: []string{"type"}, Properties: map[string]*jsonschema.Schema{"type": {Type: "string"}},
				Description: "a content block in the public shape of the Messages API: text, thinking, redacted_thinking, tool_use, tool_result, image, document, or another one to be carried along",
			},
		},
	}
	s.Defs["message"] = schemaOf(t, reflect.TypeFor[msg.Message](), false)
	for _, e := range sampleEvents() {
		name := "event_" + e.Type
		s.Defs[name] = whole(t, reflect.TypeFor[proto.Event](), reflect.TypeOf(e.Body), e.Type)
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + name})
	}
	for _, o := range sampleOps() {
		name := "op_" + o.Type
		s.Defs[name] = whole(t, reflect.TypeFor[proto.Op](), reflect.TypeOf(o.Body), o.Type)
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + name})
	}
	return s
}

// whole is the schema of head and body in one object.
func whole(t *testing.T, head, body reflect.Type, kind string) *jsonschema.Schema {
	t.Helper()
	s, h := schemaOf(t, body, true), schemaOf(t, head, true)
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	for name, p := range h.Properties {
		s.Properties[name] = p
	}
	var is any = kind
	s.Properties["type"] = &jsonschema.Schema{Const: &is}
	s.Required = append([]string{"v", "type"}, s.Required...)
	return s
}

// schemaOf infers the schema of a type. With refs, messages are referred to by name.
func schemaOf(t *testing.T, of reflect.Type, refs bool) *jsonschema.Schema {
	t.Helper()
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[msg.Block]():       {Ref: "#/$defs/block"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[proto.EventBody](): {},
		reflect.TypeFor[proto.OpBody]():    {},
	}
	if refs {
		special[reflect.TypeFor[msg.Message]()] = &jsonschema.Schema{Ref: "#/$defs/message"}
	}
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: special})
	if err != nil {
		t.Fatalf("%v: %v", of, err)
	}
	loosen(s)
	return s
}

// loosen takes back what inference adds, that there are no other fields, and lets null stand for an
// empty map, since Go writes it so (for lists inference says that itself).
func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if isFalse(s.AdditionalProperties) {
		s.AdditionalProperties = nil
	}
	if s.Type == "object" && s.AdditionalProperties != nil {
		s.Type, s.Types = "", []string{"null", "object"}
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
	loosen(s.AdditionalProperties)
}

func isFalse(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	raw, err := json.Marshal(s)
	return err == nil && strings.TrimSpace(string(raw)) == "false"
}
