package hook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// malformedGuards are settings in which a guard is written down and cannot be read, with a part of what
// must be said.
func malformedGuards() map[string]string {
	return map[string]string{
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "comand", "command": "exit 2"}]}]}`:                    `type "comand"`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command"}]}]}`:                                        `needs "command"`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": " "}]}]}`:                        `needs "command"`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "exit 2"}]}]}`:                                      `type ""`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2", "timeout": "ten"}]}]}`: "timeout is a string, expected a number",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": ["exit", "2"]}]}]}`:              "command is an array, expected a string",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "args": "y"}]}]}`:           "args is a string",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "async": "no"}]}]}`:         "async is a string, expected true or false",
		`{"PreToolUse": {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}}`:                     "expected a list of groups",
		`{"PreToolUse": "guard.sh"}`: "expected a list of groups",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": {"type": "command", "command": "exit 2"}}]}`: "expected a group",
		`{"PreToolUse": [{"matcher": "Bash", "command": "exit 2"}]}`:                               "expected a group",
		`{"PreToolUse": ["exit 2"]}`:                                                                   "expected a group",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": ["exit 2"]}]}`:                                   "is a string, expected an object",
		`{"PreToolUse": [{"matcher": ["Bash"], "hooks": [{"type": "command", "command": "exit 2"}]}]}`: "matcher: expected a string",
		`{"preToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}]}`:   "did you mean PreToolUse?",
		`{"pre_tool_use": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}]}`: "did you mean PreToolUse?",
		`{"PreTolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}`:                       "did you mean PreToolUse?",
		`[{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}]`:                   "expected an object that maps events",
		`"guard.sh"`: "expected an object that maps events",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2", "command": "true"}]}]}`:                       `"command" stands twice`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}], "hooks": []}]}`:                             `"hooks" stands twice`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "async": true, "onFailure": "block"}]}]}`:          "decides nothing",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "asyncRewake": true, "onFailure": "block"}]}]}`:    "decides nothing",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 1", "on_failure": "block"}]}]}`:                   "did you mean onFailure?",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 1", "onFailiure": "block"}]}]}`:                   "did you mean onFailure?",
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http", "url": 7}]}, {"hooks": [{"type": "command", "command": "exit 0"}]}]}`: "url is a number",
	}
}

func TestKF117_MalformedGuardCountsAsLost(t *testing.T) {
	for settings, want := range malformedGuards() {
		h, problems := rig(t, settings)
		i := slices.IndexFunc(problems, func(p Problem) bool { return p.Lost })
		if i < 0 || !strings.Contains(problems[i].Text, want) || !strings.HasPrefix(problems[i].String(), "settings.json:1") {
			t.Errorf("%s: said %v, want %q", settings, problems, want)
		}
		if o := h.Fire(t.Context(), bash(PreToolUse)); !o.Guard || o.Decision != "ask" || !strings.Contains(strings.Join(o.Notices, "\n"), want) {
			t.Errorf("%s: the call runs: %q, guard %v, notices %q", settings, o.Decision, o.Guard, o.Notices)
		}
		// Who goes on without it has no guard there.
		h.Load([]Source{{At: origin.Origin{File: "settings.json", Line: 1}, JSON: json.RawMessage(settings)}}, Switches{Without: func(Problem) bool { return true }})
		if o := h.Fire(t.Context(), bash(PreToolUse)); o.Guard || o.Decision != "" {
			t.Errorf("%s: asked although somebody goes on without it: %+v", settings, o)
		}
	}
}

func TestKF117_OnlyWhatGuardsIsAskedAbout(t *testing.T) {
	h, _ := rig(t, `{"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "comand"}]}]}`)
	if o := h.Fire(t.Context(), bash(PreToolUse)); o.Guard {
		t.Errorf("a guard of Write asks about Bash: %+v", o)
	}
	for _, settings := range []string{
		`{"preToolUse": []}`, `[]`, `{"Stop": [{"hooks": [{"type": "comand"}]}]}`, `{"postToolUse": [{"hooks": []}]}`, `{"beforeShellExecution": [{"command": "x"}]}`,
	} {
		if _, problems := rig(t, settings); slices.ContainsFunc(problems, func(p Problem) bool { return p.Lost }) {
			t.Errorf("%s guards nothing: %v", settings, problems)
		}
	}
	h, _ = rig(t, `{}`)
	problems := h.Load([]Source{{JSON: json.RawMessage(`{"PreToolUse": "x"}`)}}, Switches{All: true})
	if len(problems) != 1 || problems[0].Lost || len(h.Handlers()) != 0 {
		t.Errorf("a guard that is switched off was lost: %v", problems)
	}
	// One that goes into the background is told of once, and decides nothing.
	h, problems = rig(t, command("PreToolUse", "Bash", "exit 2", `,"async":true`))
	if o := h.Fire(t.Context(), bash(PreToolUse)); len(problems) != 1 || problems[0].Lost || !strings.Contains(problems[0].Text, "does not guard") || o.Decision != "" {
		t.Errorf("async: %v, %+v", problems, o)
	}
}

func TestKF116_AFoldersNameIsNotExecuted(t *testing.T) {
	for _, name := range []string{"x$(touch pwned)", "x`touch pwned`", `a b  c`, `quo"te`, "quo'te", "new\nline", `$HOME`, `back\slash`, `"; touch pwned; "`, "x&touch pwned&"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(dir, "guard.sh")
		if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf %s \"$1\"; exit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		here := func(c *Config) { c.Root = func() string { return dir }; c.Cwd = func() string { return dir } }
		for what, settings := range map[string]string{
			"shell":         command("Stop", "", `test -d "${CLAUDE_PROJECT_DIR}" && "$CLAUDE_PROJECT_DIR"/guard.sh "${CLAUDE_PROJECT_DIR}"`, ""),
			"named shell":   command("Stop", "", `"${CLAUDE_PROJECT_DIR}/guard.sh" "$CLAUDE_PROJECT_DIR"`, `,"shell":"bash"`),
			"without shell": command("Stop", "", `${CLAUDE_PROJECT_DIR}/guard.sh`, `,"args":["${CLAUDE_PROJECT_DIR}"]`),
		} {
			h, _ := rig(t, settings, here)
			o := h.Fire(t.Context(), Event{Name: Stop})
			if len(o.Runs) != 1 || o.Runs[0].Stdout != dir || *o.Runs[0].ExitCode != 0 {
				t.Errorf("%s in %q: %+v %q", what, name, o.Runs, o.Notices)
			}
			if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
				t.Fatalf("%s: the name %q was executed", what, name)
			}
		}
		_, args, err := New(Config{Root: func() string { return dir }}).commandLine(&Handler{Command: "test -d ${CLAUDE_PROJECT_DIR}", Shell: "powershell"})
		if err != nil || strings.Contains(strings.Join(args, " "), name) || !strings.Contains(args[len(args)-1], "= $env:CLAUDE_PROJECT_DIR\n") {
			t.Errorf("powershell: %q %v", args, err)
		}
	}
}

func TestKF116_PlaceholdersInAddressesAndHeaders(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.URL.Query().Get("dir") + " " + r.Header.Get("X-Dir")
	}))
	defer srv.Close()
	h, _ := rig(t, fmt.Sprintf(`{"Stop":[{"hooks":[{"type":"http","url":"%s/?dir=${CLAUDE_PROJECT_DIR}","headers":{"X-Dir":"${CLAUDE_PROJECT_DIR}"}}]}]}`, srv.URL))
	if o := h.Fire(t.Context(), Event{Name: Stop}); got != h.cfg.root()+" "+h.cfg.root() {
		t.Errorf("sent %q; %q", got, o.Notices)
	}
}

// printing is a command that prints exactly these bytes.
func printing(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "cat '" + file + "'"
}

func utf16LE(text string) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestKF160_AnswersInAnotherEncoding(t *testing.T) {
	const deny = `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"ключ"}}`
	for name, text := range map[string]string{
		"UTF-8 with mark": "\ufeff" + deny, "two marks": "\ufeff\ufeff" + deny, "mark and break": "\ufeff\n  " + deny,
		"UTF-16 with mark": "\xff\xfe" + utf16LE(deny), "UTF-16 without": utf16LE(deny),
	} {
		h, _ := rig(t, command("PreToolUse", "", printing(t, text), ""))
		if o := h.Fire(t.Context(), bash(PreToolUse)); o.Decision != "deny" || o.Reason != "ключ" {
			t.Errorf("%s: %q because of %q", name, o.Decision, o.Reason)
		}
	}
	for name, text := range map[string]string{"a zero byte": "fine\x00", "cut UTF-16": "\xff\xfe" + utf16LE(deny) + "x", "no text": "\xff\xfe\xfd"} {
		h, _ := rig(t, command("PreToolUse", "", printing(t, text), ""))
		if o := h.Fire(t.Context(), bash(PreToolUse)); !o.Guard || o.Decision != "ask" {
			t.Errorf("%s: %q, guard %v", name, o.Decision, o.Guard)
		}
	}
}

func TestKF160_OfDoubleKeysInAnAnswerTheStrictest(t *testing.T) {
	for text, want := range map[string]string{
		`{"decision":"block","decision":"approve"}`:                                                                "deny",
		`{"decision":"approve","decision":"block"}`:                                                                "deny",
		`{"decision":"block","Decision":"approve"}`:                                                                "deny",
		`{"decision":"block","hookSpecificOutput":{"permissionDecision":"allow"}}`:                                 "deny",
		`{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow"}}`:                        "deny",
		`{"hookSpecificOutput":{"permissionDecision":"ask","PermissionDecision":"allow"}}`:                         "ask",
		`{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":{"permissionDecision":"allow"}}`: "deny",
		`{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":{"additionalContext":"x"}}`:      "deny",
		`{"hookSpecificOutput":{"permissionDecision":"dney","permissionDecision":"allow"}}`:                        "ask",
		`{"hookSpecificOutput":{"permissionDecision":"deny"},"hookSpecificOutput":7}`:                              "ask",
		`{"async":true,"async":false,"decision":"block"}`:                                                          "deny",
		`{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"a":1,"A":2}}}`:                       "allow",
	} {
		h, _ := rig(t, command("PreToolUse", "", printing(t, text), ""))
		o := h.Fire(t.Context(), bash(PreToolUse))
		if o.Decision != want {
			t.Errorf("%s: %q, want %q", text, o.Decision, want)
		}
		if want == "allow" && string(o.Input) != `{"a":1,"A":2}` {
			t.Errorf("the input became %s", o.Input)
		}
	}
	for _, text := range []string{
		`{"hookSpecificOutput":{"decision":{"behavior":"deny","behavior":"allow"}}}`,
		`{"hookSpecificOutput":{"decision":{"behavior":"deny"},"decision":{"behavior":"allow"}}}`,
	} {
		h, _ := rig(t, command("PermissionRequest", "", printing(t, text), ""))
		if o := h.Fire(t.Context(), bash(PermissionRequest)); o.Request == nil || o.Request.Behavior != "deny" {
			t.Errorf("%s: %+v", text, o.Request)
		}
	}
	h, _ := rig(t, command("Stop", "", printing(t, `{"continue":false,"continue":true}`), ""))
	if o := h.Fire(t.Context(), Event{Name: Stop}); !o.Stop {
		t.Error("a stop was overruled by its double")
	}
	spec, _ := SpecOf(PreToolUse)
	if a := readVerdict(spec, &Handler{}, `{"ok":false,"ok":true}`); a.decision != "deny" {
		t.Errorf("a model's no was overruled by its double: %+v", a)
	}
}

// TestLimitsOfHTTPHooksAreThoseOfTheMoment: what the settings allow is looked up at each call.
func TestLimitsOfHTTPHooksAreThoseOfTheMoment(t *testing.T) {
	calls := 0
	var sent string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls++
		sent = r.Header.Get("X-Key")
	}))
	defer srv.Close()
	var limits HTTPLimits
	h, _ := rig(t, fmt.Sprintf(`{"Stop":[{"hooks":[{"type":"http","url":%q,"headers":{"X-Key":"$KEY"},"allowedEnvVars":["KEY"]}]}]}`, srv.URL), func(c *Config) {
		c.HTTPLimits = func() HTTPLimits { return limits }
		c.Getenv = func(string) string { return "secret" }
	})
	h.Fire(t.Context(), Event{Name: Stop})
	if calls != 1 || sent != "secret" {
		t.Fatalf("%d calls, sent %q", calls, sent)
	}
	limits.Vars = &[]string{}
	if h.Fire(t.Context(), Event{Name: Stop}); calls != 2 || sent != "" {
		t.Errorf("%d calls, sent %q although no variable may be sent any more", calls, sent)
	}
	limits.URLs = &[]string{}
	if h.Fire(t.Context(), Event{Name: Stop}); calls != 2 {
		t.Error("called although no address is allowed any more")
	}
}

func TestKF117_VerdictInTheWrongPlaceIsNone(t *testing.T) {
	for _, out := range []string{
		`{"permissionDecision": "deny"}`, `{"permissionDecision": "deny", "decision": "approve"}`, `{"hookSpecificOutput": {"decision": "deny"}}`,
		`{"hookSpecificOutput": {"hookEventName": "PreToolUse", "decision": {"behavior": "deny"}}}`,
	} {
		h, _ := rig(t, fmt.Sprintf(`{"PreToolUse": [{"hooks": [{"type": "command", "command": %q}]}]}`, "echo '"+out+"'"))
		if o := h.Fire(t.Context(), bash(PreToolUse)); o.Decision != "ask" || !o.Guard {
			t.Errorf("%s: the call runs: %q, guard %v, notices %q", out, o.Decision, o.Guard, o.Notices)
		}
	}
	h, problems := rig(t, `{"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "name": "mine", "description": "x", "rewakeSummary": "y"}]}]}`)
	if o := h.Fire(t.Context(), bash(PreToolUse)); len(problems) > 0 || o.Decision != "" {
		t.Errorf("members of somebody else spoil a handler: %v %q", problems, o.Decision)
	}
}

// Arguments that a shell or an interpreter reads as its program keep the placeholder; a shell finds the value in its environment.
func TestKF116_ArgumentsThatAreProgramsKeepThePlaceholder(t *testing.T) {
	const dir = "${CLAUDE_PROJECT_DIR}"
	for _, words := range [][]string{
		{"/bin/sh", "-c", `test -d "` + dir + `"`},
		{"sh", "-c", dir},
		{"bash", "-ec", dir + "/guard.sh"},
		{"env", "A=b", "sh", "-c", "ls " + dir},
		{"env", "-S", "sh " + dir},
		{"awk", `BEGIN{system("ls ` + dir + `")}`},
		{"python3", "-c", "print('" + dir + "')"},
		{"python3.12", "-c", dir},
		{"perl", "-e", dir},
		{"node", "-p", dir},
		{"node", "--eval", dir},
		{"php", "-r", dir},
		{"ssh", "h", "ls", dir},
		{"watch", "ls", dir},
		{"su", "-c", dir},
		{"find", ".", "-exec", "sh", "-c", "ls '" + dir + "'", ";"},
		{"npm", "exec", "-c", "ls " + dir},
		{"bash", "-c" + dir},
		{"sed", "s|x|" + dir + " |e"},
	} {
		x := &Handler{Command: words[0], Args: words[1:]}
		if got := x.Words("/p/x$(touch pwned)"); !slices.Equal(got, words) {
			t.Errorf("%q becomes %q", words, got)
		}
	}
	for _, words := range [][]string{
		{dir + "/guard.sh", dir},
		{"sh", dir + "/guard.sh"},
		{"bash", "-x", dir + "/guard.sh", "--dir=" + dir},
		{"python3", "-u", dir + "/check.py"},
		{"node", "-r", dir + "/a.js"},
		{"mytool", "--message", "in " + dir + " now"},
		{"npm", "--prefix", dir, "run", "lint"},
		{"env", "A=" + dir, "make"},
		{"timeout", "5", dir + "/x"},
		{"docker", "run", "-e", "D=" + dir, "img"},
		{"sudo", "-u", "x", dir + "/guard.sh"},
	} {
		x := &Handler{Command: words[0], Args: words[1:]}
		if got := strings.Join(x.Words("/p"), " "); got != strings.ReplaceAll(strings.Join(words, " "), dir, "/p") {
			t.Errorf("%q becomes %q", words, got)
		}
	}
	for _, name := range []string{"x$(touch pwned)", "x`touch pwned`", `x"; touch pwned; "`, "x'; touch pwned; '", "x;touch pwned;"} {
		root := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		h, _ := rig(t, command("Stop", "", "/bin/sh", `,"args":["-c","test -d \"${CLAUDE_PROJECT_DIR}\" && printf %s \"${CLAUDE_PROJECT_DIR}\""]`), func(c *Config) {
			c.Root = func() string { return root }
			c.Cwd = func() string { return root }
		})
		o := h.Fire(t.Context(), Event{Name: Stop})
		if len(o.Runs) != 1 || o.Runs[0].Stdout != root {
			t.Errorf("%q: %+v %q", name, o.Runs, o.Notices)
		}
		if _, err := os.Stat(filepath.Join(root, "pwned")); err == nil {
			t.Fatalf("the name %q was executed", name)
		}
	}
}
