package inspect

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/transcript"
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

// Sessions lists the conversations of a folder, the newest first; of every folder when cwd is empty.
func Sessions(shelf transcript.Shelf, cwd string) ([]SessionRow, error) {
	infos, err := shelf.List(cwd)
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

// FindSession is a recorded conversation by id or title. An empty query means the newest of the folder.
func FindSession(shelf transcript.Shelf, cwd, query string) (transcript.Info, error) {
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

// Prompts yields the prompts that were sent in the project of a folder, the newest first, from the file of
// the prompt history.
func Prompts(file, cwd string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		root := cwd
		if repo, err := gitrepo.Find(cwd); err == nil {
			root = repo.Root
		}
		h := transcript.OpenHistory(file)
		defer h.Close() // it only read
		for p, err := range h.Prompts(transcript.Filter{Project: root}) {
			if !yield(p.Text, err) {
				return
			}
		}
	}
}
