//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// TestKF054_SandboxCannotStartHere runs the tests below in a place where no namespace can be made, as
// in most containers: inside a sandbox that forbids them.
func TestKF054_SandboxCannotStartHere(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "partial-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "partial.test")
	if err := copyProgram(self, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--disable-userns", "--cap-drop", "ALL",
		"--setenv", "PARTIAL_DIR", dir, "--", program, "-test.run", "^TestPartial", "-test.v")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: TestPartial") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// partialCell is a cell in a place without namespaces; nil elsewhere.
func partialCell(t *testing.T) *cell {
	dir := os.Getenv("PARTIAL_DIR")
	if dir == "" {
		return nil
	}
	t.Setenv("TMPDIR", dir)
	return newCell(t)
}

func TestPartialStatus(t *testing.T) {
	c := partialCell(t)
	if c == nil {
		return // run by TestKF054_SandboxCannotStartHere
	}
	st := c.box.Probe(context.Background(), sandbox.Config{})
	if st.Level != sandbox.Partial || st.State() != "partial (landlock)" || len(st.Missing) < 4 || st.Reason == "" || strings.Contains(st.Reason, "\n") {
		t.Fatalf("%s\n%s", st.Reason, st.Table())
	}
	if !strings.Contains(st.Fix, "namespaces") || !strings.Contains(st.Table(), "not given") {
		t.Errorf("%s", st.Table())
	}
	_, err := c.box.Start(c.owner, proc.Spec{Path: "/bin/true"}, c.cfg)
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "lesser level") {
		t.Errorf("the lesser level was taken without being asked for: %v", err)
	}
}

func TestPartialFiles(t *testing.T) {
	c := partialCell(t)
	if c == nil {
		return
	}
	c.cfg.AllowPartial = true
	c.put(".claude/settings.json", "mine")
	out, exit, report := c.run("echo hi > f && cat f; echo x > " + c.out + "/x; echo evil > .claude/settings.json; mkdir -p .git2; echo evil > .mcp.json; echo $TMPDIR; echo t > $TMPDIR/t && cat $TMPDIR/t; exit 3")
	if !strings.HasPrefix(out, "hi\n") || !strings.Contains(out, c.cfg.Temp+"\nt\n") || exit.Code != 3 {
		t.Errorf("%q %+v", out, exit)
	}
	if _, err := os.Stat(filepath.Join(c.out, "x")); err == nil {
		t.Error("written outside")
	}
	if c.text(".claude/settings.json") != "mine" || len(report.Violations) == 0 {
		t.Errorf("%q %+v", c.text(".claude/settings.json"), report)
	}
	if _, err := os.Stat(filepath.Join(c.dir, ".mcp.json")); err == nil {
		t.Error("what was planted is still there")
	}
	for _, attack := range []string{"unshare", "iouring", "sockethigh", "socket 1", "socket 16", "ptrace " + fmt.Sprint(os.Getpid()), "signal0 " + fmt.Sprint(os.Getppid()), "chmod f 4755", "write " + c.out + "/y"} {
		if out, _, _ := c.run(c.program() + " attack " + attack); !strings.Contains(out, "refused:") {
			t.Errorf("%s: %s", attack, out)
		}
	}
}

func (c *cell) program() string {
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	return self
}

func TestPartialNetwork(t *testing.T) {
	c := partialCell(t)
	if c == nil {
		return
	}
	c.cfg.AllowPartial = true
	tg := newTarget(t)
	c.cfg.Network = sandbox.Network{
		Decide: func(_ context.Context, to netname.Endpoint) sandbox.Decision {
			return sandbox.Decision{Allow: to.Name == "allowed.test", Local: true}
		},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	}
	if out, _, _ := c.run(fmt.Sprintf("%s attack connect tcp %s; (echo > /dev/tcp/127.0.0.1/%d) && echo through", c.program(), tg.Listener.Addr(), tg.port)); !strings.Contains(out, "refused:") || strings.Contains(out, "through") {
		t.Errorf("%s", out)
	}
	if out, _, _ := c.run(c.program() + " attack udp 1.1.1.1:53"); !strings.Contains(out, "refused:") {
		t.Errorf("%s", out)
	}
	if out, _, _ := c.run(fmt.Sprintf("%s attack get http://allowed.test:%d/", c.program(), tg.port)); !strings.Contains(out, "reached as allowed.test") {
		t.Errorf("%s", out)
	}
	if out, _, _ := c.run(c.program() + " attack get http://denied.test/"); !strings.Contains(out, "403") {
		t.Errorf("%s", out)
	}
}

func TestPartialKeepsWhatWasAskedOrRefuses(t *testing.T) {
	c := partialCell(t)
	if c == nil {
		return
	}
	c.cfg.AllowPartial = true
	for name, change := range map[string]func(*sandbox.Config){
		"hidden":  func(cfg *sandbox.Config) { cfg.DenyRead = []string{c.out} },
		"cut out": func(cfg *sandbox.Config) { cfg.DenyWrite = []string{c.dir + "/x"} },
		"free":    func(cfg *sandbox.Config) { cfg.FilesFree = true },
		"sockets": func(cfg *sandbox.Config) { cfg.UnixSockets = true },
	} {
		cfg := c.cfg
		change(&cfg)
		if _, err := c.box.Start(c.owner, proc.Spec{Path: "/bin/true"}, cfg); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "lesser level cannot") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What it left running must not outlive it.
	_, _, _ = c.run("setsid sleep 335 >/dev/null 2>&1 & (setsid sleep 335 &); echo")
	if out, err := exec.Command("pgrep", "-af", "^sleep 335$").CombinedOutput(); err == nil {
		t.Errorf("lives on: %s", out)
	}
}
