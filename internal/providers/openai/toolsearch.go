package openai

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// Newer models take tools as the outcome of a search that the client runs: a tool that is loaded stands
// in the conversation, and nothing in front of it changes.
// Format: https://developers.openai.com/api/docs/guides/tools-tool-search.

const (
	searchCall = "tool_search_call"
	// refusesSearch is what a server showed that does not know the search.
	refusesSearch = "no tool_search"
)

type toolSearch struct {
	Type        string          `json:"type"`
	Execution   string          `json:"execution"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type searchItem struct {
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Execution string          `json:"execution"`
	Status    string          `json:"status"`
	Arguments json.RawMessage `json:"arguments"`
}

type foundItem struct {
	Type      string      `json:"type"`
	CallID    string      `json:"call_id"`
	Execution string      `json:"execution"`
	Status    string      `json:"status"`
	Tools     []foundTool `json:"tools"`
}

type foundTool struct {
	functionTool
	Deferred bool `json:"defer_loading"`
}

// defers reports whether the model takes tools as the outcome of a search.
func (m *Model) defers() bool {
	return m.cfg.API == Responses && searches(m.cfg.Info.ID) && !m.has(refusesSearch)
}

// searches reports whether a model is of those that search for tools: gpt-5.4 and later.
func searches(id string) bool {
	_, version, ok := strings.Cut(strings.ToLower(id), "gpt-")
	if !ok {
		return false
	}
	version, _, _ = strings.Cut(version, "-")
	v, err := strconv.ParseFloat(version, 64)
	return err == nil && v >= 5.4
}

// finder is the name of the tool that runs the search; empty: there is nothing to search, or no way to.
func (m *Model) finder(req provider.Request) string {
	if !m.defers() {
		return ""
	}
	finds, deferred := "", false
	for _, t := range req.Tools {
		if deferred = deferred || t.Deferred; t.Finds {
			finds = t.Name
		}
	}
	if !deferred {
		return ""
	}
	return finds
}

// itemWay is how a request's conversation is written.
func (m *Model) itemWay(req provider.Request, finds string) wire.Way {
	deferred := map[string]provider.Tool{}
	h := sha256.New()
	if finds != "" {
		for _, t := range req.Tools {
			if t.Deferred {
				deferred[t.Name] = t
				fmt.Fprintf(h, "%s\x00%s\x00%s\x00", t.Name, t.Description, t.Schema)
			}
		}
	}
	key := finds + string(h.Sum(nil))
	return wire.Way{Key: key, Keep: m.shown(false), Writer: func() wire.Writer {
		return &itemWriter{wire.NewIDs("call_", 64), wire.NewNames(nil, mostName), finds, deferred, map[string]bool{}}
	}}
}

// found is what a search found: the tools its result refers to.
func (w *itemWriter) found(r msg.ToolResult) foundItem {
	out := foundItem{"tool_search_output", w.ids.Of(r.CallID), "client", "completed", []foundTool{}}
	for _, name := range provider.References(r.Content) {
		if t, ok := w.deferred[name]; ok {
			out.Tools = append(out.Tools, foundTool{functionTool{"function", w.names.Of(t.Name), t.Description, wire.Schema(t.Schema), false}, true})
		}
	}
	return out
}
