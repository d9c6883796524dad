// Package spending is where what a session uses is booked, bounded and written down: each request is
// admitted before it is made and booked when it is over, and what was used since the last time goes
// into the transcript. What is counted and how is in feature/cost; which limits an organisation sets,
// in feature/policy. Begin with [Ledger].
package spending

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/policy"
)

// Config is what a ledger is handed.
type Config struct {
	State    cost.Slice
	Day      cost.Day              // of all sessions
	Own      float64               // US dollars the person allows the session; 0: no bound
	Limits   func() policy.Limits  // of an organisation, as they are now
	Settings func() *config.State  // as they are now
	Tell     func(proto.EventBody) // warnings
	Now      func() time.Time
	Note     func(cost.Use) error // writes into the transcript what was used
}

// Ledger books and bounds what one session uses. All methods but Begin and Account are safe for
// concurrent use; those are for the goroutine that writes the transcript.
type Ledger struct {
	cfg       Config
	meter     cost.Meter
	dayLost   atomic.Bool // something that was spent could not be added to the day
	accounted *cost.State // when the use was last written down
}

// New returns the ledger of a session.
func New(cfg Config) *Ledger { return &Ledger{cfg: cfg, accounted: cfg.State.Get()} }

// Book adds a request to all sums, and to those of the day where they are bounded.
func (l *Ledger) Book(e cost.Entry) {
	cost.Book(l.cfg.State, e)
	if l.cfg.Limits().Budget.Day == nil {
		return
	}
	if err := l.cfg.Day.Add(cost.UsageOf(e.Model.Price, e.Usage).USD); err != nil {
		l.dayLost.Store(true) // what cannot be written down is not counted, and so nothing more is spent
		l.cfg.Tell(proto.Notice{Level: "error", Key: "day", Text: err.Error()})
	}
}

// Purse is what one conversation spends from the ledger of its session, within its own bounds too.
type Purse struct {
	ledger *Ledger
	agent  string
	meter  *cost.Meter
}

// Purse is that of an agent; empty: of the main conversation.
func (l *Ledger) Purse(agent string) *Purse {
	if agent == "" {
		return &Purse{l, agent, &l.meter}
	}
	return &Purse{l, agent, &cost.Meter{}}
}

// Spent books a request of the conversation, and what its service's cache did not keep.
func (p *Purse) Spent(x engine.Spending) {
	l := p.ledger
	l.Book(cost.Entry{Model: x.Model, Lane: x.Lane, Agent: p.agent, Usage: x.Usage, Took: x.Took, Failed: x.Failed})
	if miss := p.meter.Answered(x.Usage); miss != nil {
		cost.BookMiss(l.cfg.State, *miss)
	}
}

// Admit is asked before each request of the conversation: one that would pass a budget ends the turn.
func (p *Purse) Admit(model provider.Info, r provider.Request) *tool.End {
	if err := p.admit(model, r); err != nil {
		return &tool.End{Reason: err.Error(), Outcome: string(proto.EndBudget)}
	}
	p.meter.Sending(model, r, p.ledger.cfg.Now())
	return nil
}

func (p *Purse) admit(model provider.Info, r provider.Request) error {
	l := p.ledger
	over := l.over(p.agent, p.meter.Expect(l.cfg.State.Get(), p.agent, model, r, l.cfg.Now()))
	if over == nil {
		return nil
	}
	return fmt.Errorf("%s%s", over, l.origin(over))
}

// AdmitAside is asked before each request beside the conversation; the error says which budget it
// would pass.
func (l *Ledger) AdmitAside(model provider.Info, r provider.Request) error {
	return l.Purse("").admit(model, r)
}

// After ends a turn after an answer when a budget is used up, or when calls wait and the request with
// their results would pass one.
func (p *Purse) After(model provider.Info, calls bool) *tool.End {
	l, next := p.ledger, cost.Usage{}
	if calls {
		next = p.meter.ExpectNext(l.cfg.State.Get(), p.agent, model, l.cfg.Now())
	}
	over := l.over(p.agent, next)
	if over == nil || !calls && over.Next > 0 {
		return nil
	}
	return &tool.End{Reason: over.Error() + l.origin(over), Outcome: string(proto.EndBudget)}
}

// UsedUp says which budget is used up; empty: none is.
func (p *Purse) UsedUp() string {
	l := p.ledger
	if over := l.over(p.agent, cost.Usage{}); over != nil {
		return over.Error() + l.origin(over)
	}
	return ""
}

// origin says who set a budget, where an organisation did.
func (l *Ledger) origin(over *cost.Exceeded) string {
	limits := l.cfg.Limits()
	for _, limit := range []*float64{limits.Budget.Turn, limits.Budget.Session, limits.Budget.Day} {
		if limit != nil && *limit == over.Limit && over.Unit == cost.USD {
			return " (maxBudgetUsd in the policy of " + limits.Host + ")"
		}
	}
	return ""
}

func (l *Ledger) over(agent string, next cost.Usage) *cost.Exceeded {
	if over := cost.Over(l.cfg.State.Get(), agent, next, l.cfg.Now()); over != nil {
		return over
	}
	limit := l.cfg.Limits().Budget.Day
	if limit == nil {
		return nil
	}
	used, err := l.cfg.Day.Total()
	if err != nil { // what cannot be counted is not spent
		l.cfg.Tell(proto.Notice{Level: "error", Text: err.Error()})
		used = *limit
	}
	if l.dayLost.Load() {
		used = max(used, *limit)
	}
	return cost.OverDay(used, next, *limit)
}

// budgetKey is a bound that settings may set.
type budgetKey struct {
	name  string
	scope cost.Scope
	unit  cost.Unit
	each  float64 // of the unit
}

func budgetKeys() []budgetKey {
	return []budgetKey{
		{"budget.session.usd", cost.Session, cost.USD, 1},
		{"budget.session.tokens", cost.Session, cost.Tokens, 1},
		{"budget.session.requests", cost.Session, cost.Requests, 1},
		{"budget.session.turns", cost.Session, cost.Turns, 1},
		{"budget.session.minutes", cost.Session, cost.Time, 60},
		{"budget.turn.usd", cost.Turn, cost.USD, 1},
		{"budget.turn.tokens", cost.Turn, cost.Tokens, 1},
		{"budget.turn.requests", cost.Turn, cost.Requests, 1},
		{"budget.turn.minutes", cost.Turn, cost.Time, 60},
		{"budget.agent.usd", cost.AnyAgent, cost.USD, 1},
		{"budget.agent.tokens", cost.AnyAgent, cost.Tokens, 1},
		{"budget.agent.requests", cost.AnyAgent, cost.Requests, 1},
	}
}

// Apply sets the budgets: of the person, of every level of the settings, of an organisation; the
// smallest counts.
func (l *Ledger) Apply() {
	own := policy.Budget{}
	if l.cfg.Own > 0 {
		own.Session = &l.cfg.Own
	}
	b := l.cfg.Limits().Budgets(own)
	for _, k := range budgetKeys() {
		limit := -1.0
		lower := func(to float64) {
			if limit < 0 || to < limit {
				limit = max(to, 0)
			}
		}
		for _, block := range l.cfg.Settings().Blocks(k.name) {
			var n float64
			if json.Unmarshal(block.JSON, &n) == nil { // it was checked when the file was read
				lower(n * k.each)
			}
		}
		if k.unit == cost.USD && k.scope == cost.Session && b.Session != nil {
			lower(*b.Session)
		}
		if k.unit == cost.USD && k.scope == cost.Turn && b.Turn != nil {
			lower(*b.Turn)
		}
		cost.SetBudget(l.cfg.State, k.scope, k.unit, limit)
	}
}

// Begin notes that what is booked now belongs to a conversation that was taken over and need not be
// written down again.
func (l *Ledger) Begin() { l.accounted = l.cfg.State.Get() }

// Account writes down what was used since it, or Begin, was called last.
func (l *Ledger) Account() {
	now := l.cfg.State.Get()
	use := cost.Between(l.accounted, now)
	if l.accounted = now; use.Empty() {
		return
	}
	if err := l.cfg.Note(use); err != nil {
		l.cfg.Tell(proto.Notice{Level: "warning", Key: "note", Text: err.Error()})
	}
}

// Report writes, in columns separated by tabs, what the session used, by what it was used for, and
// which budgets bind it.
func (l *Ledger) Report(w io.Writer) {
	c := l.cfg.State.Get()
	row := func(name string, u cost.Usage) {
		fmt.Fprintf(w, "%s\t%s\t%d requests, %d in, %d out, %d cache read, %d cache write\n",
			name, u.USD, u.Requests, u.Input, u.Output, u.CacheRead, u.CacheWrite)
	}
	rows := func(what string, of map[string]cost.Usage, except string) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if key != except {
				row(what+key, of[key])
			}
		}
	}
	all := cost.Between(&cost.State{}, c)
	row("total", c.Total)
	row("last turn", c.Turn)
	rows("", all.ByModel, "")
	rows("for ", all.ByLane, string(provider.LaneMain))
	rows("for tool ", all.ByTool, "")
	rows("by agent ", all.ByAgent, "")
	if c.Retries.Requests > 0 {
		row("of that for failed requests", c.Retries)
	}
	fmt.Fprintf(w, "time\t%s\twith the model; %s in tools, %s in all\n", c.Durations.API.Round(time.Millisecond), c.Durations.Tools.Round(time.Millisecond), c.Durations.Wall.Round(time.Millisecond))
	fmt.Fprintf(w, "lines\t+%d −%d\t\n", c.Lines.Added, c.Lines.Removed)
	for _, b := range c.Budgets {
		fmt.Fprintf(w, "budget (%s)\t%s\t%s used\n", b.Scope, b.Show(b.Limit), b.Show(b.Used))
	}
	for _, m := range c.Misses {
		fmt.Fprintf(w, "cache missed\t%s\t%s: %d tokens read anew: %s\n", m.Cost, m.At.Format(time.TimeOnly), m.Lost, m.Why)
	}
}
