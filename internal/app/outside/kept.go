package outside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// kept is what the sessions of a folder know together.
type kept struct {
	Spans []span            `json:"spans"`           // when confined programs could run
	Known map[string]string `json:"known,omitempty"` // digests that were accepted, by path
}

// span is a time in which a session ran confined programs.
type span struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to,omitzero"` // zero: it goes on, or was cut off
	ID    string    `json:"session"`
	PID   int       `json:"pid,omitempty"`
	Start uint64    `json:"pidStart,omitempty"`
}

// Bounds of what is kept. Beyond them the oldest spans become one and accepted digests are forgotten:
// both only make more questions.
const (
	maxSpans = 50
	maxKnown = 5000
)

// slack is how coarse the times of files may be against the clock.
const slack = 100 * time.Millisecond

// within reports whether confined programs could run at a time.
func (k kept) within(at, now time.Time) bool {
	return slices.ContainsFunc(k.Spans, func(s span) bool {
		to := s.To
		if to.IsZero() {
			to = now.Add(time.Hour)
		}
		return !at.Before(s.From.Add(-slack)) && !at.After(to.Add(slack))
	})
}

func (g *Guard) read() (kept, error) {
	var k kept
	text, err := os.ReadFile(g.cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("read what was accepted to run outside of the sandbox (%s): %w", g.cfg.File, err)
	}
	return k, nil
}

func (g *Guard) update(change func(*kept)) error {
	return atomicfile.Update(g.cfg.File, 0o600, func(old []byte) ([]byte, error) {
		var k kept
		if old != nil {
			if err := json.Unmarshal(old, &k); err != nil {
				return nil, err
			}
		}
		change(&k)
		k.bound()
		return json.MarshalIndent(k, "", " ")
	})
}

func (k *kept) bound() {
	for len(k.Spans) > maxSpans {
		a, b := k.Spans[0], k.Spans[1]
		if b.From.Before(a.From) {
			a.From = b.From
		}
		if a.To.IsZero() || b.To.IsZero() { // one that goes on stays as it is
			return
		}
		if b.To.After(a.To) {
			a.To = b.To
		}
		k.Spans = append([]span{a}, k.Spans[2:]...)
	}
	if len(k.Known) > maxKnown {
		k.Known = nil
	}
}

// enter says that confined programs run from now on, and ends the spans of sessions that were
// killed: they may have gone on until now.
func (g *Guard) enter() error {
	now := g.cfg.Now()
	err := g.update(func(k *kept) {
		for i, s := range k.Spans {
			if s.To.IsZero() && !g.cfg.Alive(proc.Info{PID: s.PID, Start: s.Start}) {
				k.Spans[i].To = now
			}
		}
		k.Spans = append(k.Spans, span{From: now, ID: g.cfg.ID, PID: g.cfg.Self.PID, Start: g.cfg.Self.Start})
	})
	g.entered = err == nil
	return err
}

// keep adds digests that were accepted.
func (g *Guard) keep(accepted map[string]string) error {
	return g.update(func(k *kept) {
		if k.Known == nil {
			k.Known = map[string]string{}
		}
		maps.Copy(k.Known, accepted)
	})
}

// Close says that no confined program of this session runs any more. They must have been ended.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.entered {
		return nil
	}
	g.entered = false
	now := g.cfg.Now()
	return g.update(func(k *kept) {
		for i, s := range k.Spans {
			if s.To.IsZero() && s.ID == g.cfg.ID {
				k.Spans[i].To = now
			}
		}
		if k.Known == nil {
			k.Known = map[string]string{}
		}
		maps.Copy(k.Known, g.known)
	})
}
