// Package cost owns what a session used: tokens, requests, money, time and lines, by model, agent,
// tool and lane, and the budgets that bound it. Each request is booked once, with the usage its
// answer ended with; sums are exact, so they equal the service's ledger.
//
// It measures nothing and stops nothing: who asks a model calls [Book], who may stop asks [Over].
// Subagents book into the slice of the root session. Begin with [State] and [Book].
package cost

import (
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// State is the slice "cost". The zero State is nothing used and no budget.
type State struct {
	ByModel     pmap.Map[string, Usage] `json:"byModel,omitzero"` // by provider/id
	ByAgent     pmap.Map[string, Usage] `json:"byAgent,omitzero"` // by agent id; "" is the main conversation
	ByTool      pmap.Map[string, Usage] `json:"byTool,omitzero"`  // requests made for a tool
	ByLane      pmap.Map[string, Usage] `json:"byLane,omitzero"`
	Retries     Usage                   `json:"retries"` // the part of Total that was billed for requests that failed
	Turn        Usage                   `json:"turn"`    // since BeginTurn, subagents included
	Total       Usage                   `json:"total"`
	Lines       Lines                   `json:"lines"`
	Durations   Durations               `json:"durations"`
	Turns       int                     `json:"turns,omitempty"`
	TurnStarted time.Time               `json:"turnStarted,omitzero"` // zero between turns
	Misses      []Miss                  `json:"misses,omitempty"`     // of the prompt cache, the newest last
	Budgets     []Budget                `json:"budgets,omitempty"`
}

// Usage is what some requests used. The zero Usage is nothing.
type Usage struct {
	Input        int   `json:"input"`
	Output       int   `json:"output"`
	CacheRead    int   `json:"cacheRead"`
	CacheWrite   int   `json:"cacheWrite"`
	CacheWrite1h int   `json:"cacheWrite1h,omitempty"` // the part of CacheWrite kept for an hour
	WebSearches  int   `json:"webSearches,omitempty"`
	Requests     int   `json:"requests"`
	USD          Money `json:"usd"`
}

// Lines counts changed lines of files.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Durations are times spent, in nanoseconds when written as JSON.
type Durations struct {
	Wall  time.Duration `json:"wall"`  // turns, from prompt to result
	API   time.Duration `json:"api"`   // requests, those side by side added up
	Tools time.Duration `json:"tools"` // calls, likewise
}

// Slice is this package's part of the state of a session.
type Slice = store.Slice[State]

// Entry is one request to a model, booked when it is over.
type Entry struct {
	Model  provider.Info
	Lane   provider.Lane // empty: main
	Agent  string        // id; empty: the main conversation
	Tool   string        // tool on whose behalf it was made, if any
	Usage  msg.Usage     // the final, cumulative count of this request alone
	Took   time.Duration
	Failed bool // it failed and was billed nevertheless: shown as retries
}

// Book adds one request to all sums.
func Book(s Slice, e Entry) {
	if e.Lane == "" {
		e.Lane = provider.LaneMain
	}
	u := UsageOf(e.Model.Price, e.Usage)
	s.Set(func(prev *State) *State {
		next := *prev
		next.ByModel = plus(prev.ByModel, e.Model.Ref(), u)
		next.ByAgent = plus(prev.ByAgent, e.Agent, u)
		next.ByLane = plus(prev.ByLane, string(e.Lane), u)
		if e.Tool != "" {
			next.ByTool = plus(prev.ByTool, e.Tool, u)
		}
		if e.Failed {
			next.Retries = prev.Retries.Add(u)
		}
		next.Turn, next.Total = prev.Turn.Add(u), prev.Total.Add(u)
		next.Durations.API += e.Took
		next.Budgets = next.used()
		return &next
	})
}

func plus(m pmap.Map[string, Usage], key string, u Usage) pmap.Map[string, Usage] {
	old, _ := m.Get(key)
	return m.Set(key, old.Add(u))
}

// UsageOf is the usage and price of one request.
func UsageOf(p provider.Price, u msg.Usage) Usage {
	return Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.CacheWrite1h,
		WebSearches: u.WebSearches, Requests: 1, USD: Price(p, u),
	}
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		WebSearches: u.WebSearches + v.WebSearches, Requests: u.Requests + v.Requests, USD: u.USD + v.USD,
	}
}

// Tokens is the sum of all tokens, cached ones included.
func (u Usage) Tokens() int { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// BeginTurn opens a turn: its sums start at nothing.
func BeginTurn(s Slice, now time.Time) {
	s.Set(func(prev *State) *State {
		next := *prev
		next.Turn, next.TurnStarted, next.Turns = Usage{}, now, prev.Turns+1
		next.Budgets = next.used()
		return &next
	})
}

// EndTurn closes a turn and adds its time.
func EndTurn(s Slice, now time.Time) {
	s.Set(func(prev *State) *State {
		if prev.TurnStarted.IsZero() {
			return prev
		}
		next := *prev
		next.Durations.Wall += now.Sub(prev.TurnStarted)
		next.TurnStarted = time.Time{}
		next.Budgets = next.used()
		return &next
	})
}

// BookCall adds the time of one tool call and the lines it changed.
func BookCall(s Slice, took time.Duration, lines Lines) {
	s.Set(func(prev *State) *State {
		if took == 0 && lines == (Lines{}) {
			return prev
		}
		next := *prev
		next.Durations.Tools += took
		next.Lines.Added += lines.Added
		next.Lines.Removed += lines.Removed
		return &next
	})
}

// Models returns what each model used, in the shape of results. info may be nil; it gives the
// sizes of a model.
func Models(s *State, info func(ref string) (provider.Info, bool)) map[string]proto.ModelUsage {
	out := make(map[string]proto.ModelUsage, s.ByModel.Len())
	for ref, u := range s.ByModel.All() {
		m := proto.ModelUsage{Requests: u.Requests, CostUSD: u.USD.Float(), Usage: msg.Usage{
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			CacheWrite1h: u.CacheWrite1h, WebSearches: u.WebSearches,
		}}
		if info != nil {
			if i, ok := info(ref); ok {
				m.ContextWindow, m.MaxOutput = i.ContextWindow, i.MaxOutput
			}
		}
		out[ref] = m
	}
	return out
}
