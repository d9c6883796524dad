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
	// Stages says which stages are on, at each request; nil: [AllStages].
	Stages func() Stages
	// Auto says when to compact unasked, at each request; nil: near the end of the window.
	Auto func() Auto
	// Repeatable reports whether a tool's result can be had again by making the call again; nil: none.
	Repeatable func(tool string) bool
	// Hidden is told that more was left out of requests than before; nil: nobody.
	Hidden func()
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

func (c Config) stages() Stages {
	if c.Stages == nil {
		return AllStages()
	}
	return c.Stages()
}

func (c Config) auto() Auto {
	if c.Auto == nil {
		return Auto{}
	}
	return c.Auto()
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

	bounded              bounded // what the first stage made
	memos                memos   // what the others made, by name
	baseSizes, viewSizes msg.Sizes

	hide       hidden // what the stages leave out
	sentHidden int    // bytes the stages left out of the last request
	lastBytes  int    // of the last request that was measured
	lastUsed   int    // tokens the service counted for it

	noticed map[string]bool // notices given since the last compaction, by key
	told    map[string]int  // items of a stage that were told last

	cutSilently  bool // the service seems to drop the beginning of prompts: its counts say nothing
	failed       int  // messages of the conversation whose compaction failed last
	afterCompact bool // no request was within the threshold since the last compaction
	thrash       int  // compactions in a row that did not last
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
	return &Shaper{cfg: cfg, replaced: map[string]Replacement{}, ratios: map[string]float64{}, memos: memos{}, hide: newHidden(), told: map[string]int{}, noticed: map[string]bool{}}
}

// stage is one shaper. It returns the history as the next stage sees it, and what it saved; it
// changes nothing in place.
type stage struct {
	name  string
	apply func(history []msg.Message, p engine.Pressure) (out []msg.Message, items, bytes int)
}

// stages in their order. A summary is no stage, since it changes the history itself.
func (s *Shaper) stages() []stage {
	on := s.cfg.stages()
	out := make([]stage, 0, 5)
	if on.Budget {
		out = append(out, stage{"budget", s.budget})
	}
	return append(out, stage{"snip", s.snip}, stage{"microcompact", s.microcompact}, stage{"collapse", s.collapse}, stage{"project", s.project})
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
	s.learn(view, p)
	view, full := s.relieve(view, history, p)
	out := view.engine()
	switch {
	case full.over():
		compacted, ok := s.auto(ctx, history, p, full)
		if ok {
			s.sent(shaped{})
			return compacted, ctx.Err()
		}
		out.Events = append(out.Events, compacted.Events...)
	case full.near() && !s.cfg.auto().Off:
		out.Events = append(out.Events, s.once("near", "The context window is nearly full. Old results are left out of requests first; when that is not enough the conversation is summarised.")...)
		s.calm()
	default:
		s.calm()
	}
	s.sent(view)
	s.enter(view, full)
	return out, ctx.Err()
}

// sent remembers what the request that follows leaves out.
func (s *Shaper) sent(v shaped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sentHidden = v.hidden
}

// calm notes that a request is within the threshold.
func (s *Shaper) calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.afterCompact = false
}

// shaped is a history after the stages.
type shaped struct {
	messages []msg.Message
	base     []msg.Message // after the first stage: as many messages as the history
	events   []proto.EventBody
	saved    map[string]int
	bytes    int // of the messages
	hidden   int // bytes that the stages behind the first leave out
}

func (v shaped) engine() engine.View {
	return engine.View{Messages: v.messages, Events: v.events}
}

// view runs the stages.
func (s *Shaper) view(history []msg.Message, p engine.Pressure) shaped {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := len(s.replaced)
	v := shaped{messages: history, base: history, saved: map[string]int{}}
	for _, st := range s.stages() {
		out, items, bytes := st.apply(v.messages, p)
		v.messages = out
		if st.name == "budget" {
			v.base = out
		}
		if items == 0 {
			continue
		}
		v.saved[st.name] = s.tokens(p.Model, bytes)
		news := s.told[st.name] != items
		if st.name == "budget" {
			news = len(s.replaced) > known // what stays replaced is told once
		}
		if s.told[st.name] = items; news {
			v.events = append(v.events, proto.Shaped{Stage: st.name, Items: items, TokensSaved: v.saved[st.name]})
		}
	}
	v.bytes = s.viewSizes.Of(v.messages, len(v.messages))
	v.hidden = s.baseSizes.Of(v.base, len(v.base)) - v.bytes
	return v
}

// enter puts the numbers into the slice.
func (s *Shaper) enter(v shaped, f fill) {
	if s.cfg.State == nil {
		return
	}
	s.cfg.State.Set(func(prev *State) *State {
		next := *prev
		next.Window, next.Used, next.Reserve, next.Saved = f.window, f.used, f.reserve, v.saved
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
