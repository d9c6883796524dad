package task

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// Status is where a task stands.
type Status string

// The states. The last three are final.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed" // ended by itself, well
	Failed    Status = "failed"    // ended by itself otherwise, or by its time limit
	Killed    Status = "killed"    // ended by somebody; Error says who
)

// Final reports whether no state follows.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Killed }

// Legal reports whether a task may go from one state to another. Five of the 25 pairs are legal, so
// the first end wins: a kill that arrives after the exit changes nothing.
func Legal(from, to Status) bool {
	switch from {
	case Pending:
		return to == Running || to == Killed
	case Running:
		return to.Final()
	}
	return false
}

// end is how a task ends.
type end struct {
	status   Status
	why      string
	exitCode *int
	usage    *Usage
	at       time.Time
}

// add returns the state with a new task, or an error when there was one with that id.
func (s *State) add(t Task) (*State, error) {
	if t.ID == "" {
		return s, fmt.Errorf("enter task %q: it has no id", t.Description)
	}
	if _, taken := s.Tasks.Get(t.ID); taken {
		return s, fmt.Errorf("enter task %s: the id is taken", t.ID)
	}
	return s.with(t), nil
}

// with returns the state with t in the place of its older self.
func (s *State) with(t Task) *State {
	next := *s
	next.Tasks = s.Tasks.Set(t.ID, t)
	next.changed = []string{t.ID}
	return &next
}

// move returns the state in which the task has gone to another, and whether it could.
func (s *State) move(id string, to Status) (*State, bool) {
	t, ok := s.Tasks.Get(id)
	if !ok || !Legal(t.Status, to) {
		return s, false
	}
	t.Status = to
	return s.with(t), true
}

// finish returns the state in which the task has ended, its agent's names are free and the oldest
// of too many ended tasks are gone; and whether it could.
func (s *State) finish(id string, e end) (*State, bool) {
	t, ok := s.Tasks.Get(id)
	if !ok || !e.status.Final() || !Legal(t.Status, e.status) {
		return s, false
	}
	t.Status, t.EndTime, t.Held = e.status, e.at, false
	if e.status != Completed {
		t.Error = e.why
	}
	if e.exitCode != nil {
		t.ExitCode = e.exitCode
	}
	if e.usage != nil {
		t.Usage = e.usage
	}
	order := s.endedOrder()
	next := s.with(t)
	if t.AgentID != "" {
		next.Names = next.without(t.AgentID)
	}
	next.ended = append(slices.Clone(order), id)
	for len(next.ended) > maxEnded {
		next.Tasks = next.Tasks.Delete(next.ended[0])
		next.ended = next.ended[1:]
	}
	return next, true
}

// endedOrder lists the ended tasks, the oldest first.
func (s *State) endedOrder() []string {
	if s.ended != nil {
		return s.ended
	}
	var over []Task
	for _, t := range s.Tasks.All() {
		if t.Ended() {
			over = append(over, t)
		}
	}
	slices.SortStableFunc(over, func(a, b Task) int { return a.EndTime.Compare(b.EndTime) })
	out := make([]string, 0, len(over))
	for _, t := range over {
		out = append(out, t.ID)
	}
	return out
}

// name returns the state in which name denotes the agent.
func (s *State) name(name, agent string) (*State, error) {
	if strings.TrimSpace(name) == "" || agent == "" {
		return s, fmt.Errorf("name agent %q: a name and an id are needed", agent)
	}
	if has, taken := s.Names.Get(name); taken && has != agent {
		return s, fmt.Errorf("name agent %s: %q is the name of %s, which still lives", agent, name, has)
	}
	next := *s
	next.Names, next.changed = s.Names.Set(name, agent), nil
	return &next, nil
}

// without returns the names but those of the agent.
func (s *State) without(agent string) pmap.Map[string, string] {
	out := s.Names
	for n, a := range s.Names.All() {
		if a == agent {
			out = out.Delete(n)
		}
	}
	return out
}
