package app

import (
	"context"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// Prepare runs the Setup and the SessionStart hooks of a folder and no turn: nothing is kept of it,
// and no model is asked by anything but the hooks. What the hooks have for the user goes to tell,
// when they have ended.
func Prepare(ctx context.Context, o Options, tell func(proto.Notice)) error {
	o.NoPersist = true
	s, err := built(ctx, o, nil)
	if err != nil {
		return err
	}
	close(s.done) // there is no worker
	events := s.Events(ctx, Reading{})
	s.rooms.turns.setupHooks(ctx)
	s.rooms.turns.startHooks(ctx)
	err = s.Close(context.WithoutCancel(ctx))
	for e := range events {
		if n, ok := e.Body.(proto.Notice); ok {
			tell(n)
		}
	}
	return err
}
