package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// ErrUpdate is wrapped by the errors of [State.Apply].
var ErrUpdate = errors.New("permission update")

// Apply applies one update a person, host or hook gave. save tells that the update must also be
// written to the settings file its destination names; the state holds it at once either way. A
// base is what a rule's "/path" starts from at that destination. A mode that may not be entered is an
// error; bypassPermissions is never saved.
func (s *State) Apply(u proto.PermissionUpdate, base func(Source) string) (next *State, save bool, err error) {
	to := Source(u.Destination)
	switch to {
	case FromSession, FromLocal, FromProject, FromUser, FromFlag:
	default:
		return s, false, fmt.Errorf("%w: unknown destination %q", ErrUpdate, u.Destination)
	}
	save = to == FromLocal || to == FromProject || to == FromUser
	switch u.Type {
	case "addRules", "replaceRules", "removeRules":
		next, err = s.applyRules(u, to, base)
	case "setMode":
		mode, ok := ParseMode(u.Mode)
		if !ok {
			return s, false, fmt.Errorf("%w: unknown mode %q", ErrUpdate, u.Mode)
		}
		next, err = s.WithMode(mode)
		save = save && mode != Bypass
	case "addDirectories", "removeDirectories":
		next, err = s.applyDirs(u, to)
	default:
		return s, false, fmt.Errorf("%w: unknown type %q", ErrUpdate, u.Type)
	}
	if err != nil {
		return s, false, err
	}
	return next, save && (next != s || u.Type != "setMode"), nil
}

func (s *State) applyRules(u proto.PermissionUpdate, to Source, base func(Source) string) (*State, error) {
	list := List(u.Behavior)
	if list != AllowList && list != AskList && list != DenyList {
		return s, fmt.Errorf("%w: unknown behavior %q", ErrUpdate, u.Behavior)
	}
	var rules []Rule
	for _, v := range u.Rules {
		if _, err := ParseRule(v.String()); err != nil {
			return s, fmt.Errorf("%w: rule %q: %w", ErrUpdate, v.String(), err)
		}
		r := Rule{List: list, Text: v.String(), Source: to}
		if base != nil {
			r.Base = base(to)
		}
		rules = append(rules, r)
	}
	if to == FromSession {
		return s.withGrants(editRules(s.Grants.Rules, list, rules, u.Type)), nil
	}
	lists := s.Rules[to]
	switch list {
	case AllowList:
		lists.Allow = editRules(lists.Allow, list, rules, u.Type)
	case AskList:
		lists.Ask = editRules(lists.Ask, list, rules, u.Type)
	case DenyList:
		lists.Deny = editRules(lists.Deny, list, rules, u.Type)
	}
	return s.WithRules(to, lists), nil
}

func (s *State) withGrants(rules []Rule) *State {
	if slices.Equal(rules, s.Grants.Rules) {
		return s
	}
	c := s.change()
	c.Grants.Rules = rules
	return c.rulesChanged()
}

// editRules adds, replaces or removes rules of one list; rules of the other lists stay.
func editRules(old []Rule, list List, rules []Rule, kind string) []Rule {
	same := func(a, b Rule) bool { return a.List == b.List && a.Text == b.Text }
	var out []Rule
	for _, r := range old {
		gone := kind == "replaceRules" && r.List == list
		if kind == "removeRules" {
			gone = slices.ContainsFunc(rules, func(x Rule) bool { return same(x, r) })
		}
		if !gone {
			out = append(out, r)
		}
	}
	if kind == "removeRules" {
		return out
	}
	for _, r := range rules {
		if !slices.ContainsFunc(out, func(x Rule) bool { return same(x, r) }) {
			out = append(out, r)
		}
	}
	return out
}

func (s *State) applyDirs(u proto.PermissionUpdate, to Source) (*State, error) {
	for _, d := range u.Directories {
		if !path.IsAbs(d) || path.Clean(d) != d {
			return s, fmt.Errorf("%w: directory %q is not absolute and clean", ErrUpdate, d)
		}
	}
	if to == FromSession {
		dirs := editDirs(s.Grants.Dirs, u)
		if slices.Equal(dirs, s.Grants.Dirs) {
			return s, nil
		}
		c := s.change()
		c.Grants.Dirs = dirs
		return c, nil
	}
	var own []string
	for _, d := range s.Dirs {
		if d.Source == to {
			own = append(own, d.Path)
		}
	}
	return s.WithDirs(to, editDirs(own, u)), nil
}

func editDirs(old []string, u proto.PermissionUpdate) []string {
	var out []string
	for _, d := range old {
		if u.Type == "addDirectories" || !slices.Contains(u.Directories, d) {
			out = append(out, d)
		}
	}
	if u.Type == "addDirectories" {
		for _, d := range u.Directories {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// Start says how a session's first mode is found.
type Start struct {
	Flag          Mode   // --permission-mode; empty: not given
	Bypass        bool   // --dangerously-skip-permissions
	AllowBypass   bool   // --allow-dangerously-skip-permissions
	Setting       Mode   // permissions.defaultMode as it won; empty: not set
	SettingFrom   Source // where it stands
	Recorded      Mode   // of a resumed session; empty: none
	AutoAvailable bool   // a classifier can be asked

	Forbidden map[Mode]string // modes that may not be entered, and who says so
}

// StartMode finds the first mode, which modes may be entered later, and notices for people. A flag for a
// forbidden bypass is an error; any other mode that may not be entered is told and the session starts in
// default.
func StartMode(o Start) (mode Mode, bypass, auto bool, notices []string, err error) {
	wantsBypass := o.Bypass || o.Flag == Bypass
	if why := o.Forbidden[Bypass]; why != "" && (wantsBypass || o.AllowBypass) {
		return Default, false, false, nil, errors.New("bypassPermissions may not be used: " + why)
	}
	setting := o.Setting
	if setting == Auto && (o.SettingFrom == FromProject || o.SettingFrom == FromLocal) {
		notices = append(notices, "permissions.defaultMode: auto counts only in user and managed settings; the session starts in the mode default")
		setting = Default
	}
	doors, _ := (&State{}).WithAvailable(wantsBypass || o.AllowBypass || setting == Bypass, o.AutoAvailable, o.Forbidden)
	switch {
	case o.Bypass:
		mode = Bypass
	case o.Flag != "":
		mode = o.Flag
	case o.Recorded != "" && (o.Recorded != Bypass || doors.BypassAvailable):
		mode = o.Recorded
	default:
		mode = setting
	}
	if mode == "" || mode == Bubble {
		mode = Default
	}
	if err := doors.MayEnter(mode); err != nil {
		notices = append(notices, err.Error()+"; the session starts in the mode default")
		mode = Default
	}
	return mode, doors.BypassAvailable, doors.AutoAvailable, notices, nil
}

// AgentMode is the mode of a subagent: that of its definition, unless the parent is in a mode that is
// not narrowed, or the definition asks for a mode that may not be entered.
func (s *State) AgentMode(defined Mode) Mode {
	parent := s.mode()
	switch {
	case defined == "", parent == Bypass, parent == AcceptEdits, parent == Auto:
		return parent
	case s.MayEnter(defined) != nil:
		return parent
	}
	return defined
}
