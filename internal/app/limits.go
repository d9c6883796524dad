package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/app/spending"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/feature/session"
)

// limits bounds what a session may use: models, modes and money, by the settings, the command line and an
// organisation.
type limits struct {
	opts     Options
	settings *settings
	process  store.Slice[Process]
	session  store.Slice[session.State]
	spending *spending.Ledger
	events   *events.Stream
	clock    *clock
	web      *http.Client
	first    func() string   // the model the session began with
	ctx      context.Context // ends with the session

	client atomic.Pointer[policy.Client] // nil: no organisation serves limits
}

// build opens the limits of an organisation, where the settings name some.
func (l *limits) build(ctx context.Context, state *config.State) error {
	if err := l.checkVersion(state); err != nil {
		return err
	}
	set := setting(state, "policyLimits", policy.Setting{})
	if set == (policy.Setting{}) {
		return nil
	}
	client, err := l.open(set)
	if err != nil {
		return &ExitError{codeSettings, fmt.Errorf("policyLimits: %w", err)}
	}
	if !l.opts.Interactive {
		if err := client.Gate(ctx); err != nil {
			return &ExitError{codeSettings, err}
		}
	}
	l.enter(client.State())
	if ok, why := l.inForce().AllowsVersion(l.opts.Version); !ok {
		return &ExitError{codeSettings, errors.New(why)}
	}
	return nil
}

// open begins to follow the limits of an organisation.
func (l *limits) open(set policy.Setting) (*policy.Client, error) {
	client, err := policy.Open(policy.Options{
		Setting: set, HTTP: l.web, Dir: filepath.Join(l.settings.places.Home, "cache"), Now: l.clock.now,
		Changed: l.enter,
		Report:  func(text string) { l.events.Early(proto.Notice{Level: "warning", Text: text}) },
	})
	if err != nil {
		return nil, err
	}
	l.client.Store(client)
	go client.Run(l.ctx) // ends with the session
	return client, nil
}

func (l *limits) enter(now *policy.State) {
	l.process.Set(func(p *Process) *Process {
		next := *p
		next.Policy = now
		return &next
	})
}

// checkVersion refuses the start of a program that the administrator's bounds exclude. A bound that is
// no version must not lock everybody out: it is told and not heeded.
func (l *limits) checkVersion(state *config.State) error {
	for key, excluded := range map[string]int{"requiredMinimumVersion": -1, "requiredMaximumVersion": 1} {
		bound, at, set := config.Value[string](state, key)
		if !set {
			continue
		}
		if _, ok := policy.CompareVersions(bound, bound); !ok {
			l.events.Early(proto.Notice{Level: "warning", Text: fmt.Sprintf("%s: %s: %q is no version and is not heeded", at.Place(), key, bound)})
			continue
		}
		if order, ok := policy.CompareVersions(l.opts.Version, bound); ok && order == excluded {
			return &ExitError{codeSettings, fmt.Errorf("version %s may not be used here: %s is %s in %s", l.opts.Version, key, bound, at.Place())}
		}
	}
	return nil
}

// follow takes over the address of limits that was changed, or set for the first time. Limits whose
// address is taken out of the settings stay in force for this session.
func (l *limits) follow(state *config.State) {
	set := setting(state, "policyLimits", policy.Setting{})
	if set == (policy.Setting{}) {
		return
	}
	err := error(nil)
	if client := l.client.Load(); client != nil {
		err = client.SetSetting(set)
	} else if client, err = l.open(set); err == nil {
		l.enter(client.State())
	}
	if err != nil {
		l.events.Emit(proto.Notice{Level: "warning", Text: "policyLimits: " + err.Error()})
	}
}

// apply brings model and budgets in line with the limits.
func (l *limits) apply() {
	now := l.session.Get()
	if why := l.forbiddenModel(now.Model); why != "" {
		allowed := slices.DeleteFunc(append(slices.Clone(now.FallbackModels), l.first()), func(ref string) bool {
			return l.forbiddenModel(ref) != ""
		})
		if len(allowed) > 0 {
			session.SetModel(l.session, allowed[0], now.FallbackModels)
			why += "; " + allowed[0] + " takes over"
		}
		l.events.Early(proto.Notice{Level: "warning", Text: why})
	}
	l.spending.Apply()
}

// mayAsk says whether the model may be asked at all: the limits can be had, they let the model
// through. Nil: it may.
func (l *limits) mayAsk(ctx context.Context, ref string) *proto.Ended {
	if client := l.client.Load(); client != nil {
		if err := client.Gate(ctx); err != nil {
			return &proto.Ended{Reason: "error", Detail: err.Error()}
		}
	}
	if why := l.forbiddenModel(ref); why != "" {
		return &proto.Ended{Reason: "error", Detail: why}
	}
	return nil
}

// inForce are the limits an organisation serves; zero when none does.
func (l *limits) inForce() policy.Limits {
	return l.process.Get().Policy.Limits
}

// forbiddenModel says why a model may not be used, empty when it may.
func (l *limits) forbiddenModel(ref string) string {
	_, id, _ := strings.Cut(ref, "/")
	available, _, _ := config.Value[[]string](l.settings.now(), "availableModels")
	if ok, why := l.inForce().AllowsModel(available, ref, id); !ok {
		return why
	}
	return ""
}

func (l *limits) denyRules() []string {
	var out []string
	for _, rule := range l.inForce().DenyRules() {
		out = append(out, rule.Text)
	}
	return out
}

// forbiddenModes are the permission modes that settings and limits forbid, each with the sentence that says
// who does.
func (l *limits) forbiddenModes(state *config.State) map[permission.Mode]string {
	out := map[permission.Mode]string{}
	for key, m := range map[string]permission.Mode{
		"permissions.disableBypassPermissionsMode": permission.Bypass,
		"permissions.disableAutoMode":              permission.Auto,
		"disableAutoMode":                          permission.Auto,
	} {
		if v, at, _ := config.Value[string](state, key); v == "disable" {
			out[m] = fmt.Sprintf("the mode %s is forbidden by %s in %s", m, key, at.Place())
		}
	}
	now := l.inForce()
	for _, name := range now.DisableModes {
		m, known := permission.ParseMode(name)
		if ok, why := now.AllowsMode(name); known && !ok && m != permission.Default {
			out[m] = why
		}
	}
	return out
}

// close ends following the limits.
func (l *limits) close() {
	if client := l.client.Load(); client != nil {
		client.Close()
	}
}
