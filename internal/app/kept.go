package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

var errNoService = errors.New("only a running service that was started under a name can be kept")

// keptOf is the process of a service that outlives its session.
func keptOf(sv task.Service) proc.Kept { return proc.Kept{PID: sv.PID, Start: sv.PIDStart} }

func serviceLives(sv task.Service) bool { return keptOf(sv).Alive() }

// tasks is the running work of a session.
type tasks struct {
	state     store.Slice[task.State]
	clock     *clock
	reachable func() // opens the door to other processes
	ctx       context.Context

	live  task.Live
	shell *bash.Shell
}

// board is where tools report work.
func (w *tasks) board() task.Board { return task.Board{Slice: w.state, Now: w.clock.now} }

// adopt takes over the services that an earlier session of the conversation left running: they are
// listed, can be stopped, and their end is told. They are not ended with this session either.
func (w *tasks) adopt() {
	board := w.board()
	for _, t := range w.state.Get().List(func(t task.Task) bool { return !t.Ended() && t.Service != nil && t.Service.Keep }) {
		kept, done := keptOf(*t.Service), make(chan struct{})
		var once sync.Once
		end := func(o task.Outcome) {
			once.Do(func() {
				w.live.Leave(t.ID)
				board.End(t.ID, o)
				close(done)
			})
		}
		w.live.Enter(t.ID, task.Control{Done: done, Stop: func(why string) {
			kept.End(0)
			end(task.Outcome{Status: task.Killed, Error: why})
		}})
		go func() { // ends with the service, at the latest with the session
			if kept.Gone(w.ctx) {
				end(task.Outcome{Status: task.Completed})
			}
		}()
		w.reachable()
	}
}

// letGo takes the services that outlive the session out of what it stops at its end.
func (w *tasks) letGo() {
	for _, t := range w.state.Get().List(func(t task.Task) bool { return t.Service != nil && t.Service.Keep }) {
		w.live.Leave(t.ID)
	}
}

// outlives says whether a service outlives the session.
func (w *tasks) outlives() bool {
	return len(w.state.Get().List(func(t task.Task) bool { return !t.Ended() && t.Service != nil && t.Service.Keep })) > 0
}

// keep lets a named service outlive the session.
func (w *tasks) keep(t task.Task) (string, error) {
	c, live := w.live.Get(t.ID)
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

// stop ends a running task. The error is a sentence that names it.
func (w *tasks) stop(id string) error {
	t, ok := w.state.Get().Find(id)
	if !ok {
		return fmt.Errorf("%s", w.state.Get().Unknown(id))
	}
	if c, live := w.live.Get(t.ID); live {
		c.Stop("stopped by the user")
	}
	return nil
}

// toBackground moves the command of a call to the background.
func (w *tasks) toBackground(call string) error {
	if w.shell == nil || w.shell.ToBackground(call) == 0 {
		return fmt.Errorf("no running command can be moved to the background")
	}
	return nil
}

// background are the running tasks as hooks see them.
func (w *tasks) background() []map[string]any {
	out := []map[string]any{}
	for _, t := range w.state.Get().List(func(t task.Task) bool { return t.Backgrounded && !t.Ended() }) {
		x := map[string]any{"id": t.ID, "type": string(t.Kind), "status": string(t.Status), "description": msg.Cut(t.Description, 1000)}
		if c, ok := w.live.Get(t.ID); ok && c.Command != "" {
			x["command"] = c.Command
		}
		out = append(out, x)
	}
	return out
}

// lastLine is the newest line a running task has printed, shortened.
func (w *tasks) lastLine(t task.Task) string {
	c, live := w.live.Get(t.ID)
	if !live || c.Output == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(c.Output(400)), "\n")
	return msg.Cut(strings.TrimSpace(lines[len(lines)-1]), 60)
}
