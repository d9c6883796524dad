package session_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

type whole struct{ S *session.State }

func open(initial session.State) (session.Slice, *int) {
	changes := new(int)
	s := store.New(whole{&initial}, func(store.Change[whole]) { *changes++ }, nil)
	return store.Focus(s, func(w *whole) *session.State { return w.S }, func(_ *whole, p *session.State) *whole { return &whole{p} }), changes
}

// TestSettingWhatIsSoIsNoChange: nobody is told twice of the same.
func TestSettingWhatIsSoIsNoChange(t *testing.T) {
	s, changes := open(session.State{Activity: session.Idle})
	for name, set := range map[string]func(){
		"cwd":      func() { session.SetCwd(s, "/w") },
		"model":    func() { session.SetModel(s, "a/b", []string{"c/d"}) },
		"name":     func() { session.Rename(s, "mine") },
		"title":    func() { session.SetTitle(s, "about") },
		"activity": func() { session.SetActivity(s, session.Running) },
		"become":   func() { session.Become(s, "id", "/p", "") },
		"queue":    func() { session.Enqueue(s, session.Queued{ID: "q"}) },
		"ask":      func() { session.CloseAsk(s, "nobody asked") },
	} {
		set()
		before := *changes
		set()
		if *changes != before {
			t.Errorf("%s: told of no change", name)
		}
	}
}

func TestBecome(t *testing.T) {
	start := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	s, _ := open(session.State{
		ID: "old", ProjectDir: "/p1", Name: "n", Title: "t", Tags: []string{"x"}, Cwd: "/w", Model: "m/1", StartedAt: start,
		Queue: []session.Queued{{ID: "q"}}, Asks: pmap.Map[string, session.Ask]{}.Set("a", session.Ask{ID: "a"}),
	})
	session.Become(s, "new", "/p2", "old")
	want := &session.State{ID: "new", ProjectDir: "/p2", ForkedFrom: "old", Cwd: "/w", Model: "m/1", StartedAt: start, Queue: []session.Queued{{ID: "q"}}}
	if d := cmp.Diff(want, s.Get(), cmp.Comparer(func(a, b pmap.Map[string, session.Ask]) bool { return a.Len() == b.Len() })); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestActivityFollowsTheQuestions(t *testing.T) {
	s, _ := open(session.State{})
	session.OpenAsk(s, session.Ask{ID: "a"}) // of a background agent: the session itself idles
	steps := []struct {
		do   func()
		want session.Activity
	}{
		{func() {}, session.Idle},
		{func() { session.SetActivity(s, session.Running) }, session.RequiresAction},
		{func() { session.OpenAsk(s, session.Ask{ID: "b"}) }, session.RequiresAction},
		{func() { session.CloseAsk(s, "a") }, session.RequiresAction},
		{func() { session.CloseAsk(s, "b") }, session.Running},
		{func() { session.OpenAsk(s, session.Ask{ID: "c"}) }, session.RequiresAction},
		{func() { session.SetActivity(s, session.Idle) }, session.Idle},
		{func() { session.CloseAsk(s, "c") }, session.Idle},
	}
	for i, step := range steps {
		step.do()
		if got := s.Get().Activity; got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// TestQueue: whatever is put in comes out once, in order of its kind, and older snapshots stay.
func TestQueue(t *testing.T) {
	kinds := []session.QueueKind{session.Steer, session.Later, session.Interrupt}
	rapid.Check(t, func(t *rapid.T) {
		s, _ := open(session.State{})
		var model []session.Queued
		next := 0
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			before, raw := s.Get(), fmt.Sprint(s.Get().Queue)
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				q := session.Queued{ID: fmt.Sprint(next), Kind: kind}
				next++
				session.Enqueue(s, q)
				model = append(model, q)
			case 2:
				id := fmt.Sprint(rapid.IntRange(0, next).Draw(t, "id"))
				was := session.Unqueue(s, id)
				had, rest := part(model, func(q session.Queued) bool { return q.ID == id })
				if was != (len(had) == 1) {
					t.Fatalf("Unqueue(%s) = %v", id, was)
				}
				model = rest
			case 3:
				want, rest := part(model, func(q session.Queued) bool { return q.Kind == kind })
				if got := session.Take(s, kind); !cmp.Equal(got, want) {
					t.Fatalf("took %v, want %v", got, want)
				}
				model = rest
			case 4:
				if got := session.ClearQueue(s); fmt.Sprint(got) != fmt.Sprint(model) {
					t.Fatalf("took %v, want %v", got, model)
				}
				model = nil
			}
			if fmt.Sprint(s.Get().Queue) != fmt.Sprint(model) || fmt.Sprint(before.Queue) != raw {
				t.Fatalf("queue %v, want %v", s.Get().Queue, model)
			}
		}
	})
}

func part(all []session.Queued, which func(session.Queued) bool) (in, out []session.Queued) {
	for _, q := range all {
		if which(q) {
			in = append(in, q)
		} else {
			out = append(out, q)
		}
	}
	return in, out
}

// TestStateIsData: at most 25 fields, and all of it can be written and read.
func TestStateIsData(t *testing.T) {
	if n := reflect.TypeFor[session.State]().NumField(); n > 25 {
		t.Errorf("%d fields, at most 25", n)
	}
	s, _ := open(session.State{ID: "x"})
	session.OpenAsk(s, session.Ask{ID: "a", Text: "may I?"})
	raw, err := json.Marshal(s.Get())
	if err != nil {
		t.Fatal(err)
	}
	var back session.State
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if ask, ok := back.Asks.Get("a"); !ok || ask.State != "open" || back.ID != "x" {
		t.Errorf("%s", raw)
	}
}
