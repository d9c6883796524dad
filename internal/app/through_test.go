package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// run carries out a slash command and returns what it printed.
func (st *stage) run(text string) proto.LocalOutput {
	st.t.Helper()
	st.say(text)
	var out proto.LocalOutput
	st.until("the output of "+text, func(b proto.EventBody) bool {
		if o, is := b.(proto.LocalOutput); is {
			out = o
		}
		_, over := b.(proto.Result)
		return over
	})
	return out
}

func TestSlashCommandsSayWhatIsSo(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, input: {command: "echo hi"}}]
  - content: [{text: one}]
  - content: [{text: two}]
lanes:
  compact: [{content: [{text: "<summary>what was said, in short</summary>"}]}]
`, bypass)
	st.say(strings.Repeat("a long question ", 50))
	st.result()
	for _, c := range []struct {
		say, want string
		fails     bool
	}{
		{"/help", "/compact", false},
		{"/model", st.State().Session.Model, false},
		{"/model nobody-knows-this", "nobody-knows-this", true},
		{"/mode", "bypassPermissions", false},
		{"/mode sideways", "expected one of", true},
		{"/mode acceptEdits", "acceptEdits", false},
		{"/permissions allow Bash(ls *)", "allow for this session: Bash(ls *)", false},
		{"/permissions", "Bash(ls *)", false},
		{"/permissions remove Bash(ls *)", "Removed", false},
		{"/permissions allow Bash(", "rule", true},
		{"/permissions grant x", "expected nothing, or allow", true},
		{"/add-dir " + st.dir, "Working directory for this session", false},
		{"/add-dir /nowhere/at/all", "no such file", true},
		{"/add-dir", "needs a folder", true},
		{"/tasks", "Nothing is running", false},
		{"/tasks stop nobody", "nobody", true},
		{"/tasks dance", "expected nothing", true},
		{"/context", "tokens", false},
		{"/context --removed", "Nothing is left out", false},
		{"/context --bring-back 7", "nothing with the id 7", true},
		{"/context --else", "--removed", true},
		{"/memory", "", false},
		{"/memory x", "takes no arguments", true},
		{"/cost", "total", false},
		{"/sandbox", "sandbox", false},
		{"/sandbox restore", "Nothing was put aside", false},
		{"/sandbox dance", "takes nothing", true},
		{"/status", st.State().Session.ID, false},
		{"/compact --apply", "", true},
		{"/compact --dance", "expected a focus", true},
		{"/resume", "needs a session id", true},
		{"/resume nobody", "nobody", true},
	} {
		out := st.run(c.say)
		if out.Error != c.fails || !strings.Contains(out.Text, c.want) {
			t.Errorf("%s: %q, error %v; want %q, error %v", c.say, out.Text, out.Error, c.want, c.fails)
		}
	}
	first := st.State().Session.ID
	if out := st.run("/branch"); out.Error || st.State().Session.ID == first || st.State().Session.ForkedFrom != first {
		t.Errorf("/branch: %q, now %+v", out.Text, st.State().Session)
	}
	if out := st.run("/compact"); out.Error || st.rooms.main.Length() > 3 {
		t.Errorf("/compact: %q, %d messages", out.Text, st.rooms.main.Length())
	}
	if out := st.run("/compact --undo"); out.Error || st.rooms.main.Length() < 4 {
		t.Errorf("/compact --undo: %q, %d messages", out.Text, st.rooms.main.Length())
	}
	if out := st.run("/resume " + first); out.Error || st.State().Session.ID != first {
		t.Errorf("/resume: %q, now %s", out.Text, st.State().Session.ID)
	}
	if out := st.run("/clear"); out.Error || st.rooms.main.Length() != 0 {
		t.Errorf("/clear: %q, %d messages", out.Text, st.rooms.main.Length())
	}
	if out := st.run("/branch"); !out.Error {
		t.Errorf("/branch of nothing: %q", out.Text)
	}
}

// What is granted with an answer holds at once, and lasts where its destination says so.
func TestGrantsAreKeptWhereTheyBelong(t *testing.T) {
	st := newStage(t, "turns: [{content: [{text: hi}]}]", func(o *Options) { o.Trust = &[]string{} })
	rule := []proto.RuleValue{{ToolName: "Bash", RuleContent: "make *"}}
	more := t.TempDir()
	for _, u := range []proto.PermissionUpdate{
		{Type: "addRules", Behavior: "allow", Destination: "localSettings", Rules: rule},
		{Type: "addRules", Behavior: "deny", Destination: "userSettings", Rules: rule},
		{Type: "removeRules", Behavior: "deny", Destination: "userSettings", Rules: rule},
		{Type: "addDirectories", Destination: "userSettings", Directories: []string{more}},
		{Type: "setMode", Mode: "acceptEdits", Destination: "localSettings"},
	} {
		st.rooms.rights.grant(u)
	}
	p := st.State().Permission
	if p.Mode != permission.AcceptEdits || !slices.Contains(p.WorkDirs(), more) || len(p.Rules[permission.FromLocal].Allow) != 1 || len(p.Rules[permission.FromUser].Deny) != 0 {
		t.Errorf("mode %s, folders %q, rules %+v", p.Mode, p.WorkDirs(), p.Rules)
	}
	for scope, want := range map[origin.Scope][]string{origin.Local: {`"Bash(make *)"`, `"acceptEdits"`}, origin.User: {more}} {
		raw, err := os.ReadFile(st.rooms.settings.places.File(scope))
		for _, text := range want {
			if err != nil || !strings.Contains(string(raw), text) {
				t.Errorf("%s: %s (%v), want %s in it", scope, raw, err, text)
			}
		}
	}
}

func TestHelpersOfTheSettings(t *testing.T) {
	st := newStage(t, "turns: [{content: [{text: hi}]}]")
	out, err := st.rooms.programs.runHelper(t.Context(), helper{name: "apiKeyHelper", command: "echo key; pwd"})
	if want := "key\n" + st.dir + "\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	_, err = st.rooms.programs.runHelper(t.Context(), helper{name: "apiKeyHelper", command: "echo no key >&2; exit 3"})
	if err == nil || !strings.Contains(err.Error(), "exit 3: no key") {
		t.Errorf("got %v", err)
	}
	if _, err := st.rooms.programs.runHelper(t.Context(), helper{name: "aws", words: []string{"no-such-program"}}); err == nil {
		t.Error("a program that is not there was run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := st.rooms.programs.runHelper(ctx, helper{name: "apiKeyHelper", command: "sleep 60"}); err == nil {
		t.Error("it was waited for although nobody wanted it any more")
	}
	if out, err := st.rooms.programs.runHelper(t.Context(), helper{name: "sh", words: []string{"sh", "-c", "echo words"}}); err != nil || string(out) != "words\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if env := st.ProgramEnv(); !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		t.Errorf("no PATH for an editor: %q", env)
	}
}

func TestHooksDecideAboutAModel(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	st := newStage(t, "turns: [{content: [{text: hi}]}]", func(o *Options) {
		o.Settings = `{"sandbox": {"enabled": false}, "hooks": {
			"PreModelSwitch": [{"matcher": "offline/.*", "hooks": [{"type": "command", "command": "echo '{\"decision\": \"block\", \"reason\": \"not that one\"}'"}]}],
			"PostModelSwitch": [{"hooks": [{"type": "command", "command": "echo switched >> ` + log + `"}]}]}}`
	})
	begun := st.State().Session.Model
	if err := st.Do(proto.O(proto.SetModel{Model: "offline"})); err == nil || !strings.Contains(err.Error(), "not that one") {
		t.Errorf("got %v", err)
	}
	if st.State().Session.Model != begun {
		t.Errorf("the model is %s", st.State().Session.Model)
	}
	for _, name := range []string{"", "default", begun} { // the one there is
		if err := st.Do(proto.O(proto.SetModel{Model: name})); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a switch was told that never was")
	}
}
