package cost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Day adds up what all sessions of a home spend in a day. Each amount is a line of its own, appended
// in one write, so that processes side by side lose nothing.
type Day struct {
	Dir string
	Now func() time.Time
}

// scopeDay is the scope of a budget of the day, for messages.
const scopeDay Scope = "day"

func (d Day) path() string { return filepath.Join(d.Dir, d.Now().Format(time.DateOnly)+".txt") }

// Add writes an amount down.
func (d Day) Add(usd Money) error {
	if usd.Float() == 0 {
		return nil
	}
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return fmt.Errorf("keep what was spent: %w", err)
	}
	f, err := os.OpenFile(d.path(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep what was spent: %w", err)
	}
	_, err = f.WriteString(strconv.FormatFloat(usd.Float(), 'f', -1, 64) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep what was spent: %w", err)
	}
	return nil
}

// Total is what was spent today, in US dollars. A line that is no amount is an error, since what it
// stood for cannot be counted.
func (d Day) Total() (float64, error) {
	raw, err := os.ReadFile(d.path())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read what was spent today: %w", err)
	}
	total, n := 0.0, 0
	for line := range strings.Lines(string(raw)) {
		n++
		usd, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil || !(usd >= 0) { // no number is none either
			return 0, fmt.Errorf("read what was spent today: %s:%d: expected an amount, found %q", d.path(), n, strings.TrimSpace(line))
		}
		total += usd
	}
	return total, nil
}

// OverDay returns the day's budget when it is used up or next would pass it, nil otherwise.
func OverDay(used float64, next Usage, limit float64) *Exceeded {
	b := Budget{Scope: scopeDay, Unit: USD, Limit: limit, Used: used}
	switch want := next.in(USD); {
	case used >= limit:
		return &Exceeded{Budget: b}
	case used+want > limit:
		return &Exceeded{Budget: b, Next: want}
	}
	return nil
}
