package cost_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/cost"
)

type whole struct{ C *cost.State }

func open() cost.Slice {
	s := store.New(whole{&cost.State{}}, nil, nil)
	return store.Focus(s, func(w *whole) *cost.State { return w.C }, func(_ *whole, c *cost.State) *whole { return &whole{c} })
}

var (
	sonnet = provider.Info{Provider: "anthropic", ID: "sonnet", ContextWindow: 200_000, MaxOutput: 64_000, Price: provider.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, CacheWrite1h: 6}}
	nano   = provider.Info{Provider: "openai", ID: "nano", Price: provider.Price{Input: 0.05, Output: 0.4, CacheRead: 0.005}}
)

// TestKF066_CostCountedTwice books what a whole session asked for: an answer whose usage came in
// several cumulative frames, a retried request, a subagent, a compaction, cache reads. The sums are
// those of the service's ledger, in decimals, to the last digit.
func TestKF066_CostCountedTwice(t *testing.T) {
	entries := []cost.Entry{
		{Model: sonnet, Usage: msg.Usage{Input: 12, Output: 350, CacheRead: 41_000, CacheWrite: 900, CacheWrite1h: 100}, Took: time.Second}, // the last frame; it includes those before
		{Model: sonnet, Usage: msg.Usage{Input: 5, Output: 7}, Failed: true, Took: time.Second},
		{Model: sonnet, Usage: msg.Usage{Input: 5, Output: 77, CacheRead: 41_912}, Took: time.Second},
		{Model: nano, Agent: "a-1", Lane: "agent:explore", Usage: msg.Usage{Input: 1_003, Output: 19, CacheRead: 7}, Took: 2 * time.Second},
		{Model: sonnet, Lane: provider.LaneCompact, Usage: msg.Usage{Input: 41_000, Output: 2_000}},
		{Model: nano, Lane: provider.LaneFetch, Tool: "WebFetch", Usage: msg.Usage{Input: 333, Output: 1}},
	}
	s := open()
	ledger := newLedger()
	for _, e := range entries {
		cost.Book(s, e)
		ledger.book(e)
	}
	ledger.compare(t, s.Get())
	got := s.Get()
	if got.Retries.Requests != 1 || got.Retries.Output != 7 || got.Total.Requests != len(entries) {
		t.Errorf("retries %+v, total %+v", got.Retries, got.Total)
	}
	if lane, _ := got.ByLane.Get("compact"); lane.Input != 41_000 || lane.Requests != 1 {
		t.Errorf("compact: %+v", lane)
	}
	if tool, _ := got.ByTool.Get("WebFetch"); tool.Input != 333 || got.ByTool.Len() != 1 {
		t.Errorf("WebFetch: %+v", tool)
	}
	if got.Durations.API != 5*time.Second {
		t.Errorf("api %v", got.Durations.API)
	}
}

// ledger sums up in exact fractions, as a service would.
type ledger struct {
	model, agent, lane, tool map[string]*line
	total                    *line
}

type line struct {
	usd    *big.Rat
	tokens int
	n      int
}

func newLedger() *ledger {
	return &ledger{map[string]*line{}, map[string]*line{}, map[string]*line{}, map[string]*line{}, &line{usd: new(big.Rat)}}
}

func (l *ledger) book(e cost.Entry) {
	usd := new(big.Rat)
	add := func(n int, price float64) {
		p, ok := new(big.Rat).SetString(fmt.Sprint(price))
		if !ok {
			panic(price)
		}
		usd.Add(usd, p.Mul(p, big.NewRat(int64(n), 1_000_000)))
	}
	u, p := e.Usage, e.Model.Price
	long := p.CacheWrite1h
	if long == 0 {
		long = p.CacheWrite
	}
	add(u.Input, p.Input)
	add(u.Output, p.Output)
	add(u.CacheRead, p.CacheRead)
	add(u.CacheWrite-u.CacheWrite1h, p.CacheWrite)
	add(u.CacheWrite1h, long)
	lane := string(e.Lane)
	if lane == "" {
		lane = "main"
	}
	at := func(m map[string]*line, key string) *line {
		if m[key] == nil {
			m[key] = &line{usd: new(big.Rat)}
		}
		return m[key]
	}
	lines := []*line{at(l.model, e.Model.Ref()), at(l.agent, e.Agent), at(l.lane, lane), l.total}
	if e.Tool != "" {
		lines = append(lines, at(l.tool, e.Tool))
	}
	for _, x := range lines {
		x.usd.Add(x.usd, usd)
		x.tokens += u.Context()
		x.n++
	}
}

func (l *ledger) compare(t interface{ Errorf(string, ...any) }, s *cost.State) {
	one := func(name string, want *line, got cost.Usage) {
		raw, err := json.Marshal(got.USD)
		exact, ok := new(big.Rat).SetString(string(raw))
		if err != nil || !ok || exact.Cmp(want.usd) != 0 || got.Tokens() != want.tokens || got.Requests != want.n {
			t.Errorf("%s: %s for %d tokens in %d requests, the ledger says %s for %d in %d", name, raw, got.Tokens(), got.Requests, want.usd.FloatString(12), want.tokens, want.n)
		}
	}
	for key, want := range l.model {
		got, _ := s.ByModel.Get(key)
		one("model "+key, want, got)
	}
	for key, want := range l.agent {
		got, _ := s.ByAgent.Get(key)
		one("agent "+key, want, got)
	}
	for key, want := range l.lane {
		got, _ := s.ByLane.Get(key)
		one("lane "+key, want, got)
	}
	for key, want := range l.tool {
		got, _ := s.ByTool.Get(key)
		one("tool "+key, want, got)
	}
	if s.ByModel.Len() != len(l.model) || s.ByAgent.Len() != len(l.agent) || s.ByLane.Len() != len(l.lane) || s.ByTool.Len() != len(l.tool) {
		t.Errorf("lines that the ledger does not have: %+v", s)
	}
	one("total", l.total, s.Total)
}

// TestAgainstALedger books anything, from many goroutines, and compares.
func TestAgainstALedger(t *testing.T) {
	price := rapid.Map(rapid.Int64Range(0, 80_000_000), func(micro int64) float64 { return float64(micro) / 1e6 })
	count := rapid.IntRange(0, 2_000_000)
	rapid.Check(t, func(t *rapid.T) {
		models := make([]provider.Info, 3)
		for i := range models {
			models[i] = provider.Info{Provider: "p", ID: fmt.Sprint(i), Price: provider.Price{Input: price.Draw(t, "in"), Output: price.Draw(t, "out"), CacheRead: price.Draw(t, "read"), CacheWrite: price.Draw(t, "write"), CacheWrite1h: price.Draw(t, "hour")}}
		}
		s, l := open(), newLedger()
		var wg sync.WaitGroup
		for range rapid.IntRange(0, 20).Draw(t, "requests") {
			u := msg.Usage{Input: count.Draw(t, "i"), Output: count.Draw(t, "o"), CacheRead: count.Draw(t, "r"), CacheWrite: count.Draw(t, "w")}
			u.CacheWrite1h = rapid.IntRange(0, u.CacheWrite).Draw(t, "h")
			e := cost.Entry{
				Model: rapid.SampledFrom(models).Draw(t, "model"), Usage: u,
				Agent: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "agent"), Tool: rapid.SampledFrom([]string{"", "WebFetch"}).Draw(t, "tool"),
				Lane: rapid.SampledFrom([]provider.Lane{"", "main", "title"}).Draw(t, "lane"),
			}
			l.book(e)
			wg.Go(func() { cost.Book(s, e) })
		}
		wg.Wait()
		l.compare(t, s.Get())
	})
}

func TestMoneyAsJSON(t *testing.T) {
	for _, tc := range []struct {
		m    cost.Money
		want string
	}{
		{0, "0"},
		{1, "0.000000000001"},
		{-1, "-0.000000000001"},
		{1_500_000_000_000, "1.5"},
		{-250_000_000_000, "-0.25"},
		{100_000_000_000_000, "100"},
		{math.MaxInt64, "9223372.036854775807"},
		{math.MinInt64 + 1, "-9223372.036854775807"},
	} {
		raw, err := json.Marshal(tc.m)
		if err != nil || string(raw) != tc.want {
			t.Errorf("%d is written %s, %v; want %s", int64(tc.m), raw, err, tc.want)
		}
		var back cost.Money
		if err := json.Unmarshal([]byte(tc.want), &back); err != nil || back != tc.m {
			t.Errorf("%s is read %d, %v", tc.want, int64(back), err)
		}
	}
	for in, want := range map[string]cost.Money{"1e-3": cost.Dollars(0.001), "0.1234567890123456": 123456789012, "2": 2e12} {
		var got cost.Money
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s is read %d, %v; want %d", in, int64(got), err, int64(want))
		}
	}
	for _, in := range []string{`"x"`, `9300000000`, `1e300`} {
		var got cost.Money
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s was taken for money: %d", in, int64(got))
		}
	}
	for m, want := range map[cost.Money]string{0: "$0.00", cost.Dollars(12.345): "$12.35", cost.Dollars(0.0012): "$0.0012"} {
		if m.String() != want {
			t.Errorf("%d for people: %s, want %s", int64(m), m, want)
		}
	}
}

// TestKF067_BudgetStopsTheNextRequest: a budget counts subagents and compaction, stops before the
// request that would pass it, and can be raised.
func TestKF067_BudgetStopsTheNextRequest(t *testing.T) {
	s := open()
	cost.SetBudget(s, cost.Session, cost.USD, 0.10)
	now := time.Now()
	request := cost.UsageOf(sonnet.Price, msg.Usage{Input: 10_000}) // three cents
	for i, e := range []cost.Entry{
		{Model: sonnet, Usage: msg.Usage{Input: 10_000}},
		{Model: sonnet, Agent: "child", Usage: msg.Usage{Input: 10_000}},
		{Model: sonnet, Lane: provider.LaneCompact, Usage: msg.Usage{Input: 10_000}},
	} {
		if over := cost.Over(s.Get(), e.Agent, request, now); over != nil {
			t.Fatalf("request %d: %v", i, over)
		}
		cost.Book(s, e)
	}
	over := cost.Over(s.Get(), "", request, now)
	if over == nil || math.Abs(over.Used-0.09) > 1e-12 || over.Next == 0 || !strings.Contains(over.Error(), "Reached maximum budget ($0.10)") {
		t.Fatalf("the fourth request may be made: %v", over)
	}
	if cost.Over(s.Get(), "", cost.Usage{}, now) != nil {
		t.Error("nine cents are not ten")
	}
	cost.SetBudget(s, cost.Session, cost.USD, 0.2)
	if over := cost.Over(s.Get(), "", request, now); over != nil {
		t.Errorf("after raising: %v", over)
	}
	cost.SetBudget(s, cost.Session, cost.USD, 0.09)
	if over := cost.Over(s.Get(), "", cost.Usage{}, now); over == nil || over.Next != 0 {
		t.Errorf("used up, yet: %v", over)
	}
	cost.SetBudget(s, cost.Session, cost.USD, -1)
	if len(s.Get().Budgets) != 0 {
		t.Errorf("left %v", s.Get().Budgets)
	}
}

func TestBudgetScopesAndUnits(t *testing.T) {
	s := open()
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	cost.SetBudget(s, cost.Turn, cost.Requests, 2)
	cost.SetBudget(s, cost.Scope("agent:a"), cost.Tokens, 100)
	cost.SetBudget(s, cost.Session, cost.Time, 60)
	cost.BeginTurn(s, start)
	cost.Book(s, cost.Entry{Model: nano, Usage: msg.Usage{Input: 500}})
	cost.Book(s, cost.Entry{Model: nano, Agent: "a", Usage: msg.Usage{Input: 90}})
	is := func(agent string, next cost.Usage, after time.Duration, want cost.Unit) {
		t.Helper()
		over := cost.Over(s.Get(), agent, next, start.Add(after))
		switch {
		case over == nil && want != "", over != nil && over.Unit != want:
			t.Errorf("%v, want %q", over, want)
		case over != nil && over.Error() == "":
			t.Error("nothing to say")
		}
	}
	is("", cost.Usage{}, 0, cost.Requests)
	cost.EndTurn(s, start.Add(30*time.Second))
	cost.EndTurn(s, start.Add(40*time.Second)) // already ended
	cost.BeginTurn(s, start.Add(100*time.Second))
	is("", cost.Usage{}, 100*time.Second, "")
	is("a", cost.Usage{Input: 10}, 100*time.Second, "")
	is("a", cost.Usage{Input: 11}, 100*time.Second, cost.Tokens)
	is("b", cost.Usage{Input: 11}, 100*time.Second, "")
	is("", cost.Usage{}, 129*time.Second, "")
	is("", cost.Usage{}, 130*time.Second, cost.Time)
	if got := s.Get(); got.Durations.Wall != 30*time.Second || got.Turn != (cost.Usage{}) || got.Total.Requests != 2 {
		t.Errorf("%+v", got)
	}
}

func TestBookCall(t *testing.T) {
	s := open()
	before := s.Get()
	cost.BookCall(s, 0, cost.Lines{})
	if s.Get() != before {
		t.Error("nothing was booked, yet the state changed")
	}
	cost.BookCall(s, time.Second, cost.Lines{Added: 3})
	cost.BookCall(s, time.Second, cost.Lines{Removed: 2})
	if got := s.Get(); got.Lines != (cost.Lines{Added: 3, Removed: 2}) || got.Durations.Tools != 2*time.Second {
		t.Errorf("%+v", got)
	}
}

func TestModels(t *testing.T) {
	s := open()
	cost.Book(s, cost.Entry{Model: sonnet, Usage: msg.Usage{Input: 1_000_000, WebSearches: 2}})
	cost.Book(s, cost.Entry{Model: nano, Usage: msg.Usage{Output: 10}})
	got := cost.Models(s.Get(), func(ref string) (provider.Info, bool) { return sonnet, ref == sonnet.Ref() })
	want := map[string]proto.ModelUsage{
		"anthropic/sonnet": {Usage: msg.Usage{Input: 1_000_000, WebSearches: 2}, Requests: 1, CostUSD: 3, ContextWindow: 200_000, MaxOutput: 64_000},
		"openai/nano":      {Usage: msg.Usage{Output: 10}, Requests: 1, CostUSD: 0.000004},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if len(cost.Models(s.Get(), nil)) != 2 {
		t.Error("without sizes")
	}
}

func TestStateIsData(t *testing.T) {
	s := open()
	cost.SetBudget(s, cost.Session, cost.USD, 1)
	cost.Book(s, cost.Entry{Model: sonnet, Agent: "a", Tool: "T", Usage: msg.Usage{Input: 7}})
	raw, err := store.Snapshot(s.Get())
	if err != nil {
		t.Fatal(err)
	}
	var back cost.State
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	again, err := store.Snapshot(&back)
	if err != nil || string(again) != string(raw) {
		t.Errorf("%v\n%s\n%s", err, raw, again)
	}
	if !strings.Contains(string(raw), `"usd":0.000021`) {
		t.Errorf("%s", raw)
	}
}

func BenchmarkBook(b *testing.B) {
	s := open()
	b.ReportAllocs()
	for b.Loop() {
		cost.Book(s, cost.Entry{Model: sonnet, Usage: msg.Usage{Input: 1}})
	}
}
