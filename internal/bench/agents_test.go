package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// ten calls a tool in ten rounds and then answers.
type ten struct{}

func (ten) Info() provider.Info { return provider.Info{Provider: "bench", ID: "ten"} }

func (ten) Stream(_ context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		round := len(req.Messages) / 2
		var b msg.Block = msg.Text{Text: "Done."}
		stop := msg.StopEndTurn
		if round < 10 {
			b, stop = msg.ToolCall{ID: fmt.Sprint("call", round), Name: "Probe", Input: json.RawMessage(`{}`)}, msg.StopToolUse
		}
		_ = yield(provider.Start{ID: fmt.Sprint("a", round)}, nil) &&
			yield(provider.BlockStart{Block: b}, nil) &&
			yield(provider.BlockDone{Block: b}, nil) &&
			yield(provider.Done{Stop: stop, Usage: msg.Usage{Input: 10, Output: 5}}, nil)
	}
}

// BenchmarkThousandAgents runs a thousand agents at once in one process, ten tool turns each, and
// reports what one of them holds in memory when all have finished, with its whole conversation.
func BenchmarkThousandAgents(b *testing.B) {
	probe := tool.New(tool.Spec{Name: "Probe", Schema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, struct{}, tool.Call) (tool.Result, error) { return tool.Text("fine"), nil },
		tool.Always[struct{}](tool.Traits{ReadOnly: true, Beside: true}))
	var perAgent float64
	for b.Loop() {
		before := heap()
		kept := make([][]msg.Message, 1000)
		var wg sync.WaitGroup
		for i := range kept {
			wg.Go(func() {
				cfg := engine.Config{
					Model: func() (provider.Model, provider.Options) { return ten{}, provider.Options{} },
					Tools: func() []tool.Tool { return []tool.Tool{probe} },
					Authorize: func(_ context.Context, c tool.Call, traits tool.Traits) (engine.Verdict, error) {
						d, err := tool.Decide(probe, c, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) { return tool.Ruling{Allow: true}, nil })
						return engine.Verdict{Run: d}, err
					},
					Record: func(context.Context, msg.Message) error { return nil },
					Keep:   func(h []msg.Message) { kept[i] = h },
					Agent:  tool.NewScope(fmt.Sprint(i), "/"),
					Limits: engine.Limits{Repeats: -1},
				}
				start := []msg.Message{{ID: "p", Role: msg.User, Content: []msg.Block{msg.Text{Text: "go"}}}}
				for _, err := range engine.Run(b.Context(), cfg, start) {
					if err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		perAgent = float64(heap()-before) / 1000 / 1024
		if n := len(kept[999]); n != 22 {
			b.Fatalf("an agent kept %d messages", n)
		}
		runtime.KeepAlive(kept)
	}
	b.ReportMetric(perAgent, "KiB/agent")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
