package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/providers/offline"
)

// keptAnyway are locks that need no reader, and why.
func keptAnyway() map[string]string {
	return map[string]string{
		"enforceAvailableModels": "availableModels holds for the default choice too",
		"permissions.ask":        "read by config.State.Rules",
		"permissions.deny":       "read by config.State.Rules",
		"remoteControlAtStartup": "there is no remote control",
		"syncClaudeAiSkills":     "nothing is synchronised",
	}
}

// TestKF114_EveryLockHasAKeeper: a key that restricts is read somewhere, or says what is missing, or
// refuses the start.
func TestKF114_EveryLockHasAKeeper(t *testing.T) {
	var source strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(path, "feature/config/keys") {
			return err
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range config.Keys() {
		locks := k.Kind == config.Restrict || k.Closed != "" || k.Forbids || k.Refuse
		if !locks || k.Lacks != "" || k.Unkept != "" || keptAnyway()[k.Name] != "" {
			continue
		}
		if !strings.Contains(source.String(), `"`+k.Name+`"`) {
			t.Errorf("%s restricts, and nobody reads it", k.Name)
		}
	}
}

// organisation is a session on a machine whose administrator has set something.
func organisation(t *testing.T, settings string, change ...func(*Options)) (*Session, error) {
	t.Helper()
	etc, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(etc, "managed-settings.json"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Cwd: t.TempDir(), Env: map[string]string{"HOME": home, "MYELIN_HOME": filepath.Join(home, ".myelin"), "PATH": os.Getenv("PATH")},
		Sources: Sources{Settings: `{"sandbox": {"enabled": false}}`, managed: []string{etc}}, Version: "1.4.0",
	}
	for _, c := range change {
		c(&o)
	}
	s, err := open(t.Context(), o, offline.New())
	if err == nil {
		t.Cleanup(func() { _ = s.Close(t.Context()) })
	}
	return s, err
}

func TestKF114_StartIsRefused(t *testing.T) {
	for settings, want := range map[string]string{
		`{"requiredMinimumVersion": "1.5"}`:                                      "version 1.4.0 may not be used here: requiredMinimumVersion is 1.5 in ",
		`{"requiredMaximumVersion": "1.3.9"}`:                                    "version 1.4.0 may not be used here: requiredMaximumVersion is 1.3.9 in ",
		`{"forceLoginMethod": "console"}`:                                        "forceLoginMethod: this release has no sign-in",
		`{"policyLimits": {"url": "https://x", "onMising": "deny"}}`:             `policyLimits: unknown field "onMising"`,
		`{"policyLimits": "https://x"}`:                                          "policyLimits: is a string",
		`{"policyHelper": "/usr/bin/policy"}`:                                    "policyHelper: is a string",
		`{"autoMode": {"hard_deny": "never push"}}`:                              "autoMode.hard_deny",
		`{"sandbox": {"filesystem": {"denyRead": [{}]}}}`:                        "sandbox.filesystem.denyRead[0]: is an object",
		`{"sandbox": {"failIfUnavailable": "yes", "bwrapPath": "/nonexistent"}}`: "the sandbox is required and cannot be had",
	} {
		_, err := organisation(t, settings, func(o *Options) {
			if strings.Contains(settings, "failIf") {
				o.Settings = ""
			}
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
	for _, settings := range []string{
		`{"requiredMinimumVersion": "1.4", "requiredMaximumVersion": "1.4.0"}`, `{"requiredMinimumVersion": "soon"}`, `{"requiredMaximumVersion": 1}`,
		`{"autoMode": {"allow": "everything"}}`,
	} {
		if _, err := organisation(t, settings); err != nil {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

func TestKF114_PluginOnlyHooks(t *testing.T) {
	hooks := func(command string) string {
		return fmt.Sprintf(`"hooks": {"Stop": [{"hooks": [{"type": "command", "command": %q}]}]}`, command)
	}
	for value, want := range map[string][]string{
		`true`: {"managed"}, `["hooks"]`: {"managed"}, `["skills"]`: {"flag", "managed"}, `"hooks"`: {"managed"}, `["hoks"]`: {"managed"},
	} {
		s, err := organisation(t, `{"strictPluginOnlyCustomization": `+value+`, `+hooks("managed")+`}`, func(o *Options) {
			o.Settings = `{"sandbox": {"enabled": false}, ` + hooks("flag") + `}`
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range s.rooms.hooks.set.Handlers() {
			if h.Event == hook.Stop {
				got = append(got, h.Command)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v run, want %v", value, got, want)
		}
	}
}

// TestKF114_OnlyAvailableModelsAreAsked: the list holds for what takes over and for side requests.
func TestKF114_OnlyAvailableModelsAreAsked(t *testing.T) {
	s, err := organisation(t, `{"availableModels": ["offline/*"]}`, func(o *Options) {
		o.Env["ANTHROPIC_API_KEY"] = "x"
		o.Fallbacks = []string{"anthropic/claude-sonnet-4-6"}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, opts := s.rooms.models.round(); len(opts.Fallbacks) != 0 {
		t.Errorf("takes over: %s", opts.Fallbacks[0].Info().Ref())
	}
	if _, err := s.rooms.models.askHook(t.Context(), "anthropic/claude-haiku-4-5", "x"); err == nil || !strings.Contains(err.Error(), "availableModels") {
		t.Errorf("a hook asked another model: %v", err)
	}
	if _, err := organisation(t, `{"availableModels": "all"}`); err == nil || !strings.Contains(err.Error(), "availableModels") {
		t.Errorf("a list that cannot be read allows every model: %v", err)
	}
}

// TestKF114_OnlyManagedRulesAllow: what a hook, a host or an answer grants in the session does not count
// either, and what was granted before the lock came.
func TestKF114_OnlyManagedRulesAllow(t *testing.T) {
	for lock, want := range map[string]permission.Behavior{`true`: permission.Ask, `"yes"`: permission.Ask, `false`: permission.Allow} {
		s, err := organisation(t, `{"allowManagedPermissionRulesOnly": `+lock+`}`, func(o *Options) { o.Allow = []string{"Bash(make *)"} })
		if err != nil {
			t.Fatal(err)
		}
		s.rooms.rights.grant(proto.PermissionUpdate{Type: "addRules", Behavior: "allow", Destination: "session", Rules: []proto.RuleValue{{ToolName: "Bash", RuleContent: "touch *"}}})
		for _, command := range []string{"touch x", "make x"} {
			req := permission.Request{Tool: "Bash", Cwd: s.rooms.opts.Cwd, Traits: tool.Traits{Command: command, Shell: true}}
			if d := s.rooms.gate.Decide(req); d.Behavior != want {
				t.Errorf("%s, %s: %s (%s), want %s", lock, command, d.Behavior, d.Reason.Text, want)
			}
		}
	}
}
