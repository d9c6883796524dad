package websearch

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

func TestFoundIn(t *testing.T) {
	raw := func(s string) msg.Block {
		return msg.Unknown{Kind: "web_search_tool_result", Raw: json.RawMessage(s)}
	}
	got := FoundIn([]msg.Block{
		msg.Text{Text: "I looked."},
		raw(`{"type":"web_search_tool_result","content":[{"type":"web_search_result","title":"Go","url":"https://go.dev"},{"title":"again","url":"https://go.dev"},{"title":"no address"}]}`),
		raw(`{"type":"web_search_tool_result","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`),
		msg.Text{Text: "Go is a language."},
	})
	want := Found{Results: []Hit{{Title: "Go", URL: "https://go.dev"}}, Text: "I looked.\nGo is a language.", Searches: 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
