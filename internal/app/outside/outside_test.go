package outside_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/app/outside"
	"github.com/myelin-agent/myelin/internal/sys/fingerprint"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// world is a project with a script, and the guards of the sessions in it.
type world struct {
	t        *testing.T
	root     string
	cfg      outside.Config
	command  outside.Command
	asked    []outside.Question
	answer   bool
	offset   time.Duration // the clock runs before that of the file system
	sessions int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root}
	w.write("check.sh", "#!/bin/sh\nexit 0\n")
	w.cfg = outside.Config{
		File: filepath.Join(t.TempDir(), "kept.json"), Roots: func() []string { return []string{root} },
		Now:   func() time.Time { return time.Now().Add(w.offset) },
		Alive: func(proc.Info) bool { return false },
		Ask: func(_ context.Context, q outside.Question) (bool, error) {
			w.asked = append(w.asked, q)
			return w.answer, nil
		},
	}
	w.command = outside.Command{Name: "the guard", Command: fingerprint.Command{Text: root + "/check.sh", Dir: root, Env: []string{"PATH=/usr/bin"}}}
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) session() *outside.Guard {
	w.sessions++
	cfg := w.cfg
	cfg.ID = string(rune('a' + w.sessions))
	return outside.New(cfg)
}

// confined lets a confined program of a session do something.
func (w *world) confined(g *outside.Guard, do func()) {
	w.t.Helper()
	ended, err := g.Confined([]outside.Command{w.command})
	if err != nil {
		w.t.Fatal(err)
	}
	do()
	ended()
}

func (w *world) check(g *outside.Guard) error {
	w.t.Helper()
	ended, err := g.Check(w.t.Context(), w.command)
	if err == nil {
		ended()
	}
	return err
}

func (w *world) runs(g *outside.Guard, what string) {
	w.t.Helper()
	if err := w.check(g); err != nil {
		w.t.Errorf("%s: %v", what, err)
	}
}

func (w *world) held(g *outside.Guard, what string) {
	w.t.Helper()
	if err := w.check(g); !errors.Is(err, outside.ErrChanged) {
		w.t.Errorf("%s: the command may run (%v)", what, err)
	}
}

// between lets time pass between sessions, for the times of files.
func (w *world) between() { w.offset += time.Second }

func TestKF145_WhatConfinedProgramsChangedStopsTheRun(t *testing.T) {
	w := newWorld(t)
	w.offset = time.Hour // the script is older than the session
	g := w.session()
	w.runs(g, "unchanged")
	w.confined(g, func() {})
	w.runs(g, "after a program that changed nothing")
	w.confined(g, func() { w.write("check.sh", "#!/bin/sh\ntouch /tmp/escaped\n") })
	w.held(g, "changed")
	if len(w.asked) != 1 || w.asked[0].Name != "the guard" || !slices.Equal(w.asked[0].Files, []string{filepath.Join(w.root, "check.sh")}) {
		t.Errorf("asked %+v", w.asked)
	}
	w.held(g, "declined")
	if len(w.asked) != 1 {
		t.Error("the same change was asked for twice")
	}
	w.answer = true
	w.confined(g, func() { w.write("check.sh", "#!/bin/sh\n# another\n") })
	w.runs(g, "accepted")
	w.runs(g, "still accepted")
	if len(w.asked) != 2 {
		t.Errorf("asked %d times", len(w.asked))
	}
}

func TestKF145_NobodyCanBeAsked(t *testing.T) {
	w := newWorld(t)
	w.cfg.Ask = nil
	w.offset = time.Hour
	g := w.session()
	w.confined(g, func() { w.write("check.sh", "other") })
	err := w.check(g)
	if !errors.Is(err, outside.ErrChanged) || !strings.Contains(err.Error(), "check.sh") || !strings.Contains(err.Error(), "terminal") {
		t.Errorf("%v", err)
	}
}

// TestKF145_AnotherSessionRemembers plants in one session and runs in the next.
func TestKF145_AnotherSessionRemembers(t *testing.T) {
	for name, killed := range map[string]bool{"ended": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			g := w.session()
			w.confined(g, func() { w.write("check.sh", "#!/bin/sh\ntouch /tmp/escaped\n") })
			if !killed {
				w.offset += 200 * time.Millisecond
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
			w.offset += time.Hour
			next := w.session()
			w.held(next, "the next session")
			w.confined(next, func() {})
			w.held(next, "the next session, after a command of its own")
			w.answer = true
			third := w.session()
			w.runs(third, "accepted")
			if err := third.Close(); err != nil {
				t.Fatal(err)
			}
			asked := len(w.asked)
			w.runs(w.session(), "the session after that")
			if len(w.asked) != asked {
				t.Error("what was accepted is asked for again")
			}
		})
	}
}

func TestKF145_WhatAPersonChangesBetweenSessionsIsNotAskedFor(t *testing.T) {
	w := newWorld(t)
	w.offset = -time.Hour
	g := w.session()
	w.confined(g, func() {})
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	w.offset = 0
	w.write("check.sh", "#!/bin/sh\n# by hand\n")
	w.runs(w.session(), "changed by hand")
	if len(w.asked) > 0 {
		t.Errorf("asked %+v", w.asked)
	}
}

func TestKF145_ACommandMayChangeItsOwnFiles(t *testing.T) {
	w := newWorld(t)
	w.offset = time.Hour
	g := w.session()
	w.confined(g, func() {})
	ended, err := g.Check(t.Context(), w.command)
	if err != nil {
		t.Fatal(err)
	}
	w.write("check.sh", "#!/bin/sh\n# formatted\n")
	ended()
	w.runs(g, "changed by the command itself")

	ended, err = g.Check(t.Context(), w.command)
	if err != nil {
		t.Fatal(err)
	}
	w.confined(g, func() { w.write("check.sh", "#!/bin/sh\ntouch /tmp/escaped\n") })
	ended()
	w.held(g, "changed while the command ran, but a confined program ran too")
}

func TestKF145_WhatWasAcceptedMayLeadToMore(t *testing.T) {
	w := newWorld(t)
	g := w.session()
	w.confined(g, func() {
		w.write("more.sh", "#!/bin/sh\n")
		w.write("check.sh", "#!/bin/sh\n"+w.root+"/more.sh\n")
	})
	w.answer = true
	w.runs(g, "accepted")
	if last := w.asked[len(w.asked)-1]; !slices.Contains(last.Files, filepath.Join(w.root, "more.sh")) {
		t.Errorf("asked %+v", w.asked)
	}
}

func TestKF145_ADamagedMemoryStopsTheRun(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.cfg.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := w.session()
	w.held(g, "nothing is known")
	if _, err := g.Confined([]outside.Command{w.command}); err == nil || !strings.Contains(err.Error(), w.cfg.File) {
		t.Errorf("a confined program may start: %v", err)
	}
}

func TestKeptSpansAreBounded(t *testing.T) {
	w := newWorld(t)
	for range 60 {
		g := w.session()
		w.confined(g, func() {})
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		w.between()
	}
	var k struct{ Spans []any }
	text, err := os.ReadFile(w.cfg.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	if len(k.Spans) != 50 {
		t.Errorf("%d spans", len(k.Spans))
	}
}
