// Package shaping fits a conversation into the model's window before each request: too large tool
// results become a head, a tail and the path of a file (bounds.go), and when the service says that
// the prompt is too long, cheap projections and then one summary make room (project.go,
// compact.go).
//
// Nothing it does deletes anything: the transcript keeps every message, and what was taken out of
// a request can be read in a file. It knows no session and asks no model by itself; [Config] hands
// everything in. The stages run in a fixed order, cheapest first, and each sees the output of the
// one before. Begin with [New] and [Shaper.Shape].
package shaping

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
)

// State is this feature's slice: how full the window is, and what shaping did. Numbers are tokens
// but where they say otherwise; all but those a service reported are estimates.
type State struct {
	Window        int            `json:"window"`          // of the model that answers
	Used          int            `json:"used"`            // by the last answer and what came after it
	Reserve       int            `json:"reserve"`         // kept free for the next answer
	Saved         map[string]int `json:"saved,omitempty"` // by stage, in the view last sent
	Boundaries    int            `json:"boundaries"`      // compactions so far
	FailuresInRow int            `json:"failuresInRow"`   // compactions that failed since the last good one
	AutoOff       bool           `json:"autoOff"`         // two failed in a row: not tried by itself until one works
}

// Ask makes one request to the conversation's model and returns the blocks of its whole answer.
// Who binds it adds system prompt and tools, so that the provider's cache is shared, and books the
// usage. An answer that broke off is an error.
type Ask func(ctx context.Context, req provider.Request) ([]msg.Block, error)

// Config says what a shaper works with. Only Ask is needed, and that only to compact.
type Config struct {
	State  store.Slice[State] // nil: kept nowhere
	Limits Limits
	Ask    Ask

	// Spill keeps a whole text in a file and returns its path, the same path for the same name. nil
	// or an error: the text is cut and the rest cannot be read again.
	Spill func(name, text string) (path string, err error)
	// Replaced is told of each result that was replaced, so that a resume can hand it in again with
	// [Shaper.Remember] and the requests keep their bytes. nil: nobody.
	Replaced func(Replacement)

	// Before may add to the instructions of a summary, or forbid the compaction. nil: nothing.
	Before func(ctx context.Context, trigger, focus string) (extra string, err error)
	// Restore returns what shall stand behind the summary, read afresh: instruction files, plan,
	// todo list, running tasks. nil: nothing.
	Restore func(ctx context.Context) ([]msg.Block, error)
	// After is told of a compaction that was made. nil: nobody.
	After func(ctx context.Context, trigger, summary string)

	Tell  func(proto.EventBody) // events that cannot wait for the end of shaping; nil: they come with it
	Now   func() time.Time      // nil: the real clock
	NewID func() string         // nil: random
}

// Limits bound what one request holds of tool results, in characters. Zero fields mean the
// defaults named beside them.
type Limits struct {
	Result  int            // one result (50,000)
	Round   int            // all results of one answer together (200,000)
	ByTool  map[string]int // results of single tools, by name or by "mcp__*"; negative: no bound
	Preview int            // what is shown of a result that was too large (4,000)
}

func (l Limits) withDefaults() Limits {
	if l.Result == 0 {
		l.Result = 50_000
	}
	if l.Round == 0 {
		l.Round = 200_000
	}
	if l.Preview == 0 {
		l.Preview = 4_000
	}
	return l
}

// Shaper shapes one conversation. It is safe for concurrent use; its memory is small and can be
// lost without harm (see [Shaper.Remember]).
type Shaper struct {
	cfg Config

	mu       sync.Mutex             // guards all below
	replaced map[string]Replacement // by call id
	tight    bool                   // a service found the prompt too long: project more
	ratios   map[string]float64     // bytes a token, by model, learned from usage
	overhead int                    // tokens of system prompt and tools, as last told
	working  bool                   // a compaction runs
}

// New returns the shaper of one conversation.
func New(cfg Config) *Shaper {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	return &Shaper{cfg: cfg, replaced: map[string]Replacement{}, ratios: map[string]float64{}}
}

// stage is one shaper. It returns the history as the next stage sees it, and what it saved; it
// changes nothing in place.
type stage struct {
	name  string
	apply func(history []msg.Message, p engine.Pressure) (out []msg.Message, items, bytes int)
}

// stages in their order. Dropping old history, clearing results that are easily had again, and
// showing finished parts as summaries belong between these two; a summary is no stage, since it
// changes the history itself.
func (s *Shaper) stages() []stage {
	return []stage{
		{"budget", s.budget},
		{"project", s.project},
	}
}

// Shape implements the Shape function of engine.Config. It fails only when ctx ends; a compaction
// that fails leaves everything as it was and says so in an event.
func (s *Shaper) Shape(ctx context.Context, history []msg.Message, p engine.Pressure) (engine.View, error) {
	if p.Reactive && p.Project {
		return s.tighten(history, p), ctx.Err()
	}
	if p.Reactive {
		return s.reactive(ctx, history, p)
	}
	view := s.view(history, p)
	s.learn(view.messages, p)
	s.enter(view, p)
	return view.engine(), ctx.Err()
}

// shaped is a history after the stages.
type shaped struct {
	messages []msg.Message
	events   []proto.EventBody
	saved    map[string]int
	bytes    int // of the messages
}

func (v shaped) engine() engine.View {
	return engine.View{Messages: v.messages, Events: v.events}
}

// view runs the stages.
func (s *Shaper) view(history []msg.Message, p engine.Pressure) shaped {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := len(s.replaced)
	v := shaped{messages: history, saved: map[string]int{}}
	for _, st := range s.stages() {
		out, items, bytes := st.apply(v.messages, p)
		v.messages = out
		if items == 0 {
			continue
		}
		v.saved[st.name] = s.tokens(p.Model, bytes)
		if st.name != "budget" || len(s.replaced) > known { // what stays replaced is told once
			v.events = append(v.events, proto.Shaped{Stage: st.name, Items: items, TokensSaved: v.saved[st.name]})
		}
	}
	v.bytes = sizeOf(v.messages)
	return v
}

// enter puts the numbers into the slice.
func (s *Shaper) enter(v shaped, p engine.Pressure) {
	if s.cfg.State == nil {
		return
	}
	s.mu.Lock()
	used := s.tokens(p.Model, v.bytes) + s.overhead
	if p.Used > 0 && p.UsedAt <= len(v.messages) {
		used = p.Used + s.tokens(p.Model, sizeOf(v.messages[p.UsedAt:]))
	}
	s.mu.Unlock()
	window := p.Model.Window()
	reserve := min(p.Model.OutputLimit(), 32_000)
	if p.Options.MaxTokens > 0 {
		reserve = min(reserve, p.Options.MaxTokens)
	}
	reserve += window * 4 / 100
	s.cfg.State.Set(func(prev *State) *State {
		next := *prev
		next.Window, next.Used, next.Reserve, next.Saved = window, used, reserve, v.saved
		if next.Window == prev.Window && next.Used == prev.Used && next.Reserve == prev.Reserve && sameCounts(next.Saved, prev.Saved) {
			return prev
		}
		return &next
	})
}

func sameCounts(a, b map[string]int) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func sizeOf(messages []msg.Message) int {
	n := 0
	for _, m := range messages {
		n += msg.Size(m.Content)
	}
	return n
}
