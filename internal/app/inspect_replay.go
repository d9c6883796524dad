package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/providers/record"
)

// tape writes every transition of a session's state into its recording, so that the state at any
// revision can be looked at later. Before begin it does nothing. It is safe for concurrent use.
type tape struct {
	to atomic.Pointer[record.Recorder]
}

// begin writes the state as it stands, as revision 0 of the recording.
func (t *tape) begin(to *record.Recorder, now *State) {
	empty := State{}
	t.write(to, 0, &empty, now)
	t.to.Store(to)
}

// change is the store's onChange.
func (t *tape) change(c store.Change[State]) {
	if to := t.to.Load(); to != nil {
		t.write(to, c.Revision, c.Old, c.New)
	}
}

func (t *tape) write(to *record.Recorder, revision uint64, old, now *State) {
	a, b := reflect.ValueOf(old).Elem(), reflect.ValueOf(now).Elem()
	for i := range b.NumField() {
		if a.Field(i).Pointer() == b.Field(i).Pointer() {
			continue
		}
		raw, err := json.Marshal(b.Field(i).Interface())
		if err == nil {
			raw, err = maskSecrets(raw)
		}
		if err != nil { // slices are data only, so this cannot be; a recording must say so rather than lack it
			raw, _ = json.Marshal("not recorded: " + err.Error())
		}
		to.Change(revision, jsonName(b.Type().Field(i)), json.RawMessage(raw))
	}
}

// varsOf are the variables of an environment by name.
func varsOf(env config.Environ) map[string]string {
	out := map[string]string{}
	for _, line := range env.Lines() {
		if name, value, ok := strings.Cut(line, "="); ok {
			out[name] = value
		}
	}
	return out
}

// Played is a recording to go through without its model.
type Played struct {
	Program string
	Models  []string
	Results int  // of tool calls
	Torn    bool // it ended badly

	changes []record.Change
}

// OpenRecording reads a recording made with --record.
func OpenRecording(file string) (*Played, error) {
	r, err := record.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	p := &Played{Program: r.Program, Results: len(r.Results), Torn: r.Torn, changes: r.Changes}
	for _, i := range r.Infos {
		p.Models = append(p.Models, i.Ref())
	}
	return p, nil
}

// Last is the highest revision of the recording.
func (p *Played) Last() uint64 {
	if len(p.changes) == 0 {
		return 0
	}
	return p.changes[len(p.changes)-1].Revision
}

// revision reads a revision as people write it; empty is the last one.
func (p *Played) revision(text string) (uint64, error) {
	if len(p.changes) == 0 {
		return 0, usage("the recording holds no states: it was made by another version of the program")
	}
	if text == "" {
		return p.Last(), nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > p.Last() {
		return 0, usage("revision %q: expected a number from 0 to %d", text, p.Last())
	}
	return n, nil
}

// At is the state at a revision; empty means the last.
func (p *Played) At(text string) (json.RawMessage, error) {
	n, err := p.revision(text)
	if err != nil {
		return nil, err
	}
	state := map[string]json.RawMessage{}
	for _, c := range p.changes {
		if c.Revision <= n {
			state[c.Slice] = c.Value
		}
	}
	return json.Marshal(state)
}

// Diff is where the states at two revisions differ, a line a place.
func (p *Played) Diff(from, to string) ([]store.Delta, error) {
	a, err := p.At(from)
	if err != nil {
		return nil, err
	}
	b, err := p.At(to)
	if err != nil {
		return nil, err
	}
	return store.Diff(a, b)
}

// WriteTimeline writes every transition: its revision, and what it changed.
func (p *Played) WriteTimeline(out io.Writer) error {
	state := map[string]json.RawMessage{}
	for _, c := range p.changes {
		old := state[c.Slice]
		state[c.Slice] = c.Value
		if c.Revision == 0 {
			continue
		}
		deltas, err := store.Diff(orNull(old), c.Value)
		if err != nil {
			return fmt.Errorf("revision %d, %s: %w", c.Revision, c.Slice, err)
		}
		for _, d := range deltas {
			d.Path = append([]string{c.Slice}, d.Path...)
			if _, err := fmt.Fprintf(out, "%5d  %s\n", c.Revision, DeltaLine(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// DeltaLine is a difference on one line.
func DeltaLine(d store.Delta) string {
	side := func(raw json.RawMessage) string {
		if raw == nil {
			return "–"
		}
		if len(raw) > 60 {
			return msg.Cut(string(raw), 60) + "…"
		}
		return string(raw)
	}
	return fmt.Sprintf("%s: %s → %s", strings.Join(d.Path, "."), side(d.Old), side(d.New))
}

// Fork is how to start a session that goes on from a revision: as a copy of the recorded
// conversation up to there. Tools are not undone: files are as they are now.
func (p *Played) Fork(text string) (Options, error) {
	raw, err := p.At(text)
	if err != nil {
		return Options{}, err
	}
	var at struct {
		Session    struct{ ID, Cwd string }
		Transcript struct{ Path, LastID string }
	}
	if err := json.Unmarshal(raw, &at); err != nil {
		return Options{}, fmt.Errorf("read the recorded state: %w", err)
	}
	switch _, err := os.Stat(at.Transcript.Path); {
	case at.Transcript.Path == "" || at.Transcript.LastID == "":
		return Options{}, usage("at this revision nothing had been said that one could go on from")
	case err != nil:
		return Options{}, usage("the recorded conversation is gone: %w", err)
	}
	return Options{Cwd: at.Session.Cwd, Resume: at.Transcript.Path, ResumeAt: at.Transcript.LastID, Fork: true}, nil
}
