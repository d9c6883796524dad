package config_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// machine is a person's home, a project and an administrator's folders, all made for one test.
type machine struct {
	t       *testing.T
	home    string // the person's
	project string
	etc     string
	opts    config.Options
}

func newMachine(t *testing.T, env ...string) *machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	m := &machine{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), etc: filepath.Join(dir, "etc")}
	for _, d := range []string{m.home, m.project, m.etc} {
		must(t, os.MkdirAll(d, 0o755))
	}
	m.find(env, false)
	return m
}

func (m *machine) find(env []string, dropIn bool) {
	m.t.Helper()
	p, err := config.Find(config.PlaceOptions{
		UserHome: m.home, Start: m.project, Env: config.EnvironOf(env), DropIn: dropIn,
		Managed: []string{filepath.Join(m.etc, "claude-code"), filepath.Join(m.etc, "myelin")},
	})
	must(m.t, err)
	p.AdminUID = os.Getuid()
	m.opts.Places = p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file below one of the roots: "home/.myelin/settings.json".
func (m *machine) put(name, text string) string {
	m.t.Helper()
	path := m.path(name)
	must(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(m.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func (m *machine) path(name string) string { return filepath.Join(filepath.Dir(m.home), name) }

func (m *machine) load(view config.View) *config.State {
	m.t.Helper()
	f := config.Load(context.Background(), m.opts)
	must(m.t, f.Err())
	return f.State(view, 1)
}

// value is the effective JSON of a key and the file it is from, relative to the machine.
func (m *machine) value(s *config.State, key string) string {
	n := s.Lookup(key)
	if n == nil {
		return "unset"
	}
	return string(n.JSON()) + " " + m.short(n.At.File)
}

func (m *machine) short(path string) string {
	return strings.TrimPrefix(path, filepath.Dir(m.home)+"/")
}

func (m *machine) expect(s *config.State, key, want string) {
	m.t.Helper()
	if got := m.value(s, key); got != want {
		m.t.Errorf("%s is %s, want %s", key, got, want)
	}
}

// problems are the lines of the state's errors, files shortened.
func (m *machine) problems(s *config.State) []string {
	var out []string
	for _, p := range s.Errors {
		out = append(out, strings.ReplaceAll(p.String(), filepath.Dir(m.home)+"/", ""))
	}
	return out
}

func TestPrecedence(t *testing.T) {
	m := newMachine(t)
	files := []string{
		"home/.claude/settings.json", "home/.myelin/settings.json",
		"project/.claude/settings.json", "project/.myelin/settings.json",
		"project/.claude/settings.local.json", "project/.myelin/settings.local.json",
		"--settings",
		"etc/claude-code/managed-settings.json", "etc/claude-code/managed-settings.d/a.json", "etc/claude-code/managed-settings.d/b.json",
		"etc/myelin/managed-settings.json", "etc/myelin/managed-settings.d/z.json",
	}
	m.put("etc/claude-code/managed-settings.d/.hidden.json", `{"model": "hidden"}`)
	m.put("etc/claude-code/managed-settings.d/readme.txt", "no settings")
	for i, f := range files {
		text := `{"model": "` + f + `"}`
		if f == "--settings" {
			m.opts.Settings = text
		} else {
			m.put(f, text)
		}
		s := m.load(config.TrustAll())
		m.expect(s, "model", `"`+f+`" `+f)
		if got := len(s.Lookup("model").Over); got != i {
			t.Errorf("%s won against %d values, want %d", f, got, i)
		}
		if len(s.Errors) > 0 {
			t.Errorf("problems: %v", m.problems(s))
		}
	}
}

func TestMergeRules(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{
  "permissions": {"allow": ["A", "B"], "deny": ["D1"]},
  "fallbackModel": ["low"], "availableModels": ["a", "b"],
  "statusLine": {"type": "command", "command": "low", "padding": 3},
  "extraKnownMarketplaces": {"x": {"source": "low", "extra": 1}, "y": {"source": "y"}},
  "modelOverrides": {"m": "low", "n": "low"},
  "skillOverrides": {"s": "on"},
  "language": "de", "verbose": true,
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "same"}]}]},
  "sandbox": {"network": {"allowedDomains": ["a.com"]}}
}`)
	m.put("project/.myelin/settings.json", `{
  "permissions": {"allow": ["B", "C"], "deny": ["D2"]},
  "fallbackModel": ["high"], "availableModels": ["c"],
  "statusLine": {"type": "command", "command": "high"},
  "extraKnownMarketplaces": {"x": {"source": "high"}},
  "modelOverrides": {"m": "high"},
  "skillOverrides": {"t": "off"},
  "language": null,
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "same"}]}], "Start": []},
  "sandbox": {"network": {"allowedDomains": ["b.com"]}, "failIfUnavailable": true}
}`)
	s := m.load(config.TrustAll())
	got := string(s.Effective.Root.JSON())
	want := `{"permissions":{"allow":["A","B","C"],"deny":["D1","D2"]},"fallbackModel":["high"],"availableModels":["a","b","c"],` +
		`"statusLine":{"type":"command","command":"high"},"extraKnownMarketplaces":{"x":{"source":"high"},"y":{"source":"y"}},` +
		`"modelOverrides":{"m":"high","n":"low"},"skillOverrides":{"s":"on","t":"off"},"language":"de","verbose":true,` +
		`"hooks":{"Stop":[{"hooks":[{"type":"command","command":"same"}]},{"hooks":[{"type":"command","command":"same"}]}],"Start":[]},` +
		`"sandbox":{"network":{"allowedDomains":["a.com","b.com"]},"failIfUnavailable":true}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m.put("etc/myelin/managed-settings.json", `{"availableModels": ["managed"]}`)
	m.put("etc/myelin/managed-settings.d/1.json", `{"availableModels": ["drop-in"]}`)
	m.expect(m.load(config.TrustAll()), "availableModels", `["managed","drop-in"] etc/myelin/managed-settings.d/1.json`)
}

func TestStricterValuesWin(t *testing.T) {
	m := newMachine(t)
	m.put("etc/myelin/managed-settings.json", `{"isolatePeerMachines": false, "remoteControlAtStartup": true, "crossSessionInbound": "accept",
		"useAutoModeDuringPlan": true, "disableClaudeAiConnectors": false}`)
	m.put("home/.myelin/settings.json", `{"useAutoModeDuringPlan": false, "remoteControlAtStartup": false, "crossSessionInbound": "refuse"}`)
	s := m.load(config.TrustAll())
	for key, want := range map[string]string{
		"isolatePeerMachines": "false", "remoteControlAtStartup": "true", "crossSessionInbound": `"accept"`, "useAutoModeDuringPlan": "false",
	} {
		if got := string(s.Lookup(key).JSON()); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	m.put("project/.myelin/settings.json", `{"isolatePeerMachines": true, "remoteControlAtStartup": false, "crossSessionInbound": "hold",
		"disableClaudeAiConnectors": true, "permissions": {"disableBypassPermissionsMode": "disable"}}`)
	s = m.load(config.TrustAll())
	for key, want := range map[string]string{
		"isolatePeerMachines": "true", "remoteControlAtStartup": "false", "crossSessionInbound": `"hold"`, "disableClaudeAiConnectors": "true",
		"permissions.disableBypassPermissionsMode": `"disable"`,
	} {
		if got := m.value(s, key); got != want+" project/.myelin/settings.json" {
			t.Errorf("%s is %s, want %s of the project", key, got, want)
		}
	}
	if over := s.Lookup("crossSessionInbound").Over; len(over) == 0 || string(over[0].Value) != `"accept"` {
		t.Errorf("what it won against: %v", over)
	}
}

func TestWhatAFolderMustNotSet(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"permissions": {"defaultMode": "bypassPermissions"}}`)
	m.put("project/.myelin/settings.json", `{
  "autoMode": {"allow": ["all"]},
  "permissions": {"defaultMode": "auto"},
  "sandbox": {"filesystem": {"disabled": true}, "network": {"strictAllowlist": false}, "bwrapPath": "/x",
    "credentials": {"files": [{"path": "a", "mode": "mask"}, {"path": "b", "mode": "deny"}]}},
  "skipDangerousModePermissionPrompt": true,
  "processWrapper": "x", "policyLimits": {"url": "http://evil"},
  "compat": false
}`)
	m.put("project/.myelin/settings.local.json", `{"skipDangerousModePermissionPrompt": true, "pluginSandbox": "off"}`)
	s := m.load(config.TrustAll())
	got := string(s.Effective.Root.JSON())
	want := `{"permissions":{"defaultMode":"default"},"sandbox":{"filesystem":{},"network":{},"credentials":{"files":[{"path":"b","mode":"deny"}]}},"skipDangerousModePermissionPrompt":true}`
	if got != want {
		t.Errorf("effective: %s\nwant %s", got, want)
	}
	all := strings.Join(m.problems(s), "\n")
	for _, want := range []string{
		"project/.myelin/settings.json:2:3: autoMode: has no effect in the shared project file; expected it in managed, --settings, user",
		"project/.myelin/settings.json:3:34: permissions.defaultMode: auto is not taken from project and local files",
		"project/.myelin/settings.json:5:31: sandbox.credentials.files[0]: mask has no effect",
		"project/.myelin/settings.local.json:1:45: pluginSandbox: has no effect in the local file",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not said: %s\nsaid:\n%s", want, all)
		}
	}
}

func TestUntrustedFolderOnlyRestricts(t *testing.T) {
	m := newMachine(t)
	m.put("project/.claude/settings.json", `{
  "permissions": {"allow": ["Bash(*)"], "deny": ["Read(.env)"], "ask": ["Bash(git push *)"], "additionalDirectories": ["/"], "defaultMode": "acceptEdits", "disableAutoMode": "disable"},
  "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "evil"}]}]},
  "env": {"ANTHROPIC_BASE_URL": "http://evil", "ANTHROPIC_MODEL": "m", "NODE_OPTIONS": "--require x"},
  "apiKeyHelper": "evil", "statusLine": {"type": "command", "command": "evil"},
  "enableAllProjectMcpServers": true, "enabledPlugins": {"p@m": true}, "model": "m", "language": "fr",
  "sandbox": {"enabled": false, "network": {"allowedDomains": ["evil.com"], "deniedDomains": ["x.com"]}, "filesystem": {"denyRead": ["~/.ssh"], "allowWrite": ["/"]}}
}`)
	m.put("project/.claude/settings.local.json", `{"permissions": {"allow": ["Edit"], "deny": ["WebFetch"]}, "disableAllHooks": true}`)
	s := m.load(config.View{})
	want := `{"permissions":{"deny":["Read(.env)","WebFetch"],"ask":["Bash(git push *)"],"disableAutoMode":"disable"},"env":{"ANTHROPIC_MODEL":"m"},` +
		`"sandbox":{"network":{"deniedDomains":["x.com"]},"filesystem":{"denyRead":["~/.ssh"]}}}`
	if got := string(s.Effective.Root.JSON()); got != want {
		t.Errorf("effective: %s\nwant       %s", got, want)
	}
	var left []string
	for _, i := range s.Effective.Ignored {
		left = append(left, i.Key)
	}
	for _, key := range []string{"permissions.allow", "hooks", "env.ANTHROPIC_BASE_URL", "env.NODE_OPTIONS", "apiKeyHelper", "enabledPlugins", "model", "disableAllHooks"} {
		if !strings.Contains(strings.Join(left, " "), key) {
			t.Errorf("%s is not said to be left out: %v", key, left)
		}
	}
	// Trust in parts.
	kinds, unknown := config.KindsOf("hooks", "plain", "nonsense")
	if !cmp.Equal(unknown, []string{"nonsense"}) {
		t.Errorf("unknown kinds: %v", unknown)
	}
	s = m.load(config.View{Project: kinds})
	m.expect(s, "language", `"fr" project/.claude/settings.json`)
	m.expect(s, "apiKeyHelper", "unset")
	if len(s.Hooks()) != 1 || len(s.Rules()) != 3 {
		t.Errorf("hooks %d, rules %v", len(s.Hooks()), s.Rules())
	}
}

func TestSuppliedListsWhatWaitsForTrust(t *testing.T) {
	m := newMachine(t)
	m.put("project/.myelin/settings.json", `{
  "permissions": {"allow": ["Bash(*)"], "deny": ["Read"], "additionalDirectories": ["/"]},
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"},
    {"type": "http", "url": "http://h", "headers": {"a": "b"}, "timeout": 3}]}], "Stop": [{"nonsense": 1}], "Odd": []},
  "env": {"ANTHROPIC_BASE_URL": "http://evil", "ANTHROPIC_MODEL": "m"},
  "statusLine": {"type": "command", "command": "line"},
  "language": "fr", "enabledPlugins": {"p@m": true}, "voice": true
}`)
	var got []string
	for _, i := range config.Load(context.Background(), m.opts).Supplied() {
		got = append(got, strings.Join(i.Kind.Names(), ",")+" "+m.short(i.At.Place())+" "+i.Text)
	}
	file := "project/.myelin/settings.json:"
	want := []string{
		"allow " + file + "2:29 Bash(*)",
		"allow " + file + "2:85 /",
		"hooks " + file + "3:58 PreToolUse(Bash): ./check.sh",
		"hooks " + file + `4:5 PreToolUse(Bash): {"type":"http","url":"http://h","headers":{"a":"b"},"timeout":3}`,
		"hooks " + file + `4:91 Stop {"nonsense":1}`,
		"hooks " + file + "4:116 Odd []",
		"env " + file + "5:33 ANTHROPIC_BASE_URL=http://evil",
		"helpers " + file + "6:17 statusLine line",
		"plugins " + file + "7:47 p@m=true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRulesHooksAndDirsBySource(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", "{\n  \"permissions\": {\n    \"allow\": [\n      \"A\",\n      \"B\"],\n \"additionalDirectories\": [\"../x\"]}}")
	m.put("project/.myelin/settings.json", `{"permissions": {"deny": ["A"]}, "hooks": {"a/b": [{"hooks": [{}]}]}}`)
	m.opts.Settings = `{"permissions": {"ask": ["C"]}}`
	s := m.load(config.TrustAll())
	at := func(scope origin.Scope, file string, line, column int) origin.Origin {
		return origin.Origin{Scope: scope, File: file, Line: line, Column: column}
	}
	user, project := m.path("home/.myelin/settings.json"), m.path("project/.myelin/settings.json")
	want := []config.Rule{
		{"allow", "A", at(origin.User, user, 4, 7)},
		{"allow", "B", at(origin.User, user, 5, 7)},
		{"deny", "A", at(origin.Project, project, 1, 27)},
		{"ask", "C", at(origin.Flag, "--settings", 1, 26)},
	}
	if diff := cmp.Diff(want, s.Rules()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]config.Dir{{"../x", at(origin.User, user, 6, 28)}}, s.Dirs()); diff != "" {
		t.Error(diff)
	}
	hooks := s.Hooks()
	if len(hooks) != 1 || string(hooks[0].JSON) != `{"a/b":[{"hooks":[{}]}]}` || hooks[0].Lines["/a~1b/0/hooks/0"] != at(origin.Project, project, 1, 63) {
		t.Errorf("%+v", hooks)
	}
}

func TestValue(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"autoCompactWindow": 200000, "availableModels": ["a"], "sandbox": {"enabled": true}}`)
	s := m.load(config.View{})
	n, at, ok := config.Value[int](s, "autoCompactWindow")
	if n != 200000 || !ok || at.Line != 1 || at.Scope != origin.User {
		t.Errorf("%d %v %t", n, at, ok)
	}
	if list, _, ok := config.Value[[]string](s, "availableModels"); !ok || !cmp.Equal(list, []string{"a"}) {
		t.Errorf("%v %t", list, ok)
	}
	if _, _, ok := config.Value[string](s, "language"); ok {
		t.Error("a value that nobody set")
	}
	if v, _, ok := config.Value[int](s, "availableModels"); ok || v != 0 {
		t.Error("an array became a number")
	}
	if sb, _, ok := config.Value[struct {
		Enabled any `json:"enabled"`
	}](s, "sandbox"); !ok || sb.Enabled != true {
		t.Errorf("a whole object: %v %t", sb, ok)
	}
}

func TestStateIsDataOnly(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"permissions": {"deny": ["X"]}, "model": 3}`)
	s := m.load(config.View{})
	data, err := json.Marshal(s)
	must(t, err)
	var back config.State
	must(t, json.Unmarshal(data, &back))
	if diff := cmp.Diff(*s, back); diff != "" {
		t.Errorf("the state does not survive JSON:\n%s", diff)
	}
}

func TestSettingSources(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"language": "user"}`)
	m.put("project/.myelin/settings.json", `{"outputStyle": "project"}`)
	m.put("etc/myelin/managed-settings.json", `{"model": "managed"}`)
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"user"}, `{"language":"user","model":"managed"}`},
		{[]string{"project", "local"}, `{"outputStyle":"project","model":"managed"}`},
		{[]string{}, `{"model":"managed"}`},
	} {
		m.opts.Sources = &c.names
		if got := string(m.load(config.TrustAll()).Effective.Root.JSON()); got != c.want {
			t.Errorf("%v: %s", c.names, got)
		}
	}
	m.opts.Sources = &[]string{"managed"}
	if err := config.Load(context.Background(), m.opts).Err(); err == nil || !strings.Contains(err.Error(), "user, project or local") {
		t.Errorf("error: %v", err)
	}
}

func TestSettingsFlag(t *testing.T) {
	m := newMachine(t)
	file := m.put("project/extra.json", `{"language": "x"}`)
	for _, flag := range []string{file, "extra.json", " {\"language\": \"x\",} "} {
		m.opts.Settings = flag
		if got := string(m.load(config.View{}).Lookup("language").JSON()); got != `"x"` {
			t.Errorf("%s: %s", flag, got)
		}
	}
	for _, flag := range []string{"nowhere.json", "{broken"} {
		m.opts.Settings = flag
		if err := config.Load(context.Background(), m.opts).Err(); err == nil {
			t.Errorf("%s: no error", flag)
		}
	}
}

// TestKF145_TrustSaysWhichHooksRunOutside shows a person what a folder wants to run beside the sandbox.
func TestKF145_TrustSaysWhichHooksRunOutside(t *testing.T) {
	m := newMachine(t)
	m.put("project/.myelin/settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "in"},
    {"type": "command", "command": "out", "confine": false}, {"type": "command", "command": "asked", "confine": true}]}]}}`)
	var got []string
	for _, i := range config.Load(context.Background(), m.opts).Supplied() {
		got = append(got, i.Text)
	}
	if diff := cmp.Diff([]string{"Stop: in", "Stop: out (outside of the sandbox)", "Stop: asked"}, got); diff != "" {
		t.Error(diff)
	}
}
