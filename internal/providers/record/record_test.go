package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// canned is a model that says the next of its answers.
type canned struct {
	answers []said
	next    int
}

type said struct {
	events []provider.Event
	err    error
}

func (c *canned) Info() provider.Info {
	return provider.Info{Provider: "test", ID: "canned", ContextWindow: 1234, Price: provider.Price{Input: 1}}
}

func (c *canned) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	a := c.answers[c.next]
	c.next++
	return func(yield func(provider.Event, error) bool) {
		for _, e := range a.events {
			if !yield(e, nil) {
				return
			}
		}
		if a.err != nil {
			yield(nil, a.err)
		}
	}
}

func listen(m provider.Model, req provider.Request) said {
	var out said
	for e, err := range m.Stream(context.Background(), req) {
		if err != nil {
			out.err = err
			continue
		}
		out.events = append(out.events, e)
	}
	return out
}

// ticking is a clock that goes on by a millisecond at each look.
func ticking() func() time.Time {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}
}

func recorded(t testing.TB, opts Options, use func(r *Recorder)) []byte {
	t.Helper()
	var buf bytes.Buffer
	if opts.Now == nil {
		opts.Now = ticking()
	}
	r := New(&buf, opts)
	use(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func parsed(t testing.TB, data []byte) *Recording {
	t.Helper()
	rec, err := Parse("r.jsonl", data)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func wholeAnswer() []provider.Event {
	return []provider.Event{
		provider.Start{ID: "m1", Model: "x", Usage: msg.Usage{Input: 3, CacheRead: 2}},
		provider.Ping{},
		provider.BlockStart{Index: 0, Block: msg.Thinking{}},
		provider.Delta{Index: 0, Kind: provider.ThinkingDelta, Text: "hm <&> \u2028"},
		provider.Delta{Index: 0, Kind: provider.SignatureDelta, Text: "s"},
		provider.BlockDone{Index: 0, Block: msg.Thinking{Thinking: "hm <&> \u2028", Signature: "s", Provider: "test", Data: json.RawMessage(`{ "a" : 1.50 }`)}},
		provider.BlockStart{Index: 1, Block: msg.ToolCall{ID: "c", Name: "Bash"}},
		provider.Delta{Index: 1, Kind: provider.InputDelta, Text: `{"command": "ls <x>"}`},
		provider.BlockDone{Index: 1, Block: msg.ToolCall{ID: "c", Name: "Bash", Input: json.RawMessage(`{"command": "ls <x>"}`), Signature: "g"}},
		provider.BlockStart{Index: 2, Block: msg.Unknown{Kind: "server_tool_use", Raw: json.RawMessage(`{"type" : "server_tool_use"}`), Provider: "test"}},
		provider.BlockDone{Index: 2, Block: msg.Unknown{Kind: "server_tool_use", Raw: json.RawMessage(`{"type" : "server_tool_use"}`), Provider: "test"}},
		provider.BlockDone{Index: 3, Block: msg.RedactedThinking{Data: "d", Provider: "test"}},
		provider.Done{Stop: msg.StopToolUse, Usage: msg.Usage{Input: 3, Output: 9, CacheRead: 2, WebSearches: 1}},
	}
}

func TestAnswersComeBackExactly(t *testing.T) {
	answers := []said{
		{events: wholeAnswer()},
		{err: &provider.Error{Kind: provider.KindOverloaded, Provider: "test", Status: 529, Type: "o", Message: "busy", RetryAfter: time.Second, Max: 3, Cause: errors.New("why")}},
		{events: wholeAnswer()[:5], err: context.Canceled},
		{err: context.DeadlineExceeded},
	}
	data := recorded(t, Options{}, func(r *Recorder) {
		m := r.Model(&canned{answers: answers})
		for range answers {
			listen(m, provider.Request{})
		}
	})
	rec := parsed(t, data)
	m := rec.Model(Pace{})
	if diff := cmp.Diff((&canned{}).Info(), m.Info()); diff != "" {
		t.Error(diff)
	}
	sameError := cmp.Comparer(func(a, b error) bool { return fmt.Sprintf("%#v", fault1(a)) == fmt.Sprintf("%#v", fault1(b)) })
	for i, want := range answers {
		got := listen(m, provider.Request{})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(said{}), sameError); diff != "" {
			t.Errorf("answer %d (-want +got):\n%s", i, diff)
		}
	}
	if got := listen(m, provider.Request{}); provider.KindOf(got.err) != provider.KindScript {
		t.Errorf("after the last answer: %v", got.err)
	}
}

// fault1 makes errors comparable, their causes by words.
func fault1(err error) any {
	var e *provider.Error
	if errors.As(err, &e) {
		flat := *e
		cause := ""
		if e.Cause != nil {
			cause = e.Cause.Error()
		}
		flat.Cause = nil
		return []any{flat, cause}
	}
	return err
}

func TestAnyTextComesBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []provider.Event
		for i := range rapid.IntRange(0, 4).Draw(t, "blocks") {
			text := rapid.String().Draw(t, "text")
			for _, part := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "parts") {
				events = append(events, provider.Delta{Index: i, Kind: provider.TextDelta, Text: part})
			}
			events = append(events, provider.BlockDone{Index: i, Block: msg.Text{Text: text}})
		}
		var buf bytes.Buffer
		r := New(&buf, Options{Now: ticking(), Secrets: map[string]string{"K": "a very long secret that is not drawn"}})
		listen(r.Model(&canned{answers: []said{{events: events}}}), provider.Request{})
		rec, err := Parse("r", buf.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(events, listen(rec.Model(Pace{}), provider.Request{}).events); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestLanesArePlayedIndependently(t *testing.T) {
	text := func(s string) said {
		return said{events: []provider.Event{provider.BlockDone{Block: msg.Text{Text: s}}}}
	}
	data := recorded(t, Options{}, func(r *Recorder) {
		m := r.Model(&canned{answers: []said{text("main 1"), text("title"), text("main 2")}})
		listen(m, provider.Request{})
		listen(m, provider.Request{Lane: provider.LaneTitle})
		listen(m, provider.Request{Lane: provider.LaneMain})
	})
	rec := parsed(t, data)
	m := rec.Model(Pace{})
	for _, step := range []struct {
		lane provider.Lane
		want string
	}{{"title", "title"}, {"", "main 1"}, {"main", "main 2"}} {
		got := listen(m, provider.Request{Lane: step.lane})
		if diff := cmp.Diff(text(step.want).events, got.events); diff != "" {
			t.Errorf("lane %q: %s", step.lane, diff)
		}
	}
	if rec.Left("main") != 0 {
		t.Errorf("%d left", rec.Left("main"))
	}
}

func TestAnInterruptedAnswerSaysSo(t *testing.T) {
	data := recorded(t, Options{}, func(r *Recorder) {
		m := r.Model(&canned{answers: []said{{events: wholeAnswer()}}})
		n := 0
		for range m.Stream(t.Context(), provider.Request{}) {
			if n++; n == 4 {
				break
			}
		}
	})
	got := listen(parsed(t, data).Model(Pace{}), provider.Request{})
	if diff := cmp.Diff(wholeAnswer()[:4], got.events); diff != "" {
		t.Error(diff)
	}
	if got.err == nil || !strings.Contains(got.err.Error(), "was interrupted here") {
		t.Errorf("got %v", got.err)
	}
}

func TestResultsClockIDsAndChangesComeBack(t *testing.T) {
	now := ticking()
	var times []time.Time
	data := recorded(t, Options{}, func(r *Recorder) {
		clock := r.Now(now)
		times = append(times, clock(), clock())
		ids := r.NewID(func() string { return "id" })
		ids()
		r.Jitter(func() float64 { return 0.25 })()
		r.Result("c", "Bash", []msg.Block{msg.Text{Text: "out <b>"}}, true, 1500*time.Microsecond)
		r.Change(7, "config", map[string]int{"a": 1})
	})
	rec := parsed(t, data)
	clock := rec.Now(func() time.Time { return time.Time{} })
	for _, want := range append(times, time.Time{}) {
		if got := clock(); !got.Equal(want) {
			t.Errorf("the clock says %s, want %s", got, want)
		}
	}
	ids := rec.NewID(func() string { return "new" })
	if a, b := ids(), ids(); a != "id" || b != "new" {
		t.Errorf("ids %s and %s", a, b)
	}
	if got := rec.Jitter(func() float64 { return 0 })(); got != 0.25 {
		t.Errorf("jitter %f", got)
	}
	wantResults := []Result{{"c", "Bash", []msg.Block{msg.Text{Text: "out <b>"}}, true, 1500 * time.Microsecond}}
	wantChanges := []Change{{7, "config", json.RawMessage(`{"a":1}`)}}
	if diff := cmp.Diff(wantResults, rec.Results) + cmp.Diff(wantChanges, rec.Changes); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreNeverWritten(t *testing.T) {
	env := map[string]string{
		"MY_API_KEY": `s3cr<t"value`, "GITHUB_TOKEN": "tok-tok-tok-tok", "HOME": "/home/someone", "SSH_AUTH_SOCK": "/tmp/agent.sock", "PATH": "aaaaaaaaa", "X_TOKEN": "short",
	}
	secrets := SecretsOf(env)
	if diff := cmp.Diff(map[string]string{"MY_API_KEY": env["MY_API_KEY"], "GITHUB_TOKEN": env["GITHUB_TOKEN"]}, secrets); diff != "" {
		t.Fatal(diff)
	}
	key := "sk-ant-" + strings.Repeat("x", 30)
	input := json.RawMessage(`{"command":"curl -H \"Authorization: Bearer abc.def-123\" -H 'x-api-key: qwertyuiop' s3cr<t\"value"}`)
	events := []provider.Event{
		provider.Delta{Kind: provider.TextDelta, Text: "it is tok-tok"},
		provider.Delta{Kind: provider.TextDelta, Text: "-tok-tok, and " + key[:9]},
		provider.Delta{Kind: provider.TextDelta, Text: key[9:]},
		provider.BlockDone{Block: msg.Text{Text: "it is tok-tok-tok-tok, and " + key}},
		provider.BlockDone{Block: msg.ToolCall{ID: "a", Name: "Bash", Input: input}},
	}
	failure := &provider.Error{Kind: provider.KindAuth, Message: "bad key tok-tok-tok-tok", Cause: errors.New("Authorization: Basic dXNlcjpwYXNz")}
	data := recorded(t, Options{Secrets: secrets}, func(r *Recorder) {
		m := r.Model(&canned{answers: []said{{events: events, err: failure}}})
		live := listen(m, provider.Request{})
		if diff := cmp.Diff(events, live.events); diff != "" {
			t.Errorf("the session itself was changed: %s", diff)
		}
		r.Result("a", "Bash", []msg.Block{msg.Text{Text: `s3cr<t"value and Authorization: token zzzzzzzz`}}, false, 0)
		r.Change(1, "config", map[string]string{"env": `s3cr<t"value`})
	})
	for _, secret := range []string{"s3cr", "tok-tok", "-tok", "xxxxxxxxx", "abc.def", "qwertyuiop", "dXNlcjpwYXNz", "zzzzzzzz"} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%q stands in the recording:\n%s", secret, data)
		}
	}
	got := listen(parsed(t, data).Model(Pace{}), provider.Request{})
	call, ok := got.events[len(got.events)-1].(provider.BlockDone).Block.(msg.ToolCall)
	if !ok || !json.Valid(call.Input) {
		t.Errorf("the call is %#v", call)
	}
}

func TestDivergenceIsNoticed(t *testing.T) {
	request := func(s string) provider.Request {
		return provider.Request{Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: s}}}}}
	}
	data := recorded(t, Options{}, func(r *Recorder) {
		m := r.Model(&canned{answers: []said{{}, {}, {}}})
		for _, s := range []string{"a", "b", "c"} {
			listen(m, request(s))
		}
	})
	rec := parsed(t, data)
	m := rec.Model(Pace{})
	listen(m, request("a"))
	if rec.Diverged() != 0 {
		t.Error("a same request diverged")
	}
	listen(m, request("other"))
	listen(m, request("c"))
	if rec.Diverged() != 2 {
		t.Errorf("diverged at %d, want 2", rec.Diverged())
	}
}

func TestPaceKeepsTheTiming(t *testing.T) {
	data := recorded(t, Options{}, func(r *Recorder) {
		listen(r.Model(&canned{answers: []said{{events: wholeAnswer()}}}), provider.Request{})
	})
	var waited time.Duration
	m := parsed(t, data).Model(Pace{Sleep: func(_ context.Context, d time.Duration) error { waited += d; return nil }})
	listen(m, provider.Request{})
	if want := time.Duration(len(wholeAnswer())) * time.Millisecond; waited != want {
		t.Errorf("waited %s, want %s", waited, want)
	}
}

func TestFilesAreCutTornAndNewer(t *testing.T) {
	whole := recorded(t, Options{}, func(r *Recorder) {
		listen(r.Model(&canned{answers: []said{{events: wholeAnswer()}}}), provider.Request{})
	})
	for cut := bytes.IndexByte(whole, '\n') + 1; cut <= len(whole); cut++ {
		rec, err := Parse("r", whole[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if torn := whole[cut-1] != '\n'; rec.Torn != torn {
			t.Fatalf("cut at %d: torn is %t", cut, rec.Torn)
		}
		got := listen(rec.Model(Pace{}), provider.Request{})
		if cut < len(whole) && got.err == nil {
			t.Fatalf("cut at %d: no error", cut)
		}
	}
	for text, want := range map[string]string{
		"":                                   "holds no record",
		"{\"kind\":\"event\"}\n":             `r:1: expected a record of kind "head" first`,
		"{\"kind\":\"head\",\"v\":2}\n":      "version 2; this program reads up to 1",
		"{\"kind\":\"head\",\"v\":1}\nnot\n": "r:2: expected a JSON object",
		"{\"kind\":\"head\",\"v\":1}\n{\"kind\":\"end\",\"request\":1}\n": "r:2: request 1 is not open",
	} {
		if _, err := Parse("r", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("r", []byte("{\"kind\":\"head\",\"v\":1}\n{\"kind\":\"later\",\"x\":1}\n")); err != nil {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestCreateAndOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	r, err := Create(path, Options{Program: "myelin 1"})
	if err != nil {
		t.Fatal(err)
	}
	listen(r.Model(&canned{answers: []said{{events: wholeAnswer()}}}), provider.Request{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Create(path, Options{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("an older recording: %v", err)
	}
	rec, err := Open(path)
	if err != nil || rec.Program != "myelin 1" {
		t.Fatalf("%v, %v", rec, err)
	}
	if diff := cmp.Diff(wholeAnswer(), listen(rec.Model(Pace{}), provider.Request{}).events, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if _, err := Open(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestAFullDiskDoesNotEndTheSession(t *testing.T) {
	told := make(chan error, 2)
	r := New(&full{left: 400}, Options{Report: func(err error) { told <- err }})
	for range 3 {
		got := listen(r.Model(&canned{answers: []said{{events: wholeAnswer()}}}), provider.Request{})
		if diff := cmp.Diff(wholeAnswer(), got.events); diff != "" || got.err != nil {
			t.Fatal(diff, got.err)
		}
	}
	if err := r.Close(); err == nil || !strings.Contains((<-told).Error(), "no space left") {
		t.Errorf("close says %v", err)
	}
}

type counting struct{ canned }

func (*counting) CountTokens(context.Context, provider.Request) (int, error) { return 42, nil }

func TestARecordedModelCountsWhenItsModelDoes(t *testing.T) {
	r := New(&bytes.Buffer{}, Options{})
	if _, ok := r.Model(&canned{}).(provider.Counter); ok {
		t.Error("a model that cannot count counts")
	}
	c, ok := r.Model(&counting{}).(provider.Counter)
	if !ok {
		t.Fatal("the counter is lost")
	}
	if n, err := c.CountTokens(t.Context(), provider.Request{}); n != 42 || err != nil {
		t.Error(n, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(recorded(f, Options{}, func(r *Recorder) {
		listen(r.Model(&canned{answers: []said{{events: wholeAnswer()}}}), provider.Request{})
		r.Result("a", "b", nil, false, 0)
	}))
	f.Add([]byte("{\"kind\":\"head\",\"v\":1}\n{\"kind\":\"request\",\"request\":1}\n{\"kind\":\"event\",\"request\":1,\"event\":{\"type\":\"block_done\"}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := Parse("f", data)
		if err != nil {
			return
		}
		m := rec.Model(Pace{})
		for rec.Left("main") > 0 {
			listen(m, provider.Request{})
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	r := New(&bytes.Buffer{}, Options{Secrets: map[string]string{"A_KEY": "long enough value"}})
	answer := said{events: wholeAnswer()}
	for b.Loop() {
		listen(r.Model(&canned{answers: []said{answer}}), provider.Request{})
	}
}
