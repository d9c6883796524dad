package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// mode is the permission mode in its outward name.
func (s *Session) mode() string {
	return string(permission.Outward(s.part.permission.Get().Mode, permission.Default))
}

// modeNames are permission modes by name.
func modeNames(modes []permission.Mode) []string {
	out := make([]string, len(modes))
	for i, m := range modes {
		out[i] = string(m)
	}
	return out
}

// setMode changes the permission mode. The error is a sentence that names it.
func (s *Session) setMode(name string) error {
	m, ok := permission.ParseMode(name)
	if !ok {
		return fmt.Errorf("mode %q: expected one of %s", name, strings.Join(modeNames(s.part.permission.Get().Modes()), ", "))
	}
	var err error
	s.part.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		next, err = p.WithMode(m)
		return next
	})
	return err
}

// setModel changes the model from the next request on.
func (s *Session) setModel(name string) error {
	if name == "" || name == "default" {
		name = s.rooms.first.Info().Ref()
	}
	model, err := s.rooms.models.named(s.ctx, name)
	if err != nil {
		return err
	}
	from, to := s.part.session.Get().Model, model.Info().Ref()
	if from == to {
		return nil
	}
	if limit := s.rooms.forbiddenModel(to); limit != "" {
		return fmt.Errorf("model %s: %s", to, limit)
	}
	fields := map[string]any{"from_model": from, "to_model": to, "requested_model": name, "source": "command", "context_tokens": s.part.shaping.Get().Used}
	o := s.fire(s.ctx, hook.Event{Name: hook.PreModelSwitch, Match: to, Fields: fields})
	if o.Decision == "deny" || o.Block || (o.Decision == "ask" && !s.opts.Answers) {
		return fmt.Errorf("a hook refused the model %s: %s", to, orText(o.Reason, o.BlockReason))
	}
	session.SetModel(s.part.session, to, s.part.session.Get().FallbackModels)
	s.fire(s.ctx, hook.Event{Name: hook.PostModelSwitch, Match: to, Fields: fields})
	return nil
}

func (s *Session) setThinking(budget *int) { s.thinking.Store(budget) }

// grant applies what was allowed with an answer, and saves what shall last.
func (s *Session) grant(u proto.PermissionUpdate) {
	if u.Type == "setMode" && s.planning() {
		s.leavePlan(permission.Mode(u.Mode))
		return
	}
	var save bool
	var err error
	s.part.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		next, save, err = p.Apply(u, s.ruleBase)
		return next
	})
	if err == nil && save {
		err = s.save(u)
	}
	if err == nil && u.Type == "addDirectories" {
		for _, dir := range u.Directories {
			s.directoryAdded(dir)
		}
	}
	if err != nil {
		s.events.Emit(proto.Notice{Level: "error", Text: "The permission was not kept: " + err.Error()})
	}
}

// directoryAdded tells hooks, beside whatever goes on; what they say is for the model.
func (s *Session) directoryAdded(dir string) {
	if !s.rooms.hooks.Any(hook.DirectoryAdded) {
		return
	}
	go func() { // ends with the hooks, at the latest with the session
		o := s.rooms.hooks.Fire(s.ctx, hook.Event{Name: hook.DirectoryAdded, Match: "slash_command", Fields: map[string]any{"directory": dir, "source": "slash_command"}})
		s.later(o.Messages...)
		o.Messages = nil
		s.tellHook(o)
	}()
}

// ruleBase is what a rule's "/path" starts from at a destination.
func (s *Session) ruleBase(source permission.Source) string {
	p := s.rooms.settings.places
	switch source {
	case permission.FromProject:
		return s.part.session.Get().ProjectRoot
	case permission.FromUser:
		return p.Home
	}
	return p.Start
}

// save writes a permission update to the settings file its destination names.
func (s *Session) save(u proto.PermissionUpdate) error {
	scope, ok := map[string]origin.Scope{
		"localSettings": origin.Local, "projectSettings": origin.Project, "userSettings": origin.User,
	}[u.Destination]
	if !ok {
		return nil
	}
	w := s.rooms.writer()
	key := "permissions." + u.Behavior
	var texts []string
	for _, r := range u.Rules {
		texts = append(texts, r.String())
	}
	return s.rooms.settings.live.Edit(s.ctx, func() error {
		var saved config.Saved
		var err error
		switch u.Type {
		case "addRules", "replaceRules":
			saved, err = w.Add(s.ctx, scope, key, texts...)
		case "removeRules":
			saved, err = w.Remove(s.ctx, scope, key, texts...)
		case "addDirectories":
			saved, err = w.Add(s.ctx, scope, "permissions.additionalDirectories", u.Directories...)
		case "removeDirectories":
			saved, err = w.Remove(s.ctx, scope, "permissions.additionalDirectories", u.Directories...)
		case "setMode":
			raw, _ := json.Marshal(u.Mode) // a string always encodes
			saved, err = w.Set(s.ctx, scope, "permissions.defaultMode", raw)
		}
		if err == nil {
			s.rooms.box.Accept(saved.Path) // it was us, not a command that runs
		}
		return err
	})
}

func (r *rooms) writer() config.Writer {
	return config.Writer{Places: r.settings.places, Sections: sections(), Git: r.git()}
}

// planning says whether plan mode is in force.
func (s *Session) planning() bool { return s.part.permission.Get().Mode == permission.Plan }

// leavePlan leaves plan mode for the picked mode, or without a pick for the mode before. When that may not be
// entered, it says why and leaves for default.
func (s *Session) leavePlan(pick permission.Mode) {
	var err error
	s.part.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		if next, err = p.LeavePlan(pick); err != nil {
			next, _ = p.LeavePlan(permission.Default) // default may always be entered
		}
		return next
	})
	if err != nil {
		s.events.Emit(proto.Notice{Level: "warning", Text: err.Error() + "; the session goes on in the mode default"})
	}
}

// planFile is where the plan of this session stands.
func (s *Session) planFile() string {
	dir := setting(s.config(), "plansDirectory", "")
	if dir == "" || !filepath.IsAbs(dir) {
		dir = filepath.Join(s.rooms.settings.places.Home, "plans")
	}
	return filepath.Join(dir, s.part.session.Get().ID+".md")
}

func (s *Session) stopTask(id string) error {
	t, ok := s.part.task.Get().Find(id)
	if !ok {
		return fmt.Errorf("%s", s.part.task.Get().Unknown(id))
	}
	if c, live := s.rooms.live.Get(t.ID); live {
		c.Stop("stopped by the user")
	}
	return nil
}

func (s *Session) toBackground(call string) error {
	if s.rooms.shell == nil || s.rooms.shell.ToBackground(call) == 0 {
		return fmt.Errorf("no running command can be moved to the background")
	}
	return nil
}

// config is the settings state in force.
func (s *Session) config() *config.State { return s.store.Get().Process.Config }

// cmdPermissions lists rules and decisions, or changes the rules of this session.
func cmdPermissions(_ context.Context, s *Session, args string) (string, error) {
	verb, rule, _ := strings.Cut(args, " ")
	switch rule = strings.TrimSpace(rule); verb {
	case "":
		return s.listPermissions(), nil
	case "allow", "ask", "deny", "remove":
		parsed, err := permission.ParseRule(rule)
		if err != nil {
			return "", fmt.Errorf("rule %q: %w", rule, err)
		}
		value := proto.RuleValue{ToolName: parsed.Tool, RuleContent: parsed.Specifier}
		if verb == "remove" {
			for _, b := range []string{"allow", "ask", "deny"} {
				s.grant(proto.PermissionUpdate{Type: "removeRules", Behavior: b, Destination: "session", Rules: []proto.RuleValue{value}})
			}
			return "Removed from the rules of this session: " + rule, nil
		}
		s.grant(proto.PermissionUpdate{Type: "addRules", Behavior: verb, Destination: "session", Rules: []proto.RuleValue{value}})
		return fmt.Sprintf("%s for this session: %s", verb, rule), nil
	}
	return "", fmt.Errorf("/permissions %s: expected nothing, or allow, ask, deny or remove with a rule", verb)
}
