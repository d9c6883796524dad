package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/app/summary"
	"github.com/myelin-agent/myelin/internal/app/tasks"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/todo"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/tools/toolsearch"
)

// shelf is where conversations of this session are found and made.
func shelf(r *rooms) conversation.Shelf {
	return conversation.Shelf{
		Shelf: shelfOf(r.settings.places), Cwd: r.opts.Cwd, Nowhere: r.opts.NoPersist, NewID: r.clock.newID,
		Options: func(id string) transcript.Options {
			return transcript.Options{
				Session: id, Version: r.opts.Version, Now: r.clock.now, NewID: r.clock.newID, State: r.part.transcript,
				Cwd:    func() string { return r.part.session.Get().Cwd },
				Branch: func() string { return branch(r.part.session.Get().Cwd) },
			}
		},
	}
}

// begin takes over a conversation, with what was noted of the session in it.
func begin(r *rooms, o conversation.Opened) {
	r.turns.source = o.Source
	session.Become(r.part.session, o.ID, filepath.Dir(shelfOf(r.settings.places).Path(r.opts.Cwd, o.ID)), o.Forked)
	r.main.Begin(o)
	if o.Loaded != nil {
		restore(r, o.Loaded, o.Forked != "")
		r.limits.spending.Begin()
		if o.From != "" {
			r.rights.notes.Follow(transcript.SessionDir(o.From))
		}
		if text := r.rights.notes.Announce(); text != "" {
			r.main.Later(text)
		}
	}
}

// restore takes over what was noted beside the messages. What a conversation cost stays with it: a fork
// begins at nothing. A note that cannot be read restores nothing.
func restore(r *rooms, l *transcript.Loaded, forked bool) {
	newest := map[string]task.Task{}
	var order []string
	for _, n := range l.Notes {
		switch n.Kind {
		case conversation.NoteTodo:
			var t todo.State
			if json.Unmarshal(n.Data, &t) == nil {
				r.part.todo.Set(func(*todo.State) *todo.State { return &t })
			}
		case conversation.NoteCost:
			var c cost.State
			if !forked && json.Unmarshal(n.Data, &c) == nil {
				c.Budgets, c.Turn = nil, cost.Usage{}
				r.part.cost.Set(func(*cost.State) *cost.State { return &c })
			}
		case conversation.NoteTask:
			var t task.Task
			if json.Unmarshal(n.Data, &t) == nil {
				if _, known := newest[t.ID]; !known {
					order = append(order, t.ID)
				}
				newest[t.ID] = t
			}
		}
	}
	var recorded []task.Task
	for _, id := range order {
		recorded = append(recorded, newest[id])
	}
	if len(recorded) > 0 {
		last := r.clock.now()
		if n := len(l.Messages); n > 0 && !l.Messages[n-1].Time.IsZero() {
			last = l.Messages[n-1].Time
		}
		restored := task.Resumed(recorded, last, tasks.Lives)
		r.part.task.Set(func(*task.State) *task.State { return restored })
	}
}

// loadTools loads the tools that were loaded in a conversation.
func loadTools(r *rooms, o conversation.Opened) {
	if o.Loaded != nil {
		r.pool.Load(toolsearch.Loaded(o.Loaded.Messages)...)
	}
}

// switchTo leaves the conversation for another one.
func switchTo(r *rooms, o conversation.Opened, trigger string) error {
	old := r.part.session.Get().ID
	r.hooks.end(r.ctx, trigger)
	r.limits.spending.Account()
	r.folders.leave()
	r.folders.pages.EndSession(old)
	if err := r.main.Transcript().Close(); err != nil {
		return err
	}
	r.hooks.set.ForgetEnv()
	r.door.close(false)
	r.scope.Reads.Clear()
	begin(r, o)
	loadTools(r, o)
	r.tasks.Adopt()
	r.instructions.reload()
	r.instructions.reloaded.Store(false)
	r.events.Emit(proto.SessionReset{Old: old, New: o.ID, Trigger: trigger})
	return nil
}

// cmdClear begins a new conversation under another id.
func cmdClear(_ context.Context, r *rooms, _ string) (string, error) {
	o, err := shelf(r).New("")
	if err != nil {
		return "", err
	}
	o.Source = "clear"
	return "", switchTo(r, o, "clear")
}

// cmdResume goes on with another conversation.
func cmdResume(_ context.Context, r *rooms, args string) (string, error) {
	if args == "" {
		return "", errors.New("/resume needs a session id or title; myelin sessions lists them")
	}
	next, err := shelf(r).Open(conversation.Query{Resume: args})
	if err != nil {
		return "", err
	}
	if err := switchTo(r, next, "resume"); err != nil {
		return "", err
	}
	return fmt.Sprintf("Going on with %s: %d messages.", next.ID, r.main.Length()), nil
}

// cmdBranch goes on in a copy of this conversation; grants stay, since the project root does.
func cmdBranch(_ context.Context, r *rooms, _ string) (string, error) {
	if r.main.Transcript() == nil || r.main.Length() == 0 {
		return "", errors.New("/branch: nothing was said yet that could be copied")
	}
	if err := r.main.Durable(); err != nil {
		return "", err
	}
	next, err := shelf(r).Branch(r.part.session.Get().ID, r.main.Transcript())
	if err != nil {
		return "", err
	}
	return "Going on in a copy, " + next.ID + ".", switchTo(r, next, "branch")
}

// cmdCompact summarises the conversation now, or does something about its summary.
func cmdCompact(ctx context.Context, r *rooms, args string) (string, error) {
	if flagged(r.settings.env(), "DISABLE_COMPACT") {
		return "", errors.New("/compact is switched off by DISABLE_COMPACT")
	}
	return summary.Command(ctx, r.main, r.folders.dir(), args, r.clock.newID)
}
