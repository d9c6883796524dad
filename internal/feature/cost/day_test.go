package cost_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/cost"
)

func TestDay(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	d := cost.Day{Dir: filepath.Join(t.TempDir(), "spent"), Now: func() time.Time { return now }}
	if got, err := d.Total(); got != 0 || err != nil {
		t.Fatalf("nothing was spent: %v, %v", got, err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 {
				if err := d.Add(cost.Dollars(0.25)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := d.Total()
	if want := 1000 * cost.Dollars(0.25).Float(); err != nil || got < want*0.999999 || got > want*1.000001 {
		t.Errorf("total %v, %v, want %v", got, err, want)
	}
	if over := cost.OverDay(got, cost.Usage{}, got); over == nil || !strings.Contains(over.Error(), "budget") {
		t.Errorf("used up: %v", over)
	}
	if over := cost.OverDay(got, cost.Usage{}, got+1); over != nil {
		t.Errorf("room is left: %v", over)
	}
	if err := os.WriteFile(filepath.Join(d.Dir, "2026-11-30.txt"), []byte("0.5\nmuch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Total(); err == nil || !strings.Contains(err.Error(), "2026-11-30.txt:2: expected an amount") {
		t.Errorf("a line that is no amount: %v", err)
	}
	now = now.AddDate(0, 0, 1)
	if got, err := d.Total(); got != 0 || err != nil {
		t.Errorf("the next day: %v, %v", got, err)
	}
}
