package summary

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// Talk is the conversation a summary is of.
type Talk interface {
	Compact(ctx context.Context, r shaping.Request) error
	Draft(ctx context.Context, r shaping.Request) (text, upto string, err error)
	TakeBack(ctx context.Context, restore func(path string, history []msg.Message) (before, since []msg.Message, last string, err error)) error
	Keep(kind, key string, data any)
}

// Command summarises the conversation now; with a flag the person looks at the summary first, or takes
// it back. dir is the session's folder. It waits for the model.
func Command(ctx context.Context, talk Talk, dir, args string, newID func() string) (string, error) {
	req := shaping.Request{Focus: args}
	draft := Draft{Path: filepath.Join(dir, "summary.md")}
	switch what, rest, _ := strings.Cut(args, " "); what {
	case "--review":
		req.Focus = strings.TrimSpace(rest)
		return reviewed(ctx, talk, draft, req)
	case "--apply":
		var err error
		if req.Summary, req.Upto, err = draft.Load(); err != nil {
			return "", err
		}
		req.Focus = ""
		if err := talk.Compact(ctx, req); err != nil {
			return "", err
		}
		return "", draft.Drop()
	case "--discard":
		return "The conversation stays as it is.", draft.Drop()
	case "--undo":
		return uncompact(ctx, talk, newID)
	default:
		if strings.HasPrefix(what, "--") {
			return "", fmt.Errorf("/compact %s: expected a focus, --review, --apply, --discard or --undo", what)
		}
	}
	return "", talk.Compact(ctx, req)
}

// reviewed makes a summary that waits for the person's word.
func reviewed(ctx context.Context, talk Talk, draft Draft, req shaping.Request) (string, error) {
	text, upto, err := talk.Draft(ctx, req)
	if err != nil {
		return "", err
	}
	if err := draft.Save(text, upto); err != nil {
		return "", err
	}
	return text + "\n\nThis is not in effect yet. Edit it in " + draft.Path + ", then /compact --apply; /compact --discard drops it.", nil
}

// uncompact takes the last summary back. What was said since stays.
func uncompact(ctx context.Context, talk Talk, newID func() string) (string, error) {
	restored := 0
	err := talk.TakeBack(ctx, func(path string, history []msg.Message) (before, since []msg.Message, last string, err error) {
		undo, err := lastUndo(path)
		if err != nil {
			return nil, nil, "", err
		}
		before, since, err = undo.Restore(path, history, newID)
		restored = len(before)
		return before, since, undo.Before, err
	})
	if err != nil {
		return "", err
	}
	talk.Keep(NoteKind, NoteKind, nil)
	return fmt.Sprintf("The summary is taken back: %d messages are in the conversation again.", restored), nil
}
