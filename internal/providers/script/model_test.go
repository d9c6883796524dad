package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// play asks once and writes the events down, a line each.
func play(ctx context.Context, m provider.Model, req provider.Request) (events []string, err error) {
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			return events, err
		}
		events = append(events, line(e))
	}
	return events, nil
}

func line(e provider.Event) string {
	switch e := e.(type) {
	case provider.Start:
		return "start"
	case provider.BlockStart:
		return fmt.Sprintf("%d open %s", e.Index, e.Block.Type())
	case provider.Delta:
		return fmt.Sprintf("%d %s %q", e.Index, e.Kind, e.Text)
	case provider.BlockDone:
		raw, err := msg.MarshalBlock(e.Block)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%d done %s partial=%t", e.Index, raw, e.Partial)
	case provider.Done:
		return fmt.Sprintf("done %s in=%d out=%d", e.Stop, e.Usage.Input, e.Usage.Output)
	default:
		return fmt.Sprintf("%T", e)
	}
}

func TestModelStreamsATurn(t *testing.T) {
	m := New(parse(t, `
turns:
  - content:
      - thinking: "hm"
      - text: "héllo wörld"
      - text: ""
      - {tool: Bash, id: a, input: {command: ls}}
      - {tool: Bash, id: b, input: '{"command": '}
    chunk: 6
    usage: {input: 10, output: 5}
`), Options{})
	got, err := play(t.Context(), m, provider.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"start",
		"0 open thinking", `0 thinking "hm"`, `0 done {"type":"thinking","thinking":"hm"} partial=false`,
		"1 open text", `1 text "héllo "`, `1 text "wörld"`, `1 done {"type":"text","text":"héllo wörld"} partial=false`,
		"2 open text", `2 done {"type":"text","text":""} partial=false`,
		"3 open tool_use", `3 input "{\"comm"`, `3 input "and\":\""`, `3 input "ls\"}"`,
		`3 done {"type":"tool_use","id":"a","name":"Bash","input":{"command":"ls"}} partial=false`,
		"4 open tool_use", `4 input "{\"comm"`, `4 input "and\": "`,
		`4 done {"type":"tool_use","id":"b","name":"Bash","input":{},"malformed":"{\"command\": "} partial=false`,
		"done tool_use in=10 out=5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestModelWaitsBetweenDeltas(t *testing.T) {
	var slept []time.Duration
	m := New(parse(t, "turns: [{content: [{text: abcdef}, {text: xy}], chunk: 2, delay: 5ms}]\n"), Options{
		Sleep: func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil },
	})
	if _, err := play(t.Context(), m, provider.Request{}); err != nil {
		t.Fatal(err)
	}
	ms := 5 * time.Millisecond
	if diff := cmp.Diff([]time.Duration{ms, ms, ms}, slept); diff != "" {
		t.Error(diff)
	}
}

func TestModelStopsWaitingWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := New(parse(t, "turns: [{content: [{text: abcdef}], chunk: 1, delay: 1h}]\n"), Options{})
		_, err := play(ctx, m, provider.Request{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestModelBreaksTheConnection(t *testing.T) {
	m := New(parse(t, "turns: [{content: [{text: whole}, {tool: Bash, id: a, input: {}}], then: drop}]\n"), Options{})
	got, err := play(t.Context(), m, provider.Request{})
	if provider.KindOf(err) != provider.KindStream {
		t.Errorf("got %v", err)
	}
	want := `1 done {"type":"tool_use","id":"a","name":"Bash","input":{}} partial=true`
	if last := got[len(got)-1]; last != want {
		t.Errorf("last event %s, want %s", last, want)
	}
}

func TestModelHangsUntilTheContextEnds(t *testing.T) {
	for _, turn := range []string{"content: [{text: a}]", `raw: "data: {\"type\":\"message_start\"}\n\n"`} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			m := New(parse(t, "turns: [{"+turn+", then: hang}]\n"), Options{})
			if _, err := play(ctx, m, provider.Request{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", turn, err)
			}
		})
	}
}

func TestFaultsAreSortedIntoKinds(t *testing.T) {
	for _, tc := range []struct {
		fault string
		want  provider.Kind
	}{
		{"{status: 529, type: overloaded_error, retry_after: 1}", provider.KindOverloaded},
		{"{status: 503}", provider.KindOverloaded},
		{"{status: 429}", provider.KindRateLimit},
		{"{status: 401}", provider.KindAuth},
		{"{status: 402}", provider.KindBilling},
		{"{status: 404}", provider.KindNotFound},
		{"{status: 500}", provider.KindServer},
		{"{status: 413}", provider.KindTooLong},
		{"{status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum'}", provider.KindTooLong},
		{"{status: 400, message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'}", provider.KindMaxTokens},
		{"{status: 400, message: 'image exceeds 5 MB maximum'}", provider.KindMedia},
		{"{status: 400, message: 'Invalid `signature` in `thinking` block'}", provider.KindSignature},
		{"{status: 400, type: invalid_request_error, message: 'tools: wrong'}", provider.KindInvalid},
		{"{message: no route to host}", provider.KindNetwork},
	} {
		m := New(parse(t, "turns: [{error: "+tc.fault+"}]\n"), Options{})
		events, err := play(t.Context(), m, provider.Request{})
		if got := provider.KindOf(err); got != tc.want || len(events) > 0 {
			t.Errorf("%s is %s after %d events, want %s", tc.fault, got, len(events), tc.want)
		}
		var e *provider.Error
		if errors.As(err, &e) && strings.Contains(tc.fault, "retry_after") && e.RetryAfter != time.Second {
			t.Errorf("retry after %s", e.RetryAfter)
		}
	}
}

const wireAnswer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":12,"cache_read_input_tokens":3,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"mm"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"ls\"}"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}

data: {"type":"message_stop"}

`

func rawModel(raw string, then Then) *Model {
	return New(&Script{Turns: []Turn{{Raw: []byte(raw), Then: then}}, Loop: true}, Options{})
}

func TestModelPlaysRawBytes(t *testing.T) {
	for _, raw := range []string{wireAnswer, strings.ReplaceAll(wireAnswer, "\n", "\r\n"), strings.TrimRight(wireAnswer, "\n")} {
		got, err := play(t.Context(), rawModel(raw, ThenEnd), provider.Request{})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"start", "provider.Ping", "0 open thinking", `0 thinking "mm"`, `0 signature "sig"`,
			`0 done {"type":"thinking","thinking":"mm","signature":"sig"} partial=false`,
			"1 open tool_use", `1 input "{\"command\":"`, `1 input " \"ls\"}"`,
			`1 done {"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}} partial=false`,
			"done tool_use in=12 out=20",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRawBytesCutAnywhereEndInAnError(t *testing.T) {
	for cut := range len(wireAnswer) - 3 {
		events, err := play(t.Context(), rawModel(wireAnswer[:cut], ThenDrop), provider.Request{})
		kind := provider.KindOf(err)
		switch {
		case kind != provider.KindStream && kind != provider.KindNetwork:
			t.Fatalf("cut at %d: %v", cut, err)
		case kind == provider.KindNetwork && len(events) > 0:
			t.Fatalf("cut at %d: a network error after %v", cut, events)
		}
	}
}

func TestRawErrorEvent(t *testing.T) {
	at := strings.Index(wireAnswer, `data: {"type":"content_block_stop","index":1}`)
	raw := wireAnswer[:at] + "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"
	events, err := play(t.Context(), rawModel(raw, ThenEnd), provider.Request{})
	if provider.KindOf(err) != provider.KindOverloaded || !strings.HasSuffix(events[len(events)-1], "partial=true") {
		t.Errorf("%v after %v", err, events)
	}
}

func TestBreakingOutOfTheStreamEndsIt(t *testing.T) {
	m := rawModel(wireAnswer, ThenEnd)
	for n := range 11 {
		count := 0
		for range m.Stream(t.Context(), provider.Request{}) {
			if count++; count > n {
				break
			}
		}
		if count != n+1 {
			t.Fatalf("%d events, want %d", count, n+1)
		}
	}
}

func TestAnswersHaveDifferentIDs(t *testing.T) {
	ids := map[string]bool{}
	for range 2 { // two processes on one conversation
		m := New(parse(t, "turns: [{content: [{text: a}]}, {content: [{text: b}]}]\n"), Options{})
		for range 2 {
			history := []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: fmt.Sprint(len(ids))}}}}
			for e := range m.Stream(t.Context(), provider.Request{Messages: history}) {
				if s, ok := e.(provider.Start); ok {
					ids[s.ID] = true
				}
			}
		}
	}
	if len(ids) != 4 {
		t.Errorf("ids: %v", ids)
	}
}

func TestModelFillsInTheDirectory(t *testing.T) {
	m := New(parse(t, "turns: [{content: [{text: 'in {{cwd}}'}]}]\n"), Options{Cwd: func() string { return "/here" }})
	got, err := play(t.Context(), m, provider.Request{})
	if err != nil || !strings.Contains(strings.Join(got, "\n"), "in /here") {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte(wireAnswer))
	f.Add([]byte("data: {\"type\":\"content_block_delta\"}\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for e, err := range rawModel(string(raw), ThenDrop).Stream(t.Context(), provider.Request{}) {
			if err != nil {
				continue
			}
			if d, ok := e.(provider.BlockDone); ok {
				if c, ok := d.Block.(msg.ToolCall); ok && !json.Valid(c.Input) {
					t.Fatalf("input %q", c.Input)
				}
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	s := &Script{Turns: []Turn{{Content: []Block{{Kind: TextBlock, Text: strings.Repeat("word ", 2000)}}, Chunk: 24}}, Loop: true}
	m := New(s, Options{})
	for b.Loop() {
		for range m.Stream(context.Background(), provider.Request{}) {
		}
	}
}
