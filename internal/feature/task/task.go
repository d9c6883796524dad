// Package task keeps the list of running work of a session: shells, agents, teammates, workflows,
// monitors and remote jobs, what became of them, and which name denotes which agent. It owns the
// slice [State], which is written from any depth of agents.
//
// A task is running work; an item of the model's list is a todo and belongs elsewhere. The package
// starts and stops nothing itself: whoever runs the work enters it with [Board.Start], tells its
// end with [Board.End], and leaves the functions that stop and read it in [Live], beside the state.
//
// Begin with a [Board] over the slice; machine.go holds the states a task goes through.
package task

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// Kind is what sort of work a task is.
type Kind string

// The kinds of work.
const (
	Shell    Kind = "shell"
	Agent    Kind = "agent"
	Teammate Kind = "teammate"
	Workflow Kind = "workflow"
	Monitor  Kind = "monitor"
	Remote   Kind = "remote"
)

// Task is one piece of running work. It is a value and immutable once it is in the state.
type Task struct {
	ID            string    `json:"id"` // unique in the session, never used again
	Kind          Kind      `json:"kind"`
	Description   string    `json:"description"` // one line
	Status        Status    `json:"status"`
	StartTime     time.Time `json:"startTime"`
	EndTime       time.Time `json:"endTime,omitzero"` // set once, together with the end
	OutputFile    string    `json:"outputFile"`       // grows while it runs; empty: it has none
	ToolUseID     string    `json:"toolUseId,omitempty"`
	AgentID       string    `json:"agentId,omitempty"`       // the agent it is
	ParentAgentID string    `json:"parentAgentId,omitempty"` // whose it is; empty: the main conversation's
	Error         string    `json:"error,omitempty"`         // cause of failed or killed
	Backgrounded  bool      `json:"backgrounded"`            // started in or moved to the background
	Held          bool      `json:"held,omitempty"`          // an agent that waits because the user paused it; stays running
	Service       *Service  `json:"service,omitempty"`
	ExitCode      *int      `json:"exitCode,omitempty"`
	Usage         *Usage    `json:"usage,omitempty"`
}

// Service is the name under which a shell may outlive its session.
type Service struct {
	Name     string `json:"name"`
	Keep     bool   `json:"keep"` // asked of the user
	PID      int    `json:"pid"`
	PIDStart uint64 `json:"pidStart"`
}

// Usage is what an agent has spent, in the public shape.
type Usage struct {
	TotalTokens int   `json:"total_tokens"`
	ToolUses    int   `json:"tool_uses"`
	DurationMS  int64 `json:"duration_ms"`
}

// State is the slice. The zero State is empty and ready. It is immutable; see [Board].
type State struct {
	Tasks pmap.Map[string, Task]   `json:"tasks,omitzero"`
	Names pmap.Map[string, string] `json:"names,omitzero"` // name → id of the living agent it denotes

	changed []string // ids of the tasks that the newest change touched
	ended   []string // ids of ended tasks, oldest first; nil after reading from JSON
}

// maxEnded is how many ended tasks stay listed.
const maxEnded = 1000

// Ended reports whether the task is over.
func (t Task) Ended() bool { return t.Status.Final() }

// Wire is the task as surfaces see it.
func (t Task) Wire() proto.Task {
	w := proto.Task{
		ID: t.ID, Kind: string(t.Kind), Description: t.Description, Status: string(t.Status),
		Call: t.ToolUseID, AgentID: t.AgentID, OutputFile: t.OutputFile, Error: t.Error,
		ExitCode: t.ExitCode, Backgrounded: t.Backgrounded, StartMS: t.StartTime.UnixMilli(),
	}
	if !t.EndTime.IsZero() {
		w.EndMS = t.EndTime.UnixMilli()
	}
	return w
}

// NewID makes an id from eight random bytes: a letter for the kind, then digits and letters.
func NewID(k Kind, random [8]byte) string {
	letter := map[Kind]string{Shell: "b", Agent: "a", Teammate: "t", Workflow: "w", Monitor: "m", Remote: "r"}[k]
	if letter == "" {
		letter = "x"
	}
	digits := strconv.FormatUint(binary.BigEndian.Uint64(random[:]), 36)
	for len(digits) < 8 {
		digits = "0" + digits
	}
	return letter + digits[len(digits)-8:]
}

// Change is one task before and after a transition of the state.
type Change struct {
	Old *Task // nil: it is new
	New Task
}

// Ends reports that this change is the end of the task. There is exactly one such change a task.
func (c Change) Ends() bool { return c.New.Ended() && (c.Old == nil || !c.Old.Ended()) }

// Changes returns the tasks that one transition of the slice touched. It is for watchers of the
// slice, which see every transition once and in order; its cost does not grow with the list.
func Changes(old, new *State) []Change {
	var out []Change
	for _, id := range new.changed {
		is, ok := new.Tasks.Get(id)
		if !ok {
			continue
		}
		c := Change{New: is}
		if was, had := old.Tasks.Get(id); had {
			c.Old = &was
		}
		out = append(out, c)
	}
	return out
}
