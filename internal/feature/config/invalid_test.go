package config_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

// ruleSection is what a feature that knows rules declares: a rule needs a closing parenthesis.
func ruleSection(list string) config.Section {
	return config.Section{Key: "permissions." + list, Check: func(raw json.RawMessage) []config.Fault {
		var rules []string
		if err := json.Unmarshal(raw, &rules); err != nil {
			return []config.Fault{{Message: err.Error()}}
		}
		var out []config.Fault
		for i, r := range rules {
			switch {
			case r == "":
				out = append(out, config.Fault{At: at(i), Message: "the rule is empty", Expected: "Tool or Tool(specifier)"})
			case strings.Contains(r, "(") && !strings.HasSuffix(r, ")"):
				out = append(out, config.Fault{At: at(i), Message: "the rule has no closing parenthesis at its end", Expected: "Tool or Tool(specifier)"})
			case strings.HasPrefix(r, "Bsh"):
				out = append(out, config.Fault{At: at(i), Message: "no tool has this name", Nearest: "Bash", Keep: true})
			}
		}
		return out
	}}
}

func at(i int) []string { return []string{string(rune('0' + i))} }

func TestKF038_OneBadEntryCostsItselfAlone(t *testing.T) {
	m := newMachine(t)
	m.opts.Sections = []config.Section{ruleSection("deny"), ruleSection("allow")}
	m.put("project/.myelin/settings.json", `{
  "permissions": {
    "deny": ["Read(a)", "Bash(rm", "Read(b)", 7, "Read(c)"],
    "allow": ["Edit(", "Edit"]
  },
  "unknwonKey": true,
  "verbose": "yes"
}`)
	s := m.load(config.TrustAll())
	if got := string(s.Effective.Root.JSON()); got != `{"permissions":{"deny":["Read(a)","Read(b)","Read(c)"],"allow":["Edit"]}}` {
		t.Errorf("effective: %s", got)
	}
	want := []string{
		"project/.myelin/settings.json:3:47: permissions.deny[3]: is a number; expected a string; a deny or ask rule may be missing because of this",
		"project/.myelin/settings.json:3:25: permissions.deny[1]: the rule has no closing parenthesis at its end; expected Tool or Tool(specifier); a deny or ask rule may be missing because of this",
		"project/.myelin/settings.json:4:15: permissions.allow[0]: the rule has no closing parenthesis at its end; expected Tool or Tool(specifier)",
		"project/.myelin/settings.json:6:3: unknwonKey: unknown key, kept and not used",
		`project/.myelin/settings.json:7:14: verbose: is a string; expected true or false`,
	}
	if diff := cmp.Diff(want, m.problems(s)); diff != "" {
		t.Error(diff)
	}
	if lost := s.LostRules(); len(lost) != 2 {
		t.Errorf("lost rules: %v", lost)
	}
}

func TestKF039_RulesThatCanNeverMatch(t *testing.T) {
	m := newMachine(t)
	m.opts.Sections = []config.Section{ruleSection("deny")}
	m.put("home/.myelin/settings.json", `{"permissions": {"deny": ["Bash(rm -rf *)*", "Bsh(rm *)", "", "Read"]}}`)
	s := m.load(config.TrustAll())
	if got := string(s.Lookup("permissions.deny").JSON()); got != `["Bsh(rm *)","Read"]` {
		t.Errorf("in force: %s", got)
	}
	var lost, kept int
	for _, p := range s.Errors {
		if p.Lost {
			lost++
		} else {
			kept++
		}
	}
	if lost != 2 || kept != 1 {
		t.Errorf("problems: %v", m.problems(s))
	}
}

func TestKF040_ReadsWhatPeopleWrite(t *testing.T) {
	m := newMachine(t)
	path := m.put("home/.myelin/settings.json", "\ufeff// mine\n{\n\t\"permissions\": {\n    \"deny\": [\"A\", /* why */ \"B\",], // list\n  },\n  \"foreign\": {\"x\": 1,},\n}\n")
	s := m.load(config.View{})
	m.expect(s, "permissions.deny", `["A","B"] home/.myelin/settings.json`)
	if len(s.LostRules()) > 0 {
		t.Errorf("lost: %v", m.problems(s))
	}
	before, _ := os.ReadFile(path)
	w := config.Writer{Places: m.opts.Places}
	if _, err := w.Add(t.Context(), "user", "permissions.deny", "C(<x>)", "A"); err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(path)
	if want := strings.Replace(string(before), `"B",]`, `"B", "C(<x>)",]`, 1); string(after) != want {
		t.Errorf("after saving:\n%s\nwant:\n%s", after, want)
	}
	m.put("home/.myelin/settings.json", `{"permissions": {"allow": ["A"}`)
	if _, err := w.Add(t.Context(), "user", "permissions.allow", "B"); err == nil || !strings.Contains(err.Error(), "settings.json:1:31") {
		t.Errorf("a broken file was written: %v", err)
	}
	if after, _ = os.ReadFile(path); string(after) != `{"permissions": {"allow": ["A"}` {
		t.Errorf("the broken file became %s", after)
	}
}

func TestFilesThatAreNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
		lost bool
	}{
		"syntax":           {"{\n  \"model\": \"x\",\n  oops\n}", "home/.myelin/settings.json:3:3: invalid literal: oops; expected JSON; the file is not used", false},
		"syntax with deny": {`{"permissions": {"deny": ["A"]`, "home/.myelin/settings.json:1:31: the text ends too early: the '{' of line 1, column 17 is not closed; expected JSON; the file is not used; a deny or ask rule may be missing because of this", true},
		"an array":         {`["deny"]`, "home/.myelin/settings.json:1:1: is an array; expected an object of settings; the file is not used; a deny or ask rule may be missing because of this", true},
		"too big":          {"{\"deny\": 1}" + strings.Repeat(" ", config.MaxFile), "home/.myelin/settings.json: is bigger than 2097152 bytes; the file is not used; a deny or ask rule may be missing because of this", true},
		"not UTF-8":        {"{\"model\": \"\xff\"}", "home/.myelin/settings.json:1:12: the text is not UTF-8 here; expected JSON; the file is not used", false},
	} {
		m := newMachine(t)
		m.put("home/.myelin/settings.json", c.text)
		m.put("project/.myelin/settings.json", `{"language": "other files go on"}`)
		s := m.load(config.TrustAll())
		if diff := cmp.Diff([]string{c.want}, m.problems(s)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if (len(s.LostRules()) > 0) != c.lost || s.Lookup("language") == nil || !s.Sources[0].Bad {
			t.Errorf("%s: lost %v, sources %+v", name, s.LostRules(), s.Sources)
		}
	}
	m := newMachine(t)
	must(t, os.MkdirAll(m.path("home/.myelin/settings.json"), 0o755)) // a folder
	must(t, os.MkdirAll(m.path("project"), 0o755))
	must(t, os.WriteFile(m.path("project/.myelin"), nil, 0o644)) // a file where a folder should be
	s := m.load(config.TrustAll())
	if diff := cmp.Diff([]string{"home/.myelin/settings.json: is not a regular file; the file is not used"}, m.problems(s)); diff != "" {
		t.Error(diff)
	}
	m = newMachine(t)
	m.put("home/.myelin/settings.json", " \n")
	if s := m.load(config.TrustAll()); len(s.Errors) > 0 {
		t.Errorf("an empty file: %v", m.problems(s))
	}
}

func TestMessagesSayWhatWasMeant(t *testing.T) {
	for text, want := range map[string]string{
		`{"permissions": {"defaultMode": "acceptedits"}}`:     `permissions.defaultMode: "acceptedits" is not one of its values; "default" is in force instead; expected default, manual, acceptEdits, plan, auto, dontAsk, bypassPermissions; did you mean "acceptEdits"?`,
		`{"permisions": {"deny": ["A"]}}`:                     `permisions: unknown key, kept and not used; did you mean "permissions"?; what it restricts may not be in force because of this`,
		`{"permissions": {"dney": ["A"]}}`:                    `permissions.dney: unknown key, kept and not used; did you mean "permissions.deny"?; what it restricts may not be in force because of this`,
		`{"deny": ["A"]}`:                                     `deny: unknown key, kept and not used; did you mean "permissions.deny"?; what it restricts may not be in force because of this`,
		`{"permissions": ["A"]}`:                              `permissions: is an array; expected an object; a deny or ask rule may be missing because of this`,
		`{"permissions": {"deny": "A"}}`:                      `permissions.deny: is a string; expected an array of strings; a deny or ask rule may be missing because of this`,
		`{"autoCompactWindow": 5}`:                            `autoCompactWindow: 5 is out of range; expected a whole number from 100000 to 1000000`,
		`{"cleanupPeriodDays": 0}`:                            `cleanupPeriodDays: 0 is out of range; expected a whole number from 1 to 1073741824`,
		`{"cleanupPeriodDays": 1.5}`:                          `cleanupPeriodDays: 1.5 is not a whole number; expected a whole number from 1 to 1073741824`,
		`{"env": {"A": [1], "B": 2}}`:                         `env.A: is an array; expected a string`,
		`{"enabledPlugins": {"a@b": "yes"}}`:                  `enabledPlugins.a@b: is a string; expected a boolean`,
		`{"allowManagedHooksOnly": true}`:                     `allowManagedHooksOnly: has no effect in the user file; expected it in managed`,
		`{"autoConnectIde": true}`:                            `autoConnectIde: has no effect in the user file; expected it in the state file`,
		`{"model": "a", "model": "b"}`:                        `model: the key stands here twice; line 1 is not used`,
		`{"permissions": {"deny": ["A"]}, "permissions": {}}`: `permissions: the key stands here twice; line 1 counts too`,
		`{"hooks": {"Stop": [{"a": 1}], "Stop": []}}`:         `hooks.Stop: the key stands here twice; line 1 counts too`,
		`{"env": {"A": "1", "A": "2"}}`:                       `env.A: the key stands here twice; line 1 is not used`,
		`{"sandbox": {"enabled": "always"}}`:                  `sandbox.enabled: "always" is not one of its values; true is in force instead; expected auto`,
	} {
		m := newMachine(t)
		m.put("home/.myelin/settings.json", text)
		got := m.problems(m.load(config.TrustAll()))
		if len(got) != 1 || !strings.HasSuffix(got[0], ": "+want) || !strings.HasPrefix(got[0], "home/.myelin/settings.json:1:") {
			t.Errorf("%s\nsaid %q\nwant %q", text, got, want)
		}
	}
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"$schema": "x", "voice": {"any": 1}, "model": null, "permissions": {"allow": null}}`)
	if got := m.problems(m.load(config.TrustAll())); len(got) > 0 {
		t.Errorf("said of nothing: %q", got)
	}
}

func TestManagedKeysThatMustNotFallOpen(t *testing.T) {
	m := newMachine(t)
	m.put("etc/claude-code/managed-settings.json", `{
  "allowedMcpServers": "all", "availableModels": {}, "allowManagedHooksOnly": "yes", "allowManagedMcpServersOnly": 1,
  "enforceAvailableModels": [], "disableCommandPluginSources": "x", "requiredMinimumVersion": 3,
  "sandbox": {"credentials": {"files": [{"path": "a", "mode": "dney"}, {"path": "b"}]}}, "model": 3, "language": "en"
}`)
	s := m.load(config.View{})
	want := `{"allowedMcpServers":[],"availableModels":[],"allowManagedHooksOnly":true,"allowManagedMcpServersOnly":true,` +
		`"enforceAvailableModels":true,"disableCommandPluginSources":true,` +
		`"sandbox":{"credentials":{"files":[{"path":"a","mode":"deny"},{"path":"b","mode":"deny"}]}},"language":"en"}`
	if diff := cmp.Diff(want, string(s.Effective.Root.JSON())); diff != "" {
		t.Error(diff)
	}
	if len(s.Errors) != 13 { // ten mistakes, and three locks that have nothing to restrict
		t.Errorf("%d problems: %s", len(s.Errors), strings.Join(m.problems(s), "\n"))
	}
}

func TestManagedFileThatIsBroken(t *testing.T) {
	m := newMachine(t)
	m.put("etc/myelin/managed-settings.json", `{broken`)
	m.put("etc/myelin/managed-settings.d/a.json", `{"model": "a"}`)
	s := m.load(config.View{})
	m.expect(s, "model", `"a" etc/myelin/managed-settings.d/a.json`)
	if len(s.Errors) != 1 || s.Errors[0].Level != config.LevelError || !s.Errors[0].Skipped {
		t.Errorf("%+v", s.Errors)
	}
}

func TestSections(t *testing.T) {
	m := newMachine(t)
	type shape struct {
		N int `json:"n"`
	}
	m.opts.Sections = []config.Section{
		{Key: "statusLine", Check: func(raw json.RawMessage) []config.Fault {
			if json.Unmarshal(raw, &shape{}) == nil {
				return nil
			}
			return []config.Fault{{Message: "n is a string", Expected: "int"}}
		}},
		{Key: "mine.own", Type: config.TObject, Scopes: config.UserManaged, Merge: config.Replace, Kind: config.Plain},
	}
	m.put("home/.myelin/settings.json", `{"statusLine": {"n": "x"}, "mine": {"own": {"a": 1}, "other": 1}}`)
	m.put("project/.myelin/settings.json", `{"statusLine": {"n": 2}, "mine": {"own": {"b": 1}}}`)
	m.opts.Settings = `{"mine": {"own": {"c": 1}}}`
	s := m.load(config.TrustAll())
	m.expect(s, "mine.own", `{"c":1} --settings`)
	m.expect(s, "statusLine", `{"n":2} project/.myelin/settings.json`)
	want := []string{
		"home/.myelin/settings.json:1:16: statusLine: n is a string; expected int",
		"home/.myelin/settings.json:1:54: mine.other: unknown key, kept and not used; did you mean \"mine.own\"?",
		"project/.myelin/settings.json:1:35: mine.own: has no effect in the shared project file; expected it in managed, --settings, user",
	}
	got := m.problems(s)
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], strings.SplitN(want[i], "; did", 2)[0]) {
			t.Errorf("said %q, want %q", got, want)
			break
		}
	}
}
