// Package helpers has functions that other packages hand shared values to.
package helpers

type State struct {
	N     int
	List  []int
	Items []*Item
	Map   map[string]int
	Sub   Sub
	Next  *State
}

type Sub struct {
	N   int
	Map map[string]int
}

type Item struct {
	N    int
	Tags []string
}

// ItemsOf returns what it is given, in part.
func ItemsOf(s *State) []*Item { return s.Items } // want ItemsOf:"changes .0. returns .0."

// Copy returns a copy one level deep.
func Copy(s *State) *State { // want Copy:"changes .0. returns .1."
	c := *s
	return &c
}

// Bump changes what it is given.
func Bump(it *Item) { it.N++ } // want Bump:"changes .1. returns .200."

// Count changes a map of what it is given.
func (s *State) Count(key string) { s.Map[key]++ } // want Count:"changes .2 0. returns .200 200."

// Sum reads.
func Sum(s *State) (n int) {
	for _, it := range s.Items {
		n += it.N
	}
	return n
}
