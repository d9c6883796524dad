// Package notice owns the notices of a session: short sentences people should see until they are
// taken away, run out or are replaced. What happened and is over is an event, not a notice; what a
// model should know goes into the conversation.
//
// Begin with [Show].
package notice

import (
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/core/store"
)

// State is the slice "notice". Items are in order of their first appearance.
type State struct {
	Items []Item `json:"items"`
}

// Item is one notice.
type Item struct {
	Key   string    `json:"key"` // what it is about; a notice with the same key replaces it
	Text  string    `json:"text"`
	Level Level     `json:"level"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"` // zero: until it is taken away
}

// Level says how much a notice matters.
type Level string

// The levels of a notice.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// Most is how many notices are kept; above it the oldest of the lowest level goes.
const Most = 100

// Slice is this package's part of the state of a session.
type Slice = store.Slice[State]

// Show adds a notice, or replaces the one with the same key, which keeps its place; with the same
// text and level it also keeps the time it appeared. An empty key is the text itself. An empty
// level is Info.
func Show(s Slice, n Item) {
	if n.Key == "" {
		n.Key = n.Text
	}
	if n.Level == "" {
		n.Level = Info
	}
	s.Set(func(prev *State) *State {
		at := slices.IndexFunc(prev.Items, func(o Item) bool { return o.Key == n.Key })
		if at < 0 {
			return &State{Items: bounded(append(slices.Clip(prev.Items), n))}
		}
		old := prev.Items[at]
		if old.Text == n.Text && old.Level == n.Level {
			n.Since = old.Since
		}
		if old == n {
			return prev
		}
		items := slices.Clone(prev.Items)
		items[at] = n
		return &State{Items: items}
	})
}

// bounded drops from its own list what is too much.
func bounded(items []Item) []Item {
	for len(items) > Most {
		worst := 0
		for i, it := range items[:len(items)-1] { // never the newest
			if rank(it.Level) < rank(items[worst].Level) {
				worst = i
			}
		}
		items = slices.Delete(items, worst, worst+1)
	}
	return items
}

func rank(l Level) int {
	switch l {
	case Error:
		return 2
	case Warning:
		return 1
	}
	return 0
}

// Dismiss takes the notice of a key away and reports whether there was one.
func Dismiss(s Slice, key string) (was bool) {
	return drop(s, func(n Item) bool { return n.Key == key })
}

// Expire takes away what ran out before now. It returns when the next one does, zero for never, so
// that a timer can be set.
func Expire(s Slice, now time.Time) (next time.Time) {
	drop(s, func(n Item) bool { return !n.Until.IsZero() && !n.Until.After(now) })
	for _, n := range s.Get().Items {
		if !n.Until.IsZero() && (next.IsZero() || n.Until.Before(next)) {
			next = n.Until
		}
	}
	return next
}

func drop(s Slice, which func(Item) bool) (was bool) {
	s.Set(func(prev *State) *State {
		was = slices.ContainsFunc(prev.Items, which)
		if !was {
			return prev
		}
		return &State{Items: slices.DeleteFunc(slices.Clone(prev.Items), which)}
	})
	return was
}
