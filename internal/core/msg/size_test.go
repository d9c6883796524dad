package msg

import (
	"encoding/json"
	"testing"
)

func TestSizeCountsWhatAModelReads(t *testing.T) {
	content := []Block{
		Text{"12345"},
		Thinking{Thinking: "123", Signature: "not counted"},
		RedactedThinking{Data: "12"},
		ToolCall{ID: "a", Name: "Bash", Input: json.RawMessage(`{}`)},
		ToolResult{CallID: "a", Content: []Block{Text{"1234"}, Image{Data: make([]byte, 100_000)}}},
		Unknown{Kind: "x", Raw: json.RawMessage(`{"type":"x"}`)},
	}
	if got, want := Size(content), 5+3+2+7+1+4+MediaSize+12; got != want {
		t.Errorf("size %d, want %d", got, want)
	}
	if Size(nil) != 0 {
		t.Error("nothing has a size")
	}
}
