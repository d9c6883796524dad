package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/trust"
)

// folder is an interactive session in a folder that wants something.
func folder(t *testing.T, files map[string]string) *stage {
	t.Helper()
	return newStage(t, `turns: [{content: [{text: done}]}, {content: [{text: done}]}, {content: [{text: done}]}]`, func(o *Options) {
		o.Interactive = true
		for name, text := range files {
			put(t, filepath.Join(o.Cwd, name), text)
		}
	})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// wanting is a settings file with a hook.
func wanting(command string) string {
	return fmt.Sprintf(`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": %q}]}]}}`, command)
}

const shared = ".myelin/settings.json"

func (st *stage) exists(name string) bool {
	_, err := os.Stat(filepath.Join(st.dir, name))
	return err == nil
}

// trustQuestion waits for the trust question, which must show a text.
func (st *stage) trustQuestion(want string) proto.Ask {
	st.t.Helper()
	a := st.asked()
	if a.Kind != proto.AskTrust || !strings.Contains(a.Text, want) {
		st.t.Fatalf("asked %s: %s, want the trust question about %q", a.Kind, a.Text, want)
	}
	return a
}

func TestKF111_ConsentCountsForWhatWasShown(t *testing.T) {
	for _, option := range []string{trust.AnswerTrust, trust.AnswerSession} {
		st := folder(t, map[string]string{shared: wanting("touch shown")})
		st.say("go")
		first := st.trustQuestion("touch shown")
		put(t, filepath.Join(st.dir, shared), wanting("touch another"))
		st.do(proto.Answer{ID: first.ID, Option: option})
		second := st.trustQuestion("touch another")
		if st.exists("shown") || st.exists("another") || st.rooms.part.trust.Get().State != trust.Untrusted {
			t.Fatalf("%s: something ran that nobody agreed to", option)
		}
		st.do(proto.Answer{ID: second.ID, Option: option})
		st.result()
		if !st.exists("another") || st.exists("shown") {
			t.Errorf("%s: what was agreed to did not run", option)
		}
		marks := readMarks(t, st)
		if want := option == trust.AnswerTrust; (marks != "") != want || strings.Contains(marks, "shown") {
			t.Errorf("%s: kept %q", option, marks)
		}
	}
}

// readMarks is what the state file keeps of the stage's folder.
func readMarks(t *testing.T, st *stage) string {
	t.Helper()
	root, err := st.rooms.settings.places.State().Read()
	if err != nil {
		t.Fatal(err)
	}
	in := st.rooms.settings.trust
	var out []string
	for _, m := range trust.ReadMarks(root)[in.Folder.Key] {
		out = append(out, m.Shared)
	}
	return strings.Join(out, " ")
}

func TestKF111_AScriptThatChangesUnderTheQuestion(t *testing.T) {
	st := folder(t, map[string]string{shared: wanting("sh ./check.sh"), "check.sh": "touch good\n"})
	st.say("go")
	first := st.trustQuestion("check.sh")
	put(t, filepath.Join(st.dir, "check.sh"), "touch evil\n")
	st.do(proto.Answer{ID: first.ID, Option: trust.AnswerTrust})
	second := st.trustQuestion("check.sh")
	if readMarks(t, st) != "" || st.exists("evil") {
		t.Fatal("a script nobody has seen was agreed to")
	}
	st.do(proto.Answer{ID: second.ID, Option: trust.AnswerDecline})
	st.result()
	if st.exists("evil") || st.exists("good") {
		t.Error("a declined script ran")
	}
}

// TestKF111_NoRace: settings that change all the time while the question is put and answered.
func TestKF111_NoRace(t *testing.T) {
	st := folder(t, map[string]string{shared: wanting("touch run0")})
	st.say("go")
	a := st.trustQuestion("touch run0")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for w := range 3 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				slip(st.dir, fmt.Sprintf("%s.%d", shared, w), wanting(fmt.Sprintf("touch run%d_%d", w, i)), shared)
				st.rooms.settings.live.Reload(context.Background())
			}
		})
	}
	over := false
	for i := 0; i < 5 && !over; i++ {
		st.do(proto.Answer{ID: a.ID, Option: trust.AnswerSession})
		st.until("question or result", func(b proto.EventBody) bool {
			var asked bool
			if a, asked = b.(proto.Ask); asked {
				return true
			}
			_, over = b.(proto.Result)
			return over
		})
	}
	close(stop)
	wg.Wait()
	slip(st.dir, shared+".end", wanting("touch unseen"), shared)
	st.rooms.settings.live.Reload(context.Background())
	if !over {
		st.do(proto.Answer{ID: a.ID, Option: trust.AnswerDecline})
		st.result()
	}
	if hooks := st.rooms.settings.live.State().Hooks(); len(hooks) != 0 {
		t.Errorf("what nobody has seen is in force: %s", hooks[0].JSON)
	}
}

// slip writes a file beside its place and moves it there; an error shows in what is asked next.
func slip(dir, beside, text, place string) {
	if os.WriteFile(filepath.Join(dir, beside), []byte(text), 0o644) == nil {
		_ = os.Rename(filepath.Join(dir, beside), filepath.Join(dir, place))
	}
}

func TestKF117_MalformedGuardRefusesTheStart(t *testing.T) {
	const guard = `{"sandbox": {"enabled": false}, "hooks": {"preToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}`
	alone := func(o *Options) { o.Settings = guard }
	if _, err := organisation(t, `{}`, alone); err == nil || !strings.Contains(err.Error(), "--settings:1:") || !strings.Contains(err.Error(), "did you mean PreToolUse?") {
		t.Errorf("started: %v", err)
	}
	if _, err := organisation(t, `{}`, alone, func(o *Options) { o.IgnoreBadRules = true }); err != nil {
		t.Errorf("not although it was told to: %v", err)
	}
	if _, err := organisation(t, `{"disableAllHooks": true}`, alone); err != nil {
		t.Errorf("not although hooks are off: %v", err)
	}
}

// TestBrokenSettingsAreAskedAbout: mend them, go on without, or leave, before anything runs.
func TestBrokenSettingsAreAskedAbout(t *testing.T) {
	broken := map[string]string{
		"a file":  `{"permissions": {"deny": ["Bash(rm *)"]`,
		"a rule":  `{"permissions": {"deny": ["Bash(rm *)*"]}}`,
		"a guard": `{"hooks": {"PreToolUse": [{"hooks": [{"type": "comand"}]}]}}`,
		"a lock":  `{"permissions": {"dney": ["Bash(rm *)"]}}`,
	}
	for what, text := range broken {
		begin := func() (*stage, string, proto.Ask) {
			var file string
			st := newStage(t, `turns: [{content: [{text: done}]}, {content: [{text: done}]}]`, func(o *Options) {
				o.Interactive, o.Trust = true, &[]string{}
				file = filepath.Join(o.Env["MYELIN_HOME"], "settings.json")
				put(t, file, text)
			})
			st.say("go")
			a := st.asked()
			if a.Kind != proto.AskDialog || !strings.Contains(strings.Join(a.Understood, "\n"), "settings.json:1") || a.Options[0].Open != file {
				t.Fatalf("%s: asked %+v", what, a)
			}
			return st, file, a
		}
		st, file, a := begin()
		st.do(proto.Answer{ID: a.ID, Option: "fix"}) // nothing was mended
		a = st.asked()
		put(t, file, `{}`)
		st.do(proto.Answer{ID: a.ID, Option: "fix"})
		if r, _ := st.result(); r.Text != "done" {
			t.Errorf("%s, mended: %+v", what, r)
		}
		st, _, a = begin()
		st.do(proto.Answer{ID: a.ID, Option: "continue"})
		if r, _ := st.result(); r.Text != "done" {
			t.Errorf("%s, without: %+v", what, r)
		}
		st.say("again")
		if r, all := st.result(); r.Text != "done" || count[proto.Ask](all) != 0 {
			t.Errorf("%s: asked about what was decided: %+v", what, r)
		}
		st, _, a = begin()
		st.do(proto.Answer{ID: a.ID, Option: "exit"})
		<-st.done
	}
}

// TestKF117_AGuardThatBreaksWhileRunning: a change of the settings that cannot be read makes the calls
// it is about wait for a person.
func TestKF117_AGuardThatBreaksWhileRunning(t *testing.T) {
	st := newStage(t, `turns: [{content: [{tool: Bash, input: {command: "touch made"}}]}, {content: [{text: done}]}]`, func(o *Options) {
		o.Answers, o.Mode, o.Bypass = false, "acceptEdits", false
		o.Allow = []string{"Bash(touch *)"}
		put(t, filepath.Join(o.Env["MYELIN_HOME"], "settings.json"), `{}`)
	})
	put(t, st.rooms.settings.places.File("user"), `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": "ten"}]}]}}`)
	st.rooms.settings.live.Reload(t.Context())
	st.say("go")
	if r, _ := st.result(); r.Text != "done" || st.exists("made") {
		t.Errorf("the call ran: %+v", r)
	}
}

// TestLiveRulesOfAutoMode: the classifier is told the rules in force, not those of the start.
func TestLiveRulesOfAutoMode(t *testing.T) {
	st := newStage(t, `turns: [{content: [{text: done}]}]`, func(o *Options) {
		put(t, filepath.Join(o.Env["MYELIN_HOME"], "settings.json"), `{"autoMode": {"hard_deny": ["first"]}}`)
	})
	put(t, st.rooms.settings.places.File("user"), `{"autoMode": {"hard_deny": ["second"]}, "allowedHttpHookUrls": [], "httpHookAllowedEnvVars": ["A"], "env": {"A": "b"}}`)
	st.rooms.settings.live.Reload(t.Context())
	if rules := st.rooms.models.classifier.Rules().HardDeny; len(rules) == 0 || rules[len(rules)-1] != "second" {
		t.Errorf("the classifier is told %q", rules)
	}
	if l := httpLimits(st.rooms.settings.now()); l.URLs == nil || len(*l.URLs) != 0 || l.Vars == nil || len(*l.Vars) != 1 {
		t.Errorf("limits of HTTP hooks: %+v", l)
	}
	if cfg := hookConfig(st.rooms); cfg.Getenv("A") != "b" {
		t.Error("variables of the settings are those of the start")
	}
}

// TestKF046_NoHookRunsUnderTheQuestion: not even one of the user's own, before the question of trust is
// answered.
func TestKF046_NoHookRunsUnderTheQuestion(t *testing.T) {
	for option, want := range map[string]bool{trust.AnswerSession: true, "": false} {
		ran := filepath.Join(t.TempDir(), "ran")
		st := newStage(t, `turns: [{content: [{text: done}]}]`, func(o *Options) {
			o.Interactive = true
			put(t, filepath.Join(o.Env["MYELIN_HOME"], "settings.json"), fmt.Sprintf(`{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "touch %s"}]}],
				"SessionEnd": [{"hooks": [{"type": "command", "command": "touch %s"}]}]}}`, ran, ran))
			put(t, filepath.Join(o.Cwd, shared), wanting("true"))
		})
		st.say("go")
		a := st.trustQuestion("true")
		st.rooms.hooks.Fire(t.Context(), hook.Event{Name: hook.Notification, Match: "permission_prompt"})
		if _, err := os.Stat(ran); err == nil {
			t.Fatal("a hook ran while the question was open")
		}
		if option != "" {
			st.do(proto.Answer{ID: a.ID, Option: option})
			st.result()
		}
		if err := st.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(ran); (err == nil) != want {
			t.Errorf("after %q a hook of the end ran: %v", option, err == nil)
		}
	}
}
