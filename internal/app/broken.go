package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/hook"
)

// broken is something in the settings that a person has to decide about: a file that is not used, or
// a rule, lock or guard that is not in force because of a mistake.
type broken struct{ file, text string }

// lostError refuses a run without a person: what forbids is not in force.
func lostError(text string) error {
	return &ExitError{codeSettings, fmt.Errorf("deny or ask rules, or guards, are not in force: %s (go on without them: --ignore-bad-rules)", text)}
}

// allBroken lists what is broken now and was not decided about.
func (s *Session) allBroken() []broken {
	r := s.rooms.settings
	var out []broken
	for _, p := range r.live.State().Errors {
		if p.Skipped || p.Lost {
			out = append(out, broken{p.File, p.String()})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.guards {
		out = append(out, broken{p.At.File, p.String()})
	}
	return slices.DeleteFunc(out, func(b broken) bool { return r.without[b.text] })
}

// guarded notes which guards of the settings in force cannot be read.
func (s *Session) guarded(wrong []hook.Problem) {
	r := s.rooms.settings
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guards = slices.DeleteFunc(slices.Clone(wrong), func(p hook.Problem) bool { return !p.Lost })
}

// goesOn says whether a person, or the command line, goes on without a guard that cannot be read.
func (s *Session) goesOn(p hook.Problem) bool {
	r := s.rooms.settings
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.opts.IgnoreBadRules || r.without[p.String()]
}

// checkGuards refuses a run without a person in which a guard is not in force.
func (s *Session) checkGuards() error {
	if s.opts.Interactive || s.opts.IgnoreBadRules {
		return nil
	}
	r := s.rooms.settings
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.guards) > 0 {
		return lostError(r.guards[0].String())
	}
	return nil
}

// askBroken has a person decide about settings that cannot be read: mend them, go on without what they
// say, or leave. Nothing runs before the answer.
func (s *Session) askBroken(ctx context.Context) {
	for s.opts.Interactive && s.opts.Answers && !s.opts.IgnoreBadRules {
		list := s.allBroken()
		if len(list) == 0 {
			return
		}
		answer, err := s.asks.Put(ctx, brokenQuestion(s.effects.NewID(), list))
		if err != nil {
			return
		}
		r := s.rooms.settings
		switch answer.Option {
		case "fix":
			r.live.Reload(ctx)
		case "continue":
			r.mu.Lock()
			for _, b := range list {
				r.without[b.text] = true
			}
			r.mu.Unlock()
			s.applyConfig(s.config())
			return
		default:
			s.end()
			return
		}
	}
}

func brokenQuestion(id string, list []broken) proto.Ask {
	var lines []string
	for _, b := range list {
		lines = append(lines, b.text)
	}
	file := list[0].file
	return proto.Ask{
		ID: id, Kind: proto.AskDialog, Title: "Go on although settings cannot be read?", NeedsPerson: true, Path: file,
		Text: "This is not in force until it is mended:", Understood: lines,
		Options: []proto.Option{
			{ID: "fix", Label: "Mend " + file + " and read it again", Open: file},
			{ID: "continue", Label: "Go on without it", Detail: "what it forbids or guards is not in force"},
			{ID: "exit", Label: "Exit"},
		},
	}
}

// askReset has a person decide about a state file that does not parse: begin it anew, or leave and mend
// it. Its content is kept as a copy either way.
func (s *Session) askReset(ctx context.Context) {
	r := s.rooms.settings
	r.mu.Lock()
	broken := r.broken
	r.broken = nil
	r.mu.Unlock()
	if broken == nil {
		return
	}
	answer, err := s.asks.Put(ctx, proto.Ask{
		ID: s.effects.NewID(), Kind: proto.AskDialog, Title: "Begin the state file anew?", NeedsPerson: true, Path: broken.Path,
		Text:    broken.Error() + ". It holds which folders you trust and which notices you have seen.",
		Options: []proto.Option{{ID: "reset", Label: "Yes, begin with an empty one"}, {ID: "exit", Label: "No, exit; I shall mend it"}},
	})
	if err != nil || answer.Option != "reset" {
		s.end()
		return
	}
	if _, err := r.places.State().Reset(); err != nil {
		s.events.Emit(proto.Notice{Level: "error", Text: err.Error()})
	}
}
