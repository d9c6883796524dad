package jsonc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

func parse(t testing.TB, text string) *jsonc.Doc {
	t.Helper()
	d, err := jsonc.Parse(origin.User, "f.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestKF040_BOMCommentsTrailingCommas(t *testing.T) {
	d := parse(t, "\ufeff// head\n{\n\t\"a\": 1, /* in between */ \"b\": [1, 2,],\n  // last\n  \"c\": {\"d\": null,},\n} // end without line break")
	if got, want := string(d.Root().JSON()), `{"a":1,"b":[1,2],"c":{"d":null}}`; got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
	at := d.At(d.Root().Get("c", "d"))
	if want := (origin.Origin{Scope: origin.User, File: "f.json", Line: 5, Column: 14}); at != want {
		t.Errorf("position is %v, want %v", at, want)
	}
	if !bytes.HasPrefix(d.Bytes(), []byte("\ufeff// head")) {
		t.Error("the byte order mark or the first comment is gone")
	}
}

func TestParseErrorsNameThePlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f.json:1:1: the text is empty"},
		{"  \n ", "the text is empty"},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", "f.json:3:3: invalid character '\"' after object value"},
		{"{\n  \"a\": {\n", "the '{' of line 2, column 8 is not closed"},
		{"{\"a\": \"x", "the '{' of line 1, column 1 is not closed"},
		{"\"x", "the text ends too early"},
		{"{\"a\": tru}", "f.json:1:7: invalid literal: tru"},
		{"{\"a\": 1}\n}", "f.json:2:1: invalid character '}'"},
		{"{\"a\": \xff}", "f.json:1:7: the text is not UTF-8 here"},
		{"{a: 1}", "f.json:1:2"},
		{"{'a': 1}", "f.json:1:2"},
		{strings.Repeat("[", 1001), "f.json:1:1001: nested deeper than 1000 levels"},
		{"/* never closed", "the text ends too early"},
	} {
		_, err := jsonc.Parse("", "f.json", []byte(c.text))
		var se *jsonc.SyntaxError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: error is %v, want %q", c.text, err, c.want)
		}
	}
}

func TestDeepNestingIsNoCrash(t *testing.T) {
	text := strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20)
	if _, err := jsonc.Parse("", "f", []byte(text)); err == nil {
		t.Error("a million levels were accepted")
	}
	deep := strings.Repeat("[", jsonc.MaxDepth) + strings.Repeat("]", jsonc.MaxDepth)
	if _, err := jsonc.Parse("", "f", []byte(deep)); err != nil {
		t.Error(err)
	}
}

func TestOfDoubleKeysTheLastCounts(t *testing.T) {
	n := parse(t, `{"a": 1, "b": 2, "a": {"x": 3}}`).Root()
	if got := string(n.JSON()); got != `{"a":{"x":3},"b":2}` {
		t.Errorf("reads %s", got)
	}
	if got := n.Get("a", "x").Text(); got != "3" {
		t.Errorf("a.x is %q", got)
	}
	if len(n.Members) != 3 {
		t.Error("the double was hidden; who validates must see it")
	}
}

func TestGetOnNothing(t *testing.T) {
	n := parse(t, `{"a": ["x"]}`).Root()
	for _, path := range [][]string{{"b"}, {"a", "1"}, {"a", "-1"}, {"a", "x"}, {"a", "0", "y"}, {"b", "c", "d"}} {
		if got := n.Get(path...); got != nil {
			t.Errorf("%v leads to %s", path, got.JSON())
		}
	}
	if got := n.Get("a", "0").Text(); got != "x" {
		t.Errorf("a.0 is %q", got)
	}
}

func raw(v ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(v))
	for i := range v {
		out[i] = json.RawMessage(v[i])
	}
	return out
}

func path(s string) []string { return strings.Split(s, ".") }

func TestEditsChangeNothingElse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		edit     func(*jsonc.Doc) error
		want     string
	}{
		{
			"append keeps comments, order and mixed indentation",
			"\ufeff{\n  // rules\n  \"permissions\": {\n\t\"allow\": [\n      \"A\", // first\n      \"B\" /* last */\n    ],\n  },\n  \"zzz\": 1,\n}\n",
			func(d *jsonc.Doc) error { return d.Append(path("permissions.allow"), raw(`"C<d>"`)...) },
			"\ufeff{\n  // rules\n  \"permissions\": {\n\t\"allow\": [\n      \"A\", // first\n      \"B\", /* last */\n      \"C<d>\"\n    ],\n  },\n  \"zzz\": 1,\n}\n",
		},
		{
			"append to one line", `{"a": ["x"]}`,
			func(d *jsonc.Doc) error { return d.Append(path("a"), raw(`"x"`, `"y"`, `"y"`)...) },
			`{"a": ["x", "y"]}`,
		},
		{
			"append what is there already", `{"a": ["x<" , {"k":1, "l":2}]}`,
			func(d *jsonc.Doc) error { return d.Append(path("a"), raw(`"x\u003c"`, `{"l":2,"k":1}`)...) },
			`{"a": ["x<" , {"k":1, "l":2}]}`,
		},
		{
			"append keeps a trailing comma", "{\n  \"a\": [\n    1,\n  ],\n}",
			func(d *jsonc.Doc) error { return d.Append(path("a"), raw("2", "3")...) },
			"{\n  \"a\": [\n    1,\n    2,\n    3,\n  ],\n}",
		},
		{
			"append makes what is missing", "{}\n",
			func(d *jsonc.Doc) error { return d.Append(path("permissions.allow"), raw(`"Bash(a \\u003c b)"`)...) },
			"{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a \\\\u003c b)\"\n    ]\n  }\n}\n",
		},
		{
			"append into an empty array of a file with tabs", "{\n\t\"a\": [],\n\t\"b\": 1\n}",
			func(d *jsonc.Doc) error { return d.Append(path("a"), raw("1", "2")...) },
			"{\n\t\"a\": [\n\t\t1,\n\t\t2\n\t],\n\t\"b\": 1\n}",
		},
		{
			"empty object that holds a comment", "{\n  // nothing yet\n}",
			func(d *jsonc.Doc) error { return d.Set(path("a"), json.RawMessage("1")) },
			"{\n  // nothing yet\n  \"a\": 1\n}",
		},
		{
			"CRLF stays CRLF", "{\r\n    \"a\": 1\r\n}\r\n",
			func(d *jsonc.Doc) error { return d.Set(path("b.c"), json.RawMessage("[1]")) },
			"{\r\n    \"a\": 1,\r\n    \"b\": {\r\n        \"c\": [\r\n            1\r\n        ]\r\n    }\r\n}\r\n",
		},
		{
			"set replaces a value only", "{\n  \"a\": \"x\", // keep\n  \"b\": 2\n}",
			func(d *jsonc.Doc) error { return d.Set(path("a"), json.RawMessage(`"y"`)) },
			"{\n  \"a\": \"y\", // keep\n  \"b\": 2\n}",
		},
		{
			"set of the same value", `{"a": 1.0}`,
			func(d *jsonc.Doc) error { return d.Set(path("a"), json.RawMessage(`1.0`)) },
			`{"a": 1.0}`,
		},
		{
			"set of a dotted name is one key when given as one", `{"env": {"a.b": "1"}}`,
			func(d *jsonc.Doc) error { return d.Set([]string{"env", "a.b"}, json.RawMessage(`"2"`)) },
			`{"env": {"a.b": "2"}}`,
		},
		{
			"delete a middle line", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}",
			func(d *jsonc.Doc) error { return d.Delete(path("b")) },
			"{\n  \"a\": 1,\n  \"c\": 3\n}",
		},
		{
			"delete the last line", "{\n  \"a\": 1, // x\n  \"b\": 2\n}",
			func(d *jsonc.Doc) error { return d.Delete(path("b")) },
			"{\n  \"a\": 1 // x\n}",
		},
		{
			"delete doubles too", `{"a": 1, "b": 2, "a": 3}`,
			func(d *jsonc.Doc) error { return d.Delete(path("a")) },
			`{"b": 2}`,
		},
		{
			"delete what is not there", `{"a": 1}`,
			func(d *jsonc.Doc) error {
				return errors.Join(d.Delete(path("b")), d.Delete(path("b.c")), d.Delete(nil))
			},
			`{"a": 1}`,
		},
		{
			"remove from the middle of a line", `{"a": [1, 2, 3]}`,
			func(d *jsonc.Doc) error { return d.Remove(path("a"), is("2")) },
			`{"a": [1, 3]}`,
		},
		{
			"remove behind a line comment", "[1, // x\n 2 ]",
			func(d *jsonc.Doc) error { return d.Remove(nil, is("2")) },
			"[1 // x\n  ]",
		},
		{
			"remove all", "{\n  \"a\": [\n    1, // one\n    1\n  ]\n}",
			func(d *jsonc.Doc) error { return d.Remove(path("a"), is("1")) },
			"{\n  \"a\": [\n    // one\n  ]\n}",
		},
	} {
		d := parse(t, c.in)
		if err := c.edit(d); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(d.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func is(value string) func(json.RawMessage) bool {
	return func(v json.RawMessage) bool { return string(v) == value }
}

func TestEditsThatCannotBe(t *testing.T) {
	for _, edit := range []func(*jsonc.Doc) error{
		func(d *jsonc.Doc) error { return d.Set(path("a.b"), json.RawMessage("1")) },
		func(d *jsonc.Doc) error { return d.Append(path("a"), raw("1")...) },
		func(d *jsonc.Doc) error { return d.Append(path("o"), raw("1")...) },
		func(d *jsonc.Doc) error { return d.Set(path("x"), json.RawMessage("{")) },
		func(d *jsonc.Doc) error { return d.Append(path("l"), raw("nope")...) },
	} {
		const text = `{"a": "text", "o": {}, "l": []}`
		d := parse(t, text)
		if err := edit(d); err == nil || string(d.Bytes()) != text {
			t.Errorf("error %v, text %s", err, d.Bytes())
		}
	}
}

// Whatever the text looks like: after setting a key it has the new value, and every other key the
// old one.
func TestSetChangesOneKeyOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		extra := rapid.SampledFrom([]string{"", " ", "\n", "\r\n  ", "\t", "/* c */", "// l\n", " // , } \n\t"})
		value := rapid.SampledFrom([]string{"1", `"s"`, "{}", "[]", "null", `{"k": [1,]}`, "[ 1, 2 ]", "{ // x\n}"})
		var b strings.Builder
		b.WriteString(extra.Draw(t, "head") + "{")
		n := rapid.IntRange(0, 4).Draw(t, "n")
		for i := range n {
			b.WriteString(extra.Draw(t, "e1") + `"` + string(rune('a'+i)) + `"` + extra.Draw(t, "e2") + ":" +
				extra.Draw(t, "e3") + value.Draw(t, "v") + extra.Draw(t, "e4"))
			if i < n-1 || rapid.Bool().Draw(t, "trailing") {
				b.WriteString(",")
			}
		}
		b.WriteString(extra.Draw(t, "e5") + "}" + extra.Draw(t, "tail"))
		d, err := jsonc.Parse("", "f", []byte(b.String()))
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		before := decode(t, d)
		key := string(rune('a' + rapid.IntRange(0, 4).Draw(t, "key")))
		deleted := rapid.Bool().Draw(t, "delete")
		if deleted {
			err = d.Delete([]string{key})
			delete(before, key)
		} else {
			err = d.Set([]string{key}, json.RawMessage(`{"new":[true]}`))
			before[key] = map[string]any{"new": []any{true}}
		}
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		if diff := cmp.Diff(before, decode(t, d)); diff != "" {
			t.Fatalf("%q became %q:\n%s", b.String(), d.Bytes(), diff)
		}
		for _, comment := range []string{"/* c */", "// l", "// , } "} {
			if was, now := strings.Count(b.String(), comment), strings.Count(string(d.Bytes()), comment); now != was && !deleted {
				t.Fatalf("of %d comments %q %d are left: %q became %q", was, comment, now, b.String(), d.Bytes())
			}
		}
	})
}

func decode(t interface{ Fatalf(string, ...any) }, d *jsonc.Doc) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(d.Root().JSON(), &v); err != nil {
		t.Fatalf("%s: %v", d.Bytes(), err)
	}
	return v
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"{}", `{"a":[1,2.5e3,"x\n",true,null,],}// c`, "\ufeff[]", `{"a":{"b":{"c":1}}}`, "/**/1", "{\"a\":1,\"a\":2}", "[", "\"\\ud800\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := jsonc.Parse("", "f", text)
		if err != nil {
			var se *jsonc.SyntaxError
			if !errors.As(err, &se) || se.At.Line < 1 || se.At.Column < 1 {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		if !bytes.Equal(d.Bytes(), text) {
			t.Fatalf("text changed by reading: %q", d.Bytes())
		}
		if !json.Valid(d.Root().JSON()) {
			t.Fatalf("not JSON: %s", d.Root().JSON())
		}
		if json.Valid(text) {
			var a, b any
			if json.Unmarshal(text, &a) == nil && json.Unmarshal(d.Root().JSON(), &b) == nil && !cmp.Equal(a, b) {
				t.Fatalf("means something else: %s", d.Root().JSON())
			}
		}
		if d.Root().Kind != jsonc.Object {
			return
		}
		if err := d.Set([]string{"fuzz", "key"}, json.RawMessage(`["v"]`)); err != nil && d.Root().Get("fuzz") == nil {
			t.Fatalf("cannot be set: %v", err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`{"permissions": {"allow": [` + strings.Repeat(`"Bash(npm run test *)", // comment`+"\n", 100) + `]}, "model": "x"}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := jsonc.Parse("", "f", text); err != nil {
			b.Fatal(err)
		}
	}
}
