package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// tries counts what recovery has used up. Those of the request start anew with each answer, the
// others hold for the turn.
type tries struct {
	attempts  int // requests that failed in a row
	overloads int // 529 answers in a row

	outputs   int // answers cut by the output limit
	cuts      int // streams cut after something was shown
	thinks    int // streams cut after thinking
	stalls    int // streams that went silent
	ends      int // answers without a good end, with nothing shown
	pauses    int // answers in a row that the service paused
	noStream  bool
	projected bool // cheap projections were drained for a prompt too long
	compacted bool // the one reactive compaction was made
	stripped  bool // pictures were taken out
	unsigned  bool // thinking was taken out
	freed     bool // the last shaping saved something
}

// The bounds of recovery a turn.
const (
	maxOutputs   = 3
	maxCuts      = 3
	maxThinks    = 2
	maxStalls    = 1
	maxEnds      = 2
	maxPauses    = 5
	maxOverloads = 3
	longWait     = time.Minute // a service that wants longer is given up for a fallback
	leastOutput  = 1024        // an output limit below this is not worth a request
)

// What the model is told after a cut. It was shown what it had said so far.
const (
	goOnOutput = "Your answer was cut at the output limit. Go on exactly where it stopped, without repeating anything and without an introduction."
	goOnStream = "The connection broke while you were answering. Go on exactly where your last text stopped, without repeating anything and without an introduction."
	goOnBlock  = "The connection broke; your last message may be incomplete. Go on from there without repeating anything."
)

// rule is one row of the table: what happened, and how the turn goes on.
type rule struct {
	name  string
	when  func(s state, a answer) bool
	apply func(r *run, s state, a answer) (state, *proto.Ended)
}

// recovery returns the first rule that fits, nil when the answer is whole and in order.
func recovery(s state, a answer) *rule {
	for i := range recoveries {
		if recoveries[i].when(s, a) {
			return &recoveries[i]
		}
	}
	return nil
}

// recoveries is the table, read from top to bottom. Rules of a broken answer come before those of
// a failed request, since what was shown must not be asked for again.
var recoveries = []rule{
	{"output limit", func(_ state, a answer) bool { return a.err == nil && a.stop == msg.StopMaxTokens && a.calls == 0 }, (*run).outputLimit},
	{"calls before the break", func(_ state, a answer) bool { return a.err != nil && a.calls > 0 }, (*run).brokenAfterCalls},
	{"text before the break", func(_ state, a answer) bool { return a.err != nil && a.text }, (*run).brokenAfterText},
	{"thinking before the break", func(s state, a answer) bool { return broken(a) && a.thought && s.tries.thinks < maxThinks }, (*run).brokenAfterThinking},
	{"prompt too long", func(_ state, a answer) bool { return kind(a) == provider.KindTooLong }, (*run).tooLong},
	{"output limit too large", func(_ state, a answer) bool { return kind(a) == provider.KindMaxTokens }, (*run).smallerOutput},
	{"media refused", func(s state, a answer) bool { return kind(a) == provider.KindMedia && !s.tries.stripped }, (*run).withoutMedia},
	{"signature refused", func(s state, a answer) bool { return kind(a) == provider.KindSignature && !s.tries.unsigned }, (*run).withoutThinking},
	{"overloaded", func(_ state, a answer) bool { return kind(a) == provider.KindOverloaded }, (*run).overloaded},
	{"model missing", func(_ state, a answer) bool { return kind(a) == provider.KindNotFound }, (*run).otherModel},
	{"stalled", func(_ state, a answer) bool { return errors.Is(a.err, errIdle) || kind(a) == provider.KindIdle }, (*run).stalled},
	{"no good end", func(s state, a answer) bool { return kind(a) == provider.KindEnd && s.tries.ends < maxEnds }, (*run).endedBadly},
	{"streaming unusable", func(s state, a answer) bool {
		return kind(a) == provider.KindStream && s.tries.attempts >= 1 && !s.tries.noStream
	}, (*run).withoutStreaming},
	{"try again", func(_ state, a answer) bool { return transient(kind(a)) }, (*run).again},
	{"failed", func(_ state, a answer) bool { return a.err != nil }, (*run).failed},
}

func kind(a answer) provider.Kind {
	if a.err == nil {
		return ""
	}
	return provider.KindOf(a.err)
}

func broken(a answer) bool {
	k := kind(a)
	return k == provider.KindStream || k == provider.KindEnd || k == provider.KindNetwork || k == provider.KindIdle || errors.Is(a.err, errIdle)
}

func transient(k provider.Kind) bool {
	switch k {
	case provider.KindRateLimit, provider.KindServer, provider.KindNetwork, provider.KindStream, provider.KindIdle:
		return true
	}
	return false
}

// outputLimit raises the limit to what the model can do and goes on from the cut. What was shown
// stays; when nothing was, the request is simply made again.
func (r *run) outputLimit(s state, a answer) (state, *proto.Ended) {
	model, opts := r.cfg.Model()
	s.rounds++
	if s.tries.outputs >= maxOutputs || opts.UserSetMaximum {
		s.history = append(s.history, a.messages...)
		return s, r.ended(s, a, proto.EndMaxOutput, "the answer was cut at the output limit")
	}
	s.tries.outputs++
	s.limit = max(model.Info().OutputLimit(), opts.MaxTokens)
	if !a.text {
		return s, nil
	}
	s.history = append(s.history, a.messages...)
	s.history = append(s.history, r.say(msg.FromHarness, goOnOutput))
	return s, nil
}

// brokenAfterCalls keeps what was complete; the calls have run, and asking again would run them
// twice.
func (r *run) brokenAfterCalls(s state, a answer) (state, *proto.Ended) {
	s.history = append(s.history, a.messages...)
	if s.tries.cuts >= maxCuts {
		return r.failed(s, a)
	}
	s.tries.cuts++
	s.rounds++
	if end := a.end(); end != nil {
		return s, r.ended(s, a, proto.EndReason(end.Outcome), end.Reason)
	}
	if end := r.batch(a); end != nil {
		return s, r.ended(s, a, proto.EndReason(end.Outcome), end.Reason)
	}
	if a.text {
		s.history = append(s.history, r.say(msg.FromHarness, goOnBlock))
	}
	return s, nil
}

// brokenAfterText keeps the shown text as what the model said and goes on from there.
func (r *run) brokenAfterText(s state, a answer) (state, *proto.Ended) {
	s.history = append(s.history, a.messages...)
	if s.tries.cuts >= maxCuts {
		return r.failed(s, a)
	}
	s.tries.cuts++
	r.tellRetry(s, a, s.tries.cuts, maxCuts, 0)
	text := goOnBlock
	if a.cutText {
		text = goOnStream
	}
	s.history = append(s.history, r.say(msg.FromHarness, text))
	return s, nil
}

// brokenAfterThinking asks again at once; the thinking is dropped, since nothing followed it.
func (r *run) brokenAfterThinking(s state, a answer) (state, *proto.Ended) {
	s.tries.thinks++
	r.tellRetry(s, a, s.tries.thinks, maxThinks, 0)
	return s, nil
}

// endedBadly asks again for an answer that ended with nothing shown and no good reason.
func (r *run) endedBadly(s state, a answer) (state, *proto.Ended) {
	s.tries.ends++
	wait := backoff(s.tries.ends, r.cfg.Effects.Jitter())
	r.tellRetry(s, a, s.tries.ends, maxEnds, wait)
	if r.cfg.Effects.Sleep(r.ctx, wait) != nil {
		return r.interrupted(s, answer{})
	}
	return s, nil
}

// tooLong frees space, the cheap way first, each way once; then the turn ends with that reason.
func (r *run) tooLong(s state, a answer) (state, *proto.Ended) {
	if r.cfg.Shape != nil && !s.tries.projected {
		s.tries.projected = true
		if s = r.squeeze(s, Pressure{Reactive: true, Project: true}); s.tries.freed {
			return s, nil
		}
	}
	if r.cfg.Shape != nil && !s.tries.compacted && r.fail == nil {
		s.tries.compacted = true
		if s = r.squeeze(s, Pressure{Reactive: true}); s.tries.freed {
			return s, nil
		}
	}
	if r.fail != nil || r.ctx.Err() != nil {
		return r.interrupted(s, answer{})
	}
	e := r.ended(s, a, proto.EndOverflow, "the conversation does not fit the model's context window any more; compact it (/compact) or start a new one (/clear)")
	e.API = apiError(a.err)
	return s, e
}

func (r *run) squeeze(s state, p Pressure) state {
	model, opts := r.model(s)
	s, _ = r.shaped(s, model.Info(), opts, 0, p)
	return s
}

// smallerOutput asks for less, so that prompt and answer fit together.
func (r *run) smallerOutput(s state, a answer) (state, *proto.Ended) {
	_, opts := r.model(s)
	limit := opts.MaxTokens / 2
	var e *provider.Error
	if errors.As(a.err, &e) && e.Max > 0 {
		if room := e.Max - e.Input; room < opts.MaxTokens { // Input is 0 where Max is the output limit itself
			limit = room
		}
	}
	if limit < leastOutput {
		return r.tooLong(s, a)
	}
	s.limit = limit
	r.emit(proto.Notice{Level: "warning", Text: fmt.Sprintf("The service takes a shorter answer only; the request is made again with at most %d tokens.", limit)})
	return s, nil
}

// withoutMedia replaces the pictures and documents of the history by notes: a service that refuses
// one would refuse every later request too.
func (r *run) withoutMedia(s state, _ answer) (state, *proto.Ended) {
	s.tries.stripped = true
	s.history = mapBlocks(s.history, func(b msg.Block) msg.Block {
		switch b.(type) {
		case msg.Image:
			return msg.Text{Text: "[picture taken out: the service refused it]"}
		case msg.Document:
			return msg.Text{Text: "[document taken out: the service refused it]"}
		}
		return b
	})
	r.emit(proto.Notice{Level: "warning", Text: "The service refused a picture or document; it was replaced by a note and the request is made again."})
	return s, nil
}

func (r *run) withoutThinking(s state, _ answer) (state, *proto.Ended) {
	s.tries.unsigned = true
	s.history = mapBlocks(s.history, func(b msg.Block) msg.Block {
		switch b.(type) {
		case msg.Thinking, msg.RedactedThinking:
			return nil
		}
		return b
	})
	r.emit(proto.Notice{Level: "warning", Text: "The service refused earlier reasoning; it was left out and the request is made again."})
	return s, nil
}

// mapBlocks returns a copy of the history with each block, also those inside results, replaced by
// what f makes of it; nil drops it.
func mapBlocks(history []msg.Message, f func(msg.Block) msg.Block) []msg.Message {
	var each func([]msg.Block) []msg.Block
	each = func(blocks []msg.Block) []msg.Block {
		out := make([]msg.Block, 0, len(blocks))
		for _, b := range blocks {
			if res, ok := b.(msg.ToolResult); ok {
				res.Content = each(res.Content)
				b = res
			}
			if b = f(b); b != nil {
				out = append(out, b)
			}
		}
		return out
	}
	out := make([]msg.Message, len(history))
	for i, m := range history {
		m.Content = each(m.Content)
		out[i] = m
	}
	return out
}

// overloaded waits a few times, then turns to the fallback model.
func (r *run) overloaded(s state, a answer) (state, *proto.Ended) {
	s.tries.overloads++
	if _, opts := r.cfg.Model(); s.tries.overloads >= maxOverloads && s.fallback < len(opts.Fallbacks) {
		return r.otherModel(s, a)
	}
	return r.again(s, a)
}

// otherModel lets the next fallback model take over for the rest of the turn.
func (r *run) otherModel(s state, a answer) (state, *proto.Ended) {
	from, opts := r.model(s)
	if s.fallback >= len(opts.Fallbacks) {
		return r.failed(s, a)
	}
	s.fallback++
	s.limit, s.tries.attempts, s.tries.overloads = 0, 0, 0
	to := opts.Fallbacks[s.fallback-1]
	r.emit(proto.Fallback{From: from.Info().Ref(), To: to.Info().Ref(), Reason: a.err.Error()})
	return s, nil
}

func (r *run) stalled(s state, a answer) (state, *proto.Ended) {
	if s.tries.stalls >= maxStalls {
		return r.failed(s, a)
	}
	s.tries.stalls++
	r.tellRetry(s, a, s.tries.stalls, maxStalls, 0)
	return s, nil
}

// withoutStreaming makes one request without streaming; no call of the answer has started.
func (r *run) withoutStreaming(s state, a answer) (state, *proto.Ended) {
	if r.cfg.Limits.StreamOnly {
		return r.again(s, a)
	}
	s.tries.noStream = true
	s.tries.attempts++
	r.tellRetry(s, a, s.tries.attempts, r.cfg.Limits.Retries, 0)
	return s, nil
}

// again makes the request once more after a wait that grows. A long one is not waited for where another
// model can take over, nor past the bound of the run.
func (r *run) again(s state, a answer) (state, *proto.Ended) {
	if s.tries.attempts >= r.cfg.Limits.Retries {
		if _, opts := r.cfg.Model(); kind(a) == provider.KindServer && s.fallback < len(opts.Fallbacks) {
			return r.otherModel(s, a)
		}
		return r.failed(s, a)
	}
	s.tries.attempts++
	wait := backoff(s.tries.attempts, r.cfg.Effects.Jitter())
	var e *provider.Error
	if errors.As(a.err, &e) && e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	if _, opts := r.cfg.Model(); wait > longWait && s.fallback < len(opts.Fallbacks) {
		return r.otherModel(s, a)
	}
	if most := r.cfg.Limits.Wait; most > 0 && wait > most {
		at := r.cfg.Effects.Now().Add(wait).Truncate(time.Second)
		a.err = fmt.Errorf("%w; it may work again at %s, in %s; MYELIN_RETRY_WATCHDOG=1 waits for it", a.err, at.Format(time.RFC3339), wait.Round(time.Second))
		return r.failed(s, a)
	}
	r.tellRetry(s, a, s.tries.attempts, r.cfg.Limits.Retries, wait)
	if r.cfg.Effects.Sleep(r.ctx, wait) != nil {
		return r.interrupted(s, answer{})
	}
	return s, nil
}

// backoff doubles from half a second up to 32, less up to a quarter by chance.
func backoff(attempt int, chance float64) time.Duration {
	base := 0.5 * math.Pow(2, float64(attempt-1))
	return time.Duration(min(base, 32) * (1 - chance/4) * float64(time.Second))
}

func (r *run) tellRetry(_ state, a answer, attempt, most int, wait time.Duration) {
	e := apiError(a.err)
	r.emit(proto.Retry{
		Attempt: attempt, Max: most, DelayMS: wait.Milliseconds(),
		Status: e.Status, Kind: e.Kind, Message: e.Message,
	})
}

// failed ends the turn with what the service said.
func (r *run) failed(s state, a answer) (state, *proto.Ended) {
	e := r.ended(s, a, proto.EndAPI, a.err.Error())
	e.API = apiError(a.err)
	return s, e
}

func apiError(err error) *proto.APIError {
	out := &proto.APIError{Kind: string(provider.KindOf(err)), Message: err.Error()}
	var e *provider.Error
	if errors.As(err, &e) {
		out.Status, out.Script = e.Status, e.Kind == provider.KindScript
	}
	if errors.Is(err, errIdle) {
		out.Kind = string(provider.KindIdle)
	}
	return out
}

// interrupted ends a turn that was cancelled: what was said and done is kept, every call has a
// result, and a person's interrupt leaves its mark.
func (r *run) interrupted(s state, a answer) (state, *proto.Ended) {
	s.history = append(s.history, a.messages...)
	reason, mark := proto.EndStreaming, MarkInterrupted
	if a.calls > 0 {
		reason, mark = proto.EndTools, MarkInterruptedTools
	}
	if errors.Is(context.Cause(r.ctx), ErrInterrupt) {
		s.history = append(s.history, r.say(msg.FromInterrupt, mark))
	}
	e := r.ended(s, a, reason, "")
	if cause := context.Cause(r.ctx); cause != nil {
		e.Detail = cause.Error()
	}
	return s, e
}

// repeat counts how often the same call brought the same result in a row. Calls that only wait do not
// count: who polls makes the same call on purpose.
type repeat struct {
	seed  maphash.Seed
	hash  uint64
	count int
}

func (p repeat) after(done []tool.Done) repeat {
	if p.count == 0 {
		p.seed = maphash.MakeSeed()
	}
	for _, d := range done {
		if d.Traits.Waits {
			continue
		}
		h := maphash.String(p.seed, fmt.Sprintf("%s\x00%s\x00%v", d.Call.Name, d.Call.Literal, d.Result.Content))
		if h != p.hash || p.count == 0 {
			p.hash, p.count = h, 0
		}
		p.count++
	}
	return p
}
