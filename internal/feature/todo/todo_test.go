package todo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/todo"
)

func ptr[T any](v T) *T { return &v }

func TestCreateAndUpdate(t *testing.T) {
	s := list()
	a := todo.Create(s, todo.Item{ID: "99", Subject: "fix", Description: "the parser", ActiveForm: "fixing", Status: todo.Completed, Metadata: map[string]json.RawMessage{"k": json.RawMessage("1"), "n": json.RawMessage("null")}})
	want := todo.Item{ID: "1", Subject: "fix", Description: "the parser", ActiveForm: "fixing", Status: todo.Pending, Metadata: map[string]json.RawMessage{"k": json.RawMessage("1")}}
	if d := cmp.Diff(want, a); d != "" {
		t.Errorf("created (-want +got)\n%s", d)
	}
	todo.Create(s, todo.Item{Subject: "test"})
	before := s.Get()
	got, err := todo.Update(s, "1", todo.Change{
		Subject: ptr("fix it"), Description: ptr("the parser"), Status: ptr(todo.InProgress), Owner: ptr("me"),
		AddBlocks: []string{"2"}, Metadata: map[string]json.RawMessage{"k": json.RawMessage("null"), "x": json.RawMessage(`"y"`)},
	})
	want = todo.Item{ID: "1", Subject: "fix it", Description: "the parser", ActiveForm: "fixing", Status: todo.InProgress, Owner: "me", Blocks: []string{"2"}, Metadata: map[string]json.RawMessage{"x": json.RawMessage(`"y"`)}}
	if d := cmp.Diff(todo.Updated{Item: want, Fields: []string{"subject", "owner", "status", "metadata", "blocks"}, From: todo.Pending, To: todo.InProgress}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	if second, _ := todo.Get(s, "2"); !slices.Equal(second.BlockedBy, []string{"1"}) || !slices.Equal(s.Get().OpenBlockers(second), []string{"1"}) {
		t.Errorf("%+v", second)
	}
	if before.Items[0].Subject != "fix" || before.Items[1].BlockedBy != nil {
		t.Error("an older snapshot changed")
	}
	if _, err := todo.Update(s, "1", todo.Change{Status: ptr(todo.Completed)}); err != nil {
		t.Fatal(err)
	}
	if second, _ := todo.Get(s, "2"); s.Get().OpenBlockers(second) != nil {
		t.Error("a completed item still blocks")
	}
	now := s.Get()
	if got, err := todo.Update(s, "1", todo.Change{Subject: ptr("fix it"), Status: ptr(todo.Completed), AddBlocks: []string{"2"}}); err != nil || got.Fields != nil || got.From != "" || s.Get() != now {
		t.Errorf("nothing to change, yet %+v, %v", got, err)
	}
}

func TestUpdatesThatAreRefused(t *testing.T) {
	s := list()
	for range 3 {
		todo.Create(s, todo.Item{Subject: "x"})
	}
	if _, err := todo.Update(s, "1", todo.Change{AddBlocks: []string{"2"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := todo.Update(s, "3", todo.Change{AddBlockedBy: []string{"2"}}); err != nil {
		t.Fatal(err)
	}
	before := s.Get()
	for name, tc := range map[string]struct {
		id     string
		change todo.Change
		want   string
	}{
		"unknown id":         {"7", todo.Change{Subject: ptr("y")}, "no such item with the id 7"},
		"unknown blocker":    {"1", todo.Change{Subject: ptr("y"), AddBlockedBy: []string{"8"}}, "no such item with the id 8"},
		"unknown blocked":    {"1", todo.Change{AddBlocks: []string{"8"}}, "no such item with the id 8"},
		"unknown status":     {"1", todo.Change{Status: ptr(todo.Status("done"))}, `unknown status "done"`},
		"waits for itself":   {"1", todo.Change{AddBlocks: []string{"1"}}, "circle (1 → 1)"},
		"circle of three":    {"1", todo.Change{Subject: ptr("y"), AddBlockedBy: []string{"3"}}, "circle (1 → 2 → 3 → 1)"},
		"circle, other side": {"3", todo.Change{AddBlocks: []string{"1"}}, "circle (1 → 2 → 3 → 1)"},
	} {
		_, err := todo.Update(s, tc.id, tc.change)
		if err == nil || !strings.Contains(err.Error(), tc.want) || s.Get() != before {
			t.Errorf("%s: %v, want %q and no change", name, err, tc.want)
		}
		if strings.Contains(tc.want, "no such") != errors.Is(err, todo.ErrNotFound) {
			t.Errorf("%s: kind of %v", name, err)
		}
	}
}

func TestDelete(t *testing.T) {
	s := list()
	for range 3 {
		todo.Create(s, todo.Item{Subject: "x"})
	}
	if _, err := todo.Update(s, "2", todo.Change{AddBlocks: []string{"3"}, AddBlockedBy: []string{"1"}}); err != nil {
		t.Fatal(err)
	}
	got, err := todo.Update(s, "2", todo.Change{Status: ptr(todo.Deleted)})
	if err != nil || !slices.Equal(got.Fields, []string{"deleted"}) || got.From != todo.Pending || got.To != todo.Deleted || got.Item.ID != "2" {
		t.Errorf("%+v, %v", got, err)
	}
	want := []todo.Item{{ID: "1", Subject: "x", Status: todo.Pending, Blocks: []string{}}, {ID: "3", Subject: "x", Status: todo.Pending, BlockedBy: []string{}}}
	if d := cmp.Diff(want, s.Get().Items); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if it := todo.Create(s, todo.Item{Subject: "new"}); it.ID != "4" {
		t.Errorf("id %s was used before", it.ID)
	}
}

func TestReplaceAndRelease(t *testing.T) {
	s := list()
	todo.Create(s, todo.Item{Subject: "old"})
	before, after := todo.Replace(s, []todo.Item{{Subject: "a", ActiveForm: "doing a", Status: todo.InProgress}, {Subject: "b", Status: todo.Pending}})
	if len(before) != 1 || len(after) != 2 || after[0].ID != "2" || s.Get().HighWater != 3 {
		t.Errorf("%v → %v", before, after)
	}
	if d := cmp.Diff(proto.Todos{Items: []proto.Todo{{ID: "2", Subject: "a", ActiveForm: "doing a", Status: "in_progress"}, {ID: "3", Subject: "b", Status: "pending"}}}, s.Get().Events()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestAlwaysInOrder does anything to a list, from several goroutines, and looks at every state:
// ids are unique and never come again, both sides of a dependency agree, and there is no circle.
func TestAlwaysInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := list()
		problems := make(chan string, 100)
		given := map[string]bool{}
		s.Watch(func(old, new *todo.State) {
			if p := wrong(old, new, given); p != "" {
				select {
				case problems <- p:
				default:
				}
			}
		})
		type step struct {
			id, other string
			kind      int
		}
		plan := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			id := rapid.Map(rapid.IntRange(1, 8), func(n int) string { return fmt.Sprint(n) })
			return step{id.Draw(t, "id"), id.Draw(t, "other"), rapid.IntRange(0, 6).Draw(t, "kind")}
		}), 1, 60).Draw(t, "plan")
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				for i := w; i < len(plan); i += 3 {
					switch p := plan[i]; p.kind {
					case 0, 1, 2:
						todo.Create(s, todo.Item{Subject: "x"})
					case 3:
						_, _ = todo.Update(s, p.id, todo.Change{AddBlocks: []string{p.other}})
					case 4:
						_, _ = todo.Update(s, p.id, todo.Change{AddBlockedBy: []string{p.other}})
					case 5:
						_, _ = todo.Update(s, p.id, todo.Change{Status: ptr(todo.Deleted)})
					case 6:
						_, _ = todo.Update(s, p.id, todo.Change{Status: ptr(todo.InProgress), Owner: ptr(p.other)})
					}
				}
			})
		}
		wg.Wait()
		select {
		case p := <-problems:
			t.Fatal(p)
		default:
		}
	})
}

func wrong(old, new *todo.State, given map[string]bool) string {
	byID := map[string]todo.Item{}
	for _, it := range new.Items {
		if _, ok := byID[it.ID]; ok {
			return "id " + it.ID + " twice"
		}
		byID[it.ID] = it
		if !slices.ContainsFunc(old.Items, func(o todo.Item) bool { return o.ID == it.ID }) {
			if given[it.ID] {
				return "id " + it.ID + " came again"
			}
			given[it.ID] = true
		}
	}
	for _, it := range new.Items {
		for _, b := range it.Blocks {
			if !slices.Contains(byID[b].BlockedBy, it.ID) {
				return fmt.Sprintf("%s blocks %s, which does not know", it.ID, b)
			}
		}
		for _, b := range it.BlockedBy {
			if !slices.Contains(byID[b].Blocks, it.ID) {
				return fmt.Sprintf("%s waits for %s, which does not know", it.ID, b)
			}
		}
	}
	left := new.Items // take away what waits for nothing, until nothing is left
	for len(left) > 0 {
		rest := slices.DeleteFunc(slices.Clone(left), func(it todo.Item) bool {
			return !slices.ContainsFunc(it.BlockedBy, func(b string) bool {
				return slices.ContainsFunc(left, func(o todo.Item) bool { return o.ID == b })
			})
		})
		if len(rest) == len(left) {
			return "a circle"
		}
		left = rest
	}
	return ""
}

func TestStateIsData(t *testing.T) {
	s := list()
	todo.Create(s, todo.Item{Subject: "x", Metadata: map[string]json.RawMessage{"k": json.RawMessage(`{"a":1}`)}})
	raw, err := store.Snapshot(s.Get())
	if want := `{"items":[{"id":"1","subject":"x","status":"pending","metadata":{"k":{"a":1}}}],"highWater":1}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
}

// list is a list of its own.
func list() todo.Slice {
	type root struct{ list *todo.State }
	s := store.New(root{&todo.State{}}, nil, nil)
	return store.Focus(s, func(r *root) *todo.State { return r.list }, func(_ *root, l *todo.State) *root { return &root{l} })
}
