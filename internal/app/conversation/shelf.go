package conversation

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// Opened is the transcript a conversation goes on in.
type Opened struct {
	ID     string
	Log    *transcript.Transcript // nil: nothing is kept
	Loaded *transcript.Loaded     // nil: a new conversation
	Forked string                 // id of the conversation it is a copy of
	From   string                 // path of its transcript
	Source string                 // startup, resume, fork, clear
}

// Shelf is where conversations of the main agent are found and made.
type Shelf struct {
	Shelf   transcript.Shelf
	Cwd     string // the folder they belong to
	Nowhere bool   // nothing is kept
	Options func(id string) transcript.Options
	NewID   func() string
}

// Query names a conversation. The zero Query is a new one.
type Query struct {
	Continue bool   // the newest of the folder
	Resume   string // session id or title
	At       string // message id: keep the history up to it
	Fork     bool   // go on in a copy
	ID       string // of a new conversation or copy; empty: a random one
}

// RefusedError says that a conversation cannot be gone on with; hosts get it as a result.
type RefusedError struct {
	Session string // id that was asked for
	Err     error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// ResumeRefused is the id that was asked for.
func (e *RefusedError) ResumeRefused() string { return e.Session }

// published is an error in the very words that hosts of the public protocol look for.
type published string

// Error implements error.
func (p published) Error() string { return string(p) }

// Open finds or makes the conversation that a query names. The error may be a [RefusedError].
func (s Shelf) Open(q Query) (Opened, error) {
	wanted := q.Resume
	if wanted == "" && q.Continue {
		if info, err := s.Shelf.Newest(s.Cwd); err == nil {
			wanted = info.Path
		} else if !errors.Is(err, transcript.ErrNotFound) {
			return Opened{}, err
		}
	}
	if wanted == "" {
		return s.New(q.ID)
	}
	info, err := s.Shelf.Resolve(wanted, s.Cwd)
	if err != nil {
		if errors.Is(err, transcript.ErrNotFound) {
			err = published("No conversation found with session ID: " + q.Resume)
		}
		return Opened{}, &RefusedError{q.Resume, err}
	}
	if q.Fork || info.Guest {
		return s.fork(info, q)
	}
	return s.resume(info.Path, info.ID, q.At)
}

// New makes a new conversation; without an id under a random one.
func (s Shelf) New(id string) (Opened, error) {
	out := Opened{ID: id, Source: "startup"}
	if id == "" {
		out.ID = s.NewID()
	}
	if s.Nowhere {
		return out, nil
	}
	log, err := transcript.Create(s.Shelf.Path(s.Cwd, out.ID), s.Options(out.ID))
	if errors.Is(err, transcript.ErrExists) && id == "" { // a replay, in the home it was recorded in
		out.ID = uuid.NewString()
		log, err = transcript.Create(s.Shelf.Path(s.Cwd, out.ID), s.Options(out.ID))
	}
	out.Log = log
	return out, err
}

// Branch goes on in a copy of a conversation that is open, whose records were made durable.
func (s Shelf) Branch(from string, log *transcript.Transcript) (Opened, error) {
	id := s.NewID()
	to := s.Shelf.Path(s.Cwd, id)
	if err := transcript.Fork(log.Path(), to, id, ""); err != nil {
		return Opened{}, err
	}
	out, err := s.resume(to, id, "")
	out.Forked, out.From, out.Source = from, log.Path(), "fork"
	return out, err
}

func (s Shelf) fork(from transcript.Info, q Query) (Opened, error) {
	id := q.ID
	if id == "" {
		id = s.NewID()
	}
	if !q.Fork { // another program's conversation: a copy under its own id
		id = from.ID
	}
	to := s.Shelf.Path(s.Cwd, id)
	var copying error
	if q.Fork || q.At != "" {
		copying = transcript.Fork(from.Path, to, id, q.At)
	} else {
		copying = transcript.Adopt(from.Path, to, id)
	}
	if copying != nil {
		return Opened{}, refusedAt(from.ID, q.At, copying)
	}
	out, err := s.resume(to, id, "")
	out.Forked, out.From, out.Source = from.ID, from.Path, "fork"
	return out, err
}

func (s Shelf) resume(path, id, at string) (Opened, error) {
	log, loaded, err := transcript.Open(path, transcript.LoadOptions{At: at}, s.Options(id))
	if errors.Is(err, transcript.ErrBusy) {
		return Opened{}, &RefusedError{id, fmt.Errorf("the conversation %s is open in another process; go on in a copy with --fork-session", id)}
	}
	if err != nil {
		return Opened{}, refusedAt(id, at, err)
	}
	return Opened{ID: id, Log: log, Loaded: loaded, Source: "resume"}, nil
}

func refusedAt(id, at string, err error) error {
	if errors.Is(err, transcript.ErrNoMessage) {
		err = published("No message found with message.uuid of: " + at)
	}
	return &RefusedError{id, err}
}
