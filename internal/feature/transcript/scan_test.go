package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// FuzzScan compares with encoding/json: every document that is valid there is stepped over whole
// and taken apart the same; of the others, those with a broken structure are refused.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `{"a":1}`, `{"a":[1,2,{"b":null}],"c":"\"\\\u00e9\ud834\udd1e"}`, ` { "a" : true , "b" : -1.5e+3 } `,
		`{"a":"x`, `{"a" 1}`, `[1,]`, `{"type":"assistant","mes{"type":"user"}`, `"\ud834"`, `"\u12"`, `01`, `-`, `{"a":1}}`, `[[[[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d := &doc{data: in}
		whole := d.whole().ok()
		if json.Valid(in) != whole {
			if !whole {
				t.Fatal("valid, but refused")
			}
			// Only the inside of a string may be judged more mildly: raw control characters
			// and unknown escapes. Everything outside must be as strict.
			if !json.Valid(tame(in)) {
				t.Fatalf("invalid, yet taken")
			}
			return
		}
		if !whole {
			return
		}
		compareFields(t, in)
		compareElements(t, in)
		compareText(t, in)
	})
}

// tame replaces the contents of strings, as scan sees them, by nothing.
func tame(in []byte) []byte {
	var out []byte
	for i := 0; i < len(in); {
		if in[i] == '"' {
			if end := (&doc{data: in}).scanString(i); end > 0 {
				out = append(out, `""`...)
				i = end
				continue
			}
		}
		out = append(out, in[i])
		i++
	}
	return out
}

func compareFields(t *testing.T, in []byte) {
	d := &doc{data: in}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(in, &want); err != nil || want == nil {
		if d.fields(d.whole(), func(string, span) {}) {
			t.Fatal("no object, yet it has fields")
		}
		return
	}
	got := map[string][]byte{}
	if !d.fields(d.whole(), func(k string, v span) { got[text([]byte(`"`+k+`"`))] = d.at(v) }) {
		t.Fatal("an object without fields")
	}
	for k, v := range want {
		if !bytes.Equal(bytes.TrimSpace(v), got[k]) {
			t.Fatalf("%q is %s, want %s", k, got[k], v)
		}
	}
}

func compareElements(t *testing.T, in []byte) {
	d := &doc{data: in}
	var want []json.RawMessage
	if err := json.Unmarshal(in, &want); err != nil {
		return
	}
	got := d.elements(d.whole())
	if len(got) != len(want) {
		t.Fatalf("%d elements, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(bytes.TrimSpace(want[i]), d.at(got[i])) {
			t.Fatalf("element %d is %s, want %s", i, d.at(got[i]), want[i])
		}
	}
}

func compareText(t *testing.T, in []byte) {
	var want string
	trimmed := bytes.TrimSpace(in)
	if err := json.Unmarshal(in, &want); err != nil || len(trimmed) == 0 || trimmed[0] != '"' {
		return
	}
	if got := text(trimmed); utf8.Valid(in) && got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

// TestQuote: what is quoted is JSON of one line for every program, and comes back the same from
// encoding/json and from text.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"\u2028\u2029\u0085\r\x00\x7f\"\\\n\t", "𝄞\xff\xf0\x9d\x84", "<&>"})).Draw(t, "s")
		q := quote.JSON(nil, s)
		if bytes.ContainsAny(q, "\n\r\u2028\u2029\u0085") {
			t.Fatalf("%q is more than one line to somebody", q)
		}
		want := strings.ToValidUTF8(s, "\uFFFD")
		if utf8.ValidString(s) {
			want = s
		}
		var got string
		if err := json.Unmarshal(q, &got); err != nil {
			t.Fatal(err)
		}
		if mine := text(q); mine != got || utf8.ValidString(s) && got != want {
			t.Fatalf("%q came back as %q and %q", s, got, mine)
		}
	})
}

// TestText: escapes mean what they mean to encoding/json, also the broken ones.
func TestText(t *testing.T) {
	for _, in := range []string{
		`"\n\t\r\b\f\"\\\/"`, `"\u00e9\u00E9\ud834\udd1e"`, `"\ud834"`, `"\ud834\u0041"`, `"\udd1e\ud834"`, `"a\u2028b"`, `""`, `"plain"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		if got := text([]byte(in)); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{`"\q"`: "\uFFFD", `"\u12"`: "\uFFFD12", `"\uzzzz"`: "\uFFFDzzzz", `7`: "", ``: "", "\"a\xffb\"": "a\uFFFDb"} {
		if got := text([]byte(in)); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}

// whole is the one value of the doc; none when it is no JSON.
func (d *doc) whole() span {
	from := d.skipBlanks(0)
	to := d.scan(from, 0)
	if to < 0 || d.skipBlanks(to) != len(d.data) {
		return span{}
	}
	return span{from, to}
}
