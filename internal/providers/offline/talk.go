package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// talk is what a request says, sorted: earlier turns, the prompt to answer, what was done for it.
type talk struct {
	past   []turn
	prompt string
	tape   []done // calls made for the prompt, with results, in order
	tools  map[string]bool
	ids    []string // of all calls
	bytes  int
}

// turn is an earlier prompt with what was done for it.
type turn struct {
	prompt string
	done   []done
	answer string
}

// done is a call with its result.
type done struct {
	call   msg.ToolCall
	result outcome
}

// outcome is the result of a call.
type outcome struct {
	text   string
	failed bool
}

func readTalk(req provider.Request) talk {
	t := talk{tools: map[string]bool{}}
	for _, b := range req.System {
		t.bytes += len(msg.TextOf([]msg.Block{b}))
	}
	for _, tool := range req.Tools {
		t.tools[tool.Name] = true
		t.bytes += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	results := resultsOf(req.Messages)
	current := turn{}
	started := false
	for _, m := range req.Messages {
		if m.Role == msg.Assistant {
			current.add(m, results, &t)
			continue
		}
		said := saidIn(m)
		t.bytes += len(said)
		if said == "" || (answersCalls(m) && understand(said) == nil) { // a note beside a result is no request
			continue
		}
		if started {
			t.past = append(t.past, current)
		}
		started, current = true, turn{prompt: said}
	}
	t.prompt, t.tape = current.prompt, current.done
	return t
}

// add takes an answer of the model into the turn.
func (u *turn) add(m msg.Message, results map[string]outcome, t *talk) {
	for _, b := range m.Content {
		switch b := b.(type) {
		case msg.Text:
			u.answer = b.Text
			t.bytes += len(b.Text)
		case msg.ToolCall:
			t.ids = append(t.ids, b.ID)
			r, ok := results[b.ID]
			if !ok {
				r = outcome{text: "no result", failed: true}
			}
			u.done = append(u.done, done{call: b, result: r})
			t.bytes += len(b.Input) + len(r.text)
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

func answersCalls(m msg.Message) bool {
	return slices.ContainsFunc(m.Content, func(b msg.Block) bool { _, ok := b.(msg.ToolResult); return ok })
}

// saidIn is what a person said in m: its text without what the program added.
func saidIn(m msg.Message) string {
	var parts []string
	for _, b := range m.Content {
		t, ok := b.(msg.Text)
		if !ok {
			continue
		}
		if s := strings.TrimSpace(withoutReminders(t.Text)); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// withoutReminders cuts out the parts the program added.
func withoutReminders(s string) string {
	const opening, closing = "<system-reminder>", "</system-reminder>"
	for {
		from := strings.Index(s, opening)
		if from < 0 {
			return s
		}
		to := strings.Index(s[from:], closing)
		if to < 0 {
			return s[:from]
		}
		s = s[:from] + s[from+to+len(closing):]
	}
}

// newID names call number i of the coming answer unlike all calls before it.
func (t talk) newID(i int) string {
	for n := len(t.ids) + i + 1; ; n += 1000 {
		id := fmt.Sprintf("toolu_offline_%04d", n)
		if !slices.Contains(t.ids, id) {
			return id
		}
	}
}
