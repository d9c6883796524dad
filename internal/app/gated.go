package app

import (
	"context"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// newGate binds the gate to the session.
func newGate(s *Session) *gate.Gate {
	given := gate.Given{
		State: s.part.permission, Dirs: s.dirs, ReadOnly: s.rooms.readOnly.Load, Git: s.gitRisk,
		Tool:    func(name string) tool.Tool { return s.rooms.pool.Tool(name) },
		Sandbox: func() permission.Sandbox { return s.rooms.box.Policy() },
		Settings: func() gate.Settings {
			return gate.Settings{
				AutoInPlan:    setting(s.config(), "useAutoModeDuringPlan", true),
				ManagedOnly:   setting(s.config(), "allowManagedPermissionRulesOnly", false),
				ClassifyShell: s.autoRules().ClassifyAllShell,
			}
		},
		Hooks: func() gate.Hooks { return s.rooms.hooks }, TellHook: s.tellHook,
		Silent: s.opts.Silent, Answerer: s.answeredBy, Prompts: func() int { return int(s.prompts.Load()) },
		Classify: func(ctx context.Context, req permission.Request) permission.Verdict {
			return s.rooms.classifier.Judge(ctx, req, s.scene(ctx, req))
		},
		Grant: s.grant, Tell: s.events.Emit,
		Drift: func(scope *tool.Scope, path string) string { return s.rooms.files.Drift(scope, path) },
		Note:  s.noteForClassifier, Later: s.later,
		Now: func() time.Time { return s.effects.Now() }, NewID: func() string { return s.effects.NewID() },
	}
	if s.opts.Answers {
		given.Ask = s.asks.Put
	}
	return gate.New(given)
}

// gated are the engine's doors to the gate, for one turn.
func (s *Session) gated(cfg *engine.Config, t *turn) {
	g := s.rooms.gate
	cfg.Authorize = func(ctx context.Context, call tool.Call, traits tool.Traits) (engine.Verdict, error) {
		return g.Authorize(ctx, &t.gate, call, traits)
	}
	cfg.Before = func(context.Context, tool.Call, tool.Traits) error { return s.durable() }
	cfg.Amend = func(ctx context.Context, call tool.Call, r tool.Result) (tool.Result, *tool.End, error) {
		s.rooms.booked(call, r)
		return g.Amend(ctx, call, s.withInstructions(call, r))
	}
	cfg.Batch = func(ctx context.Context, calls []tool.Done) (*tool.End, error) {
		for _, c := range calls {
			cost.BookCall(s.part.cost, time.Duration(c.Seconds*float64(time.Second)), cost.Lines{})
		}
		return g.Batch(ctx, calls), nil
	}
}

// dirs are the places decisions refer to.
func (s *Session) dirs() permission.Dirs {
	p := s.rooms.settings.places
	return permission.Dirs{
		Cwd: p.Start, Project: s.part.session.Get().ProjectRoot, Home: p.UserHome, More: s.part.permission.Get().WorkDirs(),
		Protected: []string{p.Home, p.StateFile}, PlanFile: s.planFile(), Temp: s.rooms.temp(),
	}
}

// answeredBy says who sat behind the surface that answered: a person's no means more than a host's.
func (s *Session) answeredBy(surface string) string {
	switch s.part.surface.Get().ByID[surface].Kind {
	case "":
		return surface // a hook, a time limit
	case "headless", "sdk":
		return "host"
	}
	return "user"
}

// reminder is the message that tells the model texts of the harness; none when there are none.
func reminder(texts []string) []msg.Message {
	if len(texts) == 0 {
		return nil
	}
	return []msg.Message{{Role: msg.User, Origin: msg.FromHarness, Content: gate.Reminders(texts)}}
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// scene is what the classifier may see: the user's words and the agent's calls.
func (s *Session) scene(ctx context.Context, req permission.Request) permission.Scene {
	var out permission.Scene
	s.sceneMu.Lock()
	for _, m := range s.sceneMessages {
		if m.Role == msg.User && (m.Origin == msg.FromHuman) {
			out.Messages = append(out.Messages, msg.TextOf(m.Content))
		}
		for _, c := range msg.Calls(m) {
			out.Calls = append(out.Calls, permission.PriorCall{Tool: c.Name, Input: c.Input})
		}
	}
	out.Notes = slices.Clone(s.classifierNotes)
	s.sceneMu.Unlock()
	out.Instructions = s.instructionTexts(ctx)
	if permission.DiscardsWork(req.Traits.Command) {
		out.GitStatus = s.rooms.gitStatus(ctx)
	}
	return out
}
