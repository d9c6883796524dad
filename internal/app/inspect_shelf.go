package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/providers/offline"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// SessionRow is one earlier conversation.
type SessionRow struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	Cwd         string    `json:"cwd"`
	Branch      string    `json:"branch,omitempty"`
	Changed     time.Time `json:"changed"`
	FirstPrompt string    `json:"first_prompt,omitempty"`
	LastPrompt  string    `json:"last_prompt,omitempty"`
}

func shelfOf(p config.Places) transcript.Shelf {
	s := transcript.Shelf{Home: p.Home, Public: p.DropIn}
	if p.GuestHome != "" {
		s.Guests = []string{p.GuestHome}
	}
	return s
}

// Sessions lists the conversations of a folder, the newest first; of every folder when o.Cwd is empty.
func Sessions(o Options) ([]SessionRow, error) {
	cwd := o.Cwd
	if cwd == "" {
		o.Cwd = "/"
	}
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return nil, err
	}
	infos, err := shelfOf(places).List(cwd)
	if err != nil {
		return nil, err
	}
	var out []SessionRow
	for _, i := range infos {
		out = append(out, SessionRow{
			ID: i.ID, Title: i.Title(), Cwd: i.Cwd, Branch: i.Branch, Changed: i.Modified,
			FirstPrompt: i.FirstPrompt, LastPrompt: i.LastPrompt,
		})
	}
	return out, nil
}

// Prompts yields the prompts that were sent in this project, the newest first.
func Prompts(o Options) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		places, err := findPlaces(o, environ(o))
		if err != nil {
			yield("", err)
			return
		}
		root := o.Cwd
		if repo, err := gitrepo.Find(o.Cwd); err == nil {
			root = repo.Root
		}
		h := transcript.OpenHistory(filepath.Join(places.Home, "history.jsonl"))
		defer h.Close() // it only read
		for p, err := range h.Prompts(transcript.Filter{Project: root}) {
			if !yield(p.Text, err) {
				return
			}
		}
	}
}

// Recorded is the state of a recorded conversation as a session that resumed it would begin with:
// rebuilt from its transcript and the settings of today. Nothing runs and nothing is written. An
// empty session means the newest of the folder.
func Recorded(ctx context.Context, o Options, session string) (st *State, err error) {
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return nil, err
	}
	info, err := findSession(shelfOf(places), o.Cwd, session)
	if err != nil {
		return nil, err
	}
	loaded, err := transcript.Load(info.Path, transcript.LoadOptions{})
	if err != nil {
		return nil, err
	}
	l, err := lookAt(ctx, o, offline.New())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	l.rebuild(info, loaded)
	return l.State(), nil
}

func findSession(shelf transcript.Shelf, cwd, query string) (transcript.Info, error) {
	var info transcript.Info
	var err error
	if query == "" {
		info, err = shelf.Newest(cwd)
	} else {
		info, err = shelf.Resolve(query, cwd)
	}
	switch {
	case errors.Is(err, transcript.ErrNotFound) && query == "":
		return info, fmt.Errorf("no session was recorded in %s", cwd)
	case errors.Is(err, transcript.ErrNotFound):
		return info, fmt.Errorf("no session %q: myelin sessions lists them", query)
	}
	return info, err
}

// rebuild takes over what a transcript says.
func (l looked) rebuild(info transcript.Info, loaded *transcript.Loaded) {
	l.begin(opened{id: info.ID, loaded: loaded})
	l.rooms.part.transcript.Set(func(*transcript.State) *transcript.State {
		return &transcript.State{Path: info.Path, LastID: loaded.LastID, Records: loaded.Records, Bytes: loaded.Bytes}
	})
	now := *l.rooms.part.session.Get()
	now.Title, now.Name, now.ProjectDir = info.Title(), info.CustomTitle, filepath.Dir(info.Path)
	now.StartedAt = info.Started
	answers := map[string]msg.Message{}
	for _, m := range loaded.Messages {
		if m.Role != msg.Assistant {
			continue
		}
		if m.Model != "" {
			now.Model = m.Model
		}
		if m.Usage != nil {
			answers[m.Response] = m // each block repeats it; the last one knows most
		}
	}
	if l.rooms.part.cost.Get().Total.Requests == 0 { // nothing was noted: what the lines say is all that is known
		for _, m := range answers {
			model, _ := l.rooms.modelInfo(m.Model)
			cost.Book(l.rooms.part.cost, cost.Entry{Model: model, Usage: *m.Usage})
		}
	}
	l.rooms.part.session.Set(func(*sessionState) *sessionState { return &now })
}

// Snapshot is a state as JSON, with what may be secret hidden.
func Snapshot(st *State) (json.RawMessage, error) {
	raw, err := store.Snapshot(st)
	if err != nil {
		return nil, err
	}
	return maskSecrets(raw)
}
