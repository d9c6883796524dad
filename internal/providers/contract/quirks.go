package contract

import (
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Quirky holds a conversation with a service that has quirks: a call, its result with an interrupt
// behind it, a call without input, its result, a text, three times over so that what was learned is
// used. open serves a script.
func Quirky(t *testing.T, quirks string, open func(t *testing.T, text string) provider.Model) {
	t.Helper()
	m := open(t, "quirks: "+quirks+`
turns:
  - content: [{thinking: "Hm."}, {text: "I look."}, {tool: Bash, id: a, input: {command: "ls -l"}}, {tool: Bash, id: b, input: {command: "ls -l"}}]
  - content: [{tool: Bash, id: c, input: {}}]
  - content: [{text: "Done."}]
loop: true
`)
	for _, stream := range []bool{true, false, true} {
		req := Request()
		req.Options.NoStream = !stream
		var calls []msg.ToolCall
		for round := range 3 {
			a, err := Check(m.Stream(t.Context(), req))
			if err != nil || a.Err != nil {
				t.Fatalf("round %d: %v, %v", round+1, err, a.Err)
			}
			told := a.Calls()
			calls = append(calls, told...)
			if round == 2 {
				if a.Text() != "Done." {
					t.Errorf("the text is %q", a.Text())
				}
				break
			}
			said := []msg.Block{}
			for _, c := range told {
				said = append(said, msg.ToolResult{CallID: c.ID, Content: []msg.Block{msg.Text{Text: "fine"}}})
			}
			said = append(said, msg.Text{Text: "[Request interrupted by user]"}, msg.Text{Text: "Go on."})
			req.Messages = append(req.Messages, msg.Message{Role: msg.Assistant, Content: a.Blocks, Model: m.Info().Ref()}, msg.Message{Role: msg.User, Content: said})
		}
		if len(calls) != 3 || calls[0].Name != "Bash" || string(calls[2].Input) != "{}" || !sameJSON(`{"command":"ls -l"}`, calls[1].Input) {
			t.Errorf("the calls are %+v", calls)
		}
	}
}

// EndsBadly asks a service all of whose answers end abnormally. Nothing it says is a success.
func EndsBadly(t *testing.T, quirks string, open func(t *testing.T, text string) provider.Model) {
	t.Helper()
	m := open(t, "quirks: "+quirks+"\nturns:\n  - content: [{text: half}]\nloop: true\n")
	for _, stream := range []bool{true, false} {
		if a := ask(t, m, stream); provider.KindOf(a.Err) != provider.KindEnd || a.Done != nil {
			t.Errorf("streamed %t: done %v, error %v", stream, a.Done, a.Err)
		}
	}
}
