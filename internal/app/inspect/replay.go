package inspect

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
	"github.com/myelin-agent/myelin/internal/providers/record"
)

// Tape writes every transition of a session's state into its recording, so that the state at any
// revision can be looked at later. Before Begin it does nothing. It is safe for concurrent use.
type Tape[S any] struct {
	to atomic.Pointer[record.Recorder]
}

// Begin writes the state as it stands, as revision 0 of the recording.
func (t *Tape[S]) Begin(to *record.Recorder, now *S) {
	t.write(to, 0, new(S), now)
	t.to.Store(to)
}

// Change is the store's onChange.
func (t *Tape[S]) Change(c store.Change[S]) {
	if to := t.to.Load(); to != nil {
		t.write(to, c.Revision, c.Old, c.New)
	}
}

func (t *Tape[S]) write(to *record.Recorder, revision uint64, old, now *S) {
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

// Branch is where a session that goes on from a revision starts.
type Branch struct {
	Cwd        string
	Transcript string // file of the recorded conversation
	At         string // id of the last message that is kept
}

// Fork is where a session starts that goes on from a revision, in a copy of the recorded conversation up
// to there. Tools are not undone: files are as they are now.
func (p *Played) Fork(text string) (Branch, error) {
	raw, err := p.At(text)
	if err != nil {
		return Branch{}, err
	}
	var at struct {
		Session    struct{ ID, Cwd string }
		Transcript struct{ Path, LastID string }
	}
	if err := json.Unmarshal(raw, &at); err != nil {
		return Branch{}, fmt.Errorf("read the recorded state: %w", err)
	}
	switch _, err := os.Stat(at.Transcript.Path); {
	case at.Transcript.Path == "" || at.Transcript.LastID == "":
		return Branch{}, usage("at this revision nothing had been said that one could go on from")
	case err != nil:
		return Branch{}, usage("the recorded conversation is gone: %w", err)
	}
	return Branch{Cwd: at.Session.Cwd, Transcript: at.Transcript.Path, At: at.Transcript.LastID}, nil
}
