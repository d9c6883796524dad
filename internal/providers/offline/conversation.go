package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// conversation is a request sorted: earlier turns, then the prompt to answer with the calls that
// were made for it.
type conversation struct {
	past  []turn
	now   turn
	tools map[string]bool
	ids   []string // of all calls
	bytes int      // of everything sent, for the usage figure
}

// turn is a prompt with the calls that were made for it and the last text of the answer.
type turn struct {
	prompt string
	calls  []finished
	answer string
}

// finished is a call with its result.
type finished struct {
	call   msg.ToolCall
	result outcome
}

// outcome is the result of a call.
type outcome struct {
	text   string
	failed bool
}

func readConversation(req provider.Request) conversation {
	c := conversation{tools: map[string]bool{}, bytes: len(msg.TextOf(req.System))}
	for _, t := range req.Tools {
		c.tools[t.Name] = true
		c.bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	results := resultsOf(req.Messages)
	started := false
	for _, m := range req.Messages {
		if m.Role == msg.Assistant {
			c.addAnswer(m, results)
			continue
		}
		said := promptIn(m)
		c.bytes += len(said)
		withResults := slices.ContainsFunc(m.Content, func(b msg.Block) bool { _, ok := b.(msg.ToolResult); return ok })
		if said == "" || (withResults && parse(said) == nil) { // a note beside a result is no request
			continue
		}
		if started {
			c.past = append(c.past, c.now)
		}
		started, c.now = true, turn{prompt: said}
	}
	return c
}

// addAnswer adds an answer of the model to the current turn.
func (c *conversation) addAnswer(m msg.Message, results map[string]outcome) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case msg.Text:
			c.now.answer = b.Text
			c.bytes += len(b.Text)
		case msg.ToolCall:
			c.ids = append(c.ids, b.ID)
			c.now.calls = append(c.now.calls, finished{call: b, result: results[b.ID]})
			c.bytes += len(b.Input) + len(results[b.ID].text)
		}
	}
}

func resultsOf(messages []msg.Message) map[string]outcome {
	out := map[string]outcome{}
	for _, m := range messages {
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok {
				out[r.CallID] = outcome{text: withoutReminders(msg.TextOf(r.Content)), failed: r.IsError}
			}
		}
	}
	return out
}

// promptIn is the text of m without what the program added.
func promptIn(m msg.Message) string {
	var parts []string
	for _, b := range m.Content {
		if t, ok := b.(msg.Text); ok {
			parts = append(parts, strings.TrimSpace(withoutReminders(t.Text)))
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// withoutReminders removes the parts the program added.
func withoutReminders(s string) string { return reminder().ReplaceAllString(s, "") }

var reminder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<system-reminder>.*?(?:</system-reminder>|$)`)
})

// newID returns an id for call number i of the coming answer that no earlier call has.
func (c conversation) newID(i int) string {
	for n := len(c.ids) + i + 1; ; n += 1000 {
		id := fmt.Sprintf("toolu_offline_%04d", n)
		if !slices.Contains(c.ids, id) {
			return id
		}
	}
}

// answerOtherLane answers requests that are not work for the user: titles, summaries, questions of
// other parts of the program.
func answerOtherLane(lane provider.Lane, c conversation) (reply, bool) {
	switch lane {
	case provider.LaneTitle:
		words := strings.Fields(c.now.prompt)
		return reply{text: strings.Join(words[:min(len(words), 6)], " ")}, true
	case provider.LaneClassifier:
		return reply{text: "unsure"}, true
	case provider.LaneHook, provider.LaneMemory:
		return reply{}, true
	case provider.LaneFetch:
		return reply{text: cut(c.now.prompt, 4000)}, true
	case provider.LaneCompact:
		return reply{text: summary(c)}, true
	default:
		return reply{}, false
	}
}

// summary lists the newest 40 prompts with their calls.
func summary(c conversation) string {
	var b strings.Builder
	b.WriteString("This summary was made without a language model. It lists the prompts and the calls made for them.\n")
	turns := c.past
	if len(c.now.calls) > 0 { // otherwise the current prompt is the request for this summary
		turns = append(turns[:len(turns):len(turns)], c.now)
	}
	for _, t := range turns[max(len(turns)-40, 0):] {
		fmt.Fprintf(&b, "\nPrompt: %s\n", cut(t.prompt, 600))
		for _, f := range t.calls {
			result := "ok"
			if f.result.failed {
				line, _, _ := strings.Cut(strings.TrimSpace(f.result.text), "\n")
				result = "failed: " + cut(line, 120)
			}
			fmt.Fprintf(&b, "- %s %s (%s)\n", f.call.Name, cut(string(f.call.Input), 200), result)
		}
		if t.answer != "" {
			fmt.Fprintf(&b, "Answer: %s\n", cut(t.answer, 400))
		}
	}
	return b.String()
}
