package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// What servers show of their dialect of Chat Completions.
const (
	showsReasoning   = "reasoning_content"         // it was sent, or missed
	refusesReasoning = "no reasoning_content"      // it is refused, although it was shown
	refusesExtra     = "no members added to calls" // they are refused, although they were shown
	wantsMaxTokens   = "max_tokens"                // the other name is refused
	wantsCompletion  = "max_completion_tokens"     // the other name is refused
	wantsSystem      = "system"                    // "developer" is refused
)

// dialect is how the server is spoken to: as the user's settings say, else as it showed, else as it is
// known for.
func (m *Model) dialect() Dialect {
	d, c := m.cfg.Dialect, m.cfg.Info.Compat
	switch {
	case m.has(wantsCompletion):
		d.MaxTokens = "max_completion_tokens"
	case m.has(wantsMaxTokens):
		d.MaxTokens = "max_tokens"
	}
	if m.has(wantsSystem) {
		d.System = "system"
	}
	d.KeepReasoning = (d.KeepReasoning || m.has(showsReasoning)) && !m.has(refusesReasoning)
	if c.Reasoning != nil {
		d.KeepReasoning = *c.Reasoning
	}
	if c.Behind != nil {
		d.UserBehindResults = *c.Behind
	}
	d.MaxTokens, d.System, d.IDLength = cmp.Or(c.MaxTokens, d.MaxTokens), cmp.Or(c.System, d.System), cmp.Or(c.IDLength, d.IDLength)
	switch c.Effort {
	case "":
	case "none":
		d.Effort = NoEffort
	default:
		d.Effort = Effort(c.Effort)
	}
	return d
}

func (m *Model) has(fact string) bool   { return m.cfg.Learned.Has(m.cfg.BaseURL, fact) }
func (m *Model) learn(fact string) bool { return m.cfg.Learned.Add(m.cfg.BaseURL, fact) }

// corrected reports whether a refusal taught something that makes another request of the same.
func (m *Model) corrected(err error, req provider.Request) bool {
	var e *provider.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	if m.cfg.API == Responses {
		return m.finder(req) != "" && strings.Contains(e.Message, "tool_search") && m.learn(refusesSearch)
	}
	words, d := strings.ToLower(e.Message), m.dialect()
	names := func(field string) bool { return wire.About(e.Message, []byte(e.Message), field) }
	unsupported := strings.Contains(words, "support") || strings.Contains(words, "unknown") || strings.Contains(words, "unrecognized") ||
		strings.Contains(words, "not permitted") || strings.Contains(words, "unexpected")
	switch {
	case names("reasoning_content") && m.cfg.Info.Compat.Reasoning == nil && !m.has(refusesReasoning):
		if d.KeepReasoning {
			return m.learn(refusesReasoning)
		}
		return m.learn(showsReasoning)
	case slices.ContainsFunc(added(req.Messages), names):
		return m.learn(refusesExtra)
	case e.Kind != provider.KindInvalid || !unsupported:
		return false
	case d.MaxTokens == "max_completion_tokens" && names("max_completion_tokens") && !m.has(wantsCompletion):
		return m.learn(wantsMaxTokens)
	case d.MaxTokens != "max_completion_tokens" && names("max_tokens") && !m.has(wantsMaxTokens):
		return m.learn(wantsCompletion)
	case d.System == "developer" && strings.Contains(words, "developer"):
		return m.learn(wantsSystem)
	}
	return false
}

// added are the names of the members that servers added to the calls.
func added(messages []msg.Message) []string {
	var out []string
	for _, c := range msg.Calls(messages...) {
		var members map[string]json.RawMessage
		if json.Unmarshal(c.Extra, &members) == nil {
			out = slices.AppendSeq(out, maps.Keys(members))
		}
	}
	return out
}

// optional are the members a request can do without.
func (m *Model) optional() wire.Optional {
	o := wire.Optional{Without: m.cfg.Info.Compat.Without, Server: m.cfg.BaseURL, Learned: m.cfg.Learned}
	if m.cfg.API == Responses {
		o.Fields = []string{"prompt_cache_key", "include", "store", "reasoning", "text", "parallel_tool_calls"}
		return o
	}
	o.Fields = []string{"stream_options", "parallel_tool_calls", "prompt_cache_key", "reasoning_effort", "reasoning", "stop", "response_format", "tool_choice"}
	return o
}
