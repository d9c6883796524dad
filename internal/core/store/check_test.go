//go:build storecheck

package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

type deep struct {
	List  []int
	Map   map[string]*part
	Time  time.Time
	Any   any
	Tasks pmap.Map[string, *part]
	next  *part
}

// TestChangedInPlace changes the current value in every way there is; the next Set tells.
func TestChangedInPlace(t *testing.T) {
	initial := func() *deep {
		return &deep{
			List: []int{1, 2}, Map: map[string]*part{"a": {N: 1}, "b": {N: 2, List: []int{7}}},
			Time: time.Now(), Any: &part{N: 3}, next: &part{N: 4},
			Tasks: pmap.Map[string, *part]{}.Set("x", &part{N: 5}),
		}
	}
	for name, offend := range map[string]func(d *deep){
		"element of a list":      func(d *deep) { d.List[1] = 9 },
		"new key":                func(d *deep) { d.Map["c"] = nil },
		"key gone":               func(d *deep) { delete(d.Map, "a") },
		"behind a map's pointer": func(d *deep) { d.Map["b"].List[0] = 8 },
		"field":                  func(d *deep) { d.Time = d.Time.Add(1) },
		"behind an interface":    func(d *deep) { d.Any.(*part).N++ },
		"unexported field":       func(d *deep) { d.next.N++ },
		"inside a persistent map": func(d *deep) {
			p, _ := d.Tasks.Get("x")
			p.N++
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := store.New(*initial(), nil, nil)
			s.Set(func(d *deep) *deep { c := *d; return &c })
			offend(s.Get())
			wantPanic(t, func() { s.Set(func(d *deep) *deep { c := *d; return &c }) })

			s = store.New(*initial(), nil, nil)
			wantPanic(t, func() { s.Set(func(d *deep) *deep { offend(d); return d }) })
		})
	}
	s := store.New(*initial(), nil, nil)
	for range 10 {
		_ = s.Get().Time.Local().String()
		s.Set(func(d *deep) *deep { c := *d; c.Tasks = d.Tasks.Set("y", &part{}); return &c })
	}
}

func wantPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "changed in place") {
			t.Errorf("recovered %q, want the offence named", text)
		}
	}()
	f()
}
