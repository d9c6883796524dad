// Package structured is the StructuredOutput tool: the answer of a turn as JSON of a schema that
// the caller gave. It exists only where there is such a schema.
//
// It does not decide when it must be called: the system prompt and one reminder ([Reminder]) ask
// for it. Begin with [New].
package structured

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Name is the name of the tool.
const Name = "StructuredOutput"

// Reminder is said once to a model that ends its turn without having called the tool.
const Reminder = "You have not given the result yet. Call " + Name + " now, once, with the result in the form its schema asks for."

// Tries is how many answers that do not fit the schema a turn may make.
const Tries = 5

const description = `Gives the final result of this task. Call it exactly once, at the end, with everything the schema asks for; the turn ends with it.`

// Output is the tool together with what it counts. It is safe for concurrent use.
type Output struct {
	spec   tool.Spec
	schema *jsonschema.Resolved

	mu     sync.Mutex // guards the rest
	failed int        // answers of this turn that did not fit
	given  bool       // this turn's answer is given
}

// New returns the tool for a schema. An error says in words what is wrong with it: no JSON, no JSON
// Schema (draft 7 and 2020-12 are known), or not a schema of an object.
func New(schema json.RawMessage) (*Output, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("read the output schema: expected a JSON Schema object: %w", err)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(schema), []byte("{")) {
		return nil, fmt.Errorf("read the output schema: expected an object, found %s", bytes.TrimSpace(schema))
	}
	if s.Type != "" && s.Type != "object" {
		return nil, fmt.Errorf("read the output schema: expected \"type\": \"object\" at the top, found %q; wrap the value in an object", s.Type)
	}
	switch s.Schema {
	case "", "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2020-12/schema":
	default:
		s.Schema = "" // another draft: what it shares with the newest is checked
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("read the output schema: %w", err)
	}
	return &Output{spec: tool.Spec{Name: Name, Description: description, Schema: schema, EndsTurn: true}, schema: resolved}, nil
}

// Begin starts a turn: the tool may be called again. Given tells whether it was called with success
// since.
func (o *Output) Begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed, o.given = 0, false
}

// Given tells whether this turn's result was given.
func (o *Output) Given() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.given
}

// Spec implements tool.Tool.
func (o *Output) Spec() tool.Spec { return o.spec }

// Normalise implements tool.Tool. The input is the result itself, so it is left as it is; whether
// it fits is told by Run, since its tries are counted.
func (o *Output) Normalise(call tool.Call) (tool.Call, error) {
	call.Name, call.Input = Name, call.Literal
	if len(bytes.TrimSpace(call.Input)) == 0 {
		call.Input = json.RawMessage("{}")
	}
	return call, nil
}

// Traits implements tool.Tool.
func (o *Output) Traits(tool.Call) tool.Traits { return tool.Traits{ReadOnly: true, NoEffect: true} }

// Run implements tool.Tool.
func (o *Output) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.given {
		return tool.Failed("The result has been given already; it cannot be given twice."), nil
	}
	if problem := o.check(call.Input); problem != "" {
		o.failed++
		out := tool.Failed(fmt.Sprintf("The result does not fit the schema: %s", problem))
		if o.failed >= Tries {
			out.End = &tool.End{Reason: fmt.Sprintf("no result that fits the schema in %d tries: %s", Tries, problem), Outcome: string(proto.EndStructRetry)}
		}
		return out, nil
	}
	o.given = true
	out := tool.Text("The result was accepted.")
	out.Structured = call.Input
	out.End = &tool.End{Reason: "the result was given", Outcome: string(proto.EndStructured)}
	return out, nil
}

// check returns what does not fit, empty when all does.
func (o *Output) check(input json.RawMessage) string {
	var value any
	if err := json.Unmarshal(input, &value); err != nil {
		return err.Error()
	}
	if _, ok := value.(map[string]any); !ok {
		return "expected an object"
	}
	if err := o.schema.Validate(value); err != nil {
		return err.Error()
	}
	return ""
}
