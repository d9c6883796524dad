package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/app/notes"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// rights changes what is allowed: the permission mode, the rules and grants of a session, and the settings
// that shall keep them.
type rights struct {
	opts       Options
	settings   *settings
	permission store.Slice[permission.State]
	session    store.Slice[session.State]
	events     *events.Stream
	hooks      *hooks
	limits     *limits
	programs   *programs
	temp       func() string         // the session's folder for temporary files
	later      func(texts ...string) // leaves texts for the model
	notes      *notes.Notes          // the agent's own
	ctx        context.Context

	flagRules permission.Lists
	bypass    bool // bypassPermissions was made available at the start
}

// mode is the permission mode in its outward name.
func (r *rights) mode() string {
	return outward(r.permission.Get())
}

// setMode changes the permission mode. The error is a sentence that names it.
func (r *rights) setMode(name string) error {
	m, ok := permission.ParseMode(name)
	if !ok {
		return fmt.Errorf("mode %q: expected one of %s", name, strings.Join(modeNames(r.permission.Get().Modes()), ", "))
	}
	var err error
	r.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		next, err = p.WithMode(m)
		return next
	})
	return err
}

// grant applies what was allowed with an answer, and saves what shall last.
func (r *rights) grant(u proto.PermissionUpdate) {
	if u.Type == "setMode" && r.planning() {
		r.leavePlan(permission.Mode(u.Mode))
		return
	}
	var save bool
	var err error
	r.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		next, save, err = p.Apply(u, r.ruleBase)
		return next
	})
	if err == nil && save {
		err = r.save(u)
	}
	if err == nil && u.Type == "addDirectories" {
		for _, dir := range u.Directories {
			r.hooks.directoryAdded(dir, r.later)
		}
	}
	if err != nil {
		r.events.Emit(proto.Notice{Level: "error", Text: "The permission was not kept: " + err.Error()})
	}
}

// ruleBase is what a rule's "/path" starts from at a destination.
func (r *rights) ruleBase(source permission.Source) string {
	p := r.settings.places
	switch source {
	case permission.FromProject:
		return r.session.Get().ProjectRoot
	case permission.FromUser:
		return p.Home
	}
	return p.Start
}

// save writes a permission update to the settings file its destination names.
func (r *rights) save(u proto.PermissionUpdate) error {
	scope, ok := map[string]origin.Scope{
		"localSettings": origin.Local, "projectSettings": origin.Project, "userSettings": origin.User,
	}[u.Destination]
	if !ok {
		return nil
	}
	w := r.settings.writer(r.programs.git())
	key := "permissions." + u.Behavior
	var texts []string
	for _, r := range u.Rules {
		texts = append(texts, r.String())
	}
	return r.settings.live.Edit(r.ctx, func() error {
		var saved config.Saved
		var err error
		switch u.Type {
		case "addRules", "replaceRules":
			saved, err = w.Add(r.ctx, scope, key, texts...)
		case "removeRules":
			saved, err = w.Remove(r.ctx, scope, key, texts...)
		case "addDirectories":
			saved, err = w.Add(r.ctx, scope, "permissions.additionalDirectories", u.Directories...)
		case "removeDirectories":
			saved, err = w.Remove(r.ctx, scope, "permissions.additionalDirectories", u.Directories...)
		case "setMode":
			raw, _ := json.Marshal(u.Mode) // a string always encodes
			saved, err = w.Set(r.ctx, scope, "permissions.defaultMode", raw)
		}
		if err == nil {
			r.programs.box.Accept(saved.Path) // it was us, not a command that runs
		}
		return err
	})
}

// planning says whether plan mode is in force.
func (r *rights) planning() bool { return r.permission.Get().Mode == permission.Plan }

// leavePlan leaves plan mode for the picked mode, or without a pick for the mode before. When that may not be
// entered, it says why and leaves for default.
func (r *rights) leavePlan(pick permission.Mode) {
	var err error
	r.permission.Set(func(p *permission.State) *permission.State {
		var next *permission.State
		if next, err = p.LeavePlan(pick); err != nil {
			next, _ = p.LeavePlan(permission.Default) // default may always be entered
		}
		return next
	})
	if err != nil {
		r.events.Emit(proto.Notice{Level: "warning", Text: err.Error() + "; the session goes on in the mode default"})
	}
}

// planFile is where the plan of this session stands.
func (r *rights) planFile() string {
	dir, _ := r.plans()
	return filepath.Join(dir, r.session.Get().ID+".md")
}

// plans is the folder of plans, and why it is not the one the settings name.
func (r *rights) plans() (dir, problem string) {
	dir = filepath.Join(r.settings.places.Home, "plans")
	set := setting(r.settings.now(), "plansDirectory", "")
	if set == "" {
		return dir, ""
	}
	root, wanted := r.session.Get().ProjectRoot, r.absolute(set)
	if rel, err := filepath.Rel(root, wanted); err != nil || !filepath.IsLocal(rel) {
		return dir, fmt.Sprintf("plansDirectory: %s is outside of the project %s: plans are kept in %s", wanted, root, dir)
	}
	return wanted, ""
}

// modeNames are permission modes by name.
func modeNames(modes []permission.Mode) []string {
	out := make([]string, len(modes))
	for i, m := range modes {
		out[i] = string(m)
	}
	return out
}

// startMode finds the first permission mode and takes over the rules of the command line.
func (r *rights) startMode(recorded string) error {
	o, state := r.opts, r.settings.now()
	flag, ok := permission.ParseMode(o.Mode)
	if o.Mode != "" && !ok {
		return &ExitError{2, fmt.Errorf("--permission-mode %s: expected default, acceptEdits, plan, auto, dontAsk or bypassPermissions", o.Mode)}
	}
	if o.Mode == "" {
		flag = ""
	}
	set, at, _ := config.Value[string](state, "permissions.defaultMode")
	mode, bypass, auto, notices, err := permission.StartMode(permission.Start{
		Flag: flag, Bypass: o.Bypass, AllowBypass: o.AllowBypass, Setting: permission.Mode(set), SettingFrom: permission.SourceOf(at.Scope),
		Recorded: permission.Mode(recorded), AutoAvailable: true, Forbidden: r.limits.forbiddenModes(state),
	})
	if err != nil {
		return &ExitError{codeSettings, err}
	}
	if (bypass || mode == permission.Bypass) && os.Geteuid() == 0 && !flagged(r.settings.env(), "IS_SANDBOX") && !sandbox.InContainer() {
		return &ExitError{codeSettings, errors.New("bypassPermissions is refused as root: start as an ordinary user, or in a container; IS_SANDBOX=1 says that this is one")}
	}
	for _, n := range notices {
		r.events.Early(proto.Notice{Level: "warning", Text: n})
	}
	rules := func(list permission.List, texts []string) (out []permission.Rule, err error) {
		for _, t := range texts {
			if _, err := permission.ParseRule(t); err != nil {
				return nil, &ExitError{2, fmt.Errorf("rule %q on the command line: %w", t, err)}
			}
			out = append(out, permission.Rule{List: list, Text: t, Source: permission.FromFlag})
		}
		return out, nil
	}
	if r.flagRules.Allow, err = rules(permission.AllowList, o.Allow); err != nil {
		return err
	}
	if r.flagRules.Deny, err = rules(permission.DenyList, o.Deny); err != nil {
		return err
	}
	r.bypass = bypass
	r.permission.Set(func(p *permission.State) *permission.State {
		p, _ = p.WithAvailable(bypass, auto, r.limits.forbiddenModes(state))
		p, err = p.WithMode(mode)
		return p
	})
	return err
}

// dirs are the places decisions refer to.
func (r *rights) dirs() permission.Dirs {
	p := r.settings.places
	return permission.Dirs{
		Cwd: p.Start, Project: r.session.Get().ProjectRoot, Home: p.UserHome, More: r.permission.Get().WorkDirs(),
		Protected: []string{p.Home, p.StateFile}, Temp: r.temp(), Notes: r.notes.Own,
	}
}

// absolute makes a path of the settings absolute, from the folder the session started in.
func (r *rights) absolute(path string) string {
	p := r.settings.places
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.UserHome, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.Start, path)
	}
	return filepath.Clean(path)
}

// wide reports whether a working directory holds the user's whole home.
func (r *rights) wide(dir string) bool {
	return dir == "/" || strings.HasPrefix(r.settings.places.UserHome+"/", strings.TrimSuffix(dir, "/")+"/")
}

// fileBase is what "/path" in a rule of a file starts from.
func (r *rights) fileBase(at origin.Origin) string {
	switch at.Scope {
	case origin.Project:
		return r.settings.places.Start
	case origin.User:
		return r.settings.places.Home
	}
	return r.settings.places.Start
}

// apply brings rules, directories and hooks in line with the settings.
func (r *rights) apply(state *config.State) {
	lists := map[permission.Source]permission.Lists{
		permission.FromManaged: {}, permission.FromLocal: {}, permission.FromProject: {}, permission.FromUser: {}, permission.FromFlag: r.flagRules,
	}
	managedOnly := setting(state, "allowManagedPermissionRulesOnly", false)
	for _, set := range state.Rules() {
		source := permission.SourceOf(set.At.Scope)
		if managedOnly && source != permission.FromManaged {
			continue
		}
		rule := permission.Rule{List: permission.List(set.List), Text: set.Text, Source: source, File: set.At.File, Line: set.At.Line, Base: r.fileBase(set.At)}
		lists[source] = withRule(lists[source], rule)
	}
	for _, text := range r.limits.denyRules() {
		lists[permission.FromManaged] = withRule(lists[permission.FromManaged], permission.Rule{List: permission.DenyList, Text: text, Source: permission.FromManaged, File: "policy"})
	}
	if managedOnly {
		lists[permission.FromFlag] = permission.Lists{Deny: r.flagRules.Deny, Ask: r.flagRules.Ask}
	}
	dirs := map[permission.Source][]string{permission.FromFlag: r.opts.AddDirs}
	for _, d := range state.Dirs() {
		source := permission.SourceOf(d.At.Scope)
		dirs[source] = append(dirs[source], r.absolute(d.Path))
	}
	for source, list := range dirs {
		for _, dir := range list {
			if r.wide(dir) {
				r.events.Early(proto.Notice{Level: "warning", Key: "wide " + dir, Text: fmt.Sprintf("The working directory %s (%s): %s", dir, source, wideDir)})
			}
		}
	}
	forbidden, why := r.limits.forbiddenModes(state), ""
	r.permission.Set(func(p *permission.State) *permission.State {
		p = p.WithManagedOnly(managedOnly)
		for source, l := range lists {
			p = p.WithRules(source, l)
		}
		for _, source := range []permission.Source{permission.FromManaged, permission.FromUser, permission.FromProject, permission.FromLocal, permission.FromFlag} {
			p = p.WithDirs(source, dirs[source])
		}
		p, why = p.WithAvailable(r.bypass, true, forbidden)
		return p
	})
	if why != "" {
		r.events.Early(proto.Notice{Level: "warning", Text: why + "; the session goes on in the mode default"})
	}
	r.limits.apply()
	for _, problem := range r.hooks.load(state) {
		r.events.Early(proto.Notice{Level: "warning", Text: problem.String()})
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

// mayStand says whether the shell may stay in a folder between calls.
func (r *rights) mayStand(dir string) bool {
	roots := append([]string{r.settings.places.Start, r.session.Get().ProjectRoot}, r.permission.Get().WorkDirs()...)
	for _, root := range roots {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// outward is the permission mode in its outward name.
func outward(p *permission.State) string {
	return string(permission.Outward(p.Mode, permission.Default))
}
