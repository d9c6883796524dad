package app

import (
	"context"
	"sync"

	"github.com/myelin-agent/myelin/internal/app/notes"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// notesConfig binds the agent's own notes to the session.
func notesConfig(r *rooms) notes.Config {
	return notes.Config{
		Folder: r.folders.dir, Session: func() string { return r.part.session.Get().ID }, Settings: r.settings.now, Env: r.settings.env,
		Home: r.settings.places.UserHome, Later: func(texts ...string) { r.main.Later(texts...) }, Tell: r.events.Emit, Now: r.clock.now,
		Plan: func() string {
			if !r.rights.planning() {
				return ""
			}
			return r.rights.planFile()
		},
		Project: sync.OnceValue(func() string {
			if repo, err := gitrepo.Find(r.settings.places.Start); err == nil {
				return shelfOf(r.settings.places).Dir(repo.Main)
			}
			return shelfOf(r.settings.places).Dir(r.settings.places.Start)
		}),
		MayRead: func(path string) bool { return !hides(r.gate, path) },
		Known: func(path string) bool {
			rec, ok := r.scope.Reads.Get(path)
			return ok && !rec.Partial && !rec.Written
		},
		Ask: func(ctx context.Context, question string) (string, error) {
			return r.models.askSmall(ctx, provider.LaneMemory, question, "")
		},
	}
}

// cmdScratchpad shows the notes of this conversation.
func cmdScratchpad(_ context.Context, r *rooms, _ string) (string, error) {
	if text := r.rights.notes.Announce(); text != "" {
		return text, nil
	}
	return "The scratchpad is empty. It would be " + r.rights.notes.Places().Scratchpad, nil
}
