package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

func TestMain(m *testing.M) {
	if proc.HelperMain() {
		return
	}
	os.Exit(m.Run())
}

// rig is a set of hooks that run for real.
func rig(t *testing.T, settings string, change ...func(*Config)) (*Hooks, []Problem) {
	t.Helper()
	host := proc.NewHost(proc.Options{})
	t.Cleanup(func() { host.Close() })
	dir := t.TempDir()
	cfg := Config{
		Owner: host.Owner("test"), Cwd: func() string { return dir }, Root: func() string { return dir }, Home: dir, Dir: func() string { return dir },
		Common: func() Common { return Common{Session: "s", Transcript: "/t", Cwd: dir, Mode: "default"} },
	}
	for _, c := range change {
		c(&cfg)
	}
	h := New(cfg)
	problems := h.Load([]Source{{Label: "User", At: origin.Origin{File: "settings.json", Line: 1}, JSON: json.RawMessage(settings)}}, Switches{})
	return h, problems
}

func command(event, matcher, cmd, more string) string {
	c, _ := json.Marshal(cmd)
	return fmt.Sprintf(`{%q:[{"matcher":%q,"hooks":[{"type":"command","command":%s%s}]}]}`, event, matcher, c, more)
}

func bash(name Name) Event {
	return Event{Name: name, Match: "Bash", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Fields: map[string]any{"tool_name": "Bash"}}
}

func TestInputReachesTheCommand(t *testing.T) {
	h, _ := rig(t, command("UserPromptSubmit", "", `cat; echo "$CLAUDE_PROJECT_DIR" >&2`, ""))
	o := h.Fire(t.Context(), Event{Name: UserPromptSubmit, Fields: map[string]any{"prompt": "hi"}})
	var in map[string]any
	if err := json.Unmarshal([]byte(o.Runs[0].Stdout), &in); err != nil {
		t.Fatalf("%v in %q", err, o.Runs[0].Stdout)
	}
	for key, want := range map[string]any{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hi", "permission_mode": "default"} {
		if in[key] != want {
			t.Errorf("%s is %v, want %v", key, in[key], want)
		}
	}
	if got := strings.TrimSpace(o.Runs[0].Stderr); got != h.cfg.root() {
		t.Errorf("CLAUDE_PROJECT_DIR is %q", got)
	}
}

// TestPreToolUseAnswers is the table of what the output of a guard means.
func TestPreToolUseAnswers(t *testing.T) {
	hso := func(s string) string { return `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + s + `}}'` }
	for _, tt := range []struct {
		name, cmd, more string
		decision        string
		guard           bool
		reason          string // part of it
		notice          bool
	}{
		{"nothing", `true`, "", "", false, "", false},
		{"plain text", `echo fine`, "", "", false, "", false},
		{"allow", hso(`"permissionDecision":"allow"`), "", "allow", false, "", false},
		{"deny with reason", hso(`"permissionDecision":"deny","permissionDecisionReason":"no way"`), "", "deny", false, "no way", false},
		{"ask", hso(`"permissionDecision":"ask"`), "", "ask", false, "", false},
		{"defer", hso(`"permissionDecision":"defer"`), "", "defer", false, "", false},
		{"legacy block", `echo '{"decision":"block","reason":"old"}'`, "", "deny", false, "old", false},
		{"legacy approve", `echo '{"decision":"approve"}'`, "", "allow", false, "", false},
		{"exit 2", `echo why >&2; exit 2`, "", "deny", false, "why", false},
		{"exit 2 with allow", hso(`"permissionDecision":"allow"`) + `; echo no >&2; exit 2`, "", "deny", false, "no", false},
		{"exit 2 with broken JSON", `echo '{broken'; echo no >&2; exit 2`, "", "deny", false, "no", false},
		{"exit 1 without JSON", `echo oops >&2; exit 1`, "", "", false, "", true},
		{"exit 1 with deny", hso(`"permissionDecision":"deny"`) + `; exit 1`, "", "deny", false, "", false},
		{"broken JSON", `echo '{"hookSpecificOutput":'`, "", "ask", true, "hook error", true},
		{"a list", `echo '[1]'`, "", "ask", true, "hook error", true},
		{"unknown word", `echo '{"decision":"dney"}'`, "", "ask", true, "dney", true},
		{"unknown permission", hso(`"permissionDecision":"maybe"`), "", "ask", true, "maybe", true},
		{"other event's name", `echo '{"hookSpecificOutput":{"hookEventName":"Stop"}}'`, "", "ask", true, "Stop", true},
		{"missing program", `/nowhere/guard`, "", "ask", true, "cannot be started", true},
		{"killed", `kill -9 $$`, "", "ask", true, "killed", true},
		{"timeout", `sleep 20`, `,"timeout":0.1`, "ask", true, "timed out", true},
		{"timeout, block", `sleep 20`, `,"timeout":0.1,"onFailure":"block"`, "deny", false, "timed out", true},
		{"timeout, continue", `sleep 20`, `,"timeout":0.1,"onFailure":"continue"`, "", false, "", true},
		{"exit 1, block", `exit 1`, `,"onFailure":"block"`, "deny", false, "hook error", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, problems := rig(t, command("PreToolUse", "Bash", tt.cmd, tt.more))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			o := h.Fire(t.Context(), bash(PreToolUse))
			if o.Decision != tt.decision || o.Guard != tt.guard || !strings.Contains(o.Reason, tt.reason) || (len(o.Notices) > 0) != tt.notice {
				t.Errorf("got %q guard %v reason %q notices %q", o.Decision, o.Guard, o.Reason, o.Notices)
			}
		})
	}
}

func TestKF081_ExitTwoBlocksWhateverIsPrinted(t *testing.T) {
	for name, cmd := range map[string]string{
		"no text":        `exit 2`,
		"100 kB stderr":  `head -c 100000 /dev/zero | tr '\0' x >&2; exit 2`,
		"JSON on stdout": `echo '{"continue":true}'; exit 2`,
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := rig(t, command("PreToolUse", "", cmd, ""))
			o := h.Fire(t.Context(), bash(PreToolUse))
			if o.Decision != "deny" || o.Reason == "" || len(o.Reason) > maxText+200 {
				t.Errorf("decision %q, reason of %d bytes", o.Decision, len(o.Reason))
			}
		})
	}
}

func TestKF083_HookThatHangs(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	for name, cmd := range map[string]string{
		"reads and hangs":              `cat >/dev/null; sleep 600`,
		"grandchild holds the output":  `sleep 600 & sleep 600`,
		"never reads a large input":    `sleep 600`,
		"ignores the polite signal":    `trap '' TERM; sleep 600; sleep 600`,
		"prints without end":           `yes`,
		"cannot open the terminal":     `echo x >/dev/tty`,
		"closes its input and is done": `exec <&-; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := rig(t, command("PostToolUse", "", cmd, `,"timeout":0.3`))
			e := bash(PostToolUse)
			e.Fields["tool_response"] = big
			done := make(chan Outcome, 1)
			go func() { done <- h.Fire(t.Context(), e) }()
			select {
			case o := <-done:
				if len(o.Runs) != 1 {
					t.Errorf("%d handlers ran", len(o.Runs))
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the hook was not ended")
			}
		})
	}
}

func TestKF084_EachHookGetsTheWholeInput(t *testing.T) {
	h, _ := rig(t, `{"PreToolUse":[{"hooks":[
		{"type":"command","command":"cat >/dev/null; exit 0"},
		{"type":"command","command":"grep -q hook_event_name && echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'"},
		{"type":"command","command":"grep -q hook_event_name && echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"sure?\"}}'"}]}]}`)
	o := h.Fire(t.Context(), bash(PreToolUse))
	if o.Decision != "ask" || o.Reason != "sure?" {
		t.Errorf("got %q %q", o.Decision, o.Reason)
	}
}

func TestStrictestDecisionWins(t *testing.T) {
	all := []string{"allow", "ask", "defer", "deny"}
	for i, weak := range all {
		for _, strict := range all[i:] {
			for _, order := range [][]string{{weak, strict}, {strict, weak}} {
				var answers []answer
				for _, d := range order {
					answers = append(answers, answer{handler: &Handler{}, decision: d})
				}
				spec, _ := SpecOf(PreToolUse)
				if got := merge(spec, "x", answers).Decision; got != strict {
					t.Errorf("%v gave %s", order, got)
				}
			}
		}
	}
}

func TestMatchers(t *testing.T) {
	for _, tt := range []struct {
		pattern, value string
		event          Name
		want           bool
	}{
		{"", "Bash", PreToolUse, true},
		{"*", "Bash", PreToolUse, true},
		{"Bash", "Bash", PreToolUse, true},
		{"Bash", "BashOutput", PreToolUse, false},
		{"bash", "Bash", PreToolUse, false},
		{"Write|Edit", "Edit", PreToolUse, true},
		{"Write, Edit", "Edit", PreToolUse, true},
		{"Edit.*", "NotebookEdit", PreToolUse, true},
		{"^Edit$", "NotebookEdit", PreToolUse, false},
		{"mcp__memory", "mcp__memory__get", PreToolUse, false},
		{"mcp__memory__.*", "mcp__memory__get", PreToolUse, true},
		{"^(?!Bash)", "Read", PreToolUse, true},
		{"^(?!Bash)", "Bash", PreToolUse, false},
		{"MultiEdit", "Edit", PreToolUse, true},
		{"Task", "Agent", PreToolUse, true},
		{"^KillShell$", "TaskStop", PreToolUse, true},
		{"LS", "Bash", PreToolUse, false},
		{"TodoRead", "TaskList", PreToolUse, true},
		{"^AgentOutput$", "TaskOutput", PreToolUse, true},
		{"MultiEdit", "MultiEdit", SubagentStop, true},
		{"plug:rev", "plug:rev", SubagentStop, true},
		{"startup", "resume", SessionStart, false},
		{"anything", "", Stop, true}, // no match value: ignored
	} {
		spec, _ := SpecOf(tt.event)
		m, err := compile(tt.pattern, spec)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		if got, err := m.matches(tt.value, spec); got != tt.want || err != nil {
			t.Errorf("%q on %q of %s: %v, %v", tt.pattern, tt.value, tt.event, got, err)
		}
	}
}

func TestBrokenMatcherOfAGuardBlocks(t *testing.T) {
	for _, pattern := range []string{`(`, `(a+)+$`} {
		h, problems := rig(t, command("PreToolUse", pattern, "true", ""))
		e := bash(PreToolUse)
		e.Match = strings.Repeat("a", 40) + "!"
		o := h.Fire(t.Context(), e)
		if !o.Guard || o.Decision != "ask" {
			t.Errorf("%q: got %q, guard %v (problems %v)", pattern, o.Decision, o.Guard, problems)
		}
	}
	h, problems := rig(t, command("PostToolUse", `(`, "echo ran >&2", ""))
	if o := h.Fire(t.Context(), bash(PostToolUse)); len(o.Runs) != 0 || len(problems) != 1 {
		t.Errorf("ran %v, problems %v", o.Runs, problems)
	}
}

func TestForeignInputIsReportedAndSpoilsOnlyItself(t *testing.T) {
	h, problems := rig(t, `{
		"beforeShellExecution": [{"command": "x"}],
		"preToolUse": [],
		"Stop": "echo",
		"PostToolUse": [{"command": "no hooks key"}, {"matcher": {}, "hooks": []}, {"hooks": [{"type": "shell"}, {"type": "command"},
			{"type": "command", "command": "true", "priority": 3, "timeout": 5000}]}],
		"Notification": [{"hooks": [{"type": "prompt", "prompt": "x"}]}],
		"SessionStart": [{"hooks": [{"type": "command", "command": "true", "if": "Bash(ls)"}]}]}`)
	var got []string
	for _, p := range problems {
		got = append(got, p.Text)
	}
	for _, want := range []string{
		"beforeShellExecution is no event", "did you mean PreToolUse", "hooks.Stop: expected a list", "expected a group",
		"matcher: expected a string", `type "shell"`, `needs "command"`, "were milliseconds meant", "cannot have a handler of type prompt", "never runs",
	} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("nothing says %q in %q", want, got)
		}
	}
	if n := len(h.Handlers()); n != 1 {
		t.Errorf("%d handlers are left, want the one that is right", n)
	}
	if _, problems := Parse(Source{JSON: json.RawMessage(`[1]`)}); len(problems) != 1 {
		t.Errorf("a list of events gave %v", problems)
	}
}

func TestSwitches(t *testing.T) {
	src := func(label string, managed bool) Source {
		return Source{Label: label, Managed: managed, JSON: json.RawMessage(command("Stop", "", "echo "+label, ""))}
	}
	all := []Source{src("Managed", true), src("User", false), src("Session", false)}
	for _, tt := range []struct {
		sw   Switches
		want int
	}{{Switches{}, 3}, {Switches{All: true}, 0}, {Switches{Ordinary: true}, 1}, {Switches{ManagedOnly: true}, 2}, {Switches{Bare: true}, 1}} {
		h, _ := rig(t, `{}`)
		h.Load(all, tt.sw)
		if got := len(h.Handlers()); got != tt.want {
			t.Errorf("%+v leaves %d, want %d", tt.sw, got, tt.want)
		}
	}
}

func TestSameHandlerInTwoFilesRunsOnce(t *testing.T) {
	h, _ := rig(t, `{}`)
	json := json.RawMessage(command("Stop", "", "echo x >&2", ""))
	h.Load([]Source{{Label: "User", JSON: json}, {Label: "Project", JSON: json}, {Label: "Plugin", Plugin: "p", JSON: json}}, Switches{})
	if o := h.Fire(t.Context(), Event{Name: Stop}); len(o.Runs) != 2 {
		t.Errorf("%d ran, want one for both files and one of the plugin", len(o.Runs))
	}
}

func TestIf(t *testing.T) {
	var asked []string
	h, _ := rig(t, command("PreToolUse", "", "exit 2", `,"if":"Bash(git *)"`), func(c *Config) {
		c.Rule = func(rule, tool string, input json.RawMessage) bool {
			asked = append(asked, rule+" "+tool+" "+string(input))
			return strings.Contains(string(input), "git")
		}
	})
	if o := h.Fire(t.Context(), bash(PreToolUse)); o.Decision != "" {
		t.Errorf("ran without a match: %q", o.Decision)
	}
	e := bash(PreToolUse)
	e.Input = json.RawMessage(`{"command":"git push"}`)
	if o := h.Fire(t.Context(), e); o.Decision != "deny" {
		t.Errorf("did not run: asked %q", asked)
	}
}

func TestHTTP(t *testing.T) {
	t.Setenv("SECRET", "s3")
	var auth, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization") + "|" + r.Header.Get("X-Other")
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		switch r.URL.Path {
		case "/deny":
			fmt.Fprint(w, `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"policy"}}`)
		case "/text":
			fmt.Fprint(w, "hello")
		case "/500":
			w.WriteHeader(500)
		case "/away":
			http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
		}
	}))
	defer server.Close()
	hook := func(path string) string {
		return fmt.Sprintf(`{"PreToolUse":[{"hooks":[{"type":"http","url":%q,"headers":{"Authorization":"Bearer $SECRET","X-Other":"${HOME}","Content-Length":"1"},"allowedEnvVars":["SECRET"]}]}]}`, server.URL+path)
	}
	getenv := func(c *Config) { c.Getenv = os.Getenv }
	for path, want := range map[string]string{"/deny": "deny", "/empty": "", "/text": "ask", "/500": "ask", "/away": "ask"} {
		h, _ := rig(t, hook(path), getenv)
		if o := h.Fire(t.Context(), bash(PreToolUse)); o.Decision != want || o.Guard != (want == "ask") {
			t.Errorf("%s: %q, guard %v, %q", path, o.Decision, o.Guard, o.Notices)
		}
	}
	if auth != "Bearer s3|" || !strings.Contains(body, `"hook_event_name":"PreToolUse"`) {
		t.Errorf("headers %q, body %q", auth, body)
	}
	none := []string{}
	h, _ := rig(t, hook("/deny"), func(c *Config) { c.HTTPLimits = func() HTTPLimits { return HTTPLimits{URLs: &none} } })
	if o := h.Fire(t.Context(), bash(PreToolUse)); !o.Guard {
		t.Errorf("a guard whose URL is not allowed stands open: %+v", o)
	}
}

func TestModelHooks(t *testing.T) {
	for _, tt := range []struct {
		event  Name
		answer string
		want   func(Outcome) bool
	}{
		{PreToolUse, `{"ok": true}`, func(o Outcome) bool { return o.Decision == "" }},
		{PreToolUse, "Sure!\n{\"ok\": false, \"reason\": \"bad\"} there", func(o Outcome) bool { return o.Decision == "deny" && o.Reason == "bad" && o.EndTurn }},
		{PreToolUse, `maybe`, func(o Outcome) bool { return o.Guard }},
		{Stop, `{"ok": false, "reason": "tests are red"}`, func(o Outcome) bool { return o.Block && o.BlockReason == "tests are red" }},
		{Stop, `{"ok": false, "reason": "cannot", "impossible": true}`, func(o Outcome) bool { return !o.Block }},
		{PermissionDenied, `{"ok": false, "reason": "x"}`, func(o Outcome) bool { return !o.Block && o.Decision == "" }},
	} {
		var asked string
		h, _ := rig(t, fmt.Sprintf(`{%q:[{"hooks":[{"type":"prompt","prompt":"Check \\$5 of $ARGUMENTS"}]}]}`, tt.event), func(c *Config) {
			c.Ask = func(_ context.Context, _, prompt string) (string, error) {
				asked = prompt
				return tt.answer, nil
			}
		})
		if o := h.Fire(t.Context(), bash(tt.event)); !tt.want(o) {
			t.Errorf("%s with %q: %+v", tt.event, tt.answer, o)
		}
		if !strings.HasPrefix(asked, `Check $5 of {`) {
			t.Errorf("asked %q", asked)
		}
	}
}

func TestMCPTool(t *testing.T) {
	hook := `{"PreToolUse":[{"hooks":[{"type":"mcp_tool","server":"s","tool":"check","input":{"cmd":"${tool_input.command}","all":["${tool_name}"]}}]}]}`
	var got string
	h, _ := rig(t, hook, func(c *Config) {
		c.CallTool = func(_ context.Context, _, _ string, input json.RawMessage) (string, bool, error) {
			got = string(input)
			return `{"decision":"block","reason":"no"}`, false, nil
		}
	})
	e := bash(PreToolUse)
	e.Fields["tool_input"] = map[string]any{"command": "ls"}
	if o := h.Fire(t.Context(), e); o.Decision != "deny" || got != `{"all":["Bash"],"cmd":"ls"}` {
		t.Errorf("%q, input %s", o.Decision, got)
	}
	h, _ = rig(t, hook)
	if o := h.Fire(t.Context(), e); !o.Guard {
		t.Error("a guard whose server is not connected stands open")
	}
}

func TestAsync(t *testing.T) {
	later, woken := make(chan string, 2), make(chan string, 1)
	h, _ := rig(t, `{"PostToolUse":[{"hooks":[
		{"type":"command","async":true,"command":"cat >/dev/null; echo '{\"hookSpecificOutput\":{\"additionalContext\":\"formatted\"},\"decision\":\"block\",\"reason\":\"void\"}'"},
		{"type":"command","asyncRewake":true,"rewakeMessage":"build:","command":"echo broken >&2; exit 2"},
		{"type":"command","command":"echo '{\"async\":true}'; exec sleep 0.1"}]}]}`, func(c *Config) {
		c.Later = func(s string) { later <- s }
		c.Woken = func(s string) { woken <- s }
	})
	if o := h.Fire(t.Context(), bash(PostToolUse)); o.Block || len(o.Notices) > 0 {
		t.Errorf("an async hook decided: %+v", o)
	}
	if got := <-later; got != "formatted" {
		t.Errorf("later %q", got)
	}
	if got := <-woken; got != "build:\nbroken" {
		t.Errorf("woken by %q", got)
	}
}

func TestEnvFile(t *testing.T) {
	h, _ := rig(t, command("SessionStart", "", `echo export A=1 >> "$CLAUDE_ENV_FILE"`, ""))
	h.Fire(t.Context(), Event{Name: SessionStart, Match: "startup"})
	h.Fire(t.Context(), Event{Name: SessionStart, Match: "startup"})
	files := h.EnvFiles(false)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	if got, _ := os.ReadFile(files[0]); string(got) != "export A=1\nexport A=1\n" {
		t.Errorf("file holds %q", got)
	}
	h.ForgetEnv()
	if got := h.EnvFiles(false); got != nil {
		t.Errorf("after forgetting: %q", got)
	}
}

func TestUserConfigNeverRunsInAShell(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	h, _ := rig(t, command("Stop", "", "touch "+mark+"; echo ${user_config.key}", ""))
	o := h.Fire(t.Context(), Event{Name: Stop})
	if _, err := os.Stat(mark); err == nil || len(o.Notices) != 1 {
		t.Errorf("it ran, or nobody was told: %q", o.Notices)
	}
}

func TestTerminalSequences(t *testing.T) {
	for s, want := range map[string]bool{
		"\a": true, "\x1b]0;title\a": true, "\x1b]9;note\x1b\\": true, "\x1b]777;notify;a;b\a": true,
		"": false, "\x1b[2J": false, "\x1b]52;c;eA==\a": false, "\x1b]8;;http://x\a": false, "\x1b]1337;x\a": false, "\x1b]0;a\x1b[31mb\a": false,
	} {
		if got := allowedSequence(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestStartContextAndStop(t *testing.T) {
	h, _ := rig(t, command("SessionStart", "", `echo "house rules"`, ""))
	if o := h.Fire(t.Context(), Event{Name: SessionStart, Match: "startup"}); !slices.Equal(o.Context, []string{"SessionStart:startup hook: house rules"}) {
		t.Errorf("context %q", o.Context)
	}
	h, _ = rig(t, command("PostToolUse", "", `echo '{"continue":false,"stopReason":"enough","systemMessage":"note"}'`, ""))
	if o := h.Fire(t.Context(), bash(PostToolUse)); !o.Stop || o.StopReason != "enough" || !slices.Equal(o.Messages, []string{"note"}) {
		t.Errorf("%+v", o)
	}
}

func TestWorkingDirectoryThatIsGone(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	h, _ := rig(t, command("Stop", "", "pwd >&2", ""), func(c *Config) { c.Cwd = func() string { return gone } })
	if o := h.Fire(t.Context(), Event{Name: Stop}); strings.TrimSpace(o.Runs[0].Stderr) != h.cfg.root() {
		t.Errorf("ran in %q", o.Runs[0].Stderr)
	}
}

func FuzzReadOutput(f *testing.F) {
	for _, s := range []string{`{}`, `{"decision":"block"}`, `[`, `{"hookSpecificOutput":{"permissionDecision":"allow"}}`, "text", `{"continue":false`} {
		f.Add(s, 0)
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, out string, code int) {
		spec, _ := SpecOf(PreToolUse)
		a := readOutput(spec, out, "err", code)
		a.handler = &Handler{}
		o := merge(spec, "PreToolUse", []answer{a})
		if code == 2 && o.Decision != "deny" {
			t.Errorf("exit 2 with %q is %q", out, o.Decision)
		}
		if text := strings.TrimSpace(out); code == 0 && strings.HasPrefix(text, "{") && !json.Valid([]byte(text)) && !o.Guard {
			t.Errorf("garbage %q lets the call through", out)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(command("PreToolUse", "Bash", "true", ""))
	f.Add(`{"Stop":[{"hooks":[{"type":"http","url":"x","timeout":-1}]}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		handlers, _ := Parse(Source{JSON: json.RawMessage(s)})
		for _, h := range handlers {
			if h.Timeout <= 0 || h.Title() == "" {
				t.Errorf("%q gave an unusable handler %+v", s, h)
			}
		}
	})
}

func TestMatchersThatNameNoTool(t *testing.T) {
	for matcher, want := range map[string]string{
		"read":                 "did you mean Read?",
		"Edit|Writ":            "did you mean Write?",
		"bash, read":           "did you mean Bash?",
		"Frobnicate":           `there is no tool Frobnicate`,
		"^read$":               "the case of letters counts, and the tool is Read",
		"(bash|edit)":          "the case of letters counts",
		"Frob.*":               "matches no tool",
		"Bash(git .*)":         "matches no tool",
		"Read":                 "",
		"Edit|Write|MultiEdit": "",
		"Task":                 "",
		"*":                    "",
		"":                     "",
		".*":                   "",
		"Notebook.*":           "",
		"mcp__github__.*":      "",
		"^mcp__":               "",
		".*__write.*|Edit":     "",
		"Bash|HostsOwnTool":    "",
	} {
		src := Source{JSON: json.RawMessage(`{"PreToolUse":[{"matcher":` + strconv.Quote(matcher) + `,"hooks":[{"type":"command","command":"x"}]}]}`)}
		src.Lines = map[string]origin.Origin{"/PreToolUse/0/matcher": {File: "s.json", Line: 7}}
		handlers, problems := Parse(src)
		if len(handlers) != 1 {
			t.Errorf("%q: %d handlers", matcher, len(handlers))
		}
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%q: %v", matcher, problems)
		case want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Text, want) || !strings.Contains(problems[0].String(), "s.json:7") || problems[0].Lost):
			t.Errorf("%q: %v, want %s", matcher, problems, want)
		}
	}
	if _, problems := Parse(Source{JSON: json.RawMessage(`{"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"x"}]}]}`)}); len(problems) != 0 {
		t.Errorf("a matcher that is about no tool: %v", problems)
	}
}
