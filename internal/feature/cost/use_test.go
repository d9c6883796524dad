package cost_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/feature/cost"
)

// TestTheDifferenceOfTwoSnapshots: what was used between snapshots adds up to the last of them,
// wherever they are taken.
func TestTheDifferenceOfTwoSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open()
		zero, last := s.Get(), s.Get()
		sum := cost.Use{}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				cost.BeginTurn(s, time.Unix(0, 0))
			case 1:
				cost.BookCall(s, time.Second, cost.Lines{Added: 1, Removed: 2})
			case 2:
				sum, last = sum.Plus(cost.Between(last, s.Get())), s.Get()
			default:
				cost.Book(s, cost.Entry{
					Model: sonnet, Agent: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "agent"), Failed: rapid.Bool().Draw(t, "failed"),
					Lane:  rapid.SampledFrom([]provider.Lane{"", provider.LaneCompact, provider.LaneHook}).Draw(t, "lane"),
					Tool:  rapid.SampledFrom([]string{"", "WebFetch"}).Draw(t, "tool"),
					Usage: msg.Usage{Input: rapid.IntRange(0, 9).Draw(t, "in"), Output: 1, CacheRead: 3, CacheWrite: 2}, Took: time.Second,
				})
			}
		}
		sum = sum.Plus(cost.Between(last, s.Get()))
		if diff := cmp.Diff(cost.Between(zero, s.Get()), sum); diff != "" {
			t.Fatalf("the sum of the parts (-whole +parts):\n%s", diff)
		}
		if sum.Total != s.Get().Total || sum.ByLane["compact"] != value(s.Get(), "compact") {
			t.Fatalf("%+v is not %+v", sum, s.Get())
		}
	})
}

func value(s *cost.State, lane string) cost.Usage {
	u, _ := s.ByLane.Get(lane)
	return u
}

func request(system string, messages ...string) provider.Request {
	r := provider.Request{
		System: []msg.Block{msg.Text{Text: system}},
		Tools:  []provider.Tool{{Name: "Read", Description: "reads"}},
	}
	for i, text := range messages {
		role := msg.User
		if i%2 == 1 {
			role = msg.Assistant
		}
		r.Messages = append(r.Messages, msg.Message{Role: role, Content: []msg.Block{msg.Text{Text: text}}})
	}
	return r
}

// TestTheCauseOfACacheMiss: a request that reads less than the one before it had put into the cache
// names what changed first, in which bytes, and what it cost.
func TestTheCauseOfACacheMiss(t *testing.T) {
	before := request("the rules", "one", "two", "three")
	tool := request("the rules", "one", "two", "three", "four", "five")
	tool.Tools = []provider.Tool{{Name: "Read", Description: "writes"}}
	for name, c := range map[string]struct {
		next  provider.Request
		model provider.Info
		after time.Duration
		read  int
		why   string // empty: no miss
	}{
		"grown at the end":    {request("the rules", "one", "two", "three", "four", "five"), sonnet, time.Second, 100_000, ""},
		"a small loss":        {request("the rules", "one", "two", "three", "four", "five"), sonnet, time.Second, 96_000, ""},
		"the system prompt":   {request("the RULES", "one", "two", "three"), sonnet, time.Second, 0, "part 1 of the system prompt changed, from byte 4 to 9"},
		"a message":           {request("the rules", "one", "two!", "three"), sonnet, time.Second, 20_000, "part 1 of message 2 (assistant) changed, from byte 3 to 4"},
		"a tool":              {tool, sonnet, time.Second, 0, "the tool Read changed, from byte 5 to 10"},
		"messages taken away": {request("the rules", "one"), sonnet, time.Second, 0, "part 1 of message 2 (assistant) changed, from byte 0 to 0"},
		"another model":       {before, nano, time.Second, 0, "the model was changed from anthropic/sonnet"},
		"a long pause":        {before, sonnet, 6 * time.Minute, 0, "no request was made for 6m0s, and the service had dropped it"},
		"the service":         {before, sonnet, time.Second, 0, "nothing changed; the service did not keep it"},
	} {
		t.Run(name, func(t *testing.T) {
			var m cost.Meter
			at := time.Unix(1_000_000, 0)
			m.Sending(sonnet, before, at)
			if miss := m.Answered(msg.Usage{Input: 10, CacheWrite: 100_000}); miss != nil {
				t.Fatalf("the first request missed %+v", miss)
			}
			m.Sending(c.model, c.next, at.Add(c.after))
			miss := m.Answered(msg.Usage{Input: 10, CacheRead: c.read, CacheWrite: 100_000 - c.read})
			if c.why == "" {
				if miss != nil {
					t.Fatalf("%+v", miss)
				}
				return
			}
			if miss == nil || miss.Why != c.why || miss.Lost != 100_000-c.read {
				t.Fatalf("got %+v, want %q", miss, c.why)
			}
			if c.model.ID == "sonnet" && miss.Cost != cost.Dollars(float64(miss.Lost)*(3.75-0.3)/1e6) {
				t.Errorf("%v for %d tokens", miss.Cost, miss.Lost)
			}
		})
	}
}

// TestAFailedRequestIsNoBase: the comparison is with the last request that was answered.
func TestAFailedRequestIsNoBase(t *testing.T) {
	var m cost.Meter
	at := time.Unix(1_000_000, 0)
	m.Sending(sonnet, request("rules", "one"), at)
	m.Answered(msg.Usage{CacheWrite: 50_000})
	m.Sending(sonnet, request("other rules", "one"), at) // no answer
	m.Sending(sonnet, request("rules", "one"), at)
	if miss := m.Answered(msg.Usage{Input: 50_000}); miss == nil || !strings.Contains(miss.Why, "nothing changed") {
		t.Errorf("%+v", miss)
	}
}

// TestKF067_WhatARequestWillUse: the estimate goes by what the service counted before, and takes
// cached tokens at their price only while the cache is there.
func TestKF067_WhatARequestWillUse(t *testing.T) {
	s := open()
	var m cost.Meter
	at := time.Unix(1_000_000, 0)
	first := request(strings.Repeat("r", 988), "one")
	if got := m.Expect(s.Get(), "", sonnet, first, at); got != (cost.Usage{}) {
		t.Errorf("before the first answer: %+v", got)
	}
	m.Sending(sonnet, first, at)
	used := msg.Usage{CacheWrite: 1000, Output: 40}
	m.Answered(used)
	cost.Book(s, cost.Entry{Model: sonnet, Usage: used})
	next := request(strings.Repeat("r", 988), "one", "a", strings.Repeat("x", 1999))
	want := cost.UsageOf(sonnet.Price, msg.Usage{CacheRead: 1040, Input: 1960, Output: 40})
	if got := m.Expect(s.Get(), "", sonnet, next, at.Add(time.Minute)); got != want {
		t.Errorf("warm: %+v, want %+v", got, want)
	}
	cold := cost.UsageOf(sonnet.Price, msg.Usage{Input: 3000, Output: 40})
	if got := m.Expect(s.Get(), "", sonnet, next, at.Add(time.Hour)); got != cold {
		t.Errorf("cold: %+v, want %+v", got, cold)
	}
	side := next
	side.Lane = provider.LaneClassifier
	if got := m.Expect(s.Get(), "", sonnet, side, at.Add(time.Minute)); got != cold {
		t.Errorf("another lane: %+v, want %+v", got, cold)
	}
}

func TestKF067_EveryUnitAndScopeBinds(t *testing.T) {
	s := open()
	now := time.Unix(1_000_000, 0)
	over := func(agent string) string {
		if x := cost.Over(s.Get(), agent, cost.UsageOf(sonnet.Price, msg.Usage{Input: 100}), now); x != nil {
			return x.Error()
		}
		return ""
	}
	cost.SetBudget(s, cost.Session, cost.Turns, 2)
	for turn := 1; turn <= 3; turn++ {
		cost.BeginTurn(s, now)
		if got := over(""); (got != "") != (turn == 3) {
			t.Errorf("turn %d of 2: %q", turn, got)
		}
		cost.EndTurn(s, now)
	}
	cost.SetBudget(s, cost.Session, cost.Turns, -1)
	cost.SetBudget(s, cost.AnyAgent, cost.Requests, 1)
	cost.Book(s, cost.Entry{Model: sonnet, Agent: "a", Usage: msg.Usage{Input: 1}})
	if over("a") == "" || over("b") != "" || over("") != "" {
		t.Errorf("agents: a %q, b %q, main %q", over("a"), over("b"), over(""))
	}
	cost.SetBudget(s, cost.AnyAgent, cost.Requests, -1)
	cost.SetBudget(s, cost.Turn, cost.Tokens, 100)
	if got := over(""); !strings.Contains(got, "1 tokens are used and the next request would take about 100 tokens more") {
		t.Errorf("tokens: %q", got)
	}
	cost.SetBudget(s, cost.Turn, cost.Tokens, -1)
	cost.SetBudget(s, cost.Turn, cost.Time, 60)
	cost.BeginTurn(s, now.Add(-time.Hour))
	if got := over(""); !strings.Contains(got, "(1m0s): 1h0m0s are used") {
		t.Errorf("time: %q", got)
	}
}
