package spending

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/policy"
)

type whole struct{ c *cost.State }

var dear = provider.Info{Provider: "x", ID: "dear", Price: provider.Price{Input: 1000, Output: 1000}}

// ledger is one under an organisation's limits, with what it wrote down and what it told.
func ledger(t *testing.T, limits policy.Limits) (l *Ledger, noted *[]cost.Use, told *[]string) {
	t.Helper()
	noted, told = new([]cost.Use), new([]string)
	s := store.New(whole{&cost.State{}}, nil, nil)
	l = New(Config{
		State:  store.Focus(s, func(w *whole) *cost.State { return w.c }, func(_ *whole, c *cost.State) *whole { return &whole{c} }),
		Day:    cost.Day{Dir: filepath.Join(t.TempDir(), "spent"), Now: time.Now},
		Limits: func() policy.Limits { return limits }, Settings: func() *config.State { return &config.State{} },
		Tell: func(b proto.EventBody) { *told = append(*told, b.(proto.Notice).Text) }, Now: time.Now,
		Note: func(u cost.Use) error {
			*noted = append(*noted, u)
			return nil
		},
	})
	return l, noted, told
}

// TestUnreadableDayCountsAsExhausted: a day's money that cannot be counted, or written down, is spent.
func TestUnreadableDayCountsAsExhausted(t *testing.T) {
	day := 1000.0
	limits := policy.Limits{Host: "limits.example", Budget: policy.Budget{Day: &day}}
	for _, text := range []string{"half a", "-5\n", "NaN\n", "1\n\n2\n"} {
		l, _, told := ledger(t, limits)
		if err := os.MkdirAll(l.cfg.Day.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(l.cfg.Day.Dir, time.Now().Format(time.DateOnly)+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if end := l.Purse("").Admit(dear, provider.Request{}); end == nil || end.Outcome != string(proto.EndBudget) || len(*told) == 0 {
			t.Errorf("%q: a request would be made: %+v, told %q", text, end, *told)
		}
	}
	l, _, _ := ledger(t, limits)
	if end := l.Purse("").Admit(dear, provider.Request{}); end != nil {
		t.Errorf("a day without spending: %+v", end)
	}
	if err := os.WriteFile(l.cfg.Day.Dir, nil, 0o600); err != nil { // no folder: nothing can be written
		t.Fatal(err)
	}
	l.Purse("").Spent(engine.Spending{Model: dear, Usage: msg.Usage{Input: 1}})
	if err := os.Remove(l.cfg.Day.Dir); err != nil {
		t.Fatal(err)
	}
	if end := l.Purse("").Admit(dear, provider.Request{}); end == nil || !strings.Contains(end.Reason, "maxBudgetUsd in the policy of limits.example") {
		t.Errorf("what could not be written down counts as nothing: %+v", end)
	}
}

// TestSideRequestsCountToTheDay: what a summary or a hook costs is money of the day as well.
func TestSideRequestsCountToTheDay(t *testing.T) {
	day := 1.0
	l, _, _ := ledger(t, policy.Limits{Budget: policy.Budget{Day: &day}})
	l.Book(cost.Entry{Model: dear, Lane: provider.LaneCompact, Usage: msg.Usage{Input: 1000}})
	if used, err := l.cfg.Day.Total(); used != 1 || err != nil {
		t.Errorf("%v, %v", used, err)
	}
	if err := l.AdmitAside(dear, provider.Request{}); err == nil {
		t.Error("a request would be made beyond the day's budget")
	}
}

func TestUseIsWrittenDownOnce(t *testing.T) {
	l, noted, _ := ledger(t, policy.Limits{})
	l.Account()
	l.Book(cost.Entry{Model: dear, Usage: msg.Usage{Input: 3}})
	l.Account()
	l.Account()
	l.Book(cost.Entry{Model: dear, Usage: msg.Usage{Input: 4}})
	l.Begin()
	l.Account()
	if len(*noted) != 1 || (*noted)[0].Total.Input != 3 {
		t.Errorf("%+v", *noted)
	}
}
