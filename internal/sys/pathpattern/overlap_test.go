package pathpattern

import (
	"testing"

	"pgregory.net/rapid"
)

func TestMayMeet(t *testing.T) {
	for _, c := range []struct {
		p, other string
		want     bool
	}{
		{"/.env", "/.en?", true},
		{"/.env", "/.e*", true},
		{"/.env", "/src/*.py", false},
		{".env", "/src/*", true},
		{".env", "/src/*.py", false},
		{"/secrets/**", "/sec*/k", true},
		{"/secrets", "/s*/a/b", true},
		{"/a/b", "/a/**", true},
		{"/a/b", "/c/**", false},
		{"/x[ab]", "/xb", true},
		{"/x[ab]", "/xc", false},
	} {
		p, _ := Compile(c.p, Options{})
		o, _ := Compile(c.other, Options{})
		if got := p.MayMeet(o); got != c.want {
			t.Errorf("%q and %q: %v, want %v", c.p, c.other, got, c.want)
		}
	}
}

func TestLiteralHead(t *testing.T) {
	for in, want := range map[string]string{"/a/b*": "/a", "/*": "/", "a*": "", "/a/b": "/a/b", `/a/\*/c`: "/a/*/c", `/a\[/b?`: "/a["} {
		if got := LiteralHead(in); got != want {
			t.Errorf("LiteralHead(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever both patterns match, MayMeet must know of.
func TestMayMeetMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringMatching(`/?([ab?*]{1,3}|\*\*)(/([ab?*]{1,3}|\*\*)){0,2}`)
		p, errP := Compile(gen.Draw(t, "p"), Options{})
		o, errO := Compile(gen.Draw(t, "o"), Options{})
		path := rapid.StringMatching(`[ab]{1,3}(/[ab]{1,3}){0,3}`).Draw(t, "path")
		if errP != nil || errO != nil {
			return
		}
		if p.Covers(path) && o.Match(path, true) && !p.MayMeet(o) {
			t.Fatalf("%q covers and %q matches %q, but they never meet", p, o, path)
		}
	})
}
