package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

// ShowOptions say how [Show] prints.
type ShowOptions struct {
	Out    io.Writer
	Style  screen.Style
	Width  int // of the window; 0: 100
	Prompt string
}

// ErrNoResult says that a session ended before its answer.
var ErrNoResult = errors.New("the session ended without an answer")

// Show sends one prompt and prints the turn that answers it, without asking anybody: questions are
// refused. It returns the turn's result. The session stays open.
func Show(ctx context.Context, s Session, o ShowOptions) (proto.Result, error) {
	if o.Width <= 0 {
		o.Width = 100
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	crashed := make(chan any, 1)
	events := follow(ctx, s, crashed)
	f := newFace(ctx, s, Options{Quiet: true}, o.Style, func() int { return max(o.Width-1, 1) })
	print := func(lines []string) error {
		if len(lines) == 0 {
			return nil
		}
		_, err := fmt.Fprintln(o.Out, strings.Join(lines, "\n"))
		return err
	}
	if err := s.Do(proto.O(proto.Attach{Surface: surfaceID, Kind: "plain"})); err != nil {
		return proto.Result{}, err
	}
	if err := print(f.printer.Prompt(o.Prompt)); err != nil {
		return proto.Result{}, err
	}
	id := uuid.NewString()
	f.printer.Typed(id)
	if err := s.Do(proto.O(proto.Prompt{ID: id, Content: []msg.Block{msg.Text{Text: o.Prompt}}})); err != nil {
		return proto.Result{}, err
	}
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return proto.Result{}, ErrNoResult
			}
			lines := f.event(e)
			for f.asked() != nil {
				lines = append(lines, f.settle(f.asked().Refuse("nobody is here to answer", false))...)
			}
			if err := print(lines); err != nil {
				return proto.Result{}, err
			}
			if r, ok := e.Body.(proto.Result); ok && e.Agent == "" {
				return r, nil
			}
		case r := <-crashed:
			panic(r)
		case <-ctx.Done():
			return proto.Result{}, context.Cause(ctx)
		}
	}
}
