package permission

import (
	"slices"
	"time"
)

// Denials tracks what the classifier blocked.
type Denials struct {
	Consecutive    int      `json:"consecutive"`
	Total          int      `json:"total"`
	LastDeniedTool string   `json:"lastDeniedTool,omitempty"`
	Recent         []Denied `json:"recent,omitempty"` // newest 50, the newest last
}

// Denied is one refused call.
type Denied struct {
	Tool    string    `json:"tool"`
	Summary string    `json:"summary"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// Blocked counts a block of the classifier. pause tells that auto mode must now ask a person: the
// third in a row, or the twentieth in all, which starts the count anew.
func (s *State) Blocked(d Denied) (next *State, pause bool) {
	c := *s
	c.Denials.Consecutive++
	c.Denials.Total++
	c.Denials.LastDeniedTool = d.Tool
	c.Denials.Recent = keepRecent(s.Denials.Recent, d)
	if c.Denials.Total >= maxTotal {
		c.Denials.Total = 0
		pause = true
	}
	return &c, pause || c.Denials.Consecutive >= maxConsecutive
}

func keepRecent(old []Denied, d Denied) []Denied {
	if len(old) >= keptDenials {
		old = old[len(old)-keptDenials+1:]
	}
	return append(slices.Clone(old), d)
}

// Refused adds to the recently denied without counting: a rule, a person or a mode said no.
func (s *State) Refused(d Denied) *State {
	c := *s
	c.Denials.Recent = keepRecent(s.Denials.Recent, d)
	return &c
}

// Allowed ends a row of blocks.
func (s *State) Allowed() *State {
	if s.Denials.Consecutive == 0 {
		return s
	}
	c := *s
	c.Denials.Consecutive = 0
	return &c
}
