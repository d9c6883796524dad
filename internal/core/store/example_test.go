package store_test

import (
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/store"
)

// A root of two slices; a feature is handed its own and changes it by copies.
func Example() {
	type todo struct{ Items []string }
	type cost struct{ Tokens int }
	type session struct {
		Todo *todo
		Cost *cost
	}
	s := store.New(session{&todo{}, &cost{}}, func(c store.Change[session]) { fmt.Println("revision", c.Revision) }, nil)
	spent := store.Focus(s,
		func(s *session) *cost { return s.Cost },
		func(s *session, c *cost) *session { next := *s; next.Cost = c; return &next })

	cancel := spent.Watch(func(old, new *cost) { fmt.Println(new.Tokens-old.Tokens, "tokens more") })
	spent.Set(func(prev *cost) *cost { return &cost{Tokens: prev.Tokens + 7} })
	spent.Set(func(prev *cost) *cost { return prev }) // nothing happened
	cancel()
	fmt.Println(s.Get().Cost.Tokens)
	// Output:
	// revision 1
	// 7 tokens more
	// 7
}
