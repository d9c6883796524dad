package websearch

import (
	"encoding/json"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Prompt is what a model is asked that searches by itself.
func Prompt(q Query) string {
	return "Search the web for the following and report what you found, with the address of each source:\n\n" + q.Text
}

// FoundIn reads what a provider's own search brought out of an answer: its blocks of the public kind
// web_search_tool_result, and the words beside them.
func FoundIn(blocks []msg.Block) Found {
	var f Found
	seen := map[string]bool{}
	for _, b := range blocks {
		u, ok := b.(msg.Unknown)
		if !ok || u.Kind != "web_search_tool_result" {
			continue
		}
		f.Searches++
		var in struct {
			Content []struct {
				Type  string `json:"type"`
				Title string `json:"title"`
				URL   string `json:"url"`
			} `json:"content"`
		}
		if json.Unmarshal(u.Raw, &in) != nil {
			continue // an error object stands there: the words say so
		}
		for _, c := range in.Content {
			if c.URL != "" && !seen[c.URL] {
				seen[c.URL] = true
				f.Results = append(f.Results, Hit{Title: c.Title, URL: c.URL})
			}
		}
	}
	f.Text = strings.TrimSpace(msg.TextOf(blocks))
	return f
}
