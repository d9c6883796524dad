package config_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// live opens the machine's settings; each announced state comes out of the channel.
func live(t *testing.T, m *machine, change func(*config.LiveOptions)) (*config.Live, chan *config.State, chan string) {
	t.Helper()
	states, notices := make(chan *config.State, 64), make(chan string, 64)
	opts := config.LiveOptions{
		Options: m.opts, View: config.TrustAll(),
		Changed: func(old, now *config.State, _ config.Change) {
			if now.Revision != old.Revision+1 {
				t.Errorf("revision %d after %d", now.Revision, old.Revision)
			}
			states <- now
		},
		Notice: func(text string) { notices <- text },
	}
	if change != nil {
		change(&opts)
	}
	l, err := config.Open(t.Context(), opts)
	must(t, err)
	t.Cleanup(l.Close)
	return l, states, notices
}

func next[T any](t *testing.T, c chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was announced")
	}
	panic("unreachable")
}

func TestReloadFollowsEveryScope(t *testing.T) {
	m := newMachine(t)
	l, states, _ := live(t, m, nil)
	for _, name := range []string{
		"home/.myelin/settings.json", "project/.claude/settings.json", "project/.myelin/settings.local.json",
		"etc/myelin/managed-settings.json", "etc/claude-code/managed-settings.d/x.json",
	} {
		m.put(name, `{"permissions": {"deny": ["`+name+`"]}}`)
		s := next(t, states)
		if got := s.Rules(); got[0].Text == "" || !strings.Contains(string(s.Lookup("permissions.deny").JSON()), name) {
			t.Errorf("%s: %v", name, got)
		}
	}
	must(t, os.Remove(m.path("project/.claude/settings.json")))
	s := next(t, states)
	if strings.Contains(string(s.Lookup("permissions.deny").JSON()), "project/.claude/settings.json") {
		t.Error("a rule of a removed file is still there")
	}
	if l.State() != s {
		t.Error("what was announced is not what is in force")
	}
}

func TestReloadFollowsASettingsFileGivenByFlag(t *testing.T) {
	m := newMachine(t)
	m.opts.Settings = m.put("elsewhere/s.json", `{"model": "a"}`)
	_, states, _ := live(t, m, nil)
	m.put("elsewhere/s.json", `{"model": "b"}`)
	m.expect(next(t, states), "model", `"b" elsewhere/s.json`)
}

func TestReloadWithoutAChangeIsNone(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"model": "a"}`)
	l, states, _ := live(t, m, nil)
	m.put("home/.myelin/settings.json", `{"model": "a"}`)
	l.Reload(context.Background())
	if len(states) != 0 || l.State().Revision != 1 {
		t.Errorf("announced %d, revision %d", len(states), l.State().Revision)
	}
}

func TestBrokenWhileRunningKeepsTheLastGood(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"permissions": {"deny": ["A"]}, "compat": false}`)
	m.put("home/.claude/settings.json", `{"permissions": {"allow": ["guest"]}}`)
	l, states, notices := live(t, m, nil)
	m.put("home/.myelin/settings.json", `{"permissions": {"deny": ["A", `)
	l.Reload(context.Background())
	if got := len(l.State().Rules()); got != 1 || len(states) != 0 {
		t.Errorf("%d rules in force, %d announced", got, len(states))
	}
	if text := next(t, notices); !strings.Contains(text, "settings.json:1:") || !strings.Contains(text, "version before stays in force") {
		t.Errorf("notice: %s", text)
	}
	m.put("home/.myelin/settings.json", `{"permissions": {"deny": ["A", "B"]}, "compat": false}`)
	m.expect(next(t, states), "permissions.deny", `["A","B"] home/.myelin/settings.json`)
}

func TestAHalfWrittenFileIsNoNotice(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"model": "a"}`)
	l, states, notices := live(t, m, func(o *config.LiveOptions) { o.Poll = true })
	m.put("home/.myelin/settings.json", `{"mod`)
	l.Reload(context.Background())
	m.put("home/.myelin/settings.json", `{"model": "b"}`)
	l.Reload(context.Background())
	m.expect(next(t, states), "model", `"b" home/.myelin/settings.json`)
	select {
	case text := <-notices:
		t.Errorf("notice: %s", text)
	case <-time.After(2500 * time.Millisecond):
	}
}

func TestVeto(t *testing.T) {
	m := newMachine(t)
	m.put("project/.myelin/settings.json", `{"model": "a"}`)
	var mu sync.Mutex
	var asked []string
	l, states, _ := live(t, m, func(o *config.LiveOptions) {
		o.Poll = true
		o.Veto = func(_ context.Context, c config.Change) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, m.short(c.Files[0].Path))
			if c.Files[0].Scope == origin.Project || c.Files[0].Scope == origin.Local {
				return errors.New("no")
			}
			return nil
		}
	})
	step := func(name string, do func(), model string, announced int) {
		t.Helper()
		do()
		l.Reload(context.Background())
		l.Reload(context.Background()) // what was refused is not asked about again
		m.expect(l.State(), "model", model)
		if len(states) != announced {
			t.Errorf("%s: %d announced, want %d", name, len(states), announced)
		}
		for len(states) > 0 {
			<-states
		}
	}
	was := `"a" project/.myelin/settings.json`
	step("changed", func() { m.put("project/.myelin/settings.json", `{"model": "b"}`) }, was, 0)
	step("removed", func() { must(t, os.Remove(m.path("project/.myelin/settings.json"))) }, was, 0)
	step("new", func() { m.put("project/.myelin/settings.local.json", `{"model": "c"}`) }, was, 0)
	step("two at once", func() {
		m.put("project/.myelin/settings.local.json", `{"model": "d"}`)
		m.put("home/.myelin/settings.json", `{"model": "user"}`)
	}, was, 1)
	step("the administrator's", func() { m.put("etc/myelin/managed-settings.json", `{"model": "admin"}`) }, `"admin" etc/myelin/managed-settings.json`, 1)
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"project/.myelin/settings.json", "project/.myelin/settings.json", "project/.myelin/settings.local.json",
		"home/.myelin/settings.json", "project/.myelin/settings.local.json",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestHoldKeepsFilesUnloaded(t *testing.T) {
	m := newMachine(t)
	l, states, _ := live(t, m, nil)
	one, two := l.Hold(), l.Hold()
	m.put("project/.myelin/settings.json", `{"model": "planted"}`)
	l.Reload(context.Background())
	one()
	one()
	if l.State().Lookup("model") != nil {
		t.Error("loaded while a command runs")
	}
	must(t, os.Remove(m.path("project/.myelin/settings.json"))) // the check took it away
	m.put("home/.myelin/settings.json", `{"model": "mine"}`)
	two()
	m.expect(next(t, states), "model", `"mine" home/.myelin/settings.json`)
}

func TestSetView(t *testing.T) {
	m := newMachine(t)
	m.put("project/.myelin/settings.json", `{"model": "a", "permissions": {"deny": ["A"]}}`)
	l, states, _ := live(t, m, func(o *config.LiveOptions) { o.View = config.View{} })
	m.expect(l.State(), "model", "unset")
	l.SetView(config.View{})
	if len(states) != 0 {
		t.Error("the same view was announced")
	}
	l.SetView(config.TrustAll())
	m.expect(next(t, states), "model", `"a" project/.myelin/settings.json`)
}

func TestPolicyHelperThatFailsLaterChangesNothing(t *testing.T) {
	m := newMachine(t)
	helper := m.put("etc/helper", "#!/bin/sh\necho '{\"managedSettings\": {\"model\": \"helper\"}}'\n")
	must(t, os.Chmod(helper, 0o755))
	m.put("etc/myelin/managed-settings.json", `{"policyHelper": {"path": "`+helper+`"}}`)
	l, states, notices := live(t, m, func(o *config.LiveOptions) { o.Poll = true })
	m.put("etc/helper", "#!/bin/sh\nexit 1\n")
	m.put("home/.myelin/settings.json", `{"language": "x"}`)
	l.Reload(context.Background())
	m.expect(l.State(), "model", `"helper" etc/helper`)
	if text := next(t, notices); !strings.Contains(text, "stays in force") || len(states) != 0 {
		t.Errorf("notice %q, %d announced", text, len(states))
	}
}

func TestOpenRefusesWhatMustNotStart(t *testing.T) {
	m := newMachine(t)
	m.opts.Settings = "nowhere.json"
	if _, err := config.Open(t.Context(), config.LiveOptions{Options: m.opts}); err == nil {
		t.Error("opened")
	}
}

func TestEditAppliesAtOnce(t *testing.T) {
	m := newMachine(t)
	l, states, _ := live(t, m, func(o *config.LiveOptions) { o.Poll = true })
	err := l.Edit(t.Context(), func() error {
		_, err := writer(m).Add(t.Context(), origin.User, "permissions.deny", "A")
		return err
	})
	must(t, err)
	if len(states) != 1 || len(l.State().Rules()) != 1 {
		t.Errorf("%d announced, rules %v", len(states), l.State().Rules())
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	p, err := config.Find(config.PlaceOptions{UserHome: dir + "/home", Start: dir + "/project", Managed: []string{dir + "/etc"}})
	must(b, err)
	for _, scope := range []origin.Scope{origin.User, origin.Project, origin.Local} {
		must(b, os.MkdirAll(strings.TrimSuffix(p.File(scope), "/"+pathBase(p.File(scope))), 0o755))
		must(b, os.WriteFile(p.File(scope), []byte(`{"permissions": {"allow": ["A", "B", "Bash(npm run *)"], "deny": ["C"]}, "model": "x",
			"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}, "env": {"A": "b"}}`), 0o644))
	}
	for b.Loop() {
		s := config.Load(b.Context(), config.Options{Places: p}).State(config.TrustAll(), 1)
		if len(s.Rules()) != 12 {
			b.Fatal(s.Rules())
		}
	}
}

func pathBase(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

func TestPolicyHelperIsAskedAgain(t *testing.T) {
	m := newMachine(t)
	helper := m.put("etc/helper", "#!/bin/sh\ncat "+m.path("etc/answer")+"\n")
	must(t, os.Chmod(helper, 0o755))
	m.put("etc/answer", `{"managedSettings": {"model": "one"}}`)
	m.put("etc/myelin/managed-settings.json", `{"policyHelper": {"path": "`+helper+`", "refreshIntervalMs": 1}}`)
	l, states, _ := live(t, m, nil)
	m.expect(l.State(), "model", `"one" etc/helper`)
	m.put("etc/answer", `{"managedSettings": {"model": "two"}}`)
	m.expect(next(t, states), "model", `"two" etc/helper`)
	l.Close()
	l.Close()
}

func TestAChangedHookIsReviewedBeforeItTakesEffect(t *testing.T) {
	m := newMachine(t)
	hooks := func(command string) string {
		return `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "` + command + `"}]}]}, "permissions": {"deny": ["A"]}}`
	}
	m.put("project/.myelin/settings.json", hooks("good"))
	l, states, _ := live(t, m, func(o *config.LiveOptions) {
		o.Poll = true
		o.Review = func(f *config.Files) config.View {
			for _, i := range f.Supplied() {
				if i.Kind == config.Hooks && !strings.HasSuffix(i.Text, "good") {
					return config.View{}
				}
			}
			return config.TrustAll()
		}
	})
	for _, c := range []struct {
		command string
		hooks   int
	}{{"evil", 0}, {"good", 1}} {
		m.put("project/.myelin/settings.json", hooks(c.command))
		l.Reload(context.Background())
		if s := next(t, states); len(s.Hooks()) != c.hooks || len(s.Rules()) != 1 {
			t.Errorf("%s: %d hooks, rules %v", c.command, len(s.Hooks()), s.Rules())
		}
	}
}

// TestKF114_ALockNobodyKeepsDoesNotKeepChangesOut: while a session runs it is told of, and rules that come
// with it or after it hold; a policy helper that cannot be read leaves the policy as it was.
func TestKF114_ALockNobodyKeepsDoesNotKeepChangesOut(t *testing.T) {
	m := newMachine(t)
	m.put("etc/myelin/managed-settings.json", `{"permissions": {"deny": ["A"]}}`)
	l, _, notices := live(t, m, func(o *config.LiveOptions) { o.Poll, o.After = true, time.Hour })
	m.put("etc/myelin/managed-settings.json", `{"permissions": {"deny": ["A", "B"]}, "forceLoginMethod": "console"}`)
	l.Reload(t.Context())
	m.put("home/.myelin/settings.json", `{"permissions": {"deny": ["C"]}}`)
	l.Reload(t.Context())
	if got := string(l.State().Lookup("permissions.deny").JSON()); got != `["C","A","B"]` {
		t.Errorf("in force: %s", got)
	}
	m.put("etc/myelin/managed-settings.json", `{"policyHelper": "/usr/bin/policy"}`)
	l.Reload(t.Context())
	if got := string(l.State().Lookup("permissions.deny").JSON()); got != `["C","A","B"]` {
		t.Errorf("a policy went with its helper: %s", got)
	}
	if text := next(t, notices); !strings.Contains(text, "policyHelper: is a string") || !strings.Contains(text, "stays in force") {
		t.Errorf("told: %s", text)
	}
}
