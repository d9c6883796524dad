// Package toolsearch is the ToolSearch tool: it finds tools that are listed by name only and loads
// them. Which tools those are, and what loading means, belongs to the pool in app.
//
// Begin with [New]; [Listing] is the text that names the tools to the model.
package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// World is what the tool is built with.
type World struct {
	Deferred func() []tool.Tool    // the tools that can be loaded, in a stable order
	Load     func(names ...string) // offers tools from the next round on
}

const description = `Loads tools that are listed by name only, so that you can call them from your next message on. query is either "select:NameA,NameB" for exactly these, or words to search for in names and descriptions; a word with + in front must occur.`

const schema = `{"type":"object","required":["query"],"properties":{
"query":{"type":"string","minLength":1},
"max_results":{"type":"integer","minimum":1,"maximum":50,"description":"default 5"}}}`

type input struct {
	Query string `json:"query"`
	Max   int    `json:"max_results"`
}

// New returns the tool.
func New(w World) tool.Tool {
	return tool.New(
		tool.Spec{Name: "ToolSearch", Description: description, Schema: json.RawMessage(schema), Argument: "query", Finds: true},
		func(_ context.Context, in input, _ tool.Call) (tool.Result, error) { return w.run(in) },
		tool.Normaliser(func(in input, _ tool.Call) (input, error) {
			if in.Max == 0 {
				in.Max = 5
			}
			return in, nil
		}),
		tool.Always[input](tool.Traits{ReadOnly: true, Beside: true, NoEffect: true}),
	)
}

// Loaded are the names of the tools that the results of a conversation refer to.
func Loaded(history []msg.Message) (names []string) {
	for _, m := range history {
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok {
				names = append(names, provider.References(r.Content)...)
			}
		}
	}
	return names
}

// result is the structured output.
type result struct {
	Matches []string `json:"matches"`
	Query   string   `json:"query"`
	Total   int      `json:"total_deferred_tools"`
}

func (w World) run(in input) (tool.Result, error) {
	deferred := w.Deferred()
	var found []tool.Spec
	var unknown []string
	if list, ok := strings.CutPrefix(strings.TrimSpace(in.Query), "select:"); ok {
		found, unknown = selected(deferred, list)
	} else {
		found = ranked(deferred, in.Query, in.Max)
	}
	names := []string{}
	for _, s := range found {
		names = append(names, s.Name)
	}
	out := tool.Text(report(found, unknown, deferred, in.Query))
	for _, name := range names { // services that keep tools back read this instead of the text
		ref, err := provider.ReferenceTo(name)
		if err != nil {
			return out, err
		}
		out.Content = append(out.Content, ref)
	}
	if len(names) > 0 {
		w.Load(names...)
	}
	out.IsError = len(names) == 0 && len(unknown) > 0
	structured, err := json.Marshal(result{Matches: names, Query: in.Query, Total: len(deferred)})
	out.Structured = structured
	return out, err
}

func report(found []tool.Spec, unknown []string, deferred []tool.Tool, query string) string {
	var b strings.Builder
	if len(found) > 0 {
		b.WriteString("Loaded; call them from your next message on:\n")
		for _, s := range found {
			fmt.Fprintf(&b, "- %s: %s\n", s.Name, firstSentence(s.Description))
		}
	}
	for _, name := range unknown {
		fmt.Fprintf(&b, "There is no tool %q to be loaded.", name)
		if near := nearest(deferred, name); near != "" {
			fmt.Fprintf(&b, " Did you mean %s?", near)
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return fmt.Sprintf("No tool matches %q. %d can be loaded; try other words.", query, len(deferred))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if at := strings.Index(s, ". "); at > 0 {
		s = s[:at+1]
	}
	if runes := []rune(s); len(runes) > 200 {
		s = string(runes[:200]) + "…"
	}
	return s
}

// selected finds tools by exact name; case does not matter where it is clear what is meant.
func selected(deferred []tool.Tool, list string) (found []tool.Spec, unknown []string) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		name = tool.Current(name)
		if s, ok := named(deferred, name); ok {
			found = append(found, s)
		} else {
			unknown = append(unknown, name)
		}
	}
	return found, unknown
}

func named(deferred []tool.Tool, name string) (tool.Spec, bool) {
	var folded []tool.Spec
	for _, t := range deferred {
		s := t.Spec()
		if s.Name == name {
			return s, true
		}
		if strings.EqualFold(s.Name, name) {
			folded = append(folded, s)
		}
	}
	if len(folded) == 1 {
		return folded[0], true
	}
	return tool.Spec{}, false
}

// nearest is the tool whose name shares most of its parts with a name that does not exist.
func nearest(deferred []tool.Tool, name string) string {
	best, most := "", 0
	for _, t := range deferred {
		n := 0
		for _, part := range words(name) {
			for _, have := range words(t.Spec().Name) {
				if part == have {
					n++
				}
			}
		}
		if n > most {
			best, most = t.Spec().Name, n
		}
	}
	return best
}

// ranked finds the best matches for words, at most limit; ties keep the order of the pool.
func ranked(deferred []tool.Tool, query string, limit int) []tool.Spec {
	type hit struct {
		spec  tool.Spec
		score int
	}
	var hits []hit
	for _, t := range deferred {
		if score := rate(t.Spec(), query); score > 0 {
			hits = append(hits, hit{t.Spec(), score})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	var out []tool.Spec
	for _, h := range hits[:min(len(hits), limit)] {
		out = append(out, h.spec)
	}
	return out
}

// rate says how well a tool fits a query; 0: not at all, or a required word is missing.
func rate(s tool.Spec, query string) int {
	total := 0
	for _, term := range strings.Fields(strings.ToLower(query)) {
		required := strings.HasPrefix(term, "+")
		score := rateTerm(s, strings.TrimPrefix(term, "+"))
		if required && score == 0 {
			return 0
		}
		total += score
	}
	return total
}

func rateTerm(s tool.Spec, term string) int {
	name, best := strings.ToLower(s.Name), 0
	if term == "" {
		return 0
	}
	for _, part := range words(s.Name) {
		switch {
		case part == term:
			best = max(best, 10)
		case strings.HasPrefix(part, term):
			best = max(best, 6)
		}
	}
	switch {
	case name == term:
		return 20
	case best > 0:
		return best
	case strings.Contains(name, term):
		return 5
	}
	for _, w := range words(s.Keywords) {
		if strings.HasPrefix(w, term) {
			return 4
		}
	}
	for _, w := range words(s.Description) {
		switch {
		case w == term:
			return 3
		case strings.HasPrefix(w, term):
			best = 2
		}
	}
	return best
}

// words are the parts of a name or text, in lower case: "mcp__gitHub__listIssues" has four.
func words(s string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	lower := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && lower:
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	flush()
	return out
}
