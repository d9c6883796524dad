package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/app/inspect"
)

// What only looks finds what a session would have, and what one has left behind.
func TestLookingAtAFolder(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, input: {command: "echo hi"}}]
  - content: [{text: one}]
`, bypass, func(o *Options) {
		o.Trust = &[]string{}
		o.Interactive, o.Settings = true, `{"sandbox": {"enabled": false}, "skipDangerousModePermissionPrompt": true}`
	})
	st.say("look here")
	st.result()
	id := st.State().Session.ID
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := st.rooms.opts
	o.Model = "offline"

	rows, err := Sessions(o)
	if err != nil || !slices.ContainsFunc(rows, func(r inspect.SessionRow) bool { return r.ID == id }) {
		t.Errorf("sessions %+v, %v", rows, err)
	}
	found := false
	for text, err := range Prompts(o) {
		found = found || (err == nil && text == "look here")
	}
	if !found {
		t.Error("the prompt is not in the history")
	}
	if state, err := Recorded(t.Context(), o, id); err != nil || state.Session.ID != id || state.Cost.Total.Requests != 2 {
		t.Errorf("recorded is %+v, %v", state, err)
	}
	if _, err := Recorded(t.Context(), o, "nobody"); err == nil {
		t.Error("a session was found that there is not")
	}
	err = LookAtTools(t.Context(), o, func(s *inspect.Subject) error {
		if !slices.ContainsFunc(s.Pool(), func(r inspect.ToolRow) bool { return r.Name == "Bash" && r.State == "offered" }) {
			t.Errorf("tools %+v", s.Pool())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	models, err := Models(t.Context(), o)
	if err != nil || len(models) == 0 {
		t.Errorf("models %+v, %v", models, err)
	}
	tried := 0
	if err := CheckModel(t.Context(), o, "offline", func(string, bool, string) { tried++ }); err != nil || tried == 0 {
		t.Errorf("%d things were tried, %v", tried, err)
	}
	settings, err := OpenSettings(t.Context(), o)
	if err != nil || settings == nil {
		t.Fatal(err)
	}
	if raw, err := SettingsSchema(); err != nil || !json.Valid(raw) || !strings.Contains(string(raw), "permissions") {
		t.Errorf("the schema is %.60s, %v", raw, err)
	}
}

func TestTheDoctorTellsWhatItFinds(t *testing.T) {
	st := newStage(t, "turns: [{content: [{text: hi}]}]")
	o := st.rooms.opts
	o.Model = "offline"
	told := map[string]string{}
	if err := Doctor(t.Context(), o, func(c inspect.Check) { told[c.Name] += c.Status + " " }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "model", "sandbox"} {
		if told[name] == "" {
			t.Errorf("nothing was said of %s; told %v", name, told)
		}
	}
	o.Sources.Settings = "{broken"
	clear(told)
	if err := Doctor(t.Context(), o, func(c inspect.Check) { told[c.Name] += c.Status + " " }); err != nil || !strings.Contains(told["settings"], "failed") {
		t.Errorf("broken settings: %v, told %v", err, told)
	}
}

func TestTheSandboxAsItIsShown(t *testing.T) {
	st := newStage(t, "turns: [{content: [{text: hi}]}]")
	report, err := Sandbox(t.Context(), st.rooms.opts)
	if err != nil || !report.Off {
		t.Errorf("the settings have it off, shown is %+v, %v", report, err)
	}
}
