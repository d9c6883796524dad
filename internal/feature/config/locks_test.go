package config_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

// scopes are the files a key may stand in, with the bit that says so.
func scopes() map[string]config.Scopes {
	return map[string]config.Scopes{
		"etc/myelin/managed-settings.json":    config.InManaged,
		"home/.myelin/settings.json":          config.InUser,
		"project/.myelin/settings.json":       config.InProject,
		"project/.myelin/settings.local.json": config.InLocal,
	}
}

// nested is the JSON of a file that holds one dotted key.
func nested(key, value string) string {
	for _, name := range slices.Backward(strings.Split(key, ".")) {
		value = fmt.Sprintf("{%q: %s}", name, value)
	}
	return value
}

// sample is JSON of each shape, none of which a key that restricts can mean.
func sample(k config.Key) []string {
	all := map[string]config.Type{
		`"tru"`: config.TString, `7`: config.TNumber | config.TInt, `{"a": [1]}`: config.TObject, `[["x"]]`: config.TArray, `"true"`: config.TString,
		`"no"`: config.TString, `true`: config.TBool, `{}`: config.TObject,
	}
	var out []string
	for text, t := range all {
		if k.Type&(t|config.TAny) == 0 && !(t == config.TArray && k.Type&(config.TStrings|config.TObjects) != 0) || t == config.TString && len(k.Enum) > 0 && !slices.Contains(k.Enum, strings.Trim(text, `"`)) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

func TestKF114_EveryLockSaysWhatABrokenValueMeans(t *testing.T) {
	for _, k := range config.Keys() {
		says := 0
		for _, yes := range []bool{k.Closed != "", k.Forbids, k.Refuse, k.Open != ""} {
			if yes {
				says++
			}
		}
		if k.Kind == config.Restrict && says != 1 || says > 1 {
			t.Errorf("%s restricts and must say one of Closed, Forbids, Refuse, Open", k.Name)
		}
	}
}

func TestKF114_MistypedLockIsShut(t *testing.T) {
	var keys []config.Key
	for _, k := range config.Keys() {
		if (k.Closed != "" || k.Forbids || k.Refuse) && len(sample(k)) > 0 {
			keys = append(keys, k)
		}
	}
	if len(keys) < 40 {
		t.Fatalf("only %d keys restrict", len(keys))
	}
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(keys).Draw(rt, "key")
		value := rapid.SampledFrom(sample(k)).Draw(rt, "value")
		file := rapid.SampledFrom(slices.Sorted(mapKeys(scopes()))).Draw(rt, "file")
		if k.Scopes&scopes()[file] == 0 {
			return
		}
		m := newMachine(t)
		m.put(file, nested(k.Name, value))
		files := config.Load(t.Context(), m.opts)
		s := files.State(config.TrustAll(), 1)
		switch {
		case k.Refuse:
			if err := files.Err(); err == nil || !strings.Contains(err.Error(), k.Name) || !strings.Contains(err.Error(), ":1:") {
				rt.Errorf("%s = %s in %s: the start is not refused: %v", k.Name, value, file, err)
			}
		case k.Forbids:
			if lost := s.LostRules(); len(lost) == 0 || lost[0].Line != 1 || !strings.HasPrefix(lost[0].Key, k.Name) {
				rt.Errorf("%s = %s in %s: not counted as lost: %v", k.Name, value, file, s.Errors)
			}
		default:
			if got := s.Lookup(k.Name); got == nil || string(got.JSON()) != k.Closed {
				rt.Errorf("%s = %s in %s: %v is in force, want %s", k.Name, value, file, got, k.Closed)
			}
			if !strings.Contains(fmt.Sprint(s.Errors), k.Closed+" is in force instead") {
				rt.Errorf("%s = %s: nothing is said: %v", k.Name, value, s.Errors)
			}
		}
	})
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestKF114_MisspeltLockCountsAsLost(t *testing.T) {
	for text, near := range map[string]string{
		`{"allowManagedPermissionRuleOnly": true}`:                    "allowManagedPermissionRulesOnly",
		`{"allow_managed_hooks_only": true}`:                          "allowManagedHooksOnly",
		`{"AllowManagedHooksOnly": true}`:                             "allowManagedHooksOnly",
		`{"permissions": {"Deny": ["Read"]}}`:                         "permissions.deny",
		`{"permissions": {"allowManagedHooksOnly": true}}`:            "allowManagedHooksOnly",
		`{"sandbox": {"deniedDomains": ["x"]}}`:                       "sandbox.network.deniedDomains",
		`{"sandbox": {"filesystem": {"denyReads": ["/x"]}}}`:          "sandbox.filesystem.denyRead",
		`{"Permissions": {"deny": ["Read"]}}`:                         "permissions",
		`{"avaliableModels": ["x"]}`:                                  "availableModels",
		`{"sandbox": {"failIfUnavailble": true}}`:                     "sandbox.failIfUnavailable",
		`{"Hooks": {"PreToolUse": []}}`:                               "hooks",
		`{"hook": {"PreToolUse": []}}`:                                "hooks",
		`{"PreToolUse": []}`:                                          "hooks.PreToolUse",
		`{"preToolUse": []}`:                                          "hooks.PreToolUse",
		`{"requiredMinimumVersoin": "1"}`:                             "requiredMinimumVersion",
		`{"permissions": {"disableBypassPermissionMode": "disable"}}`: "permissions.disableBypassPermissionsMode",
	} {
		m := newMachine(t)
		m.put("etc/myelin/managed-settings.json", text)
		lost := m.load(config.View{}).LostRules()
		if len(lost) != 1 || lost[0].Nearest != near || lost[0].Level != config.LevelWarning {
			t.Errorf("%s: %v", text, lost)
		}
	}
	for _, text := range []string{`{"sandbox": "strict"}`, `{"permissions": true}`, `{"sandbox": {"network": ["x"]}}`} {
		m := newMachine(t)
		m.put("etc/myelin/managed-settings.json", text)
		if lost := m.load(config.View{}).LostRules(); len(lost) != 1 || !strings.Contains(lost[0].Message, "is a") {
			t.Errorf("%s: %v", text, lost)
		}
	}
	for _, text := range []string{`{"modle": "x"}`, `{"permissions": {"alow": ["Read"]}}`, `{"files": 1, "enabled": true, "task": 1, "mode": "x"}`, `{"theem": 1}`} {
		m := newMachine(t)
		m.put("home/.myelin/settings.json", text)
		if lost := m.load(config.View{}).LostRules(); len(lost) > 0 {
			t.Errorf("%s restricts nothing: %v", text, lost)
		}
	}
}

func TestKF114_LockNobodyCanKeepRefusesTheStart(t *testing.T) {
	for key, value := range map[string]string{
		"forceLoginMethod": `"console"`, "forceLoginOrgUUID": `["a"]`, "forceLoginGatewayUrl": `"https://x"`, "forceRemoteSettingsRefresh": "true",
	} {
		m := newMachine(t)
		m.put("etc/myelin/managed-settings.d/a.json", nested(key, value))
		err := config.Load(t.Context(), m.opts).Err()
		if err == nil || !strings.Contains(err.Error(), "a.json:1:2: "+key+": ") || !strings.Contains(err.Error(), "cannot keep it") {
			t.Errorf("%s: %v", key, err)
		}
	}
	m := newMachine(t)
	m.put("etc/myelin/managed-settings.json", `{"forceRemoteSettingsRefresh": false, "allowManagedMcpServersOnly": true, "disableSideloadFlags": false}`)
	m.put("home/.myelin/settings.json", `{"forceLoginMethod": "console"}`)
	s := m.load(config.View{})
	said := strings.Join(m.problems(s), "\n")
	if !strings.Contains(said, "allowManagedMcpServersOnly: has nothing to restrict: this release has no MCP servers") ||
		!strings.Contains(said, "home/.myelin/settings.json:1:2: forceLoginMethod: this release has no sign-in") || len(s.Errors) != 2 {
		t.Error(said)
	}
}

// inUTF16 is a text in UTF-16.
func inUTF16(text string, order binary.AppendByteOrder, mark bool) string {
	var out []byte
	if mark {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestKF160_SettingsInAnotherEncoding(t *testing.T) {
	const text = `{"permissions": {"deny": ["Read(ключ😀)"]}}`
	for name, c := range map[string]struct {
		text string
		lost bool
	}{
		"UTF-16LE with mark":    {inUTF16(text, binary.LittleEndian, true), false},
		"UTF-16BE with mark":    {inUTF16(text, binary.BigEndian, true), false},
		"UTF-16LE without mark": {inUTF16(text, binary.LittleEndian, false), false},
		"UTF-16BE without mark": {inUTF16(text, binary.BigEndian, false), false},
		"UTF-8 with mark":       {"\ufeff" + text, false},
		"UTF-16 cut":            {inUTF16(text, binary.LittleEndian, true) + "x", true},
		"half a character":      {inUTF16(`{"a": "`, binary.LittleEndian, true) + "\x00\xd8" + inUTF16(`"}`, binary.LittleEndian, false), true},
		"Latin-1":               {"{\"permissions\": {\"deny\": [\"Read(\xe9)\"]}}", true},
		"escaped and broken":    {`{"permissions": {"de\u006ey": ["Read(x)"]`, true},
		"broken with a hook":    {`{"hooks": {"PreToolUse": [`, true},
		"broken with a lock":    {`{"sandbox": {"denyRead": ["x"]`, true},
	} {
		m := newMachine(t)
		m.put("home/.myelin/settings.json", c.text)
		s := m.load(config.View{})
		if lost := len(s.LostRules()) > 0; lost != c.lost {
			t.Errorf("%s: lost %v: %v", name, lost, s.Errors)
		}
		if !c.lost && m.value(s, "permissions.deny") != `["Read(ключ😀)"] home/.myelin/settings.json` {
			t.Errorf("%s: %s", name, m.value(s, "permissions.deny"))
		}
	}
}

func TestKF160_OfDoubleKeysTheStrictest(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"permissions": {"deny": ["A"], "deny": ["B"]}}`:                                                 {"permissions.deny": `["A","B"]`},
		`{"permissions": {"deny": ["A"]}, "permissions": {"ask": ["B"]}}`:                                 {"permissions.deny": `["A"]`, "permissions.ask": `["B"]`},
		`{"permissions": {"deny": ["A"], "deny": null}}`:                                                  {"permissions.deny": `["A"]`},
		`{"permissions": {"allow": ["A", "B"], "allow": ["B"]}}`:                                          {"permissions.allow": `["B"]`},
		`{"allowManagedHooksOnly": true, "allowManagedHooksOnly": false}`:                                 {"allowManagedHooksOnly": `true`},
		`{"allowManagedHooksOnly": "x", "allowManagedHooksOnly": false}`:                                  {"allowManagedHooksOnly": `true`},
		`{"sandbox": {"allowUnsandboxedCommands": false}, "sandbox": {"allowUnsandboxedCommands": true}}`: {"sandbox.allowUnsandboxedCommands": `false`},
		`{"sandbox": {"enabled": "auto", "enabled": false}}`:                                              {"sandbox.enabled": `true`},
		`{"sandbox": {"filesystem": {"disabled": false, "disabled": true}}}`:                              {"sandbox.filesystem.disabled": `false`},
		`{"availableModels": ["a", "b"], "availableModels": ["b", "c"]}`:                                  {"availableModels": `["b"]`},
		`{"crossSessionInbound": "refuse", "crossSessionInbound": "accept"}`:                              {"crossSessionInbound": `"refuse"`},
		`{"hooks": {"PreToolUse": [1]}, "hooks": {"PreToolUse": [2], "PreToolUse": [3]}}`:                 {"hooks": `{"PreToolUse":[1,2,3]}`},
		`{"model": "a", "model": "b"}`:                                                                    {"model": `"b"`},
	} {
		m := newMachine(t)
		m.put("etc/myelin/managed-settings.json", text)
		s := m.load(config.View{})
		for key, value := range want {
			if n := s.Lookup(key); n == nil || string(n.JSON()) != value {
				t.Errorf("%s: %s is %v, want %s", text, key, n, value)
			}
		}
		if !strings.Contains(strings.Join(m.problems(s), "\n"), "stands here twice") {
			t.Errorf("%s: not told", text)
		}
	}
	// A guard with a double key inside reaches whoever reads it as it stands there.
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "a", "command": "b"}]}]}}`)
	if raw := m.load(config.View{}).Lookup("hooks").JSON(); !json.Valid(raw) || !strings.Contains(string(raw), `"command":"a","command":"b"`) {
		t.Errorf("%s", raw)
	}
}
