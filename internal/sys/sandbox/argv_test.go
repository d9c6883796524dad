//go:build linux

package sandbox

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a plan over a project that exists, with everything in it.
func example(t *testing.T) (*plan, Config, string) {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "plan")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	for _, f := range []string{
		"p/.git/HEAD", "p/.git/config", "p/.git/hooks/x", "p/.git/info/exclude", "p/.git/objects/x", "p/.git/refs/x",
		"p/.claude/settings.json", "p/.claude/skills/s/SKILL.md", "p/sub/.git/HEAD", "p/sub/.git/config", "p/sub/.git/objects/x", "p/sub/.git/refs/x",
		"p/secret/key", "p/secret/open/ok", "p/.env", "p/locked/x", "tmp/x", "vault/x",
	} {
		path := filepath.Join(base, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(base, "p")
	cfg := Config{
		Dir: dir, Write: []string{dir + "/", base + "/missing"}, DenyWrite: []string{dir + "/locked/**", dir + "/*.lock"},
		DenyRead: []string{dir + "/secret", dir + "/**/.env", base + "/vault/", base + "/none"}, AllowRead: []string{dir + "/secret/open"},
		Temp: base + "/tmp", Protect: []string{dir + "/sessions"},
	}
	b := New(Options{StateDir: base + "/state"})
	t.Cleanup(b.Close)
	p, err := b.plan(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, cfg, base
}

func golden(t *testing.T, name, got, base string) {
	t.Helper()
	got = strings.ReplaceAll(got, base, "/base")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (write it anew with -update):\n%s", path, diff)
	}
}

// perLine puts each option on a line with its values.
func perLine(args []string) string {
	var b strings.Builder
	for i, a := range args {
		switch {
		case i > 0 && strings.HasPrefix(a, "--"):
			b.WriteString("\n")
		case i > 0:
			b.WriteString(" ")
		}
		b.WriteString(a)
	}
	return b.String() + "\n"
}

func TestBwrapArguments(t *testing.T) {
	p, cfg, base := example(t)
	job := bwrapJob{
		plan: p, dir: cfg.Dir, helper: "/opt/myelin", seccompFD: 4, noUserns: true, root: true, helperArgs: []string{helperArg, "run", "{}", "--", "/bin/bash"},
		exists: func(path string) bool {
			return path == "/proc/sys" || path == "/proc/fs" || path == "/tmp/shown" || exists(path) && within(path, base)
		},
		show: []string{"/tmp/shown", "/tmp/not-there", cfg.Dir},
	}
	job.standIn = func(path string, dir bool, open []string) (string, error) {
		return strings.Join(append([]string{map[bool]string{true: "folder", false: "file"}[dir]}, open...), "+"), nil
	}
	steps, err := job.steps()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "bwrap.golden", perLine(job.args(steps))+"\n"+strings.Join(p.notes, "\n")+"\n", base)
	job.nested, job.stays, job.noUserns = true, true, false
	args := strings.Join(job.args(steps), " ")
	for _, want := range []string{"--ro-bind /proc /proc --tmpfs /proc/"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is missing in %s", want, args)
		}
	}
	for _, bad := range []string{"--die-with-parent", "--disable-userns", "--proc"} {
		if strings.Contains(args, bad) {
			t.Errorf("%q is in %s", bad, args)
		}
	}
	job.mounts, job.noUserns = true, true
	args = strings.Join(job.args(steps), " ")
	if strings.Contains(args, "secret") || !strings.Contains(args, "--cap-add CAP_SYS_ADMIN") || strings.Contains(args, "--disable-userns") || !strings.Contains(args, "-- /opt/myelin") {
		t.Errorf("%s", args)
	}
	job.plan, job.mounts = &plan{free: true}, false
	if steps, err = job.steps(); err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(job.args(steps), " "); !strings.HasPrefix(args, "--bind / /") || strings.Contains(args, "--tmpfs /tmp") {
		t.Errorf("%s", args)
	}
}

func TestSeatbeltProfile(t *testing.T) {
	p, _, base := example(t)
	golden(t, "seatbelt.golden", seatbeltJob{plan: p, http: 5001, socks: 5002}.profile(), base)
	golden(t, "seatbelt-free.golden", seatbeltJob{plan: &plan{free: true}, unixSockets: true}.profile(), base)
	if got := seatbeltString("a\"b\\c\n"); got != `"a\"b\\c\n"` {
		t.Errorf("%s", got)
	}
}

func TestContainerArguments(t *testing.T) {
	p, cfg, base := example(t)
	cfg.Container = &Engine{Image: "debian:12"}
	spec := proc.Spec{Path: "/bin/bash", Args: []string{"-c", "make"}, Dir: cfg.Dir, Env: []string{"PATH=/x", "A=b c", "HOME=/h", "MULTI=a\nb"}}
	job := containerJob{cfg: cfg, plan: p, spec: spec, podman: true, name: "myelin-1", standIn: func(path string, dir bool, _ []string) (string, error) {
		return fmt.Sprintf("/state/hidden/%v", dir), nil
	}}
	args, err := job.args()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`--user=\d+:\d+`).ReplaceAllString(perLine(args), "--user=UID:GID")
	golden(t, "container.golden", text, base)
	if strings.Contains(text, "b c") || strings.Contains(text, "a\nb") {
		t.Error("values of variables are on the command line")
	}
	for _, image := range []string{"", "--privileged"} {
		job.cfg.Container = &Engine{Image: image}
		if _, err := job.args(); err == nil {
			t.Errorf("image %q", image)
		}
	}
	job.cfg.Container, job.plan = &Engine{Image: "x"}, &plan{free: true}
	if _, err := job.args(); err == nil {
		t.Error("files that are not confined")
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string][2]int{"bubblewrap 0.8.0": {0, 8}, "bubblewrap 1.2": {1, 2}, "x": {0, 0}, "": {0, 0}, "bubblewrap a.b": {0, 0}} {
		if major, minor := version(text); major != want[0] || minor != want[1] {
			t.Errorf("%q: %d.%d", text, major, minor)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	b := New(Options{StateDir: t.TempDir()})
	for name, cfg := range map[string]Config{
		"relative":          {Write: []string{"x"}},
		"kernel":            {Write: []string{"/proc/self"}},
		"devices":           {Write: []string{"/dev"}},
		"everything hidden": {DenyRead: []string{"/"}},
		"bad pattern":       {DenyRead: []string{"/var/tmp/[a"}},
	} {
		if _, err := b.plan(t.Context(), cfg); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestProtectedPathsCannotBeOpened(t *testing.T) {
	base, err := os.MkdirTemp("/var/tmp", "plan-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	for _, d := range []string{"home/.myelin/hooks", "home/p/.claude/skills", "home/p/.myelin/worktrees/w", "home/p/.git/hooks"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := base + "/home"
	b := New(Options{StateDir: base + "/state"})
	p, err := b.plan(t.Context(), Config{
		Dir: home + "/p", Protect: []string{home + "/.myelin"},
		Write: []string{home, home + "/p", home + "/.myelin/hooks", home + "/p/.claude/skills", home + "/p/.git/hooks", home + "/p/.myelin/worktrees/w"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{home, home + "/p", home + "/p/.myelin/worktrees/w"}
	if diff := cmp.Diff(want, p.write); diff != "" {
		t.Error(diff)
	}
	if len(p.notes) != 3 {
		t.Errorf("notes: %v", p.notes)
	}
}
