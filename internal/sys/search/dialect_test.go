package search

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestDialect(t *testing.T) {
	cases := []struct {
		pattern  string
		yes, no  []string
		ignoring bool
	}{
		{pattern: `foo.bar`, yes: []string{"a foo-bar b"}, no: []string{"foobar"}},
		{pattern: `\d+`, yes: []string{"1", "٣"}, no: []string{"x"}},
		{pattern: `^\w+$`, yes: []string{"straße", "日本", "a_1", "e\u0301"}, no: []string{"a-b", "a b"}},
		{pattern: `^\W$`, yes: []string{"-", "€"}, no: []string{"k", "é"}},
		{pattern: `^[\W_]+$`, yes: []string{"-_"}, no: []string{"s", "k"}, ignoring: true},
		{pattern: `a\sb`, yes: []string{"a b", "a\tb", "a\u00a0b", "a\vb"}, no: []string{"a_b"}},
		{pattern: `^\S+$`, yes: []string{"ab"}, no: []string{"a b", "a\u2003b"}},
		{pattern: `^[[:alpha:]0-9_]+$`, yes: []string{"a1_"}, no: []string{"-"}},
		{pattern: `^[\w-.]+$`, yes: []string{"é-.1"}, no: []string{"a b"}},
		{pattern: `^[\p{Greek}-]$`, yes: []string{"α", "-"}, no: []string{"a"}},
		{pattern: `^[^\W_]+$`, yes: []string{"é1"}, no: []string{"a_", "-"}},
		{pattern: `^[\D]$`, yes: []string{"a", "é"}, no: []string{"1", "٣"}},
		{pattern: `^[\P{Alphabetic}b]$`, yes: []string{"1", "b"}, no: []string{"a"}},
		{pattern: `^[\p{Alphabetic}-]$`, yes: []string{"a", "-"}, no: []string{"1"}},
		{pattern: `[--]`, yes: []string{"-"}, no: []string{"a"}},
		{pattern: `^[^[:digit:]]$`, yes: []string{"a"}, no: []string{"1"}},
		{pattern: `[^[]x`, yes: []string{"ax"}, no: []string{"[x"}},
		{pattern: `[[]`, yes: []string{"["}, no: []string{"a"}},
		{pattern: `[]a]`, yes: []string{"]", "a"}, no: []string{"b"}},
		{pattern: `[a\-z]`, yes: []string{"-", "a", "z"}, no: []string{"m"}},
		{pattern: `[a-]`, yes: []string{"-", "a"}, no: []string{"b"}},
		{pattern: `[\x41\u{42}\u0043\t]`, yes: []string{"A", "B", "C", "\t"}, no: []string{"D"}},
		{pattern: `(?i)[^a]`, yes: []string{"b"}, no: []string{"a", "A"}},
		{pattern: `[^a]`, yes: []string{"b"}, no: []string{"a", "A"}, ignoring: true},
		{pattern: `\p{Greek}`, yes: []string{"α"}, no: []string{"a"}},
		{pattern: `\p{Script=Greek}`, yes: []string{"α"}, no: []string{"a"}},
		{pattern: `\p{gc=Lu}`, yes: []string{"Ä"}, no: []string{"ä"}},
		{pattern: `^\p{Alphabetic}$`, yes: []string{"ä"}, no: []string{"1"}},
		{pattern: `^\P{White_Space}$`, yes: []string{"ä"}, no: []string{" "}},
		{pattern: `^\pL\PN$`, yes: []string{"ab"}, no: []string{"a1"}},
		{pattern: `(?P<name>a)(?<other>b)`, yes: []string{"ab"}},
		{pattern: `(?u)x(?-u:y)(?is-U:Z)`, yes: []string{"xyz"}},
		{pattern: `\<foo\>`, yes: []string{"a foo b"}, no: []string{"afoo", "foob"}},
		{pattern: `\b{start}foo\b{end}`, yes: []string{"foo"}, no: []string{"xfoo"}},
		{pattern: `interface\{\}`, yes: []string{"interface{}"}, no: []string{"interface"}},
		{pattern: `interface{}`, yes: []string{"interface{}"}},
		{pattern: `\/\-\_\"\'\#\ \:`, yes: []string{`/-_"'# :`}},
		{pattern: `\x{1F600}|\u{1F601}|\U0001F602`, yes: []string{"😀", "😁", "😂"}, no: []string{"x"}},
		{pattern: `straße`, yes: []string{"STRASSE straße"}, no: []string{"STRASSE"}},
		{pattern: `STRAẞE`, yes: []string{"straße"}, no: []string{"strasse"}, ignoring: true},
		{pattern: `kiss`, yes: []string{"KISS", "\u212Ai\u017Fs"}, no: []string{"kis"}, ignoring: true},
		{pattern: `$`, yes: []string{"", "x"}},
		{pattern: `a{2,3}b`, yes: []string{"aab"}, no: []string{"ab"}},
		{pattern: `\Aa\z`, yes: []string{"a"}, no: []string{"ab"}},
	}
	for _, c := range cases {
		p, err := Compile(c.pattern, Options{IgnoreCase: c.ignoring})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, s := range c.yes {
			if !p.MatchLine([]byte(s)) {
				t.Errorf("%s does not match %q", c.pattern, s)
			}
			if got := findLines(p, s+"\n"); len(got) != 1 {
				t.Errorf("%s is not found in the text %q", c.pattern, s)
			}
		}
		for _, s := range c.no {
			if p.MatchLine([]byte(s)) || len(findLines(p, s+"\n")) != 0 {
				t.Errorf("%s matches %q", c.pattern, s)
			}
		}
	}
}

func TestKF021_BadPatternsAreErrors(t *testing.T) {
	cases := map[string]string{
		`foo(`:        `write \( to search`,
		`foo)`:        `write \) to search`,
		`[a`:          `write \[ to search`,
		`*a`:          `write \* to search`,
		`a\`:          "lone backslash",
		`(?=x)y`:      "look-around",
		`foo(?!bar)`:  "look-around",
		`(?<=a)b`:     "look-around",
		`(?<!a)b`:     "look-around",
		`(?>a)`:       "atomic",
		`(a)\1`:       "back-references",
		`\k<x>`:       "back-references",
		`(?z)a`:       "no flag",
		`[z-a]`:       "invalid character class range",
		`[a-z&&b]`:    "set operation &&",
		`[\w--_]`:     "set operation --",
		`[a~~b]`:      "set operation ~~",
		`[a[bc]]`:     "in one class",
		`[a-z&&[^b]]`: "in one class",
		`(?x) a b`:    "verbose",
		`(?x:a)`:      "verbose",
		`\p{Klingon}`: "not known",
		`\p{Age=5}`:   "not supported",
		`\uZZZZ`:      "no Unicode escape",
		`a\nb`:        "multiline",
		`x\Z`:         "not supported",
		"a\x00":       "NUL byte",
		`(?P<x`:       "not closed",
		`[\q]`:        "not known",
		`a{2000}`:     "repeat",
		"((((((((((a{99}){99}){99}){99}){99}){99}){99}){99}){99}){99})": "",
	}
	for pattern, want := range cases {
		_, err := Compile(pattern, Options{})
		var p *PatternError
		if !errors.As(err, &p) || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile(%q) = %v, want a PatternError about %q", pattern, err, want)
		}
	}
	large := strings.Repeat("[a-z]{1000}", 20)
	for _, opt := range []Options{{}, {Multiline: true}} {
		if _, err := Compile(large, opt); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("a huge pattern: %v", err)
		}
	}
	if _, err := Compile(`a\nb`, Options{Multiline: true}); err != nil {
		t.Errorf("a line end with multiline: %v", err)
	}
	if _, err := Compile(`a|b\n`, Options{}); err != nil {
		t.Errorf("a line end that need not match: %v", err)
	}
}

// findLines returns the lines of text the finder finds.
func findLines(p *Pattern, text string) []string {
	f := finder{ctx: context.Background()}
	buf := []byte(text)
	f.reset(p, buf)
	var out []string
	for at := 0; at < len(buf); {
		start, end, ok := f.line(at)
		if !ok {
			break
		}
		out = append(out, text[start:end])
		_, at = p.lineEnd(buf, end)
	}
	return out
}

// naive is what the finder must equal: every line tried by itself.
func naive(p *Pattern, text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !p.keepCR {
			line = strings.TrimSuffix(line, "\r")
		}
		if p.MatchLine([]byte(line)) {
			out = append(out, line)
		}
	}
	return out
}

func TestNeedles(t *testing.T) {
	cases := []struct {
		pattern string
		fold    bool
		want    string // needles joined by |
		whole   bool
	}{
		{`ListenAndServe`, false, "ListenAndServe", true},
		{`func \w+Handler\(`, false, "Handler(", false},
		{`TODO|FIXME|XXX`, false, "TODO|FIXME|XXX", true},
		{`[Ff]oo`, false, "Foo|foo", true},
		{`\bfoo\b`, false, "foo", false},
		{`^foo`, false, "foo", false},
		{`(foo|bar)+baz`, false, "baz", false},
		{`foo(bar)?`, false, "foo", false},
		{`(foo)?`, false, "", false},
		{`\w+`, false, "", false},
		{`ListenAndServe`, true, "tenand", false},
		{`abc_def`, true, "abc_def", true},
		{`ks`, true, "", false},
		{`über`, true, "ber", false},
		{`a{3,}b`, false, "aa", false},
		{`x*fooz.*bar`, false, "fooz", false},
	}
	for _, c := range cases {
		p, err := Compile(c.pattern, Options{IgnoreCase: c.fold})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range p.needles {
			got = append(got, string(n.text))
		}
		if strings.Join(got, "|") != c.want || p.whole != c.whole {
			t.Errorf("%s: needles %q whole %v, want %q %v", c.pattern, got, p.whole, c.want, c.whole)
		}
	}
}

func TestNeedleIndex(t *testing.T) {
	long := strings.Repeat("eeeeeeee", 100)
	for _, c := range []struct {
		needle string
		fold   bool
		in     string
	}{
		{"foo", false, "a foo b foo"},
		{"foo", true, "A FoO"},
		{"eex", false, long + "x"},
		{"EEX", true, long + "x"},
		{"x", false, "x"},
		{"xyz", false, "xy"},
		{"a1", true, "A1a1"},
		{"ee", false, long},
		{"zq", false, strings.Repeat("zz", 200) + "zq"},
	} {
		n := newNeedle(c.needle, c.fold)
		want := strings.Index(c.in, c.needle)
		if c.fold {
			want = strings.Index(strings.ToLower(c.in), strings.ToLower(c.needle))
		}
		if got := n.index([]byte(c.in), 0); got != want {
			t.Errorf("%q in %.20q: %d, want %d", c.needle, c.in, got, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`foo`, `(?i)straße`, `[a-z&&[^aeiou]]`, `[[:alpha:]--x]`, `\p{Greek}+`, `(?x) a # b`, `a|b\b|^c$`, `[^[]`, `\u{41}`, `(?P<n>x)\d{2,}`,
		`\w+\(\)`, `(a|bc|[de])+f?`, `[\W_]`, `\<a\>`, `x{2}y{0,3}`, `(?-u:\xff)`,
	} {
		f.Add(s, "a foo\nStraße_1\r\nxyz ()\n", false)
		f.Add(s, "\u212Aelvin \u017F\n\na b c\n", true)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		p, err := Compile(pattern, Options{IgnoreCase: fold})
		if err != nil {
			var pe *PatternError
			if !errors.As(err, &pe) {
				t.Fatalf("%q: not a PatternError: %v", pattern, err)
			}
			return
		}
		text = strings.ToValidUTF8(text, "?")
		got, want := findLines(p, text), naive(p, text)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q in %q: found %q, want %q", pattern, text, got, want)
		}
	})
}

// The Unicode and the ASCII form of a pattern must agree on ASCII text.
func FuzzForms(f *testing.F) {
	for _, s := range []string{`\w+`, `[\W_]`, `[^\d]x`, `\s`, `(?i)[k\S]`, `\bx\b`, `[\D&&\w]`} {
		f.Add(s, "a k_1 S\tx")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		a, err := translate(pattern, true)
		if err != nil || !isASCII([]byte(text)) {
			return
		}
		u, err := translate(pattern, false)
		if err != nil {
			t.Fatalf("%q translates only as ASCII: %v", pattern, err)
		}
		x, err := regexp.Compile(a)
		if err != nil {
			return
		}
		y, err := regexp.Compile(u)
		if err != nil {
			return
		}
		if x.MatchString(text) != y.MatchString(text) {
			t.Fatalf("%q on %q: ASCII form %s says %v", pattern, text, a, x.MatchString(text))
		}
	})
}
