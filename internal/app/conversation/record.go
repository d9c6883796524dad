package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// The kinds of notes a session leaves in its transcript beside the messages.
const (
	NoteMode     = "mode"     // the permission mode, at each change
	NoteTask     = "task"     // a background task, at each change
	NoteTodo     = "todo"     // the list of things to do, at each change
	NoteCost     = "cost"     // what the conversation cost, at the end of each turn
	noteReplaced = "replaced" // a result that was replaced by a preview
)

// Begin takes over a conversation: its history, its notes and what people should know of it. It belongs to
// the worker.
func (c *Conversation) Begin(o Opened) {
	c.log.Store(o.Log)
	c.history, c.mode = nil, ""
	if o.Loaded == nil {
		return
	}
	c.history = o.Loaded.Messages
	if info, err := transcript.ReadInfo(o.Loaded.Path); err == nil {
		session.Rename(c.given.Session, info.CustomTitle)
		session.SetTitle(c.given.Session, info.AITitle)
	}
	c.waits.have(o.Loaded.Messages)
	for _, n := range o.Loaded.Notices {
		c.given.Stream.Early(proto.Notice{Level: "warning", Text: n.Text})
	}
	c.elsewhere(o.Loaded.Cwd, c.given.Session.Get().Cwd)
	for _, n := range o.Loaded.Notes { // one that cannot be read restores nothing
		switch n.Kind {
		case NoteMode:
			_ = json.Unmarshal(n.Data, &c.mode)
		case noteReplaced:
			var r shaping.Replacement
			if json.Unmarshal(n.Data, &r) == nil {
				c.shaper.Remember(r)
			}
		}
	}
	c.remember(c.history)
}

// Mode is the permission mode the transcript was last in; empty: it knows none. It belongs to the worker.
func (c *Conversation) Mode() string { return c.mode }

// elsewhere tells people and the model that a conversation goes on in another folder than it was in:
// what it says of files is true of that one.
func (c *Conversation) elsewhere(was, is string) {
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
		c.given.Stream.Early(proto.Notice{Level: "warning", Key: "elsewhere", Text: fmt.Sprintf("This conversation was in %s%s; it goes on in %s.", was, missing, is)})
	}
	c.Later(fmt.Sprintf("This conversation goes on in another folder: the working directory was %s and is now %s.%s Relative paths mean this folder from here on; look at its files again before you rely on what was said of those in %s.", was, is, told, was))
}

// Rename gives the conversation a name; empty changes nothing.
func (c *Conversation) Rename(title string) {
	if title == "" {
		return
	}
	session.Rename(c.given.Session, title)
	if err := c.Transcript().SetTitle(title); err != nil {
		c.emit(proto.Notice{Level: "warning", Key: "title", Text: err.Error()})
	}
}

// compacted sees to what a compaction changes: the border in the transcript, what was read, and what others
// keep of the conversation.
func (c *Conversation) compacted(v engine.View) {
	b := transcript.Boundary{Trigger: "auto"}
	for _, e := range v.Events {
		if x, ok := e.(proto.Compacted); ok {
			b.Trigger, b.PreTokens, b.PostTokens, b.FirstKept = x.Trigger, x.PreTokens, x.PostTokens, x.Tail
		}
	}
	if c.given.Turns.Bordered != nil {
		made := make([]string, len(v.Records))
		for i, m := range v.Records {
			made[i] = m.ID
		}
		c.given.Turns.Bordered(made)
	}
	c.Transcript().Boundary(b)
	c.given.Scope.Reads.Clear()
	if c.given.Turns.Compacted != nil {
		c.Later(c.given.Turns.Compacted(c.given.Context)...)
	}
}

// Compact summarises the conversation now, as the request says; its model is the present one. It waits for
// the model and belongs to the worker.
func (c *Conversation) Compact(ctx context.Context, r shaping.Request) error {
	c.emit(proto.Compacting{Active: true})
	view, err := c.shaper.Compact(ctx, c.history, byHand(c.given.Model, r))
	if err != nil {
		c.emit(proto.Compacting{Error: err.Error()})
		return fmt.Errorf("compact: %w; the conversation is as it was", err)
	}
	c.compacted(view)
	c.emit(proto.Compacting{})
	for _, e := range view.Events {
		c.emit(e)
	}
	c.history = view.History
	return c.recordAll(ctx, view.Records)
}

// Draft makes the summary that Compact would put into effect, and returns the id of the last message it is
// about. It waits for the model and belongs to the worker.
func (c *Conversation) Draft(ctx context.Context, r shaping.Request) (text, upto string, err error) {
	return c.shaper.Draft(ctx, c.history, byHand(c.given.Model, r))
}

func byHand(m Model, r shaping.Request) shaping.Request {
	model, opts := m.Now()
	r.Trigger, r.Model, r.Options = shaping.TriggerManual, model.Info(), opts
	return r
}

func (c *Conversation) recordAll(ctx context.Context, messages []msg.Message) error {
	for _, m := range messages {
		if err := c.record(ctx, m); err != nil {
			return err
		}
		c.emit(proto.Message{Message: m})
	}
	return nil
}

var errNotKept = errors.New("the conversation is not kept, so there is nothing to take the summary back from")

// TakeBack goes back to what the conversation was: restore says, from the transcript at path and the history,
// what was there before, what was said since and stays, and the id of the last record that stays. It
// belongs to the worker.
func (c *Conversation) TakeBack(ctx context.Context, restore func(path string, history []msg.Message) (before, since []msg.Message, last string, err error)) error {
	log := c.Transcript()
	if log == nil {
		return errNotKept
	}
	if err := log.Sync(); err != nil {
		return err
	}
	before, since, last, err := restore(log.Path(), c.history)
	if err != nil {
		return err
	}
	if err := log.Rewind(last); err != nil {
		return err
	}
	c.history = append(before, since...)
	c.remember(c.history)
	return c.recordAll(ctx, since)
}

// Length is how many messages the history has. It belongs to the worker.
func (c *Conversation) Length() int { return len(c.history) }

// Removed are the parts of the conversation that shaping leaves out of requests to a model.
func (c *Conversation) Removed(model string) []shaping.Removed {
	return c.shaper.Removed(model, c.Shown())
}

// Show has an item sent again that was left out, or leaves a result out, and reports whether that
// changed anything.
func (c *Conversation) Show(id string, on bool) bool { return c.shaper.Show(id, on) }
