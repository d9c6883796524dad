package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// reply is one scripted answer: what the model streams.
type reply func(ctx context.Context, req provider.Request, yield func(provider.Event, error) bool)

// model plays replies in order and keeps the requests it got.
type model struct {
	info     provider.Info
	mu       sync.Mutex
	replies  []reply
	requests []provider.Request
}

func (m *model) Info() provider.Info { return m.info }

func (m *model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		m.mu.Lock()
		n := len(m.requests)
		m.requests = append(m.requests, req)
		m.mu.Unlock()
		if n >= len(m.replies) {
			yield(nil, &provider.Error{Kind: provider.KindScript, Provider: "fake", Message: "no reply left"})
			return
		}
		m.replies[n](ctx, req, yield)
	}
}

// answer streams blocks and a stop reason.
func answer(stop msg.Stop, blocks ...msg.Block) reply {
	return func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
		stream(yield, blocks...)
		yield(provider.Done{Stop: stop, Usage: msg.Usage{Input: 10, Output: 5}}, nil)
	}
}

var answers int

func stream(yield func(provider.Event, error) bool, blocks ...msg.Block) {
	answers++
	yield(provider.Start{ID: fmt.Sprintf("answer-%d", answers), Usage: msg.Usage{Input: 10, Output: 1}}, nil)
	for i, b := range blocks {
		yield(provider.BlockStart{Index: i, Block: b}, nil)
		if t, ok := b.(msg.Text); ok {
			yield(provider.Delta{Index: i, Kind: provider.TextDelta, Text: t.Text}, nil)
		}
		yield(provider.BlockDone{Index: i, Block: b}, nil)
	}
}

func failing(e provider.Error) reply {
	return func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
		e.Provider = "fake"
		yield(nil, &e)
	}
}

// cut streams half a text and breaks off.
func cut(text string, e provider.Kind) reply {
	return func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
		stream(yield)
		yield(provider.BlockStart{Index: 0, Block: msg.Text{}}, nil)
		yield(provider.Delta{Index: 0, Kind: provider.TextDelta, Text: text}, nil)
		yield(provider.BlockDone{Index: 0, Block: msg.Text{Text: text}, Partial: true}, nil)
		yield(nil, &provider.Error{Kind: e, Provider: "fake", Message: "broken"})
	}
}

// hang streams a text and then nothing, until it is cancelled.
func hang(text string) reply {
	return func(ctx context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
		stream(yield)
		yield(provider.BlockStart{Index: 0, Block: msg.Text{}}, nil)
		if text != "" {
			yield(provider.Delta{Index: 0, Kind: provider.TextDelta, Text: text}, nil)
		}
		<-ctx.Done()
		if text != "" {
			yield(provider.BlockDone{Index: 0, Block: msg.Text{Text: text}, Partial: true}, nil)
		}
		yield(nil, ctx.Err())
	}
}

func call(id, name, input string) msg.ToolCall {
	return msg.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

func say(s string) msg.Text { return msg.Text{Text: s} }

// probe is a tool that does what a function says.
type probe struct {
	name   string
	traits tool.Traits
	run    func(ctx context.Context, c tool.Call) (tool.Result, error)
}

func (p probe) Spec() tool.Spec {
	return tool.Spec{Name: p.name, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (p probe) Normalise(c tool.Call) (tool.Call, error) {
	if strings.Contains(string(c.Literal), "bad") {
		return c, errors.New("InputValidationError: bad input")
	}
	c.Input = c.Literal
	return c, nil
}

func (p probe) Traits(c tool.Call) tool.Traits {
	t := p.traits
	if strings.Contains(string(c.Input), "alone") {
		t.Beside = false
	}
	return t
}

func (p probe) Run(ctx context.Context, c tool.Call) (tool.Result, error) { return p.run(ctx, c) }

func echo(name string, traits tool.Traits) probe {
	return probe{name, traits, func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text(name + string(c.Input)), nil
	}}
}

// rig is one engine run with everything recorded.
type rig struct {
	cfg      engine.Config
	model    *model
	mu       sync.Mutex
	recorded []msg.Message
	events   []string
	kept     []msg.Message
	slept    []time.Duration
	err      error
	ended    proto.Ended
}

// allow decides that a call runs as it stands.
func allow(tools []tool.Tool, c tool.Call, traits tool.Traits) engine.Verdict {
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == c.Name })
	d, err := tool.Decide(tools[i], c, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) { return tool.Ruling{Allow: true}, nil })
	if err != nil {
		panic(err)
	}
	return engine.Verdict{Run: d}
}

func newRig(tools []tool.Tool, replies ...reply) *rig {
	r := &rig{model: &model{info: provider.Info{Provider: "fake", ID: "m"}, replies: replies}}
	r.cfg = engine.Config{
		Model: func() (provider.Model, provider.Options) { return r.model, provider.Options{} },
		Tools: func() []tool.Tool { return tools },
		Authorize: func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
			return allow(tools, c, traits), nil
		},
		Record: func(_ context.Context, m msg.Message) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.recorded = append(r.recorded, m)
			return nil
		},
		Keep:  func(h []msg.Message) { r.kept = h },
		Agent: tool.NewScope("", "/"),
	}
	r.cfg.Effects.Jitter = func() float64 { return 0 }
	r.cfg.Effects.Sleep = func(ctx context.Context, d time.Duration) error {
		r.slept = append(r.slept, d)
		return ctx.Err()
	}
	return r
}

// run takes the turn; until says whether to break after an event.
func (r *rig) run(ctx context.Context, until func(proto.Event) bool) {
	history := []msg.Message{{ID: "p", Role: msg.User, Content: []msg.Block{say("go")}}}
	for e, err := range engine.Run(ctx, r.cfg, history) {
		if err != nil {
			r.err = err
			return
		}
		r.events = append(r.events, describe(e.Body))
		if x, ok := e.Body.(proto.Ended); ok {
			r.ended = x
		}
		if until != nil && until(e) {
			return
		}
	}
}

func describe(b proto.EventBody) string {
	switch b := b.(type) {
	case proto.Message:
		return "message " + describeMessage(b.Message)
	case proto.CallAnnounced:
		return "call " + b.Call
	case proto.CallEnded:
		return "ended " + b.Call + " " + b.Outcome
	case proto.Ended:
		return "end " + string(b.Reason)
	case proto.Retry:
		return "retry " + b.Kind
	case proto.Fallback:
		return "fallback " + b.To
	default:
		return strings.TrimPrefix(fmt.Sprintf("%T", b), "proto.")
	}
}

func describeMessage(m msg.Message) string {
	var out []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case msg.Text:
			out = append(out, b.Text)
		case msg.ToolCall:
			out = append(out, "call "+b.ID)
		case msg.ToolResult:
			mark := ""
			if b.IsError {
				mark = "!"
			}
			out = append(out, "result "+b.CallID+mark+" "+msg.TextOf(b.Content))
		default:
			out = append(out, b.Type())
		}
	}
	return string(m.Role[0]) + ": " + strings.Join(out, ", ")
}

func (r *rig) conversation() []string {
	var out []string
	for _, m := range r.recorded {
		out = append(out, describeMessage(m))
	}
	return out
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%v\nwant:\n%v", got, want)
	}
}

var readOnly = tool.Traits{ReadOnly: true, Beside: true}

func TestTurnWithTool(t *testing.T) {
	r := newRig([]tool.Tool{echo("Read", readOnly)},
		answer(msg.StopToolUse, say("let me look"), call("a", "NotebookRead", `{"f":1}`)),
		answer(msg.StopEndTurn, say("done")))
	r.run(t.Context(), nil)
	equal(t, r.conversation(), []string{"a: let me look", "a: call a", `u: result a Read{"f":1}`, "a: done"})
	// The answer may end before or after the call it holds.
	equal(t, slices.DeleteFunc(r.events, func(e string) bool { return e == "AnswerEnded" }), []string{
		"RequestStarted", "AnswerStarted", "BlockStarted", "Delta", "message a: let me look", "BlockEnded",
		"BlockStarted", "message a: call a", "BlockEnded", "call a", `message u: result a Read{"f":1}`, "ended a ok",
		"RequestStarted", "AnswerStarted", "BlockStarted", "Delta", "message a: done", "BlockEnded", "end completed",
	})
	equal(t, r.ended.Text, "done")
	equal(t, r.ended.Rounds, 2)
}

func TestModelMistakesAreResults(t *testing.T) {
	r := newRig([]tool.Tool{echo("Read", readOnly)},
		answer(msg.StopToolUse, call("a", "Nope", `{}`), call("b", "Read", `{"x":"bad"}`), call("b", "Read", `{}`),
			msg.ToolCall{ID: "d", Name: "Read", Malformed: `{"x":`}),
		answer(msg.StopEndTurn, say("sorry")))
	r.run(t.Context(), nil)
	got := r.conversation()
	for _, want := range []string{
		"u: result a! <tool_use_error>Error: No such tool available: Nope</tool_use_error>",
		"u: result b! <tool_use_error>InputValidationError: bad input</tool_use_error>",
		"u: result b_2 Read{}",
		`u: result d! <tool_use_error>InputValidationError: Read failed: the input is not valid JSON: {"x":</tool_use_error>`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %q in %q", want, got)
		}
	}
	equal(t, r.ended.Reason, proto.EndCompleted)
}

// TestScheduling checks who runs beside whom: reads together, anything else alone and in order.
func TestScheduling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := map[string]bool{}, map[string]int{}
		var order []string
		timed := func(name string, traits tool.Traits) probe {
			return probe{name, traits, func(_ context.Context, c tool.Call) (tool.Result, error) {
				mu.Lock()
				running[c.ID] = true
				most[c.ID] = len(running)
				order = append(order, c.ID)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				for id := range running {
					most[id] = max(most[id], len(running))
				}
				delete(running, c.ID)
				mu.Unlock()
				return tool.Text(c.ID), nil
			}}
		}
		r := newRig([]tool.Tool{timed("Read", readOnly), timed("Edit", tool.Traits{})},
			answer(msg.StopToolUse, call("a", "Read", `{}`), call("b", "Read", `{}`), call("c", "Edit", `{}`), call("d", "Edit", `{}`), call("e", "Read", `{}`), call("f", "Read", `{}`)),
			answer(msg.StopEndTurn, say("ok")))
		r.run(t.Context(), nil)
		equal(t, most, map[string]int{"a": 2, "b": 2, "c": 1, "d": 1, "e": 2, "f": 2})
		equal(t, order[2:4], []string{"c", "d"})
	})
}

// TestStreamingStart checks that a call runs while the answer still streams, and that the next
// request holds results in call order, behind the whole answer.
func TestStreamingStart(t *testing.T) {
	ran := make(chan struct{})
	first := probe{"Read", readOnly, func(context.Context, tool.Call) (tool.Result, error) {
		close(ran)
		return tool.Text("1"), nil
	}}
	r := newRig([]tool.Tool{first, echo("Late", readOnly)},
		func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
			stream(yield, call("a", "Read", `{}`))
			<-ran // would never come if calls waited for the end of the answer
			yield(provider.BlockDone{Index: 1, Block: call("b", "Late", `{}`)}, nil)
			yield(provider.Done{Stop: msg.StopToolUse}, nil)
		},
		answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	var got []string
	for _, m := range r.model.requests[1].Messages {
		got = append(got, describeMessage(m))
	}
	equal(t, got, []string{"u: go", "a: call a, call b", "u: result a 1, result b Late{}"})
}

func TestRefusalDoesNotAbortSiblingsButFailureOfShellDoes(t *testing.T) {
	shell := probe{"Bash", tool.Traits{Shell: true}, func(_ context.Context, c tool.Call) (tool.Result, error) {
		if strings.Contains(string(c.Input), "fail") {
			return tool.Failed("Exit code 1"), nil
		}
		return tool.Text("fine"), nil
	}}
	r := newRig([]tool.Tool{shell},
		answer(msg.StopToolUse, call("a", "Bash", `{"c":"refuse"}`), call("b", "Bash", `{}`), call("c", "Bash", `{"c":"fail"}`), call("d", "Bash", `{}`)),
		answer(msg.StopEndTurn, say("ok")))
	r.cfg.Authorize = func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
		if strings.Contains(string(c.Input), "refuse") {
			return engine.Verdict{Message: "no"}, nil
		}
		return allow([]tool.Tool{shell}, c, traits), nil
	}
	r.run(t.Context(), nil)
	var got []string
	for _, line := range r.conversation() {
		if strings.HasPrefix(line, "u: result") {
			got = append(got, line)
		}
	}
	equal(t, got, []string{
		"u: result a! no", "u: result b fine", "u: result c! Exit code 1",
		"u: result d! Not run: an earlier command of the same answer failed.",
	})
}

func TestAFailureOfShellCancelsWhatRunsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		shell := probe{"Bash", tool.Traits{Shell: true, ReadOnly: true, Beside: true}, func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if strings.Contains(string(c.Input), "fail") {
				<-started
				return tool.Failed("Exit code 1"), nil
			}
			close(started)
			select {
			case <-ctx.Done():
				return tool.Result{}, context.Cause(ctx)
			case <-time.After(time.Hour):
				return tool.Text("went on"), nil
			}
		}}
		r := newRig([]tool.Tool{shell},
			answer(msg.StopToolUse, call("a", "Bash", `{"c":"wait"}`), call("b", "Bash", `{"c":"fail"}`)), answer(msg.StopEndTurn, say("ok")))
		r.run(t.Context(), nil)
		for _, line := range r.conversation() {
			if strings.HasPrefix(line, "u: result a") && (strings.Contains(line, "went on") || !strings.HasPrefix(line, "u: result a!")) {
				t.Errorf("the call beside: %s", line)
			}
		}
	})
}

func TestAuthorizeMayChangeTheInputAndItsTraits(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	r := newRig([]tool.Tool{echo("Read", readOnly)},
		answer(msg.StopToolUse, call("a", "Read", `{"f":"x"}`), call("b", "Read", `{}`)),
		answer(msg.StopEndTurn, say("ok")))
	r.cfg.Authorize = func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[c.ID]++
		d, err := tool.Decide(echo("Read", readOnly), c, traits, func(c tool.Call, _ tool.Traits) (tool.Ruling, error) {
			if c.ID == "a" {
				return tool.Ruling{Allow: true, Input: json.RawMessage(`{"f":"alone"}`)}, nil
			}
			return tool.Ruling{Allow: true}, nil
		})
		return engine.Verdict{Run: d}, err
	}
	r.run(t.Context(), nil)
	equal(t, asked, map[string]int{"a": 2, "b": 1})
	if got := r.conversation(); !slices.Contains(got, `u: result a Read{"f":"alone"}`) {
		t.Errorf("got %q", got)
	}
}

func TestZeroVerdictRefuses(t *testing.T) {
	r := newRig([]tool.Tool{echo("Read", readOnly)}, answer(msg.StopToolUse, call("a", "Read", `{}`)), answer(msg.StopEndTurn, say("ok")))
	r.cfg.Authorize = func(context.Context, tool.Call, tool.Traits) (engine.Verdict, error) { return engine.Verdict{}, nil }
	r.run(t.Context(), nil)
	equal(t, r.conversation()[1], "u: result a! Permission denied.")
}

// What was decided is what runs: a decided call of another id, and one that was decided for another
// agent, run nothing.
func TestKF109_ADecidedCallRunsInItsOwnPlaceAlone(t *testing.T) {
	for name, other := range map[string]func(*tool.Call){
		"another call":  func(c *tool.Call) { c.ID = "z" },
		"another agent": func(c *tool.Call) { c.Scope = tool.NewScope("x", "/") },
	} {
		ran := false
		spy := probe{"Edit", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
			ran = true
			return tool.Text("ran"), nil
		}}
		r := newRig([]tool.Tool{spy}, answer(msg.StopToolUse, call("a", "Edit", `{}`)), answer(msg.StopEndTurn, say("ok")))
		r.cfg.Authorize = func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
			other(&c)
			return allow([]tool.Tool{spy}, c, traits), nil
		}
		r.run(t.Context(), nil)
		if said := r.conversation(); ran || !strings.Contains(said[1], "Not run") {
			t.Errorf("%s: ran %v, said %q", name, ran, said)
		}
	}
}

// An earlier call of the same answer moves the agent: the calls that wait are prepared and decided in the
// directory where they start, and run there.
func TestKF109_ACallIsDecidedInTheDirectoryItRunsIn(t *testing.T) {
	scope := tool.NewScope("", "/one")
	move := probe{"Cd", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		scope.SetCwd("/two")
		return tool.Text("moved"), nil
	}}
	where := probe{"Where", tool.Traits{}, func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(c.Dir()), nil }}
	r := newRig([]tool.Tool{move, where}, answer(msg.StopToolUse, call("a", "Cd", `{}`), call("b", "Where", `{}`)), answer(msg.StopEndTurn, say("ok")))
	r.cfg.Agent = scope
	var decided []string
	r.cfg.Authorize = func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
		decided = append(decided, c.Name+" in "+c.Cwd)
		return allow([]tool.Tool{move, where}, c, traits), nil
	}
	r.run(t.Context(), nil)
	equal(t, decided, []string{"Cd in /one", "Where in /two"})
	if said := r.conversation(); !slices.Contains(said, "u: result b /two") {
		t.Errorf("%q", said)
	}
}

// A tool that meets a link where none was when the call was decided hands it back: the call is decided anew,
// and not for ever.
func TestKF109_ACallWhosePathMovedIsDecidedAnew(t *testing.T) {
	for met, want := range map[int]string{1: "u: result a read", 9: "u: result a! Nothing was done: the path came to lead elsewhere"} {
		left := met
		read := probe{"Read", readOnly, func(context.Context, tool.Call) (tool.Result, error) {
			if left--; left >= 0 {
				return tool.Result{}, fmt.Errorf("open /f: %w", nolink.ErrLink)
			}
			return tool.Text("read"), nil
		}}
		r := newRig([]tool.Tool{read}, answer(msg.StopToolUse, call("a", "Read", `{}`)), answer(msg.StopEndTurn, say("ok")))
		decided := 0
		r.cfg.Authorize = func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
			decided++
			return allow([]tool.Tool{read}, c, traits), nil
		}
		r.run(t.Context(), nil)
		if said := r.conversation(); !strings.HasPrefix(said[1], want) || decided != min(met+1, 3) {
			t.Errorf("met %d links: %q, decided %d times", met, said[1], decided)
		}
	}
}

// Before is told of what has effects, right before it runs; when it fails, nothing runs.
func TestBeforeStandsBeforeEffects(t *testing.T) {
	var order []string
	step := func(name string, traits tool.Traits) probe {
		return probe{name, traits, func(context.Context, tool.Call) (tool.Result, error) {
			order = append(order, "run "+name)
			return tool.Text("ran"), nil
		}}
	}
	tools := []tool.Tool{step("Read", tool.Traits{ReadOnly: true}), step("Todo", tool.Traits{NoEffect: true}), step("Edit", tool.Traits{Snapshot: true})}
	r := newRig(tools, answer(msg.StopToolUse, call("a", "Read", `{}`), call("b", "Todo", `{}`), call("c", "Edit", `{}`)), answer(msg.StopEndTurn, say("ok")))
	var fails error
	r.cfg.Before = func(_ context.Context, c tool.Call, traits tool.Traits) error {
		order = append(order, fmt.Sprintf("before %s, checkpoint %v", c.Name, traits.Snapshot))
		return fails
	}
	r.run(t.Context(), nil)
	equal(t, order, []string{"run Read", "run Todo", "before Edit, checkpoint true", "run Edit"})
	order, fails = nil, errors.New("the disk is full")
	r.model.replies = append(r.model.replies, answer(msg.StopToolUse, call("d", "Edit", `{}`)), answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	equal(t, order, []string{"before Edit, checkpoint true"})
}

func TestKF006_InterruptInParallelCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		run := probe{"Read", readOnly, func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.ID == "b" {
				<-ctx.Done()
				return tool.Result{}, ctx.Err()
			}
			return tool.Text("fast"), nil
		}}
		r := newRig([]tool.Tool{run, echo("Edit", tool.Traits{})},
			answer(msg.StopToolUse, call("a", "Read", `{}`), call("b", "Read", `{}`), call("c", "Edit", `{}`)))
		go func() {
			time.Sleep(time.Second)
			cancel(engine.ErrInterrupt)
		}()
		r.run(ctx, nil)
		said := r.conversation()
		if !slices.Contains(said, "u: result a fast") {
			t.Errorf("the finished result is missing in %q", said)
		}
		equal(t, said[len(said)-3:], []string{
			"u: result c! Not run: interrupted by the user.",
			"u: result b! Interrupted: interrupted by the user.",
			"u: [Request interrupted by user for tool use]",
		})
		equal(t, r.ended.Reason, proto.EndTools)
		equal(t, len(r.kept), len(r.recorded)+1)
	})
}

func TestInterruptWhileStreamingKeepsTheText(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRig(nil, hang("half a sen"))
	r.run(ctx, func(e proto.Event) bool {
		if _, ok := e.Body.(proto.Delta); ok {
			cancel(engine.ErrInterrupt)
		}
		return false
	})
	equal(t, r.conversation(), []string{"a: half a sen", "u: [Request interrupted by user]"})
	equal(t, r.ended.Reason, proto.EndStreaming)
}

func TestBreakRecordsPairedResultsAndYieldsNothingMore(t *testing.T) {
	r := newRig([]tool.Tool{echo("Read", readOnly)}, answer(msg.StopToolUse, call("a", "Read", `{}`), call("b", "Read", `{}`)))
	r.run(t.Context(), func(e proto.Event) bool {
		c, ok := e.Body.(proto.CallAnnounced)
		return ok && c.Call == "b"
	})
	results := map[string]bool{}
	for _, m := range r.recorded {
		for _, b := range m.Content {
			if res, ok := b.(msg.ToolResult); ok {
				results[res.CallID] = true
			}
		}
	}
	equal(t, results, map[string]bool{"a": true, "b": true})
	equal(t, r.events[len(r.events)-1], "call b")
}

func TestKF032_CallThatIgnoresCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stubborn := probe{"Edit", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(time.Minute)
			return tool.Text("done after all"), nil
		}}
		r := newRig([]tool.Tool{stubborn}, answer(msg.StopToolUse, call("a", "Edit", `{}`)))
		late := make(chan tool.Done, 1)
		r.cfg.Late = func(d tool.Done) { late <- d }
		go func() {
			time.Sleep(time.Second)
			cancel(engine.ErrInterrupt)
		}()
		start := time.Now()
		r.run(ctx, nil)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("the interrupt took %v", took)
		}
		equal(t, msg.TextOf((<-late).Result.Content), "done after all")
	})
}

func TestKF062_StreamDropsAfterText(t *testing.T) {
	r := newRig(nil, cut("The answer is", provider.KindStream), answer(msg.StopEndTurn, say(" 42.")))
	r.run(t.Context(), nil)
	got := r.conversation()
	equal(t, got[0], "a: The answer is")
	equal(t, got[2], "a:  42.")
	second := r.model.requests[1].Messages
	equal(t, describeMessage(second[1]), "a: The answer is")
	equal(t, r.ended.Reason, proto.EndCompleted)
	equal(t, r.ended.Text, "The answer is 42.")
}

func TestKF062_HalfCallIsNotRun(t *testing.T) {
	r := newRig([]tool.Tool{echo("Bash", tool.Traits{Shell: true})},
		func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
			stream(yield, say("I will"))
			yield(provider.BlockStart{Index: 1, Block: call("a", "Bash", "")}, nil)
			yield(provider.BlockDone{Index: 1, Block: call("a", "Bash", `{"c`), Partial: true}, nil)
			yield(nil, &provider.Error{Kind: provider.KindStream, Provider: "fake"})
		},
		answer(msg.StopEndTurn, say("on")))
	r.run(t.Context(), nil)
	for _, line := range r.conversation() {
		if strings.Contains(line, "call") {
			t.Errorf("half a call was kept: %s", line)
		}
	}
}

func TestKF062_CutsAreBounded(t *testing.T) {
	c := cut("x", provider.KindStream)
	r := newRig(nil, c, c, c, c, c, c)
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 4)
	equal(t, r.ended.Reason, proto.EndAPI)
}

func TestKF063_EndWithoutEndMarker(t *testing.T) {
	silent := func(_ context.Context, _ provider.Request, yield func(provider.Event, error) bool) { stream(yield) }
	r := newRig(nil, silent, answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Text, "ok")
	equal(t, len(r.slept), 1)
}

func TestKF064_Silence(t *testing.T) {
	pings := func(ctx context.Context, _ provider.Request, yield func(provider.Event, error) bool) {
		stream(yield)
		for ctx.Err() == nil {
			yield(provider.Ping{}, nil)
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
		}
		yield(nil, ctx.Err())
	}
	for name, silent := range map[string]reply{"nothing": hang(""), "pings": pings, "text": hang("half")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(nil, silent, answer(msg.StopEndTurn, say("ok")))
				start := time.Now()
				r.run(t.Context(), nil)
				equal(t, r.ended.Reason, proto.EndCompleted)
				if took := time.Since(start); took < 5*time.Minute || took > 6*time.Minute {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestKF064_WallClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(nil, hang(""), answer(msg.StopEndTurn, say("ok")))
		var jump atomic.Int64
		r.cfg.Effects.Now = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			jump.Store(int64(time.Hour)) // the machine slept
		}()
		r.run(t.Context(), nil)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("noticed after %v", took)
		}
	})
}

func TestKF065_RepeatedCall(t *testing.T) {
	var replies []reply
	for i := range 30 {
		replies = append(replies, answer(msg.StopToolUse, call(fmt.Sprint("c", i), "Read", `{"same":true}`)))
	}
	r := newRig([]tool.Tool{echo("Read", readOnly)}, replies...)
	r.run(t.Context(), nil)
	equal(t, r.ended.Reason, proto.EndRepetition)
	equal(t, len(r.model.requests), 8)
}

func TestOutputLimit(t *testing.T) {
	r := newRig(nil, answer(msg.StopMaxTokens, say("one ")), answer(msg.StopMaxTokens, say("two ")), answer(msg.StopEndTurn, say("three")))
	r.model.info.MaxOutput = 64_000
	r.run(t.Context(), nil)
	equal(t, r.ended.Reason, proto.EndCompleted)
	equal(t, []int{r.model.requests[0].Options.MaxTokens, r.model.requests[1].Options.MaxTokens}, []int{32_000, 64_000})

	always := answer(msg.StopMaxTokens, say("x"))
	r = newRig(nil, always, always, always, always, always)
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 4)
	equal(t, r.ended.Reason, proto.EndMaxOutput)
}

func TestKF057_PromptTooLong(t *testing.T) {
	long := failing(provider.Error{Kind: provider.KindTooLong, Status: 400, Message: "prompt is too long"})
	r := newRig(nil, long, long, long, long, long)
	var steps []string
	r.cfg.Shape = func(_ context.Context, h []msg.Message, p engine.Pressure) (engine.View, error) {
		switch {
		case p.Project:
			steps = append(steps, "project")
		case p.Reactive:
			steps = append(steps, "compact")
			return engine.View{Messages: h[:1], History: h[:1], Freed: true}, nil
		}
		return engine.View{Messages: h}, nil
	}
	r.run(t.Context(), nil)
	equal(t, steps, []string{"project", "compact"})
	equal(t, len(r.model.requests), 2)
	equal(t, r.ended.Reason, proto.EndOverflow)
}

func TestKF009_MediaRefused(t *testing.T) {
	r := newRig([]tool.Tool{probe{"Read", readOnly, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Content: []msg.Block{msg.Document{MediaType: "application/pdf", Data: []byte("%PDF")}}}, nil
	}}},
		answer(msg.StopToolUse, call("a", "Read", `{}`)),
		failing(provider.Error{Kind: provider.KindMedia, Status: 400}),
		answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Reason, proto.EndCompleted)
	equal(t, describeMessage(r.kept[2]), "u: result a [document taken out: the service refused it]")
}

func TestRetries(t *testing.T) {
	limit := failing(provider.Error{Kind: provider.KindRateLimit, Status: 429, RetryAfter: 7 * time.Second})
	busy := failing(provider.Error{Kind: provider.KindServer, Status: 500})
	r := newRig(nil, limit, busy, busy, answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	equal(t, r.slept, []time.Duration{7 * time.Second, time.Second, 2 * time.Second})
	equal(t, r.ended.Text, "ok")
	equal(t, r.ended.Rounds, 1)

	r = newRig(nil, slices.Repeat([]reply{busy}, 20)...)
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 11)
	equal(t, r.ended.Reason, proto.EndAPI)
	equal(t, r.ended.API.Status, 500)

	r = newRig(nil, failing(provider.Error{Kind: provider.KindAuth, Status: 401}))
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 1)
	equal(t, r.ended.API.Kind, "authentication_failed")
}

func TestFallback(t *testing.T) {
	busy := failing(provider.Error{Kind: provider.KindOverloaded, Status: 529})
	other := &model{info: provider.Info{Provider: "fake", ID: "other"}, replies: []reply{answer(msg.StopEndTurn, say("here"))}}
	r := newRig(nil, busy, busy, busy, busy)
	r.cfg.Model = func() (provider.Model, provider.Options) {
		return r.model, provider.Options{Fallbacks: []provider.Model{other}}
	}
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 3)
	equal(t, r.ended.Text, "here")

	r = newRig(nil, failing(provider.Error{Kind: provider.KindOverloaded, Status: 529, RetryAfter: 2 * time.Minute}))
	other.requests = nil
	r.cfg.Model = func() (provider.Model, provider.Options) {
		return r.model, provider.Options{Fallbacks: []provider.Model{other}}
	}
	r.run(t.Context(), nil)
	equal(t, len(r.model.requests), 1)
	equal(t, len(r.slept), 0)
}

func TestStreamingUnusable(t *testing.T) {
	broken := failing(provider.Error{Kind: provider.KindStream})
	r := newRig(nil, broken, broken, answer(msg.StopEndTurn, say("whole")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Text, "whole")
	equal(t, r.model.requests[2].Options.NoStream, true)
}

func TestMaxRoundsRunsTheLastCalls(t *testing.T) {
	r := newRig([]tool.Tool{echo("Read", readOnly)}, answer(msg.StopToolUse, call("a", "Read", `{}`)), answer(msg.StopEndTurn, say("never")))
	r.cfg.Limits.Rounds = 1
	r.run(t.Context(), nil)
	equal(t, r.conversation(), []string{"a: call a", "u: result a Read{}"})
	equal(t, r.ended.Reason, proto.EndMaxRounds)
}

func TestBudgetRefusesWhatHasNotStarted(t *testing.T) {
	release := make(chan struct{})
	slow := probe{"Edit", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		<-release
		return tool.Text("done"), nil
	}}
	r := newRig([]tool.Tool{slow}, answer(msg.StopToolUse, call("a", "Edit", `{}`), call("b", "Edit", `{}`)))
	r.cfg.Stop = func(_ context.Context, turn engine.Turn) (engine.Stopping, error) {
		close(release)
		return engine.Stopping{End: &tool.End{Reason: "budget", Outcome: string(proto.EndBudget)}}, nil
	}
	r.run(t.Context(), nil)
	equal(t, r.conversation()[2:], []string{"u: result b! Not run: budget", "u: result a done"})
	equal(t, r.ended.Reason, proto.EndBudget)
}

func TestStopFunctionGoesOn(t *testing.T) {
	r := newRig(nil, answer(msg.StopEndTurn, say("one")), answer(msg.StopEndTurn, say("two")))
	var seen []int
	r.cfg.Stop = func(_ context.Context, turn engine.Turn) (engine.Stopping, error) {
		seen = append(seen, turn.Continued)
		if turn.Continued == 0 {
			return engine.Stopping{Again: []msg.Message{{Role: msg.User, Origin: msg.FromHarness, Content: []msg.Block{say("more")}}}}, nil
		}
		return engine.Stopping{}, nil
	}
	r.run(t.Context(), nil)
	equal(t, seen, []int{0, 1})
	equal(t, r.conversation(), []string{"a: one", "u: more", "a: two"})
}

func TestRecordFailureEndsTheRun(t *testing.T) {
	full := errors.New("no space left")
	r := newRig([]tool.Tool{echo("Read", readOnly)}, answer(msg.StopToolUse, call("a", "Read", `{}`)))
	r.cfg.Record = func(context.Context, msg.Message) error { return full }
	r.run(t.Context(), nil)
	if !errors.Is(r.err, full) {
		t.Errorf("got %v", r.err)
	}
	equal(t, r.events[len(r.events)-1], "BlockStarted")
}

func TestPanicInToolIsSurvived(t *testing.T) {
	r := newRig([]tool.Tool{probe{"Edit", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) { panic("boom") }}},
		answer(msg.StopToolUse, call("a", "Edit", `{}`)), answer(msg.StopEndTurn, say("ok")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Text, "ok")
	if !slices.ContainsFunc(r.events, func(s string) bool { return s == "Notice" }) {
		t.Error("nobody was told")
	}
}

func TestSteerIsDeliveredBesideTheResults(t *testing.T) {
	r := newRig([]tool.Tool{echo("Read", readOnly)}, answer(msg.StopToolUse, call("a", "Read", `{}`)), answer(msg.StopEndTurn, say("ok")))
	typed := []msg.Message{{ID: "s", Role: msg.User, Content: []msg.Block{say("also this")}}}
	r.cfg.Steer = func() []msg.Message {
		out := typed
		typed = nil
		return out
	}
	r.run(t.Context(), nil)
	last := r.model.requests[1].Messages
	equal(t, describeMessage(last[len(last)-1]), "u: result a Read{}, also this")
}
