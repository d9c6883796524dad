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
func newGate(r *rooms) *gate.Gate {
	given := gate.Given{
		State: r.part.permission, Dirs: r.rights.dirs, ReadOnly: r.consent.readOnly.Load, Git: r.consent.gitRisk,
		Tool:    func(name string) tool.Tool { return r.pool.Tool(name) },
		Sandbox: func() permission.Sandbox { return r.programs.box.Policy() },
		Settings: func() gate.Settings {
			return gate.Settings{
				AutoInPlan:    setting(r.settings.now(), "useAutoModeDuringPlan", true),
				ManagedOnly:   setting(r.settings.now(), "allowManagedPermissionRulesOnly", false),
				ClassifyShell: autoRules(r.settings.now()).ClassifyAllShell,
			}
		},
		Hooks: func() gate.Hooks { return r.hooks.set }, TellHook: r.hooks.tell,
		Silent: r.opts.Silent, Answerer: func(surface string) string { return answeredBy(r.part.surface.Get(), surface) }, Prompts: func() int { return int(r.session.prompts.Load()) },
		Classify: func(ctx context.Context, req permission.Request) permission.Verdict {
			return r.classifier.Judge(ctx, req, r.session.scene(ctx, req))
		},
		Grant: r.rights.grant, Tell: r.events.Emit,
		Drift: func(scope *tool.Scope, path string) string { return r.files.Drift(scope, path) },
		Note:  r.session.noteForClassifier, Later: r.session.later,
		Now: func() time.Time { return r.clock.now() }, NewID: func() string { return r.clock.newID() },
	}
	if r.opts.Answers {
		given.Ask = r.asks.Put
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
		booked(s.rooms, call, r)
		return g.Amend(ctx, call, s.rooms.instructions.with(call, r))
	}
	cfg.Batch = func(ctx context.Context, calls []tool.Done) (*tool.End, error) {
		for _, c := range calls {
			cost.BookCall(s.rooms.part.cost, time.Duration(c.Seconds*float64(time.Second)), cost.Lines{})
		}
		return g.Batch(ctx, calls), nil
	}
}

// answeredBy says who sat behind the surface that answered: a person's no means more than a host's.
func answeredBy(all *Surfaces, surface string) string {
	switch all.ByID[surface].Kind {
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
	out.Instructions = s.rooms.instructions.texts(ctx)
	if permission.DiscardsWork(req.Traits.Command) {
		out.GitStatus = s.rooms.gitStatus(ctx)
	}
	return out
}
