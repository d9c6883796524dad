package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// FuzzSettings puts any bytes into each kind of file, beside a sound user file: nothing panics, what
// comes out is JSON, every problem has a place, an untrusted folder supplies nothing that acts, and
// the sound file's deny rule stays.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		`{"permissions": {"allow": ["A"], "deny": ["B", 3]}, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}`,
		"\ufeff// c\n{\"env\": {\"A\": 1, \"PATH\": \"/x\"}, \"model\": null, \"unknwon\": {},}",
		`{"sandbox": {"enabled": "auto", "credentials": {"files": [{"mode": "mask"}, 3, {"path": "x"}]}}, "permissions": []}`,
		`{"availableModels": {}, "policyHelper": {"path": "/x"}, "extraKnownMarketplaces": {"m": {"a": [1, {"b": null}]}}}`,
		`{"permissions": {"deny": [`, `[]`, `{"a": 1, "a": 2, "$schema": 3}`, `{"crossSessionInbound": "hold", "isolatePeerMachines": true}`,
	} {
		f.Add([]byte(seed), uint8(0))
		f.Add([]byte(seed), uint8(3))
	}
	scopes := []origin.Scope{origin.User, origin.Project, origin.Local, origin.Managed, origin.Flag}
	cat := catalogueOf(nil)
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		r := &reader{f: &Files{cat: cat, parts: map[string]*part{}}, opts: Options{Now: timeZero}}
		sound := r.parse(candidate{scope: origin.User, path: "sound"}, []byte(`{"permissions": {"deny": ["Sound"]}}`))
		scope := scopes[int(which)%len(scopes)]
		fuzzed := r.parse(candidate{scope: scope, path: "fuzzed"}, text)
		r.f.parts = map[string]*part{"sound": sound, "fuzzed": fuzzed}
		r.f.order = []string{"sound", "fuzzed"}
		r.f.build()
		for _, p := range r.f.problems {
			if p.File == "" || p.Message == "" || (p.Line == 0 && !p.Skipped) {
				t.Fatalf("problem without a place: %+v", p)
			}
		}
		for _, view := range []View{{}, TrustAll()} {
			s := r.f.State(view, 1)
			if !json.Valid(s.Effective.Root.JSON()) {
				t.Fatalf("not JSON: %s", s.Effective.Root.JSON())
			}
			found := false
			for _, rule := range s.Rules() {
				found = found || rule.Text == "Sound" && rule.List == "deny"
			}
			if !found {
				t.Fatalf("the sound rule is gone: %s", s.Effective.Root.JSON())
			}
			_, _ = s.Env()
			_ = s.Hooks()
			_ = List(s)
			_ = Explain(s, "permissions.deny")
			if folder := scope == origin.Project || scope == origin.Local; folder && view == (View{}) {
				untrusted(t, s)
			}
		}
		_ = r.f.Supplied()
	})
}

// untrusted checks that a folder nobody trusts supplies nothing that acts or grants.
func untrusted(t *testing.T, s *State) {
	t.Helper()
	for _, key := range []string{"permissions.allow", "permissions.additionalDirectories", "permissions.defaultMode", "hooks", "apiKeyHelper", "statusLine", "model", "enabledPlugins", "sandbox.enabled"} {
		if n := s.Lookup(key); n != nil {
			t.Fatalf("%s is %s", key, n.JSON())
		}
	}
	vars, _ := s.Env()
	for _, v := range vars {
		if !harmless(v.Name) {
			t.Fatalf("%s is set", v)
		}
	}
}

// FuzzEdit saves a rule into any text: either the file is refused and untouched, or the rule is in
// it and everything else reads as before.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{"", "{}", "{ // c\n}", `{"permissions": {"allow": ["A",]}, "x": 1}`, `{"permissions": 3}`, "{\r\n\t\"a\": [],\r\n}", "nope"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "settings.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		err := Edit(origin.User, path, func(d *jsonc.Doc) error {
			return d.Append([]string{"permissions", "allow"}, json.RawMessage(`"New(rule)"`))
		})
		after, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if err != nil {
			if string(after) != string(text) {
				t.Fatalf("refused (%v) and changed to %q", err, after)
			}
			return
		}
		doc, err := jsonc.Parse("", path, after)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, after, err)
		}
		list := doc.Root().Get("permissions", "allow")
		if list == nil || len(list.Elems) == 0 {
			t.Fatalf("%q became %q", text, after)
		}
	})
}

func timeZero() (t time.Time) { return t }
