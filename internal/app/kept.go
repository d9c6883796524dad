package app

import (
	"errors"
	"sync"

	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

var errNoService = errors.New("only a running service that was started under a name can be kept")

// keptOf is the process of a service that outlives its session.
func keptOf(sv task.Service) proc.Kept { return proc.Kept{PID: sv.PID, Start: sv.PIDStart} }

func serviceLives(sv task.Service) bool { return keptOf(sv).Alive() }

// adopt takes over the services that an earlier session of the conversation left running: they are
// listed, can be stopped, and their end is told. They are not ended with this session either.
func (s *Session) adopt() {
	board := task.Board{Slice: s.part.task, Now: s.effects.Now}
	for _, t := range s.part.task.Get().List(func(t task.Task) bool { return !t.Ended() && t.Service != nil && t.Service.Keep }) {
		kept, done := keptOf(*t.Service), make(chan struct{})
		var once sync.Once
		end := func(o task.Outcome) {
			once.Do(func() {
				s.rooms.live.Leave(t.ID)
				board.End(t.ID, o)
				close(done)
			})
		}
		s.rooms.live.Enter(t.ID, task.Control{Done: done, Stop: func(why string) {
			kept.End(0)
			end(task.Outcome{Status: task.Killed, Error: why})
		}})
		go func() { // ends with the service, at the latest with the session
			if kept.Gone(s.ctx) {
				end(task.Outcome{Status: task.Completed})
			}
		}()
		s.rooms.door.open()
	}
}

// letGo takes the services that outlive the session out of what it stops at its end.
func (s *Session) letGo() {
	for _, t := range s.part.task.Get().List(func(t task.Task) bool { return t.Service != nil && t.Service.Keep }) {
		s.rooms.live.Leave(t.ID)
	}
}

// keepsServices says whether a service outlives the session.
func (s *Session) keepsServices() bool {
	return len(s.part.task.Get().List(func(t task.Task) bool { return !t.Ended() && t.Service != nil && t.Service.Keep })) > 0
}

// keepTask lets a named service outlive the session.
func (s *Session) keepTask(t task.Task) (string, error) {
	c, live := s.rooms.live.Get(t.ID)
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
