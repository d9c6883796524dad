package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

// slices of state that conversations of one test share.
type state struct {
	Cost    *cost.State
	Session *session.State
	Shaping *shaping.State
}

func part[S any](s *store.Store[state], at func(*state) **S) store.Slice[S] {
	return store.Focus(s, func(w *state) *S { return *at(w) }, func(w *state, next *S) *state {
		c := *w
		*at(&c) = next
		return &c
	})
}

func newStore() *store.Store[state] {
	return store.New(state{&cost.State{}, &session.State{Interactive: true}, &shaping.State{}}, func(store.Change[state]) {}, func(v any) { panic(v) })
}

// sessionAt is a session that stands in a folder.
func sessionAt(dir string) func(*session.State) *session.State {
	return func(prev *session.State) *session.State {
		next := *prev
		next.Cwd = dir
		return &next
	}
}

// stand is a conversation with a scripted model, whose events are kept.
type stand struct {
	*Conversation
	given Given
	tools []tool.Tool
	begin Opened
	end   context.CancelFunc

	mu     sync.Mutex // guards the rest
	events []proto.Event
	heard  chan struct{} // closed at the next event
}

// on makes a conversation of an agent. change may change what it is handed.
func on(t *testing.T, ctx context.Context, agent, text string, costs cost.Slice, change ...func(*stand)) *stand {
	t.Helper()
	sc, err := script.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(ctx)
	model, own, ids := script.New(sc, script.Options{}), newStore(), 0
	st := &stand{end: end, heard: make(chan struct{}), tools: []tool.Tool{echo("Echo")}}
	st.given = Given{
		Context: ctx, Scope: tool.NewScope(agent, t.TempDir()), Limits: func() engine.Limits { return engine.Limits{Retries: -1} },
		Effects: engine.Effects{Now: time.Now, NewID: func() string {
			st.mu.Lock()
			defer st.mu.Unlock()
			ids++
			return fmt.Sprint(agent, "#", ids)
		}},
		Session: part(own, func(s *state) **session.State { return &s.Session }), Cost: costs,
		Shaping: shaping.Config{State: part(own, func(s *state) **shaping.State { return &s.Shaping })},
		Stream:  Stream{Tell: st.tell, Hold: func(context.Context) {}, Early: func(b proto.EventBody) { st.tell(proto.E(b)) }},
		Model: Model{
			Now:  func() (provider.Model, provider.Options) { return model, provider.Options{} },
			Info: func(string) (provider.Info, bool) { return provider.Info{}, false }, Mode: func() string { return "default" },
			System: func(context.Context) ([]msg.Block, error) { return []msg.Block{msg.Text{Text: "system"}}, nil },
			Tools:  func() []tool.Tool { return st.tools }, Names: func() []string { return nil },
			Front: func(_ context.Context, m []msg.Message) ([]msg.Message, error) { return m, nil },
			Ask: func(context.Context, provider.Request) ([]msg.Block, error) {
				return []msg.Block{msg.Text{Text: "<summary>what was said</summary>"}}, nil
			},
		},
		Calls: func() Calls { return st.calls() },
		Budget: Budget{
			May:   func(context.Context) *proto.Ended { return nil },
			Admit: func(provider.Info, provider.Request) *tool.End { return nil },
			After: func(_ provider.Info, calls bool) *tool.End {
				if over := cost.Over(costs.Get(), agent, cost.Usage{Requests: 1}, time.Now()); calls && over != nil {
					return &tool.End{Reason: over.Error(), Outcome: string(proto.EndBudget)}
				}
				return nil
			},
			Spent: func(x engine.Spending) {
				cost.Book(costs, cost.Entry{Model: x.Model, Lane: x.Lane, Agent: agent, Usage: x.Usage})
			},
		},
	}
	for _, c := range change {
		c(st)
	}
	st.Conversation = New(st.given)
	st.Begin(st.begin)
	done := make(chan struct{})
	go func() { // ends with the conversation
		defer close(done)
		st.Work()
	}()
	t.Cleanup(func() {
		end()
		<-done
	})
	return st
}

func (st *stand) calls() Calls {
	return Calls{
		Authorize: func(_ context.Context, call tool.Call, traits tool.Traits) (engine.Verdict, error) {
			at := slices.IndexFunc(st.tools, func(t tool.Tool) bool { return t.Spec().Name == call.Name })
			d, err := tool.Decide(st.tools[at], call, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) { return tool.Ruling{Allow: true}, nil })
			return engine.Verdict{Run: d}, err
		},
		Amend: func(_ context.Context, _ tool.Call, r tool.Result) (tool.Result, *tool.End, error) {
			return r, nil, nil
		},
		Batch:   func(context.Context, []tool.Done) (*tool.End, error) { return nil, nil },
		Outcome: func() ([]proto.Denial, *proto.DeferredCall) { return nil, nil },
	}
}

func (st *stand) tell(e proto.Event) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, e)
	close(st.heard)
	st.heard = make(chan struct{})
}

func (st *stand) say(t *testing.T, text string) {
	t.Helper()
	if err := st.Prompt(proto.Prompt{Content: []msg.Block{msg.Text{Text: text}}}, "test"); err != nil {
		t.Fatal(err)
	}
}

// result waits for the n-th result.
func (st *stand) result(t *testing.T, n int) proto.Result {
	t.Helper()
	for {
		st.mu.Lock()
		heard, left := st.heard, n
		for _, e := range st.events {
			if r, ok := e.Body.(proto.Result); ok {
				if left--; left == 0 {
					st.mu.Unlock()
					return r
				}
			}
		}
		st.mu.Unlock()
		select {
		case <-heard:
		case <-t.Context().Done():
			t.Fatal("no result came")
		}
	}
}

// told are the events of one kind.
func told[B proto.EventBody](st *stand) (out []B) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, e := range st.events {
		if b, ok := e.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// texts are the texts of the messages with an origin, in order.
func (st *stand) texts(role msg.Role) (out []string) {
	for _, m := range told[proto.Message](st) {
		if m.Message.Role == role {
			if text := msg.TextOf(m.Message.Content); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

type echoed struct {
	Text string `json:"text"`
}

func spec(name string) tool.Spec {
	return tool.Spec{Name: name, Schema: json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}}`)}
}

func echo(name string) tool.Tool {
	return tool.New(spec(name), func(_ context.Context, in echoed, _ tool.Call) (tool.Result, error) {
		return tool.Result{Content: []msg.Block{msg.Text{Text: "echo " + in.Text}}}, nil
	})
}

// waits is a tool that tells when it runs and returns when it may, or its context ends.
func waits(name string) (t tool.Tool, running, may chan struct{}) {
	running, may = make(chan struct{}), make(chan struct{})
	return tool.New(spec(name), func(ctx context.Context, _ echoed, _ tool.Call) (tool.Result, error) {
		close(running)
		select {
		case <-may:
			return tool.Result{Content: []msg.Block{msg.Text{Text: "waited"}}}, nil
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}), running, may
}

func costSlice() cost.Slice { return part(newStore(), func(s *state) **cost.State { return &s.Cost }) }

const calls = "turns:\n  - content: [{tool: %s, input: {text: x}}]\n  - content: [{text: done %s}]\n"

func TestThreeAgentsSideBySide(t *testing.T) {
	costs := costSlice()
	root := on(t, t.Context(), "", fmt.Sprintf(calls, "Echo", "root"), costs)
	wait := func(name string) (func(*stand), chan struct{}, chan struct{}) {
		w, running, may := waits(name)
		return func(st *stand) { st.tools = []tool.Tool{w} }, running, may
	}
	aTools, aRuns, _ := wait("WaitA")
	bTools, bRuns, bMay := wait("WaitB")
	cTools, cRuns, cMay := wait("WaitC")
	a := on(t, root.given.Context, "a", fmt.Sprintf(calls, "WaitA", "a"), costs, aTools)
	b := on(t, root.given.Context, "b", fmt.Sprintf(calls, "WaitB", "b"), costs, bTools)
	c := on(t, root.given.Context, "c", fmt.Sprintf(calls, "WaitC", "c"), costs, cTools)
	cost.SetBudget(costs, cost.Scope("agent:c"), cost.Requests, 1)
	for _, st := range []*stand{a, b, c} {
		st.say(t, "go")
	}
	for _, running := range []chan struct{}{aRuns, bRuns, cRuns} { // all at once
		<-running
	}
	a.Interrupt(false)
	if r := a.result(t, 1); r.Ended.Reason != proto.EndTools {
		t.Errorf("the interrupted agent ended with %+v", r.Ended)
	}
	close(cMay)
	if r := c.result(t, 1); r.Ended.Reason != proto.EndBudget {
		t.Errorf("the agent with a budget of one request ended with %+v", r.Ended)
	}
	close(bMay)
	if r := b.result(t, 1); r.Text != "done b" {
		t.Errorf("the third ended with %+v", r)
	}
	root.say(t, "go")
	if r := root.result(t, 1); r.Text != "done root" {
		t.Errorf("the main conversation ended with %+v", r)
	}
	for agent, st := range map[string]*stand{"": root, "a": a, "b": b, "c": c} {
		for _, e := range st.events {
			if e.Agent != agent {
				t.Errorf("the event %s of agent %q is tagged %q", e.Type, agent, e.Agent)
			}
		}
		want := 2
		if agent == "a" || agent == "c" {
			want = 1
		}
		if used, _ := costs.Get().ByAgent.Get(agent); used.Requests != want {
			t.Errorf("agent %q made %d requests, want %d", agent, used.Requests, want)
		}
	}
	if turn := costs.Get().Turn; turn.Requests != 2 {
		t.Errorf("the turn of the main conversation counts %d requests", turn.Requests)
	}
}

func TestAnAgentEndsWithItsParentAndNeverBefore(t *testing.T) {
	costs := costSlice()
	root := on(t, t.Context(), "", fmt.Sprintf(calls, "Echo", "root"), costs)
	w, running, _ := waits("Wait")
	child := on(t, root.given.Context, "a", fmt.Sprintf(calls, "Wait", "a"), costs, func(st *stand) { st.tools = []tool.Tool{w} })
	other := on(t, root.given.Context, "b", fmt.Sprintf(calls, "Echo", "b"), costs)
	other.end()
	child.say(t, "go")
	<-running
	root.say(t, "go")
	root.result(t, 1)
	root.end()
	if r := child.result(t, 1); r.Ended.Reason != proto.EndTools {
		t.Errorf("ended with %+v", r.Ended)
	}
}

func TestWhatIsTypedMeanwhileIsSaidAtTheNextBoundary(t *testing.T) {
	w, running, may := waits("Wait")
	st := on(t, t.Context(), "", fmt.Sprintf(calls, "Wait", "it"), costSlice(), func(st *stand) { st.tools = []tool.Tool{w} })
	st.say(t, "first")
	<-running
	st.say(t, "second")
	st.Later("aside")
	st.Owe(msg.Message{Role: msg.User, Origin: msg.FromTask, Content: []msg.Block{msg.Text{Text: "news"}}})
	if err := st.Prompt(proto.Prompt{ID: "back", Content: []msg.Block{msg.Text{Text: "taken back"}}}, "test"); err != nil {
		t.Fatal(err)
	}
	if !st.Unqueue("back") || st.Unqueue("back") {
		t.Error("a prompt is taken back once")
	}
	close(may)
	st.result(t, 1)
	all := strings.Join(st.texts(msg.User), "|")
	if want := "first|news|<system-reminder>\naside\n</system-reminder>|second"; !strings.HasPrefix(all, want) {
		t.Errorf("the model heard %q, want %q", all, want)
	}
	if st.Prompts() != 1 || st.LastPrompt() == "" {
		t.Errorf("%d prompts, the last %q", st.Prompts(), st.LastPrompt())
	}
	scene := st.Scene()
	if len(scene.Calls) != 1 || len(scene.Messages) == 0 || scene.Messages[0] != "first" {
		t.Errorf("a classifier sees %+v", scene)
	}
}

func TestNewsOpenATurnOfTheirOwn(t *testing.T) {
	st := on(t, t.Context(), "", "turns: [{content: [{text: heard}]}]", costSlice())
	st.Later("beside") // opens none
	st.Owe(msg.Message{Role: msg.User, Origin: msg.FromTask, Content: []msg.Block{msg.Text{Text: "it has ended"}}})
	r := st.result(t, 1)
	if r.Text != "heard" || r.Origin != "task-notification" {
		t.Errorf("got %+v", r)
	}
	if n := len(told[proto.Result](st)); n != 1 {
		t.Errorf("%d turns", n)
	}
}

func TestPromptsAreTakenOnce(t *testing.T) {
	st := on(t, t.Context(), "", "turns: [{content: [{text: one}]}, {content: [{text: two}]}]", costSlice())
	if err := st.Prompt(proto.Prompt{}, "test"); err == nil {
		t.Error("an empty prompt was taken")
	}
	for range 2 {
		if err := st.Prompt(proto.Prompt{ID: "same", Content: []msg.Block{msg.Text{Text: "hi"}}}, "test"); err != nil {
			t.Fatal(err)
		}
		st.result(t, 1)
	}
	if n := len(told[proto.Result](st)); n != 1 {
		t.Errorf("%d turns for one prompt", n)
	}
	replays := 0
	for _, m := range told[proto.Message](st) {
		if m.Replay && m.Message.ID == "same" {
			replays++
		}
	}
	if replays != 2 { // as it was taken, and again for who sent it twice
		t.Errorf("told %d times", replays)
	}
}

func TestCommandsRunAloneOrBesideATurn(t *testing.T) {
	w, running, may := waits("Wait")
	ran := make(chan string, 10)
	st := on(t, t.Context(), "", fmt.Sprintf(calls, "Wait", "it"), costSlice(), func(st *stand) {
		st.tools = []tool.Tool{w}
		st.given.Turns.Command = func(p proto.Prompt) *Command {
			name, ok := strings.CutPrefix(msg.TextOf(p.Content), "/")
			if !ok {
				return nil
			}
			return &Command{Beside: name == "look", Run: func(context.Context) { ran <- name }}
		}
	})
	st.say(t, "/look") // no turn runs: it waits for the worker like any other
	st.say(t, "go")
	<-running
	st.say(t, "/clear")
	st.say(t, "/look")
	if a, b := <-ran, <-ran; a != "look" || b != "look" {
		t.Errorf("ran %q, %q", a, b)
	}
	select {
	case name := <-ran:
		t.Errorf("%s ran beside the turn", name)
	default:
	}
	close(may)
	if name := <-ran; name != "clear" {
		t.Errorf("ran %q", name)
	}
}

func TestInterruptForgetsTheQueueOnRequest(t *testing.T) {
	w, running, _ := waits("Wait")
	st := on(t, t.Context(), "", fmt.Sprintf(calls, "Wait", "it"), costSlice(), func(st *stand) { st.tools = []tool.Tool{w} })
	st.Interrupt(true) // nothing runs
	st.say(t, "go")
	<-running
	st.say(t, "more")
	st.Interrupt(true)
	if r := st.result(t, 1); r.Ended.Reason != proto.EndTools {
		t.Errorf("ended with %+v", r.Ended)
	}
	if q := st.given.Session.Get().Queue; len(q) != 0 {
		t.Errorf("still waiting: %+v", q)
	}
}

func TestAPromptThatMustBeFirstEndsTheTurn(t *testing.T) {
	w, running, _ := waits("Wait")
	st := on(t, t.Context(), "", fmt.Sprintf(calls, "Wait", "it"), costSlice(), func(st *stand) { st.tools = []tool.Tool{w} })
	st.say(t, "go")
	<-running
	if err := st.Prompt(proto.Prompt{Priority: proto.Now, Content: []msg.Block{msg.Text{Text: "stop that"}}}, "test"); err != nil {
		t.Fatal(err)
	}
	if first, second := st.result(t, 1), st.result(t, 2); first.Ended.Reason != proto.EndTools || second.Text != "done it" {
		t.Errorf("got %+v, then %+v", first.Ended, second)
	}
}

func TestHooksAroundATurn(t *testing.T) {
	blocked := &proto.Ended{Reason: proto.EndHook, Detail: "no"}
	reminded := 0
	st := on(t, t.Context(), "", "turns: [{content: [{text: one}]}, {content: [{text: two}]}, {content: [{text: three}]}]", costSlice(), func(st *stand) {
		st.given.Turns.Open = func(_ context.Context, prompted bool) Opening {
			return Opening{Context: []string{fmt.Sprint("prompted ", prompted)}, Prompt: "begin with this"}
		}
		st.given.Turns.Submit = func(_ context.Context, content []msg.Block) Submitted {
			text := msg.TextOf(content)
			if text == "bad" {
				return Submitted{Notice: "blocked", Ended: blocked}
			}
			return Submitted{Context: []string{"about " + text}}
		}
		st.given.Turns.Owed = func() string {
			reminded++
			return "you owe something"
		}
		again := true
		st.given.Turns.Stop = func(context.Context, engine.Turn) (engine.Stopping, error) {
			if !again {
				return engine.Stopping{}, nil
			}
			again = false
			return engine.Stopping{Again: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: "go on"}}}}}, nil
		}
	})
	st.say(t, "good")
	if r := st.result(t, 1); r.Text != "three" || reminded != 1 {
		t.Errorf("ended with %q, reminded %d times", r.Text, reminded)
	}
	all := strings.Join(st.texts(msg.User), "|")
	for _, want := range []string{"begin with this|good", "prompted true", "about begin with this", "about good", "you owe something", "go on"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %q", want, all)
		}
	}
	length := st.Length()
	st.say(t, "bad")
	if r := st.result(t, 2); r.Ended.Reason != proto.EndHook || st.Length() != length {
		t.Errorf("a blocked prompt ended with %+v, and the history grew by %d", r.Ended, st.Length()-length)
	}
	if n := told[proto.Notice](st); len(n) != 1 || n[0].Text != "blocked" {
		t.Errorf("told %+v", n)
	}
}

func TestBudgetsEndATurnBeforeAndAfterRequests(t *testing.T) {
	for name, change := range map[string]func(*Budget){
		"before the turn": func(b *Budget) {
			b.May = func(context.Context) *proto.Ended { return &proto.Ended{Reason: proto.EndBudget} }
		},
		"before the request": func(b *Budget) {
			b.Admit = func(provider.Info, provider.Request) *tool.End { return &tool.End{Outcome: string(proto.EndBudget)} }
		},
		"after the answer": func(b *Budget) {
			b.After = func(provider.Info, bool) *tool.End { return &tool.End{Outcome: string(proto.EndBudget)} }
		},
	} {
		accounted := 0
		st := on(t, t.Context(), "", "turns: [{content: [{text: one}]}]", costSlice(), func(st *stand) {
			change(&st.given.Budget)
			st.given.Budget.Account = func() { accounted++ }
		})
		st.say(t, "go")
		if r := st.result(t, 1); r.Subtype != "error_max_budget_usd" || !r.IsError || accounted != 1 {
			t.Errorf("%s: %+v, accounted %d times", name, r, accounted)
		}
	}
}

func TestOutcomeInPublicWords(t *testing.T) {
	for reason, want := range map[proto.EndReason]string{
		"": "success", proto.EndAPI: "success", proto.EndMaxRounds: "error_max_turns", proto.EndBudget: "error_max_budget_usd",
		proto.EndStructRetry: "error_max_structured_output_retries", "error": "error_during_execution",
	} {
		got, isError, texts := outcome(proto.Ended{Reason: reason, Detail: "why"}, 7)
		if got != want || isError != (reason != "") || (strings.HasPrefix(want, "error") && len(texts) != 1) {
			t.Errorf("%q: %s %v %q", reason, got, isError, texts)
		}
	}
}

// A piece of a text that ends in the middle of a line is shown whole, too.
func TestDisplayRewritesWhatIsShownAndNothingElse(t *testing.T) {
	st := on(t, t.Context(), "", "turns: [{content: [{text: \"secret one\\nsecret two\"}]}]", costSlice(), func(st *stand) {
		st.given.Turns.Display = func(string) func(context.Context, Batch) *string {
			return func(_ context.Context, b Batch) *string {
				text := strings.ReplaceAll(b.Text, "secret", "***")
				return &text
			}
		}
	})
	st.say(t, "go")
	r := st.result(t, 1)
	streamed := ""
	for _, d := range told[proto.Delta](st) {
		streamed += d.Text
	}
	if want := "*** one\n*** two"; r.Text != want || streamed != want || st.texts(msg.Assistant)[0] != want {
		t.Errorf("shown %q, streamed %q, message %q", r.Text, streamed, st.texts(msg.Assistant))
	}
	if last := st.history[len(st.history)-1]; msg.TextOf(last.Content) != "secret one\nsecret two" {
		t.Errorf("the history has %q", msg.TextOf(last.Content))
	}
}

func TestCompactingByHand(t *testing.T) {
	compacted := 0
	st := on(t, t.Context(), "", "turns: [{content: [{text: one}]}, {content: [{text: two}]}]", costSlice(), func(st *stand) {
		st.given.Turns.Compacted = func(context.Context) []string { compacted++; return []string{"afterwards"} }
		st.given.Turns.Command = func(p proto.Prompt) *Command {
			if msg.TextOf(p.Content) != "/compact" {
				return nil
			}
			return &Command{Run: func(ctx context.Context) {
				if err := st.Compact(ctx, shaping.Request{}); err != nil {
					t.Error(err)
				}
			}}
		}
	})
	st.say(t, strings.Repeat("long ", 100))
	st.result(t, 1)
	st.say(t, "/compact")
	st.result(t, 2)
	if n := len(told[proto.Compacted](st)); n != 1 || compacted != 1 {
		t.Errorf("%d compactions were told, and others heard of %d", n, compacted)
	}
	st.say(t, "go on")
	st.result(t, 3)
	if all := strings.Join(st.texts(msg.User), "|"); !strings.Contains(all, "what was said") || !strings.Contains(all, "afterwards") {
		t.Errorf("the model heard %q", all)
	}
}

func TestAFailedCompactionChangesNothing(t *testing.T) {
	refused := errors.New("no service")
	st := on(t, t.Context(), "", "turns: [{content: [{text: one}]}]", costSlice(), func(st *stand) {
		st.given.Model.Ask = func(context.Context, provider.Request) ([]msg.Block, error) { return nil, refused }
	})
	st.say(t, "hi")
	st.result(t, 1)
	before := slices.Clone(st.history)
	if err := st.Compact(t.Context(), shaping.Request{}); err == nil || len(st.history) != len(before) {
		t.Errorf("got %v with %d messages", err, len(st.history))
	}
	if c := told[proto.Compacting](st); len(c) == 0 || c[len(c)-1].Active || c[len(c)-1].Error == "" {
		t.Errorf("told %+v", c)
	}
}

// The worker does nothing while nothing waits, and Prompt waits for nobody.
func TestTheWorkerSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := on(t, t.Context(), "", "turns: [{content: [{text: one}]}]", costSlice())
		synctest.Wait()
		st.say(t, "hi")
		synctest.Wait()
		if n := len(told[proto.Result](st)); n != 1 {
			t.Errorf("%d results", n)
		}
	})
}
