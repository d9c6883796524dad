package store_test

import (
	"fmt"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// realistic is as large as the root of a session.
type realistic struct {
	Slices [19]*part
	Tasks  *tasks
}

type tasks struct {
	ByID pmap.Map[string, *task]
	Rev  int
}

type task struct {
	ID, Kind, Description, Status, Output, Call, Agent, Parent, Error string
	Start, End                                                        int64
}

func BenchmarkSet(b *testing.B) {
	two := func(b *testing.B) {
		_, a, _ := fresh(nil, fail(b))
		loop(b, a)
	}
	b.Run("listeners=0", two)
	b.Run("listeners=10", func(b *testing.B) {
		s, a, _ := fresh(nil, fail(b))
		told := 0
		for range 10 {
			s.Subscribe(func() { told++ })
		}
		loop(b, a)
	})
	b.Run("watchers=10", func(b *testing.B) {
		_, a, c := fresh(nil, fail(b))
		told := 0
		for range 5 {
			a.Watch(func(_, _ *part) { told++ })
			c.Watch(func(_, _ *part) { told++ })
		}
		loop(b, a)
	})
	b.Run("slices=20", func(b *testing.B) {
		s := realisticStore(b)
		a := store.Focus(s, func(r *realistic) *part { return r.Slices[7] }, func(r *realistic, p *part) *realistic { c := *r; c.Slices[7] = p; return &c })
		told := 0
		for range 5 {
			a.Watch(func(_, _ *part) { told++ })
			s.Subscribe(func() { told++ })
		}
		loop(b, a)
	})
	b.Run("tasks=10000", func(b *testing.B) {
		s := realisticStore(b)
		slice := store.Focus(s, func(r *realistic) *tasks { return r.Tasks }, func(r *realistic, t *tasks) *realistic { c := *r; c.Tasks = t; return &c })
		told := 0
		for range 5 {
			slice.Watch(func(_, _ *tasks) { told++ })
			s.Subscribe(func() { told++ })
		}
		var ids []string
		for id := range slice.Get().ByID.All() {
			ids = append(ids, id)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			id := ids[i*7919%len(ids)]
			slice.Set(func(prev *tasks) *tasks {
				old, _ := prev.ByID.Get(id)
				t := *old
				t.Status = "completed"
				return &tasks{ByID: prev.ByID.Set(id, &t), Rev: prev.Rev + 1}
			})
		}
	})
}

func realisticStore(b *testing.B) *store.Store[realistic] {
	r := realistic{Tasks: &tasks{}}
	for i := range r.Slices {
		r.Slices[i] = &part{}
	}
	for i := range 10_000 {
		id := fmt.Sprintf("t%05d", i)
		r.Tasks.ByID = r.Tasks.ByID.Set(id, &task{ID: id, Status: "running"})
	}
	return store.New(r, func(store.Change[realistic]) {}, fail(b))
}

func loop(b *testing.B, a store.Slice[part]) {
	b.ReportAllocs()
	for b.Loop() {
		a.Set(func(p *part) *part { return &part{N: p.N + 1} })
	}
}

func BenchmarkGet(b *testing.B) {
	_, a, _ := fresh(nil, fail(b))
	b.ReportAllocs()
	for b.Loop() {
		if a.Get() == nil {
			b.Fatal("nothing there")
		}
	}
}
