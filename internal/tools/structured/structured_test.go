package structured

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

const schema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"enum":["a","b"]}}},"required":["n"],"additionalProperties":false}`

func open(t *testing.T, schema string) *Output {
	t.Helper()
	o, err := New(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func call(t *testing.T, o *Output, input string) tool.Result {
	t.Helper()
	c, err := o.Normalise(tool.Call{ID: "c", Literal: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAResultThatFitsEndsTheTurn(t *testing.T) {
	o := open(t, schema)
	r := call(t, o, `{"n": 2, "tags": ["a"]}`)
	if r.IsError || string(r.Structured) != `{"n": 2, "tags": ["a"]}` || r.End == nil || r.End.Outcome != string(proto.EndStructured) || !o.Given() {
		t.Errorf("%+v", r)
	}
	if r := call(t, o, `{"n": 3}`); !r.IsError || r.End != nil {
		t.Errorf("a second time: %+v", r)
	}
	o.Begin()
	if r := call(t, o, `{"n": 3}`); r.IsError {
		t.Errorf("in the next turn: %+v", r)
	}
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	for input, want := range map[string]string{
		`{}`:                        "n",
		`{"n": 0}`:                  "minimum",
		`{"n": "x"}`:                "integer",
		`{"n": 1, "tags": ["c"]}`:   "enum",
		`{"n": 1, "other": true}`:   "other",
		`[1]`:                       "expected an object",
		``:                          "n",
		`{"n": 1, "tags": {"a":1}}`: "array",
	} {
		r := call(t, open(t, schema), input)
		if got := msg.TextOf(r.Content); !r.IsError || !strings.Contains(got, want) || r.End != nil || r.Structured != nil {
			t.Errorf("%s: %q, want it to name %q", input, got, want)
		}
	}
}

func TestTheFifthMissEndsTheTurn(t *testing.T) {
	o := open(t, schema)
	for i := 1; i <= Tries; i++ {
		r := call(t, o, `{}`)
		if ended := r.End != nil; ended != (i == Tries) {
			t.Errorf("try %d: %+v", i, r.End)
		}
		if i == Tries && r.End.Outcome != string(proto.EndStructRetry) {
			t.Errorf("%+v", r.End)
		}
	}
}

func TestSchemasThatCannotBeUsed(t *testing.T) {
	for schema, want := range map[string]string{
		`nonsense`:                          "expected a JSON Schema object",
		`true`:                              "expected an object",
		`{"type": "array"}`:                 `found "array"`,
		`{"type": 7}`:                       "read the output schema",
		`{"$ref": "https://example.org/x"}`: "read the output schema",
	} {
		if _, err := New(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
	if r := call(t, open(t, `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`), `{}`); r.IsError {
		t.Errorf("an older draft: %s", msg.TextOf(r.Content))
	}
}
