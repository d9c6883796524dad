package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// What belongs to a session is that of the present one, also after /clear, and nothing of those before is
// left at the end.
func TestKF126_FoldersAreThoseOfThePresentSession(t *testing.T) {
	dir := t.TempDir()
	st := newStage(t, `
turns:
  - content: [{tool: Bash, input: {command: "until test -e go0; do sleep 0.01; done", run_in_background: true}}]
  - content: [{text: one}]
  - content: [{text: ended}]
  - content: [{tool: Bash, input: {command: "until test -e go1; do sleep 0.01; done", run_in_background: true}}]
  - content: [{text: two}]
  - content: [{text: ended}]
`, bypass, func(o *Options) {
		o.Settings = fmt.Sprintf(`{"sandbox": {"enabled": false}, "hooks": {"SessionStart": [{"hooks": [{"type": "command",
			"command": "echo \"$CLAUDE_ENV_FILE\" >> %s/env; printf '%%s\\n' \"$CLAUDE_PROJECT_DIR\" >> %s/root"}]}]}}`, dir, dir)
	})
	var temps, folders []string
	for n := range 2 {
		st.say("go")
		st.result()
		put(t, filepath.Join(st.dir, fmt.Sprint("go", n)), "")
		events := st.until("the task", func(b proto.EventBody) bool { _, is := b.(proto.TaskEnded); return is })
		folder := transcript.SessionDir(st.State().Transcript.Path)
		for _, e := range events {
			if b, is := e.Body.(proto.TaskEnded); is && !strings.HasPrefix(b.Task.OutputFile, folder+"/") {
				t.Errorf("the output is in %s, the session in %s", b.Task.OutputFile, folder)
			}
		}
		st.until("its turn", func(b proto.EventBody) bool {
			r, is := b.(proto.Result)
			return is && r.Text == "ended"
		})
		temps, folders = append(temps, st.rooms.folders.temp()), append(folders, folder)
		if _, err := os.Stat(temps[len(temps)-1]); err != nil {
			t.Error(err)
		}
		st.say("/clear")
		st.result()
	}
	raw, err := os.ReadFile(filepath.Join(dir, "env"))
	lines := strings.Fields(string(raw))
	if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], folders[0]+"/") || !strings.HasPrefix(lines[1], folders[1]+"/") {
		t.Errorf("environment files of hooks are %q (%v), the sessions' folders %q", lines, err, folders)
	}
	if err := st.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, temp := range temps {
		if _, err := os.Stat(temp); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", temp, err)
		}
	}
}

// The helper that prints the key, and the other names of models, are those of the settings as they are now.
func TestKF126_SettingsOfModelsAreReadWhenTheyAreNeeded(t *testing.T) {
	st := newStage(t, "turns: [{content: [{text: hi}]}]", func(o *Options) { o.Env["ANTHROPIC_API_KEY"] = "k" })
	ran := 0
	key := helperRunner(func(_ context.Context, h helper) ([]byte, error) {
		ran++
		return []byte(h.command + "\n"), nil
	}).key(st.rooms.settings)
	file := st.rooms.settings.places.File("user")
	for i, c := range []struct{ settings, key, id string }{
		{`{"apiKeyHelper": "first", "modelOverrides": {"claude-opus-4-6": "one"}}`, "first", "one"},
		{`{"apiKeyHelper": "second", "modelOverrides": {"claude-opus-4-6": "two"}}`, "second", "two"},
		{`{}`, "", "claude-opus-4-6"},
	} {
		put(t, file, c.settings)
		st.rooms.settings.live.Reload(t.Context())
		for range 2 {
			got, err := key(t.Context())
			if got != c.key || (err == nil) != (c.key != "") {
				t.Errorf("%s: key %q, %v", c.settings, got, err)
			}
		}
		if want := min(i+1, 2); ran != want {
			t.Errorf("%s: a helper ran %d times, want %d", c.settings, ran, want)
		}
		if choice, err := st.rooms.models.find.Named(t.Context(), "claude-opus-4-6"); err != nil || choice.Info.ID != c.id {
			t.Errorf("%s: the model is %q, %v", c.settings, choice.Info.ID, err)
		}
	}
}
