package toolsearch

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

func fake(name, description, keywords string) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: description, Keywords: keywords, Schema: json.RawMessage(`{}`), Deferred: true},
		func(context.Context, struct{}, tool.Call) (tool.Result, error) { return tool.Result{}, nil })
}

func deferred() []tool.Tool {
	return []tool.Tool{
		fake("mcp__github__list_issues", "Lists the issues of a repository. With filters.", ""),
		fake("mcp__github__createIssue", "Opens an issue.", "bug report"),
		fake("mcp__slack__post_message", "Sends a message to a channel about issues and more.", ""),
		fake("CronCreate", "Runs a prompt at a time.", "schedule timer"),
		fake("CronList", "Lists scheduled prompts.", ""),
	}
}

func search(t *testing.T, in string) (text string, loaded []string, failed bool) {
	t.Helper()
	s := New(World{Deferred: deferred, Load: func(names ...string) { loaded = append(loaded, names...) }})
	call, err := s.Normalise(tool.Call{Literal: json.RawMessage(in)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	var out result
	if err := json.Unmarshal(r.Structured, &out); err != nil || out.Total != 5 || strings.Join(out.Matches, ",") != strings.Join(loaded, ",") {
		t.Errorf("structured %s, loaded %v", r.Structured, loaded)
	}
	return msg.TextOf(r.Content), loaded, r.IsError
}

func TestSelectLoadsExactlyThese(t *testing.T) {
	text, loaded, failed := search(t, `{"query":"select:CronList, mcp__slack__post_message,croncreate"}`)
	if diff := cmp.Diff([]string{"CronList", "mcp__slack__post_message", "CronCreate"}, loaded); diff != "" || failed {
		t.Error(diff, failed)
	}
	if !strings.Contains(text, "- CronList: Lists scheduled prompts.") {
		t.Error(text)
	}
	text, loaded, failed = search(t, `{"query":"select:CronDelete"}`)
	if len(loaded) > 0 || !failed || !strings.Contains(text, `no tool "CronDelete"`) || !strings.Contains(text, "Did you mean CronCreate?") {
		t.Errorf("%q %v %t", text, loaded, failed)
	}
	if _, loaded, failed = search(t, `{"query":"select:CronDelete,CronList"}`); len(loaded) != 1 || failed {
		t.Errorf("%v %t", loaded, failed)
	}
}

func TestWordsRankByNameThenKeywordsThenDescription(t *testing.T) {
	for query, want := range map[string][]string{
		"issue":              {"mcp__github__createIssue", "mcp__github__list_issues", "mcp__slack__post_message"},
		"github":             {"mcp__github__list_issues", "mcp__github__createIssue"},
		"+github create":     {"mcp__github__createIssue", "mcp__github__list_issues"},
		"+create +issue":     {"mcp__github__createIssue"},
		"schedule":           {"CronCreate", "CronList"},
		"cronlist":           {"CronList"},
		"list":               {"mcp__github__list_issues", "CronList"},
		"+message +issues":   {"mcp__slack__post_message"},
		"bug":                {"mcp__github__createIssue"},
		"nothing like that!": nil,
	} {
		in, err := json.Marshal(map[string]any{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		text, loaded, failed := search(t, string(in))
		if diff := cmp.Diff(want, loaded); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
		if want == nil && (failed || !strings.Contains(text, "5 can be loaded")) {
			t.Errorf("%q: %q", query, text)
		}
	}
}

func TestTheNumberOfResultsIsBounded(t *testing.T) {
	for in, want := range map[string]int{
		`{"query":"mcp cron","max_results":2}`: 2, `{"query":"mcp cron"}`: 5, `{"query":"mcp cron","max_results":"3"}`: 3,
	} {
		if _, loaded, _ := search(t, in); len(loaded) != want {
			t.Errorf("%s loaded %v", in, loaded)
		}
	}
}
