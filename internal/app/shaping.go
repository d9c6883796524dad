package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/app/gate"
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
		Restore: s.restored, Stages: s.stages, Auto: s.autoCompact, Repeatable: s.repeatable, Hidden: s.rooms.scope.Reads.Unshown,
		After: func(ctx context.Context, trigger, summary string) {
			s.rooms.hooks.Fire(ctx, hook.Event{Name: hook.PostCompact, Match: compactTrigger(trigger), Fields: map[string]any{"trigger": compactTrigger(trigger), "compact_summary": summary}})
		},
	}
}

// stages are the stages of shaping that the settings leave on.
func (s *Session) stages() shaping.Stages {
	state := s.rooms.settings.now()
	on := func(name, otherwise string) bool { return setting(state, "shaping."+name, otherwise) == "on" }
	out := shaping.Stages{Budget: on("budget", "on"), Snip: on("snip", "off"), Microcompact: on("microcompact", "on"), Collapse: on("collapse", "on")}
	if minutes := setting(state, "shaping.microcompactAfter", 0.0); minutes != 0 {
		out.ColdAfter = time.Duration(minutes * float64(time.Minute))
	}
	return out
}

// autoCompact says when the conversation is compacted unasked.
func (s *Session) autoCompact() shaping.Auto {
	state, env := s.rooms.settings.now(), s.rooms.settings.env()
	return shaping.Auto{
		Off:     !setting(state, "autoCompactEnabled", true) || flagged(env, "DISABLE_AUTO_COMPACT") || flagged(env, "DISABLE_COMPACT"),
		Window:  setting(state, "autoCompactWindow", 0),
		Percent: numbered(env, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", 0),
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
	var texts []string
	if s.rooms.rights.planning() {
		texts = append(texts, "Plan mode is still on; the plan file is "+s.rooms.rights.planFile()+".")
	}
	if items := s.rooms.part.todo.Get().Events().Items; len(items) > 0 {
		text := "The todo list as it stands:"
		for _, it := range items {
			text += fmt.Sprintf("\n- %s [%s] %s", it.ID, it.Status, it.Subject)
		}
		texts = append(texts, text)
	}
	if living := s.rooms.part.task.Get().Living(); len(living) > 0 {
		text := "Running in the background:"
		for _, t := range living {
			text += fmt.Sprintf("\n- %s (%s): %s, output in %s", t.ID, t.Kind, t.Description, t.OutputFile)
		}
		texts = append(texts, text)
	}
	if text := s.rooms.rights.notes.Announce(); text != "" {
		texts = append(texts, text)
	}
	return gate.Reminders(texts), nil
}
