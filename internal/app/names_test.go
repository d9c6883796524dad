package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// calledAs has a model call a tool by a name, and returns what came of it.
func calledAs(t *testing.T, name string, change func(*Options)) (text string, isError bool) {
	t.Helper()
	st := newStage(t, fmt.Sprintf(`turns:
  - content: [{tool: Read, input: {file_path: a.txt}}]
  - content: [{tool: %s, input: {file_path: a.txt, old_string: old, new_string: new, command: "echo new > a.txt", content: new, pattern: old, url: "https://127.0.0.1/", prompt: x, query: x, taskId: "1"}}]
  - content: [{text: done}]
`, name), change)
	if err := os.WriteFile(filepath.Join(st.dir, "a.txt"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st.say("go")
	_, events := st.result()
	for _, e := range events {
		m, ok := e.Body.(proto.Message)
		if !ok {
			continue
		}
		for _, b := range m.Message.Content {
			if r, ok := b.(msg.ToolResult); ok {
				text, isError = msg.TextOf(r.Content), r.IsError // the last one stays
			}
		}
	}
	if raw, err := os.ReadFile(filepath.Join(st.dir, "a.txt")); isError && (err != nil || string(raw) != "old\n") {
		t.Errorf("%s failed and the file holds %q, %v", name, raw, err)
	}
	return text, isError
}

func bypass(o *Options) { o.Bypass, o.Env["IS_SANDBOX"] = true, "1" }

func TestKF121_ADeniedNameDoesNotAnswer(t *testing.T) {
	st := newStage(t, "turns:\n  - content: [{text: done}]")
	names := append(tool.OlderNames(), st.rooms.pool.Known()...)
	if len(names) < 25 {
		t.Fatalf("only %d names: %v", len(names), names)
	}
	for _, name := range names {
		if name == "Read" { // the calls begin with one
			continue
		}
		text, isError := calledAs(t, name, func(o *Options) { bypass(o); o.Deny = []string{name} })
		if !isError || strings.Contains(text, "InputValidationError") {
			t.Errorf("%s is denied and answers %q", name, text)
		}
	}
}

func TestKF121_OlderNamesInRulesAndLists(t *testing.T) {
	for _, c := range []struct {
		what, call string
		change     func(*Options)
		fails      bool
	}{
		{"nothing denies", "MultiEdit", bypass, false},
		{"today's name is denied", "MultiEdit", func(o *Options) { bypass(o); o.Deny = []string{"Edit"} }, true},
		{"the older name is denied, today's is called", "Edit", func(o *Options) { bypass(o); o.Deny = []string{"MultiEdit"} }, true},
		{"a path under the older name", "Edit", func(o *Options) { bypass(o); o.Deny = []string{"MultiEdit(a.txt)"} }, true},
		{"another path under the older name", "Edit", func(o *Options) { bypass(o); o.Deny = []string{"MultiEdit(b.txt)"} }, false},
		{"a wildcard over the older name", "Edit", func(o *Options) { bypass(o); o.Deny = []string{"Multi*"} }, true},
		{"an allow rule does not widen", "Edit", func(o *Options) { o.Answers, o.Allow = false, []string{"MultiEdit"} }, true},
		{"an allow rule for today's name", "MultiEdit", func(o *Options) { o.Answers, o.Allow = false, []string{"Edit"} }, false},
		{"the list of tools", "MultiEdit", func(o *Options) { bypass(o); o.Tools = &[]string{"NotebookRead", "MultiEdit"} }, false},
		{"a hook's matcher", "MultiEdit", func(o *Options) {
			bypass(o)
			o.Settings = `{"sandbox": {"enabled": false}, "hooks": {"PreToolUse": [{"matcher": "MultiEdit", "hooks": [{"type": "command", "command": "exit 2"}]}]}}`
		}, true},
		{"a hook's condition", "Edit", func(o *Options) {
			bypass(o)
			o.Settings = `{"sandbox": {"enabled": false}, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2", "if": "MultiEdit(a.txt)"}]}]}}`
		}, true},
	} {
		if text, isError := calledAs(t, c.call, c.change); isError != c.fails {
			t.Errorf("%s: %q", c.what, text)
		}
	}
}

func TestNamesHoldEveryToolThereIs(t *testing.T) {
	st := newStage(t, "turns:\n  - content: [{text: done}]\n")
	known := tool.Names()
	for _, name := range st.rooms.pool.Known() {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "mcp__") {
			t.Errorf("tool.Names does not hold %s", name)
		}
	}
}
