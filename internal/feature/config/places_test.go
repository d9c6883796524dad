package config_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

func TestHomeResolution(t *testing.T) {
	type homes struct{ Home, Guest, State, GuestState, Folder string }
	for _, c := range []struct {
		name   string
		env    []string
		dropIn bool
		want   homes
	}{
		{"default", nil, false, homes{"/h/.myelin", "/h/.claude", "/h/.myelin/state.json", "/h/.claude.json", ".myelin"}},
		{"own", []string{"MYELIN_HOME=/m"}, false, homes{"/m", "/h/.claude", "/m/state.json", "/h/.claude.json", ".myelin"}},
		{"own below home", []string{"MYELIN_HOME=~/m"}, false, homes{"/h/m", "/h/.claude", "/h/m/state.json", "/h/.claude.json", ".myelin"}},
		{"public moved", []string{"CLAUDE_CONFIG_DIR=/c"}, false, homes{"/c", "", "/c/state.json", "/c/.claude.json", ".myelin"}},
		{"both", []string{"MYELIN_HOME=/m", "CLAUDE_CONFIG_DIR=/c"}, false, homes{"/m", "/c", "/m/state.json", "/c/.claude.json", ".myelin"}},
		{"drop-in", []string{"MYELIN_HOME=/m"}, true, homes{"/h/.claude", "", "/h/.claude.json", "", ".claude"}},
		{"drop-in moved", []string{"CLAUDE_CONFIG_DIR=/c"}, true, homes{"/c", "", "/c/.claude.json", "", ".claude"}},
	} {
		p, err := config.Find(config.PlaceOptions{UserHome: "/h", Start: "/p", Env: config.EnvironOf(c.env), DropIn: c.dropIn})
		must(t, err)
		if diff := cmp.Diff(c.want, homes{p.Home, p.GuestHome, p.StateFile, p.GuestState, p.Folder}); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
	for _, env := range []string{"MYELIN_HOME=relative", "CLAUDE_CONFIG_DIR=./x"} {
		if _, err := config.Find(config.PlaceOptions{UserHome: "/h", Start: "/p", Env: config.EnvironOf([]string{env})}); err == nil {
			t.Errorf("%s was accepted", env)
		}
	}
	if _, err := config.Find(config.PlaceOptions{UserHome: "/h", Start: "p"}); err == nil {
		t.Error("a relative start folder was accepted")
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestLocalFileIsAtTheMainCheckout(t *testing.T) {
	m := newMachine(t)
	git(t, m.project, "init", "-q")
	git(t, m.project, "commit", "-q", "--allow-empty", "-m", "x")
	tree := m.path("tree")
	git(t, m.project, "worktree", "add", "-q", tree)
	sub := filepath.Join(m.project, "a", "b")
	must(t, os.MkdirAll(sub, 0o755))
	find := func(start string) config.Places {
		p, err := config.Find(config.PlaceOptions{UserHome: m.home, Start: start, Managed: []string{}})
		must(t, err)
		return p
	}
	want := filepath.Join(m.project, ".myelin", "settings.local.json")
	for _, start := range []string{m.project, sub, tree} {
		if got := find(start).File(origin.Local); got != want {
			t.Errorf("from %s: %s", start, got)
		}
	}
	if got := find(sub).File(origin.Project); got != filepath.Join(sub, ".myelin", "settings.json") {
		t.Errorf("the shared file is not at the start folder: %s", got)
	}
	if got := find(m.home).File(origin.Local); got != filepath.Join(m.home, ".myelin", "settings.local.json") {
		t.Errorf("outside git: %s", got)
	}
	// A repository over the whole home does not make home the place.
	git(t, m.home, "init", "-q")
	inside := filepath.Join(m.home, "src")
	must(t, os.Mkdir(inside, 0o755))
	if got := find(inside).LocalRoot; got != inside {
		t.Errorf("home as repository: %s", got)
	}
	// Both places are read, the root's wins, rules of both apply.
	m.put("project/a/b/.claude/settings.local.json", `{"language": "start", "permissions": {"deny": ["A"]}}`)
	m.put("project/.claude/settings.local.json", `{"language": "root", "permissions": {"deny": ["B"]}}`)
	m.opts.Places = find(sub)
	s := m.load(config.TrustAll())
	m.expect(s, "language", `"root" project/.claude/settings.local.json`)
	m.expect(s, "permissions.deny", `["A","B"] project/.claude/settings.local.json`)
}

func TestRootOwnedBySomebodyElse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root can give a folder away: the case is tested where the tests run as root")
		return
	}
	m := newMachine(t)
	git(t, m.project, "init", "-q")
	sub := filepath.Join(m.project, "sub")
	must(t, os.Mkdir(sub, 0o755))
	must(t, os.Lchown(filepath.Join(m.project, ".git"), 12345, 12345))
	p, err := config.Find(config.PlaceOptions{UserHome: m.home, Start: sub, Managed: []string{}})
	must(t, err)
	if p.LocalRoot != sub {
		t.Errorf("local root is %s", p.LocalRoot)
	}
}

func TestHomeAsStartFolder(t *testing.T) {
	m := newMachine(t)
	m.put("home/.claude/settings.json", `{"apiKeyHelper": "mine", "autoMode": {}}`)
	m.project = m.home
	m.find(nil, false)
	s := m.load(config.View{})
	m.expect(s, "apiKeyHelper", `"mine" home/.claude/settings.json`)
	if len(s.Errors)+len(s.Effective.Ignored) > 0 {
		t.Errorf("the user's file was taken for a project's: %v %v", m.problems(s), s.Effective.Ignored)
	}
}

func TestCompatSwitchesGuestsOff(t *testing.T) {
	guests := func(m *machine) string {
		var out []string
		for _, s := range m.load(config.TrustAll()).Sources {
			if s.Guest {
				out = append(out, m.short(s.Path))
			}
		}
		return strings.Join(out, " ")
	}
	m := newMachine(t)
	for _, f := range []string{"home/.claude/settings.json", "project/.claude/settings.json", "project/.claude/settings.local.json", "etc/claude-code/managed-settings.json"} {
		m.put(f, `{"compat": false, "verbose": true}`) // in a guest file it says nothing
	}
	all := "home/.claude/settings.json project/.claude/settings.json project/.claude/settings.local.json etc/claude-code/managed-settings.json"
	if got := guests(m); got != all {
		t.Errorf("guests: %s", got)
	}
	m.put("home/.myelin/settings.json", `{"compat": false}`)
	if got := guests(m); got != "etc/claude-code/managed-settings.json" {
		t.Errorf("switched off by the user: %s; the administrator's policy must stay", got)
	}
	m.opts.Settings = `{"compat": true}`
	if got := guests(m); got != all {
		t.Errorf("switched on by flag: %s", got)
	}
	m.put("etc/myelin/managed-settings.json", `{"compat": false}`)
	if got := guests(m); got != "" {
		t.Errorf("switched off by the administrator: %s", got)
	}
	m.find(nil, true)
	if s := m.load(config.TrustAll()); s.Lookup("verbose") == nil {
		t.Error("drop-in mode lives in the public places")
	}
}

func TestList(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{}`)
	m.put("etc/claude-code/managed-settings.d/a.json", `{}`)
	var got []string
	for _, i := range m.opts.Places.List() {
		line := string(i.Scope) + " " + m.short(i.Path)
		for flag, on := range map[string]bool{" guest": i.Guest} {
			if on {
				line += flag
			}
		}
		if i.Exists {
			line += " exists"
		}
		if i.Written {
			line += " written"
		}
		got = append(got, line)
	}
	want := []string{
		"user home/.claude/settings.json guest", "user home/.myelin/settings.json exists written",
		"project project/.claude/settings.json guest", "project project/.myelin/settings.json written",
		"local project/.claude/settings.local.json guest", "local project/.myelin/settings.local.json written",
		"managed etc/claude-code/managed-settings.json guest", "managed etc/claude-code/managed-settings.d/a.json guest exists",
		"managed etc/myelin/managed-settings.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyHelper(t *testing.T) {
	m := newMachine(t)
	m.put("home/.myelin/settings.json", `{"model": "user"}`)
	helper := m.put("etc/helper", "#!/bin/sh\necho '{\"managedSettings\": {\"model\": \"helper\", \"language\": 3, \"policyHelper\": {\"path\": \"/x\"}}}'\n")
	must(t, os.Chmod(helper, 0o755))
	m.put("etc/myelin/managed-settings.json", `{"model": "file", "verbose": true, "policyHelper": {"path": "`+helper+`", "refreshIntervalMs": 60000}}`)
	f := config.Load(context.Background(), m.opts)
	must(t, f.Err())
	s := f.State(config.View{}, 1)
	m.expect(s, "model", `"helper" etc/helper`)
	m.expect(s, "verbose", "unset") // the tier is replaced
	m.expect(s, "policyHelper", "unset")
	if len(s.Errors) != 1 || f.PolicyRefresh().Seconds() != 60 {
		t.Errorf("problems %v, refresh %s", m.problems(s), f.PolicyRefresh())
	}
	for name, c := range map[string]struct{ script, path, want string }{
		"fails":       {"#!/bin/sh\necho no >&2; exit 3\n", helper, "exit status 3: no"},
		"not JSON":    {"#!/bin/sh\necho hello\n", helper, "not JSON"},
		"no settings": {"#!/bin/sh\necho '{}'\n", helper, `no object "managedSettings"`},
		"hangs":       {"#!/bin/sh\nsleep 60\n", helper, "no answer within 50ms"},
		"relative":    {"", "helper", "expected a clean absolute path"},
		"not clean":   {"", filepath.Dir(helper) + "/../etc/helper", "clean absolute path"},
		"missing":     {"", helper + "2", "no such file"},
	} {
		if c.script != "" {
			m.put("etc/helper", c.script)
		}
		limit := "60000" // only one that hangs may run into it, whatever else the machine does
		if name == "hangs" {
			limit = "50"
		}
		m.put("etc/myelin/managed-settings.json", `{"policyHelper": {"path": "`+c.path+`", "timeoutMs": `+limit+`}}`)
		err := config.Load(context.Background(), m.opts).Err()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.Chmod(helper, 0o777))
	m.put("etc/myelin/managed-settings.json", `{"policyHelper": {"path": "`+helper+`"}}`)
	if err := config.Load(context.Background(), m.opts).Err(); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a program everybody can write was run: %v", err)
	}
}

func TestKF055_ProtectedPathsCoverEveryFileThatIsRead(t *testing.T) {
	m := newMachine(t)
	git(t, m.project, "init", "-q")
	sub := filepath.Join(m.project, "sub")
	must(t, os.Mkdir(sub, 0o755))
	m.project = sub
	m.find(nil, false)
	protected := m.opts.Places.Protected()
	covered := func(path string) bool {
		for _, p := range protected {
			if path == p || strings.HasPrefix(path, p+string(filepath.Separator)) {
				return true
			}
		}
		return false
	}
	for _, path := range append(m.opts.Places.Watched(), m.opts.Places.StateFile, m.opts.Places.GuestState) {
		if !covered(path) {
			t.Errorf("%s is read and not protected", path)
		}
	}
	if covered(filepath.Join(sub, "main.go")) || covered(filepath.Join(sub, "CLAUDE.md")) || covered(filepath.Join(sub, ".claude", "worktrees", "x")) {
		t.Error("too much is protected")
	}
}

func TestAddedDirectoriesGivePluginsOnly(t *testing.T) {
	m := newMachine(t)
	m.put("more/.claude/settings.json", `{"enabledPlugins": {"p@m": true}, "hooks": {"Stop": []}, "model": 3, "permissions": {"allow": ["A"], "deny": ["B"]}}`)
	m.put("more/.myelin/settings.json", `{"enabledPlugins": {"p@m": false}, "extraKnownMarketplaces": 3}`)
	m.opts.AddDirs = []string{m.path("more"), m.project}
	m.put("project/.myelin/settings.json", `{"language": "x"}`)
	s := m.load(config.TrustAll())
	if got := string(s.Effective.Root.JSON()); got != `{"enabledPlugins":{"p@m":false},"language":"x"}` {
		t.Errorf("effective: %s", got)
	}
	if got := m.problems(s); len(got) != 1 || !strings.Contains(got[0], "extraKnownMarketplaces") {
		t.Errorf("problems: %v", got)
	}
	if got := string(m.load(config.View{}).Effective.Root.JSON()); got != `{}` {
		t.Errorf("before trust: %s", got)
	}
}

func TestGlobalSettings(t *testing.T) {
	m := newMachine(t)
	get := func() string {
		v, at, ok, err := m.opts.Places.Global("diffTool")
		if err != nil {
			return "error"
		}
		if !ok {
			return "unset"
		}
		return string(v) + " " + m.short(at.Place())
	}
	if got := get(); got != "unset" {
		t.Error(got)
	}
	m.put("home/.claude.json", `{"diffTool": "guest"}`)
	if got := get(); got != `"guest" home/.claude.json:1:14` {
		t.Error(got)
	}
	m.put("home/.myelin/state.json", `{"diffTool": 3}`)
	if got := get(); got != `"guest" home/.claude.json:1:14` {
		t.Error(got)
	}
	m.put("home/.myelin/state.json", `{"diffTool": "own"}`)
	m.put("home/.claude.json", `{broken`)
	if got := get(); got != `"own" home/.myelin/state.json:1:14` {
		t.Error(got)
	}
	m.put("home/.myelin/state.json", `{}`)
	if got := get(); got != "unset" {
		t.Error(got)
	}
	m.put("home/.myelin/state.json", `{`)
	if got := get(); got != "error" {
		t.Error(got)
	}
	if _, _, _, err := m.opts.Places.Global("model"); err == nil {
		t.Error("model is no setting of the state file")
	}
}

func TestAPipeInPlaceOfASettingsFileDoesNotHang(t *testing.T) {
	m := newMachine(t)
	must(t, os.MkdirAll(m.path("project/.myelin"), 0o755))
	must(t, syscall.Mkfifo(m.path("project/.myelin/settings.json"), 0o644))
	s := m.load(config.TrustAll())
	if got := m.problems(s); len(got) != 1 || !strings.Contains(got[0], "not a regular file") {
		t.Errorf("problems: %v", got)
	}
}
