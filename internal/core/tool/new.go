package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// New makes a Tool of a function over a typed input. In is a struct with JSON tags whose fields
// are those of spec.Schema. New panics when spec is unusable (no name, a schema that is no object):
// that is a mistake in this program, found by any test that builds the tool.
//
// Normalise checks the input against the schema, turns numbers and booleans written as strings
// into what the schema asks for (models do that), and applies the [Normaliser] option. Unknown
// keys stay. Without a [Traiter] a call has zero Traits: it changes something and runs alone.
func New[In any](spec Spec, run func(ctx context.Context, in In, call Call) (Result, error), opts ...Option[In]) Tool {
	t := &typed[In]{spec: spec, run: run}
	for _, o := range opts {
		o(t)
	}
	if spec.Name == "" {
		panic("tool.New: a tool needs a name")
	}
	if !json.Valid(spec.Schema) || !bytes.HasPrefix(bytes.TrimSpace(spec.Schema), []byte("{")) {
		panic("tool.New: " + spec.Name + ": the schema is no JSON object")
	}
	t.schema = sync.OnceValue(func() *schema {
		s, err := parseSchema(spec.Schema)
		if err != nil {
			panic("tool.New: " + spec.Name + ": " + err.Error())
		}
		return s
	})
	return t
}

// Option adds to a tool made by [New].
type Option[In any] func(*typed[In])

// Normaliser sets the function that fills in defaults and makes paths absolute. It gets and
// returns the decoded input; what it changes is written back over the fields it knows.
func Normaliser[In any](f func(in In, call Call) (In, error)) Option[In] {
	return func(t *typed[In]) { t.normalise = f }
}

// Traiter sets the function that says what a call would do.
func Traiter[In any](f func(in In, call Call) Traits) Option[In] {
	return func(t *typed[In]) { t.traits = f }
}

// Always gives every call the same traits.
func Always[In any](traits Traits) Option[In] {
	return Traiter(func(In, Call) Traits { return traits })
}

type typed[In any] struct {
	spec      Spec
	schema    func() *schema
	run       func(context.Context, In, Call) (Result, error)
	normalise func(In, Call) (In, error)
	traits    func(In, Call) Traits
}

func (t *typed[In]) Spec() Spec { return t.spec }

func (t *typed[In]) Normalise(call Call) (Call, error) {
	fixed, err := t.schema().check(t.spec.Name, call.Literal)
	if err != nil {
		return call, err
	}
	call.Name, call.Input = t.spec.Name, fixed
	if t.normalise == nil {
		return call, nil
	}
	in, err := t.decode(call)
	if err != nil {
		return call, err
	}
	before, err := encodeJSON(in) // now: the function may change what in points to
	if err != nil {
		return call, err
	}
	if in, err = t.normalise(in, call); err != nil {
		return call, err
	}
	call.Input, err = overlay(fixed, before, in)
	return call, err
}

func (t *typed[In]) Traits(call Call) Traits {
	if t.traits == nil {
		return Traits{}
	}
	in, err := t.decode(call)
	if err != nil { // not normalised: claim the most
		return Traits{}
	}
	return t.traits(in, call)
}

func (t *typed[In]) Run(ctx context.Context, call Call) (Result, error) {
	in, err := t.decode(call)
	if err != nil {
		return Misuse(err.Error()), nil
	}
	if call.Progress == nil {
		call.Progress = func(Progress) {}
	}
	return t.run(ctx, in, call)
}

func (t *typed[In]) decode(call Call) (In, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return in, fmt.Errorf("InputValidationError: %s failed: %w", t.spec.Name, err)
	}
	return in, nil
}

// overlay writes the fields of in over those of the object raw; other keys of raw stay, in order.
// A field that was in before, the encoded value as it came, and is no more was cleared: it goes.
func overlay(raw, before json.RawMessage, in any) (json.RawMessage, error) {
	encoded, err := encodeJSON(in)
	if err != nil {
		return nil, err
	}
	base, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	old, err := readObject(before)
	if err != nil {
		return nil, err
	}
	over, err := readObject(encoded)
	if err != nil {
		return nil, err
	}
	for _, f := range old {
		if _, ok := over.get(f.key); !ok {
			base = slices.DeleteFunc(base, func(b field) bool { return b.key == f.key })
		}
	}
	for _, f := range over {
		base = base.set(f.key, f.value)
	}
	return base.encode()
}
