// Package websearch is the WebSearch tool. The search itself is the model provider's or a back end
// that is handed in; this package bounds it and shapes its results.
//
// Begin with [New].
package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Limits of the tool.
const (
	MaxUses    = 8   // searches a back end may make for one call
	MaxCalls   = 200 // calls a session, unless World says otherwise
	maxResults = 50
	maxText    = 20_000 // characters of what a back end says beside its results
)

// Query is what is sought.
type Query struct {
	Text           string
	AllowedDomains []string
	BlockedDomains []string
	MaxUses        int
}

// Found is what a search brought.
type Found struct {
	Results  []Hit
	Text     string // what the back end says of them, may be empty
	Searches int    // searches that were made; 0: not told
}

// Hit is one result.
type Hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
}

// ErrUnsupported is what a Search returns when the model in use cannot search.
var ErrUnsupported = errors.New("the model in use cannot search the web")

// World is what the tool is built with.
type World struct {
	// Search asks the back end. nil: there is none, which every call is told.
	Search func(ctx context.Context, q Query) (Found, error)
	// MaxCalls bounds the calls of a session; 0: [MaxCalls].
	MaxCalls int
	Now      func() time.Time // nil: the real clock
}

// Name is the name of the tool.
const Name = "WebSearch"

const description = `Searches the web and returns titles, addresses and excerpts. For what is newer than your knowledge or must be looked up. Name the sources you use with their addresses.`

const schema = `{"type":"object","required":["query"],"properties":{
"query":{"type":"string","minLength":2},
"allowed_domains":{"type":"array","items":{"type":"string"},"description":"only these"},
"blocked_domains":{"type":"array","items":{"type":"string"},"description":"none of these"}}}`

type input struct {
	Query   string   `json:"query"`
	Allowed []string `json:"allowed_domains,omitempty"`
	Blocked []string `json:"blocked_domains,omitempty"`
}

// New returns the tool. Its calls are counted together.
func New(w World) tool.Tool {
	if w.MaxCalls == 0 {
		w.MaxCalls = MaxCalls
	}
	if w.Now == nil {
		w.Now = time.Now
	}
	s := &searcher{World: w}
	return tool.New(
		tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), Deferred: true, Repeatable: true, Keywords: "internet google news", Argument: "query"},
		s.run, tool.Normaliser(normalise), tool.Always[input](tool.Traits{ReadOnly: true, Beside: true}),
	)
}

func normalise(in input, _ tool.Call) (input, error) {
	in.Query = strings.TrimSpace(in.Query)
	if utf8.RuneCountInString(in.Query) < 2 {
		return in, errors.New("query must have at least 2 characters")
	}
	if len(in.Allowed) > 0 && len(in.Blocked) > 0 {
		return in, errors.New("give allowed_domains or blocked_domains, not both")
	}
	return in, nil
}

type searcher struct {
	World
	calls atomic.Int64
}

// output is the structured output.
type output struct {
	Query    string  `json:"query"`
	Results  []any   `json:"results"` // hits, and the back end's words as a string
	Seconds  float64 `json:"durationSeconds"`
	Searches int     `json:"searchCount,omitempty"`
}

func (s *searcher) run(ctx context.Context, in input, _ tool.Call) (tool.Result, error) {
	if s.Search == nil {
		return tool.Failed("Web search is not available: neither the model in use nor a search service offers it. WebFetch can read an address you know."), nil
	}
	if n := s.calls.Add(1); n > int64(s.MaxCalls) {
		return tool.Text(fmt.Sprintf("No search was made: this session has used its %d web searches. Go on with what is known.", s.MaxCalls)), nil
	}
	started := s.Now()
	found, err := s.Search(ctx, Query{Text: in.Query, AllowedDomains: in.Allowed, BlockedDomains: in.Blocked, MaxUses: MaxUses})
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.Is(err, ErrUnsupported):
		return tool.Failed("Web search is not available: " + err.Error() + ". WebFetch can read an address you know."), nil
	case err != nil:
		return tool.Failed("The search failed: " + err.Error()), nil
	}
	return show(in.Query, found, s.Now().Sub(started))
}

func show(query string, found Found, took time.Duration) (tool.Result, error) {
	if len(found.Results) > maxResults {
		found.Results = found.Results[:maxResults]
	}
	var b strings.Builder
	out := output{Query: query, Results: []any{}, Seconds: took.Seconds(), Searches: found.Searches}
	if text := strings.TrimSpace(found.Text); text != "" {
		text = firstChars(text, maxText)
		b.WriteString(text + "\n\n")
		out.Results = append(out.Results, text)
	}
	for _, h := range found.Results {
		fmt.Fprintf(&b, "- %s\n  %s\n", oneLine(h.Title), h.URL)
		if h.Snippet != "" {
			fmt.Fprintf(&b, "  %s\n", oneLine(h.Snippet))
		}
		out.Results = append(out.Results, h)
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "Nothing was found for %q.", query)
	}
	r := tool.Text(strings.TrimRight(b.String(), "\n"))
	var err error
	r.Structured, err = json.Marshal(out)
	return r, err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func firstChars(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at] + "…"
		}
		n--
	}
	return s
}
