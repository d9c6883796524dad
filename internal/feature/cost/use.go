package cost

import (
	"maps"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

// Use is what was used between two states of one session: in a turn, a day, a project.
type Use struct {
	Total   Usage            `json:"total"`
	Retries Usage            `json:"retries,omitzero"`
	ByModel map[string]Usage `json:"byModel,omitempty"`
	ByAgent map[string]Usage `json:"byAgent,omitempty"`
	ByTool  map[string]Usage `json:"byTool,omitempty"`
	ByLane  map[string]Usage `json:"byLane,omitempty"`
	Turns   int              `json:"turns,omitempty"`
	Lines   Lines            `json:"lines,omitzero"`
	Wall    time.Duration    `json:"wall,omitempty"` // nanoseconds, as the other durations
	API     time.Duration    `json:"api,omitempty"`
	Tools   time.Duration    `json:"tools,omitempty"`
}

// Between is what was used from one state of a session to a later one.
func Between(old, now *State) Use {
	return Use{
		Total: now.Total.minus(old.Total), Retries: now.Retries.minus(old.Retries),
		ByModel: grown(old.ByModel, now.ByModel), ByAgent: grown(old.ByAgent, now.ByAgent),
		ByTool: grown(old.ByTool, now.ByTool), ByLane: grown(old.ByLane, now.ByLane),
		Turns: now.Turns - old.Turns,
		Lines: Lines{now.Lines.Added - old.Lines.Added, now.Lines.Removed - old.Lines.Removed},
		Wall:  now.Durations.Wall - old.Durations.Wall, API: now.Durations.API - old.Durations.API, Tools: now.Durations.Tools - old.Durations.Tools,
	}
}

// grown are the entries that differ, each less what it was.
func grown(old, now pmap.Map[string, Usage]) map[string]Usage {
	var out map[string]Usage
	for key, u := range now.All() {
		was, _ := old.Get(key)
		if u == was {
			continue
		}
		if out == nil {
			out = map[string]Usage{}
		}
		out[key] = u.minus(was)
	}
	return out
}

func (u Usage) minus(v Usage) Usage {
	return Usage{
		Input: u.Input - v.Input, Output: u.Output - v.Output, CacheRead: u.CacheRead - v.CacheRead,
		CacheWrite: u.CacheWrite - v.CacheWrite, CacheWrite1h: u.CacheWrite1h - v.CacheWrite1h,
		WebSearches: u.WebSearches - v.WebSearches, Requests: u.Requests - v.Requests, USD: u.USD - v.USD,
	}
}

// Plus is the sum of both.
func (a Use) Plus(b Use) Use {
	return Use{
		Total: a.Total.Add(b.Total), Retries: a.Retries.Add(b.Retries),
		ByModel: joined(a.ByModel, b.ByModel), ByAgent: joined(a.ByAgent, b.ByAgent),
		ByTool: joined(a.ByTool, b.ByTool), ByLane: joined(a.ByLane, b.ByLane),
		Turns: a.Turns + b.Turns, Lines: Lines{a.Lines.Added + b.Lines.Added, a.Lines.Removed + b.Lines.Removed},
		Wall: a.Wall + b.Wall, API: a.API + b.API, Tools: a.Tools + b.Tools,
	}
}

func joined(a, b map[string]Usage) map[string]Usage {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]Usage{}
	}
	for key, u := range b {
		out[key] = out[key].Add(u)
	}
	return out
}

// Empty reports whether nothing was used and nothing done.
func (a Use) Empty() bool {
	return a.Total == Usage{} && a.Turns == 0 && a.Lines == Lines{} && a.Tools == 0
}

// Spent is what one stretch of a session used, as its transcript keeps it. A copy of a transcript
// repeats it under the same id, so that it can be counted once.
type Spent struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Session string    `json:"session"`
	Project string    `json:"project"` // the folder
	Use     Use       `json:"use"`
}
