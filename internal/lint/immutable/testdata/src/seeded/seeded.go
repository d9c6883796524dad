// Package seeded holds every way of changing shared state that the analyzer must find.
package seeded

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/lint/immutable/testdata/src/helpers"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

type State = helpers.State

type root struct {
	A     *State
	Tasks pmap.Map[string, *helpers.Item]
}

func get(s store.Slice[State], st *store.Store[root]) { // want get:"changes .2 2."
	s.Get().N = 1            // want `assignment to s.Get\(\).N`
	s.Get().N++              // want `assignment to`
	s.Get().List[0] += 2     // want `assignment to`
	s.Get().Sub.N = 1        // want `assignment to`
	s.Get().Map["a"] = 1     // want `assignment to`
	delete(s.Get().Map, "a") // want `delete on`
	clear(s.Get().Map)       // want `clear on`
	st.Get().A.Next.N = 1    // want `assignment to`
	*s.Get() = State{}       // want `assignment to`
	p := &s.Get().N
	*p = 3 // want `assignment to \*p`
	q := &s.Get().Sub
	q.N = 4 // want `assignment to q.N`
	it, _ := st.Get().Tasks.Get("x")
	it.N = 1 // want `assignment to it.N`
	for _, it := range st.Get().Tasks.All() {
		it.Tags[0] = "" // want `assignment to`
	}
}

func variables(s store.Slice[State]) { // want variables:"changes .2."
	st := s.Get()
	list := st.List
	list[0] = 1                                              // want `assignment to list`
	_ = append(list, 1)                                      // want `append to list`
	st.List = append(st.List[:0], 2)                         // want `assignment to st.List` `append to st.List`
	copy(list, []int{1})                                     // want `copy on list`
	slices.Sort(list)                                        // want `Sort on list`
	sort.Ints(list[1:])                                      // want `Ints on`
	slices.SortFunc(st.Items, func(a, b *helpers.Item) int { // want `SortFunc on`
		a.N = 0 // want `assignment to a.N`
		return a.N - b.N
	})
	maps.Copy(st.Map, map[string]int{})  // want `Copy on`
	_ = json.Unmarshal([]byte("{}"), st) // want `Unmarshal into`
	var m map[string]int
	if st.N > 0 {
		m = st.Map
	} else {
		m = map[string]int{}
	}
	m["x"] = 1 // want `assignment to m`
	for i := range st.Items {
		st.Items[i].N = i // want `assignment to`
	}
	for _, it := range st.Items {
		it.N++ // want `assignment to it.N`
	}
	for _, it := range slices.Backward(st.Items) {
		it.N++ // want `assignment to it.N`
	}
	var any any = st
	switch v := any.(type) {
	case *State:
		v.N = 1 // want `assignment to v.N`
	}
	any.(*State).N = 2 // want `assignment to`
	func() {
		st.N = 3 // want `assignment to st.N`
	}()
}

func updates(s store.Slice[State]) { // want updates:"changes .2."
	s.Set(func(prev *State) *State {
		prev.N++ // want `assignment to prev.N`
		return prev
	})
	s.Set(func(prev *State) *State {
		next := *prev
		next.N = 1
		next.List[0] = 1                 // want `assignment to next.List`
		next.List = append(next.List, 1) // want `append to next.List`
		next.Map["x"] = 1                // want `assignment to next.Map`
		next.Items = slices.Clone(prev.Items)
		next.Items[0] = nil
		next.Items[0].N = 1 // want `assignment to next.Items`
		next.Sub.N = 2
		next.Sub.Map["x"] = 1 // want `assignment to next.Sub.Map`
		return &next
	})
	s.Set(func(prev *State) *State {
		next := &State{N: prev.N, Map: prev.Map, List: slices.Clone(prev.List)}
		next.List[0] = 1
		next.Map["x"] = 1 // want `assignment to next.Map`
		return next
	})
	s.Set(func(prev *State) *State {
		next := helpers.Copy(prev)
		next.N = 1
		next.Map["x"] = 1 // want `assignment to next.Map`
		next.Count("x")   // want `Count, called with next`
		return next
	})
	s.Set(func(prev *State) *State {
		next := *prev
		if prev.N > 0 {
			next.Map = maps.Clone(next.Map)
		}
		next.Map["x"] = 1 // want `assignment to next.Map`
		return &next
	})
	s.Set(byName)
	s.Watch(func(old, new *State) {
		old.N = 1              // want `assignment to old.N`
		new.Items[0].N = old.N // want `assignment to new.Items`
	})
	s.Watch(changed)
	helpers.Bump(s.Get().Items[0])            // want `Bump, called with`
	helpers.Bump(helpers.ItemsOf(s.Get())[0]) // want `Bump, called with`
	s.Get().Count("x")                        // want `Count, called with`
	helpers.ItemsOf(s.Get())[0] = nil         // want `assignment to`
	here(s.Get())                             // want `here, called with`
	deeper(s.Get(), 3)                        // want `deeper, called with`
}

func byName(prev *State) *State { // want byName:"changes .1. returns .0."
	prev.N = 1 // want `assignment to prev.N`
	return prev
}

// addTo returns updates: known by their shape.
func addTo(n int) func(*State) *State {
	return func(prev *State) *State {
		prev.List = append(prev.List, n) // want `assignment to prev.List` `append to prev.List`
		return prev
	}
}

func changed(old, new *State) { // want changed:"changes .0 1."
	new.N = old.N // want `assignment to new.N`
}

func here(st *State) { st.List[0] = 1 } // want here:"changes .2."

func deeper(st *State, n int) { // want deeper:"changes .2 0."
	if n > 0 {
		deeper(st, n-1)
		return
	}
	here(st)
}

func wiring() {
	st := store.New(root{}, func(c store.Change[root]) {
		c.New.A.N = 1 // want `assignment to c.New.A.N`
		a := c.Old.A
		a.N = 2 // want `assignment to a.N`
	}, nil)
	store.Focus(st,
		func(r *root) *State { return r.A },
		func(r *root, a *State) *root {
			r.A = a // want `assignment to r.A`
			return r
		})
}

type holder struct{ state *State }

func (h *holder) keep(s store.Slice[State]) { // want keep:"changes"
	h.state = s.Get()
	h.state.N = 1 // want `assignment to h.state.N`
}
