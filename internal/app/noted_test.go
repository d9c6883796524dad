package app

import (
	"context"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/myelin-agent/myelin/internal/app/notes"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

// holding is a model whose first request of the conversation waits until ready says yes.
type holding struct {
	provider.Model
	ready    func() bool
	requests []provider.Request
}

func (h *holding) Stream(ctx context.Context, r provider.Request) iter.Seq2[provider.Event, error] {
	if r.Lane == "" || r.Lane == provider.LaneMain {
		h.requests = append(h.requests, r)
		for !h.ready() && ctx.Err() == nil {
			runtime.Gosched()
		}
	}
	return h.Model.Stream(ctx, r)
}

// TestWhatIsRecalledComesInTheSameTurn: memories are looked for beside the first request, which does
// not wait for them, and stand at the end of the next.
func TestWhatIsRecalledComesInTheSameTurn(t *testing.T) {
	s, err := script.Parse("test.yaml", []byte(`
turns:
  - content: [{tool: Read, input: {file_path: x}}]
  - content: [{text: done}]
lanes:
  memory: [{content: [{text: '["tabs.md"]'}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	h := &holding{Model: script.New(s, script.Options{})}
	dir := filepath.Join(t.TempDir(), "memory")
	put(t, filepath.Join(dir, "tabs.md"), "---\ndescription: how to indent\n---\nAlways indent with tabs.\n")
	st := newStage(t, "turns: [{content: [{text: x}]}]", func(o *Options) {
		o.Settings = `{"sandbox": {"enabled": false}, "autoMemoryDirectory": "` + dir + `"}`
	})
	st.rooms.models.given, st.rooms.models.begun = h, h
	var found atomic.Bool
	cfg := notesConfig(st.rooms)
	later := cfg.Later
	cfg.Later = func(texts ...string) {
		later(texts...)
		found.Store(true)
	}
	st.rooms.turns.recall = notes.New(cfg).Recall
	h.ready = func() bool { return found.Load() || len(h.requests) > 1 }
	st.say("how should I indent this file")
	if r, _ := st.result(); r.Text != "done" {
		t.Fatalf("%+v", r)
	}
	first, second := textIn(h.requests[0]), textIn(h.requests[1])
	if strings.Contains(first, "Always indent") || !strings.Contains(second, "Always indent with tabs.") {
		t.Errorf("first request: %q\nsecond: %q", first, second)
	}
}

func textIn(r provider.Request) string {
	out := ""
	for _, m := range r.Messages {
		out += msg.TextOf(m.Content) + "\n"
	}
	return out
}
