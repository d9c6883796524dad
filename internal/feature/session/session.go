// Package session owns what is known of one session as such: who it is, where it stands, which
// model it talks to, what waits in its queue and which questions are open.
//
// It is data and the few changes of it; it runs nothing, asks nothing and writes no file. Every
// function takes the session's slice of the store and returns at once. Begin with [State].
package session

import (
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// State is the slice "session". The zero State is a session without a name that stands nowhere.
type State struct {
	ID             string                `json:"id"`         // UUID
	ProjectDir     string                `json:"projectDir"` // folder of its transcript; changes only together with ID
	Cwd            string                `json:"cwd"`        // absolute
	ProjectRoot    string                `json:"projectRoot"`
	Name           string                `json:"name,omitempty"`  // given by the user
	Title          string                `json:"title,omitempty"` // made from the conversation
	Tags           []string              `json:"tags,omitempty"`
	Model          string                `json:"model"` // provider/id
	FallbackModels []string              `json:"fallbackModels,omitempty"`
	Effort         string                `json:"effort,omitempty"`
	Interactive    bool                  `json:"interactive"`          // decides which tools are offered
	Entrypoint     string                `json:"entrypoint,omitempty"` // cli, sdk-ts, sdk-py, acp, …
	StartedAt      time.Time             `json:"startedAt,omitzero"`
	ForkedFrom     string                `json:"forkedFrom,omitempty"` // session id
	Activity       Activity              `json:"activity"`
	Queue          []Queued              `json:"queue,omitempty"` // typed meanwhile, oldest first
	Asks           pmap.Map[string, Ask] `json:"asks,omitzero"`   // open questions by id
}

// Activity says what a session does.
type Activity string

// What a session does. The zero State is idle.
const (
	Idle           Activity = "idle"
	Running        Activity = "running"
	RequiresAction Activity = "requires_action" // it runs, and waits for an answer
)

// Queued is a prompt that was given while a turn ran.
type Queued struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	Kind QueueKind `json:"kind"`
	From string    `json:"from,omitempty"` // surface
	At   time.Time `json:"at,omitzero"`
}

// QueueKind says when a queued prompt is taken.
type QueueKind string

// The kinds of queued prompts.
const (
	Steer     QueueKind = "steer"     // beside the results at the next tool boundary
	Later     QueueKind = "queue"     // after the turn
	Interrupt QueueKind = "interrupt" // ends the turn and opens the next
)

// Ask is an open question as everybody may see it. Who takes the answer is held elsewhere, by id.
type Ask struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	InputHash string    `json:"inputHash,omitempty"` // of what the answer would allow
	Text      string    `json:"text"`
	Options   []string  `json:"options,omitempty"` // ids
	Agent     string    `json:"agent,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	State     string    `json:"state"` // open, answered, withdrawn
	By        string    `json:"by,omitempty"`
}

// Slice is this package's part of the state of a session.
type Slice = store.Slice[State]

// change sets a copy that edit has changed; edit reports whether it changed anything.
func change(s Slice, edit func(next *State) bool) {
	s.Set(func(prev *State) *State {
		next := *prev
		if !edit(&next) {
			return prev
		}
		return &next
	})
}

// put sets one field when it differs.
func put[T comparable](field *T, value T) bool {
	if *field == value {
		return false
	}
	*field = value
	return true
}

// Become makes the session another one: after resume, branch, clear or a move to another folder.
// Id and project folder change together. Name, title and tags are those of the other one; what
// waits in the queue stays, open questions do not.
func Become(s Slice, id, projectDir, forkedFrom string) {
	change(s, func(n *State) bool {
		if n.ID == id && n.ProjectDir == projectDir {
			return put(&n.ForkedFrom, forkedFrom)
		}
		n.ID, n.ProjectDir, n.ForkedFrom = id, projectDir, forkedFrom
		n.Name, n.Title, n.Tags, n.Asks = "", "", nil, pmap.Map[string, Ask]{}
		return true
	})
}

// SetCwd moves the session to dir, an absolute path.
func SetCwd(s Slice, dir string) {
	change(s, func(n *State) bool { return put(&n.Cwd, dir) })
}

// SetModel changes the model (provider/id) and the models that take over for it.
func SetModel(s Slice, model string, fallbacks []string) {
	change(s, func(n *State) bool {
		changed := put(&n.Model, model)
		if !slices.Equal(n.FallbackModels, fallbacks) {
			n.FallbackModels, changed = slices.Clone(fallbacks), true
		}
		return changed
	})
}

// Rename gives the session the user's name for it; empty takes it away.
func Rename(s Slice, name string) {
	change(s, func(n *State) bool { return put(&n.Name, name) })
}

// SetTitle gives the session a title made from its conversation.
func SetTitle(s Slice, title string) {
	change(s, func(n *State) bool { return put(&n.Title, title) })
}

// SetActivity tells whether a turn runs. While questions are open a running session requires
// action, whatever it is told.
func SetActivity(s Slice, a Activity) {
	change(s, func(n *State) bool { return put(&n.Activity, n.activity(a)) })
}

func (n *State) activity(a Activity) Activity {
	switch {
	case a == Idle || a == "":
		return Idle
	case n.Asks.Len() > 0:
		return RequiresAction
	}
	return Running
}

// Enqueue adds a prompt to the queue. One with an id that is queued already is not added again.
func Enqueue(s Slice, q Queued) {
	change(s, func(n *State) bool {
		if slices.ContainsFunc(n.Queue, func(o Queued) bool { return o.ID == q.ID }) {
			return false
		}
		n.Queue = append(slices.Clip(n.Queue), q)
		return true
	})
}

// Unqueue takes a prompt back and reports whether it was still there.
func Unqueue(s Slice, id string) (was bool) {
	return len(take(s, func(q Queued) bool { return q.ID == id })) > 0
}

// Take removes and returns the prompts of a kind, oldest first.
func Take(s Slice, kind QueueKind) []Queued {
	return take(s, func(q Queued) bool { return q.Kind == kind })
}

// ClearQueue removes and returns all that waits.
func ClearQueue(s Slice) []Queued { return take(s, func(Queued) bool { return true }) }

func take(s Slice, which func(Queued) bool) (out []Queued) {
	change(s, func(n *State) bool {
		out = nil
		var rest []Queued
		for _, q := range n.Queue {
			if which(q) {
				out = append(out, q)
			} else {
				rest = append(rest, q)
			}
		}
		n.Queue = rest
		return len(out) > 0
	})
	return out
}

// OpenAsk enters a question; a running session then requires action.
func OpenAsk(s Slice, ask Ask) {
	ask.State = "open"
	change(s, func(n *State) bool {
		n.Asks = n.Asks.Set(ask.ID, ask)
		n.Activity = n.activity(n.Activity)
		return true
	})
}

// CloseAsk removes a question that was answered or withdrawn.
func CloseAsk(s Slice, id string) {
	change(s, func(n *State) bool {
		if _, ok := n.Asks.Get(id); !ok {
			return false
		}
		n.Asks = n.Asks.Delete(id)
		n.Activity = n.activity(n.Activity)
		return true
	})
}
