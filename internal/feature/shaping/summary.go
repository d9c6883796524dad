package shaping

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

const summaryInstructions = `Stop working on the task now and write a summary of this conversation. It will stand in its place: whoever goes on will know nothing but what you write. Call no tool; answer with the summary alone, under these headings:

1. Goal: what the person wants, with every constraint and preference, in their own words where the words matter.
2. Decisions: what was decided and why, also what was tried and given up.
3. Files: each file that matters, with its path, what in it matters, and what was changed. Quote short pieces of code that are needed to go on.
4. Errors: what went wrong, and how it was mended.
5. Messages: everything the person said, each message in a line or two, in order.
6. Open: what is still to be done, and running background work with its ids.
7. Now: what was being done at the very end, exactly.
8. Next: the next step, with the words of the person that ask for it quoted; "none" when nothing is left to do.

Be exact with names, paths, commands, numbers and error messages. Leave out what can simply be read again.`

func instructions(focus, extra string) string {
	out := summaryInstructions
	for _, more := range []struct{ title, text string }{
		{"The person asks for this focus", focus}, {"Further instructions for the summary", extra},
	} {
		if t := strings.TrimSpace(more.text); t != "" {
			out += "\n\n" + more.title + ": " + t
		}
	}
	return out
}

// fit makes a conversation fit into so many bytes of a summary request: without pictures and
// reasoning, then with results shorter and shorter, then with long messages shortened, at last with
// the middle left out. The first message of a person and the newest messages are kept longest.
func fit(history []msg.Message, budget int) []msg.Message {
	out := withoutThinking(WithoutMedia(history))
	for _, chars := range []int{8000, 2000, 500, 150} {
		if sizeOf(out) <= budget {
			return out
		}
		out = shortened(out, chars, 0)
	}
	for _, chars := range []int{20_000, 4000, 1000} {
		if sizeOf(out) <= budget {
			return out
		}
		out = shortened(out, 150, chars)
	}
	if sizeOf(out) <= budget {
		return out
	}
	return withoutMiddle(out, budget)
}

func withoutThinking(history []msg.Message) []msg.Message {
	out := make([]msg.Message, 0, len(history))
	for _, m := range history {
		content := make([]msg.Block, 0, len(m.Content))
		for _, b := range m.Content {
			switch b.(type) {
			case msg.Thinking, msg.RedactedThinking:
				continue
			}
			content = append(content, b)
		}
		if m.Content = content; len(content) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// shortened bounds results, and messages when text is not 0, to so many characters.
func shortened(history []msg.Message, result, text int) []msg.Message {
	out := make([]msg.Message, len(history))
	for i, m := range history {
		content := make([]msg.Block, len(m.Content))
		for j, b := range m.Content {
			content[j] = shortenedBlock(b, result, text)
		}
		m.Content = content
		out[i] = m
	}
	return out
}

const leftOut = "left out of the request for this summary"

func shortenedBlock(b msg.Block, result, text int) msg.Block {
	switch b := b.(type) {
	case msg.ToolResult:
		b.Content = []msg.Block{msg.Text{Text: Preview(resultText(b), result, leftOut)}}
		return b
	case msg.Text:
		if text > 0 {
			b.Text = Preview(b.Text, text, leftOut)
		}
		return b
	case msg.ToolCall:
		if limit := max(text, 4*result); len(b.Input) > limit {
			return msg.ToolCall{ID: b.ID, Name: b.Name, Input: fmt.Appendf(nil, `{"left_out":"%d bytes of input"}`, len(b.Input))}
		}
		return b
	default:
		return b
	}
}

// withoutMiddle keeps the first message and as many of the newest as fit, from the start of an
// answer or a person's message on.
func withoutMiddle(history []msg.Message, budget int) []msg.Message {
	if len(history) == 0 {
		return nil
	}
	left := budget - msg.Size(history[0].Content) - 100
	from := len(history)
	for i := len(history) - 1; i > 0; i-- {
		if left -= msg.Size(history[i].Content); left < 0 {
			break
		}
		if startsAnswer(history, i) || history[i].Role == msg.User && !onlyResults(history[i]) {
			from = i
		}
	}
	note := msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{
		Text: fmt.Sprintf("[%d messages of this conversation are left out here, since they do not fit]", from-1),
	}}}
	return append([]msg.Message{history[0], note}, history[from:]...)
}
