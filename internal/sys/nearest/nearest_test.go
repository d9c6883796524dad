package nearest_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"model", "model", 0},
		{"modle", "model", 1}, // swapped
		{"mdel", "model", 1},
		{"moddel", "model", 1},
		{"nodel", "model", 1},
		{"kitten", "sitting", 3},
		{"größe", "grösse", 2},
	} {
		if got := nearest.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if got := nearest.Distance(strings.Repeat("x", 100_000), "x"); got != 100_000 {
		t.Errorf("a long name: %d", got)
	}
}

func TestDistanceIsAMeasure(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := nearest.Distance(a, b)
		if d != nearest.Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a)-len(b), len(b)-len(a)) {
			t.Fatalf("Distance(%q, %q) = %d", a, b, d)
		}
	})
}

func TestName(t *testing.T) {
	names := []string{"permissions", "permission", "hooks", "Model"}
	for name, want := range map[string]string{"hoks": "hooks", "HOOKS": "hooks", "modle": "Model", "permissionz": "permission", "sandbox": ""} {
		if got := nearest.Name(name, names, 2); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
}
