package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/store"
)

// Board is the way to change the slice. It is safe for concurrent use; copies of it are the same
// board. All fields but Refused are needed.
type Board struct {
	Slice   store.Slice[State]
	Now     func() time.Time
	Refused func(id string, from, to Status) // told of a change of state that is not legal; nil: nobody. For the debug log.
}

// Start enters new work. A task without a start time starts now, one without a status runs.
func (b Board) Start(t Task) error {
	if t.StartTime.IsZero() {
		t.StartTime = b.Now()
	}
	if t.Status == "" {
		t.Status = Running
	}
	var err error
	b.Slice.Set(func(prev *State) *State {
		var next *State
		next, err = prev.add(t)
		return next
	})
	return err
}

// Run moves a pending task to running. False: it was not pending.
func (b Board) Run(id string) bool {
	return b.change(id, Running, func(s *State) (*State, bool) { return s.move(id, Running) })
}

// Outcome is how a task ended.
type Outcome struct {
	Status   Status // a final one
	Error    string // cause of failed, who or what of killed
	ExitCode *int
	Usage    *Usage
}

// End ends a task, now. The first end wins: false means that it had ended before, or is not known,
// and nothing was changed and nobody told.
func (b Board) End(id string, o Outcome) bool {
	e := end{status: o.Status, why: o.Error, exitCode: o.ExitCode, usage: o.Usage, at: b.Now()}
	return b.change(id, o.Status, func(s *State) (*State, bool) { return s.finish(id, e) })
}

// change applies a change of state and tells a refusal.
func (b Board) change(id string, to Status, apply func(*State) (*State, bool)) bool {
	done := false
	var from Status
	b.Slice.Set(func(prev *State) *State {
		t, _ := prev.Tasks.Get(id)
		from = t.Status
		var next *State
		next, done = apply(prev)
		return next
	})
	if !done && b.Refused != nil {
		b.Refused(id, from, to)
	}
	return done
}

// Edit changes what may change while a task lives: description, output file, background, held,
// service, usage, exit code. What edit does to the rest is ignored. An ended task keeps everything
// but its service. False: unknown, or nothing changed.
func (b Board) Edit(id string, edit func(Task) Task) bool {
	done := false
	b.Slice.Set(func(prev *State) *State {
		t, ok := prev.Tasks.Get(id)
		if !ok {
			return prev
		}
		n := edit(t)
		is := t
		is.Service = n.Service
		if !t.Ended() {
			is.Description, is.OutputFile = n.Description, n.OutputFile
			is.Backgrounded, is.Held, is.Usage, is.ExitCode = n.Backgrounded, n.Held, n.Usage, n.ExitCode
		}
		if is == t {
			return prev
		}
		done = true
		return prev.with(is)
	})
	return done
}

// Name lets a name denote a living agent. A name that denotes another living agent is refused.
func (b Board) Name(name, agentID string) error {
	var err error
	b.Slice.Set(func(prev *State) *State {
		if has, ok := prev.Names.Get(name); ok && has == agentID {
			return prev
		}
		var next *State
		next, err = prev.name(name, agentID)
		return next
	})
	return err
}

// Find returns the task that a reference denotes: its id, its agent's id, the name of its agent, or
// the name of its service.
func (s *State) Find(ref string) (Task, bool) {
	if t, ok := s.Tasks.Get(ref); ok {
		return t, true
	}
	agent, named := s.Names.Get(ref)
	var found Task
	ok := false
	for _, t := range s.Tasks.All() {
		switch {
		case t.AgentID != "" && (t.AgentID == ref || named && t.AgentID == agent):
		case t.Service != nil && t.Service.Name == ref:
		default:
			continue
		}
		if !ok || found.Ended() && !t.Ended() || found.Ended() == t.Ended() && t.StartTime.After(found.StartTime) {
			found, ok = t, true
		}
	}
	return found, ok
}

// List returns the tasks for which keep holds (nil: all), the oldest first.
func (s *State) List(keep func(Task) bool) []Task {
	var out []Task
	for _, t := range s.Tasks.All() {
		if keep == nil || keep(t) {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b Task) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.ID, b.ID))
	})
	return out
}

// Living returns the tasks that have not ended, the oldest first.
func (s *State) Living() []Task { return s.List(func(t Task) bool { return !t.Ended() }) }

// Unknown is what a model is told that asked for a task that is not there.
func (s *State) Unknown(ref string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "No task %q.", ref)
	living := s.Living()
	if len(living) == 0 {
		b.WriteString(" Nothing is running.")
		return b.String()
	}
	b.WriteString(" Running:")
	for _, t := range living {
		fmt.Fprintf(&b, "\n%s (%s): %s", t.ID, t.Kind, t.Description)
	}
	return b.String()
}

// Listed is a state of these tasks, in no relation to a session.
func Listed(tasks []Task) *State {
	s := &State{}
	for _, t := range tasks {
		s.Tasks = s.Tasks.Set(t.ID, t)
	}
	return s
}

// Resumed turns the tasks of a recorded session into the state of a new process: what had not ended
// is killed at the time of the last record, but services that alive confirms, and remote work,
// which is asked for elsewhere. Nothing is started again.
func Resumed(recorded []Task, last time.Time, alive func(Service) bool) *State {
	s := &State{}
	for _, t := range recorded {
		if !t.Ended() && !goesOn(t, alive) {
			t.Status, t.EndTime, t.Held = Killed, last, false
			t.Error = "its process ended with the session"
		}
		if t.Status == "paused" { // of foreign records
			t.Status, t.Held = Running, true
		}
		s.Tasks = s.Tasks.Set(t.ID, t)
	}
	order := s.endedOrder()
	for len(order) > maxEnded {
		s.Tasks, order = s.Tasks.Delete(order[0]), order[1:]
	}
	s.ended = order
	return s
}

func goesOn(t Task, alive func(Service) bool) bool {
	switch {
	case t.Kind == Remote:
		return true
	case t.Service != nil && t.Service.Keep:
		return alive != nil && alive(*t.Service)
	}
	return false
}
