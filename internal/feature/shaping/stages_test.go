package shaping

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

func repeatable(tool string) bool { return tool == "Read" }

// turnsOfWork is n finished turns, each with two reads of size bytes.
func turnsOfWork(n, size int) []msg.Message {
	return many(func(i int) []msg.Message {
		return join(
			person(fmt.Sprintf("p%d", i), fmt.Sprintf("wish %d", i)),
			calls(fmt.Sprintf("c%d", i), "Read", strings.Repeat("a line of text\n", size/15), strings.Repeat("b line of text\n", size/15)),
			says(fmt.Sprintf("s%d", i), fmt.Sprintf("done %d", i)),
		)
	}, n)
}

func stageNames(events []proto.EventBody) []string {
	var out []string
	for _, e := range events {
		switch e := e.(type) {
		case proto.Shaped:
			out = append(out, e.Stage)
		case proto.Compacted:
			out = append(out, "compact "+e.Trigger)
		case proto.Notice:
			out = append(out, "notice")
		}
	}
	return out
}

func TestTheCheapestStagesComeFirst(t *testing.T) {
	for _, tc := range []struct {
		name   string
		size   int
		stages Stages
		want   []string
	}{
		{"there is room", 400, AllStages(), nil},
		{"clearing is enough", 3_000, AllStages(), []string{"microcompact"}},
		{"clearing is off", 3_000, Stages{Budget: true, Collapse: true}, []string{"collapse"}},
		{"snip is first", 3_000, Stages{Budget: true, Snip: true, Microcompact: true, Collapse: true}, []string{"snip"}},
		{"everything is off", 3_000, Stages{}, []string{"compact auto"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &asked{}
			s := New(Config{Ask: a.ask, Repeatable: repeatable, Stages: func() Stages { return tc.stages }})
			history := append(turnsOfWork(12, tc.size), person("q", "next"))
			view := shape(t, s, history, engine.Pressure{Model: model(20_000)})
			if diff := cmp.Diff(tc.want, stageNames(view.Events)); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
			paired(t, msg.Sendable(view.Messages, msg.Bounds{}))
			again := shape(t, s, history, engine.Pressure{Model: model(20_000)})
			if view.History == nil && (len(again.Events) > 0 || !cmp.Equal(view.Messages, again.Messages)) {
				t.Errorf("the second request differs: %v", stageNames(again.Events))
			}
		})
	}
}

func TestMicrocompactKeepsTheNewestAndWhatCannotBeHadAgain(t *testing.T) {
	s := New(Config{Repeatable: repeatable, Auto: func() Auto { return Auto{Off: true} }})
	history := append(join(calls("ask", "AskUserQuestion", strings.Repeat("an answer of a person ", 200)), turnsOfWork(8, 6_000)), person("q", "next"))
	view := shape(t, s, history, engine.Pressure{Model: model(24_000)})
	all := places(view.Messages, 0, len(view.Messages))
	whole, cleared := 0, 0
	for _, p := range all {
		if strings.Contains(resultText(p.result), "was cleared to free space") {
			cleared++
		} else {
			whole++
		}
	}
	if got := resultOf(t, view.Messages, "ask-0"); !strings.Contains(got, "answer of a person") {
		t.Errorf("the person's answer became %q", got)
	}
	if cleared < 8 || whole < 4 || whole > newestWhole+1 {
		t.Errorf("%d whole, %d cleared", whole, cleared)
	}
}

func TestOldResultsAreClearedWhenTheCacheIsCold(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	history := turnsOfWork(8, 3_000)
	for i := range history {
		history[i].Time = now.Add(-10 * time.Minute)
	}
	history = append(history, person("q", "next"))
	for _, tc := range []struct {
		after time.Duration
		round int
		want  []string
	}{
		{0, 1, []string{"microcompact"}},
		{0, 2, nil},
		{time.Hour, 1, nil},
		{-1, 1, nil},
	} {
		stages := AllStages()
		stages.ColdAfter = tc.after
		s := New(Config{Repeatable: repeatable, Now: func() time.Time { return now }, Stages: func() Stages { return stages }})
		if diff := cmp.Diff(tc.want, stageNames(shape(t, s, history, engine.Pressure{Round: tc.round}).Events)); diff != "" {
			t.Errorf("after %v, round %d (-want +got):\n%s", tc.after, tc.round, diff)
		}
	}
}

func TestWhatIsRemovedIsListedAndComesBack(t *testing.T) {
	stages := Stages{Collapse: true}
	s := New(Config{Repeatable: repeatable, Auto: func() Auto { return Auto{Off: true} }, Stages: func() Stages { return stages }})
	history := append(turnsOfWork(12, 3_000), person("q", "next"))
	p := engine.Pressure{Model: model(6_000)}
	shape(t, s, history, p)
	removed := s.Removed(p.Model.Ref(), history)
	var collapsed []Removed
	for _, r := range removed {
		if r.Tokens <= 0 || r.Label == "" {
			t.Errorf("%+v", r)
		}
		if r.Stage == "collapse" {
			collapsed = append(collapsed, r)
		}
	}
	if len(collapsed) != 11 || collapsed[1].ID != "p1" || collapsed[1].Label != "wish 1" {
		t.Fatalf("collapsed: %+v", collapsed)
	}
	if !s.Show("p1", true) || s.Show("p1", true) || s.Show("nothing", true) {
		t.Error("bringing back tells the wrong thing")
	}
	view := shape(t, s, history, p)
	if _, whole := wholeTurn(view.Messages, "c1-0"); !whole {
		t.Error("the turn is still collapsed")
	}
	if _, whole := wholeTurn(view.Messages, "c2-0"); whole {
		t.Error("another turn came back too")
	}
	stages = Stages{Microcompact: true}
	shape(t, s, history, p)
	for _, r := range s.Removed(p.Model.Ref(), history) {
		if r.Stage == "microcompact" && !strings.HasPrefix(r.Label, "Read ") {
			t.Errorf("%+v", r)
		}
	}
}

func wholeTurn(messages []msg.Message, call string) (msg.ToolCall, bool) {
	for _, c := range msg.Calls(messages...) {
		if c.ID == call {
			return c, true
		}
	}
	return msg.ToolCall{}, false
}

func TestACollapsedTurnKeepsPromptAndAnswer(t *testing.T) {
	part := join(person("p", "mend the test"), calls("c", "Bash", "ok", "FAIL"), says("s", "it is mended"))
	for i, b := range part[4].Content {
		r := b.(msg.ToolResult)
		r.IsError = true
		part[4].Content[i] = r
	}
	got := collapsedTurn(part)
	if len(got) != 2 || msg.TextOf(got[0].Content) != "mend the test" {
		t.Fatalf("%+v", got)
	}
	want := "[2 calls of this turn are shown without their results:\n- Bash {}: ok\n- Bash {}: failed]\n\nit is mended"
	if diff := cmp.Diff(want, msg.TextOf(got[1].Content)); diff != "" {
		t.Error(diff)
	}
}

func TestTheConversationIsCompactedBeforeTheServiceRefuses(t *testing.T) {
	for _, window := range []int{8_000, 24_000, 200_000, 1_000_000} {
		a := &asked{}
		s := compactor(a, stateSlice())
		var history []msg.Message
		boundaries := 0
		for n := range 60 {
			history = append(history, person(fmt.Sprintf("p%d", n), "wish"), says(fmt.Sprintf("s%d", n), strings.Repeat("word ", window/30)))
			history = append(history, person(fmt.Sprintf("q%d", n), "the newest words"))
			view := shape(t, s, history, engine.Pressure{Model: model(window)})
			if tokens := sizeOf(view.Messages) / 4; tokens > window {
				t.Fatalf("window %d: a request of %d tokens", window, tokens)
			}
			if view.History != nil {
				history = view.History
				boundaries++
				if last := history[len(history)-1]; !strings.Contains(msg.TextOf(last.Content), "the newest words") {
					t.Errorf("window %d: the newest message became %q", window, msg.TextOf(last.Content))
				}
			}
		}
		if boundaries == 0 || boundaries > 30 {
			t.Errorf("window %d: %d compactions", window, boundaries)
		}
	}
}

func TestAutomaticCompactionCanBeLimitedAndSwitchedOff(t *testing.T) {
	history := append(many(func(i int) []msg.Message {
		return join(person(fmt.Sprintf("p%d", i), "wish"), says(fmt.Sprintf("s%d", i), strings.Repeat("word ", 1000)))
	}, 40), person("q", "next")) // 50,000 tokens
	for _, tc := range []struct {
		auto Auto
		want []string
	}{
		{Auto{}, nil},
		{Auto{Window: 40_000}, []string{"compact auto"}},
		{Auto{Percent: 20}, []string{"compact auto"}},
		{Auto{Window: 500_000}, nil},
		{Auto{Window: 40_000, Off: true}, []string{"notice"}},
	} {
		a := &asked{}
		s := New(Config{Ask: a.ask, Auto: func() Auto { return tc.auto }, Stages: func() Stages { return Stages{} }})
		if diff := cmp.Diff(tc.want, stageNames(shape(t, s, history, engine.Pressure{}).Events)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.auto, diff)
		}
		if again := stageNames(shape(t, s, history, engine.Pressure{}).Events); tc.auto.Off && again != nil {
			t.Errorf("told twice: %v", again)
		}
	}
}

func TestKF057_AContextThatIsFullAgainAtOnceEndsCompaction(t *testing.T) {
	a := &asked{}
	slice := stateSlice()
	s := compactor(a, slice)
	var notices []string
	history := []msg.Message{person("p", "wish")}
	for n := range 10 {
		// One result fills the window alone, whatever is summarised.
		history = append(history, calls(fmt.Sprintf("c%d", n), "Bash", strings.Repeat("x", 40_000))...)
		view := shape(t, s, history, engine.Pressure{Model: model(8_000)})
		if view.History != nil {
			history = view.History
		}
		for _, e := range view.Events {
			if notice, ok := e.(proto.Notice); ok {
				notices = append(notices, notice.Text)
			}
		}
	}
	if len(a.requests) > 2*maxThrash || !slice.Get().AutoOff {
		t.Errorf("%d summaries, off: %t", len(a.requests), slice.Get().AutoOff)
	}
	if joined := strings.Join(notices, "\n"); !strings.Contains(joined, "largest item is a result of Bash") {
		t.Errorf("notices:\n%s", joined)
	}
}

func TestAServiceThatCutsPromptsSilentlyIsNotBelieved(t *testing.T) {
	a := &asked{}
	s := compactor(a, stateSlice())
	var history []msg.Message
	compacted := false
	for n := 0; n < 40 && !compacted; n++ {
		history = append(history, person(fmt.Sprintf("p%d", n), "wish"), says(fmt.Sprintf("s%d", n), strings.Repeat("word ", 800)))
		used := min(n*1000, 4_000) // the server's own window is 4,000 tokens
		view := shape(t, s, append(history, person("q", "next")), engine.Pressure{Model: model(24_000), Used: used, UsedAt: len(history) - 2})
		compacted = view.History != nil
	}
	if !compacted {
		t.Error("the conversation grew beyond the window without a word")
	}
}

// Whatever the stages leave out: pairs stay, the newest prompt stays, nothing grows, and the history
// is not touched.
func TestStagesKeepWhatMustStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var history []msg.Message
		for n := range rapid.IntRange(0, 12).Draw(t, "turns") {
			history = append(history, person(fmt.Sprintf("p%d", n), "wish"))
			for r := range rapid.IntRange(0, 3).Draw(t, "rounds") {
				tool := rapid.SampledFrom([]string{"Read", "Bash"}).Draw(t, "tool")
				history = append(history, calls(fmt.Sprintf("c%d-%d", n, r), tool, strings.Repeat("x", rapid.IntRange(0, 9000).Draw(t, "size")))...)
			}
			if rapid.Bool().Draw(t, "answered") {
				history = append(history, says(fmt.Sprintf("s%d", n), "done"))
			}
		}
		history = append(history, person("q", "the newest"))
		before := sizeOf(history)
		stages := Stages{Budget: true, Snip: rapid.Bool().Draw(t, "snip"), Microcompact: rapid.Bool().Draw(t, "micro"), Collapse: rapid.Bool().Draw(t, "collapse")}
		s := New(Config{Repeatable: repeatable, Auto: func() Auto { return Auto{Off: true} }, Stages: func() Stages { return stages }})
		view, err := s.Shape(context.Background(), history, engine.Pressure{Model: model(rapid.IntRange(2_000, 30_000).Draw(t, "window"))})
		if err != nil {
			t.Fatal(err)
		}
		if last := view.Messages[len(view.Messages)-1]; msg.TextOf(last.Content) != "the newest" {
			t.Fatalf("the newest prompt became %q", msg.TextOf(last.Content))
		}
		if sizeOf(view.Messages) > before || sizeOf(history) != before {
			t.Fatalf("%d bytes became %d", before, sizeOf(view.Messages))
		}
		open := map[string]bool{}
		for _, m := range view.Messages {
			for _, b := range m.Content {
				switch b := b.(type) {
				case msg.ToolCall:
					open[b.ID] = true
				case msg.ToolResult:
					if !open[b.CallID] {
						t.Fatalf("a result without its call: %s", b.CallID)
					}
					delete(open, b.CallID)
				}
			}
		}
		if len(open) > 0 {
			t.Fatalf("calls without results: %v", open)
		}
	})
}
