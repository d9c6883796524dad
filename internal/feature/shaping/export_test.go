package shaping

import "maps"

// Forgetful returns a shaper that hides the same and kept nothing else.
func (s *Shaper) Forgetful() *Shaper {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := New(s.cfg)
	out.cfg.Replaced = nil
	out.hide = hidden{cleared: maps.Clone(s.hide.cleared), collapsed: maps.Clone(s.hide.collapsed), snipped: maps.Clone(s.hide.snipped), pinned: maps.Clone(s.hide.pinned)}
	out.tight, out.overhead, out.cutSilently = s.tight, s.overhead, s.cutSilently
	maps.Copy(out.ratios, s.ratios)
	return out
}
