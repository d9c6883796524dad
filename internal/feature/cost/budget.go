package cost

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Budget bounds what a session, a turn or one agent may use.
type Budget struct {
	Scope Scope   `json:"scope"`
	Unit  Unit    `json:"unit"`
	Limit float64 `json:"limit"`
	Used  float64 `json:"used"` // as of the last booking; time also grows between bookings
}

// Scope says whose use a budget counts: "session", "turn", or "agent:ID".
type Scope string

// The scopes that have no id.
const (
	Session Scope = "session" // everything: subagents, compaction, titles
	Turn    Scope = "turn"
)

// AnyAgent is the scope of each agent for itself, beside the main conversation.
const AnyAgent Scope = "agent"

// scopeOf is the scope of one agent.
func scopeOf(id string) Scope { return Scope("agent:" + id) }

// Unit says what a budget counts.
type Unit string

// The units of a budget.
const (
	USD      Unit = "usd"
	Tokens   Unit = "tokens"
	Requests Unit = "requests"
	Turns    Unit = "turns" // of the session
	Time     Unit = "time"  // seconds of turns; not for agents
)

// SetBudget sets, raises or lowers a budget. A negative limit takes it away; zero
// allows nothing.
func SetBudget(s Slice, scope Scope, unit Unit, limit float64) {
	s.Set(func(prev *State) *State {
		at := slices.IndexFunc(prev.Budgets, func(b Budget) bool { return b.Scope == scope && b.Unit == unit })
		next := *prev
		switch {
		case at < 0 && limit < 0, at >= 0 && prev.Budgets[at].Limit == limit:
			return prev
		case at < 0:
			next.Budgets = append(slices.Clip(prev.Budgets), Budget{Scope: scope, Unit: unit, Limit: limit})
		case limit < 0:
			next.Budgets = slices.Delete(slices.Clone(prev.Budgets), at, at+1)
		default:
			next.Budgets = slices.Clone(prev.Budgets)
			next.Budgets[at].Limit = limit
		}
		next.Budgets = next.used()
		return &next
	})
}

// used returns the budgets with what is used of them.
func (s *State) used() []Budget {
	if len(s.Budgets) == 0 {
		return nil
	}
	out := slices.Clone(s.Budgets)
	for i, b := range out {
		switch b.Unit {
		case Time:
			if b.Scope == Session {
				out[i].Used = s.Durations.Wall.Seconds()
			}
		case Turns:
			out[i].Used = float64(s.Turns)
		default:
			out[i].Used = s.usage(b.Scope).in(b.Unit)
		}
	}
	return out
}

func (s *State) usage(scope Scope) Usage {
	switch scope {
	case Session:
		return s.Total
	case Turn:
		return s.Turn
	}
	id, _ := strings.CutPrefix(string(scope), "agent:")
	u, _ := s.ByAgent.Get(id)
	return u
}

func (u Usage) in(unit Unit) float64 {
	switch unit {
	case USD:
		return u.USD.Float()
	case Tokens:
		return float64(u.Tokens())
	case Requests:
		return float64(u.Requests)
	}
	return 0
}

// Exceeded is a budget that is used up, or that the next request would pass.
type Exceeded struct {
	Budget
	Next float64 // what the next request was expected to use; 0: the budget is used up already
}

// Show is an amount in the budget's unit, for people.
func (b Budget) Show(amount float64) string {
	switch b.Unit {
	case USD:
		return Dollars(amount).String()
	case Time:
		return time.Duration(amount * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%.0f %s", amount, b.Unit)
}

// Error says so to people.
func (e *Exceeded) Error() string {
	if e.Next > 0 {
		return fmt.Sprintf("Reached maximum budget (%s): %s are used and the next request would take about %s more", e.Show(e.Limit), e.Show(e.Used), e.Show(e.Next))
	}
	return fmt.Sprintf("Reached maximum budget (%s): %s are used", e.Show(e.Limit), e.Show(e.Used))
}

// Over returns the first budget that stands in the way of a request of agent ("" is the main
// conversation) that is expected to use next: one that is used up, or that next would pass. It
// returns nil when nothing does. The zero next asks only whether a budget is used up.
func Over(s *State, agent string, next Usage, now time.Time) *Exceeded {
	for _, b := range s.used() {
		switch {
		case b.Scope == AnyAgent && agent == "":
			continue
		case b.Scope == AnyAgent:
			b.Used = s.usage(scopeOf(agent)).in(b.Unit)
		case strings.HasPrefix(string(b.Scope), "agent:") && b.Scope != scopeOf(agent):
			continue
		}
		if b.Unit == Time && !s.TurnStarted.IsZero() {
			b.Used += now.Sub(s.TurnStarted).Seconds()
		}
		if over := b.over(next); over != nil {
			return over
		}
	}
	return nil
}

func (b Budget) over(next Usage) *Exceeded {
	want := next.in(b.Unit)
	switch {
	case b.Unit == Turns: // the one that runs is counted already
		if b.Used > b.Limit {
			b.Used = b.Limit
			return &Exceeded{Budget: b}
		}
	case b.Used >= b.Limit:
		return &Exceeded{Budget: b}
	case b.Used+want > b.Limit:
		return &Exceeded{Budget: b, Next: want}
	}
	return nil
}
