package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/app/summary"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// shapingConfig is what fits the conversation into the window.
func (s *Session) shapingConfig() shaping.Config {
	r := s.rooms
	return shaping.Config{
		State: s.rooms.part.shaping, Now: s.rooms.clock.now, NewID: s.rooms.clock.newID, Tell: s.rooms.events.Emit,
		Ask: func(ctx context.Context, req provider.Request) ([]msg.Block, error) {
			system, err := s.system(ctx)
			if err != nil {
				return nil, err
			}
			// Beside the instructions at its end the request is the conversation's own, for the cache.
			req.System, req.Tools = system, engine.Describe(s.rooms.pool.Offer())
			if req.Messages, err = s.rooms.instructions.prompt.InFront(ctx, req.Messages); err != nil {
				return nil, err
			}
			return s.rooms.models.ask(ctx, s.rooms.models.now(), req, "")
		},
		Spill: func(name, text string) (string, error) {
			path := filepath.Join(r.dir(), "tool-results", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return "", err
			}
			return path, os.WriteFile(path, []byte(text), 0o600)
		},
		Replaced: func(x shaping.Replacement) { s.keep(noteReplaced, x.Call, x) },
		Before: func(ctx context.Context, trigger, focus string) (string, error) {
			o := s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.PreCompact, Match: compactTrigger(trigger), Fields: map[string]any{"trigger": compactTrigger(trigger), "custom_instructions": focus}})
			if o.Block {
				return "", fmt.Errorf("%w by a hook: %s", shaping.ErrForbidden, o.BlockReason)
			}
			return strings.Join(o.Plain, "\n"), nil
		},
		Restore:    s.restored,
		Stages:     func() shaping.Stages { return summary.Stages(s.rooms.settings.now()) },
		Auto:       func() shaping.Auto { return summary.Auto(s.rooms.settings.now(), s.rooms.settings.env()) },
		Repeatable: s.repeatable, Hidden: s.rooms.scope.Reads.Unshown,
		After: func(ctx context.Context, trigger, summary string) {
			s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.PostCompact, Match: compactTrigger(trigger), Fields: map[string]any{"trigger": compactTrigger(trigger), "compact_summary": summary}})
		},
	}
}

// repeatable reports whether the result of a tool can be had again.
func (s *Session) repeatable(name string) bool {
	t := s.rooms.pool.Tool(name)
	return t != nil && t.Spec().Repeatable
}

// compactTrigger is the public word for what caused a compaction.
func compactTrigger(trigger string) string {
	if trigger == shaping.TriggerManual {
		return trigger
	}
	return shaping.TriggerAuto
}

// restored is what stands behind a summary: the live state the model would otherwise have lost.
func (s *Session) restored(context.Context) ([]msg.Block, error) {
	r := s.rooms
	fill := fillOf(r.part.shaping.Get())
	return gate.Reminders(summary.Live{
		Mode: r.rights.mode(), PlanFile: r.rights.planFile(), Planning: r.rights.planning(), Todos: r.part.todo.Get().Events().Items,
		Tasks: r.part.task.Get().Living(), Notes: r.rights.notes.Announce(), Reads: r.scope.Reads.Recent(),
		MayRead: func(path string) bool { return !hides(r.gate, path) }, Room: min(fill.Window/10, fill.Used/4),
	}.Texts()), nil
}
