package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/surface/plain"
)

// answering is a session that answers each prompt with its own text.
type answering struct {
	queue chan proto.Event
	said  []string
}

func (a *answering) Do(op proto.Op) error {
	p, ok := op.Body.(proto.Prompt)
	if !ok {
		return nil
	}
	text := msg.TextOf(p.Content)
	a.said = append(a.said, text)
	for _, b := range []proto.EventBody{
		proto.TurnStarted{Model: "test/m", Mode: "default"},
		proto.Message{Message: msg.Message{ID: "m", Role: msg.Assistant, Response: "r", Model: "test/m", Content: []msg.Block{msg.Text{Text: "you said " + text}}}},
		proto.Result{Subtype: "success", Text: "you said " + text, Turns: 1, Ended: proto.Ended{Reason: proto.EndCompleted}},
	} {
		a.queue <- proto.E(b)
	}
	return nil
}

func (a *answering) Events(ctx context.Context) iter.Seq[proto.Event] {
	return func(yield func(proto.Event) bool) {
		for {
			select {
			case e := <-a.queue:
				if !yield(e) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (a *answering) View() plain.View {
	return plain.View{Session: "s-1", Model: "test/m", Mode: "default"}
}
func (a *answering) Close(context.Context) error { return nil }

// ran is what one run of the program left behind.
type ran struct {
	code     int
	out, err string
	opened   *app.Options
	flags    *Flags
}

type surroundings struct {
	in         string
	env        map[string]string
	inTTY, tty bool
	root       bool
	container  bool
	deps       Deps
	openErr    error
	cwd        string
}

func run(t *testing.T, s surroundings, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	var r ran
	d := s.deps
	d.Open = func(_ context.Context, o app.Options, f *Flags) (Session, error) {
		r.opened, r.flags = &o, f
		if s.openErr != nil {
			return nil, s.openErr
		}
		return &answering{queue: make(chan proto.Event, 100)}, nil
	}
	p := Process{
		In: strings.NewReader(s.in), Out: &out, Err: &errs, InTTY: s.inTTY, OutTTY: s.tty, Root: s.root, Container: s.container, Cwd: s.cwd,
		Getenv: func(k string) string { return s.env[k] },
	}
	if p.Cwd == "" {
		p.Cwd = t.TempDir()
	}
	r.code = Main(append([]string{"myelin"}, args...), p, d)
	r.out, r.err = out.String(), errs.String()
	return r
}

func sdk() map[string]string { return map[string]string{"CLAUDE_CODE_ENTRYPOINT": "sdk-py"} }

func TestVersions(t *testing.T) {
	if got := run(t, surroundings{}, "-v"); got.out != fmt.Sprintf("%s (myelin %s)\n", Protocol, Version()) || got.code != 0 {
		t.Errorf("-v: %+v", got)
	}
	want := fmt.Sprintf("myelin %s (protocol %s)\n", Version(), Protocol)
	for _, args := range [][]string{{"--version"}, {"--model", "m", "--version"}, {"version"}} {
		if got := run(t, surroundings{}, args...); got.out != want || got.code != 0 || got.opened != nil {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestHelpersAreAnsweredBeforeAnythingElse(t *testing.T) {
	helper := func(args []string) (int, bool) { return 42, len(args) > 0 && args[0] == "__sandbox" }
	got := run(t, surroundings{deps: Deps{Helpers: []Helper{helper}}}, "__sandbox", "--no-such-flag")
	if got.code != 42 || got.out+got.err != "" {
		t.Errorf("%+v", got)
	}
}

func TestAPromptIsAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		s    surroundings
		args []string
		want string
	}{
		"argument":             {surroundings{}, []string{"-p", "hi"}, "you said hi\n"},
		"argument before flag": {surroundings{}, []string{"hi", "-p"}, "you said hi\n"},
		"standard input":       {surroundings{in: "from a pipe"}, []string{"-p"}, "you said from a pipe\n"},
		"both":                 {surroundings{in: "code"}, []string{"-p", "explain"}, "you said explain\n\ncode\n"},
		"no terminal":          {surroundings{}, []string{"hi"}, "you said hi\n"},
		"a command's name":     {surroundings{}, []string{"-p", "tools"}, "you said tools\n"},
		"behind two dashes":    {surroundings{}, []string{"-p", "--", "-x is what?"}, "you said -x is what?\n"},
		"several words":        {surroundings{}, []string{"-p", "a", "b"}, "you said a b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.s, tc.args...)
			if got.out != tc.want || got.err != "" || got.code != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestUsageErrorsAreOneLine(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--outptu-format", "json"}, "unknown option '--outptu-format' (did you mean --output-format?)"},
		{[]string{"--zzz"}, "unknown option '--zzz'"},
		{[]string{"-z"}, "unknown option '-z'"},
		{[]string{"-p"}, "no prompt and no terminal"},
		{[]string{"--model"}, "option '--model' needs a value"},
		{[]string{"-p", "x", "--max-turns", "many"}, `option '--max-turns': "many" is no whole number`},
		{[]string{"-p", "x", "--max-turns", "0"}, "must be 1 or more"},
		{[]string{"-p", "x", "--max-budget-usd", "0"}, "must be more than 0"},
		{[]string{"-p", "x", "--max-thinking-tokens=-1"}, "must be 0 or more"},
		{[]string{"-p", "x", "--permission-mode", "plam"}, "(did you mean plan?)"},
		{[]string{"-p", "x", "--output-format", "yaml"}, `"yaml" is none of text, json, stream-json`},
		{[]string{"-p", "x", "--setting-sources", "user,global"}, `"global" is none of`},
		{[]string{"-p", "x", "--session-id", "7"}, `"7" is no UUID`},
		{[]string{"-p", "x", "--session-id", "0b2b6f0e-4c4b-4a57-9a4e-3f3f6a1f2a10", "--continue"}, "needs --fork-session"},
		{[]string{"-p", "x", "--system-prompt", "", "--system-prompt-file", "f"}, "exclude each other"},
		{[]string{"-p", "x", "--system-prompt-file", "/no/such"}, "no such file"},
		{[]string{"-p", "x", "--settings", "/no/such"}, "no such file"},
		{[]string{"-p", "x", "--settings", "{broken"}, "option '--settings'"},
		{[]string{"-p", "x", "--mcp-config", "{broken"}, "option '--mcp-config'"},
		{[]string{"-p", "x", "--agents", "[]"}, "expected a JSON object"},
		{[]string{"-p", "x", "--json-schema", "{"}, "option '--json-schema'"},
		{[]string{"-p", "x", "--json-schema", `{"type":7}`}, "option '--json-schema'"},
		{[]string{"-p", "x", "--include-partial-messages"}, "needs --output-format=stream-json"},
		{[]string{"-p", "x", "--replay-user-messages"}, "needs --output-format=stream-json"},
		{[]string{"-p", "x", "--resume"}, "needs a session id"},
		{[]string{"-p", "x", "--fork-session"}, "needs --resume or --continue"},
		{[]string{"-p", "x", "--trust=everything"}, `"everything" is none of`},
		{[]string{"-p", "x", "--plain"}, "--plain is for interactive sessions"},
		{[]string{"-p", "x", "--cwd", "/no/such"}, "is no folder"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			got := run(t, surroundings{}, tc.args...)
			if got.code != 2 || got.out != "" || got.opened != nil {
				t.Errorf("%+v", got)
			}
			if !strings.HasPrefix(got.err, "error: ") || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, tc.want) {
				t.Errorf("stderr %q, want %q", got.err, tc.want)
			}
			if got := run(t, surroundings{env: sdk()}, tc.args...); got.code != 1 {
				t.Errorf("started by an SDK: code %d", got.code)
			}
		})
	}
}

func TestArgumentsThatNameTheProtocolEndWithItsCodes(t *testing.T) {
	for _, args := range [][]string{
		{"-p", "x", "--output-format", "stream-json"}, // needs --verbose
		{"-p", "x", "--output-format=stream-json", "--nope"},
		{"--input-format", "stream-json", "--output-format", "text"},
		{"--input-format=stream-json", "--output-format=stream-json"}, // no such input in this build
	} {
		if got := run(t, surroundings{}, args...); got.code != 1 || got.out != "" || got.err == "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestFlagsBecomeOptions(t *testing.T) {
	dir := t.TempDir()
	prompt := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(prompt, []byte("be short"), 0o600); err != nil {
		t.Fatal(err)
	}
	none, three := []string{}, []string{"Bash", "Read"}
	zero, some := 0, 4000
	empty, short := "", "be short"
	for name, tc := range map[string]struct {
		args []string
		want func(*app.Options)
	}{
		"nothing":         {nil, func(*app.Options) {}},
		"equals":          {[]string{"--model=opus"}, func(o *app.Options) { o.Model = "opus" }},
		"two words":       {[]string{"--model", "opus"}, func(o *app.Options) { o.Model = "opus" }},
		"no tools":        {[]string{"--tools="}, func(o *app.Options) { o.Tools = &none }},
		"no tools, twice": {[]string{"--tools", ""}, func(o *app.Options) { o.Tools = &none }},
		"all tools":       {[]string{"--tools", "default"}, func(*app.Options) {}},
		"some tools":      {[]string{"--tools", "Bash, Read"}, func(o *app.Options) { o.Tools = &three }},
		"no sources":      {[]string{"--setting-sources", ""}, func(o *app.Options) { o.SettingSources = &none }},
		"rules": {[]string{"--allowedTools", "Bash(git log:*),Read Edit(a b)", "--allowed-tools=Grep"}, func(o *app.Options) {
			o.Allow = []string{"Bash(git log:*)", "Read", "Edit(a b)", "Grep"}
		}},
		"deny":            {[]string{"--disallowedTools=WebFetch"}, func(o *app.Options) { o.Deny = []string{"WebFetch"} }},
		"empty prompt":    {[]string{"--system-prompt", ""}, func(o *app.Options) { o.SystemPrompt = &empty }},
		"prompt file":     {[]string{"--system-prompt-file", prompt}, func(o *app.Options) { o.SystemPrompt = &short }},
		"no thinking":     {[]string{"--thinking", "disabled"}, func(o *app.Options) { o.Thinking = &zero }},
		"thinking budget": {[]string{"--max-thinking-tokens", "4000"}, func(o *app.Options) { o.Thinking = &some }},
		"manual mode":     {[]string{"--permission-mode", "manual"}, func(o *app.Options) { o.Mode = "default" }},
		"resume":          {[]string{"--resume", "s-1", "--fork-session"}, func(o *app.Options) { o.Resume, o.Fork = "s-1", true }},
		"resume equals":   {[]string{"--resume=s-1"}, func(o *app.Options) { o.Resume = "s-1" }},
		"resume short":    {[]string{"-r", "s-1"}, func(o *app.Options) { o.Resume = "s-1" }},
		"continue":        {[]string{"-c"}, func(o *app.Options) { o.Continue = true }},
		"resume wins":     {[]string{"--continue", "--resume=s-1"}, func(o *app.Options) { o.Resume = "s-1" }},
		"trust":           {[]string{"--trust"}, func(o *app.Options) { o.Trust = &none }},
		"trust some":      {[]string{"--trust=hooks,mcp"}, func(o *app.Options) { o.Trust = &[]string{"hooks", "mcp"} }},
		"limits": {[]string{"--max-turns", "3", "--max-budget-usd=0.5"}, func(o *app.Options) {
			o.MaxTurns, o.MaxBudgetUSD = 3, 0.5
		}},
		"fallbacks": {[]string{"--fallback-model", "a,b"}, func(o *app.Options) { o.Fallbacks = []string{"a", "b"} }},
		"dirs":      {[]string{"--add-dir", "/a", "--add-dir=/b"}, func(o *app.Options) { o.AddDirs = []string{"/a", "/b"} }},
		"effort":    {[]string{"--effort=high"}, func(o *app.Options) { o.Effort = "high" }},
		"settings":  {[]string{"--settings", `{"a":1, /* ok */}`}, func(o *app.Options) { o.Settings = `{"a":1, /* ok */}` }},
		"schema": {[]string{"--json-schema", `{"type":"object"}`}, func(o *app.Options) {
			o.Schema = json.RawMessage(`{"type":"object"}`)
		}},
		"no questions": {[]string{"--permission-prompts", "none"}, func(o *app.Options) { o.Silent = "questions are switched off (--permission-prompts none)" }},
		"bad rules":    {[]string{"--ignore-bad-rules"}, func(o *app.Options) { o.IgnoreBadRules = true }},
		"bypass":       {[]string{"--dangerously-skip-permissions"}, func(o *app.Options) { o.Bypass = true }},
		"append":       {[]string{"--append-system-prompt", "x"}, func(o *app.Options) { o.AppendSystemPrompt = "x" }},
		"no file":      {[]string{"--no-session-persistence"}, func(o *app.Options) { o.NoPersist = true }},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, surroundings{cwd: dir}, append([]string{"-p", "hi"}, tc.args...)...)
			if got.opened == nil {
				t.Fatalf("nothing was opened: %+v", got)
			}
			want := app.Options{Cwd: dir, Version: Version(), Host: app.Host{Entrypoint: "cli"}}
			tc.want(&want)
			have := *got.opened
			have.Warn = nil
			if len(have.Allow) == 0 {
				have.Allow = nil
			}
			normaliseEmpty(&have)
			if !reflect.DeepEqual(have, want) {
				t.Errorf("got  %+v\nwant %+v", have, want)
			}
		})
	}
}

// normaliseEmpty takes empty lists for none where both mean the same.
func normaliseEmpty(o *app.Options) {
	for _, l := range []*[]string{&o.Fallbacks, &o.Betas, &o.Allow, &o.Deny, &o.AddDirs} {
		if len(*l) == 0 {
			*l = nil
		}
	}
}

func TestAnSDKIsADropInWithoutOfflineModel(t *testing.T) {
	got := run(t, surroundings{env: sdk()}, "-p", "hi")
	if o := got.opened; o == nil || !o.DropIn || !o.NoOffline || o.Entrypoint != "sdk-py" {
		t.Errorf("%+v", got.opened)
	}
	got = run(t, surroundings{}, "-p", "hi", "--output-format", "stream-json", "--verbose")
	if o := got.opened; o == nil || o.DropIn || !o.NoOffline {
		t.Errorf("%+v", got.opened)
	}
}

// publishedFlags is the table of flags that hosts may pass.
func TestEveryPublishedFlagIsTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"output-format": "stream-json", "permission-prompt-tool": "stdio", "permission-prompts": "none", "permission-mode": "plan",
		"allowedTools": "Read", "disallowedTools": "Read", "tools": "Bash", "model": "m", "fallback-model": "a,b", "max-turns": "3",
		"max-budget-usd": "1", "task-budget": "100", "system-prompt": "x", "append-system-prompt": "x", "session-id": "0b2b6f0e-4c4b-4a57-9a4e-3f3f6a1f2a10",
		"settings": file, "managed-settings": "{}", "setting-sources": "user", "add-dir": "/x", "mcp-config": `{"mcpServers":{}}`,
		"json-schema": "{}", "agents": "{}", "agent": "a", "plugin-dir": "/x", "plugin-dir-no-mcp": "/x", "betas": "b",
		"thinking": "adaptive", "thinking-display": "x", "max-thinking-tokens": "0", "effort": "low", "project-config-root": "/x",
		"debug-file": "/x", "initialize-fields": "x", "sdk-url": "x", "channels": "x",
	}
	switches := []string{
		"verbose", "allow-dangerously-skip-permissions", "dangerously-skip-permissions", "strict-mcp-config", "include-partial-messages",
		"include-hook-events", "replay-user-messages", "await-initialize", "forward-subagent-text", "no-session-persistence",
		"session-mirror", "debug", "debug-to-stderr", "managed-settings-in-initialize", "await-claim",
	}
	stream := []string{"-p", "hi", "--verbose", "--output-format=stream-json"}
	for name, value := range values {
		for _, args := range [][]string{{"--" + name, value}, {"--" + name + "=" + value}} {
			if got := run(t, surroundings{}, append(stream, args...)...); got.code != 0 || got.opened == nil {
				t.Errorf("%v: %+v", args, got)
			}
		}
	}
	for _, name := range switches {
		if got := run(t, surroundings{}, append(stream, "--"+name)...); got.code != 0 || got.opened == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, args := range [][]string{
		{"--resume=x", "--fork-session", "--resume-session-at=y", "--resume-drops-turn=z"},
		{"--continue"},
		{"--debug=api"},
		{"--system-prompt-file", file},
	} {
		if got := run(t, surroundings{}, append(stream, args...)...); got.code != 0 || got.opened == nil {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestWhatHasNoEffectIsSaid(t *testing.T) {
	got := run(t, surroundings{deps: Deps{Inert: []string{"agent", "mcp-config"}}}, "-p", "hi", "--agent", "x")
	if got.code != 0 || got.err != "myelin: warning: without effect in this release: --agent\n" {
		t.Errorf("%+v", got)
	}
	got = run(t, surroundings{deps: Deps{Inert: inertFlags()}}, "-p", "hi", "--resume=x", "--resume-drops-turn=y")
	if got.code != 2 || got.opened != nil {
		t.Errorf("a guard was ignored: %+v", got)
	}
	if got := run(t, surroundings{}, "-p", "hi", "--effort", "huge"); got.code != 0 || !strings.Contains(got.err, `effort "huge"`) {
		t.Errorf("%+v", got)
	}
}

func TestPermissionsAreNotSkippedAsRoot(t *testing.T) {
	for _, flag := range []string{"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--permission-mode=bypassPermissions"} {
		if got := run(t, surroundings{root: true}, "-p", "hi", flag); got.code != 2 || got.opened != nil {
			t.Errorf("%s: %+v", flag, got)
		}
		in := map[string]string{"IS_SANDBOX": "1"}
		if got := run(t, surroundings{root: true, env: in}, "-p", "hi", flag); got.code != 0 {
			t.Errorf("%s in a sandbox: %+v", flag, got)
		}
		if got := run(t, surroundings{root: true, container: true}, "-p", "hi", flag); got.code != 0 {
			t.Errorf("%s in a container: %+v", flag, got)
		}
	}
}

type refusal struct{}

func (refusal) Error() string         { return "No conversation found with session ID: s-9" }
func (refusal) ResumeRefused() string { return "s-9" }

type settingsFault struct{}

func (settingsFault) Error() string { return "settings.json:3: deny[0] cannot be read" }
func (settingsFault) ExitCode() int { return 8 }

func TestASessionThatCannotStart(t *testing.T) {
	refused := refusal{}.Error() + "\n"
	got := run(t, surroundings{openErr: refusal{}}, "-p", "hi", "--resume=s-9", "--output-format=stream-json", "--verbose")
	if got.code != 1 || got.err != refused || !strings.Contains(got.out, `"error_during_execution"`) {
		t.Errorf("stream: %+v", got)
	}
	got = run(t, surroundings{openErr: refusal{}}, "-p", "hi", "--resume=s-9")
	if got.code != 1 || got.out != "" || got.err != refused {
		t.Errorf("text: %+v", got)
	}
	got = run(t, surroundings{openErr: fmt.Errorf("start: %w", settingsFault{})}, "-p", "hi")
	if got.code != 8 || got.out != "" {
		t.Errorf("settings: %+v", got)
	}
	got = run(t, surroundings{openErr: settingsFault{}, env: sdk()}, "-p", "hi")
	if got.code != 1 {
		t.Errorf("settings, SDK: %+v", got)
	}
}

func TestCommandsWithoutAFunctionDoNotExist(t *testing.T) {
	help := run(t, surroundings{}, "--help")
	for _, name := range []string{"models", "tools", "doctor", "fake-api", "config", "permissions", "sandbox", "hooks", "policy", "tasks", "state", "replay", "sessions"} {
		if strings.Contains(help.out, "\n  "+name+" ") {
			t.Errorf("%s is offered", name)
		}
	}
	for _, name := range []string{"demo", "resume", "version", "completion"} {
		if !strings.Contains(help.out, "\n  "+name+" ") {
			t.Errorf("%s is not offered in\n%s", name, help.out)
		}
	}
}

func TestAMistypedCommandIsNotSentToAModel(t *testing.T) {
	d := Deps{Doctor: func(context.Context, app.Options, func(inspect.Check)) error { return nil }}
	got := run(t, surroundings{deps: d, tty: true, inTTY: true}, "docter")
	if got.code != 2 || !strings.Contains(got.err, "did you mean doctor?") || got.opened != nil {
		t.Errorf("%+v", got)
	}
}

func TestCompletionForFourShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, surroundings{}, "completion", shell); got.code != 0 || !strings.Contains(got.out, "myelin") {
			t.Errorf("%s: code %d, %d bytes", shell, got.code, len(got.out))
		}
	}
	if got := run(t, surroundings{}, "__complete", "--permission-mode", ""); !strings.Contains(got.out, "acceptEdits") {
		t.Errorf("%+v", got)
	}
}

func TestAPlainSessionFromAScript(t *testing.T) {
	got := run(t, surroundings{in: "first\nsecond\n/exit\nnever\n"}, "--plain")
	if got.code != 0 || strings.ContainsAny(got.out, "\x1b\r") {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"you: first", "you said first", "you: second", "you said second", "resume with: myelin --resume s-1"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "never") {
		t.Error("it went on after /exit")
	}
}

func TestChoosingASession(t *testing.T) {
	d := Deps{Sessions: func(context.Context, string, bool) ([]inspect.SessionRow, error) {
		return []inspect.SessionRow{{ID: "s-1", Title: "one"}, {ID: "s-2", FirstPrompt: "two\nlines"}}, nil
	}}
	got := run(t, surroundings{deps: d, tty: true, inTTY: true, in: "9\n2\n"}, "--resume")
	if got.opened == nil || got.opened.Resume != "s-2" || !strings.Contains(got.out, "2  two lines") {
		t.Errorf("%+v", got)
	}
	if got := run(t, surroundings{deps: d, tty: true, inTTY: true, in: "\n"}, "resume"); got.opened != nil || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := run(t, surroundings{deps: d}, "sessions", "--json"); !strings.Contains(got.out, `"id": "s-2"`) {
		t.Errorf("%+v", got)
	}
}

func TestCommandsPrint(t *testing.T) {
	d := Deps{
		Models: func(context.Context, app.Options) ([]inspect.ModelRow, error) {
			return []inspect.ModelRow{
				{Info: provider.Info{Provider: "a", ID: "m", ContextWindow: 200000, Price: provider.Price{Input: 3}}, Found: "A_KEY", Chosen: true},
				{Info: provider.Info{Provider: "b", ID: "n"}, Found: "b", Why: "no key"},
			}, nil
		},
		CheckModel: func(_ context.Context, _ app.Options, name string, tell func(inspect.Check)) error {
			tell(inspect.Check{Name: "streaming", Status: "ok"})
			tell(inspect.Check{Name: "parallel calls", Status: "failed", Detail: name + " sent one"})
			return nil
		},
		Tools: func(context.Context, app.Options) ([]inspect.ToolRow, error) {
			return []inspect.ToolRow{{Name: "Bash", Description: "Runs.\nMore.", State: "offered"}, {Name: "Edit", State: "denied", Step: "deny", Reason: "rule Edit"}}, nil
		},
		Config: ConfigDeps{
			Get: func(_ context.Context, _ app.Options, key string) (inspect.Value, error) {
				if key != "model" {
					return inspect.Value{}, errors.New("no key " + key)
				}
				return inspect.Value{Key: key, Value: json.RawMessage(`"opus"`)}, nil
			},
			Set: func(_ context.Context, _ app.Options, scope, key string, v json.RawMessage) (string, error) {
				return fmt.Sprintf("%s %s=%s", scope, key, v), nil
			},
			Validate: func(context.Context, app.Options, []string) ([]inspect.Problem, error) {
				return []inspect.Problem{{Place: "a.json:3", Level: "error", Text: "bad"}}, nil
			},
		},
		Permission: PermissionDeps{
			Why: func(_ context.Context, _ app.Options, r CallRequest) (inspect.Decision, error) {
				return inspect.Decision{Behavior: "ask", Lines: []string{r.Tool + " " + r.Argument + string(r.Input)}}, nil
			},
			Test: func(_ context.Context, _ app.Options, file string, tell func(inspect.Check)) error {
				tell(inspect.Check{Name: filepath.Base(file), Status: "ok"})
				return nil
			},
		},
		FakeAPI: func(_ context.Context, r FakeAPIRequest, out io.Writer) error {
			_, err := fmt.Fprintln(out, r.API, filepath.Base(r.Script))
			return err
		},
	}
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"models", 0, "*  a/m    200k    ?       3         –    A_KEY"},
		{"models --all", 0, "b (no key)"},
		{"models check a/m", 1, "✗ parallel calls (failed): a/m sent one"},
		{"models check", 2, ""},
		{"models frob", 2, ""},
		{"tools", 0, "Bash  Runs.\n"},
		{"tools --trace", 0, "Edit  denied   deny  rule Edit"},
		{"tools --json", 0, `"name": "Bash"`},
		{"config get model", 0, "opus\n"},
		{"config get nope", 1, ""},
		{"config set a true", 0, "user a=true\n"},
		{"config set a word --scope local", 0, `local a="word"`},
		{"config set a b --scope moon", 2, ""},
		{"config validate", 1, "a.json:3: error: bad"},
		{"config frob", 2, ""},
		{"config", 0, "Available Commands"},
		{"permissions why Bash git push", 0, `ask` + "\n" + `  Bash git push`},
		{"permissions why Bash(ls)", 0, `  Bash ls`},
		{`permissions why X --input {"a":1}`, 0, `  X {"a":1}`},
		{"permissions why X --input [", 2, ""},
		{"permissions test v.json", 0, "✓ v.json"},
		{"fake-api --script s.yaml", 0, "anthropic s.yaml"},
		{"fake-api", 2, ""},
		{"fake-api --script s --api soap", 2, ""},
		{"tools --nope", 2, ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			got := run(t, surroundings{deps: d}, strings.Fields(tc.args)...)
			if got.code != tc.code || !strings.Contains(got.out, tc.want) {
				t.Errorf("code %d, out %q, err %q", got.code, got.out, got.err)
			}
			if tc.code != 0 && got.out+got.err == "" {
				t.Error("nothing was said")
			}
		})
	}
}

func TestListsAreTakenApart(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Read":                      "Read",
		"Bash(git log:*),Read":      "Bash(git log:*)|Read",
		"Bash(a, b) Edit( c )":      "Bash(a, b)|Edit( c )",
		" a ,, b\tc\n":              "a|b|c",
		"Bash(echo (x, y)),Read":    "Bash(echo (x, y))|Read",
		"Bash(unclosed, Read":       "Bash(unclosed, Read",
		"a),b":                      "a)|b",
		"mcp__x__y,Agent(Explore)":  "mcp__x__y|Agent(Explore)",
		"Read(/a b/**),Write(é, ü)": "Read(/a b/**)|Write(é, ü)",
	} {
		if got := strings.Join(splitList(in), "|"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzSplitList(f *testing.F) {
	f.Add("Bash(git log:*),Read Edit(a b)")
	f.Add("((,")
	f.Fuzz(func(t *testing.T, s string) {
		strip := strings.NewReplacer(",", "", " ", "", "\t", "", "\n", "", "\v", "", "\f", "", "\r", "", "\u0085", "", "\u00a0", "")
		joined := ""
		for _, part := range splitList(s) {
			if strings.TrimSpace(part) == "" {
				t.Errorf("an empty part in %q", s)
			}
			joined += part
		}
		trimmed := strings.TrimSpace(s)
		if utf8.ValidString(s) && strip.Replace(joined) != strip.Replace(trimmed) && !strings.ContainsFunc(s, exotic) {
			t.Errorf("%q lost text: %q", s, joined)
		}
	})
}

// exotic are blanks that trimming takes and that are no separators.
func exotic(r rune) bool { return r > 0x7f && unicode.IsSpace(r) }

func TestEveryFlagSaysWhatItDoes(t *testing.T) {
	s := pflag.NewFlagSet("x", pflag.ContinueOnError)
	(&Flags{}).define(s, nil)
	for _, name := range append(inertFlags(), guards()...) {
		if s.Lookup(name) == nil {
			t.Errorf("--%s is listed and does not exist", name)
		}
	}
	s.VisitAll(func(f *pflag.Flag) {
		if len(f.Usage) < 8 {
			t.Errorf("--%s: %q", f.Name, f.Usage)
		}
	})
}
