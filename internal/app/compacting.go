package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/summary"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// compacted sees to what a compaction changes: the border in the transcript, what was read, what
// the classifier remembers.
func (s *Session) compacted(v engine.View) {
	b := transcript.Boundary{Trigger: "auto"}
	for _, e := range v.Events {
		if c, ok := e.(proto.Compacted); ok {
			b.Trigger, b.PreTokens, b.PostTokens, b.FirstKept = c.Trigger, c.PreTokens, c.PostTokens, c.Tail
		}
	}
	undo := summary.Undo{Before: s.rooms.part.transcript.Get().LastID}
	for _, m := range v.Records {
		undo.Made = append(undo.Made, m.ID)
	}
	s.keep(summary.NoteKind, summary.NoteKind, undo)
	s.rooms.transcript().Boundary(b)
	s.rooms.scope.Reads.Clear()
	s.rooms.instructions.reload()
	s.rooms.part.permission.Set(func(p *permission.State) *permission.State { return p.NewContent(true) })
	s.rooms.source = "compact"
	s.later(s.startHooks(s.ctx).Context...)
}

// cmdCompact summarises the conversation now; with a flag the person looks at the summary first, or takes
// it back.
func cmdCompact(ctx context.Context, s *Session, args string) (string, error) {
	if flagged(s.rooms.settings.env(), "DISABLE_COMPACT") {
		return "", errors.New("/compact is switched off by DISABLE_COMPACT")
	}
	model, opts := s.modelNow()
	r := shaping.Request{Trigger: shaping.TriggerManual, Focus: args, Model: model.Info(), Options: opts}
	draft := summary.Draft{Path: filepath.Join(s.rooms.dir(), "summary.md")}
	switch what, rest, _ := strings.Cut(args, " "); what {
	case "--review":
		r.Focus = strings.TrimSpace(rest)
		return reviewed(ctx, s, draft, r)
	case "--apply":
		var err error
		if r.Summary, r.Upto, err = draft.Load(); err != nil {
			return "", err
		}
		r.Focus = ""
		if err := s.compact(ctx, r); err != nil {
			return "", err
		}
		return "", draft.Drop()
	case "--discard":
		return "The conversation stays as it is.", draft.Drop()
	case "--undo":
		return uncompact(ctx, s)
	default:
		if strings.HasPrefix(what, "--") {
			return "", fmt.Errorf("/compact %s: expected a focus, --review, --apply, --discard or --undo", what)
		}
	}
	return "", s.compact(ctx, r)
}

// compact summarises the conversation.
func (s *Session) compact(ctx context.Context, r shaping.Request) error {
	s.rooms.events.Emit(proto.Compacting{Active: true})
	view, err := s.rooms.shaper.Compact(ctx, s.history, r)
	if err != nil {
		s.rooms.events.Emit(proto.Compacting{Error: err.Error()})
		return fmt.Errorf("compact: %w; the conversation is as it was", err)
	}
	s.compacted(view)
	s.rooms.events.Emit(proto.Compacting{})
	for _, e := range view.Events {
		s.rooms.events.Emit(e)
	}
	s.history = view.History
	return s.recordAll(ctx, view.Records)
}

func (s *Session) recordAll(ctx context.Context, messages []msg.Message) error {
	for _, m := range messages {
		if err := s.rooms.record(ctx, m); err != nil {
			return err
		}
		s.rooms.events.Emit(proto.Message{Message: m})
	}
	return nil
}

// reviewed makes a summary that waits for the person's word.
func reviewed(ctx context.Context, s *Session, draft summary.Draft, r shaping.Request) (string, error) {
	text, upto, err := s.rooms.shaper.Draft(ctx, s.history, r)
	if err != nil {
		return "", err
	}
	if err := draft.Save(text, upto); err != nil {
		return "", err
	}
	return text + "\n\nThis is not in effect yet. Edit it in " + draft.Path + ", then /compact --apply; /compact --discard drops it.", nil
}

// uncompact takes the last summary back. What was said since stays.
func uncompact(ctx context.Context, s *Session) (string, error) {
	log := s.rooms.transcript()
	if log == nil {
		return "", errors.New("the conversation is not kept, so there is nothing to take the summary back from")
	}
	if err := log.Sync(); err != nil {
		return "", err
	}
	undo, err := summary.Last(log.Path())
	if err != nil {
		return "", err
	}
	before, since, err := undo.Restore(log.Path(), s.history, s.rooms.clock.newID)
	if err != nil {
		return "", err
	}
	if err := log.Rewind(undo.Before); err != nil {
		return "", err
	}
	s.keep(summary.NoteKind, summary.NoteKind, nil)
	s.history = append(before, since...)
	s.remember(s.history)
	return fmt.Sprintf("The summary is taken back: %d messages are in the conversation again.", len(before)), s.recordAll(ctx, since)
}
