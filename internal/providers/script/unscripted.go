package script

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// unscripted is the answer of a lane the script has nothing for. It never fails and never takes a
// turn of the main conversation.
func unscripted(lane provider.Lane, f Facts) Turn {
	text := ""
	switch kind, _, _ := strings.Cut(string(lane), ":"); provider.Lane(kind) {
	case provider.LaneTitle:
		text = firstWords(f.Prompt, 6)
	case provider.LaneClassifier:
		text = "unsure"
	case provider.LaneCompact:
		text = mechanicalSummary(f)
	case provider.LaneFetch:
		text = head(f.Prompt, 4000)
	case provider.LaneHook, provider.LaneMemory: // no usable answer
	default: // an agent repeats what it was told last
		text = lastText(f)
	}
	t := Turn{Content: []Block{}, Chunk: DefaultChunk}
	if text != "" {
		t.Content = append(t.Content, Block{Kind: TextBlock, Text: text})
	}
	return t
}

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	if len(words) > n {
		words = words[:n]
	}
	return strings.Join(words, " ")
}

func lastText(f Facts) string {
	if r, ok := f.lastResult(""); ok && r.Text != "" {
		return r.Text
	}
	return f.Prompt
}

// mechanicalSummary lists what can be said of a conversation without understanding it.
func mechanicalSummary(f Facts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Summary made without a model: %d tool calls, %d results.\n", len(f.Calls), len(f.Results))
	for i, said := range f.Said {
		if i < len(f.Said)-1 || len(f.Said) == 1 { // the last is the request for this summary
			fmt.Fprintf(&b, "- said: %s\n", head(said, 500))
		}
	}
	first := max(len(f.Results)-10, 0)
	for _, r := range f.Results[first:] {
		outcome := "ok"
		if r.Error {
			outcome = "error"
		}
		fmt.Fprintf(&b, "- %s (%s): %s\n", r.Tool, outcome, head(firstLine(r.Text), 120))
	}
	return b.String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
