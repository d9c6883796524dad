//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

func TestMain(m *testing.M) {
	if handled, code := sandbox.HelperMain(); handled {
		os.Exit(code)
	}
	if attackMain() || victimMain() {
		return
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		os.Stderr.WriteString("these tests need bubblewrap: apt-get install bubblewrap\n")
		os.Exit(1)
	}
	code := m.Run()
	if shared.dir != "" {
		hidden, _ := filepath.Glob(shared.dir + "/hidden/*") // the pattern is right
		for _, path := range hidden {
			os.Chmod(path, 0o700) // an ordinary user can remove none that it cannot list
		}
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// buffer is a writer that several goroutines may use.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// cell is a box with a project to work in.
type cell struct {
	t     testing.TB
	box   *sandbox.Box
	owner *proc.Owner
	cfg   sandbox.Config
	dir   string // the project
	out   string // a folder beside it
}

func newCell(t testing.TB) *cell {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := proc.NewHost(proc.Options{Grace: 200 * time.Millisecond})
	t.Cleanup(func() { host.Close() })
	c := &cell{t: t, owner: host.Owner("test"), dir: filepath.Join(base, "project"), out: filepath.Join(base, "outside")}
	for _, d := range []string{c.dir, c.out, filepath.Join(base, "tmp"), filepath.Join(base, "state")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.box = sandbox.New(sandbox.Options{StateDir: filepath.Join(base, "state"), Report: func(err error) { t.Error(err) }})
	t.Cleanup(c.box.Close)
	c.cfg = sandbox.Config{
		Dir: c.dir, Write: []string{c.dir}, Temp: filepath.Join(base, "tmp"), Quarantine: filepath.Join(base, "quarantine"),
		Show: []string{base},
	}
	return c
}

// run runs a command in the cell and returns what it printed, its exit and the report.
func (c *cell) run(script string) (string, proc.Exit, sandbox.Report) {
	c.t.Helper()
	out := &buffer{}
	cmd, err := c.box.Start(c.owner, proc.Spec{Path: "/bin/bash", Args: []string{"-c", script}, Dir: c.dir, Env: os.Environ(), Stdout: out, Stderr: out}, c.cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	<-cmd.Process.Done()
	return out.String(), cmd.Process.Exit(), cmd.Finish(out.String())
}

func TestFullLevelIsHere(t *testing.T) {
	c := newCell(t)
	st := c.box.Probe(context.Background(), sandbox.Config{})
	if st.Level != sandbox.Full {
		t.Fatalf("not the full level:\n%s", st.Table())
	}
	if !strings.Contains(st.Table(), "made at once by the helper") {
		t.Errorf("bubblewrap makes the mounts one by one:\n%s", st.Table())
	}
	if !strings.Contains(st.Table(), "on (bubblewrap)") || len(st.Checks) != 7 {
		t.Errorf("%s", st.Table())
	}
}

// A bubblewrap that leaves the helper no right to mount makes the mounts itself, and the status says why.
func TestMountsOneByOne(t *testing.T) {
	c := newCell(t)
	c.cfg.Bwrap = plainBwrap(t, c.out)
	st := c.box.Probe(context.Background(), c.cfg)
	if st.Level != sandbox.Full || st.Mounts || !strings.Contains(st.Table(), "one by one") || !strings.Contains(st.Table(), "setuid mode") {
		t.Errorf("%s", st.Table())
	}
	c.put(".mcp.json", "{}")
	out, exit, _ := c.run("echo hi > f; cat f; echo evil > .mcp.json; echo evil > " + c.out + "/x; echo ok > /dev/shm/x && cat /dev/shm/x")
	if exit.Code != 0 || !strings.HasPrefix(out, "hi\n") || !strings.HasSuffix(out, "ok\n") || strings.Count(out, "Read-only file system") != 2 {
		t.Errorf("%q, exit %+v", out, exit)
	}
}

func TestRunsInside(t *testing.T) {
	c := newCell(t)
	out, exit, report := c.run("echo hi > f; cat f; echo err >&2; pwd; echo $IS_SANDBOX $TMPDIR; exit 3")
	want := "hi\nerr\n" + c.dir + "\n1 " + c.cfg.Temp + "\n"
	if out != want || exit.Code != 3 || len(report.Violations) != 0 {
		t.Errorf("%q %+v %+v", out, exit, report)
	}
	if names, _ := filepath.Glob(filepath.Join(c.dir, "*")); len(names) != 1 {
		t.Errorf("files: %v", names)
	}
	if names, _ := filepath.Glob(filepath.Join(c.dir, ".*")); len(names) != 0 {
		t.Errorf("stubs are left: %v", names)
	}
}

// The devices are those that programs need, with terminals of the sandbox's own, and nothing is made beside
// them.
func TestDevicesInside(t *testing.T) {
	c := newCell(t)
	out, exit, _ := c.run(`ls -A /dev | tr '\n' ' '; head -c 3 /dev/zero | wc -c; echo gone > /dev/null; echo no > /dev/full
head -c 4 /dev/urandom | wc -c; echo shared > /dev/shm/x; cat /dev/shm/x; echo piped | cat /dev/stdin
ls -A /dev/pts | tr '\n' ' '; script -qec 'tty; stty size > /dev/null && echo terminal' /dev/null
touch /dev/x; rm /dev/null; mknod /dev/shm/y c 1 3; true`)
	for _, want := range []string{
		"core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero 3\n", "write error: No space left on device", "\n4\nshared\npiped\nptmx ",
		"/dev/pts/0\r\nterminal\r\n", "touch: cannot touch '/dev/x': Read-only file system", "rm: cannot remove '/dev/null'", "mknod: /dev/shm/y: Operation not permitted",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in it, exit %+v:\n%s", want, exit, out)
		}
	}
}

// What a program prints at once, before anybody here has had time to look, is its output like all the rest.
func TestTheFirstWordsAreNotLost(t *testing.T) {
	c := newCell(t)
	var lanes sync.WaitGroup
	for range 8 { // more than there are processors, so that somebody has to wait
		lanes.Go(func() {
			for range 20 {
				if out, exit, _ := c.run("echo first; echo second >&2"); out != "first\nsecond\n" {
					t.Errorf("%q, exit %+v", out, exit)
				}
			}
		})
	}
	lanes.Wait()
}

func BenchmarkTrue(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		host := proc.NewHost(proc.Options{})
		defer host.Close()
		o := host.Owner("bench")
		for b.Loop() {
			if exit, err := o.Run(b.Context(), proc.Spec{Path: "/bin/bash", Args: []string{"-c", "true"}}); err != nil || exit.Code != 0 {
				b.Fatal(exit, err)
			}
		}
	})
	b.Run("sandboxed", func(b *testing.B) {
		c := newCell(b)
		if err := exec.Command("git", "init", "-q", c.dir).Run(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, exit, _ := c.run("true"); exit.Code != 0 {
				b.Fatal(exit)
			}
		}
	})
}
