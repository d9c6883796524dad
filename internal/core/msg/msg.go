// Package msg holds the words of a conversation: messages, and the content blocks they are made
// of, in the shape the Anthropic Messages API made public and every surface, transcript and
// provider of this program shares.
//
// It is data only. It sends nothing, stores nothing and decides nothing. Begin with [Message] and
// the blocks [Text], [ToolCall] and [ToolResult].
package msg

import (
	"encoding/json"
	"time"
)

// Role says who speaks.
type Role string

// The two speakers of a conversation. The system prompt is not a message.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Origin says how a user message came to be. It is kept in the transcript and shown by surfaces;
// no provider sees it.
type Origin string

const (
	// FromHuman is what a person or a host typed. The zero value of a user message means this.
	FromHuman Origin = ""
	// FromTool carries the result of one tool call.
	FromTool Origin = "tool"
	// FromHarness is text the program itself added: a reminder, stop-hook feedback, a request to
	// go on after a cut.
	FromHarness Origin = "harness"
	// FromSummary stands for the messages a compaction replaced.
	FromSummary Origin = "summary"
	// FromInterrupt marks the place where a person interrupted.
	FromInterrupt Origin = "interrupt"
	// FromTask tells of a task that ended.
	FromTask Origin = "task"
)

// Message is one entry of a conversation. The zero Message is not valid: a role and at least one
// block are needed. A Message is a value; its Content is shared and must not be changed after the
// message was recorded.
//
// What a model answers is kept as one Message a block, all with the same Response; what tools
// return is one Message a result. [Sendable] makes of them the alternation that providers want.
type Message struct {
	ID       string    `json:"id"` // UUID, the identity in transcripts and on every wire
	Role     Role      `json:"role"`
	Content  []Block   `json:"content"`
	Origin   Origin    `json:"origin,omitempty"`   // user messages only
	Response string    `json:"response,omitempty"` // assistant: id of the provider's answer this block belongs to
	Model    string    `json:"model,omitempty"`    // assistant: provider/model that said it
	Stop     Stop      `json:"stop,omitempty"`     // assistant: set on the last block of an answer
	Usage    *Usage    `json:"usage,omitempty"`    // assistant: usage of the whole answer, on its last block only
	Partial  bool      `json:"partial,omitempty"`  // assistant: the answer was cut here
	Time     time.Time `json:"time,omitzero"`

	// Structured is the tool's structured output (FromTool only), for hooks, hosts and screens; no
	// provider sees it.
	Structured json.RawMessage `json:"structured,omitempty"`
}

// Stop says why a model stopped speaking.
type Stop string

// The stop reasons of the public Messages API; providers translate theirs.
const (
	StopEndTurn   Stop = "end_turn"
	StopToolUse   Stop = "tool_use"
	StopMaxTokens Stop = "max_tokens"
	StopSequence  Stop = "stop_sequence"
	StopRefusal   Stop = "refusal"
	StopPause     Stop = "pause_turn"
)

// Usage counts the tokens of one or more requests. Input does not include what was read from or
// written to the provider's prompt cache. The zero Usage is nothing used.
type Usage struct {
	Input        int `json:"input"`
	Output       int `json:"output"`
	CacheRead    int `json:"cache_read,omitempty"`
	CacheWrite   int `json:"cache_write,omitempty"`    // all cache writes, those of one hour included
	CacheWrite1h int `json:"cache_write_1h,omitempty"` // the part of CacheWrite kept for an hour
	Thinking     int `json:"thinking,omitempty"`       // the part of Output that was thinking, where told
	WebSearches  int `json:"web_searches,omitempty"`   // searches the provider made for the model
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:        u.Input + v.Input,
		Output:       u.Output + v.Output,
		CacheRead:    u.CacheRead + v.CacheRead,
		CacheWrite:   u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		Thinking:     u.Thinking + v.Thinking,
		WebSearches:  u.WebSearches + v.WebSearches,
	}
}

// Context is the number of tokens the request and its answer fill in the window.
func (u Usage) Context() int { return u.Input + u.Output + u.CacheRead + u.CacheWrite }
