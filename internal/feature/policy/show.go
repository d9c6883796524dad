package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Shown is what "myelin policy show" and /status tell.
type Shown struct {
	Host      string // empty: no policy is set
	State     State
	Age       time.Duration // since the copy was fetched or confirmed; 0: there is none
	Signature string        // "valid", or "not required"
	OnMissing string
	Expired   bool   // the copy is worth nothing any more
	Badge     string // what a status line must show; empty: all is well
}

// Show tells what is in force, from where, how old, and whether it was signed.
func (c *Client) Show() Shown {
	c.publish()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Shown{State: *c.state}
	if c.setting == (Setting{}) {
		return out
	}
	out.Host, out.OnMissing, out.Signature = c.setting.host(), c.setting.onMissing(), "not required"
	if c.key != nil {
		out.Signature = "required, none seen yet"
	}
	if c.held != nil {
		out.Age = c.opts.Now().Sub(c.held.doc.FetchedAt)
		if c.held.parsed.Signed {
			out.Signature = "valid"
		}
	}
	out.Expired = c.held != nil && c.worthless()
	switch {
	case c.held == nil && c.failure == "":
		out.Badge = "policy: not fetched yet"
	case c.held == nil:
		out.Badge = "policy: cannot be had"
	case out.Expired:
		out.Badge = "policy: expired"
	}
	if out.Badge != "" && out.OnMissing == OnMissingDeny {
		out.Badge += ", no requests"
	}
	return out
}

// String is Shown for people.
func (s Shown) String() string {
	if s.Host == "" {
		return "no policy is set (policyLimits)\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "policy of %s\n  source: %s\n", s.Host, s.State.Source)
	if s.Age > 0 || !s.State.FetchedAt.IsZero() {
		fmt.Fprintf(&b, "  age: %s (fetched %s, expires %s)\n", s.Age.Round(time.Second), s.State.FetchedAt.Format(time.RFC3339), s.State.Expires.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "  signature: %s\n  when missing: %s\n", s.Signature, s.OnMissing)
	if s.Badge != "" {
		fmt.Fprintf(&b, "  %s\n", s.Badge)
	}
	if s.State.Error != "" {
		fmt.Fprintf(&b, "  last failure: %s\n", s.State.Error)
	}
	if raw, err := json.MarshalIndent(s.State.Limits, "  ", "  "); err == nil { // plain data
		fmt.Fprintf(&b, "  limits: %s\n", raw)
	}
	return b.String()
}
