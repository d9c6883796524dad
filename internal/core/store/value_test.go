package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/store"
)

func TestDiff(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, tc := range map[string]struct {
		old, new string
		want     []store.Delta
	}{
		"same":             {`{"a":1}`, `{"a":1}`, nil},
		"tokens and money": {`{"cost":{"total":{"input":100,"usd":0.25}}}`, `{"cost":{"total":{"input":150,"usd":0.75}}}`, []store.Delta{{Path: []string{"cost", "total", "input"}, Old: raw("100"), New: raw("150"), By: 50}, {Path: []string{"cost", "total", "usd"}, Old: raw("0.25"), New: raw("0.75"), By: 0.5}}},
		"new number":       {`{"m":{}}`, `{"m":{"x.y":3}}`, []store.Delta{{Path: []string{"m", "x.y"}, New: raw("3"), By: 3}}},
		"number gone":      {`{"m":3}`, `{}`, []store.Delta{{Path: []string{"m"}, Old: raw("3"), By: -3}}},
		"text":             {`{"mode":"plan"}`, `{"mode":"default"}`, []store.Delta{{Path: []string{"mode"}, Old: raw(`"plan"`), New: raw(`"default"`)}}},
		"list as a whole":  {`{"l":[1,2]}`, `{"l":[1,3]}`, []store.Delta{{Path: []string{"l"}, Old: raw("[1,2]"), New: raw("[1,3]")}}},
		"object or null":   {`{"o":null}`, `{"o":{"a":1}}`, []store.Delta{{Path: []string{"o"}, Old: raw("null"), New: raw(`{"a":1}`)}}},
	} {
		got, err := store.Diff(raw(tc.old), raw(tc.new))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
	if _, err := store.Diff(raw(`{"a":`), raw(`{}`)); err == nil {
		t.Error("a broken snapshot gave no error")
	}
}

// TestDiffExplainsEveryDifference: applying what Diff tells turns the old value into the new one.
func TestDiffExplainsEveryDifference(t *testing.T) {
	state := rapid.MapOf(rapid.StringN(1, 3, 6), rapid.MapOf(rapid.StringN(1, 2, 4), rapid.IntRange(0, 3)))
	rapid.Check(t, func(rt *rapid.T) {
		old, new := state.Draw(rt, "old"), state.Draw(rt, "new")
		a, errA := store.Snapshot(&old)
		b, errB := store.Snapshot(&new)
		deltas, err := store.Diff(a, b)
		if errA != nil || errB != nil || err != nil {
			rt.Fatal(errA, errB, err)
		}
		for _, d := range deltas {
			apply(rt, old, d)
		}
		if d := cmp.Diff(new, old); d != "" {
			rt.Fatalf("after the deltas %v (-want +got)\n%s", deltas, d)
		}
	})
}

func apply(t *rapid.T, to map[string]map[string]int, d store.Delta) {
	decode := func(v any) {
		if err := json.Unmarshal(d.New, v); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case len(d.Path) == 2 && d.New == nil:
		delete(to[d.Path[0]], d.Path[1])
	case len(d.Path) == 2:
		n := 0
		decode(&n)
		to[d.Path[0]][d.Path[1]] = n
	case d.New == nil:
		delete(to, d.Path[0])
	default:
		m := map[string]int{}
		decode(&m)
		to[d.Path[0]] = m
	}
}

func TestSnapshotOfWhatCannotBeWritten(t *testing.T) {
	v := struct{ F func() }{}
	if _, err := store.Snapshot(&v); err == nil {
		t.Error("a function in the state gave no error")
	}
}
