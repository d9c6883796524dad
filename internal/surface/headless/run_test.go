package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// fakeSession plays events when it gets a prompt and reacts to operations by a function.
type fakeSession struct {
	react func(op proto.OpBody, tell func(...proto.Event)) error
	mu    sync.Mutex // guards ops
	ops   []proto.OpBody
	queue chan proto.Event
	close func(ctx context.Context) error
}

func newFake(react func(op proto.OpBody, tell func(...proto.Event)) error) *fakeSession {
	return &fakeSession{react: react, queue: make(chan proto.Event, 10000)}
}

// playing answers a prompt with these events.
func playing(list ...proto.Event) *fakeSession {
	return newFake(func(op proto.OpBody, tell func(...proto.Event)) error {
		if _, ok := op.(proto.Prompt); ok {
			tell(list...)
		}
		return nil
	})
}

func (s *fakeSession) Do(op proto.Op) error {
	s.mu.Lock()
	s.ops = append(s.ops, op.Body)
	s.mu.Unlock()
	return s.react(op.Body, func(list ...proto.Event) {
		for _, e := range list {
			s.queue <- e
		}
	})
}

func (s *fakeSession) Events(ctx context.Context) iter.Seq[proto.Event] {
	return func(yield func(proto.Event) bool) {
		for {
			select {
			case e, ok := <-s.queue:
				if !ok || !yield(e) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *fakeSession) Close(ctx context.Context) error {
	if s.close != nil {
		return s.close(ctx)
	}
	return nil
}

func (s *fakeSession) did(kind proto.OpBody) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, op := range s.ops {
		if fmt.Sprintf("%T", op) == fmt.Sprintf("%T", kind) {
			n++
		}
	}
	return n
}

// outcome is what a run left behind.
type outcome struct {
	code     int
	out, err string
	took     time.Duration
}

func runWith(t *testing.T, s Session, o Options) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	if o.Out == nil {
		o.Out = &out
	}
	o.Err, o.Prompt = &errs, PromptText("go")
	began := time.Now()
	code := Run(t.Context(), s, o)
	return outcome{code, out.String(), errs.String(), time.Since(began)}
}

func hello() *events {
	return newEvents().start("default").answer(msg.Text{Text: "Hello"}).done(success("Hello", 1, msg.StopEndTurn), 1, 1)
}

func TestACleanRunIsSilentOnTheErrorStream(t *testing.T) {
	for _, tc := range []struct {
		format  Format
		verbose bool
		check   func(string) error
	}{
		{Text, false, func(s string) error { return equal(s, "Hello\n") }},
		{JSON, false, func(s string) error { return oneResult(s) }},
		{JSON, true, func(s string) error { return array(s, "system", "assistant", "result") }},
		{StreamJSON, true, func(s string) error {
			return array("["+strings.ReplaceAll(strings.TrimSpace(s), "\n", ",")+"]", "system", "assistant", "result")
		}},
	} {
		t.Run(fmt.Sprintf("%s verbose=%t", tc.format, tc.verbose), func(t *testing.T) {
			got := runWith(t, playing(hello().list...), Options{Format: tc.format, Verbose: tc.verbose})
			if got.code != 0 || got.err != "" {
				t.Errorf("code %d, stderr %q", got.code, got.err)
			}
			if err := tc.check(got.out); err != nil {
				t.Errorf("%v in %q", err, got.out)
			}
		})
	}
}

func equal(got, want string) error {
	if got != want {
		return fmt.Errorf("want %q", want)
	}
	return nil
}

func oneResult(s string) error {
	if strings.Count(s, "\n") != 1 {
		return errors.New("want one line")
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return err
	}
	if v["type"] != "result" {
		return errors.New("want a result")
	}
	return nil
}

func array(s string, kinds ...string) error {
	var v []map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return err
	}
	var got []string
	for _, m := range v {
		got = append(got, fmt.Sprint(m["type"]))
	}
	if strings.Join(got, " ") != strings.Join(kinds, " ") {
		return fmt.Errorf("got %v", got)
	}
	return nil
}

func failed(reason proto.EndReason, api *proto.APIError, detail string) *events {
	return newEvents().start("default").done(proto.Result{Turns: 1, Ended: proto.Ended{Reason: reason, API: api, Detail: detail}}, 0, 0)
}

func TestKF068_FailureLooksLikeFailure(t *testing.T) {
	api := func(kind provider.Kind, status int) *events {
		return failed(proto.EndAPI, &proto.APIError{Kind: string(kind), Status: status, Message: "the service said no", Script: kind == provider.KindScript}, "")
	}
	for name, tc := range map[string]struct {
		script *events
		code   int
	}{
		"401":               {api(provider.KindAuth, 401), ExitSignIn},
		"403 billing":       {api(provider.KindBilling, 403), ExitSignIn},
		"429":               {api(provider.KindRateLimit, 429), ExitBusy},
		"529":               {api(provider.KindOverloaded, 529), ExitBusy},
		"500":               {api(provider.KindServer, 500), ExitNetwork},
		"no connection":     {api(provider.KindNetwork, 0), ExitNetwork},
		"silence":           {api(provider.KindIdle, 0), ExitNetwork},
		"400":               {api(provider.KindInvalid, 400), ExitOther},
		"script ran out":    {api(provider.KindScript, 0), ExitScript},
		"max turns":         {failed(proto.EndMaxRounds, nil, "Reached maximum number of turns (2)"), ExitMaxTurns},
		"budget":            {failed(proto.EndBudget, nil, "Reached maximum budget ($1)"), ExitBudget},
		"context too small": {failed(proto.EndOverflow, nil, "the context does not fit"), ExitOther},
	} {
		for _, format := range []Format{Text, JSON, StreamJSON} {
			t.Run(name+" "+string(format), func(t *testing.T) {
				got := runWith(t, playing(tc.script.list...), Options{Format: format})
				want := tc.code
				if format == StreamJSON {
					want = ExitOther
				}
				if got.code != want {
					t.Errorf("exit code %d, want %d", got.code, want)
				}
				if strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "myelin: ") {
					t.Errorf("want one line on stderr, got %q", got.err)
				}
				if format == Text {
					if got.out != "" {
						t.Errorf("error prose on stdout: %q", got.out)
					}
					return
				}
				lines := strings.Split(strings.TrimSpace(got.out), "\n")
				var r map[string]any
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
					t.Fatal(err)
				}
				if r["is_error"] != true {
					t.Errorf("is_error is %v", r["is_error"])
				}
			})
		}
	}
}

func TestAnSDKSeesThreeExitCodesAndNoProse(t *testing.T) {
	script := failed(proto.EndAPI, &proto.APIError{Kind: string(provider.KindAuth), Status: 401}, "")
	got := runWith(t, playing(script.list...), Options{Format: Text, SDK: true})
	if got.code != ExitOther || got.err != "" {
		t.Errorf("code %d, stderr %q", got.code, got.err)
	}
}

func TestARefusalNamesTheRuleThatIsMissing(t *testing.T) {
	script := newEvents().start("default").answer(bash("t1", "npm test", "Test")).
		add(proto.Denied{Call: "t1", Tool: "Bash", Message: "needs an answer\nand nobody is here", Rule: "Bash(npm test)"}).
		toolResult("t1", "refused", "", true).answer(msg.Text{Text: "I may not."}).done(success("I may not.", 2, msg.StopEndTurn), 2, 2)
	got := runWith(t, playing(script.list...), Options{})
	if want := "myelin: Bash was refused: needs an answer and nobody is here; to allow it: --allowedTools 'Bash(npm test)'\n"; got.err != want {
		t.Errorf("stderr %q, want %q", got.err, want)
	}
	if got.code != 0 || got.out != "I may not.\n" {
		t.Errorf("code %d, stdout %q", got.code, got.out)
	}
}

func TestAQuestionNobodyCanAnswerIsRefused(t *testing.T) {
	var answer proto.Answer
	s := newFake(func(op proto.OpBody, tell func(...proto.Event)) error {
		switch op := op.(type) {
		case proto.Prompt:
			tell(newEvents().start("default").add(proto.Ask{ID: "q1", Kind: proto.AskPermission}).list...)
		case proto.Answer:
			answer = op
			tell(newEvents().done(success("ok", 1, msg.StopEndTurn), 1, 1).list...)
		}
		return nil
	})
	if got := runWith(t, s, Options{}); got.code != 0 {
		t.Errorf("code %d, stderr %q", got.code, got.err)
	}
	if answer.ID != "q1" || answer.Behavior != "deny" {
		t.Errorf("answered %+v", answer)
	}
}

func TestLocalCommandsPrintTheirText(t *testing.T) {
	script := newEvents().start("default").add(proto.LocalOutput{Command: "/cost", Text: "$0.10"}).
		add(proto.Result{Subtype: "success"})
	got := runWith(t, playing(script.list...), Options{})
	if got.out != "$0.10\n" || got.err != "" || got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// brokenPipe fails like a pipe whose reader went away, after some writes.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	}
	return len(p), nil
}

func TestAReaderThatWentAwayEndsTheRunQuietly(t *testing.T) {
	got := runWith(t, playing(hello().list...), Options{Format: StreamJSON, Out: &brokenPipe{left: 1}})
	if got.code != ExitOther || got.err != "" {
		t.Errorf("code %d, stderr %q", got.code, got.err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAFullDiskIsTold(t *testing.T) {
	got := runWith(t, playing(hello().list...), Options{Out: fullDisk{}})
	if got.code != ExitOther || !strings.Contains(got.err, "no space left") {
		t.Errorf("code %d, stderr %q", got.code, got.err)
	}
}

func TestSignals(t *testing.T) {
	// sleeping plays a turn that ends only when it is interrupted.
	sleeping := func() *fakeSession {
		return newFake(func(op proto.OpBody, tell func(...proto.Event)) error {
			switch op.(type) {
			case proto.Prompt:
				tell(newEvents().start("default").answer(bash("t1", "sleep 99", "Sleep")).list...)
			case proto.Interrupt:
				tell(newEvents().user(msg.FromInterrupt, "[Request interrupted by user for tool use]").done(proto.Result{
					Subtype: "error_during_execution", IsError: true, Errors: []string{"interrupted"}, Ended: proto.Ended{Reason: proto.EndTools},
				}, 1, 1).list...)
			}
			return nil
		})
	}
	for _, tc := range []struct {
		sig    syscall.Signal
		format Format
		code   int
		result bool
	}{
		{syscall.SIGINT, Text, 130, false},
		{syscall.SIGINT, JSON, 130, true},
		{syscall.SIGINT, StreamJSON, 0, true},
		{syscall.SIGTERM, Text, 143, false},
		{syscall.SIGTERM, StreamJSON, 143, false},
		{syscall.SIGHUP, Text, 129, false},
		{syscall.SIGHUP, StreamJSON, 143, false},
	} {
		t.Run(fmt.Sprintf("%v %s", tc.sig, tc.format), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 1)
				time.AfterFunc(time.Second, func() { signals <- tc.sig })
				got := runWith(t, sleeping(), Options{Format: tc.format, Signals: signals})
				if got.code != tc.code {
					t.Errorf("exit code %d, want %d", got.code, tc.code)
				}
				if has := strings.Contains(got.out, `"type":"result"`); has != tc.result {
					t.Errorf("result written: %t, want %t", has, tc.result)
				}
				if got.took > 2*time.Second {
					t.Errorf("took %v", got.took)
				}
			})
		})
	}
}

func TestASecondInterruptDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := playing(newEvents().start("default").list...) // never ends, whatever is asked
		signals := make(chan os.Signal, 2)
		time.AfterFunc(time.Second, func() { signals <- syscall.SIGINT })
		time.AfterFunc(1500*time.Millisecond, func() { signals <- syscall.SIGINT })
		got := runWith(t, s, Options{Signals: signals})
		if got.code != 130 || got.took > 1600*time.Millisecond {
			t.Errorf("%+v", got)
		}
	})
}

func TestKF069_EndsAfterTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell := proto.Task{ID: "b1", Kind: "shell", Description: "sleep 600", Status: "running", Backgrounded: true}
		script := newEvents().start("default").add(proto.TaskStarted{Task: shell}).
			answer(msg.Text{Text: "waiting"}).done(success("waiting", 1, msg.StopEndTurn), 1, 1)
		s := playing(script.list...)
		s.close = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		got := runWith(t, s, Options{})
		if got.code != 0 || got.out != "waiting\n" {
			t.Errorf("%+v", got)
		}
		if got.took > 3*time.Second {
			t.Errorf("took %v", got.took)
		}
		if s.did(proto.StopTask{}) != 1 || !strings.Contains(got.err, `ended with the session: shell "sleep 600"`) {
			t.Errorf("stderr %q", got.err)
		}
	})
}

func TestKF073_BackgroundAgentsGetTheirFollowUpTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := proto.Task{ID: "a1", Kind: "agent", Description: "look", Status: "running", Backgrounded: true}
		done := agent
		done.Status = "completed"
		s := newFake(func(op proto.OpBody, tell func(...proto.Event)) error {
			if _, ok := op.(proto.Prompt); !ok {
				return nil
			}
			tell(newEvents().start("default").add(proto.TaskStarted{Task: agent}).
				answer(msg.Text{Text: "waiting"}).done(success("waiting", 1, msg.StopEndTurn), 1, 1).list...)
			time.AfterFunc(time.Minute, func() {
				tell(newEvents().add(proto.TaskEnded{Task: done}).list...)
				tell(newEvents().start("default").user(msg.FromTask, "it ended").answer(msg.Text{Text: "it says yes"}).
					done(success("it says yes", 1, msg.StopEndTurn), 1, 2).list...)
			})
			return nil
		})
		got := runWith(t, s, Options{})
		if got.code != 0 || got.out != "it says yes\n" || got.err != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestKF073_TheWaitForAgentsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := proto.Task{ID: "a1", Kind: "agent", Description: "look", Status: "running", Backgrounded: true}
		script := newEvents().start("default").add(proto.TaskStarted{Task: agent}).
			answer(msg.Text{Text: "waiting"}).done(success("waiting", 1, msg.StopEndTurn), 1, 1)
		got := runWith(t, playing(script.list...), Options{AgentWait: time.Minute})
		if got.code != 0 || got.out != "waiting\n" || got.took < time.Minute || got.took > 2*time.Minute {
			t.Errorf("%+v", got)
		}
		if !strings.Contains(got.err, `agent "look"`) {
			t.Errorf("stderr %q", got.err)
		}
	})
}

func TestAnAgentWithoutFollowUpTurnDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := proto.Task{ID: "a1", Kind: "agent", Status: "running", Backgrounded: true}
		script := newEvents().start("default").add(proto.TaskStarted{Task: agent}).
			answer(msg.Text{Text: "x"}).add(proto.TaskEnded{Task: agent}).done(success("x", 1, msg.StopEndTurn), 1, 1)
		got := runWith(t, playing(script.list...), Options{})
		if got.code != 0 || got.took > 5*time.Second {
			t.Errorf("%+v", got)
		}
	})
}

func TestASessionThatEndsWithoutAnAnswerFails(t *testing.T) {
	s := playing(newEvents().start("default").list...)
	s.react = func(op proto.OpBody, tell func(...proto.Event)) error {
		if _, ok := op.(proto.Prompt); ok {
			close(s.queue)
		}
		return nil
	}
	if got := runWith(t, s, Options{}); got.code != ExitOther || got.err == "" || got.out != "" {
		t.Errorf("%+v", got)
	}
}

func TestKF004_LineSeparatorsStayInsideALine(t *testing.T) {
	nasty := "a\u2028b\u2029c\u0085d\re\x00f"
	script := newEvents().start("default").answer(msg.Text{Text: nasty}).
		toolResult("t", "x", `{"raw":"`+"\u2028"+`"}`, false).done(success(nasty, 1, msg.StopEndTurn), 1, 1)
	got := runWith(t, playing(script.list...), Options{Format: StreamJSON})
	if strings.ContainsAny(got.out, "\u2028\u2029") {
		t.Error("a line separator stands unescaped")
	}
	for l := range strings.Lines(got.out) {
		var v map[string]any
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatalf("%v in %q", err, l)
		}
		if v["type"] == "result" && v["result"] != nasty {
			t.Errorf("text came out as %q", v["result"])
		}
	}
}

func TestLongLinesAreCutWithAMark(t *testing.T) {
	big := strings.Repeat("é", 3<<20)
	file := `{"originalFile":` + string(mustJSON(big)) + `,"list":["short"]}`
	script := newEvents().start("default").toolResult("t", "ok", file, false).done(success(big, 1, msg.StopEndTurn), 1, 1)
	got := runWith(t, playing(script.list...), Options{Format: StreamJSON})
	for l := range strings.Lines(got.out) {
		if len(l) > 1<<20 {
			t.Errorf("a line of %d bytes", len(l))
		}
		var v any
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(got.out, "bytes left out") || !strings.Contains(got.out, "short") {
		t.Error("no mark where text was cut, or short text lost")
	}
}

func mustJSON(v any) []byte { raw, _ := json.Marshal(v); return raw }

func TestALargePictureIsReplacedWhole(t *testing.T) {
	m := msg.Message{ID: "m", Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{
		CallID: "t", Content: []msg.Block{msg.Image{MediaType: "image/png", Data: make([]byte, 2<<20)}},
	}}}
	script := newEvents().start("default").add(proto.Message{Message: m})
	lines := wireLines(t, newMapper(mapOptions{}), script.list)
	raw := string(mustJSON(lines[1]))
	if strings.Contains(raw, "base64") || !strings.Contains(raw, "image of") {
		t.Errorf("got %.300s", raw)
	}
}

// slowPipe gives its parts with a pause before each, then blocks for ever or ends.
func slowPipe(parts []string, pause time.Duration, end bool) io.Reader {
	r, w := io.Pipe()
	go func() {
		for _, p := range parts {
			time.Sleep(pause)
			if _, err := w.Write([]byte(p)); err != nil {
				return
			}
		}
		if end {
			w.Close()
		}
	}()
	return r
}

type badFd struct{}

func (badFd) Read([]byte) (int, error) { return 0, syscall.EBADF }

func TestKF070_PromptOnStandardInput(t *testing.T) {
	for name, tc := range map[string]struct {
		arg      string
		in       func() Stdin
		want     string
		warned   bool
		noPrompt bool
	}{
		"piped alone":             {"", func() Stdin { return Stdin{In: strings.NewReader("hi\n")} }, "hi\n", false, false},
		"both":                    {"explain", func() Stdin { return Stdin{In: strings.NewReader("code")} }, "explain\n\ncode", false, false},
		"pipe never closed":       {"hi", func() Stdin { return Stdin{In: slowPipe(nil, 0, false)} }, "hi", true, false},
		"slow writer":             {"", func() Stdin { return Stdin{In: slowPipe([]string{"a", "b"}, time.Hour, true)} }, "ab", false, false},
		"writer that stalls":      {"hi", func() Stdin { return Stdin{In: slowPipe([]string{"a"}, time.Second, false)} }, "hi\n\na", true, false},
		"writer slower than 3 s":  {"hi", func() Stdin { return Stdin{In: slowPipe([]string{"a", "b"}, 2*time.Second, true)} }, "hi\n\nab", false, false},
		"dev null with prompt":    {"hi", func() Stdin { return Stdin{In: strings.NewReader("")} }, "hi", false, false},
		"dev null without prompt": {"", func() Stdin { return Stdin{In: strings.NewReader("")} }, "", false, true},
		"closed descriptor":       {"hi", func() Stdin { return Stdin{In: badFd{}} }, "hi", false, false},
		"closed, no prompt":       {"", func() Stdin { return Stdin{In: badFd{}} }, "", false, true},
		"terminal":                {"hi", func() Stdin { return Stdin{In: slowPipe(nil, 0, false), TTY: true} }, "hi", false, false},
		"terminal, no prompt":     {"", func() Stdin { return Stdin{TTY: true} }, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				warned := false
				in := tc.in()
				got, err := ReadPrompt(tc.arg, in, func(string) { warned = true })
				if tc.noPrompt != errors.Is(err, ErrNoPrompt) {
					t.Fatalf("error %v", err)
				}
				if got != tc.want || warned != tc.warned {
					t.Errorf("got %q (warned %t), want %q (%t)", got, warned, tc.want, tc.warned)
				}
				if p, ok := in.In.(*io.PipeReader); ok {
					p.Close()
				}
			})
		})
	}
}

func TestEveryEventHasAPlaceOnTheWireOrNone(t *testing.T) {
	m := newMapper(mapOptions{Partial: true, HookEvents: true, StateEvents: true, Replay: true, SubagentText: true})
	for _, body := range proto.EventBodies() {
		e := proto.E(body)
		e.Session = "s"
		for _, o := range m.Map(e) {
			if raw := line(o); !json.Valid(raw) || bytes.Contains(raw, []byte("[left out")) {
				t.Errorf("%s: %s", e.Type, raw)
			}
		}
	}
}

func TestCompactionIsToldAsBoundary(t *testing.T) {
	script := newEvents().add(proto.Compacting{Active: true}, proto.Compacted{Trigger: "reactive", PreTokens: 9, Head: "h", Anchor: "a", Tail: "t"}).
		user(msg.FromSummary, "summary").add(proto.Compacting{Active: true}, proto.Compacting{Error: "empty"})
	var got []string
	for _, l := range wireLines(t, newMapper(mapOptions{}), script.list) {
		got = append(got, fmt.Sprint(l["type"], "/", l["subtype"], "/", l["status"], "/", l["compact_result"], "/", l["isSynthetic"]))
	}
	want := []string{
		"system/status/compacting/<nil>/<nil>", "system/status/<nil>/success/<nil>", "system/compact_boundary/<nil>/<nil>/<nil>",
		"user/<nil>/<nil>/<nil>/true", "system/status/compacting/<nil>/<nil>", "system/status/<nil>/failed/<nil>",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func FuzzLine(f *testing.F) {
	f.Add("plain", `{"a":1}`)
	f.Add("\u2028\xff", `{"b":"`+"\u2029"+`"}`)
	f.Fuzz(func(t *testing.T, text, raw string) {
		o := object{{"type", "x"}, {"text", text}}
		if json.Valid([]byte(raw)) {
			o = o.with("raw", json.RawMessage(raw))
		}
		l := line(o)
		if bytes.Count(l, []byte("\n")) != 1 || !json.Valid(l) || bytes.Contains(l, []byte("\u2028")) {
			t.Errorf("bad line %q", l)
		}
	})
}

func BenchmarkMap(b *testing.B) {
	e := proto.E(proto.Delta{Index: 0, Kind: "text", Text: "some words of an answer"})
	m := newMapper(mapOptions{Partial: true})
	for b.Loop() {
		line(m.Map(e)[0])
	}
}
