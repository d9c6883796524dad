package conversation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

func newShelf(t *testing.T) Shelf {
	home := t.TempDir()
	return Shelf{
		Shelf: transcript.Shelf{Home: home}, Cwd: t.TempDir(), NewID: uuid.NewString,
		Options: func(id string) transcript.Options {
			return transcript.Options{Session: id, Now: time.Now, NewID: uuid.NewString}
		},
	}
}

// spoken is a conversation of two messages, closed.
func spoken(t *testing.T, s Shelf) (Opened, []msg.Message) {
	t.Helper()
	o, err := s.New("")
	if err != nil {
		t.Fatal(err)
	}
	messages := []msg.Message{
		{ID: uuid.NewString(), Role: msg.User, Origin: msg.FromHuman, Content: []msg.Block{msg.Text{Text: "question"}}},
		{ID: uuid.NewString(), Role: msg.Assistant, Content: []msg.Block{msg.Text{Text: "answer"}}},
	}
	for _, m := range messages {
		if err := o.Log.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Log.Close(); err != nil {
		t.Fatal(err)
	}
	return o, messages
}

func TestConversationsAreFoundOrMade(t *testing.T) {
	s := newShelf(t)
	first, messages := spoken(t, s)
	copied := uuid.NewString()
	for name, c := range map[string]struct {
		query  Query
		source string
		id     string // empty: another one
		length int
	}{
		"a new one":               {Query{}, "startup", "", 0},
		"the newest":              {Query{Continue: true}, "resume", first.ID, 2},
		"by its id":               {Query{Resume: first.ID}, "resume", first.ID, 2},
		"up to a message":         {Query{Resume: first.ID, At: messages[0].ID, Fork: true}, "fork", "", 1},
		"a copy under a given id": {Query{Resume: first.ID, Fork: true, ID: copied}, "fork", copied, 2},
	} {
		t.Run(name, func(t *testing.T) {
			from := s
			if c.query.Continue { // the others make newer ones
				from = newShelf(t)
				first, _ := spoken(t, from)
				c.id = first.ID
			}
			o, err := from.Open(c.query)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Log.Close()
			length := 0
			if o.Loaded != nil {
				length = len(o.Loaded.Messages)
			}
			if o.Source != c.source || length != c.length || (c.id != "" && o.ID != c.id) || (c.id == "" && o.ID == first.ID) {
				t.Errorf("got %+v with %d messages", o, length)
			}
			if c.source == "fork" && o.Forked != first.ID {
				t.Errorf("it is a copy of %q", o.Forked)
			}
		})
	}
	none, err := newShelf(t).Open(Query{Continue: true})
	if err != nil || none.Source != "startup" {
		t.Errorf("nothing to continue: %+v, %v", none, err)
	}
	nowhere := s
	nowhere.Nowhere = true
	if o, err := nowhere.New(""); err != nil || o.Log != nil || o.ID == "" {
		t.Errorf("kept nowhere: %+v, %v", o, err)
	}
}

func TestConversationsThatCannotBeGoneOnWithAreRefused(t *testing.T) {
	s := newShelf(t)
	first, messages := spoken(t, s)
	for name, c := range map[string]struct {
		query Query
		want  string
	}{
		"unknown":         {Query{Resume: "00000000-0000-4000-8000-000000000000"}, "No conversation found with session ID: 0000"},
		"unknown message": {Query{Resume: first.ID, At: "nothing"}, "No message found with message.uuid of: nothing"},
		"in the copy":     {Query{Resume: first.ID, At: "nothing", Fork: true}, "No message found with message.uuid of: nothing"},
	} {
		_, err := s.Open(c.query)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.ResumeRefused() == "" || errors.Unwrap(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	open, err := s.Open(Query{Resume: first.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Log.Close()
	if _, err := s.Open(Query{Resume: first.ID}); err == nil || !strings.Contains(err.Error(), "--fork-session") {
		t.Errorf("open twice: %v", err)
	}
	branch, err := s.Branch(first.ID, open.Log)
	if err != nil || branch.Forked != first.ID || len(branch.Loaded.Messages) != len(messages) {
		t.Fatalf("a copy of one that is open: %+v, %v", branch, err)
	}
	if err := branch.Log.Close(); err != nil {
		t.Error(err)
	}
}

func TestAConversationIsGoneOnWith(t *testing.T) {
	s := newShelf(t)
	first, messages := spoken(t, s)
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(Query{Resume: first.ID})
	if err != nil {
		t.Fatal(err)
	}
	st := on(t, t.Context(), "", "turns: [{expect: {contains: [question, answer]}, content: [{text: more}]}]", costSlice(), func(st *stand) {
		st.begin = o
		st.begin.Loaded.Cwd = gone
		st.given.Session.Set(sessionAt(filepath.Dir(gone)))
		if err := os.Remove(gone); err != nil {
			t.Error(err)
		}
	})
	if n := told[proto.Notice](st); len(n) != 1 || !strings.Contains(n[0].Text, "no longer there") {
		t.Errorf("told %+v", n)
	}
	if err := st.Prompt(proto.Prompt{ID: messages[0].ID, Content: messages[0].Content}, "test"); err != nil { // it has that one
		t.Fatal(err)
	}
	st.Rename("a name")
	st.say(t, "go on")
	if r := st.result(t, 1); r.Text != "more" || st.Length() != 5 {
		t.Errorf("ended with %+v, %d messages", r.Ended, st.Length())
	}
	if got := st.given.Session.Get().Name; got != "a name" {
		t.Errorf("the name is %q", got)
	}
	if err := st.Durable(); err != nil {
		t.Error(err)
	}
	if err := st.Transcript().Close(); err != nil {
		t.Fatal(err)
	}
	again, err := s.Open(Query{Resume: "a name"})
	if err != nil || len(again.Loaded.Messages) != 5 {
		t.Fatalf("found by its name: %+v, %v", again, err)
	}
	if err := again.Log.Close(); err != nil {
		t.Error(err)
	}
}

// A transcript that cannot be written any more ends the turn; nothing is told that was not kept.
func TestWhatCannotBeRecordedIsNotTold(t *testing.T) {
	s := newShelf(t)
	o, err := s.New("")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Log.Close(); err != nil {
		t.Fatal(err)
	}
	st := on(t, t.Context(), "", "turns: [{content: [{text: unheard}]}]", costSlice(), func(st *stand) { st.begin = o })
	st.say(t, "hello")
	if r := st.result(t, 1); r.Subtype != "error_during_execution" || len(st.texts(msg.Assistant)) != 0 {
		t.Errorf("ended with %+v after %q", r, st.texts(msg.Assistant))
	}
	st.Keep("kind", "key", 1)
	st.Rename("name")
	if n := told[proto.Notice](st); len(n) < 2 {
		t.Errorf("what could not be noted was not told: %+v", n)
	}
}
