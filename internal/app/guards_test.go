package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/permission"
)

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
