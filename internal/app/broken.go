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
func (s *settings) allBroken() []broken {
	var out []broken
	for _, p := range s.live.State().Errors {
		if p.Skipped || p.Lost {
			out = append(out, broken{p.File, p.String()})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.guards {
		out = append(out, broken{p.At.File, p.String()})
	}
	return slices.DeleteFunc(out, func(b broken) bool { return s.without[b.text] })
}

// guarded notes which guards of the settings in force cannot be read.
func (s *settings) guarded(wrong []hook.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guards = slices.DeleteFunc(slices.Clone(wrong), func(p hook.Problem) bool { return !p.Lost })
}

// goesOn says whether a person, or the command line, goes on without a guard that cannot be read.
func (s *settings) goesOn(p hook.Problem) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.IgnoreBadRules || s.without[p.String()]
}

// checkGuards refuses a run without a person in which a guard is not in force.
func (s *settings) checkGuards() error {
	if s.opts.Interactive || s.opts.IgnoreBadRules {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.guards) > 0 {
		return lostError(s.guards[0].String())
	}
	return nil
}

// askBroken has a person decide about settings that cannot be read: mend them, go on without what they
// say, or leave. Nothing runs before the answer.
func (c *consent) askBroken(ctx context.Context) {
	for c.opts.Interactive && c.opts.Answers && !c.opts.IgnoreBadRules {
		list := c.settings.allBroken()
		if len(list) == 0 {
			return
		}
		answer, err := c.asks.Put(ctx, brokenQuestion(c.clock.newID(), list))
		if err != nil {
			return
		}
		r := c.settings
		switch answer.Option {
		case "fix":
			r.live.Reload(ctx)
		case "continue":
			r.mu.Lock()
			for _, b := range list {
				r.without[b.text] = true
			}
			r.mu.Unlock()
			c.apply()
			return
		default:
			c.end()
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
			{ID: "exit", Label: "Exit", Behavior: "deny"},
		},
	}
}

// askReset has a person decide about a state file that does not parse: begin it anew, or leave and mend
// it. Its content is kept as a copy either way.
func (c *consent) askReset(ctx context.Context) {
	r := c.settings
	r.mu.Lock()
	broken := r.broken
	r.broken = nil
	r.mu.Unlock()
	if broken == nil {
		return
	}
	answer, err := c.asks.Put(ctx, proto.Ask{
		ID: c.clock.newID(), Kind: proto.AskDialog, Title: "Begin the state file anew?", NeedsPerson: true, Path: broken.Path,
		Text:    broken.Error() + ". It holds which folders you trust and which notices you have seen.",
		Options: []proto.Option{{ID: "reset", Label: "Yes, begin with an empty one"}, {ID: "exit", Label: "No, exit; I shall mend it", Behavior: "deny"}},
	})
	if err != nil || answer.Option != "reset" {
		c.end()
		return
	}
	if _, err := r.places.State().Reset(); err != nil {
		c.events.Emit(proto.Notice{Level: "error", Text: err.Error()})
	}
}
