package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/todo"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// The kinds of notes a session leaves in its transcript beside the messages.
const (
	noteMode     = "mode"     // the permission mode, at each change
	noteReplaced = "replaced" // a result that was replaced by a preview
	noteTask     = "task"     // a background task, at each change
	noteTodo     = "todo"     // the list of things to do, at each change
	noteCost     = "cost"     // what the conversation cost, at the end of each turn
)

// shelf is where transcripts of this session's home are.
func (r *rooms) shelf() transcript.Shelf { return shelfOf(r.settings.places) }

// opened is the conversation a session begins with.
type opened struct {
	id     string
	log    *transcript.Transcript
	loaded *transcript.Loaded // nil: a new conversation
	forked string             // id of the conversation it is a copy of
	from   string             // path of its transcript
	source string             // startup, resume, fork
}

// openTranscript finds or makes the conversation that the options name.
func (s *Session) openTranscript(o Options) (opened, error) {
	shelf := s.rooms.shelf()
	query, asked := o.Resume, o.Resume
	if query == "" && o.Continue {
		if info, err := shelf.Newest(o.Cwd); err == nil {
			query = info.Path
		} else if !errors.Is(err, transcript.ErrNotFound) {
			return opened{}, err
		}
	}
	if query == "" {
		return s.newTranscript(o.SessionID)
	}
	info, err := shelf.Resolve(query, o.Cwd)
	if err != nil {
		if errors.Is(err, transcript.ErrNotFound) {
			return opened{}, &RefusedError{asked, published("No conversation found with session ID: " + asked)}
		}
		return opened{}, &RefusedError{asked, err}
	}
	if o.Fork || info.Guest {
		return s.forkTranscript(info, o)
	}
	return s.resumeTranscript(info.Path, info.ID, o.ResumeAt)
}

func (s *Session) newTranscript(id string) (opened, error) {
	if id == "" {
		id = s.rooms.clock.newID()
	}
	out := opened{id: id, source: "startup"}
	if s.rooms.opts.NoPersist {
		return out, nil
	}
	log, err := transcript.Create(s.rooms.shelf().Path(s.rooms.opts.Cwd, id), s.transcriptOptions(id))
	if errors.Is(err, transcript.ErrExists) && s.rooms.opts.SessionID == "" { // a replay, in the home it was recorded in
		out.id = uuid.NewString()
		log, err = transcript.Create(s.rooms.shelf().Path(s.rooms.opts.Cwd, out.id), s.transcriptOptions(out.id))
	}
	out.log = log
	return out, err
}

func (s *Session) forkTranscript(from transcript.Info, o Options) (opened, error) {
	id := o.SessionID
	if id == "" {
		id = s.rooms.clock.newID()
	}
	if !o.Fork { // another program's conversation: a copy under its own id
		id = from.ID
	}
	to := s.rooms.shelf().Path(o.Cwd, id)
	var copying error
	if o.Fork || o.ResumeAt != "" {
		copying = transcript.Fork(from.Path, to, id, o.ResumeAt)
	} else {
		copying = transcript.Adopt(from.Path, to, id)
	}
	if copying != nil {
		return opened{}, refusedAt(from.ID, o.ResumeAt, copying)
	}
	out, err := s.resumeTranscript(to, id, "")
	out.forked, out.from, out.source = from.ID, from.Path, "fork"
	return out, err
}

func (s *Session) resumeTranscript(path, id, at string) (opened, error) {
	log, loaded, err := transcript.Open(path, transcript.LoadOptions{At: at}, s.transcriptOptions(id))
	if errors.Is(err, transcript.ErrBusy) {
		return opened{}, &RefusedError{id, fmt.Errorf("the conversation %s is open in another process; go on in a copy with --fork-session", id)}
	}
	if err != nil {
		return opened{}, refusedAt(id, at, err)
	}
	return opened{id: id, log: log, loaded: loaded, source: "resume"}, nil
}

func refusedAt(id, at string, err error) error {
	if errors.Is(err, transcript.ErrNoMessage) {
		err = published("No message found with message.uuid of: " + at)
	}
	return &RefusedError{id, err}
}

func (s *Session) transcriptOptions(id string) transcript.Options {
	return transcript.Options{
		Session: id, Version: s.rooms.opts.Version, Now: s.rooms.clock.now, NewID: s.rooms.clock.newID, State: s.rooms.part.transcript,
		Cwd:    func() string { return s.rooms.part.session.Get().Cwd },
		Branch: s.rooms.branch,
	}
}

// begin takes over a conversation: its history, its notes and what people should know of it.
func (s *Session) begin(o opened) {
	s.rooms.log.Store(&o.log)
	s.rooms.source = o.source
	dir := filepath.Dir(s.rooms.shelf().Path(s.rooms.opts.Cwd, o.id))
	session.Become(s.rooms.part.session, o.id, dir, o.forked)
	s.history = nil
	if o.loaded == nil {
		return
	}
	s.history = o.loaded.Messages
	if info, err := transcript.ReadInfo(o.loaded.Path); err == nil {
		session.Rename(s.rooms.part.session, info.CustomTitle)
		session.SetTitle(s.rooms.part.session, info.AITitle)
	}
	s.mu.Lock()
	for _, m := range o.loaded.Messages {
		s.seen[m.ID] = true
	}
	s.mu.Unlock()
	for _, n := range o.loaded.Notices {
		s.rooms.events.Early(proto.Notice{Level: "warning", Text: n.Text})
	}
	s.elsewhere(o.loaded.Cwd, s.rooms.part.session.Get().Cwd)
	s.notes(o.loaded, o.forked != "")
	s.rooms.limits.spending.Begin()
	if o.from != "" {
		s.rooms.rights.notes.Follow(transcript.SessionDir(o.from))
	}
	if text := s.rooms.rights.notes.Announce(); text != "" {
		s.later(text)
	}
	s.remember(s.history)
}

// elsewhere tells people and the model that a conversation goes on in another folder than it was in:
// what it says of files is true of that one.
func (s *Session) elsewhere(was, is string) {
	if was == "" || was == is {
		return
	}
	old, gone := os.Stat(was)
	if now, err := os.Stat(is); gone == nil && err == nil && os.SameFile(old, now) {
		return
	}
	told, missing := "", ""
	if errors.Is(gone, fs.ErrNotExist) {
		told, missing = " "+was+" is no longer there.", ", which is no longer there"
	}
	if rel, err := filepath.Rel(is, was); err != nil || !filepath.IsLocal(rel) || missing != "" { // not just back from a folder below
		s.rooms.events.Early(proto.Notice{Level: "warning", Key: "elsewhere", Text: fmt.Sprintf("This conversation was in %s%s; it goes on in %s.", was, missing, is)})
	}
	s.later(fmt.Sprintf("This conversation goes on in another folder: the working directory was %s and is now %s.%s Relative paths mean this folder from here on; look at its files again before you rely on what was said of those in %s.", was, is, told, was))
}

// notes restores what was noted beside the messages. What a conversation cost stays with it: a fork
// begins at nothing. A note that cannot be read restores nothing.
func (s *Session) notes(l *transcript.Loaded, forked bool) {
	tasks := map[string]task.Task{}
	var order []string
	for _, n := range l.Notes {
		switch n.Kind {
		case noteMode:
			_ = json.Unmarshal(n.Data, &s.rooms.recorded)
		case noteTodo:
			var t todo.State
			if json.Unmarshal(n.Data, &t) == nil {
				s.rooms.part.todo.Set(func(*todo.State) *todo.State { return &t })
			}
		case noteCost:
			var c cost.State
			if !forked && json.Unmarshal(n.Data, &c) == nil {
				c.Budgets, c.Turn = nil, cost.Usage{}
				s.rooms.part.cost.Set(func(*cost.State) *cost.State { return &c })
			}
		case noteReplaced:
			var r shaping.Replacement
			if json.Unmarshal(n.Data, &r) == nil {
				s.rooms.shaper.Remember(r)
			}
		case noteTask:
			var t task.Task
			if json.Unmarshal(n.Data, &t) == nil {
				if _, known := tasks[t.ID]; !known {
					order = append(order, t.ID)
				}
				tasks[t.ID] = t
			}
		}
	}
	var recorded []task.Task
	for _, id := range order {
		recorded = append(recorded, tasks[id])
	}
	if len(recorded) > 0 {
		last := s.rooms.clock.now()
		if n := len(l.Messages); n > 0 && !l.Messages[n-1].Time.IsZero() {
			last = l.Messages[n-1].Time
		}
		restored := task.Resumed(recorded, last, serviceLives)
		s.rooms.part.task.Set(func(*task.State) *task.State { return restored })
	}
}

// record keeps a message in the transcript.
func (r *rooms) record(_ context.Context, m msg.Message) error { return r.transcript().Append(m) }

// transcript is the file in use; nil keeps nothing.
func (r *rooms) transcript() *transcript.Transcript {
	if p := r.log.Load(); p != nil {
		return *p
	}
	return nil
}

// keep keeps the newest value under a key beside the messages, where it outlives compactions. One
// that cannot be written is not worth a turn.
func (s *Session) keep(kind, key string, data any) {
	if err := s.rooms.transcript().Keep(kind, key, data); err != nil {
		s.rooms.events.Emit(proto.Notice{Level: "warning", Key: "note", Text: err.Error()})
	}
}

// remember keeps the conversation for the classifier's eyes.
func (s *Session) remember(history []msg.Message) {
	s.sceneMu.Lock()
	defer s.sceneMu.Unlock()
	s.sceneMessages = history
}

func (s *Session) noteForClassifier(notes []string) {
	s.sceneMu.Lock()
	defer s.sceneMu.Unlock()
	s.classifierNotes = append(s.classifierNotes, notes...)
}

// cmdClear begins a new conversation under another id.
func cmdClear(_ context.Context, s *Session, _ string) (string, error) {
	o, err := s.newTranscript("")
	if err != nil {
		return "", err
	}
	o.source = "clear"
	return "", s.switchTo(o, "clear")
}

// cmdResume goes on with another conversation.
func cmdResume(_ context.Context, s *Session, args string) (string, error) {
	if args == "" {
		return "", errors.New("/resume needs a session id or title; myelin sessions lists them")
	}
	o := s.rooms.opts
	o.Resume, o.Continue, o.Fork, o.ResumeAt, o.SessionID = args, false, false, "", ""
	next, err := s.openTranscript(o)
	if err != nil {
		return "", err
	}
	if err := s.switchTo(next, "resume"); err != nil {
		return "", err
	}
	return fmt.Sprintf("Going on with %s: %d messages.", next.id, len(s.history)), nil
}

// cmdBranch goes on in a copy of this conversation; grants stay, since the project root does.
func cmdBranch(_ context.Context, s *Session, _ string) (string, error) {
	log := s.rooms.transcript()
	if log == nil || len(s.history) == 0 {
		return "", errors.New("/branch: nothing was said yet that could be copied")
	}
	if err := log.Sync(); err != nil {
		return "", err
	}
	from := s.rooms.part.session.Get().ID
	id := s.rooms.clock.newID()
	to := s.rooms.shelf().Path(s.rooms.opts.Cwd, id)
	if err := transcript.Fork(log.Path(), to, id, ""); err != nil {
		return "", err
	}
	next, err := s.resumeTranscript(to, id, "")
	if err != nil {
		return "", err
	}
	next.forked, next.from, next.source = from, log.Path(), "fork"
	return "Going on in a copy, " + id + ".", s.switchTo(next, "branch")
}

// switchTo leaves the conversation for another one.
func (s *Session) switchTo(o opened, trigger string) error {
	old := s.rooms.part.session.Get().ID
	s.rooms.hooks.end(s.ctx, trigger)
	s.rooms.limits.spending.Account()
	if err := s.rooms.transcript().Close(); err != nil {
		return err
	}
	s.rooms.hooks.set.ForgetEnv()
	s.rooms.door.close(false)
	s.rooms.scope.Reads.Clear()
	s.begin(o)
	s.rooms.tasks.adopt()
	s.rooms.instructions.reload()
	s.rooms.instructions.reloaded.Store(false)
	s.rooms.events.Emit(proto.SessionReset{Old: old, New: o.id, Trigger: trigger})
	return nil
}
