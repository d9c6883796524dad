package app

import (
	"encoding/json"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// judge tells the shell tool what a command would do: whether it only reads, by the same decision
// that lets such commands run without a question, and whether others may run beside it.
// What it said last is kept: the question comes several times for each call.
func (s *Session) judge(command, cwd string) bash.Effects {
	asked := judged{command: command, cwd: cwd, rules: s.part.permission.Get().Revision}
	if last := s.judged.Load(); last != nil && last.command == command && last.cwd == cwd && last.rules == asked.rules {
		return last.effects
	}
	asked.effects = s.effectsOf(command, cwd)
	s.judged.Store(&asked)
	return asked.effects
}

// judged is a command and what was found of it.
type judged struct {
	command, cwd string
	rules        int // revision of the permissions then
	effects      bash.Effects
}

func (s *Session) effectsOf(command, cwd string) bash.Effects {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return bash.Effects{}
	}
	d := permission.Decide(permission.Request{
		Tool: bash.Name, Literal: input, Input: input, Traits: tool.Traits{Command: command}, Cwd: cwd,
	}, permission.Policy{Dirs: s.rooms.gate.dirs(), Resolve: permission.ResolveLinks})
	e := bash.Effects{ReadOnly: d.Behavior == permission.Allow}
	e.Waits = quiet(command)
	e.Beside = e.ReadOnly || e.Waits
	e.Destructive = !e.ReadOnly && permission.DiscardsWork(command)
	return e
}

// quiet says whether every part of a command is one that nothing else can notice.
func quiet(command string) bool {
	a := shellsyntax.Analyse(command, shellsyntax.Options{})
	if len(a.Parts) == 0 || len(a.Problems) > 0 {
		return false
	}
	for _, p := range a.Parts {
		if len(p.Forms) != 1 || len(p.Assigns) > 0 || len(p.Redirs) > 0 || len(p.Unknown) > 0 || len(p.Loose) > 0 ||
			!slices.Contains([]string{"true", "false", ":", "sleep"}, p.Forms[0].Name) {
			return false
		}
	}
	return true
}
