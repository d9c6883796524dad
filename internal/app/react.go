package app

import (
	"fmt"
	"slices"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/todo"
)

// reaction is what follows in one slice, or for surfaces, from a change in another. Reads and Sets
// name slices; in the order of the list nothing that is set is read before, so there is no cycle.
type reaction struct {
	name  string
	reads []string
	sets  []string
	start func(*rooms)
}

// reactions are all of them, in order.
func reactions() []reaction {
	return []reaction{
		{"settings reloaded: rules, directories, hooks", []string{"process"}, []string{"permission", "hook"}, reactConfig},
		{"mode, rules or grants changed: surfaces and open questions are told", []string{"permission"}, nil, reactPermission},
		{"task changed: surfaces are told, its parent hears of the end", []string{"task"}, nil, reactTask},
		{"session changed: surfaces are told of model, queue and activity", []string{"session"}, nil, reactSession},
		{"todo list changed: surfaces are told, the transcript keeps it", []string{"todo"}, nil, reactTodo},
	}
}

func react(r *rooms) {
	for _, x := range reactions() {
		x.start(r)
	}
}

// reactPermission tells each real change of mode once, whatever caused it, and lets open questions
// be decided anew.
func reactPermission(r *rooms) {
	r.part.permission.Watch(func(old, now *permission.State) {
		if was, is := permission.Outward(old.Mode, permission.Default), permission.Outward(now.Mode, permission.Default); was != is {
			r.events.Emit(proto.ModeChanged{Mode: string(is)})
			if now.Mode == permission.Plan { // what planning ends with must be at hand
				r.pool.LoadPlanning()
			}
			r.main.Keep(conversation.NoteMode, conversation.NoteMode, string(is))
		}
		if old.Revision != now.Revision {
			r.gate.Tightened()
		}
	})
}

// reactTask tells surfaces of running work, and its parent of its end, exactly once.
func reactTask(r *rooms) {
	r.part.task.Watch(func(old, now *task.State) {
		membership := false
		for _, c := range task.Changes(old, now) {
			t := c.New.Wire()
			switch {
			case c.Old == nil:
				r.events.Emit(proto.TaskStarted{Task: t})
				membership = membership || c.New.Backgrounded
			default:
				r.events.Emit(proto.TaskUpdated{Task: t})
				membership = membership || c.Old.Backgrounded != c.New.Backgrounded
			}
			r.door.open()
			if c.New.Backgrounded {
				r.main.Keep(conversation.NoteTask, c.New.ID, c.New)
			}
			if c.Ends() {
				membership = membership || c.New.Backgrounded
				taskEnded(r, c.New)
			}
		}
		if membership {
			r.events.Emit(proto.TasksChanged{Tasks: wired(now.List(func(t task.Task) bool { return t.Backgrounded && !t.Ended() }))})
		}
	})
}

func wired(tasks []task.Task) []proto.Task {
	out := []proto.Task{}
	for _, t := range tasks {
		out = append(out, t.Wire())
	}
	return out
}

// taskEnded tells that a task is over: surfaces at once, the model at its next turn.
func taskEnded(r *rooms, t task.Task) {
	summary := fmt.Sprintf("%s %q %s", t.Kind, t.Description, t.Status)
	if t.ExitCode != nil {
		summary += fmt.Sprintf(" (exit code %d)", *t.ExitCode)
	}
	if t.Error != "" {
		summary += ": " + t.Error
	}
	r.events.Emit(proto.TaskEnded{Task: t.Wire(), Summary: summary})
	if !t.Backgrounded || t.ParentAgentID != "" || r.ctx.Err() != nil {
		return
	}
	text := "<task-notification>\n" + summary + "\ntask id: " + t.ID
	if t.OutputFile != "" {
		text += "\noutput: " + t.OutputFile
	}
	r.main.Owe(msg.Message{Role: msg.User, Origin: msg.FromTask, Content: []msg.Block{msg.Text{Text: text + "\n</task-notification>"}}})
}

// reactSession tells surfaces of model, queue and activity.
func reactSession(r *rooms) {
	told := false // surfaces know of waiting prompts
	r.part.session.Watch(func(old, now *session.State) {
		if old.Model != now.Model {
			r.events.Emit(proto.ModelChanged{Model: now.Model})
		}
		if !slices.Equal(old.Queue, now.Queue) && (told || now.Activity != session.Idle) {
			told = len(now.Queue) > 0
			q := proto.Queued{Prompts: []proto.QueuedPrompt{}}
			for _, p := range now.Queue {
				q.Prompts = append(q.Prompts, proto.QueuedPrompt{ID: p.ID, Text: p.Text})
			}
			r.events.Emit(q)
		}
		if old.Activity != now.Activity {
			r.events.Emit(proto.Activity{State: string(now.Activity)})
		}
	})
}

func reactTodo(r *rooms) {
	r.part.todo.Watch(func(_, now *todo.State) {
		r.events.Emit(now.Events())
		r.main.Keep(conversation.NoteTodo, conversation.NoteTodo, now)
	})
}

// reactConfig takes over the settings that are in force from now on.
func reactConfig(r *rooms) {
	r.part.process.Watch(func(old, now *Process) {
		if old.Config != now.Config {
			r.limits.follow(now.Config)
			r.rights.apply(now.Config)
			if !slices.Equal(rawOf(old.Config, "autoMode"), rawOf(now.Config, "autoMode")) {
				r.part.permission.Set((*permission.State).ForgetJudged)
			}
			tellConfig(r, old.Config, now.Config)
		} else if old.Policy != now.Policy {
			r.rights.apply(now.Config)
		}
	})
}

// rawOf is the value of a key as JSON; nil: nobody set it.
func rawOf(state *config.State, key string) []byte {
	if n := state.Lookup(key); n != nil {
		return n.JSON()
	}
	return nil
}

// tellConfig says what is newly wrong in the settings.
func tellConfig(r *rooms, old, now *config.State) {
	for _, p := range now.Errors {
		if p.Level != config.LevelNotice && !slices.Contains(old.Errors, p) {
			r.events.Emit(proto.Notice{Level: "warning", Text: p.String()})
		}
	}
}
