package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
)

// TestUnreadableDayCountsAsExhausted: a day's money that cannot be counted, or written down, is spent.
func TestUnreadableDayCountsAsExhausted(t *testing.T) {
	day := 1000.0
	begin := func() *stage {
		st := newStage(t, `turns: [{content: [{text: done}]}, {content: [{text: done}]}]`)
		st.rooms.part.process.Set(func(p *Process) *Process {
			next := *p
			next.Policy = &policy.State{Limits: policy.Limits{Host: "limits.example", Budget: policy.Budget{Day: &day}}}
			return &next
		})
		return st
	}
	for _, text := range []string{"half a", "-5\n", "NaN\n", "1\n\n2\n"} {
		st := begin()
		d := st.rooms.limits.day()
		put(t, filepath.Join(d.Dir, d.Now().Format(time.DateOnly)+".txt"), text)
		st.say("go")
		if r, _ := st.result(); r.Ended.Reason != proto.EndBudget || r.Text == "done" {
			t.Errorf("%q: a request was made: %+v", text, r)
		}
	}
	st := begin()
	put(t, filepath.Join(st.rooms.limits.day().Dir, "x"), "")
	st.say("go")
	if r, _ := st.result(); r.Text != "done" {
		t.Errorf("a day without spending: %+v", r)
	}
	st.rooms.limits.dayLost.Store(true)
	st.say("go on")
	if r, _ := st.result(); r.Ended.Reason != proto.EndBudget {
		t.Errorf("what could not be written down counts as nothing: %+v", r)
	}
}

// TestConfigChangeVetoIsHeeded: a hook keeps a change of the settings from taking effect.
func TestConfigChangeVetoIsHeeded(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		refused bool
	}{"exit 2": {"exit 2", true}, "block": {`echo '{"decision":"block","reason":"no"}'`, true}, "nothing": {"true", false}} {
		st := newStage(t, `turns: [{content: [{text: done}]}]`, func(o *Options) {
			raw, _ := json.Marshal(map[string]any{"sandbox": map[string]any{"enabled": false}, "hooks": map[string]any{
				"ConfigChange": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": c.command}}}},
			}})
			o.Settings = string(raw)
		})
		put(t, st.rooms.settings.places.File("user"), `{"permissions": {"allow": ["Bash(rm *)"]}}`)
		st.rooms.settings.live.Reload(t.Context())
		allow := st.rooms.part.permission.Get().Rules[permission.FromUser].Allow
		if (len(allow) == 0) != c.refused {
			t.Errorf("%s: in force is %v", name, allow)
		}
	}
}

// TestPolicyLimitsThatAreSetLater: limits whose address comes into the settings while a session runs hold
// from then on.
func TestPolicyLimitsThatAreSetLater(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"version": 1, "expires": "2099-01-01T00:00:00Z", "models": ["another"]}`)
	}))
	defer srv.Close()
	st := newStage(t, `turns: [{content: [{text: done}]}, {content: [{text: done}]}]`)
	st.say("go")
	if r, _ := st.result(); r.Text != "done" {
		t.Fatalf("%+v", r)
	}
	put(t, st.rooms.settings.places.File("user"), fmt.Sprintf(`{"policyLimits": {"url": %q, "onMissing": "deny"}}`, srv.URL))
	st.rooms.settings.live.Reload(t.Context())
	st.say("go on")
	if r, _ := st.result(); !r.IsError || !strings.Contains(r.Ended.Detail, "(models)") {
		t.Errorf("a model the new limits forbid was asked: %+v", r)
	}
}
