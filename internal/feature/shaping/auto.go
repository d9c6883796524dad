package shaping

import (
	"context"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
)

// Auto says when a conversation is compacted without being asked.
type Auto struct {
	Off     bool // the person compacts
	Window  int  // tokens the window is taken to have, at most the model's; 0: the model's
	Percent int  // of the window at which to compact, where that is earlier; 0: the reserve alone decides
}

// maxThrash is how often in a row the context may be full right after a compaction.
const maxThrash = 3

// fill is how full the window is, in tokens.
type fill struct{ used, window, reserve, threshold int }

func (f fill) over() bool { return f.used >= f.threshold }

// near reports whether less than a tenth of the window is left to the threshold.
func (f fill) near() bool { return f.used >= f.threshold-f.window/10 }

// fillOf computes how full the window is with a view: what the service counted for the last
// request, what came since, less what the stages left out since.
func (s *Shaper) fillOf(v shaped, p engine.Pressure) fill {
	s.mu.Lock()
	defer s.mu.Unlock()
	estimate := s.tokens(p.Model, v.bytes) + s.overhead
	f := fill{used: estimate, window: p.Model.Window()}
	if p.Used > 0 && p.UsedAt <= len(v.base) && !s.cutSilently {
		f.used = max(p.Used+s.tokens(p.Model, sizeOf(v.base[p.UsedAt:]))-s.tokens(p.Model, v.hidden-s.sentHidden), 0)
	}
	f.reserve = min(p.Model.OutputLimit(), 32_000, f.window/5)
	if p.Options.MaxTokens > 0 {
		f.reserve = min(f.reserve, p.Options.MaxTokens)
	}
	f.reserve += f.window * 4 / 100
	auto := s.cfg.auto()
	if auto.Window > 0 {
		f.window = min(f.window, auto.Window)
	}
	f.threshold = f.window - f.reserve
	if auto.Percent > 0 && auto.Percent < 100 {
		f.threshold = min(f.threshold, f.window*auto.Percent/100)
	}
	return f
}

// relieve lets the stages leave more out while the window is too full, the cheapest first, and
// returns the view that results.
func (s *Shaper) relieve(v shaped, history []msg.Message, p engine.Pressure) (shaped, fill) {
	on := s.cfg.stages()
	steps := []struct {
		on   bool
		more func([]msg.Message, engine.Pressure) bool
	}{{on.Snip, s.snipMore}, {on.Microcompact, s.clearMore}, {on.Collapse, s.collapseMore}}
	if on.Microcompact && s.cold(history, p, on.ColdAfter) {
		v = s.moreHidden(s.clearMore, v, history, p)
	}
	f := s.fillOf(v, p)
	for _, step := range steps {
		if !step.on || !f.over() {
			continue
		}
		v = s.moreHidden(step.more, v, history, p)
		f = s.fillOf(v, p)
	}
	return v, f
}

// moreHidden lets one stage leave more out and shows the conversation anew.
func (s *Shaper) moreHidden(more func([]msg.Message, engine.Pressure) bool, v shaped, history []msg.Message, p engine.Pressure) shaped {
	s.mu.Lock()
	changed := more(history, p)
	s.mu.Unlock()
	if !changed {
		return v
	}
	if s.cfg.Hidden != nil {
		s.cfg.Hidden()
	}
	next := s.view(history, p)
	next.events = append(v.events, next.events...)
	return next
}

// auto compacts a conversation that is too full even so. ok is false when it was not compacted; the
// view then holds at most events.
func (s *Shaper) auto(ctx context.Context, history []msg.Message, p engine.Pressure, f fill) (view engine.View, ok bool) {
	r := Request{Trigger: TriggerAuto, Model: p.Model, Options: p.Options, Used: f.used}
	switch {
	case s.cfg.auto().Off:
		return engine.View{Events: s.once("full", "The context window is nearly full, and automatic compaction is off. Use /compact to summarise the conversation or /clear to begin anew.")}, false
	case s.cfg.State != nil && s.cfg.State.Get().AutoOff:
		return engine.View{}, false
	case s.divide(history, r).at == 0 || s.failedWith(len(history)):
		return engine.View{}, false
	}
	if s.thrashing() {
		what, tokens := s.largest(history, p)
		switchOff(s.cfg.State)
		return engine.View{Events: s.once("thrash", fmt.Sprintf(
			"The context window was full again right after %d compactions. The largest item is %s (about %d tokens). Automatic compaction is off until /compact or /clear.", maxThrash, what, tokens))}, false
	}
	view, err := s.Compact(ctx, history, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = len(history)
		return view, false // an event says so; the conversation is as it was
	}
	s.afterCompact = true
	return view, true
}

// failedWith reports whether a compaction of a conversation of so many messages failed: it is not
// tried again before something was added.
func (s *Shaper) failedWith(messages int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed == messages
}

// thrashing counts compactions that did not last.
func (s *Shaper) thrashing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.afterCompact {
		s.thrash++
	} else {
		s.thrash = 0
	}
	return s.thrash >= maxThrash
}

// switchOff ends compaction by itself.
func switchOff(state store.Slice[State]) {
	if state == nil {
		return
	}
	state.Set(func(prev *State) *State {
		next := *prev
		next.AutoOff = true
		return &next
	})
}

// largest names the largest message of a conversation.
func (s *Shaper) largest(history []msg.Message, p engine.Pressure) (what string, tokens int) {
	what, bytes := "the system prompt with the tools", 0
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens = s.overhead
	names := toolNames(history)
	for _, m := range history {
		if n := sizeOf([]msg.Message{m}); n > bytes {
			bytes = n
			if s.tokens(p.Model, n) <= s.overhead {
				continue
			}
			tokens = s.tokens(p.Model, n)
			what = "the message that begins with " + opening(m)
			for _, b := range m.Content {
				if r, ok := b.(msg.ToolResult); ok {
					what = "a result of " + names[r.CallID]
				}
			}
		}
	}
	return what, tokens
}

// once returns a notice as an event, once until the next compaction.
func (s *Shaper) once(key, text string) []proto.EventBody {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noticed[key] {
		return nil
	}
	s.noticed[key] = true
	return []proto.EventBody{proto.Notice{Level: "warning", Key: "context", Text: text}}
}
