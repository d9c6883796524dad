package app

import (
	"context"
	"time"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/core/tool"
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
		Silent: r.opts.Silent, Answerer: func(surface string) string { return answeredBy(r.part.surface.Get(), surface) }, Prompts: func() int { return r.main.Prompts() },
		Classify: func(ctx context.Context, req permission.Request) permission.Verdict {
			return r.models.classifier.Judge(ctx, req, scene(ctx, r, req))
		},
		Grant: r.rights.grant, Tell: r.events.Emit,
		Drift: func(scope *tool.Scope, path string) string { return filesOf(r).Drift(scope, path) },
		Note:  func(texts []string) { r.main.Note(texts) }, Later: func(texts ...string) { r.main.Later(texts...) },
		Now: func() time.Time { return r.clock.now() }, NewID: func() string { return r.clock.newID() },
	}
	if r.opts.Answers {
		given.Ask = r.asks.Put
	}
	return gate.New(given)
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

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
