package origin_test

import (
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

func TestOriginForPeople(t *testing.T) {
	for _, c := range []struct {
		in          origin.Origin
		place, text string
	}{
		{origin.Origin{}, "", "unknown"},
		{origin.Origin{Scope: origin.Flag}, "", "command line"},
		{origin.Origin{Scope: origin.Default}, "", "built-in default"},
		{origin.Origin{File: "/a/b.json"}, "/a/b.json", "/a/b.json"},
		{origin.Origin{Scope: origin.User, File: "/a", Line: 3}, "/a:3", "/a:3 (user)"},
		{origin.Origin{Scope: origin.Policy, File: "/a", Line: 3, Column: 7}, "/a:3:7", "/a:3:7 (organisation policy)"},
		{origin.Origin{File: "/a", Column: 7}, "/a", "/a"},
	} {
		if got := c.in.Place(); got != c.place {
			t.Errorf("%#v: Place() = %q, want %q", c.in, got, c.place)
		}
		if got := c.in.String(); got != c.text {
			t.Errorf("%#v: String() = %q, want %q", c.in, got, c.text)
		}
	}
	if !(origin.Origin{}).IsZero() || (origin.Origin{Line: 1}).IsZero() {
		t.Error("IsZero must hold for the zero value alone")
	}
}
