package engine

import (
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// state is all that changes from round to round. It is one value, replaced whole at each continue.
type state struct {
	history   []msg.Message
	rounds    int    // requests answered in this turn
	used      int    // tokens the last answered request filled in the window
	usedAt    int    // length of the history at that moment
	continued int    // how often in a row the stop function has made the turn go on
	fallback  int    // 0: the configured model, n: fallback model n
	limit     int    // escalated output limit; 0: as configured
	same      repeat // the call that was made last
	tries     tries  // what recovery has used up
	why       string // why the loop goes on, for whoever reads a trace
}

// loop takes the turn to its end. What can go wrong with a request is in recover.go.
func (r *run) loop(s state) (state, proto.Ended) {
	for {
		// 1 · settings: the model and its options as they are now.
		model, opts := r.model(s)

		// 2 · state: what was typed, or ended, meanwhile.
		s = r.steered(s)

		// 3 · context assembly: what the model is told beside the conversation.
		system, tools := r.context()

		// 4 · shapers: the history, fitted into the window.
		var view []msg.Message
		s, view = r.shaped(s, model.Info(), opts, overhead(system, tools), Pressure{})
		if r.fail != nil || r.ctx.Err() != nil {
			s, ended := r.interrupted(s, answer{})
			return s, *ended
		}

		// 5 · model call. Each call of a tool that comes in is
		// 6 · dispatched at once, passes
		// 7 · the permission gate, and
		// 8 · is executed, while the answer still streams (execute.go).
		request := provider.Request{
			Lane: r.cfg.Lane, System: system, Tools: Describe(tools), Options: opts,
			Messages: r.kept.sendable.Sendable(view),
		}
		if r.cfg.Admit != nil {
			if end := r.cfg.Admit(model.Info(), request); end != nil {
				return s, *r.ended(s, answer{}, proto.EndReason(end.Outcome), end.Reason)
			}
		}
		a := r.ask(model, request, tools, s)

		// 9 · stop condition: go on with the results, recover, or end.
		next, ended := r.next(s, a)
		if ended != nil {
			return next, *ended
		}
		s = next
	}
}

// next decides how the loop goes on after an answer.
func (r *run) next(s state, a answer) (state, *proto.Ended) {
	if r.fail != nil || r.ctx.Err() != nil {
		return r.interrupted(s, a)
	}
	if rule := recovery(s, a); rule != nil {
		s, ended := rule.apply(r, s, a)
		s.why = rule.name
		return s, ended
	}
	s.history = append(s.history, a.messages...)
	s.rounds++
	s.used, s.usedAt = a.usage.Context(), len(s.history)
	s.tries.attempts, s.tries.overloads = 0, 0
	switch end := a.end(); {
	case end != nil:
		return s, r.ended(s, a, proto.EndReason(end.Outcome), end.Reason)
	case a.calls == 0:
		return r.conclude(s, a)
	}
	s.continued, s.tries.pauses = 0, 0
	if end := r.batch(a); end != nil {
		return s, r.ended(s, a, proto.EndReason(end.Outcome), end.Reason)
	}
	if s.same = s.same.after(a.done); r.cfg.Limits.Repeats > 0 && s.same.count >= r.cfg.Limits.Repeats {
		return s, r.ended(s, a, proto.EndRepetition, "the model made the same call again and again with the same result")
	}
	if r.cfg.Limits.Rounds > 0 && s.rounds >= r.cfg.Limits.Rounds {
		return s, r.ended(s, a, proto.EndMaxRounds, "")
	}
	if r.ctx.Err() != nil {
		return r.interrupted(s, answer{})
	}
	s.why = "tool results"
	return s, nil
}

// conclude ends a turn whose answer called no tool, unless the stop function wants it to go on.
func (r *run) conclude(s state, a answer) (state, *proto.Ended) {
	switch {
	case a.stop == msg.StopPause: // the service paused a long answer: ask on
		if r.cfg.Limits.Rounds > 0 && s.rounds >= r.cfg.Limits.Rounds {
			return s, r.ended(s, a, proto.EndMaxRounds, "")
		}
		if s.tries.pauses++; s.tries.pauses > maxPauses {
			return s, r.ended(s, a, proto.EndRepetition, "the service paused its answer again and again")
		}
		s.why = "pause"
		return s, nil
	case a.stop == msg.StopRefusal:
		return s, r.ended(s, a, proto.EndRefusal, "the model declined to answer")
	case len(a.stopping.Again) == 0:
		return s, r.ended(s, a, proto.EndCompleted, "")
	}
	for _, m := range a.stopping.Again {
		s.history = append(s.history, r.keep(m))
	}
	if r.cfg.Limits.Rounds > 0 && s.rounds >= r.cfg.Limits.Rounds {
		return s, r.ended(s, a, proto.EndMaxRounds, "")
	}
	s.continued++
	s.why = "stop function"
	return s, nil
}

// model is the model in force: the configured one, or a fallback for the rest of the turn.
func (r *run) model(s state) (provider.Model, provider.Options) {
	m, opts := r.cfg.Model()
	if s.fallback > 0 && s.fallback <= len(opts.Fallbacks) {
		m = opts.Fallbacks[s.fallback-1]
	}
	if s.limit > 0 {
		opts.MaxTokens = s.limit
	}
	if opts.MaxTokens == 0 {
		opts.MaxTokens = min(m.Info().OutputLimit(), 32_000)
	}
	opts.NoStream = opts.NoStream || s.tries.noStream
	return m, opts
}

// steered adds what was typed meanwhile, from the second round on.
func (r *run) steered(s state) state {
	if s.rounds == 0 || r.cfg.Steer == nil || s.tries.attempts > 0 {
		return s
	}
	for _, m := range r.cfg.Steer() {
		s.history = append(s.history, r.keep(m))
	}
	return s
}

// context gathers the system prompt and the tools of one round.
func (r *run) context() ([]msg.Block, []tool.Tool) {
	var system []msg.Block
	if r.cfg.System != nil {
		var err error
		if system, err = r.cfg.System(r.ctx); err != nil && r.ctx.Err() == nil {
			r.failWith(err)
		}
	}
	return system, r.cfg.Tools()
}

// shaped asks the shapers for a view of the history, and takes over what a compaction left.
func (r *run) shaped(s state, info provider.Info, opts provider.Options, overhead int, p Pressure) (state, []msg.Message) {
	if r.cfg.Shape == nil {
		return s, s.history
	}
	p.Round, p.Model, p.Options, p.Overhead = s.rounds+1, info, opts, overhead
	p.Used, p.UsedAt = s.used, s.usedAt
	view, err := r.cfg.Shape(r.ctx, s.history, p)
	if err != nil {
		if r.ctx.Err() == nil {
			r.failWith(err)
		}
		return s, s.history
	}
	for _, e := range view.Events {
		r.emit(e)
	}
	for _, m := range view.Records {
		r.keep(m)
	}
	if view.History != nil {
		s.history, s.used, s.usedAt = view.History, 0, 0
	}
	s.tries.freed = view.Freed
	return s, view.Messages
}

func (r *run) batch(a answer) *tool.End {
	if r.cfg.Batch == nil {
		return nil
	}
	end, err := r.cfg.Batch(r.ctx, a.done)
	if err != nil && r.ctx.Err() == nil {
		r.failWith(err)
	}
	return end
}

func (r *run) ended(s state, a answer, reason proto.EndReason, detail string) *proto.Ended {
	return &proto.Ended{Reason: reason, Detail: detail, Text: lastText(s.history), Stop: a.stop, Rounds: s.rounds}
}

// lastText is the text of the last answer, all its blocks together, and of those it only went on from.
func lastText(history []msg.Message) string {
	text, response := "", ""
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		if m.Role != msg.Assistant {
			if goesOn(m) {
				response = ""
				continue
			}
			if response != "" {
				break
			}
			continue
		}
		if response != "" && m.Response != response {
			break
		}
		response = m.Response
		if t := msg.TextOf(m.Content); t != "" {
			text = t + text
		}
	}
	return text
}

// goesOn reports whether a message only asks to go on with an answer that was cut.
func goesOn(m msg.Message) bool {
	if m.Origin != msg.FromHarness {
		return false
	}
	switch msg.TextOf(m.Content) {
	case goOnOutput, goOnStream, goOnBlock:
		return true
	}
	return false
}

// overhead estimates the tokens of what goes beside the conversation, four bytes a token.
func overhead(system []msg.Block, tools []tool.Tool) int {
	n := len(msg.TextOf(system))
	for _, t := range tools {
		s := t.Spec()
		if s.Deferred { // it counts where a result refers to it
			continue
		}
		n += len(s.Name) + len(s.Description) + len(s.Schema)
	}
	return n / 4
}
