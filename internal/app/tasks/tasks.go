// Package tasks is the running work of one session: what surfaces and other processes may do with it, and the
// services that outlive the session that started them.
//
// It is handed the slice of tasks and knows no tool but the shell, whose commands move to the background.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

var errNoService = errors.New("only a running service that was started under a name can be kept")

// KeptOf is the process of a service that outlives its session.
func KeptOf(sv task.Service) proc.Kept { return proc.Kept{PID: sv.PID, Start: sv.PIDStart} }

// Lives says whether a service still runs.
func Lives(sv task.Service) bool { return KeptOf(sv).Alive() }

// Tasks is the running work of a session.
type Tasks struct {
	given Given
	Live  task.Live   // where tools leave their controls
	Shell *bash.Shell // nil: there is none yet
}

// Given is what [Tasks] are handed.
type Given struct {
	State     store.Slice[task.State]
	Now       func() time.Time
	Reachable func()          // opens the door to other processes; must not wait
	Context   context.Context // ends with the session
}

// New makes the work of a session, of which there is none yet.
func New(given Given) *Tasks { return &Tasks{given: given} }

// Board is where tools report work.
func (w *Tasks) Board() task.Board { return task.Board{Slice: w.given.State, Now: w.given.Now} }

// Adopt takes over the services that an earlier session of the conversation left running: they are
// listed, can be stopped, and their end is told. They are not ended with this session either.
func (w *Tasks) Adopt() {
	board := w.Board()
	for _, t := range w.given.State.Get().List(func(t task.Task) bool { return !t.Ended() && t.Service != nil && t.Service.Keep }) {
		kept, done := KeptOf(*t.Service), make(chan struct{})
		var once sync.Once
		end := func(o task.Outcome) {
			once.Do(func() {
				w.Live.Leave(t.ID)
				board.End(t.ID, o)
				close(done)
			})
		}
		w.Live.Enter(t.ID, task.Control{Done: done, Stop: func(why string) {
			kept.End(0)
			end(task.Outcome{Status: task.Killed, Error: why})
		}})
		go func() { // ends with the service, at the latest with the session
			if kept.Gone(w.given.Context) {
				end(task.Outcome{Status: task.Completed})
			}
		}()
		w.given.Reachable()
	}
}

// LetGo takes the services that outlive the session out of what it stops at its end.
func (w *Tasks) LetGo() {
	for _, t := range w.given.State.Get().List(func(t task.Task) bool { return t.Service != nil && t.Service.Keep }) {
		w.Live.Leave(t.ID)
	}
}

// Outlives says whether a service outlives the session.
func (w *Tasks) Outlives() bool {
	return len(w.given.State.Get().List(func(t task.Task) bool { return !t.Ended() && t.Service != nil && t.Service.Keep })) > 0
}

// Keep lets a named service outlive the session.
func (w *Tasks) Keep(t task.Task) (string, error) {
	c, live := w.Live.Get(t.ID)
	switch {
	case t.Service == nil:
		return "", errNoService
	case t.Service.Keep:
		return t.Service.Name + " is kept already.", nil
	case !live || c.Keep == nil:
		return "", errNoService
	}
	sv, ok := c.Keep()
	if !ok {
		return "", errNoService
	}
	return sv.Name + " goes on when this session ends. /tasks stop, or myelin tasks stop, ends it.", nil
}

// Stop ends a running task. The error is a sentence that names it.
func (w *Tasks) Stop(id string) error {
	t, ok := w.given.State.Get().Find(id)
	if !ok {
		return fmt.Errorf("%s", w.given.State.Get().Unknown(id))
	}
	if c, live := w.Live.Get(t.ID); live {
		c.Stop("stopped by the user")
	}
	return nil
}

// ToBackground moves the command of a call to the background.
func (w *Tasks) ToBackground(call string) error {
	if w.Shell == nil || w.Shell.ToBackground(call) == 0 {
		return fmt.Errorf("no running command can be moved to the background")
	}
	return nil
}

// Background are the running tasks as hooks see them.
func (w *Tasks) Background() []map[string]any {
	out := []map[string]any{}
	for _, t := range w.given.State.Get().List(func(t task.Task) bool { return t.Backgrounded && !t.Ended() }) {
		x := map[string]any{"id": t.ID, "type": string(t.Kind), "status": string(t.Status), "description": msg.Cut(t.Description, 1000)}
		if c, ok := w.Live.Get(t.ID); ok && c.Command != "" {
			x["command"] = c.Command
		}
		out = append(out, x)
	}
	return out
}

// LastLine is the newest line a running task has printed, shortened.
func (w *Tasks) LastLine(t task.Task) string {
	c, live := w.Live.Get(t.ID)
	if !live || c.Output == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(c.Output(400)), "\n")
	return msg.Cut(strings.TrimSpace(lines[len(lines)-1]), 60)
}
