package script

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Facts are what a script can know and check of a request.
type Facts struct {
	System   string   // text of the system prompt
	Messages string   // text of all messages: words, call inputs, results
	Prompt   string   // what was said last that is no tool result and no reminder
	Said     []string // all that was said so, a text block each; Prompt is the end of it
	Tools    []string // names of the declared tools
	Calls    []string // ids of the calls in the messages
	Results  []Result // tool results in the order of the messages
	Cwd      string   // working directory, where the request tells it
	Bytes    int      // size of the request, for the token estimate
}

// Result is one tool result of a request.
type Result struct {
	ID    string
	Tool  string // name of the tool it came from, when the call is in the request
	Error bool
	Text  string
}

// FactsOf reads the facts out of a request.
func FactsOf(req provider.Request) Facts {
	f := Facts{System: msg.TextOf(req.System)}
	f.Bytes = len(f.System)
	var words strings.Builder
	names := map[string]string{}
	for _, m := range req.Messages {
		said := readMessage(m, &f, &words, names)
		if m.Role == msg.User && len(said) > 0 {
			f.Prompt = strings.Join(said, "\n")
			f.Said = append(f.Said, said...)
		}
	}
	f.Messages = words.String()
	f.Bytes += words.Len()
	for _, t := range req.Tools {
		f.Tools = append(f.Tools, t.Name)
		f.Bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	f.Cwd = cwdOf(f.System)
	return f
}

// readMessage adds one message to the facts and returns what was said in it that is no reminder.
func readMessage(m msg.Message, f *Facts, words *strings.Builder, names map[string]string) (said []string) {
	write := func(s string) {
		words.WriteString(s)
		words.WriteByte('\n')
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case msg.Text:
			write(b.Text)
			if !strings.HasPrefix(strings.TrimSpace(b.Text), "<system-reminder>") {
				said = append(said, b.Text)
			}
		case msg.Thinking:
			write(b.Thinking)
		case msg.ToolCall:
			names[b.ID] = b.Name
			f.Calls = append(f.Calls, b.ID)
			write(b.Name + " " + string(b.Input) + b.Malformed)
		case msg.ToolResult:
			text := msg.TextOf(b.Content)
			f.Results = append(f.Results, Result{ID: b.CallID, Tool: names[b.CallID], Error: b.IsError, Text: text})
			write(text)
			f.Bytes += mediaBytes(b.Content)
		}
	}
	f.Bytes += mediaBytes(m.Content)
	return said
}

// imageTokens is what a picture or a page costs about; its bytes say nothing of it.
const imageTokens = 1500

func mediaBytes(content []msg.Block) int {
	n := 0
	for _, b := range content {
		switch b.(type) {
		case msg.Image, msg.Document:
			n += imageTokens * bytesPerToken
		}
	}
	return n
}

// cwdOf finds the working directory in the environment part of a system prompt: a line such as
// "- Primary working directory: /p".
func cwdOf(system string) string {
	for line := range strings.Lines(system) {
		before, dir, found := strings.Cut(line, ":")
		if !found || len(before) > 64 {
			continue
		}
		before = strings.ToLower(strings.TrimLeft(before, " \t*-"))
		if dir = strings.TrimSpace(dir); dir != "" && strings.TrimPrefix(before, "primary ") == "working directory" {
			return dir
		}
	}
	return ""
}

// lastResult is the newest result of the call with this id or of this tool; empty: the newest.
func (f Facts) lastResult(tool string) (Result, bool) {
	for i := len(f.Results) - 1; i >= 0; i-- {
		if r := f.Results[i]; tool == "" || r.ID == tool || r.Tool == tool {
			return r, true
		}
	}
	return Result{}, false
}
