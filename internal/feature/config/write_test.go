package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("CONFIG_TEST_STATE"); path != "" {
		os.Exit(addKeys(path, os.Getenv("CONFIG_TEST_SETTINGS"), os.Getenv("CONFIG_TEST_NAME")))
	}
	os.Exit(m.Run())
}

// addKeys is a process of the concurrency test: again and again a trusted folder into the state file
// and a rule into the settings. It prints what was stored, after it was.
func addKeys(state, settings, name string) int {
	f := config.StateFile{Path: state}
	for i := range rounds {
		id := name + "-" + strconv.Itoa(i)
		err := f.Set(true, "projects", "/"+id, "hasTrustDialogAccepted")
		if err == nil {
			err = config.Edit(origin.User, settings, func(d *jsonc.Doc) error {
				return d.Append([]string{"permissions", "allow"}, json.RawMessage(strconv.Quote(id)))
			})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(id)
	}
	return 0
}

func TestKF014_TwentyProcessesOnStateAndSettings(t *testing.T) {
	dir := t.TempDir()
	state, settings := filepath.Join(dir, "state.json"), filepath.Join(dir, "settings.json")
	must(t, os.WriteFile(settings, []byte("{\n  // mine\n  \"model\": \"x\"\n}\n"), 0o640))
	outs := make([]strings.Builder, 20)
	cmds := make([]*exec.Cmd, len(outs))
	for i := range cmds {
		cmds[i] = exec.Command(os.Args[0])
		cmds[i].Env = append(os.Environ(), "CONFIG_TEST_STATE="+state, "CONFIG_TEST_SETTINGS="+settings, fmt.Sprintf("CONFIG_TEST_NAME=p%d", i))
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], os.Stderr
		must(t, cmds[i].Start())
	}
	// Meanwhile the files are valid at every moment; half of the processes are killed on the way.
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		often := time.NewTicker(5 * time.Millisecond)
		defer often.Stop()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-often.C:
			}
			for _, path := range []string{state, settings} {
				data, err := os.ReadFile(path)
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				if _, err := jsonc.Parse("", path, data); err != nil {
					t.Errorf("broken at some moment: %v", err)
					return
				}
			}
			if data, _ := os.ReadFile(state); n%20 == 19 && len(data) > 40*rounds && n/20*2 < len(cmds) {
				_ = cmds[n/20*2].Process.Kill() // it may have ended
			}
		}
	}()
	var wg sync.WaitGroup
	for i, cmd := range cmds {
		wg.Go(func() {
			if err := cmd.Wait(); err != nil && i%2 == 1 {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	close(stop)
	<-watched
	root, err := config.StateFile{Path: state}.Read()
	must(t, err)
	data, err := os.ReadFile(settings)
	must(t, err)
	doc, err := jsonc.Parse("", settings, data)
	must(t, err)
	rules := map[string]int{}
	for _, r := range doc.Root().Get("permissions", "allow").Elems {
		rules[r.Text()]++
	}
	stored := 0
	for i := range outs {
		for _, id := range strings.Fields(outs[i].String()) {
			stored++
			if n := root.Get("projects", "/"+id, "hasTrustDialogAccepted"); n == nil || n.Text() != "true" {
				t.Errorf("trust of %s is lost", id)
			}
			if rules[id] != 1 {
				t.Errorf("rule %s stands there %d times", id, rules[id])
			}
		}
	}
	if stored < 10*rounds {
		t.Errorf("only %d were stored", stored)
	}
	if !strings.HasPrefix(string(data), "{\n  // mine\n  \"model\": \"x\",\n") {
		t.Errorf("the person's part changed: %.80s", data)
	}
	if copies, _ := filepath.Glob(filepath.Join(dir, ".state.json.corrupted.*")); len(copies) > 0 {
		t.Errorf("taken for corrupt: %v", copies)
	}
	if info, _ := os.Stat(settings); info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %o", info.Mode().Perm())
	}
}

func writer(m *machine) config.Writer {
	return config.Writer{Places: m.opts.Places, Git: gitrepo.Git{Env: []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}}}
}

func TestSetAndUnset(t *testing.T) {
	m := newMachine(t)
	w := writer(m)
	set := func(scope origin.Scope, key, value string) config.Saved {
		t.Helper()
		saved, err := w.Set(t.Context(), scope, key, json.RawMessage(value))
		must(t, err)
		return saved
	}
	set(origin.User, "model", `"a"`)
	set(origin.User, "permissions.defaultMode", `"plan"`)
	set(origin.User, "env.NAME", `"v"`)
	set(origin.User, "autoConnectIde", `true`)
	saved := set(origin.Project, "model", `"b"`)
	if m.short(saved.Path) != "project/.myelin/settings.json" {
		t.Errorf("saved to %s", saved.Path)
	}
	s := m.load(config.TrustAll())
	m.expect(s, "model", `"b" project/.myelin/settings.json`)
	m.expect(s, "env", `{"NAME":"v"} home/.myelin/settings.json`)
	if state, _ := os.ReadFile(m.opts.Places.StateFile); string(state) != "{\n  \"autoConnectIde\": true\n}\n" {
		t.Errorf("state file: %s", state)
	}
	over := set(origin.User, "model", `"c"`).Overrides(m.load(config.TrustAll()), "model")
	if over.Overridden == nil || m.short(over.Overridden.File) != "project/.myelin/settings.json" {
		t.Errorf("overridden by %v", over.Overridden)
	}
	_, err := w.Unset(t.Context(), origin.Project, "model")
	must(t, err)
	m.expect(m.load(config.TrustAll()), "model", `"c" home/.myelin/settings.json`)
	_, err = w.Unset(t.Context(), origin.Local, "model")
	must(t, err)
	if _, err := os.Stat(m.path("project/.myelin/settings.local.json")); err == nil {
		t.Error("taking nothing out made a file")
	}
}

func TestSetRefusesWhatWouldBeDropped(t *testing.T) {
	m := newMachine(t)
	w := writer(m)
	w.Sections = []config.Section{ruleSection("allow")}
	for _, c := range []struct {
		scope            origin.Scope
		key, value, want string
	}{
		{origin.User, "modle", `"a"`, `modle: unknown key; did you mean "model"?`},
		{origin.User, "model", `3`, "model: is a number; expected a string"},
		{origin.User, "permissions.defaultMode", `"paln"`, `did you mean "plan"?`},
		{origin.Project, "skipDangerousModePermissionPrompt", `true`, "has no effect in the shared project file"},
		{origin.Managed, "model", `"a"`, `nothing can be saved in scope "managed"`},
		{origin.User, "model", `oops`, "is not JSON"},
		{origin.User, "permissions.allow", `["Bash("]`, "no closing parenthesis"},
		{origin.User, "autoConnectIde", `3`, "autoConnectIde: is a number"},
		{origin.User, "permissions", `{"allow": "x"}`, "permissions.allow: is a string"},
	} {
		if _, err := w.Set(t.Context(), c.scope, c.key, json.RawMessage(c.value)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	if _, err := w.Add(t.Context(), origin.User, "permissions.allow", "Edit", "Bash("); err == nil {
		t.Error("a malformed rule was saved")
	}
	if _, err := os.Stat(m.path("home/.myelin/settings.json")); err == nil {
		t.Error("something was written")
	}
}

func TestAddAndRemove(t *testing.T) {
	m := newMachine(t)
	w := writer(m)
	saved, err := w.Add(t.Context(), origin.Local, "permissions.allow", "A", "B")
	must(t, err)
	if got := m.short(saved.Excluded); got != "home/.config/git/ignore" {
		t.Errorf("excluded by %q", got)
	}
	if ignore, _ := os.ReadFile(saved.Excluded); string(ignore) != "**/.myelin/settings.local.json\n" {
		t.Errorf("patterns: %s", ignore)
	}
	if saved, err = w.Add(t.Context(), origin.Local, "permissions.allow", "B", "C"); err != nil || saved.Excluded != "" {
		t.Errorf("%+v %v", saved, err)
	}
	_, err = w.Remove(t.Context(), origin.Local, "permissions.allow", "A", "Z")
	must(t, err)
	m.expect(m.load(config.TrustAll()), "permissions.allow", `["B","C"] project/.myelin/settings.local.json`)
	info, err := os.Stat(saved.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func TestDropInWritesPublicPlaces(t *testing.T) {
	m := newMachine(t)
	m.find(nil, true)
	w := writer(m)
	for scope, want := range map[origin.Scope]string{
		origin.User: "home/.claude/settings.json", origin.Project: "project/.claude/settings.json", origin.Local: "project/.claude/settings.local.json",
	} {
		saved, err := w.Add(t.Context(), scope, "permissions.deny", "A")
		if err != nil || m.short(saved.Path) != want {
			t.Errorf("%s: %s %v", scope, saved.Path, err)
		}
	}
	_, err := w.Set(t.Context(), origin.User, "diffTool", json.RawMessage(`"x"`))
	must(t, err)
	if _, err := os.Stat(m.path("home/.claude.json")); err != nil {
		t.Error(err)
	}
}

func TestLinkedSettingsFileStaysALink(t *testing.T) {
	m := newMachine(t)
	real := m.put("home/dotfiles/settings.json", "{}")
	must(t, os.MkdirAll(m.path("home/.myelin"), 0o755))
	must(t, os.Symlink(real, m.path("home/.myelin/settings.json")))
	_, err := writer(m).Set(t.Context(), origin.User, "verbose", json.RawMessage("true"))
	must(t, err)
	if got, _ := os.ReadFile(real); string(got) != "{\n  \"verbose\": true\n}" {
		t.Errorf("target: %s", got)
	}
	if to, err := os.Readlink(m.path("home/.myelin/settings.json")); err != nil || to != real {
		t.Errorf("the link became %q %v", to, err)
	}
}

func TestStateFileThatIsBroken(t *testing.T) {
	dir := t.TempDir()
	now := time.Unix(1e9, 0)
	f := config.StateFile{Path: filepath.Join(dir, ".claude.json"), Backups: filepath.Join(dir, "backups"), Now: func() time.Time { return now }}
	if root, err := f.Read(); root != nil || err != nil {
		t.Errorf("nothing: %v %v", root, err)
	}
	must(t, os.WriteFile(f.Path, []byte(`{"projects": {`), 0o600))
	var corrupt *config.CorruptError
	_, err := f.Read()
	if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "line 1, column 14") {
		t.Fatal(err)
	}
	if kept, _ := os.ReadFile(corrupt.Copy); string(kept) != `{"projects": {` || filepath.Base(corrupt.Copy) != ".claude.json.corrupted.20010909T014640Z" {
		t.Errorf("copy %s holds %q", corrupt.Copy, kept)
	}
	now = now.Add(time.Hour)
	if err := f.Set(1, "a"); !errors.As(err, &corrupt) {
		t.Errorf("a broken file was written: %v", err)
	}
	if copies, _ := filepath.Glob(filepath.Join(dir, "backups", "*corrupted*")); len(copies) != 1 {
		t.Errorf("copies: %v", copies)
	}
	copied, err := f.Reset()
	if err != nil || copied != corrupt.Copy {
		t.Errorf("reset: %s %v", copied, err)
	}
	must(t, f.Set(map[string]int{"x": 1}, "a", "b.c"))
	if copied, err = f.Reset(); copied != "" || err != nil {
		t.Errorf("a whole file was reset: %s %v", copied, err)
	}
	if got, _ := os.ReadFile(f.Path); !strings.Contains(string(got), `"b.c": {`) {
		t.Errorf("holds %s", got)
	}
}

func TestStateFileBackups(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	f := config.StateFile{Path: filepath.Join(dir, "state.json"), Now: func() time.Time { return now }}
	for i := range 12 {
		must(t, f.Set(i, "n"))
		must(t, f.Set(i, "m"))
		now = now.Add(2 * time.Minute)
	}
	copies, _ := filepath.Glob(filepath.Join(dir, ".state.json.backup.*"))
	if len(copies) != 5 {
		t.Errorf("copies: %v", copies)
	}
	newest, _ := os.ReadFile(copies[len(copies)-1])
	if !strings.Contains(string(newest), `"n": 10`) {
		t.Errorf("newest copy: %s", newest)
	}
}

func TestExplainAndList(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"model": "low", "env": {"KEY": "secret"}, "permissions": {"allow": ["A"]}, "outputStyle": 3}`)
	m.put("project/.myelin/settings.json", "{\n  \"model\": \"high\",\n  \"permissions\": {\"allow\": [\"B\"]}, \"apiKeyHelper\": \"x\"\n}")
	s := m.load(config.View{Project: config.Plain | config.Allow})
	text := func(key string) string {
		return strings.ReplaceAll(explained(config.Explain(s, key)), filepath.Dir(m.home)+"/", "")
	}
	for key, want := range map[string]string{
		"model":             "model = \"high\"\n  from project/.myelin/settings.json:2:12 (project)\n  over \"low\" from home/.myelin/settings.json:1:11 (user)\n",
		"permissions.allow": "permissions.allow = [\"A\",\"B\"]\n  from project/.myelin/settings.json:3:28 (project)\n    \"A\"  home/.myelin/settings.json:1:70 (user)\n    \"B\"  project/.myelin/settings.json:3:29 (project)\n",
		"verbose":           "verbose = false\n  from built-in default\n",
		"language":          "language is not set\n",
		"modle":             "modle: unknown key; did you mean \"model\"?\n",
		"apiKeyHelper":      "apiKeyHelper is not set\n  without effect: apiKeyHelper at project/.myelin/settings.json:3:52 (project): the folder is not trusted with it\n",
		"outputStyle":       "outputStyle is not set\n  problem: home/.myelin/settings.json:1:92: outputStyle: is a number; expected a string\n",
	} {
		if got := text(key); !strings.HasPrefix(got, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", key, got, want)
		}
	}
	var got []string
	for _, e := range config.List(s) {
		got = append(got, e.Key+"="+string(e.Value))
	}
	if diff := cmp.Diff([]string{`env={"KEY":"***"}`, `model="high"`, `permissions.allow=["A","B"]`}, got); diff != "" {
		t.Error(diff)
	}
}

// explained is an explanation as text.
func explained(e config.Explanation) string {
	var b strings.Builder
	over := func(indent string, lost []config.Candidate) {
		for _, c := range lost {
			fmt.Fprintf(&b, "%sover %s from %s\n", indent, c.Value, c.At)
		}
	}
	switch {
	case !e.Known:
		fmt.Fprintf(&b, "%s: unknown key; did you mean %q?\n", e.Key, e.Nearest)
	case e.Value == nil:
		fmt.Fprintf(&b, "%s is not set\n", e.Key)
	default:
		fmt.Fprintf(&b, "%s = %s\n  from %s\n", e.Key, e.Value, e.At)
	}
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "    %s  %s\n", strings.TrimPrefix(p.Key+" = "+string(p.Value), " = "), p.At)
		over("      ", p.Over)
	}
	over("  ", e.Over)
	for _, i := range e.Ignored {
		fmt.Fprintf(&b, "  without effect: %s at %s: %s\n", i.Key, i.At, i.Why)
	}
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "  problem: %s\n", p)
	}
	return b.String()
}
