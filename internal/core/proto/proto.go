// Package proto is the one language between the program and its faces: operations go in, events
// come out, and every surface (terminal, headless, SDK, editor, web) speaks it and nothing else.
//
// It is one versioned schema (docs/events.schema.json is generated from it). Unknown fields of an
// event or operation survive a round trip, so that an older reader loses nothing of a newer
// writer. It holds no state but [Asks], the table of open questions. Begin with [Op], [Event] and
// the bodies in ops.go and events.go.
package proto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"sync"
	"time"
)

// Version is the major version of the schema. A reader refuses a newer one.
const Version = 1

// Event is one thing that happened. It is a value; what it points to must not be changed.
type Event struct {
	V       int       `json:"v"`
	Type    string    `json:"type"`              // name of the body's kind
	Seq     uint64    `json:"seq,omitempty"`     // place in the session's order, from 1; 0 until queued
	Session string    `json:"session,omitempty"` // session id
	Agent   string    `json:"agent,omitempty"`   // agent id; empty: the main conversation
	Parent  string    `json:"parent,omitempty"`  // id of the call that started that agent
	Time    time.Time `json:"time,omitzero"`

	Body  EventBody                  `json:"-"`
	Extra map[string]json.RawMessage `json:"-"` // fields this version does not know
}

// Op is one thing somebody asks for.
type Op struct {
	V    int    `json:"v"`
	Type string `json:"type"`
	From string `json:"from,omitempty"` // id of the surface that asks

	Body  OpBody                     `json:"-"`
	Extra map[string]json.RawMessage `json:"-"`
}

// EventBody is the part of an event that its kind defines.
type EventBody interface{ eventKind() string }

// OpBody is the part of an operation that its kind defines.
type OpBody interface{ opKind() string }

// E makes an event of a body. Session, order and time are filled in where it is queued.
func E(body EventBody) Event { return Event{V: Version, Type: body.eventKind(), Body: body} }

// O makes an operation of a body.
func O(body OpBody) Op { return Op{V: Version, Type: body.opKind(), Body: body} }

// MarshalJSON writes head, body and unknown fields as one flat object. Version and type are those
// of the body where they are missing.
func (e Event) MarshalJSON() ([]byte, error) {
	type head Event
	if e.V == 0 {
		e.V = Version
	}
	if e.Type == "" && e.Body != nil {
		e.Type = e.Body.eventKind()
	}
	return flatten(head(e), e.Body, e.Extra)
}

// UnmarshalJSON reads what MarshalJSON writes. An event of an unknown type gets the body [Other].
func (e *Event) UnmarshalJSON(data []byte) error {
	type head Event
	*e = Event{} // nothing of an event read before into the same variable
	if err := json.Unmarshal(data, (*head)(e)); err != nil {
		return err
	}
	if e.V > Version {
		return fmt.Errorf("event has version %d; this program reads up to %d", e.V, Version)
	}
	body, extra, err := unflatten(data, head{}, eventKinds()[e.Type])
	if err != nil {
		return fmt.Errorf("read %s event: %w", e.Type, err)
	}
	e.Extra = extra
	if e.Body, _ = body.(EventBody); e.Body == nil {
		e.Body = Other{Kind: e.Type}
	}
	return nil
}

// MarshalJSON writes head, body and unknown fields as one flat object. Version and type are those
// of the body where they are missing.
func (o Op) MarshalJSON() ([]byte, error) {
	type head Op
	if o.V == 0 {
		o.V = Version
	}
	if o.Type == "" && o.Body != nil {
		o.Type = o.Body.opKind()
	}
	return flatten(head(o), o.Body, o.Extra)
}

// UnmarshalJSON reads what MarshalJSON writes. An unknown operation is an error: it cannot be
// carried out, and who asked must hear of it.
func (o *Op) UnmarshalJSON(data []byte) error {
	type head Op
	*o = Op{}
	if err := json.Unmarshal(data, (*head)(o)); err != nil {
		return err
	}
	if o.V > Version {
		return fmt.Errorf("operation has version %d; this program reads up to %d", o.V, Version)
	}
	kind, ok := opKinds()[o.Type]
	if !ok {
		return fmt.Errorf("unknown operation %q", o.Type)
	}
	body, extra, err := unflatten(data, head{}, kind)
	if err != nil {
		return fmt.Errorf("read %s operation: %w", o.Type, err)
	}
	o.Body, o.Extra = body.(OpBody), extra
	return nil
}

// Other is the body of an event whose type this version does not know; its fields are in Extra.
type Other struct {
	Kind string `json:"-"`
}

func (o Other) eventKind() string { return o.Kind }

func flatten(head, body any, extra map[string]json.RawMessage) ([]byte, error) {
	var buf bytes.Buffer
	for _, part := range []any{head, body} {
		raw, err := encode(part)
		if err != nil {
			return nil, err
		}
		appendFields(&buf, raw)
	}
	keys := make([]string, 0, len(extra))
	for k := range extra {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		raw, err := encode(map[string]json.RawMessage{k: extra[k]})
		if err != nil {
			return nil, err
		}
		appendFields(&buf, raw)
	}
	return append(append([]byte("{"), buf.Bytes()...), '}'), nil
}

func appendFields(buf *bytes.Buffer, object []byte) {
	if string(object) == "null" || string(object) == "{}" { // no body, or one without fields
		return
	}
	inner := object[1 : len(object)-1]
	if buf.Len() > 0 {
		buf.WriteByte(',')
	}
	buf.Write(inner)
}

// unflatten decodes the body of the given kind (nil: none) out of data and returns the fields
// neither head nor body knows.
func unflatten(data []byte, head any, kind reflect.Type) (any, map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, nil, err
	}
	for _, name := range fieldNames(reflect.TypeOf(head)) {
		delete(all, name)
	}
	var body any
	if kind != nil {
		p := reflect.New(kind)
		if err := json.Unmarshal(data, p.Interface()); err != nil {
			return nil, nil, err
		}
		body = p.Elem().Interface()
		for _, name := range fieldNames(kind) {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		all = nil
	}
	return body, all, nil
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := bytes.Cut([]byte(tag), []byte(","))
		if string(name) != "-" && len(name) > 0 {
			out = append(out, string(name))
		}
	}
	return out
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

var eventKinds = sync.OnceValue(func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, b := range EventBodies() {
		out[b.eventKind()] = reflect.TypeOf(b)
	}
	return out
})

var opKinds = sync.OnceValue(func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, b := range OpBodies() {
		out[b.opKind()] = reflect.TypeOf(b)
	}
	return out
})
