package notice_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/notice"
)

type whole struct{ N *notice.State }

func open() (notice.Slice, *int) {
	changes := new(int)
	s := store.New(whole{&notice.State{}}, func(store.Change[whole]) { *changes++ }, nil)
	return store.Focus(s, func(w *whole) *notice.State { return w.N }, func(_ *whole, n *notice.State) *whole { return &whole{n} }), changes
}

func at(second int) time.Time { return time.Date(2026, 11, 30, 12, 0, second, 0, time.UTC) }

func TestShow(t *testing.T) {
	s, changes := open()
	notice.Show(s, notice.Item{Key: "a", Text: "first", Since: at(1)})
	notice.Show(s, notice.Item{Text: "no key", Level: notice.Warning, Since: at(2)})
	before := s.Get()
	notice.Show(s, notice.Item{Key: "a", Text: "first", Since: at(3)}) // the same again
	if *changes != 2 {
		t.Errorf("%d changes, want 2", *changes)
	}
	notice.Show(s, notice.Item{Key: "a", Text: "second", Level: notice.Error, Since: at(4)})
	want := []notice.Item{
		{Key: "a", Text: "second", Level: notice.Error, Since: at(4)},
		{Key: "no key", Text: "no key", Level: notice.Warning, Since: at(2)},
	}
	if d := cmp.Diff(want, s.Get().Items); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if before.Items[0].Text != "first" {
		t.Error("an older snapshot changed")
	}
}

func TestDismissAndExpire(t *testing.T) {
	s, changes := open()
	notice.Show(s, notice.Item{Key: "stays", Text: "x"})
	notice.Show(s, notice.Item{Key: "soon", Text: "x", Until: at(10)})
	notice.Show(s, notice.Item{Key: "later", Text: "x", Until: at(20)})
	before := *changes
	if next := notice.Expire(s, at(5)); !next.Equal(at(10)) || *changes != before {
		t.Errorf("at 5: next %v, %d changes", next, *changes-before)
	}
	if next := notice.Expire(s, at(10)); !next.Equal(at(20)) || len(s.Get().Items) != 2 {
		t.Errorf("at 10: next %v, %v", next, s.Get().Items)
	}
	if next := notice.Expire(s, at(30)); !next.IsZero() || len(s.Get().Items) != 1 {
		t.Errorf("at 30: next %v, %v", next, s.Get().Items)
	}
	if !notice.Dismiss(s, "stays") || notice.Dismiss(s, "stays") || len(s.Get().Items) != 0 {
		t.Errorf("left %v", s.Get().Items)
	}
}

// TestBound: at the bound all stay; above it the oldest of the lowest level goes, never the newest.
func TestBound(t *testing.T) {
	s, _ := open()
	notice.Show(s, notice.Item{Key: "error", Text: "x", Level: notice.Error})
	for i := range notice.Most - 1 {
		notice.Show(s, notice.Item{Key: fmt.Sprint(i), Text: "x", Level: notice.Warning})
	}
	if n := len(s.Get().Items); n != notice.Most {
		t.Fatalf("%d notices, want %d", n, notice.Most)
	}
	notice.Show(s, notice.Item{Key: "info", Text: "x"})
	items := s.Get().Items
	if len(items) != notice.Most || items[0].Key != "error" || items[1].Key != "1" || items[len(items)-1].Key != "info" {
		t.Errorf("%d notices: %v … %v", len(items), items[:2], items[len(items)-1])
	}
}
