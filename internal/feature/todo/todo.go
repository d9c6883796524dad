// Package todo owns the model's list of what is to do: items with a state, an owner and
// dependencies. An item is a note of the model about its work, not running work (that is a task,
// in feature/task).
//
// Every function takes a slice of a store: the main conversation's is part of the session's state,
// a subagent has a private one ([Private]). Begin with [State], [Create] and [Update].
package todo

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
)

// State is the slice "todo". Items are in order of their creation.
type State struct {
	Items     []Item `json:"items"`
	HighWater int    `json:"highWater"` // the highest id ever given; ids are never used again
}

// Item is one thing to do.
type Item struct {
	ID          string                     `json:"id"` // a decimal number
	Subject     string                     `json:"subject"`
	Description string                     `json:"description,omitempty"`
	ActiveForm  string                     `json:"activeForm,omitempty"` // what is shown while it is in progress
	Status      Status                     `json:"status"`
	Owner       string                     `json:"owner,omitempty"`
	Blocks      []string                   `json:"blocks,omitempty"`    // ids that wait for this one
	BlockedBy   []string                   `json:"blockedBy,omitempty"` // ids this one waits for
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Status says how far an item is.
type Status string

// The states of an item. Deleted is what an update may ask for; no item has it.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

// ErrNotFound is returned for an id that no item has.
var ErrNotFound = errors.New("no such item")

// Slice is this package's part of a state.
type Slice = store.Slice[State]

// Create adds a pending item with the given subject, description, active form and metadata; its
// other fields are ignored. It returns the item with its id.
func Create(s Slice, item Item) Item {
	var made Item
	s.Set(func(prev *State) *State {
		made = Item{
			ID: strconv.Itoa(prev.HighWater + 1), Subject: item.Subject, Description: item.Description, ActiveForm: item.ActiveForm,
			Status: Pending, Metadata: withoutNulls(item.Metadata),
		}
		return &State{Items: append(slices.Clip(prev.Items), made), HighWater: prev.HighWater + 1}
	})
	return made
}

// Get returns the item with an id.
func Get(s Slice, id string) (Item, bool) { return s.Get().find(id) }

func (s *State) find(id string) (Item, bool) {
	if i := s.index(id); i >= 0 {
		return s.Items[i], true
	}
	return Item{}, false
}

func (s *State) index(id string) int {
	return slices.IndexFunc(s.Items, func(it Item) bool { return it.ID == id })
}

// OpenBlockers are the ids of the items that it waits for and that are not completed.
func (s *State) OpenBlockers(it Item) []string {
	var out []string
	for _, id := range it.BlockedBy {
		if b, ok := s.find(id); ok && b.Status != Completed {
			out = append(out, id)
		}
	}
	return out
}

// Change is what an update does to an item. Nil fields stay as they are.
type Change struct {
	Subject      *string
	Description  *string
	ActiveForm   *string
	Status       *Status
	Owner        *string
	AddBlocks    []string
	AddBlockedBy []string
	Metadata     map[string]json.RawMessage // merged; null deletes a key
}

// Updated tells what an update did.
type Updated struct {
	Item   Item     // as it is now; as it was, when it was deleted
	Fields []string // that changed, by their JSON names; "deleted" for the item itself
	From   Status   // the status before, when it changed
	To     Status   // and after; Deleted when it is gone
}

// Update changes one item, all or nothing. Errors are for the model to read: an unknown id
// ([ErrNotFound]), an unknown status, a dependency that would close a circle.
func Update(s Slice, id string, c Change) (Updated, error) {
	var out Updated
	var err error
	s.Set(func(prev *State) *State {
		e := &edit{State: State{Items: slices.Clone(prev.Items), HighWater: prev.HighWater}}
		if out, err = e.update(id, c); err != nil || len(out.Fields) == 0 {
			return prev
		}
		return &e.State
	})
	return out, err
}

// edit is a state whose list is its own; what the items hold is still shared.
type edit struct{ State }

func (e *edit) update(id string, c Change) (Updated, error) {
	i := e.index(id)
	if i < 0 {
		return Updated{}, fmt.Errorf("%w with the id %s", ErrNotFound, id)
	}
	if c.Status != nil {
		switch *c.Status {
		case Pending, InProgress, Completed:
		case Deleted:
			return e.delete(i), nil
		default:
			return Updated{}, fmt.Errorf("unknown status %q: expected pending, in_progress, completed or deleted", *c.Status)
		}
	}
	out := Updated{}
	it := &e.Items[i]
	set := func(name string, field *string, value *string) {
		if value != nil && *field != *value {
			*field = *value
			out.Fields = append(out.Fields, name)
		}
	}
	set("subject", &it.Subject, c.Subject)
	set("description", &it.Description, c.Description)
	set("activeForm", &it.ActiveForm, c.ActiveForm)
	set("owner", &it.Owner, c.Owner)
	if c.Status != nil && it.Status != *c.Status {
		out.From, out.To = it.Status, *c.Status
		it.Status = *c.Status
		out.Fields = append(out.Fields, "status")
	}
	if merged, changed := merge(it.Metadata, c.Metadata); changed {
		it.Metadata = merged
		out.Fields = append(out.Fields, "metadata")
	}
	for _, other := range c.AddBlocks {
		if err := e.link(id, other, "blocks", &out); err != nil {
			return Updated{}, err
		}
	}
	for _, other := range c.AddBlockedBy {
		if err := e.link(other, id, "blockedBy", &out); err != nil {
			return Updated{}, err
		}
	}
	out.Item = e.Items[i]
	return out, nil
}

// link makes the item after wait for the item before. side says from which of them it was asked.
func (e *edit) link(before, after, side string, out *Updated) error {
	b, a := e.index(before), e.index(after)
	switch {
	case b < 0:
		return fmt.Errorf("%w with the id %s", ErrNotFound, before)
	case a < 0:
		return fmt.Errorf("%w with the id %s", ErrNotFound, after)
	case slices.Contains(e.Items[b].Blocks, after):
		return nil
	}
	if circle := e.way(after, before); circle != nil {
		return fmt.Errorf("item %s cannot wait for item %s: that would close a circle (%s)", after, before, arrows(append(circle, after)))
	}
	e.Items[b].Blocks = append(slices.Clip(e.Items[b].Blocks), after)
	e.Items[a].BlockedBy = append(slices.Clip(e.Items[a].BlockedBy), before)
	if !slices.Contains(out.Fields, side) {
		out.Fields = append(out.Fields, side)
	}
	return nil
}

// way returns the ids on a way from one item along Blocks to another, nil when there is none.
func (e *edit) way(from, to string) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			var path []string
			for id := to; id != ""; id = came[id] {
				path = append([]string{id}, path...)
			}
			return path
		}
		it, _ := e.find(queue[0])
		for _, next := range it.Blocks {
			if _, seen := came[next]; !seen {
				came[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func arrows(ids []string) string {
	out := ids[0]
	for _, id := range ids[1:] {
		out += " → " + id
	}
	return out
}

// delete removes an item and every mention of it.
func (e *edit) delete(i int) Updated {
	gone := e.Items[i]
	e.Items = slices.Delete(e.Items, i, i+1)
	is := func(id string) bool { return id == gone.ID }
	for k := range e.Items {
		it := &e.Items[k]
		if slices.ContainsFunc(it.Blocks, is) {
			it.Blocks = slices.DeleteFunc(slices.Clone(it.Blocks), is)
		}
		if slices.ContainsFunc(it.BlockedBy, is) {
			it.BlockedBy = slices.DeleteFunc(slices.Clone(it.BlockedBy), is)
		}
	}
	return Updated{Item: gone, Fields: []string{"deleted"}, From: gone.Status, To: Deleted}
}

func merge(old, add map[string]json.RawMessage) (map[string]json.RawMessage, bool) {
	out, changed := map[string]json.RawMessage{}, false
	for k, v := range old {
		out[k] = v
	}
	for k, v := range add {
		had, ok := out[k]
		switch {
		case string(v) == "null":
			delete(out, k)
			changed = changed || ok
		case !ok || string(had) != string(v):
			out[k], changed = v, true
		}
	}
	if len(out) == 0 {
		out = nil
	}
	return out, changed
}

func withoutNulls(m map[string]json.RawMessage) map[string]json.RawMessage {
	out, _ := merge(nil, m)
	return out
}

// Replace makes the list consist of the given items, in their order, with new ids; of each only
// subject, active form and status count. It returns the list before and after.
func Replace(s Slice, items []Item) (before, after []Item) {
	s.Set(func(prev *State) *State {
		next := &State{HighWater: prev.HighWater}
		for _, it := range items {
			next.HighWater++
			next.Items = append(next.Items, Item{ID: strconv.Itoa(next.HighWater), Subject: it.Subject, ActiveForm: it.ActiveForm, Status: it.Status})
		}
		before, after = prev.Items, next.Items
		return next
	})
	return before, after
}

// Events returns the list as surfaces are told of it.
func (s *State) Events() proto.Todos {
	out := proto.Todos{Items: make([]proto.Todo, 0, len(s.Items))}
	for _, it := range s.Items {
		out.Items = append(out.Items, proto.Todo{ID: it.ID, Subject: it.Subject, ActiveForm: it.ActiveForm, Status: string(it.Status)})
	}
	return out
}
