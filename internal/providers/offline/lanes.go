package offline

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

type laneName = provider.Lane

// besides answers requests that are not about work: titles, summaries, questions of other parts.
func besides(lane laneName, t talk) (reply, bool) {
	switch lane {
	case provider.LaneTitle:
		words := strings.Fields(t.prompt)
		return reply{text: strings.Join(words[:min(len(words), 6)], " ")}, true
	case provider.LaneClassifier:
		return reply{text: "unsure"}, true
	case provider.LaneHook, provider.LaneMemory:
		return reply{}, true
	case provider.LaneFetch:
		return reply{text: cut(t.prompt, 4000)}, true
	case provider.LaneCompact:
		return reply{text: summary(t)}, true
	default:
		return reply{}, false
	}
}

// summary lists what was asked and done, the newest 40 prompts.
func summary(t talk) string {
	var b strings.Builder
	b.WriteString("This summary was made without a language model. It lists what was asked and which calls were made.\n")
	turns := t.past
	if len(t.tape) > 0 { // the prompt to answer is the request for this summary, but for an open turn
		turns = append(turns[:len(turns):len(turns)], turn{prompt: t.prompt, done: t.tape})
	}
	for _, u := range turns[max(len(turns)-40, 0):] {
		fmt.Fprintf(&b, "\nAsked: %s\n", cut(u.prompt, 600))
		for _, d := range u.done {
			outcome := "ok"
			if d.result.failed {
				outcome = "failed: " + cut(firstLine(d.result.text), 120)
			}
			fmt.Fprintf(&b, "- %s %s (%s)\n", d.call.Name, cut(string(d.call.Input), 200), outcome)
		}
		if u.answer != "" {
			fmt.Fprintf(&b, "Answered: %s\n", cut(u.answer, 400))
		}
	}
	return b.String()
}
