package shaping

import (
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
)

// What stays whole when a prompt was found too long, and what of the rest is shown.
const (
	newestWhole  = 8   // results
	oldPreview   = 400 // characters of an older result
	worthFreeing = 5   // hundredths of the conversation that must be saved for another try
)

// tighten is the first answer to a prompt that is too long: older results and pictures are shown
// shorter from now on, which costs no request.
func (s *Shaper) tighten(history []msg.Message, p engine.Pressure) engine.View {
	before := s.view(history, p)
	s.mu.Lock()
	was := s.tight
	s.tight = true
	on := s.cfg.stages()
	more := false
	if on.Microcompact {
		more = s.clearMore(history, p)
	}
	if on.Collapse {
		more = s.collapseMore(history, p) || more
	}
	s.mu.Unlock()
	if s.cfg.Hidden != nil {
		s.cfg.Hidden()
	}
	after := s.view(history, p)
	s.enter(after, s.fillOf(after, p))
	s.sent(after)
	out := after.engine()
	saved := before.bytes - after.bytes
	out.Freed = (!was || more) && saved*100 >= before.bytes*worthFreeing && saved > 0
	if !out.Freed {
		out.Events = nil
	}
	return out
}

// project is the stage that shows older results shorter once a prompt was too long.
func (s *Shaper) project(history []msg.Message, _ engine.Pressure) (out []msg.Message, items, bytes int) {
	if !s.tight {
		return history, 0, 0
	}
	e := editor{history: history}
	all := places(history, 0, len(history))
	for _, p := range all[:max(len(all)-newestWhole, 0)] {
		if content, changed := s.shorter(p); changed {
			r := p.result
			r.Content = content
			e.set(p.message, p.block, r)
			items++
		}
	}
	last := lastPrompt(history)
	for i, m := range history[:max(last, 0)] {
		for j, b := range m.Content {
			if isMedia(b) {
				e.set(i, j, msg.Text{Text: mediaNote(b)})
				items++
			}
		}
	}
	return e.out(), items, sizeDifference(history, e.out())
}

// shorter is the content of an older result, shortened.
func (s *Shaper) shorter(p place) (content []msg.Block, changed bool) {
	for _, b := range p.result.Content {
		switch t := b.(type) {
		case msg.Text:
			if short := shortResult(t.Text, s.replaced[p.result.CallID].Path); len(short) < len(t.Text) {
				b, changed = msg.Text{Text: short}, true
			}
		default:
			if isMedia(b) {
				b, changed = msg.Text{Text: mediaNote(b)}, true
			}
		}
		content = append(content, b)
	}
	return content, changed
}

func shortResult(text, path string) string {
	note := "an older result; make the call again if you need it"
	if path != "" {
		note = "the whole text is in " + path
	}
	return Preview(text, oldPreview, note)
}

func isMedia(b msg.Block) bool {
	switch b.(type) {
	case msg.Image, msg.Document:
		return true
	}
	return false
}

func mediaNote(b msg.Block) string {
	switch b := b.(type) {
	case msg.Image:
		return fmt.Sprintf("[a picture stood here (%s, %d bytes)]", b.MediaType, len(b.Data))
	case msg.Document:
		return fmt.Sprintf("[a document stood here (%s, %d bytes)]", b.Title, len(b.Data))
	}
	return ""
}

// WithoutMedia returns the messages with every picture and document replaced by a note, also
// inside results.
func WithoutMedia(history []msg.Message) []msg.Message {
	out := make([]msg.Message, len(history))
	for i, m := range history {
		m.Content = withoutMedia(m.Content)
		out[i] = m
	}
	return out
}

func withoutMedia(content []msg.Block) []msg.Block {
	out := make([]msg.Block, len(content))
	for i, b := range content {
		if r, ok := b.(msg.ToolResult); ok {
			r.Content = withoutMedia(r.Content)
			b = r
		}
		if isMedia(b) {
			b = msg.Text{Text: mediaNote(b)}
		}
		out[i] = b
	}
	return out
}

// lastPrompt is the index of the last message a person or host wrote, -1 when there is none.
func lastPrompt(history []msg.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if isPrompt(history[i]) {
			return i
		}
	}
	return -1
}

func isPrompt(m msg.Message) bool {
	return m.Role == msg.User && m.Origin == msg.FromHuman && !onlyResults(m)
}

func onlyResults(m msg.Message) bool {
	for _, b := range m.Content {
		if _, ok := b.(msg.ToolResult); !ok {
			return false
		}
	}
	return true
}
