package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/feature/session"
)

// buildPolicy opens the limits of an organisation, where the settings name some.
func (s *Session) buildPolicy(ctx context.Context, state *config.State) error {
	if err := s.checkVersion(state); err != nil {
		return err
	}
	set := setting(state, "policyLimits", policy.Setting{})
	if set == (policy.Setting{}) {
		return nil
	}
	client, err := s.openPolicy(set)
	if err != nil {
		return &ExitError{codeSettings, fmt.Errorf("policyLimits: %w", err)}
	}
	if !s.opts.Interactive {
		if err := client.Gate(ctx); err != nil {
			return &ExitError{codeSettings, err}
		}
	}
	s.enterPolicy(client.State())
	if ok, why := s.rooms.limits().AllowsVersion(s.opts.Version); !ok {
		return &ExitError{codeSettings, errors.New(why)}
	}
	return nil
}

// openPolicy begins to follow the limits of an organisation.
func (s *Session) openPolicy(set policy.Setting) (*policy.Client, error) {
	client, err := policy.Open(policy.Options{
		Setting: set, HTTP: s.rooms.web, Dir: filepath.Join(s.rooms.settings.places.Home, "cache"), Now: s.effects.Now,
		Changed: s.enterPolicy,
		Report:  func(text string) { s.events.Early(proto.Notice{Level: "warning", Text: text}) },
	})
	if err != nil {
		return nil, err
	}
	s.rooms.policy.Store(client)
	go client.Run(s.ctx) // ends with the session
	return client, nil
}

func (s *Session) enterPolicy(now *policy.State) {
	s.part.process.Set(func(p *Process) *Process {
		next := *p
		next.Policy = now
		return &next
	})
}

// checkVersion refuses the start of a program that the administrator's bounds exclude. A bound that is
// no version must not lock everybody out: it is told and not heeded.
func (s *Session) checkVersion(state *config.State) error {
	for key, excluded := range map[string]int{"requiredMinimumVersion": -1, "requiredMaximumVersion": 1} {
		bound, at, set := config.Value[string](state, key)
		if !set {
			continue
		}
		if _, ok := policy.CompareVersions(bound, bound); !ok {
			s.events.Early(proto.Notice{Level: "warning", Text: fmt.Sprintf("%s: %s: %q is no version and is not heeded", at.Place(), key, bound)})
			continue
		}
		if order, ok := policy.CompareVersions(s.opts.Version, bound); ok && order == excluded {
			return &ExitError{codeSettings, fmt.Errorf("version %s may not be used here: %s is %s in %s", s.opts.Version, key, bound, at.Place())}
		}
	}
	return nil
}

// followPolicy takes over the address of limits that was changed, or set for the first time. Limits whose
// address is taken out of the settings stay in force for this session.
func (s *Session) followPolicy(state *config.State) {
	set := setting(state, "policyLimits", policy.Setting{})
	if set == (policy.Setting{}) {
		return
	}
	err := error(nil)
	if client := s.rooms.policy.Load(); client != nil {
		err = client.SetSetting(set)
	} else if client, err = s.openPolicy(set); err == nil {
		s.enterPolicy(client.State())
	}
	if err != nil {
		s.events.Emit(proto.Notice{Level: "warning", Text: "policyLimits: " + err.Error()})
	}
}

// applyLimits brings model and budgets in line with the limits.
func (s *Session) applyLimits() {
	now := s.part.session.Get()
	if why := s.rooms.forbiddenModel(now.Model); why != "" {
		allowed := slices.DeleteFunc(append(slices.Clone(now.FallbackModels), s.rooms.first.Info().Ref()), func(ref string) bool {
			return s.rooms.forbiddenModel(ref) != ""
		})
		if len(allowed) > 0 {
			session.SetModel(s.part.session, allowed[0], now.FallbackModels)
			why += "; " + allowed[0] + " takes over"
		}
		s.events.Early(proto.Notice{Level: "warning", Text: why})
	}
	own := policy.Budget{}
	if s.opts.MaxBudgetUSD > 0 {
		own.Session = &s.opts.MaxBudgetUSD
	}
	b := s.rooms.limits().Budgets(own)
	for scope, limit := range map[cost.Scope]*float64{cost.Session: b.Session, cost.Turn: b.Turn} {
		usd := -1.0
		if limit != nil {
			usd = *limit
		}
		cost.SetBudget(s.part.cost, scope, cost.USD, usd)
	}
}

// day is where the money of all sessions of today is written down, for a bound of the day.
func (s *Session) day() cost.Day {
	return cost.Day{Dir: filepath.Join(s.rooms.settings.places.Home, "spent"), Now: s.effects.Now}
}

// mayAsk says whether a model may be asked at all: the limits can be had, they let the model
// through, and no budget is used up. The reason is empty when it may.
func (s *Session) mayAsk(ctx context.Context) *proto.Ended {
	if client := s.rooms.policy.Load(); client != nil {
		if err := client.Gate(ctx); err != nil {
			return &proto.Ended{Reason: "error", Detail: err.Error()}
		}
	}
	if why := s.rooms.forbiddenModel(s.model().Info().Ref()); why != "" {
		return &proto.Ended{Reason: "error", Detail: why}
	}
	if over := s.overBudget(cost.Usage{}); over != nil {
		return &proto.Ended{Reason: proto.EndBudget, Detail: s.budgetText(over)}
	}
	return nil
}

// budgetText says which budget is used up, and who set it where an organisation did.
func (s *Session) budgetText(over *cost.Exceeded) string {
	l := s.rooms.limits()
	for _, limit := range []*float64{l.Budget.Turn, l.Budget.Session, l.Budget.Day} {
		if limit != nil && *limit == over.Limit && over.Unit == cost.USD {
			return over.Error() + " (maxBudgetUsd in the policy of " + l.Host + ")"
		}
	}
	return over.Error()
}

// overBudget returns the budget in the way of a request that is expected to use next, nil for none.
func (s *Session) overBudget(next cost.Usage) *cost.Exceeded {
	if over := cost.Over(s.part.cost.Get(), "", next, s.effects.Now()); over != nil {
		return over
	}
	limit := s.rooms.limits().Budget.Day
	if limit == nil {
		return nil
	}
	used, err := s.day().Total()
	if err != nil { // what cannot be counted is not spent
		s.events.Emit(proto.Notice{Level: "error", Text: err.Error()})
		used = *limit
	}
	if s.dayLost.Load() {
		used = max(used, *limit)
	}
	return cost.OverDay(used, next, *limit)
}

// limits are those an organisation serves; zero when none does.
func (r *rooms) limits() policy.Limits {
	return r.session.store.Get().Process.Policy.Limits
}

// forbiddenModel says why a model may not be used, empty when it may.
func (r *rooms) forbiddenModel(ref string) string {
	_, id, _ := strings.Cut(ref, "/")
	available, _, _ := config.Value[[]string](r.session.config(), "availableModels")
	if ok, why := r.limits().AllowsModel(available, ref, id); !ok {
		return why
	}
	return ""
}

func (r *rooms) policyDeny() []string {
	var out []string
	for _, rule := range r.limits().DenyRules() {
		out = append(out, rule.Text)
	}
	return out
}

// forbiddenModes are the permission modes that settings and limits forbid, each with the sentence that says
// who does.
func (s *Session) forbiddenModes(state *config.State) map[permission.Mode]string {
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
	limits := s.rooms.limits()
	for _, name := range limits.DisableModes {
		m, known := permission.ParseMode(name)
		if ok, why := limits.AllowsMode(name); known && !ok && m != permission.Default {
			out[m] = why
		}
	}
	return out
}
