// Package good changes state as it should be done. Nothing in it may be reported.
package good

import (
	"maps"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/lint/immutable/testdata/src/helpers"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

type State = helpers.State

type root struct {
	A     *State
	Tasks pmap.Map[string, *helpers.Item]
}

func copies(s store.Slice[State]) {
	s.Set(func(prev *State) *State {
		next := *prev
		next.N++
		next.Sub.N = 1
		next.List = append(slices.Clone(next.List), 1)
		next.List[0] = 2
		slices.Sort(next.List)
		next.Map = maps.Clone(prev.Map)
		next.Map["x"] = 1
		delete(next.Map, "y")
		next.Sub.Map = map[string]int{}
		next.Sub.Map["x"]++
		it := *prev.Items[0]
		it.N = 7
		next.Items = slices.Clone(prev.Items)
		next.Items[0] = &it
		return &next
	})
	s.Set(func(prev *State) *State {
		next := new(State)
		*next = *prev
		next.N = 2
		next.Next = &State{}
		next.Next.N = 1
		return next
	})
	s.Set(func(prev *State) *State {
		c := *prev
		next := &c
		next.Map = map[string]int{}
		for k, v := range prev.Map {
			next.Map[k] = v + 1
		}
		next.Items = nil
		for _, it := range prev.Items {
			copied := *it
			copied.N++
			copied.Tags = append([]string(nil), it.Tags...)
			copied.Tags[0] = ""
			next.Items = append(next.Items, &copied)
		}
		return next
	})
	s.Set(func(prev *State) *State {
		next := &State{Map: maps.Clone(prev.Map), List: prev.List, N: prev.N}
		next.Map["x"] = 1
		next.List = append(next.List[:len(next.List):len(next.List)], 1)
		next.List = append(slices.Clip(prev.List), 2)
		next.List[0] = 3
		return next
	})
	s.Set(func(prev *State) *State {
		next := helpers.Copy(prev)
		next.N = helpers.Sum(prev)
		next.Map = maps.Clone(next.Map)
		next.Count("x")
		return next
	})
	s.Set(func(prev *State) *State {
		if prev.N == 0 {
			return prev
		}
		list := prev.List
		list = slices.DeleteFunc(slices.Clone(list), func(n int) bool { return n == 1 })
		list[0] = 1
		return &State{List: list}
	})
}

func reads(s store.Slice[State], st *store.Store[root]) {
	state := s.Get()
	n := state.N
	n++
	names := []string{}
	byID := map[string]*helpers.Item{}
	for _, it := range state.Items {
		names = append(names, it.Tags...)
		byID["x"] = it
	}
	names[0] = strings.ToUpper(names[0])
	slices.Sort(names)
	item := *state.Items[0]
	item.N = n
	sub := state.Sub
	sub.N = 1
	st.Set(func(prev *root) *root {
		next := *prev
		next.Tasks = prev.Tasks.Set("x", &item)
		return &next
	})
	s.Watch(func(old, new *State) {
		if old.N != new.N {
			n = new.N
		}
	})
	keys := slices.Sorted(maps.Keys(state.Map))
	keys[0] = ""
	m := state.Map
	m = map[string]int{}
	m["x"] = 1
	var fresh *State
	if state.N > 0 {
		fresh = state
		return
	}
	fresh = &State{}
	fresh.N = 1
	other := &State{}
	switch {
	case n > 1:
		other = state
	default:
		other.N = 1
	}
	_ = other
}

func local() {
	state := &State{Map: map[string]int{}}
	state.N = 1
	state.Map["x"] = 1
	state.Count("x")
	helpers.Bump(&helpers.Item{})
	state.List = append(state.List, 1)
}

func add(n int) func(*State) *State {
	return func(prev *State) *State {
		next := *prev
		next.N += n
		return &next
	}
}
