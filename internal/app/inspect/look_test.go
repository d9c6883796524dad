package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

type note struct {
	Path string  `json:"path"`
	Text string  `json:"text"`
	Old  *string `json:"old,omitempty"`
}

// subject is a session with one tool, one deny rule and one hook.
func subject(handlers ...*hook.Handler) *Subject {
	spec := tool.Spec{Name: "Write", Argument: "path", Schema: json.RawMessage(`{"type":"object","required":["path","text"],
		"properties":{"path":{"type":"string"},"text":{"type":"string","minLength":1},"old":{"type":"string"}}}`)}
	writes := tool.New(spec, func(context.Context, note, tool.Call) (tool.Result, error) { panic("only looked at") },
		tool.Normaliser(func(in note, _ tool.Call) (note, error) {
			if in.Old == nil {
				return in, errors.New("old is missing")
			}
			return in, nil
		}),
		tool.Traiter(func(in note, _ tool.Call) tool.Traits {
			return tool.Traits{Paths: []tool.PathUse{{Path: in.Path, Intent: tool.Write}}}
		}))
	rules := []permission.Rule{
		{List: permission.DenyList, Text: "Edit(//w/secret)", Source: permission.FromUser, File: "s.json", Line: 3},
		{List: permission.AllowList, Text: "Edit(//w/secret)", Source: permission.FromUser, File: "s.json", Line: 4},
	}
	dirs := permission.Dirs{Cwd: "/w", Project: "/w"}
	env := permission.Env{Dirs: dirs, Known: []string{"Write"}}
	state := (&permission.State{}).WithRules(permission.FromUser, permission.Lists{Deny: rules[:1], Allow: rules[1:]})
	return &Subject{
		Permission: state, Scope: tool.NewScope("", "/w"), Dirs: func() permission.Dirs { return dirs },
		Policy: func(permission.Request) permission.Policy {
			return permission.Policy{Rules: permission.Compile(rules, env), Mode: permission.Default, Dirs: dirs}
		},
		Request: func(c tool.Call, t tool.Traits) permission.Request {
			return permission.Request{Tool: c.Name, Literal: c.Literal, Input: c.Input, Traits: t, Cwd: "/w"}
		},
		Handlers: func() []*hook.Handler { return handlers },
		Reload: func() []hook.Problem {
			return []hook.Problem{{At: origin.Origin{File: "s.json", Line: 9}, Text: "no such event"}}
		},
		Fire: func(_ context.Context, e hook.Event) hook.Outcome {
			return hook.Outcome{Decision: "deny", Reason: string(e.Input), Runs: []hook.Run{{Handler: handlers[0], Outcome: "success"}}}
		},
		Tool: func(name string) tool.Tool {
			if name == "Write" {
				return writes
			}
			return nil
		},
		ToolNames: func() []string { return []string{"Write"} },
	}
}

// TestWhyCompletesAnArgument: one word is enough to ask about a call, whatever else its tool wants.
func TestWhyCompletesAnArgument(t *testing.T) {
	guard := &hook.Handler{Event: hook.PreToolUse, Matcher: "Write"}
	for path, want := range map[string]string{"/w/secret": "deny", "/w/x": "ask"} {
		d, err := subject(guard).Why(Ask{Tool: "Write", Argument: path})
		if err != nil || d.Behavior != want {
			t.Errorf("%s: %s, %v; want %s", path, d.Behavior, err, want)
		}
		if text := strings.Join(d.Lines, "\n"); !strings.Contains(text, "1 PreToolUse hooks") || want == "deny" && !strings.Contains(text, "s.json:3") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

func TestWhyNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		ask  Ask
		want string
	}{
		{Ask{Tool: "Wirte", Argument: "x"}, "did you mean Write"},
		{Ask{Tool: "Nothing", Argument: "x"}, "expected one of Write"},
		{Ask{Tool: "mcp__a__b", Argument: "x"}, "--input"},
		{Ask{Tool: "Write", Input: json.RawMessage(`{"path":"x"}`)}, "text"},
	} {
		_, err := subject().Why(c.ask)
		var coded interface{ ExitCode() int }
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &coded) || coded.ExitCode() != codeUsage {
			t.Errorf("%+v: %v, want %q", c.ask, err, c.want)
		}
	}
}

func TestRulesSayWhatHasNoEffect(t *testing.T) {
	rows := subject().Rules()
	i := slices.IndexFunc(rows, func(r RuleRow) bool { return r.List == "allow" })
	if i < 0 || rows[i].Place != "s.json:4" || !strings.Contains(rows[i].Note, "decides nothing") {
		t.Errorf("%+v", rows)
	}
}

func TestHooksAreListedAndTried(t *testing.T) {
	s := subject(&hook.Handler{Event: hook.Stop, Command: "b"}, &hook.Handler{Event: hook.PreToolUse, Matcher: "Write", Command: "a", At: origin.Origin{File: "s.json", Line: 5}})
	rows, problems := s.Hooks()
	if len(rows) != 2 || rows[0].Event != "PreToolUse" || !rows[0].Guard || rows[1].Guard || len(problems) != 1 {
		t.Errorf("%+v, %v", rows, problems)
	}
	r, err := s.TestHooks(t.Context(), "PreToolUse", "", json.RawMessage(`{"tool_name":"Write","tool_input":{"path":"x"}}`))
	if err != nil || r.Decision != "deny" || r.Reason != `{"path":"x"}` || r.Configured != 1 || len(r.Runs) != 1 || len(r.Problems) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for event, want := range map[string]string{"PreToolUsed": "did you mean PreToolUse", "Nope": "expected one of"} {
		if _, err := s.TestHooks(t.Context(), event, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", event, err)
		}
	}
}
