package pmap_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// TestAgainstAGoMap does random changes on random earlier versions and compares each version with
// the Go map it stands for: a version never changes again.
func TestAgainstAGoMap(t *testing.T) {
	type version struct {
		p pmap.Map[string, int]
		m map[string]int
	}
	rapid.Check(t, func(rt *rapid.T) {
		versions := []version{{m: map[string]int{}}}
		for i := range rapid.IntRange(1, 150).Draw(rt, "changes") {
			from := versions[rapid.IntRange(max(0, len(versions)-5), len(versions)-1).Draw(rt, "from")]
			key := rapid.StringMatching(`[a-h]{0,3}`).Draw(rt, "key")
			m := maps.Clone(from.m)
			if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
				delete(m, key)
				versions = append(versions, version{from.p.Delete(key), m})
			} else {
				m[key] = i
				versions = append(versions, version{from.p.Set(key, i), m})
			}
		}
		for _, v := range versions {
			sameMap(rt, v.p, v.m)
		}
	})
}

func sameMap(t *rapid.T, p pmap.Map[string, int], m map[string]int) {
	keys := slices.Sorted(maps.Keys(m))
	var got []string
	for k, v := range p.All() {
		got = append(got, k)
		if v != m[k] {
			t.Fatalf("%q is %d, want %d", k, v, m[k])
		}
	}
	if !slices.Equal(got, keys) || p.Len() != len(m) || p.IsZero() != (len(m) == 0) {
		t.Fatalf("keys %q (Len %d), want %q", got, p.Len(), keys)
	}
	for _, k := range []string{"", "a", "abc", "h"} {
		v, ok := p.Get(k)
		w, want := m[k]
		if v != w || ok != want {
			t.Fatalf("Get(%q) = %d, %v, want %d, %v", k, v, ok, w, want)
		}
		from := []string{}
		for k := range p.From(k) {
			from = append(from, k)
		}
		at, _ := slices.BinarySearch(keys, k)
		if !slices.Equal(from, keys[at:]) {
			t.Fatalf("From(%q) = %q, want %q", k, from, keys[at:])
		}
	}
}

// TestJSON: a map is written as the Go map it stands for, and comes back.
func TestJSON(t *testing.T) {
	type id string
	valid := rapid.String().Filter(utf8.ValidString)
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.MapOf(valid, valid).Draw(rt, "m")
		var p pmap.Map[id, string]
		for k, v := range m {
			p = p.Set(id(k), v)
		}
		got, err := json.Marshal(p)
		want, wantErr := json.Marshal(m)
		if err != nil || wantErr != nil || string(got) != string(want) {
			rt.Fatalf("%s, %v; want %s, %v", got, err, want, wantErr)
		}
		var back pmap.Map[id, string]
		if err := json.Unmarshal(got, &back); err != nil {
			rt.Fatal(err)
		}
		again := map[string]string{}
		for k, v := range back.All() {
			again[string(k)] = v
		}
		if d := cmp.Diff(m, again); d != "" {
			rt.Fatalf("(-want +got)\n%s", d)
		}
	})
}

func TestJSONInAStruct(t *testing.T) {
	type holder struct {
		Left pmap.Map[string, int] `json:"left,omitzero"`
		Tags pmap.Map[string, []string]
	}
	got, err := json.Marshal(holder{Tags: pmap.Map[string, []string]{}.Set("<b>", []string{"x"})})
	if want := `{"Tags":{"\u003cb\u003e":["x"]}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	h := holder{Left: pmap.Map[string, int]{}.Set("old", 1)}
	if err := json.Unmarshal([]byte(`{"left":{"a":1,"a":2},"Tags":null}`), &h); err != nil {
		t.Fatal(err)
	}
	if v, _ := h.Left.Get("a"); v != 2 || h.Left.Len() != 1 || h.Tags.Len() != 0 {
		t.Errorf("got %v", h)
	}
}

func TestJSONThatIsNoMap(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`[1]`, "expected a JSON object"},
		{`7`, "expected a JSON object"},
		{`{"a":"x"}`, `read value of "a"`},
	} {
		var m pmap.Map[string, int]
		if err := json.Unmarshal([]byte(tc.in), &m); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.in, err, tc.want)
		}
	}
	var bad pmap.Map[string, func()]
	if _, err := json.Marshal(bad.Set("f", nil)); err == nil {
		t.Error("a map of functions was written")
	}
}

func TestStopInTheMiddle(t *testing.T) {
	m := pmap.Map[string, int]{}.Set("a", 1).Set("b", 2).Set("c", 3)
	n := 0
	for range m.All() {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d steps", n)
	}
}

func BenchmarkSet(b *testing.B) {
	for _, size := range []int{10, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", size), func(b *testing.B) {
			var m pmap.Map[string, *int]
			keys := make([]string, size)
			for i := range keys {
				keys[i] = fmt.Sprintf("task-%06d", i)
				m = m.Set(keys[i], new(int))
			}
			v := new(int)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m = m.Set(keys[i*7919%size], v)
			}
		})
	}
}
