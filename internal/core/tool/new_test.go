package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

type input struct {
	Path  string   `json:"path"`
	Limit int      `json:"limit,omitempty"`
	All   bool     `json:"all,omitempty"`
	Mode  string   `json:"mode,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Deep  *input   `json:"deep,omitempty"`
}

const inputSchema = `{
	"type": "object", "required": ["path"],
	"properties": {
		"path": {"type": "string", "minLength": 1},
		"limit": {"type": "integer", "minimum": 1, "maximum": 10},
		"ratio": {"type": "number"},
		"all": {"type": "boolean"},
		"mode": {"type": ["string", "null"], "enum": ["a", "b", null]},
		"tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
		"deep": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}, "additionalProperties": false},
		"any": true
	}
}`

func run(_ context.Context, in input, _ tool.Call) (tool.Result, error) {
	return tool.Text(in.Path), nil
}

func probe(opts ...tool.Option[input]) tool.Tool {
	return tool.New(tool.Spec{Name: "Probe", Schema: json.RawMessage(inputSchema)}, run, opts...)
}

// TestNormalise: what is checked, what is turned into what the schema asks for, what stays.
func TestNormalise(t *testing.T) {
	for name, tc := range map[string]struct{ in, want, err string }{
		"as it should be":            {`{"path":"x","limit":3}`, `{"path":"x","limit":3}`, ""},
		"unknown keys stay in order": {`{"zz":1,"path":"x","aa":{"b":2}}`, `{"zz":1,"path":"x","aa":{"b":2}}`, ""},
		"number as string":           {`{"path":"x","limit":"3"}`, `{"path":"x","limit":3}`, ""},
		"boolean as string":          {`{"path":"x","all":"true"}`, `{"path":"x","all":true}`, ""},
		"list as string":             {`{"path":"x","tags":"[\"a\"]"}`, `{"path":"x","tags":["a"]}`, ""},
		"object as string":           {`{"path":"x","deep":"{\"path\":\"y\"}"}`, `{"path":"x","deep":{"path":"y"}}`, ""},
		"string from number":         {`{"path":7}`, `{"path":"7"}`, ""},
		"whole fraction":             {`{"path":"x","limit":3.0}`, `{"path":"x","limit":3}`, ""},
		"whole exponent as string":   {`{"path":"x","limit":"1e1"}`, `{"path":"x","limit":10}`, ""},
		"fraction stays":             {`{"path":"x","ratio":3.0}`, `{"path":"x","ratio":3.0}`, ""},
		"null is not given":          {`{"path":"x","limit":null}`, `{"path":"x"}`, ""},
		"null where null is a value": {`{"path":"x","mode":null}`, `{"path":"x","mode":null}`, ""},
		"any value":                  {`{"path":"x","any":[1,{}]}`, `{"path":"x","any":[1,{}]}`, ""},
		"html is not escaped":        {`{"path":"<&>"}`, `{"path":"<&>"}`, ""},
		"missing":                    {`{}`, "", "InputValidationError: Probe failed due to the following issue: The required parameter `path` is missing"},
		"nothing at all":             {``, "", "The required parameter `path` is missing"},
		"required null":              {`{"path":null}`, "", "The required parameter `path` is missing"},
		"too short":                  {`{"path":""}`, "", "`path` must have at least 1 characters"},
		"below":                      {`{"path":"x","limit":0}`, "", "`limit` must be at least 1, not 0"},
		"above":                      {`{"path":"x","limit":11}`, "", "`limit` must be at most 10, not 11"},
		"fraction":                   {`{"path":"x","limit":2.5}`, "", "`limit` must be integer, not number"},
		"not in the list":            {`{"path":"x","mode":"c"}`, "", "`mode` must be one of"},
		"too few":                    {`{"path":"x","tags":[]}`, "", "`tags` must have at least 1 items"},
		"too many":                   {`{"path":"x","tags":["a","b","c"]}`, "", "`tags` must have at most 2 items"},
		"wrong item":                 {`{"path":"x","tags":[{}]}`, "", "`tags[0]` must be string, not object"},
		"missing inside":             {`{"path":"x","deep":{}}`, "", "`deep.path` is missing"},
		"unknown in a strict one":    {`{"path":"x","deep":{"path":"y","z":1}}`, "", "`deep.z` is not known"},
		"list for object":            {`[]`, "", "`input` must be object, not array"},
		"null for object":            {`null`, "", "`input` must be object, not null"},
		"torn":                       {`{"path":`, "", "no valid JSON object"},
		"each one named":             {`{"limit":0,"all":"maybe"}`, "", "issues: The required parameter `path` is missing; The parameter `limit` must be at least 1, not 0; The parameter `all` must be boolean, not string"},
	} {
		call, err := probe().Normalise(tool.Call{ID: "1", Literal: json.RawMessage(tc.in)})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want %q", name, err, tc.err)
			}
			continue
		}
		if err != nil || string(call.Input) != tc.want || call.Name != "Probe" || call.ID != "1" || string(call.Literal) != tc.in {
			t.Errorf("%s: %s (%+v), %v; want %s", name, call.Input, call, err, tc.want)
		}
	}
}

// TestNormaliserChangesWhatItKnows: its fields are written over, what it clears goes, all else
// stays where it was.
func TestNormaliserChangesWhatItKnows(t *testing.T) {
	p := probe(tool.Normaliser(func(in input, call tool.Call) (input, error) {
		if in.Path == "bad" {
			return in, errors.New("no such place")
		}
		in.Path = call.Scope.Cwd() + "/" + in.Path
		in.Limit = 0
		in.Tags = append(in.Tags, "new")
		return in, nil
	}))
	scope := tool.NewScope("", "/w")
	got, err := p.Normalise(tool.Call{Scope: scope, Literal: json.RawMessage(`{"other":[1, 2],"limit":3,"path":"x","all":false}`)})
	want := `{"other":[1, 2],"path":"/w/x","all":false,"tags":["new"]}`
	if err != nil || string(got.Input) != want {
		t.Errorf("%s, %v; want %s", got.Input, err, want)
	}
	if _, err := p.Normalise(tool.Call{Scope: scope, Literal: json.RawMessage(`{"path":"bad"}`)}); err == nil || err.Error() != "no such place" {
		t.Errorf("error %v", err)
	}
}

// TestNormaliseTwice: normalising what was normalised changes nothing.
func TestNormaliseTwice(t *testing.T) {
	p := probe()
	value := rapid.SampledFrom([]string{`1`, `"1"`, `3.0`, `"x"`, `true`, `"false"`, `null`, `["a"]`, `"[\"a\",\"b\"]"`, `{"path":"y"}`, `"{}"`, `-1e2`, `""`})
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOf(rapid.SampledFrom([]string{"path", "limit", "ratio", "all", "mode", "tags", "deep", "any", "other"}), value).Draw(t, "fields")
		raw := map[string]json.RawMessage{}
		for k, v := range fields {
			raw[k] = json.RawMessage(v)
		}
		in, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		once, err := p.Normalise(tool.Call{Literal: in})
		if err != nil {
			return
		}
		twice, err := p.Normalise(tool.Call{Literal: once.Input})
		if err != nil || string(once.Input) != string(twice.Input) {
			t.Fatalf("%s\n%s, %v", once.Input, twice.Input, err)
		}
		var decoded input
		if err := json.Unmarshal(once.Input, &decoded); err != nil {
			t.Fatalf("what the schema accepts cannot be read: %v", err)
		}
	})
}

func TestTraitsAndRun(t *testing.T) {
	ctx := t.Context()
	if got := probe().Traits(tool.Call{Input: json.RawMessage(`{"path":"x"}`)}); !cmp.Equal(got, tool.Traits{}) {
		t.Errorf("without a Traiter: %+v", got)
	}
	if got := probe(tool.Always[input](tool.Traits{ReadOnly: true, Beside: true})).Traits(tool.Call{Input: json.RawMessage(`{}`)}); !got.ReadOnly || !got.Beside {
		t.Errorf("with Always: %+v", got)
	}
	byPath := probe(tool.Traiter(func(in input, _ tool.Call) tool.Traits {
		return tool.Traits{ReadOnly: true, Paths: []tool.PathUse{{Path: in.Path, Intent: tool.Read}}}
	}))
	if got := byPath.Traits(tool.Call{Input: json.RawMessage(`{"path":"/x"}`)}); got.Paths[0].Path != "/x" {
		t.Errorf("with a Traiter: %+v", got)
	}
	if got := byPath.Traits(tool.Call{Input: json.RawMessage(`torn`)}); !cmp.Equal(got, tool.Traits{}) {
		t.Errorf("of input that cannot be read, the most must be claimed: %+v", got)
	}
	res, err := probe().Run(ctx, tool.Call{Input: json.RawMessage(`{"path":"x"}`)})
	if err != nil || msg.TextOf(res.Content) != "x" {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = probe().Run(ctx, tool.Call{Input: json.RawMessage(`7`)})
	if err != nil || !res.IsError || !strings.HasPrefix(msg.TextOf(res.Content), "<tool_use_error>InputValidationError: Probe") {
		t.Errorf("of input that cannot be read: %+v, %v", res, err)
	}
	quiet := tool.New(tool.Spec{Name: "P", Schema: json.RawMessage(`{}`)}, func(_ context.Context, _ input, call tool.Call) (tool.Result, error) {
		call.Progress(tool.Progress{Text: "still here"})
		return tool.Result{}, nil
	})
	if _, err := quiet.Run(ctx, tool.Call{Input: json.RawMessage(`{}`)}); err != nil {
		t.Error(err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, spec := range map[string]tool.Spec{
		"no name":   {Schema: json.RawMessage(`{}`)},
		"no schema": {Name: "X"},
		"a list":    {Name: "X", Schema: json.RawMessage(`[]`)},
		"torn":      {Name: "X", Schema: json.RawMessage(`{"type":`)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			tool.New(spec, run)
		}()
	}
}

// TestSmall pins two promises of the design: Call has at most eight fields, and no function of the
// contract more than six parameters.
func TestSmall(t *testing.T) {
	if n := reflect.TypeFor[tool.Call]().NumField(); n > 8 {
		t.Errorf("Call has %d fields, at most 8: a tool gets its world when it is built", n)
	}
	contract := reflect.TypeFor[tool.Tool]()
	if contract.NumMethod() > 4 {
		t.Errorf("Tool has %d methods, at most 4", contract.NumMethod())
	}
	for m := range contract.Methods() {
		if m.Type.NumIn() > 6 {
			t.Errorf("%s has %d parameters", m.Name, m.Type.NumIn())
		}
	}
	if n := reflect.TypeOf(tool.New[input]).NumIn(); n > 6 {
		t.Errorf("New has %d parameters", n)
	}
}

// FuzzNormalise: whatever a model writes, the outcome is an object the tool can read, or a sentence.
func FuzzNormalise(f *testing.F) {
	for _, s := range []string{`{"path":"x"}`, `{"path":1,"limit":"2"}`, `{"deep":{"path":null}}`, `{"tags":["a",1]}`, ``, `nul`, `{"path":"x","path":2}`} {
		f.Add([]byte(s))
	}
	p := probe()
	f.Fuzz(func(t *testing.T, in []byte) {
		call, err := p.Normalise(tool.Call{Literal: in})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "InputValidationError: Probe failed due to") {
				t.Fatalf("a model reads %q", err)
			}
			return
		}
		if !json.Valid(call.Input) {
			t.Fatalf("%s became %s", in, call.Input)
		}
		p.Traits(call)
	})
}
