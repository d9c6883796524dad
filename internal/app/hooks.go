package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// tellHook shows what hooks have for the user.
func (s *Session) tellHook(o hook.Outcome) {
	for _, n := range o.Notices {
		s.events.Emit(proto.Notice{Level: "warning", Text: n})
	}
	for _, m := range o.Messages {
		s.events.Emit(proto.Notice{Level: "info", Text: m})
	}
	if o.Terminal != "" {
		s.events.Emit(proto.Terminal{Sequence: o.Terminal})
	}
	s.rooms.watched.ask(o.WatchPaths)
}

// fire runs the hooks of an event and shows what they have for the user. While the first question of trust
// is open none runs, whoever wrote it, but what guards the settings.
func (s *Session) fire(ctx context.Context, e hook.Event) hook.Outcome {
	if s.rooms.settings.deciding.Load() && e.Name != hook.ConfigChange || !s.rooms.hooks.Any(e.Name) {
		return hook.Outcome{}
	}
	o := s.rooms.hooks.Fire(ctx, e)
	s.tellHook(o)
	return o
}

// loadHooks reads the hooks of the settings in force, and tells what is wrong with them.
func (s *Session) loadHooks(state *config.State) []hook.Problem {
	_, at, off := config.Value[bool](state, "disableAllHooks")
	off = off && setting(state, "disableAllHooks", false)
	wrong := s.rooms.hooks.Load(hookSources(state), hook.Switches{
		All: off && at.Scope == origin.Managed, Ordinary: off && at.Scope != origin.Managed,
		ManagedOnly: setting(state, "allowManagedHooksOnly", false), PluginsOnly: pluginsOnly(state, "hooks"), Without: s.goesOn,
	})
	s.guarded(wrong)
	s.rooms.watched.name(hook.WatchNames(s.rooms.hooks.Handlers()))
	return wrong
}

// hookSources are the hooks of the settings in force, as they stand there.
func hookSources(state *config.State) []hook.Source {
	var out []hook.Source
	for _, b := range state.Hooks() {
		out = append(out, hook.Source{
			Label: label(b.At.Scope), At: b.At, Lines: b.Lines, JSON: b.JSON, Managed: b.At.Scope == origin.Managed,
			Confine: b.At.Scope == origin.Project || b.At.Scope == origin.Local,
		})
	}
	return out
}

// httpLimits are the limits of HTTP hooks in the settings in force.
func (s *Session) httpLimits() (l hook.HTTPLimits) {
	state := s.config()
	if urls, _, ok := config.Value[[]string](state, "allowedHttpHookUrls"); ok {
		l.URLs = &urls
	}
	if vars, _, ok := config.Value[[]string](state, "httpHookAllowedEnvVars"); ok {
		l.Vars = &vars
	}
	return l
}

// pluginsOnly says whether a kind of customization may come from plugins and the administrator alone.
func pluginsOnly(state *config.State, kind string) bool {
	const key = "strictPluginOnlyCustomization"
	return setting(state, key, false) || slices.Contains(setting[[]string](state, key, nil), kind)
}

func label(scope origin.Scope) string {
	switch scope {
	case origin.Managed, origin.Policy:
		return "Managed"
	case origin.User:
		return "User"
	case origin.Project:
		return "Project"
	case origin.Local:
		return "Local"
	}
	return "Flag"
}

// vetoConfig lets ConfigChange hooks keep a changed settings file from taking effect.
func (s *Session) vetoConfig(ctx context.Context, change config.Change) error {
	if s.rooms.hooks == nil {
		return nil
	}
	for _, src := range change.Files {
		what := string(src.Scope) + "_settings"
		o := s.fire(ctx, hook.Event{Name: hook.ConfigChange, Match: what, Fields: map[string]any{"source": what, "file_path": src.Path}})
		if o.Block {
			s.events.Emit(proto.Notice{Level: "warning", Text: "A hook keeps the change of " + src.Path + " from taking effect."})
			return fmt.Errorf("a hook refused it")
		}
	}
	return nil
}
