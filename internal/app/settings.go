package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/feature/trust"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// sections are the keys that are acted upon, and those whose values features check themselves.
func sections() []config.Section {
	rules := func(value json.RawMessage) []config.Fault { return faults(permission.CheckRules(value)) }
	return append(usedKeys(), []config.Section{
		{Key: "permissions.allow", Check: rules},
		{Key: "permissions.ask", Check: rules},
		{Key: "permissions.deny", Check: rules},
		{Key: "autoMode", Check: func(value json.RawMessage) []config.Fault { return faults(permission.CheckAutoMode(value)) }},
		{Key: "policyLimits", Check: checkPolicy},
	}...)
}

// checkPolicy says what is wrong with the address of an organisation's limits: half of it is none.
func checkPolicy(value json.RawMessage) []config.Fault {
	if err := policy.CheckSetting(value); err != nil {
		return []config.Fault{{Message: err.Error(), Expected: "url, publicKey, onMissing"}}
	}
	return nil
}

func faults(from []permission.Fault) []config.Fault {
	var out []config.Fault
	for _, f := range from {
		grants := len(f.At) > 0 && (f.At[0] == "allow" || f.At[0] == "environment")
		out = append(out, config.Fault{At: f.At, Message: f.Message, Expected: f.Expected, Grants: grants})
	}
	return out
}

// environ is the environment the process was started with, or the one that was handed in.
func environ(o Options) config.Environ {
	if o.Env != nil {
		return config.EnvironOfMap(o.Env)
	}
	return config.ProcessEnviron()
}

// settings are the settings of one session and what the folder is trusted with.
type settings struct {
	opts   Options
	base   config.Environ // as the process has it; the env block is in the state
	places config.Places
	live   *config.Live
	now    func() *config.State // those in force in the session

	deciding atomic.Bool // the first question of trust is still to be answered

	mu      sync.Mutex // guards the rest
	trust   trust.Input
	asked   bool                 // the trust question is still to be put
	broken  *config.CorruptError // the state file as it was found; nil: it is fine
	view    config.View
	guards  []hook.Problem  // guards that cannot be read, of the settings in force
	without map[string]bool // what is broken and a person goes on without, by its text
}

// places finds where settings and everything else of a session stand.
func findPlaces(o Options, env config.Environ) (config.Places, error) {
	home, err := os.UserHomeDir()
	if v := env.Value("HOME"); v != "" {
		home, err = v, nil
	}
	if err != nil {
		return config.Places{}, fmt.Errorf("find the home folder: %w", err)
	}
	return config.Find(config.PlaceOptions{UserHome: home, Start: o.Cwd, Env: env, DropIn: o.DropIn, Managed: o.managed})
}

// openSettings reads all settings and decides what the folder is trusted with. live holds who is
// told of later changes.
func openSettings(ctx context.Context, o Options, live config.LiveOptions) (*settings, trust.Decision, error) {
	s := &settings{opts: o, base: environ(o)}
	var err error
	if s.places, err = findPlaces(o, s.base); err != nil {
		return nil, trust.Decision{}, err
	}
	live.Options = config.Options{Places: s.places, Settings: o.Settings, Sources: o.SettingSources, Sections: sections(), AddDirs: o.AddDirs}
	if s.live, err = config.Open(ctx, live); err != nil {
		return nil, trust.Decision{}, &ExitError{codeSettings, err}
	}
	s.now = s.live.State
	decision, err := s.decideTrust(o)
	if err != nil {
		s.live.Close()
		return nil, trust.Decision{}, &ExitError{codeSettings, err}
	}
	s.view, s.without = viewOf(decision), map[string]bool{}
	s.live.SetView(s.view)
	s.report(o, decision)
	if lost := s.live.State().LostRules(); len(lost) > 0 && !o.Interactive && !o.IgnoreBadRules {
		s.live.Close()
		return nil, decision, lostError(lost[0].String())
	}
	return s, decision, nil
}

// report tells what is wrong in the settings and what the folder does not get, where no event can
// carry it yet.
func (s *settings) report(o Options, d trust.Decision) {
	if o.Warn == nil {
		return
	}
	for _, p := range s.live.State().Errors {
		if p.Level != config.LevelNotice {
			fmt.Fprintf(o.Warn, "myelin: %s\n", p)
		}
	}
	if line := inspect.InertLine(s.live.State(), sections(), s.base, usedVariables()); line != "" {
		fmt.Fprintf(o.Warn, "myelin: %s\n", line)
	}
	if line := trust.Line(s.trust, d); line != "" && !o.Interactive {
		fmt.Fprintf(o.Warn, "myelin: %s\n", line)
	}
}

// env is the environment with what the settings put over it.
func (s *settings) env() config.Environ {
	vars, _ := s.now().Env()
	return s.base.With(vars, false)
}

// variable is one of env, at this moment.
func (s *settings) variable(name string) string { return s.env().Value(name) }

// writer writes settings files.
func (s *settings) writer(git gitrepo.Git) config.Writer {
	return config.Writer{Places: s.places, Sections: sections(), Git: git}
}

// git is the program as it may be run in the folder: not one that the folder supplies.
func (s *settings) git() gitrepo.Git {
	return gitrepo.Git{Finder: proc.Finder{Writable: func() []string { return []string{s.places.Start} }}}
}

// set writes one setting.
func (s *settings) set(ctx context.Context, scope origin.Scope, key string, value json.RawMessage) (saved config.Saved, err error) {
	w := s.writer(s.git())
	err = s.live.Edit(ctx, func() (err error) {
		saved, err = w.Set(ctx, scope, key, value)
		return err
	})
	return saved, err
}

// warned is the setting that remembers that the warning of bypassPermissions was accepted.
const warned = "skipDangerousModePermissionPrompt"

// warnBypass has a person accept, once, that nothing will be asked. Declining ends the session.
func (c *consent) warnBypass(ctx context.Context) {
	if !c.opts.Interactive || permission.Mode(c.mode()) != permission.Bypass || setting(c.settings.now(), warned, false) {
		return
	}
	answer, err := c.asks.Put(ctx, proto.Ask{
		ID: c.clock.newID(), Kind: proto.AskDialog, Title: "Work without asking?", NeedsPerson: true,
		Text: "In the mode bypassPermissions commands run and files are changed without a question. Only deny and ask rules, " +
			"critical removals and the sandbox, where it is on, still stop anything. Use it where nothing can be lost: " +
			"in a container or a virtual machine without secrets.",
		Options: []proto.Option{{ID: "accept", Label: "Yes, I accept the risk"}, {ID: "exit", Label: "No, exit", Behavior: "deny"}},
	})
	if err != nil || answer.Option != "accept" {
		c.end()
		return
	}
	if _, err := c.settings.set(ctx, origin.User, warned, json.RawMessage("true")); err != nil {
		c.events.Emit(proto.Notice{Level: "warning", Text: "The answer holds for this session only: " + err.Error()})
	}
}

// setting is the effective value of a key, or otherwise.
func setting[T any](s *config.State, key string, otherwise T) T {
	if v, _, ok := config.Value[T](s, key); ok {
		return v
	}
	return otherwise
}

// flagged reads a boolean variable; what is no boolean counts as not set.
func flagged(env config.Environ, name string) bool {
	v, set, err := env.Bool(name)
	return v && set && err == nil
}

// numbered reads a whole number from the environment.
func numbered(env config.Environ, name string, otherwise int) int {
	var n int
	if _, err := fmt.Sscanf(strings.TrimSpace(env.Value(name)), "%d", &n); err != nil || n < 0 {
		return otherwise
	}
	return n
}
