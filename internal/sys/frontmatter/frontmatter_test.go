package frontmatter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/sys/frontmatter"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

func options() frontmatter.Options {
	return frontmatter.Options{
		Scope: origin.Project, File: "f.md",
		Keys: []string{"name", "description", "argument-hint", "allowed-tools", "tools", "model"},
	}
}

// show writes what was read: body line, fields with lines, warnings.
func show(d frontmatter.Doc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "body %d %q", d.BodyLine, d.Body)
	for _, f := range d.Fields {
		fmt.Fprintf(&b, "\n%d %s=%q", f.At.Line, f.Key, f.Value.Strings())
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "\n! %s", w)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"ordinary", "---\nname: a\ndescription: b\n---\nbody\n", "body 5 \"body\\n\"\n2 name=[\"a\"]\n3 description=[\"b\"]"},
		{"BOM and CRLF", "\ufeff--- \r\nname: a\r\n---\t\r\nbody\r\n", "body 4 \"body\\r\\n\"\n2 name=[\"a\"]"},
		{"lone CR", "---\rname: a\r---\rbody", "body 4 \"body\"\n2 name=[\"a\"]"},
		{"no header", "body\n---\nx: 1\n---\n", "body 1 \"body\\n---\\nx: 1\\n---\\n\""},
		{"empty file", "", "body 1 \"\""},
		{"empty header", "---\n---\nx", "body 3 \"x\""},
		{"comment only", "---\n# nothing\n---\n", "body 4 \"\""},
		{"ends with the header", "---\nname: a\n---", "body 4 \"\"\n2 name=[\"a\"]"},
		{"never closed", "---\nname: a\n", "body 1 \"---\\nname: a\\n\"\n! f.md:1:1: the header that begins here is never closed by a line ---; the whole file is taken as text"},
		{"in a fence", "```yaml\n---\nname: a\n---\n```\n", "body 1 \"```yaml\\n---\\nname: a\\n---\\n```\\n\"\n! f.md:1:1: the header stands inside a code fence and is taken as text; remove the fence"},
		{"a list", "---\n- a\n---\n", "body 4 \"\"\n! f.md:2:1: the header is a list, expected key: value lines"},
		{"twice", "---\nname: a\nname: b\n---\n", "body 5 \"\"\n3 name=[\"b\"]\n! f.md:3:1: name stands here twice; line 2 is not used"},
		{"not UTF-8", "---\nname: \xff\n---\n", "body 4 \"\"\n2 name=[\"\ufffd\"]\n! f.md:2: the text is not UTF-8; bytes that are not were replaced"},
		{"list value", "---\ntools: [A, B]\nmodel: 1.0\nname: on\n---\n", "body 6 \"\"\n2 tools=[\"A\" \"B\"]\n3 model=[\"1.0\"]\n4 name=[\"on\"]"},
	} {
		if diff := cmp.Diff(c.want, show(frontmatter.Parse([]byte(c.text), options()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestHeadersThatAreNotYAMLAreUnderstood(t *testing.T) {
	for _, c := range []struct {
		name, header string
		want         map[string]string
	}{
		{"colon in text", "name: x\ndescription: Use it: when asked. Examples: <example>", map[string]string{"name": "x", "description": "Use it: when asked. Examples: <example>"}},
		{"hint in brackets", "argument-hint: [a] [b]\ndescription: d", map[string]string{"argument-hint": "[a] [b]", "description": "d"}},
		{"star", "tools: *\nname: n", map[string]string{"tools": "*", "name": "n"}},
		{"pseudo keys", "name: n\ndescription: d\nuser: \"hi\"\nassistant: - hello: x", map[string]string{"name": "n", "description": "d\nuser: \"hi\"\nassistant: - hello: x"}},
		{"quotes", "description: 'it's: fine'\nname: n", map[string]string{"description": "it's: fine", "name": "n"}},
		{"other spelling", "allowed_tools: a: b\nname: n", map[string]string{"allowed_tools": "a: b", "name": "n"}},
	} {
		d := frontmatter.Parse([]byte("---\n"+c.header+"\n---\nbody"), options())
		got := map[string]string{}
		for _, f := range d.Fields {
			got[f.Key] = strings.Join(f.Value.Strings(), "|")
		}
		if diff := cmp.Diff(c.want, got); diff != "" || !d.Repaired || d.Body != "body" {
			t.Errorf("%s: repaired %t, body %q (-want +got):\n%s", c.name, d.Repaired, d.Body, diff)
		}
		if len(d.Warnings) == 0 || !strings.Contains(d.Warnings[0].String(), "f.md:") || !strings.Contains(d.Warnings[0].Msg, "not YAML") {
			t.Errorf("%s: warnings %v", c.name, d.Warnings)
		}
	}
}

func TestRepairWithoutKnownKeysLosesOnlyTheHeader(t *testing.T) {
	d := frontmatter.Parse([]byte("---\na: b: c\n---\nbody"), frontmatter.Options{File: "f"})
	if len(d.Fields) > 0 || d.Repaired || !d.Present || d.Body != "body" || len(d.Warnings) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestValues(t *testing.T) {
	d := frontmatter.Parse([]byte("---\nuser-invocable: Off\nempty:\nmap: {a: 1}\nn: 3\nanchor: &x [a]\nalias: *x\n---\n"), options())
	f, ok := d.Get("userInvocable")
	if v, is := f.Value.Bool(); !ok || v || !is {
		t.Errorf("user-invocable: %v %v %v", ok, v, is)
	}
	if f, ok = d.Get("empty"); !ok || !f.Value.IsNull() || f.Value.Strings() != nil {
		t.Error("empty is not null")
	}
	var m map[string]int
	if f, _ = d.Get("map"); f.Value.Decode(&m) != nil || m["a"] != 1 || !f.Value.IsMap() {
		t.Errorf("map: %v", m)
	}
	var n []int
	if f, _ = d.Get("map"); f.Value.Decode(&n) == nil {
		t.Error("a map was decoded into a list")
	}
	if f, _ = d.Get("n"); f.Value.IsList() {
		t.Error("a number is a list")
	}
	if _, ok := f.Value.Bool(); ok {
		t.Error("3 is a boolean")
	}
	if f, _ = d.Get("alias"); !f.Value.IsList() || len(f.Value.Strings()) != 1 {
		t.Error("alias is not followed")
	}
	if _, ok := d.Get("nope"); ok {
		t.Error("found what is not there")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"---\nname: a\n---\nb", "---\na: &x [*x]\n---\n", "---\n<<: {a: 1}\n---", "---\ndescription: a: b\n---\n", "---\n? [a]\n: b\n---\n", "---\n\x00\n---\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := frontmatter.Parse(text, options())
		if d.BodyLine < 1 || (!d.Present && len(d.Fields) > 0) {
			t.Fatalf("%+v", d)
		}
		for _, field := range d.Fields {
			_ = field.Value.Strings()
			_, _ = field.Value.Bool()
			var v any
			_ = field.Value.Decode(&v) // may refuse, must not panic
			if _, ok := d.Get(field.Key); !ok {
				t.Fatalf("%q is there and cannot be got", field.Key)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte("---\nname: reviewer\ndescription: Reviews code\ntools: [Read, Grep]\n---\n" + strings.Repeat("text\n", 200))
	for b.Loop() {
		frontmatter.Parse(text, options())
	}
}
