package conversation

import (
	"slices"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// scene is what a classifier may see of a conversation.
type scene struct {
	mu       sync.Mutex // guards the rest
	messages []msg.Message
	notes    []string
}

// Scene is what a classifier may see of the conversation: the user's words, the agent's calls, and notes.
func (s *scene) Scene() (out permission.Scene) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.Role == msg.User && m.Origin == msg.FromHuman {
			out.Messages = append(out.Messages, msg.TextOf(m.Content))
		}
		for _, call := range msg.Calls(m) {
			out.Calls = append(out.Calls, permission.PriorCall{Tool: call.Name, Input: call.Input})
		}
	}
	out.Notes = slices.Clone(s.notes)
	return out
}

// Note leaves texts for the classifier's eyes.
func (s *scene) Note(texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, texts...)
}

// remember keeps the conversation for the classifier's eyes.
func (s *scene) remember(history []msg.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = history
}

// shown are the messages as they were kept last.
func (s *scene) Shown() []msg.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages
}
