package cost

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Money is an amount of US dollars in units of 10⁻¹² dollars, in which the price of a single token
// is a whole number; so sums have no rounding. It holds nine million dollars. In JSON it is
// a number of dollars.
type Money int64

const dollar Money = 1_000_000_000_000

// Dollars is the amount nearest to f dollars.
func Dollars(f float64) Money { return Money(math.Round(f * float64(dollar))) }

// Price is what u costs, exactly, for prices of up to six decimals per million tokens.
func Price(p provider.Price, u msg.Usage) Money {
	long := p.CacheWrite1h
	if long == 0 {
		long = p.CacheWrite
	}
	return tokens(u.Input, p.Input) + tokens(u.Output, p.Output) + tokens(u.CacheRead, p.CacheRead) +
		tokens(u.CacheWrite-u.CacheWrite1h, p.CacheWrite) + tokens(u.CacheWrite1h, long)
}

// tokens is the price of n tokens at so many dollars per million.
func tokens(n int, perMillion float64) Money {
	return Money(n) * Money(math.Round(perMillion*1e6))
}

// Float is the amount in dollars, as near as a float can be.
func (m Money) Float() float64 { return float64(m) / float64(dollar) }

// String is the amount for people: cents, or as many digits as it takes to show a small amount.
func (m Money) String() string {
	switch f := m.Float(); {
	case m == 0 || f >= 0.1 || f <= -0.1:
		return fmt.Sprintf("$%.2f", f)
	default:
		return fmt.Sprintf("$%.4f", f)
	}
}

// MarshalJSON writes the amount in dollars, exactly.
func (m Money) MarshalJSON() ([]byte, error) {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -uint64(m)
	}
	whole, part := n/uint64(dollar), n%uint64(dollar)
	s := fmt.Sprintf("%s%d.%012d", sign, whole, part)
	return []byte(strings.TrimSuffix(strings.TrimRight(s, "0"), ".")), nil
}

// UnmarshalJSON reads a number of dollars.
func (m *Money) UnmarshalJSON(data []byte) error {
	s := string(data)
	whole, part, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if strings.ContainsAny(s, "eE") || len(part) > 12 || len(whole) > 7 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Abs(f) >= 9e6 {
			return fmt.Errorf("read an amount of dollars: %q is none, or too much", s)
		}
		*m = Dollars(f)
		return nil
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", 12-len(part)), 10, 64)
	if err != nil {
		return fmt.Errorf("read an amount of dollars: %q is no number", s)
	}
	if strings.HasPrefix(s, "-") {
		n = -n
	}
	*m = Money(n)
	return nil
}
