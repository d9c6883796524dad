package shaping

import (
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// The ratio of bytes to tokens: where it starts, and the bounds of what is believed.
const (
	firstRatio = 4.0
	leastRatio = 1.0
	mostRatio  = 8.0

	leastMeasure = 2000 // bytes; fewer say little of a model
)

// Tokens estimates how many tokens so many bytes are for a model, by what its service reported so
// far.
func (s *Shaper) Tokens(model provider.Info, bytes int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens(model, bytes)
}

func (s *Shaper) tokens(model provider.Info, bytes int) int {
	return int(float64(bytes)/s.ratioOf(model.Ref())) + min(bytes, 1)
}

func (s *Shaper) bytes(model provider.Info, tokens int) int {
	return int(float64(tokens) * s.ratioOf(model.Ref()))
}

func (s *Shaper) ratioOf(ref string) float64 {
	if r, ok := s.ratios[ref]; ok {
		return r
	}
	return firstRatio
}

// learn takes the usage of the last answer: that many tokens were system prompt, tools and what was
// sent up to then. A count that stays while more is sent comes from a service that drops the
// beginning of a prompt without a word; nothing is learned from it, and the estimate counts.
func (s *Shaper) learn(v shaped, p engine.Pressure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Overhead > 0 {
		s.overhead = p.Overhead
	}
	if p.Used <= 0 || p.UsedAt <= 0 || p.UsedAt > len(v.base) {
		return
	}
	bytes := s.baseSizes.Of(v.base, p.UsedAt) - s.sentHidden + int(float64(s.overhead)*firstRatio)
	if bytes < leastMeasure {
		return
	}
	if s.lastUsed > 0 && bytes > s.lastBytes+s.lastBytes/20 {
		s.cutSilently = p.Used <= s.lastUsed
	}
	if s.cutSilently {
		return
	}
	s.lastBytes, s.lastUsed = bytes, p.Used
	measured := min(max(float64(bytes)/float64(p.Used), leastRatio), mostRatio)
	if old, ok := s.ratios[p.Model.Ref()]; ok {
		measured = (old + measured) / 2
	}
	s.ratios[p.Model.Ref()] = measured
}
