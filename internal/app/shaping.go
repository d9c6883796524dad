package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/summary"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// shapingSlice is the slice "shaping" of one conversation.
type shapingSlice = store.Slice[shaping.State]

// shapingConfig is what fits the conversation into the window.
func shapingConfig(r *rooms, state shapingSlice) shaping.Config {
	return shaping.Config{
		State: state,
		Spill: func(name, text string) (string, error) {
			path := filepath.Join(r.folders.dir(), "tool-results", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return "", err
			}
			return path, os.WriteFile(path, []byte(text), 0o600)
		},
		Before: func(ctx context.Context, trigger, focus string) (string, error) {
			o := r.hooks.Fire(ctx, hook.Event{Name: hook.PreCompact, Match: compactTrigger(trigger), Fields: map[string]any{"trigger": compactTrigger(trigger), "custom_instructions": focus}})
			if o.Block {
				return "", fmt.Errorf("%w by a hook: %s", shaping.ErrForbidden, o.BlockReason)
			}
			return strings.Join(o.Plain, "\n"), nil
		},
		Restore:    func(context.Context) ([]msg.Block, error) { return restored(r), nil },
		Stages:     func() shaping.Stages { return summary.Stages(r.settings.now()) },
		Auto:       func() shaping.Auto { return summary.Auto(r.settings.now(), r.settings.env()) },
		Repeatable: func(name string) bool { t := r.pool.Tool(name); return t != nil && t.Spec().Repeatable },
		After: func(ctx context.Context, trigger, summary string) {
			r.hooks.Fire(ctx, hook.Event{Name: hook.PostCompact, Match: compactTrigger(trigger), Fields: map[string]any{"trigger": compactTrigger(trigger), "compact_summary": summary}})
		},
	}
}

// compactTrigger is the public word for what caused a compaction.
func compactTrigger(trigger string) string {
	if trigger == shaping.TriggerManual {
		return trigger
	}
	return shaping.TriggerAuto
}

// restored is what stands behind a summary: the live state the model would otherwise have lost.
func restored(r *rooms) []msg.Block {
	fill := fillOf(r.part.shaping.Get())
	return msg.Reminders(summary.Live{
		Mode: r.rights.mode(), PlanFile: r.rights.planFile(), Planning: r.rights.planning(), Todos: r.part.todo.Get().Events().Items,
		Tasks: r.part.task.Get().Living(), Notes: r.rights.notes.Announce(), Reads: r.scope.Reads.Recent(),
		MayRead: func(path string) bool { return !hides(r.gate, path) }, Room: min(fill.Window/10, fill.Used/4),
	}.Texts())
}
