// Package provider is the contract between the loop and a language model: one method that streams
// an answer, the events it streams, and the few kinds of errors the loop tells apart.
//
// It holds no client. The implementations are in internal/providers; all of them pass the same
// contract suite. Begin with [Model].
package provider

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Model is one language model of one provider, ready to answer. It is safe for concurrent use.
type Model interface {
	// Info describes the model. It does not ask the network.
	Info() Info
	// Stream asks for one answer and yields it piece by piece. It makes one request, and another only
	// where a refusal names what the server cannot read: who wants a retry calls again. Breaking out
	// of the loop or ending ctx cancels the request and returns only after its connection is given up.
	//
	// The events are one Start, then for each block BlockStart, Deltas and BlockDone (blocks may
	// not overlap), then one Done. An error comes last and alone: after every block that was
	// complete and, marked Partial, what there was of an open one. Every error is an *[Error], or
	// the context's.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Counter is implemented by models whose provider counts tokens exactly.
type Counter interface {
	// CountTokens returns the input tokens that req would use.
	CountTokens(ctx context.Context, req Request) (int, error)
}

// Info is what the catalog knows of a model. Zero numbers mean unknown; callers then use
// [Info.Window] and [Info.OutputLimit].
type Info struct {
	Provider      string   `json:"provider"` // "anthropic", "openai", "gemini", "offline", "script", …
	ID            string   `json:"id"`       // the provider's own name of the model
	Name          string   `json:"name,omitempty"`
	ContextWindow int      `json:"context_window,omitempty"` // tokens
	MaxOutput     int      `json:"max_output,omitempty"`     // tokens
	Price         Price    `json:"price,omitzero"`
	Images        bool     `json:"images,omitempty"`
	Documents     bool     `json:"documents,omitempty"` // reads PDF as it is
	Thinking      bool     `json:"thinking,omitempty"`
	Efforts       []string `json:"efforts,omitempty"`    // accepted effort levels, weakest first
	WebSearch     bool     `json:"web_search,omitempty"` // the provider can search the web for the model
	Local         bool     `json:"local,omitempty"`      // runs on this machine, costs nothing
	Defers        bool     `json:"defers,omitempty"`     // keeps deferred tools back until a result refers to them
	Compat        Compat   `json:"compat,omitzero"`
}

// Compat is how a server differs from the interface it speaks, where it cannot be seen from what it
// sends. The zero value changes nothing.
type Compat struct {
	Without   []string `json:"without,omitempty"`             // optional fields of the request that are left out
	Reasoning *bool    `json:"reasoning_content,omitempty"`   // Chat: whether it is sent back; nil: when the server showed it
	MaxTokens string   `json:"max_tokens_field,omitempty"`    // Chat: "max_tokens" or "max_completion_tokens"
	System    string   `json:"system_role,omitempty"`         // Chat: "system" or "developer"
	Effort    string   `json:"effort,omitempty"`              // Chat: "field" (reasoning_effort), "object" (reasoning) or "none"
	IDLength  int      `json:"id_length,omitempty"`           // Chat: most characters of a call's id
	Behind    *bool    `json:"user_behind_results,omitempty"` // Chat: whether a user message may follow results directly
}

// Ref is the full name, provider/id.
func (i Info) Ref() string { return i.Provider + "/" + i.ID }

// Window is the context window in tokens, 200,000 when unknown.
func (i Info) Window() int {
	if i.ContextWindow > 0 {
		return i.ContextWindow
	}
	return 200_000
}

// OutputLimit is the most tokens one answer may have, 32,000 when unknown.
func (i Info) OutputLimit() int {
	if i.MaxOutput > 0 {
		return i.MaxOutput
	}
	return 32_000
}

// Price is in US dollars per million tokens.
type Price struct {
	Input        float64 `json:"input,omitempty"`
	Output       float64 `json:"output,omitempty"`
	CacheRead    float64 `json:"cache_read,omitempty"`
	CacheWrite   float64 `json:"cache_write,omitempty"`    // kept five minutes
	CacheWrite1h float64 `json:"cache_write_1h,omitempty"` // kept an hour; zero: as CacheWrite
}

// Cost is the price of u in US dollars.
func (p Price) Cost(u msg.Usage) float64 {
	long := p.CacheWrite1h
	if long == 0 {
		long = p.CacheWrite
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite-u.CacheWrite1h)*p.CacheWrite + float64(u.CacheWrite1h)*long) / 1e6
}

// Lane says for whom a request is made. Costs are booked by it and scripts answer by it.
type Lane string

// The lanes of this release; a subagent's is "agent:NAME".
const (
	LaneMain       Lane = "main"
	LaneTitle      Lane = "title"
	LaneCompact    Lane = "compact"
	LaneClassifier Lane = "classifier"
	LaneFetch      Lane = "fetch"
	LaneHook       Lane = "hook"
	LaneMemory     Lane = "memory"
)

// Request is one request to a model. The messages are sendable (see msg.Sendable): roles
// alternate, calls and results are paired, no block is empty.
type Request struct {
	Lane     Lane
	System   []msg.Block // text blocks, stable first
	Messages []msg.Message
	Tools    []Tool
	Options  Options
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the input, an object
	// Deferred tools are kept back by the service until a result of the tool that Finds them refers to them
	// (see [ToolReference]), so that a tool that is loaded changes no byte in front. A client whose service
	// cannot do that sends them as any other.
	Deferred bool
	Finds    bool
}

// ToolReference is the kind of the block with which a result refers to a tool, in the shape of the public
// Messages API.
const ToolReference = "tool_reference"

// ReferenceTo returns the block that refers to a tool.
func ReferenceTo(name string) (msg.Block, error) {
	raw, err := json.Marshal(struct {
		Type string `json:"type"`
		Name string `json:"tool_name"`
	}{ToolReference, name})
	return msg.Unknown{Kind: ToolReference, Raw: raw}, err
}

// References are the names of the tools that the content of a result refers to.
func References(content []msg.Block) (names []string) {
	for _, b := range content {
		u, ok := b.(msg.Unknown)
		if !ok || u.Kind != ToolReference {
			continue
		}
		var in struct {
			Name string `json:"tool_name"`
		}
		if json.Unmarshal(u.Raw, &in) == nil && in.Name != "" {
			names = append(names, in.Name)
		}
	}
	return names
}

// Options are the knobs of one request. The zero value asks for the model's defaults.
type Options struct {
	MaxTokens      int             // most tokens of the answer; 0: the smaller of the model's limit and 32,000
	Thinking       int             // budget in tokens; 0: the provider's default, -1: off
	Effort         string          // low, medium, high, xhigh, max; empty: default
	ToolChoice     string          // "", "none", "any", or the name of the tool that must be called
	Schema         json.RawMessage // the answer must be JSON of this schema, where the provider can
	Betas          []string        // extra beta headers (Anthropic)
	NoStream       bool            // ask without streaming; the events are the same
	NoCache        bool            // set no cache breakpoints
	WebSearch      *WebSearch      // the provider's own search tool
	SessionID      string          // sent as an opaque user or cache key where the provider has one
	StopSequences  []string        //
	Fallbacks      []Model         // models to try in order when this one is overloaded or unavailable (used by the loop)
	UserSetMaximum bool            // MaxTokens was set by the user: the loop must not escalate it
}

// WebSearch turns the provider's search on.
type WebSearch struct {
	MaxUses        int
	AllowedDomains []string
	BlockedDomains []string
}
