package app

import (
	"github.com/myelin-agent/myelin/internal/app/pool"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/memory"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/feature/prompt"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/todo"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/feature/trust"
)

// Process is the state that lives as long as the process. It is a struct of pointers, one a slice,
// so that a watcher of one slice is never told of another.
type Process struct {
	Config *config.State `json:"config"`
	Policy *policy.State `json:"policy"`
}

// State is the state of one session; it is dropped whole when the session ends. A change of the
// process reaches it as a change of its process pointer.
type State struct {
	Process    *Process          `json:"process"`
	Session    *session.State    `json:"session"`
	Permission *permission.State `json:"permission"`
	Trust      *trust.State      `json:"trust"`
	Tool       *pool.State       `json:"tool"`
	Task       *task.State       `json:"task"`
	Surfaces   *Surfaces         `json:"surfaces"`
	Cost       *cost.State       `json:"cost"`
	Shaping    *shaping.State    `json:"shaping"`
	Transcript *transcript.State `json:"transcript"`
	Prompt     *prompt.State     `json:"prompt"`
	Hook       *hook.State       `json:"hook"`
	Todo       *todo.State       `json:"todo"`
	Memory     *memory.State     `json:"memory"`
}

// Surfaces is the slice "surfaces": one entry an attached surface, written on its operations alone.
type Surfaces struct {
	ByID map[string]Surface `json:"byId"`
}

// parts are the views of a session's store that features are handed.
type parts struct {
	process    store.Slice[Process]
	session    store.Slice[session.State]
	permission store.Slice[permission.State]
	trust      store.Slice[trust.State]
	pool       store.Slice[pool.State]
	task       store.Slice[task.State]
	surface    store.Slice[Surfaces]
	cost       store.Slice[cost.State]
	shaping    store.Slice[shaping.State]
	transcript store.Slice[transcript.State]
	prompt     store.Slice[prompt.State]
	hook       store.Slice[hook.State]
	todo       store.Slice[todo.State]
	memory     store.Slice[memory.State]
}

// emptyState is a state with every slice there and nothing in it.
func emptyState(p *Process) State {
	return State{
		Process: p, Session: &session.State{}, Permission: &permission.State{}, Trust: &trust.State{}, Tool: &pool.State{},
		Task: &task.State{}, Surfaces: &Surfaces{}, Cost: &cost.State{}, Shaping: &shaping.State{},
		Transcript: &transcript.State{}, Prompt: &prompt.State{}, Hook: &hook.State{}, Todo: &todo.State{},
		Memory: &memory.State{},
	}
}

func partsOf(s *store.Store[State]) parts {
	return parts{
		process:    part(s, func(w *State) **Process { return &w.Process }),
		session:    part(s, func(w *State) **session.State { return &w.Session }),
		permission: part(s, func(w *State) **permission.State { return &w.Permission }),
		trust:      part(s, func(w *State) **trust.State { return &w.Trust }),
		pool:       part(s, func(w *State) **pool.State { return &w.Tool }),
		task:       part(s, func(w *State) **task.State { return &w.Task }),
		surface:    part(s, func(w *State) **Surfaces { return &w.Surfaces }),
		cost:       part(s, func(w *State) **cost.State { return &w.Cost }),
		shaping:    part(s, func(w *State) **shaping.State { return &w.Shaping }),
		transcript: part(s, func(w *State) **transcript.State { return &w.Transcript }),
		prompt:     part(s, func(w *State) **prompt.State { return &w.Prompt }),
		hook:       part(s, func(w *State) **hook.State { return &w.Hook }),
		todo:       part(s, func(w *State) **todo.State { return &w.Todo }),
		memory:     part(s, func(w *State) **memory.State { return &w.Memory }),
	}
}

// part makes the view of one slice: at returns the place of its pointer in a state.
func part[S any](s *store.Store[State], at func(*State) **S) store.Slice[S] {
	return store.Focus(s,
		func(whole *State) *S { return *at(whole) },
		func(whole *State, next *S) *State {
			copied := *whole
			*at(&copied) = next
			return &copied
		})
}
