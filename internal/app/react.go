package app

import (
	"fmt"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/todo"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// reaction is what follows in one slice, or for surfaces, from a change in another. Reads and Sets
// name slices; in the order of the list nothing that is set is read before, so there is no cycle.
type reaction struct {
	name  string
	reads []string
	sets  []string
	start func(*Session)
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

func (s *Session) react() {
	for _, r := range reactions() {
		r.start(s)
	}
}

// reactPermission tells each real change of mode once, whatever caused it, and lets open questions
// be decided anew.
func reactPermission(s *Session) {
	s.part.permission.Watch(func(old, now *permission.State) {
		if was, is := permission.Outward(old.Mode, permission.Default), permission.Outward(now.Mode, permission.Default); was != is {
			s.events.Emit(proto.ModeChanged{Mode: string(is)})
			if now.Mode == permission.Plan { // what planning ends with must be at hand
				s.rooms.pool.Load("ExitPlanMode", "AskUserQuestion")
			}
			s.keep(noteMode, noteMode, string(is))
		}
		if old.Revision != now.Revision {
			s.rooms.gate.Tightened()
		}
	})
}

// reactTask tells surfaces of running work, and its parent of its end, exactly once.
func reactTask(s *Session) {
	s.part.task.Watch(func(old, now *task.State) {
		membership := false
		for _, c := range task.Changes(old, now) {
			t := c.New.Wire()
			switch {
			case c.Old == nil:
				s.events.Emit(proto.TaskStarted{Task: t})
				membership = membership || c.New.Backgrounded
			default:
				s.events.Emit(proto.TaskUpdated{Task: t})
				membership = membership || c.Old.Backgrounded != c.New.Backgrounded
			}
			s.rooms.door.open()
			if c.New.Backgrounded {
				s.keep(noteTask, c.New.ID, c.New)
			}
			if c.Ends() {
				membership = membership || c.New.Backgrounded
				s.taskEnded(c.New)
			}
		}
		if membership {
			s.events.Emit(proto.TasksChanged{Tasks: wired(now.List(func(t task.Task) bool { return t.Backgrounded && !t.Ended() }))})
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
func (s *Session) taskEnded(t task.Task) {
	summary := fmt.Sprintf("%s %q %s", t.Kind, t.Description, t.Status)
	if t.ExitCode != nil {
		summary += fmt.Sprintf(" (exit code %d)", *t.ExitCode)
	}
	if t.Error != "" {
		summary += ": " + t.Error
	}
	s.events.Emit(proto.TaskEnded{Task: t.Wire(), Summary: summary})
	if !t.Backgrounded || t.ParentAgentID != "" || s.ctx.Err() != nil {
		return
	}
	text := "<task-notification>\n" + summary + "\ntask id: " + t.ID
	if t.OutputFile != "" {
		text += "\noutput: " + t.OutputFile
	}
	s.owe(msg.Message{Role: msg.User, Origin: msg.FromTask, Content: []msg.Block{msg.Text{Text: text + "\n</task-notification>"}}})
}

// reactSession tells surfaces of model, queue and activity.
func reactSession(s *Session) {
	told := false // surfaces know of waiting prompts
	s.part.session.Watch(func(old, now *session.State) {
		if old.Model != now.Model {
			s.events.Emit(proto.ModelChanged{Model: now.Model})
		}
		if !slices.Equal(old.Queue, now.Queue) && (told || now.Activity != session.Idle) {
			told = len(now.Queue) > 0
			q := proto.Queued{Prompts: []proto.QueuedPrompt{}}
			for _, p := range now.Queue {
				q.Prompts = append(q.Prompts, proto.QueuedPrompt{ID: p.ID, Text: p.Text})
			}
			s.events.Emit(q)
		}
		if old.Activity != now.Activity {
			s.events.Emit(proto.Activity{State: string(now.Activity)})
		}
	})
}

func reactTodo(s *Session) {
	s.part.todo.Watch(func(_, now *todo.State) {
		s.events.Emit(now.Events())
		s.keep(noteTodo, noteTodo, now)
	})
}

// reactConfig takes over the settings that are in force from now on.
func reactConfig(s *Session) {
	s.part.process.Watch(func(old, now *Process) {
		if old.Config != now.Config {
			s.followPolicy(now.Config)
			s.applyConfig(now.Config)
			if !slices.Equal(rawOf(old.Config, "autoMode"), rawOf(now.Config, "autoMode")) {
				s.part.permission.Set((*permission.State).ForgetJudged)
			}
			s.tellConfig(old.Config, now.Config)
		} else if old.Policy != now.Policy {
			s.applyConfig(now.Config)
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

// applyConfig brings rules, directories and hooks in line with the settings.
func (s *Session) applyConfig(state *config.State) {
	lists := map[permission.Source]permission.Lists{
		permission.FromManaged: {}, permission.FromLocal: {}, permission.FromProject: {}, permission.FromUser: {}, permission.FromFlag: s.rooms.flagRules,
	}
	managedOnly := setting(state, "allowManagedPermissionRulesOnly", false)
	for _, r := range state.Rules() {
		source := permission.SourceOf(r.At.Scope)
		if managedOnly && source != permission.FromManaged {
			continue
		}
		rule := permission.Rule{List: permission.List(r.List), Text: r.Text, Source: source, File: r.At.File, Line: r.At.Line, Base: s.fileBase(r.At)}
		lists[source] = withRule(lists[source], rule)
	}
	for _, text := range s.rooms.policyDeny() {
		lists[permission.FromManaged] = withRule(lists[permission.FromManaged], permission.Rule{List: permission.DenyList, Text: text, Source: permission.FromManaged, File: "policy"})
	}
	if managedOnly {
		lists[permission.FromFlag] = permission.Lists{Deny: s.rooms.flagRules.Deny, Ask: s.rooms.flagRules.Ask}
	}
	dirs := map[permission.Source][]string{permission.FromFlag: s.opts.AddDirs}
	for _, d := range state.Dirs() {
		source := permission.SourceOf(d.At.Scope)
		dirs[source] = append(dirs[source], s.absolute(d.Path))
	}
	for source, list := range dirs {
		for _, dir := range list {
			if s.wide(dir) {
				s.events.Early(proto.Notice{Level: "warning", Key: "wide " + dir, Text: fmt.Sprintf("The working directory %s (%s): %s", dir, source, wideDir)})
			}
		}
	}
	forbidden, why := s.forbiddenModes(state), ""
	s.part.permission.Set(func(p *permission.State) *permission.State {
		p = p.WithManagedOnly(managedOnly)
		for source, l := range lists {
			p = p.WithRules(source, l)
		}
		for _, source := range []permission.Source{permission.FromManaged, permission.FromUser, permission.FromProject, permission.FromLocal, permission.FromFlag} {
			p = p.WithDirs(source, dirs[source])
		}
		p, why = p.WithAvailable(s.rooms.bypass, true, forbidden)
		return p
	})
	if why != "" {
		s.events.Early(proto.Notice{Level: "warning", Text: why + "; the session goes on in the mode default"})
	}
	s.applyLimits()
	for _, problem := range s.loadHooks(state) {
		s.events.Early(proto.Notice{Level: "warning", Text: problem.String()})
	}
}

func withRule(l permission.Lists, r permission.Rule) permission.Lists {
	switch r.List {
	case permission.AllowList:
		l.Allow = append(l.Allow, r)
	case permission.AskList:
		l.Ask = append(l.Ask, r)
	case permission.DenyList:
		l.Deny = append(l.Deny, r)
	}
	return l
}

// fileBase is what "/path" in a rule of a file starts from.
func (s *Session) fileBase(at origin.Origin) string {
	switch at.Scope {
	case origin.Project:
		return s.rooms.settings.places.Start
	case origin.User:
		return s.rooms.settings.places.Home
	}
	return s.rooms.settings.places.Start
}

// tellConfig says what is newly wrong in the settings.
func (s *Session) tellConfig(old, now *config.State) {
	for _, p := range now.Errors {
		if p.Level != config.LevelNotice && !slices.Contains(old.Errors, p) {
			s.events.Emit(proto.Notice{Level: "warning", Text: p.String()})
		}
	}
}
