package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// hooks fires the hooks of the settings in force and shows people what these have for them.
type hooks struct {
	set      *hook.Hooks
	watched  *hook.Watched
	settings *settings
	events   *events.Stream
	ctx      context.Context // ends with the session

	mu     sync.Mutex             // guards notify
	notify map[string]*time.Timer // notifications that wait, by what they are about
}

// Any says whether there is a hook of an event.
func (h *hooks) Any(name hook.Name) bool { return h.set.Any(name) }

// tell shows what hooks have for the user.
func (h *hooks) tell(o hook.Outcome) {
	for _, n := range o.Notices {
		h.events.Emit(proto.Notice{Level: "warning", Text: n})
	}
	for _, m := range o.Messages {
		h.events.Emit(proto.Notice{Level: "info", Text: m})
	}
	if o.Terminal != "" {
		h.events.Emit(proto.Terminal{Sequence: o.Terminal})
	}
	h.watched.Ask(o.WatchPaths)
}

// Fire runs the hooks of an event and shows what they have for the user. While the first question of trust
// is open none runs, whoever wrote it, but what guards the settings.
func (h *hooks) Fire(ctx context.Context, e hook.Event) hook.Outcome {
	if h.settings.deciding.Load() && e.Name != hook.ConfigChange || !h.Any(e.Name) {
		return hook.Outcome{}
	}
	o := h.set.Fire(ctx, e)
	h.tell(o)
	return o
}

// load reads the hooks of the settings in force, and tells what is wrong with them.
func (h *hooks) load(state *config.State) []hook.Problem {
	_, at, off := config.Value[bool](state, "disableAllHooks")
	off = off && setting(state, "disableAllHooks", false)
	wrong := h.set.Load(hookSources(state), hook.Switches{
		All: off && at.Scope == origin.Managed, Ordinary: off && at.Scope != origin.Managed,
		ManagedOnly: setting(state, "allowManagedHooksOnly", false), PluginsOnly: pluginsOnly(state, "hooks"), Without: h.settings.goesOn,
	})
	h.settings.guarded(wrong)
	h.watched.Name(hook.WatchNames(h.set.Handlers()))
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
func httpLimits(state *config.State) (l hook.HTTPLimits) {
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

// veto lets ConfigChange hooks keep a changed settings file from taking effect.
func (h *hooks) veto(ctx context.Context, change config.Change) error {
	for _, src := range change.Files {
		what := string(src.Scope) + "_settings"
		o := h.Fire(ctx, hook.Event{Name: hook.ConfigChange, Match: what, Fields: map[string]any{"source": what, "file_path": src.Path}})
		if o.Block {
			h.events.Emit(proto.Notice{Level: "warning", Text: "A hook keeps the change of " + src.Path + " from taking effect."})
			return fmt.Errorf("a hook refused it")
		}
	}
	return nil
}

// How long somebody may be silent before the Notification hooks are told that they are waited for.
const (
	askWait  = 6 * time.Second
	idleWait = time.Minute
	idleKey  = "idle"
)

// notifyAfter tells the Notification hooks of something, unless noNotice takes it back first.
func (h *hooks) notifyAfter(wait time.Duration, key, kind, message string) {
	if !h.Any(hook.Notification) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notify[key] = time.AfterFunc(wait, func() {
		if h.ctx.Err() == nil {
			h.Fire(h.ctx, hook.Event{Name: hook.Notification, Match: kind, Fields: map[string]any{"message": message, "notification_type": kind}})
		}
	})
}

// noNotice takes back what notifyAfter was to tell.
func (h *hooks) noNotice(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.notify[key]; t != nil {
		t.Stop()
		delete(h.notify, key)
	}
}

// end fires SessionEnd.
func (h *hooks) end(ctx context.Context, reason string) {
	switch reason {
	case "clear", "resume", "prompt_input_exit", "logout":
	default:
		reason = "other"
	}
	if !h.settings.deciding.Load() && h.Any(hook.SessionEnd) {
		h.set.Fire(context.WithoutCancel(ctx), hook.Event{Name: hook.SessionEnd, Match: reason, Fields: map[string]any{"reason": reason}})
	}
}

// directoryAdded tells hooks, beside whatever goes on; what they say is for the model.
func (h *hooks) directoryAdded(dir string, later func(...string)) {
	if !h.Any(hook.DirectoryAdded) {
		return
	}
	go func() { // ends with the hooks, at the latest with the session
		o := h.set.Fire(h.ctx, hook.Event{Name: hook.DirectoryAdded, Match: "slash_command", Fields: map[string]any{"directory": dir, "source": "slash_command"}})
		later(o.Messages...)
		o.Messages = nil
		h.tell(o)
	}()
}

// tellAsk enters questions in the state and tells surfaces.
func (h *hooks) tellAsk(to session.Slice, now time.Time, body proto.EventBody) {
	switch b := body.(type) {
	case proto.Ask:
		ids := make([]string, len(b.Options))
		for i, o := range b.Options {
			ids[i] = o.ID
		}
		session.OpenAsk(to, session.Ask{ID: b.ID, Kind: string(b.Kind), Text: b.Title, Options: ids, Since: now})
		h.notifyAfter(askWait, b.ID, "permission_prompt", b.Title)
	case proto.AskClosed:
		h.noNotice(b.ID)
		session.CloseAsk(to, b.ID)
	}
	h.events.Emit(body)
}
