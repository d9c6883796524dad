package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// The fields stand in the order in which they are sent; the order is part of the bytes.
type body struct {
	Version      string        `json:"anthropic_version,omitempty"` // Bedrock and Vertex
	Betas        []string      `json:"anthropic_beta,omitempty"`    // Bedrock and Vertex
	Model        string        `json:"model,omitempty"`
	MaxTokens    int           `json:"max_tokens,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	Metadata     *metadata     `json:"metadata,omitempty"`
	Stop         []string      `json:"stop_sequences,omitempty"`
	Stream       bool          `json:"stream,omitempty"`
	// The lists come last, each value encoded by itself.
	Tools    []json.RawMessage `json:"-"`
	System   []json.RawMessage `json:"-"`
	Messages wire.Conversation `json:"-"`
}

// encode writes the body out.
func (m *Model) encode(b *body) (wire.Body, error) {
	return m.optional().Encode(b, m.cfg.ExtraBody,
		wire.List{Name: "tools", Values: b.Tools}, wire.List{Name: "system", Values: b.System}, wire.List{Name: "messages", Values: b.Messages.Raw()})
}

type thinking struct {
	Type    string   `json:"type"`
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type metadata struct {
	UserID string `json:"user_id"`
}

// The beta features this client itself uses.
const (
	betaLongContext = "context-1m-2025-08-07"
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
)

// body writes the request and tells the beta features it needs.
func (m *Model) body(req provider.Request, p purpose) (out sending, err error) {
	names := wire.NewNames(req.Tools, mostName)
	b := body{Model: m.id}
	if b.Messages, err = m.sent.Write(req, m.way(req)); err != nil {
		return out, err
	}
	m.think(&b, req.Options, b.Messages.Recent)
	m.choose(&b, req, names)
	if b.Tools, err = m.tools(req, names); err != nil {
		return out, err
	}
	b.System = system(req.System)
	if !req.Options.NoCache {
		m.breakpoints(&b)
	}
	betas := m.betas(&b, req.Options)
	if p == toMessages {
		b.Stop = req.Options.StopSequences
		b.Stream = !req.Options.NoStream
		if req.Options.SessionID != "" {
			b.Metadata = &metadata{req.Options.SessionID}
		}
	} else {
		b.MaxTokens = 0
	}
	switch {
	case m.cfg.Bedrock != nil:
		b.Version, b.Betas, b.Model, b.Stream = bedrockVersion, betas, "", false
		if p == toCount {
			b.Thinking = nil // it would have to fit the limit, which says nothing here
		}
	case m.cfg.Vertex != nil:
		b.Version, b.Betas = vertexVersion, betas
		if p == toMessages {
			b.Model = ""
		}
	}
	raw, err := m.encode(&b)
	return sending{raw, betas, names, b.Messages.Media}, err
}

// sending is a request that was written.
type sending struct {
	body  wire.Body
	betas []string
	names *wire.Names
	media bool
}

// mostName is the most characters the name of a tool may have.
const mostName = 128

func (m *Model) betas(b *body, o provider.Options) (out []string) {
	add := func(name string) {
		for _, have := range out {
			if have == name {
				return
			}
		}
		if name != "" && !m.cfg.Learned.Has(m.cfg.BaseURL, refusesBeta+name) {
			out = append(out, name)
		}
	}
	if m.long {
		add(betaLongContext)
	}
	if !m.cfg.NoBetas {
		if m.traits.between && b.Thinking != nil && b.Thinking.Type == "enabled" && len(b.Tools) > 0 && m.cfg.Bedrock == nil && m.cfg.Vertex == nil {
			add(betaInterleaved)
		}
		if b.Thinking != nil && b.Thinking.Binding != nil {
			add(betaBinding)
		}
	}
	for _, name := range append(append([]string(nil), m.cfg.Betas...), o.Betas...) {
		add(strings.TrimSpace(name))
	}
	return out
}

const (
	defaultMaxTokens = 32_000
	minBudget        = 1024 // the service's least
)

// think decides on thinking, effort and the length of the answer, which depend on each other.
func (m *Model) think(b *body, o provider.Options, turns []wire.Written) {
	limit := m.cfg.Info.OutputLimit()
	b.MaxTokens = o.MaxTokens
	if b.MaxTokens <= 0 {
		b.MaxTokens = min(limit, defaultMaxTokens)
	}
	effort := ""
	if o.Effort != "" {
		effort = m.traits.effort(o.Effort)
	}
	if effort != "" {
		b.OutputConfig = &outputConfig{Effort: effort}
	}
	if len(o.Schema) > 0 && m.traits.format {
		if b.OutputConfig == nil {
			b.OutputConfig = &outputConfig{}
		}
		b.OutputConfig.Format = &outputFormat{"json_schema", wire.Object(o.Schema)}
	}
	switch {
	case o.Thinking < 0:
		b.Thinking = m.thinkingOff(effort)
	case o.Thinking == 0 && m.traits.thinks, o.Thinking > 0 && m.traits.adaptive && !m.traits.budget,
		o.Thinking == 0 && effort != "" && m.traits.adaptive:
		b.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
	case o.Thinking > 0 && m.traits.budget:
		b.Thinking = budgeted(b, o, limit)
		if b.Thinking != nil && openCallsWithoutThinking(turns) {
			b.Thinking = nil // the service refuses to think on in the middle of a turn that did not begin so
		}
	}
	if b.Thinking != nil && m.traits.binding && !m.cfg.NoBetas && b.Thinking.Type == "adaptive" && !m.cfg.Learned.Has(m.cfg.BaseURL, refusesBeta+betaBinding) {
		// Shaping changes what stands before earlier thinking. Dropping that thinking is right then;
		// by default the whole request would be refused.
		b.Thinking.Binding = &binding{"drop_block"}
	}
}

func (m *Model) thinkingOff(effort string) *thinking {
	switch m.traits.off {
	case offBetween:
		return &thinking{Type: "between_tools"}
	case offBelowHigh:
		if effort == "xhigh" || effort == "max" {
			return nil
		}
	case offNever:
		return nil
	}
	if !m.traits.thinks {
		return nil // it is off when nothing is said, and older models do not know the word
	}
	return &thinking{Type: "disabled"}
}

// budgeted makes room for the thinking inside the answer's limit.
func budgeted(b *body, o provider.Options, limit int) *thinking {
	budget := max(o.Thinking, minBudget)
	if budget >= b.MaxTokens && !o.UserSetMaximum {
		b.MaxTokens = min(limit, budget+max(b.MaxTokens, 4096))
	}
	if budget = min(budget, b.MaxTokens-1); budget < minBudget {
		return nil
	}
	return &thinking{Type: "enabled", Budget: budget}
}

// openCallsWithoutThinking reports that the newest answer calls tools and does not begin with
// thinking.
func openCallsWithoutThinking(turns []wire.Written) bool {
	for i := len(turns) - 1; i >= 0; i-- {
		if turns[i].Role != msg.Assistant {
			continue
		}
		for _, s := range turns[i].Content {
			if _, call := s.Block.(msg.ToolCall); call {
				return !wire.IsThinking(turns[i].Content[0].Block)
			}
		}
		return false
	}
	return false
}

// choose sets the tool choice as far as the model takes one.
func (m *Model) choose(b *body, req provider.Request, names *wire.Names) {
	choice := req.Options.ToolChoice
	if len(req.Tools) == 0 && (req.Options.WebSearch == nil || choice != "any") {
		return
	}
	switch choice {
	case "":
	case "none":
		b.ToolChoice = &toolChoice{Type: "none"}
	default:
		if !m.traits.forced {
			return
		}
		if b.Thinking != nil { // thinking and a forced call exclude each other
			off := m.thinkingOff("")
			if off == nil && m.traits.thinks {
				return
			}
			b.Thinking = off
		}
		b.ToolChoice = &toolChoice{Type: "any"}
		if choice != "any" {
			b.ToolChoice = &toolChoice{Type: "tool", Name: names.Of(choice)}
		}
	}
}

func system(blocks []msg.Block) []json.RawMessage {
	var out []json.RawMessage
	for _, b := range blocks {
		t, ok := b.(msg.Text)
		if !ok || t.Text == "" {
			continue
		}
		out = append(out, textBlock(t.Text))
	}
	return out
}

// encodedTools are the tools of a request as they went out; those of the next are nearly always the
// same.
type encodedTools struct {
	tools    []provider.Tool
	raw      []json.RawMessage
	deferred bool // some may be kept back
}

func (e *encodedTools) are(tools []provider.Tool) bool {
	return e != nil && slices.EqualFunc(e.tools, tools, func(a, b provider.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema) && a.Deferred == b.Deferred
	})
}

func (m *Model) tools(req provider.Request, names *wire.Names) ([]json.RawMessage, error) {
	last, defers := m.lastTools.Load(), m.defers()
	if !last.are(req.Tools) || last.deferred != defers {
		raw, err := encodeTools(req.Tools, names, defers)
		if err != nil {
			return nil, err
		}
		last = &encodedTools{slices.Clone(req.Tools), raw, defers}
		m.lastTools.Store(last)
	}
	out := slices.Clone(last.raw)
	if w := req.Options.WebSearch; w != nil && m.cfg.Bedrock == nil {
		raw, err := wire.Marshal(struct {
			Type    string   `json:"type"`
			Name    string   `json:"name"`
			MaxUses int      `json:"max_uses,omitempty"`
			Allowed []string `json:"allowed_domains,omitempty"`
			Blocked []string `json:"blocked_domains,omitempty"`
		}{"web_search_20250305", "web_search", w.MaxUses, w.AllowedDomains, w.BlockedDomains})
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

func encodeTools(tools []provider.Tool, names *wire.Names, defers bool) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, t := range tools {
		raw, err := wire.Marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Schema      json.RawMessage `json:"input_schema"`
			Deferred    bool            `json:"defer_loading,omitempty"`
		}{names.Of(t.Name), t.Description, wire.Schema(t.Schema), t.Deferred && defers})
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

// breakpoints marks what the service shall keep: the tools, the system prompt, and the newest two
// messages of the user, so that the next request finds the one and this one finds the other. Where another
// model answered meanwhile, the message with which the last request to this one ended is marked instead of
// the tools: four is all the service takes.
func (m *Model) breakpoints(b *body) {
	mark := `"cache_control":{"type":"ephemeral"}`
	if m.cfg.LongCache {
		mark = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	recent := slices.Clone(b.Messages.Recent) // what was encoded stays without marks
	newest, older := 2, false
	for i := len(recent) - 1; i >= 0; i-- {
		w := &recent[i]
		switch {
		case w.Role != msg.User:
		case newest > 0:
			newest--
			*w = marked(*w, mark)
		case w.Ended && !older:
			older = true
			*w = marked(*w, mark)
		}
	}
	b.Messages.Recent = recent
	if !older {
		markLast(b.Tools, mark)
	}
	markLast(b.System, mark)
}

// markLast marks the last value that is not kept back: such a tool may have no mark.
func markLast(values []json.RawMessage, mark string) {
	for i := len(values) - 1; i >= 0; i-- {
		if !bytes.HasSuffix(values[i], []byte(`,"defer_loading":true}`)) {
			values[i] = withMember(values[i], mark)
			return
		}
	}
}

// marked is a message with the mark at its last block that may have one.
func marked(w wire.Written, mark string) wire.Written {
	whole := w.Values[0]
	end := len(whole) - len("}]}")
	for i := len(w.Content) - 1; i >= 0; i-- {
		raw, ok := w.Content[i].Block.(msg.Unknown)
		if !ok {
			out := make([]byte, 0, len(whole)+len(mark)+1)
			out = append(append(append(out, whole[:end]...), ','), mark...)
			w.Values = []json.RawMessage{append(out, whole[end:]...)}
			break
		}
		end -= len(raw.Raw) + 1 // it stands there as it is
	}
	return w
}

// withMember adds a member at the end of an object.
func withMember(object json.RawMessage, member string) json.RawMessage {
	out := make([]byte, 0, len(object)+len(member)+1)
	out = append(out, object[:len(object)-1]...)
	out = append(out, ',')
	out = append(out, member...)
	return append(out, '}')
}
