package shaping

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// asked is an Ask that gives canned answers and keeps the requests.
type asked struct {
	requests []provider.Request
	answer   func(n int, req provider.Request) ([]msg.Block, error)
}

func (a *asked) ask(_ context.Context, req provider.Request) ([]msg.Block, error) {
	a.requests = append(a.requests, req)
	if a.answer == nil {
		return []msg.Block{text("THE SUMMARY")}, nil
	}
	return a.answer(len(a.requests), req)
}

func compactor(a *asked, slice store.Slice[State]) *Shaper {
	n := 0
	return New(Config{
		State: slice, Ask: a.ask, Now: func() time.Time { return testTime },
		NewID: func() string { n++; return fmt.Sprint("new", n) },
	})
}

func ids(history []msg.Message) string {
	var out []string
	for _, m := range history {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

func longTalk() []msg.Message {
	return join(
		person("p1", "first wish"), calls("a", "Bash", strings.Repeat("out\n", 3000)), says("s1", "done one"),
		person("p2", "second wish"), calls("b", "Bash", "short"), says("s2", "done two"),
	)
}

func TestAFinishedConversationIsSummarisedWhole(t *testing.T) {
	a, slice := &asked{}, stateSlice()
	s := compactor(a, slice)
	history := longTalk()
	view, err := s.Compact(t.Context(), history, Request{Trigger: TriggerManual, Focus: "the names", Model: model(200_000), Used: 4321})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(view.History); got != "new1" {
		t.Errorf("history %s", got)
	}
	summary := view.Records[0]
	if summary.Origin != msg.FromSummary || summary.Role != msg.User || !strings.HasSuffix(msg.TextOf(summary.Content), "THE SUMMARY") {
		t.Errorf("%+v", summary)
	}
	want := []proto.EventBody{
		proto.Compacting{Active: true},
		proto.Compacting{},
		proto.Compacted{Trigger: "manual", PreTokens: 4321, PostTokens: s.Tokens(model(200_000), sizeOf(view.History)), Head: "p1", Anchor: "new1"},
	}
	if diff := cmp.Diff(want, view.Events); diff != "" {
		t.Error(diff)
	}
	req := a.requests[0]
	last := req.Messages[len(req.Messages)-1]
	if req.Lane != provider.LaneCompact || req.Options.ToolChoice != "" || !strings.Contains(msg.TextOf(last.Content), "focus: the names") {
		t.Errorf("%+v", req.Options)
	}
	if slice.Get().Boundaries != 1 {
		t.Errorf("%+v", slice.Get())
	}
}

// A message that has just come, with its attachments, is kept as it is and stays last.
func TestKF061_TheLastMessageIsKeptWordForWord(t *testing.T) {
	a := &asked{}
	newest := msg.Message{ID: "new", Role: msg.User, Content: []msg.Block{
		text("and now this"), msg.Image{MediaType: "image/png", Data: []byte("1")}, msg.Document{Title: "d", Data: []byte("2")}, msg.Image{URL: "https://example.org/x.png"},
	}}
	history := append(longTalk(), newest)
	view, err := compactor(a, nil).Compact(t.Context(), history, Request{Trigger: TriggerAuto, Model: model(200_000)})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(view.History); got != "new1 new" {
		t.Errorf("history %s", got)
	}
	if diff := cmp.Diff(newest, view.History[1]); diff != "" {
		t.Error(diff)
	}
	if boundary := view.Events[2].(proto.Compacted); boundary.Tail != "new" {
		t.Errorf("%+v", boundary)
	}
	for _, m := range a.requests[0].Messages {
		if strings.Contains(msg.TextOf(m.Content), "and now this") {
			t.Error("the message is summarised as well")
		}
	}
}

func TestInTheMiddleOfATurnTheNewestRoundsAreKept(t *testing.T) {
	a := &asked{}
	history := join(
		person("p1", "old"), says("s1", "yes"), person("p2", "the wish, word for word"),
		calls("a", "Bash", strings.Repeat("a", 30_000)), calls("b", "Bash", strings.Repeat("b", 3000), "c"), calls("d", "Bash", "e"),
	)
	view, err := compactor(a, nil).Compact(t.Context(), history, Request{Trigger: TriggerReactive, Model: model(8000)})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(view.History); got != "new1 b-0 b-1 b-0r b-1r d-0 d-0r" {
		t.Errorf("history %s", got)
	}
	if got := msg.TextOf(view.History[0].Content); !strings.Contains(got, "word for word") || !strings.HasSuffix(got, "the wish, word for word") {
		t.Errorf("the wish is lost: %s", got)
	}
}

func TestAWishWithAllItsRoundsIsKeptWhenItFits(t *testing.T) {
	history := append(longTalk(), join(person("p3", "third"), calls("z", "Bash", "ok"))...)
	view, err := compactor(&asked{}, nil).Compact(t.Context(), history, Request{Trigger: TriggerReactive, Model: model(20_000)})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(view.History); !strings.HasSuffix(got, "p3 z-0 z-0r") {
		t.Errorf("history %s", got)
	}
}

func TestMessagesThatCameTogetherAreKeptTogether(t *testing.T) {
	history := append(longTalk(), person("x", "one"), person("y", "two"))
	view, err := compactor(&asked{}, nil).Compact(t.Context(), history, Request{Trigger: TriggerAuto, Model: model(200_000)})
	if err != nil || ids(view.History) != "new1 x y" {
		t.Errorf("history %s, %v", ids(view.History), err)
	}
}

// Whatever the history, calls and results stay paired and the view can be sent.
func TestPairingSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history []msg.Message
		for i := range rapid.IntRange(1, 12).Draw(t, "parts") {
			id := fmt.Sprint("m", i)
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				history = append(history, person(id, strings.Repeat("w", rapid.IntRange(1, 4000).Draw(t, "n"))))
			case 1:
				history = append(history, says(id, "ok"))
			default:
				sizes := rapid.SliceOfN(rapid.IntRange(1, 9000), 1, 3).Draw(t, "sizes")
				results := make([]string, len(sizes))
				for j, n := range sizes {
					results[j] = strings.Repeat("r", n)
				}
				round := calls(id, "Bash", results...)
				if n := len(results); n > 1 && rapid.Bool().Draw(t, "early") { // a result recorded while the answer streams
					round[n-1], round[n] = round[n], round[n-1]
				}
				history = append(history, round...)
			}
		}
		view, err := compactor(&asked{}, nil).Compact(context.Background(), history, Request{Trigger: TriggerReactive, Model: model(rapid.IntRange(2000, 20_000).Draw(t, "window"))})
		if err != nil {
			return
		}
		open := map[string]int{}
		for _, m := range view.History {
			for _, b := range m.Content {
				switch b := b.(type) {
				case msg.ToolCall:
					open[b.ID]++
				case msg.ToolResult:
					open[b.CallID]--
				}
			}
		}
		for id, n := range open {
			if n != 0 {
				t.Fatalf("%s: %d more calls than results in %s", id, n, ids(view.History))
			}
		}
		if last := lastPrompt(history); last >= 0 && !finished(history) && !strings.Contains(fmt.Sprint(view.History), msg.TextOf(history[last].Content)) {
			t.Fatal("the last wish is gone")
		}
	})
}

// What must survive a compaction is read afresh and stands behind the summary.
func TestKF060_WhatIsRestoredStandsBehindTheSummary(t *testing.T) {
	a := &asked{}
	s := New(Config{Ask: a.ask, Restore: func(context.Context) ([]msg.Block, error) { return []msg.Block{text("PLAN")}, errors.New("no todo") }})
	view, err := s.Compact(t.Context(), append(longTalk(), person("q", "go on")), Request{Trigger: TriggerAuto, Model: model(200_000)})
	if err != nil {
		t.Fatal(err)
	}
	if len(view.History) != 3 || len(view.Records) != 2 || view.History[2].Origin != msg.FromHarness {
		t.Fatalf("%+v", view.History)
	}
	if got := msg.TextOf(view.History[2].Content); !strings.HasPrefix(got, "PLAN") || !strings.Contains(got, "no todo") {
		t.Error(got)
	}
}

func TestHooksMayAddAndForbid(t *testing.T) {
	a, slice := &asked{}, stateSlice()
	var after string
	s := New(Config{
		Ask: a.ask, State: slice, Before: func(_ context.Context, trigger, focus string) (string, error) {
			if trigger == TriggerManual {
				return "", errors.New("not now")
			}
			return "mind the " + trigger, nil
		},
		After: func(_ context.Context, trigger, summary string) { after = trigger + ": " + summary },
	})
	history := append(longTalk(), person("q", "go"))
	if _, err := s.Compact(t.Context(), history, Request{Trigger: TriggerManual, Model: model(200_000)}); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "not now") {
		t.Errorf("%v", err)
	}
	if _, err := s.Compact(t.Context(), history, Request{Trigger: TriggerAuto, Model: model(200_000)}); err != nil {
		t.Error(err)
	}
	if len(a.requests) != 1 || !strings.Contains(fmt.Sprint(a.requests[0].Messages), "mind the auto") || after != "auto: THE SUMMARY" || slice.Get().FailuresInRow != 0 {
		t.Errorf("%d requests, after %q, %+v", len(a.requests), after, slice.Get())
	}
}

// An empty answer, a tool call and a broken stream leave everything as it was.
func TestKF059_EmptyOrFailedSummary(t *testing.T) {
	for name, answer := range map[string]func(int, provider.Request) ([]msg.Block, error){
		"empty": func(int, provider.Request) ([]msg.Block, error) { return nil, nil },
		"blank": func(int, provider.Request) ([]msg.Block, error) { return []msg.Block{text(" \n")}, nil },
		"call": func(int, provider.Request) ([]msg.Block, error) {
			return []msg.Block{text("ok"), msg.ToolCall{ID: "x"}}, nil
		},
		"broken": func(int, provider.Request) ([]msg.Block, error) {
			return nil, &provider.Error{Kind: provider.KindStream}
		},
		"longer": func(int, provider.Request) ([]msg.Block, error) {
			return []msg.Block{text(strings.Repeat("z", 200_000))}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, slice := &asked{answer: answer}, stateSlice()
			s := compactor(a, slice)
			history := longTalk()
			before := fmt.Sprint(history)
			for range 2 {
				view, err := s.Compact(t.Context(), history, Request{Trigger: TriggerManual, Model: model(200_000)})
				if err == nil || !strings.HasPrefix(err.Error(), "compact the conversation: ") || view.History != nil || view.Records != nil || view.Freed {
					t.Fatalf("%v, %+v", err, view)
				}
				if last := view.Events[len(view.Events)-1].(proto.Compacting); last.Active || last.Error == "" {
					t.Errorf("%+v", last)
				}
			}
			if fmt.Sprint(history) != before {
				t.Error("the history was changed")
			}
			want := 2
			if name == "call" { // asked once more, without tools
				want = 4
				if again := a.requests[1].Options; again.ToolChoice != "none" {
					t.Errorf("the second request: %+v", again)
				}
			}
			if got := slice.Get(); got.Boundaries != 0 || got.FailuresInRow != 2 || !got.AutoOff || len(a.requests) != want {
				t.Errorf("%+v after %d requests", got, len(a.requests))
			}
			view, err := s.Shape(t.Context(), append(history, person("q", "go")), engine.Pressure{Reactive: true, Model: model(200_000)})
			if err != nil || view.Freed || view.History != nil || len(view.Messages) != len(history)+1 {
				t.Errorf("reactive: %v, freed %t", err, view.Freed)
			}
		})
	}
}

// The summary is asked for with the bytes of the last request in front, so that the cache of it is read.
func TestASummaryRequestSharesTheConversation(t *testing.T) {
	a := &asked{}
	s := compactor(a, stateSlice())
	history := longTalk()
	sent := shape(t, s, history, engine.Pressure{}).Messages
	if _, err := s.Compact(t.Context(), history, Request{Trigger: TriggerManual, Model: model(200_000), Options: provider.Options{Thinking: 1000}}); err != nil {
		t.Fatal(err)
	}
	req := a.requests[0]
	shared := req.Messages[:len(req.Messages)-1]
	if diff := cmp.Diff(msg.Sendable(sent, msg.Bounds{})[:len(shared)], shared); diff != "" {
		t.Errorf("the prefix differs:\n%s", diff)
	}
	if req.Options.Thinking != 1000 || req.Options.ToolChoice != "" {
		t.Errorf("%+v", req.Options)
	}
}

// strict refuses requests above the window, counting a token for each four bytes.
func strict(window int) func(int, provider.Request) ([]msg.Block, error) {
	return func(_ int, req provider.Request) ([]msg.Block, error) {
		if tokens := sizeOf(req.Messages)/4 + req.Options.MaxTokens; tokens > window {
			return nil, &provider.Error{Kind: provider.KindTooLong, Message: fmt.Sprint(tokens)}
		}
		return []msg.Block{text("SHORT")}, nil
	}
}

// The request for the summary is bounded itself, in all shapes of too long a history.
func TestKF058_SummaryOfAHistoryTwiceTheWindow(t *testing.T) {
	const window = 50_000
	for name, history := range map[string][]msg.Message{
		"results":      join(person("p", "wish"), calls("a", "Read", strings.Repeat("x", 200_000), strings.Repeat("y", 200_000)), says("s", "ok")),
		"many results": many(func(i int) []msg.Message { return calls(fmt.Sprint("c", i), "Read", strings.Repeat("x", 4000)) }, 100),
		"long messages": many(func(i int) []msg.Message {
			return join(person(fmt.Sprint("p", i), strings.Repeat("w ", 5000)), says(fmt.Sprint("s", i), strings.Repeat("v ", 5000)))
		}, 20),
		"many messages": many(func(i int) []msg.Message {
			return join(person(fmt.Sprint("p", i), strings.Repeat("w ", 50)), says(fmt.Sprint("s", i), strings.Repeat("v ", 50)))
		}, 2000),
	} {
		t.Run(name, func(t *testing.T) {
			a := &asked{answer: strict(window)}
			m := provider.Info{Provider: "t", ID: "m", ContextWindow: window, MaxOutput: 8000}
			view, err := compactor(a, nil).Compact(t.Context(), append(history, person("q", "go on")), Request{Trigger: TriggerReactive, Model: m})
			if err != nil {
				t.Fatal(err)
			}
			if !view.Freed || len(a.requests) > 2 || !strings.Contains(fmt.Sprint(a.requests[0].Messages[0]), msg.TextOf(history[0].Content)[:4]) {
				t.Errorf("freed %t after %d requests", view.Freed, len(a.requests))
			}
			paired(t, a.requests[len(a.requests)-1].Messages)
		})
	}
}

func paired(t *testing.T, messages []msg.Message) {
	t.Helper()
	if diff := cmp.Diff(messages, msg.Sendable(messages, msg.Bounds{})); diff != "" {
		t.Errorf("the request is not sendable: %s", diff)
	}
}

func many(f func(i int) []msg.Message, n int) []msg.Message {
	out := []msg.Message{person("first", "wish")}
	for i := range n {
		out = append(out, f(i)...)
	}
	return append(out, says("last", "ok"))
}

// overflowing refuses what its limit says is too long; it counts requests.
type overflowing struct {
	requests int
	lanes    []provider.Lane
	tooLong  func(req provider.Request) bool
}

func (o *overflowing) Info() provider.Info {
	return provider.Info{Provider: "t", ID: "m", ContextWindow: 10_000, MaxOutput: 1000}
}

func (o *overflowing) Stream(_ context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	o.requests++
	o.lanes = append(o.lanes, req.Lane)
	return func(yield func(provider.Event, error) bool) {
		if o.tooLong(req) {
			yield(nil, &provider.Error{Kind: provider.KindTooLong, Provider: "t", Status: 400, Message: "prompt is too long"})
			return
		}
		answer := msg.Text{Text: "fine"}
		_ = yield(provider.Start{ID: fmt.Sprint("r", o.requests), Model: "m"}, nil) &&
			yield(provider.BlockStart{Block: msg.Text{}}, nil) &&
			yield(provider.BlockDone{Block: answer}, nil) &&
			yield(provider.Done{Stop: msg.StopEndTurn, Usage: msg.Usage{Input: 10, Output: 1}}, nil)
	}
}

// collect is an Ask over a model.
func collect(m provider.Model) Ask {
	return func(ctx context.Context, req provider.Request) ([]msg.Block, error) {
		var out []msg.Block
		for e, err := range m.Stream(ctx, req) {
			if err != nil {
				return nil, err
			}
			if d, ok := e.(provider.BlockDone); ok {
				out = append(out, d.Block)
			}
		}
		return out, nil
	}
}

// turn runs one turn of the real loop and returns how it ended and the history it left.
func turn(t *testing.T, m *overflowing, s *Shaper, history []msg.Message) (proto.Ended, []msg.Message) {
	t.Helper()
	var ended proto.Ended
	cfg := engine.Config{
		Model: func() (provider.Model, provider.Options) { return m, provider.Options{} },
		Tools: func() []tool.Tool { return nil }, Shape: s.Shape,
		Authorize: func(context.Context, tool.Call, tool.Traits) (engine.Verdict, error) { return engine.Verdict{}, nil },
		Record:    func(context.Context, msg.Message) error { return nil },
		Agent:     tool.NewScope("", t.TempDir()),
		Keep:      func(h []msg.Message) { history = h },
	}
	for e, err := range engine.Run(t.Context(), cfg, history) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(proto.Ended); ok {
			ended = b
		}
	}
	return ended, history
}

// A service that finds everything too long ends the turn soon and plainly, and the next one works.
func TestKF057_CompactionThatDoesNotHelp(t *testing.T) {
	always := &overflowing{tooLong: func(provider.Request) bool { return true }}
	s := New(Config{Ask: collect(always)})
	var parts []any
	parts = append(parts, person("p", "wish"))
	for i := range 12 {
		parts = append(parts, calls(fmt.Sprint("c", i), "Read", strings.Repeat("line\n", 2000)))
	}
	history := append(join(parts...), person("q", "go on"))
	ended, left := turn(t, always, s, history)
	if ended.Reason != proto.EndOverflow || ended.Detail == "" {
		t.Errorf("%+v", ended)
	}
	if always.requests >= 5 {
		t.Errorf("%d requests: %v", always.requests, always.lanes)
	}
	always.tooLong = func(provider.Request) bool { return false }
	if ended, _ := turn(t, always, s, append(left, person("r", "again"))); ended.Reason != proto.EndCompleted {
		t.Errorf("the next turn: %+v", ended)
	}
}

// The kept messages alone may be too long: also then the turn ends soon.
func TestKF057_SummaryWorksButTheRestIsTooLong(t *testing.T) {
	m := &overflowing{tooLong: func(req provider.Request) bool { return req.Lane != provider.LaneCompact }}
	s := New(Config{Ask: collect(m)})
	ended, _ := turn(t, m, s, append(longTalk(), person("q", strings.Repeat("long ", 20_000))))
	if ended.Reason != proto.EndOverflow || m.requests >= 5 {
		t.Errorf("%+v after %d requests", ended, m.requests)
	}
	alone := &overflowing{tooLong: func(provider.Request) bool { return true }}
	ended, _ = turn(t, alone, New(Config{Ask: collect(alone)}), []msg.Message{person("q", strings.Repeat("long ", 20_000))})
	if ended.Reason != proto.EndOverflow || alone.requests != 1 {
		t.Errorf("%+v after %d requests", ended, alone.requests)
	}
}

func TestALongPromptIsCompactedAndAnswered(t *testing.T) {
	m := &overflowing{tooLong: func(req provider.Request) bool { return sizeOf(req.Messages)/4 > 9000 }}
	s := New(Config{Ask: collect(m)})
	ended, left := turn(t, m, s, append(many(func(i int) []msg.Message {
		return join(person(fmt.Sprint("p", i), strings.Repeat("w ", 500)), says(fmt.Sprint("s", i), strings.Repeat("v ", 500)))
	}, 40), person("q", "the question")))
	if ended.Reason != proto.EndCompleted || ended.Text != "fine" {
		t.Fatalf("%+v", ended)
	}
	if left[0].Origin != msg.FromSummary || left[1].ID != "q" || len(left) != 3 {
		t.Errorf("history %s", ids(left))
	}
}

// A summary is asked for without the pictures, which a service may refuse.
func TestKF009_ASummaryIsAskedForWithoutPictures(t *testing.T) {
	picture := msg.Image{MediaType: "image/png", Data: make([]byte, 6<<20)}
	history := join(
		msg.Message{ID: "p", Role: msg.User, Content: []msg.Block{text("look at this"), picture, msg.Document{Title: "d.pdf", Data: []byte("x")}}},
		calls("a", "Read", "seen"), says("s", "nice"), person("q", "go on"),
	)
	for i, m := range history {
		for j, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok {
				r.Content = append(r.Content, picture)
				history[i].Content[j] = r
			}
		}
	}
	a := &asked{}
	if _, err := compactor(a, nil).Compact(t.Context(), history, Request{Trigger: TriggerAuto, Model: model(200_000)}); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(a.requests[0].Messages)
	if strings.Contains(said, "[0 0 0") || strings.Count(said, "[a picture stood here (image/png, 6291456 bytes)]") != 2 || !strings.Contains(said, "d.pdf") {
		t.Errorf("%.600s", said)
	}
}

func TestNothingToCompact(t *testing.T) {
	for _, history := range [][]msg.Message{nil, {person("p", "only")}} {
		if _, err := compactor(&asked{}, nil).Compact(t.Context(), history, Request{Trigger: TriggerManual, Model: model(1000)}); !errors.Is(err, ErrNothing) {
			t.Errorf("%v", err)
		}
	}
}

// TestKF059_ASummaryThatRepeats: one that says the same over and over leaves the conversation as it was;
// one that says what the last one said, word for word, is told.
func TestKF059_ASummaryThatRepeats(t *testing.T) {
	again := append([]msg.Message{{ID: "s", Role: msg.User, Origin: msg.FromSummary, Content: []msg.Block{msg.Text{Text: continued + "THE SUMMARY"}}}}, longTalk()...)
	for name, c := range map[string]struct {
		text    string
		history []msg.Message
		failed  string
	}{
		"lines over and over": {strings.Repeat("I will now summarise.\nThe goal is this.\n", 100), longTalk(), "repeats itself"},
		"words over and over": {strings.Repeat("and so on ", 200), longTalk(), "repeats itself"},
		"the last one":        {"THE SUMMARY", again, ""}, // told
		"another one":         {"1. Goal: mend the build.\n2. Decisions: none.", again, ""},
	} {
		slice := stateSlice()
		s := New(Config{State: slice, Ask: func(context.Context, provider.Request) ([]msg.Block, error) {
			return []msg.Block{msg.Text{Text: c.text}}, nil
		}})
		view, err := s.Compact(t.Context(), append(c.history, person("q", "go on")), Request{Trigger: TriggerAuto, Model: model(200_000)})
		if c.failed == "" {
			if err != nil || (len(view.Events) == 4) != (c.text == "THE SUMMARY") {
				t.Errorf("%s: %v, %+v", name, err, view.Events)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.failed) || view.History != nil || slice.Get().FailuresInRow != 1 || len(view.Events) != 2 {
			t.Errorf("%s: %v, %+v, %+v", name, err, view, slice.Get())
		}
	}
}
