package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func TestMain(m *testing.M) {
	if code, handled := HelperMain(); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// stage is a session with a scripted model in a folder of its own.
type stage struct {
	*Session
	t      *testing.T
	dir    string
	events <-chan proto.Event
}

func newStage(t *testing.T, text string, change ...func(*Options)) *stage {
	t.Helper()
	s, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	o := Options{
		Cwd: dir, Env: map[string]string{"HOME": home, "MYELIN_HOME": filepath.Join(home, ".myelin"), "PATH": os.Getenv("PATH")},
		Sources: Sources{Settings: `{"sandbox": {"enabled": false}}`}, Host: Host{Answers: true}, Version: "test",
	}
	for _, c := range change {
		c(&o)
	}
	session, err := open(t.Context(), o, script.New(s, script.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{Session: session, t: t, dir: dir}
	events := make(chan proto.Event, 1000)
	seq := session.Events(t.Context(), Reading{})
	go func() { // ends with the session
		defer close(events)
		for e := range seq {
			events <- e
		}
	}()
	st.events = events
	t.Cleanup(func() {
		if err := session.Close(context.Background()); err != nil && !errors.Is(err, errClosed) {
			t.Error(err)
		}
	})
	return st
}

// do carries out an operation that must be accepted.
func (st *stage) do(body proto.OpBody) {
	st.t.Helper()
	if err := st.Do(proto.O(body)); err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) say(text string) {
	st.t.Helper()
	st.do(proto.Prompt{Content: []msg.Block{msg.Text{Text: text}}})
}

// until reads events up to the first for which found holds, and returns all it read.
func (st *stage) until(what string, found func(proto.EventBody) bool) []proto.Event {
	st.t.Helper()
	var all []proto.Event
	timeout := time.After(30 * time.Second)
	for {
		select {
		case e, ok := <-st.events:
			if !ok {
				st.t.Fatalf("the stream ended before %s", what)
			}
			all = append(all, e)
			if found(e.Body) {
				return all
			}
		case <-timeout:
			st.t.Fatalf("no %s", what)
		}
	}
}

// result waits for the end of the turn.
func (st *stage) result() (proto.Result, []proto.Event) {
	st.t.Helper()
	var r proto.Result
	all := st.until("result", func(b proto.EventBody) bool {
		x, ok := b.(proto.Result)
		r = x
		return ok
	})
	return r, all
}

// asked waits for a question.
func (st *stage) asked() proto.Ask {
	st.t.Helper()
	var a proto.Ask
	st.until("question", func(b proto.EventBody) bool {
		x, ok := b.(proto.Ask)
		a = x
		return ok
	})
	return a
}

func count[B proto.EventBody](events []proto.Event) (n int) {
	for _, e := range events {
		if _, ok := e.Body.(B); ok {
			n++
		}
	}
	return n
}

const writing = `
turns:
  - content: [{tool: Write, id: a, input: {file_path: new.txt, content: "x"}}]
  - content: [{text: "Done."}]
`

func TestAnswerIsAskedForAndHolds(t *testing.T) {
	st := newStage(t, writing)
	st.say("go")
	a := st.asked()
	if a.Tool != "Write" || len(a.Options) < 3 {
		t.Errorf("asked %+v", a)
	}
	st.do(proto.Answer{ID: a.ID, Option: permission.AnswerSession, By: "user"})
	r, events := st.result()
	if r.IsError || r.Text != "Done." || r.Turns != 2 {
		t.Errorf("result %+v", r)
	}
	if count[proto.ModeChanged](events) != 1 || st.rooms.rights.mode() != "acceptEdits" {
		t.Errorf("the mode is %s, told %d times", st.rooms.rights.mode(), count[proto.ModeChanged](events))
	}
	if _, err := os.Stat(filepath.Join(st.dir, "new.txt")); err != nil {
		t.Error(err)
	}
}

func TestNoEndsTheTurn(t *testing.T) {
	st := newStage(t, writing)
	st.say("go")
	st.do(proto.Answer{ID: st.asked().ID, Behavior: "deny", By: "user"})
	r, _ := st.result()
	if r.Ended.Reason != proto.EndTools || len(r.Denials) != 1 || r.Denials[0].Tool != "Write" {
		t.Errorf("result %+v", r)
	}
}

// TestRuleTightenedBetweenTwoCalls: a rule that is added while an answer's first call runs stops its
// second.
func TestRuleTightenedBetweenTwoCalls(t *testing.T) {
	st := newStage(t, `
turns:
  - content:
      - {tool: Bash, id: a, input: {command: "touch one; while [ ! -e go ]; do sleep 0.02; done"}}
      - {tool: Bash, id: b, input: {command: "touch two"}}
  - content: [{text: "Done."}]
`, func(o *Options) { o.Allow = []string{"Bash"} })
	st.say("go")
	st.until("first call", func(b proto.EventBody) bool {
		c, ok := b.(proto.CallAnnounced)
		return ok && c.Call == "b"
	})
	waitFor(t, filepath.Join(st.dir, "one"))
	st.say("/permissions deny Bash(touch two)")
	st.until("rule", func(b proto.EventBody) bool { _, ok := b.(proto.LocalOutput); return ok })
	if err := os.WriteFile(filepath.Join(st.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := st.result()
	if _, err := os.Stat(filepath.Join(st.dir, "two")); err == nil || len(r.Denials) != 1 {
		t.Errorf("the second call ran: %+v", r.Denials)
	}
}

// waitFor waits until a file exists.
func waitFor(t *testing.T, path string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}

func TestKF098_QueuedPromptsAreDeliveredInOrder(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, id: a, input: {command: "sleep 60"}}]
  - expect: {contains: [one, two, three]}
    content: [{text: "All three."}]
`, func(o *Options) { o.Allow = []string{"Bash"} })
	st.say("go")
	st.until("call", func(b proto.EventBody) bool { _, ok := b.(proto.CallAnnounced); return ok })
	for _, text := range []string{"one", "two", "three"} {
		st.say(text)
	}
	st.do(proto.Interrupt{})
	if r, _ := st.result(); r.Ended.Reason != proto.EndTools {
		t.Errorf("the first turn ended with %s", r.Ended.Reason)
	}
	r, _ := st.result()
	if r.Text != "All three." {
		t.Errorf("the second turn: %+v", r)
	}
}

func TestUnqueueAndDuplicates(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, id: a, input: {command: "while [ ! -e go ]; do sleep 0.02; done"}}]
  - expect: {absent: [secret]}
    content: [{text: "Done."}]
`, func(o *Options) { o.Allow = []string{"Bash"} })
	st.say("go")
	st.until("call", func(b proto.EventBody) bool { _, ok := b.(proto.CallAnnounced); return ok })
	st.do(proto.Prompt{ID: "p1", Content: []msg.Block{msg.Text{Text: "secret"}}})
	st.do(proto.Unqueue{ID: "p1"})
	if err := st.Do(proto.O(proto.Unqueue{ID: "p1"})); err == nil {
		t.Error("a prompt could be taken back twice")
	}
	if err := os.WriteFile(filepath.Join(st.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, _ := st.result(); r.Text != "Done." {
		t.Errorf("%+v", r)
	}
}

func TestBackgroundTaskIsToldOnceAndOpensATurn(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, id: a, input: {command: "while [ ! -e go ]; do sleep 0.02; done; echo built", run_in_background: true}}]
  - content: [{text: "Started."}]
  - expect: {contains: ["task-notification"]}
    content: [{text: "It is built."}]
`, func(o *Options) { o.Allow = []string{"Bash"} })
	st.say("go")
	st.result()
	if err := os.WriteFile(filepath.Join(st.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, events := st.result()
	if r.Text != "It is built." || r.Origin != "task-notification" {
		t.Errorf("the second turn: %+v", r)
	}
	ends := count[proto.TaskEnded](events)
	if ends != 1 {
		t.Errorf("the end was told %d times", ends)
	}
}

func TestSettingsReloadTightensARunningSession(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, id: a, input: {command: "touch one"}}]
  - content: [{text: "one"}]
  - content: [{tool: Bash, id: b, input: {command: "touch two"}}]
  - content: [{text: "two"}]
`, func(o *Options) { o.Allow = []string{"Bash"} })
	st.say("go")
	st.result()
	file := filepath.Join(st.rooms.settings.places.Home, "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"permissions": {"deny": ["Bash(touch *)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	st.rooms.settings.live.Reload(t.Context())
	st.say("again")
	r, _ := st.result()
	if len(r.Denials) != 1 {
		t.Errorf("denials %+v", r.Denials)
	}
}

func TestClearBeginsANewConversation(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{text: "first"}]
  - expect: {absent: [remember]}
    content: [{text: "second"}]
`)
	old := st.State().Session.ID
	st.say("remember this")
	st.result()
	st.say("/clear")
	r, events := st.result()
	if count[proto.SessionReset](events) != 1 || st.State().Session.ID == old || r.Turns != 0 {
		t.Errorf("id %s, result %+v", st.State().Session.ID, r)
	}
	st.say("hello")
	if r, _ := st.result(); r.Text != "second" {
		t.Errorf("%+v", r)
	}
}

func TestGrantsStayAcrossBranchAndGoInANewProcess(t *testing.T) {
	st := newStage(t, "turns:\n  - content: [{text: hi}]\n")
	st.say("hello")
	st.result()
	st.rooms.rights.grant(proto.PermissionUpdate{Type: "addRules", Behavior: "allow", Destination: "session", Rules: []proto.RuleValue{{ToolName: "Bash", RuleContent: "make *"}}})
	st.say("/branch")
	st.result()
	has := func(s *Session) bool {
		return slices.ContainsFunc(s.rooms.part.permission.Get().AllRules(), func(r permission.Rule) bool { return strings.Contains(r.Text, "make") })
	}
	if !has(st.Session) {
		t.Error("the grant was lost at /branch")
	}
	id, opts := st.State().Session.ID, st.rooms.opts
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.Resume = id
	again, err := open(t.Context(), opts, st.rooms.models.begun)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(context.Background())
	if has(again) {
		t.Error("the grant outlived its process")
	}
	if n := again.rooms.main.Length(); n < 2 {
		t.Errorf("%d messages were resumed", n)
	}
}

func TestReactionsHaveNoCycle(t *testing.T) {
	set := map[string]string{}
	for _, r := range reactions() {
		for _, slice := range r.reads {
			if by, ok := set[slice]; ok && by == r.name {
				t.Errorf("%q reads and sets %s", r.name, slice)
			}
		}
		for _, slice := range r.sets {
			set[slice] = r.name
		}
	}
	// Nothing that an earlier reaction reads may be set by a later one.
	for i, early := range reactions() {
		for _, late := range reactions()[i+1:] {
			for _, slice := range late.sets {
				if slices.Contains(early.reads, slice) {
					t.Errorf("%q sets %s, which %q reads: the order has a cycle", late.name, slice, early.name)
				}
			}
		}
	}
}

func TestRefusedResume(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Options{Cwd: dir, Env: map[string]string{"HOME": dir}, ModelChoice: ModelChoice{Model: "offline"}, Thread: Thread{Resume: "0000"}})
	var refused *conversation.RefusedError
	if !errors.As(err, &refused) || refused.Session != "0000" {
		t.Errorf("got %v", err)
	}
}

func TestSurfacesComeAndGoWithoutTrace(t *testing.T) {
	st := newStage(t, "turns:\n  - content: [{text: hi}]\n")
	for i := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		st.Events(ctx, Reading{})
		st.do(proto.Attach{Surface: fmt.Sprint(i), Kind: "web"})
		st.do(proto.Detach{Surface: fmt.Sprint(i)})
		cancel()
	}
	if n := len(st.State().Surfaces.ByID); n != 0 {
		t.Errorf("%d surfaces are left", n)
	}
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to rest")
		}
		<-time.After(time.Millisecond)
	}
}

func TestTodosAndCostsStayWithTheConversation(t *testing.T) {
	st := newStage(t, `turns:
  - content: [{tool: ToolSearch, input: {query: "select:TaskCreate"}}]
  - content: [{tool: TaskCreate, input: {subject: "Mend it", description: "the parser"}}]
  - content: [{text: Done}]
    usage: {input: 100, output: 7}
`)
	st.say("go")
	st.result()
	before := st.State()
	id, opts := before.Session.ID, st.rooms.opts
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts.Resume = id
	again, err := open(t.Context(), opts, st.rooms.models.begun)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(context.Background())
	if items := again.State().Todo.Items; len(items) != 1 || items[0].Subject != "Mend it" {
		t.Errorf("to do after the resume: %+v", items)
	}
	if was, is := before.Cost.Total, again.State().Cost.Total; was != is || is.Output == 0 {
		t.Errorf("cost was %+v, is %+v", was, is)
	}
}

func TestHooksHearOfADirectoryThatIsAdded(t *testing.T) {
	told := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an empty one fails below
		told <- string(body)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	st := newStage(t, "turns:\n  - content: [{text: hi}]\n", func(o *Options) {
		o.Settings = `{"sandbox": {"enabled": false}, "hooks": {"DirectoryAdded": [{"hooks": [{"type": "http", "url": "` + server.URL + `"}]}]}}`
	})
	st.rooms.rights.grant(proto.PermissionUpdate{Type: "addDirectories", Destination: "session", Directories: []string{dir}})
	select {
	case body := <-told:
		if !strings.Contains(body, `"directory":"`+dir+`"`) || !strings.Contains(body, `"source":"slash_command"`) {
			t.Error(body)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no hook was called")
	}
}

// A conversation keeps the mode it is in, however it came into it, through every resume.
func TestTheModeIsKeptThroughResumes(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	at := func(o *Options) {
		o.Cwd, o.Env["HOME"], o.Env["MYELIN_HOME"] = dir, home, filepath.Join(home, ".myelin")
	}
	st := newStage(t, `turns: [{content: [{text: one}]}]`, at, func(o *Options) { o.Mode = "plan" })
	st.say("begin")
	st.result()
	id := st.View().Session
	for i, change := range []string{"", "", "acceptEdits", "", "default", ""} {
		want := st.rooms.rights.mode()
		if err := st.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		st = newStage(t, `turns: [{content: [{text: more}]}]`, at, func(o *Options) { o.Resume = filepath.Base(id) })
		if got := st.rooms.rights.mode(); got != want {
			t.Fatalf("resume %d: mode %s, want %s", i+1, got, want)
		}
		if change != "" {
			st.do(proto.SetMode{Mode: change})
		}
		st.say("go on")
		st.result()
	}
}

// A session owns its main conversation and can own others: each with its own scope, abort, slices and purse,
// over the same gate, pool and store.
func TestAgentsAreConversationsOfTheirOwn(t *testing.T) {
	st := newStage(t, `
turns:
  - {when: {contains: "agent a1"}, content: [{tool: Bash, input: {command: "echo one"}}]}
  - {when: {contains: "agent a2"}, content: [{tool: Bash, input: {command: "echo two"}}]}
  - {when: {contains: "agent a3"}, content: [{tool: Bash, input: {command: "echo three"}}]}
  - {when: {contains: "one"}, content: [{text: said one}]}
  - {when: {contains: "two"}, content: [{text: said two}]}
  - {when: {contains: "three"}, content: [{text: said three}]}
  - {content: [{text: said by the main one}]}
`, bypass)
	var ended sync.WaitGroup
	ctx, end := context.WithCancel(st.rooms.ctx)
	defer ended.Wait()
	defer end()
	for _, id := range []string{"a1", "a2", "a3"} {
		own := partsOf(store.New(emptyState(st.State().Process), func(store.Change[State]) {}, func(v any) { panic(v) }))
		c := newConversation(ctx, st.rooms, tool.NewScope(id, st.dir), agentSlices{own.session, own.shaping})
		ended.Go(c.Work)
		if err := c.Prompt(proto.Prompt{Content: []msg.Block{msg.Text{Text: "agent " + id}}}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"a1": "said one", "a2": "said two", "a3": "said three"}
	got := map[string]string{}
	for len(got) < len(want) {
		select {
		case e := <-st.events:
			if r, ok := e.Body.(proto.Result); ok {
				got[e.Agent] = r.Text
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("only %v have ended", got)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the agents ended with %v, want %v", got, want)
	}
	if now := st.State(); now.Session.Cwd != st.dir || now.Session.Activity == session.Running || st.rooms.main.Length() != 0 {
		t.Errorf("the main conversation was changed: %+v, %d messages", now.Session, st.rooms.main.Length())
	}
	for id := range want {
		if used, _ := st.State().Cost.ByAgent.Get(id); used.Requests != 2 {
			t.Errorf("agent %s made %d requests", id, used.Requests)
		}
	}
	st.say("and you")
	if r, _ := st.result(); r.Text != "said by the main one" {
		t.Errorf("the main conversation ended with %+v", r)
	}
}
