//go:build linux

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// prison is a session whose shell tool runs in the sandbox and asks nobody.
type prison struct {
	t     *testing.T
	base  string // everything of this prison; not below /tmp, so that it is seen inside
	dir   string // the project
	home  string
	out   string // a folder beside the project
	box   *sandbox.Box
	owner *proc.Owner
	cfg   sandbox.Config
	shell *bash.Shell
	scope *tool.Scope
	how   tool.Confinement
	calls int
}

const attacker = "/run/myelin-sandbox attack "

func newPrison(t *testing.T) *prison {
	t.Helper()
	base, err := os.MkdirTemp(os.Getenv("ESCAPES_ROOT"), "prison-")
	if os.Getenv("ESCAPES_ROOT") == "" {
		base, err = os.MkdirTemp("/var/tmp", "prison-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	p := &prison{t: t, base: base, how: tool.Confinement{Level: tool.Sandboxed}}
	p.dir, p.home, p.out = filepath.Join(base, "home", "project"), filepath.Join(base, "home"), filepath.Join(base, "outside")
	for _, d := range []string{p.dir, p.out, p.home + "/.ssh", p.home + "/.config/autostart", base + "/tmp", base + "/session"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", p.home)
	p.put(p.home+"/.bashrc", "# mine\n")
	p.put(p.home+"/.ssh/authorized_keys", "mine\n")
	p.put(p.out+"/file", "mine\n")
	host := proc.NewHost(proc.Options{Grace: 200 * time.Millisecond})
	t.Cleanup(func() { host.Close() })
	p.owner = host.Owner("prison")
	p.box = sandbox.New(sandbox.Options{StateDir: stateDir(t), Report: func(err error) { t.Error(err) }})
	t.Cleanup(p.box.Close)
	p.cfg = sandbox.Config{
		Dir: p.dir, Write: []string{p.dir}, Temp: base + "/tmp", Quarantine: base + "/quarantine",
		DropEnv: []string{"*_API_KEY", "*_TOKEN"}, Bwrap: os.Getenv("ESCAPES_BWRAP"),
	}
	p.scope = tool.NewScope("", p.dir)
	p.build()
	return p
}

// shared is the state folder of all prisons of this process, so that the probe runs once; TestMain
// takes it away.
var shared struct {
	once sync.Once
	dir  string
	err  error
}

func stateDir(t *testing.T) string {
	t.Helper()
	shared.once.Do(func() { shared.dir, shared.err = os.MkdirTemp("/var/tmp", "prison-state-") })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.dir
}

type rootState struct{ Task *task.State }

func (p *prison) build() {
	s := store.New(rootState{Task: &task.State{}}, nil, nil)
	board := task.Board{Now: time.Now, Slice: store.Focus(s,
		func(r *rootState) *task.State { return r.Task },
		func(r *rootState, t *task.State) *rootState { n := *r; n.Task = t; return &n })}
	var ids atomic.Int64
	p.shell = bash.New(bash.World{
		Runner: bash.Confined(p.box, p.owner, func() sandbox.Config { return p.cfg }, nil),
		Dir:    func() string { return p.base + "/session" }, Temp: func() string { return p.base + "/tmp" }, Board: board, Live: &task.Live{},
		NewID: func() string { return fmt.Sprintf("b%d", ids.Add(1)) },
		Root:  func() string { return p.dir },
	})
}

func (p *prison) put(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *prison) result(ctx context.Context, input map[string]any) tool.Result {
	p.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		p.t.Fatal(err)
	}
	p.calls++
	c, err := p.shell.Normalise(tool.Call{ID: fmt.Sprintf("c%d", p.calls), Literal: raw, Scope: p.scope, Confine: p.how})
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := p.shell.Run(ctx, c)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// sh runs a command through the tool and returns what the model is told.
func (p *prison) sh(command string) string {
	p.t.Helper()
	return msg.TextOf(p.result(p.t.Context(), map[string]any{"command": command}).Content)
}

// attack makes one attempt of the attacker program, which must be refused.
func (p *prison) attack(args ...string) string {
	p.t.Helper()
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	out := p.sh(attacker + strings.Join(quoted, " "))
	if !strings.Contains(out, "refused:") || strings.Contains(out, "it worked") {
		p.t.Errorf("%s: %s", strings.Join(args, " "), out)
	}
	return out
}

// works runs a command that must succeed: a check that the prison is not simply broken.
func (p *prison) works(command string) string {
	p.t.Helper()
	r := p.result(p.t.Context(), map[string]any{"command": command})
	if r.IsError {
		p.t.Errorf("%s does not work: %s", command, msg.TextOf(r.Content))
	}
	return msg.TextOf(r.Content)
}

func (p *prison) absent(paths ...string) {
	p.t.Helper()
	for _, path := range paths {
		if st, err := os.Lstat(path); err == nil {
			p.t.Errorf("%s exists on the host (%v)", path, st.Mode())
		}
	}
}

func (p *prison) holds(path, want string) {
	p.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		p.t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

func (p *prison) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v %s", args, err, out)
	}
}

// noStubs checks that nothing of the sandbox is left in the project.
func (p *prison) noStubs() {
	p.t.Helper()
	for _, n := range []string{".claude", ".myelin", ".mcp.json", ".vscode", ".idea", ".envrc"} {
		p.absent(filepath.Join(p.dir, n))
	}
}

// target is a server of the host that counts who comes.
type target struct {
	*httptest.Server
	hits atomic.Int32
	port int
}

func newTarget(t *testing.T) *target {
	tg := &target{}
	tg.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tg.hits.Add(1)
		fmt.Fprintf(w, "reached as %s%s", r.Host, r.URL.Path)
	}))
	t.Cleanup(tg.Close)
	_, port, err := net.SplitHostPort(tg.Listener.Addr().String())
	if err == nil {
		tg.port, err = strconv.Atoi(port)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// network lets allowed.test through, whose name leads where the test says, and records what was
// looked up and decided.
type worldNet struct {
	mu       sync.Mutex
	resolved []string
	asked    []string
	local    bool
	leads    map[string]string
}

func (w *worldNet) config() sandbox.Network {
	return sandbox.Network{
		Decide: func(_ context.Context, to netname.Endpoint) sandbox.Decision {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked = append(w.asked, to.String())
			ok := to.Name == "allowed.test" || strings.HasSuffix(to.Name, ".allowed.test")
			return sandbox.Decision{Allow: ok, Local: ok && w.local, Why: map[bool]string{false: "not on the list"}[ok]}
		},
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.resolved = append(w.resolved, name)
			if to, ok := w.leads[name]; ok {
				return []netip.Addr{netip.MustParseAddr(to)}, nil
			}
			return nil, fmt.Errorf("no such host")
		},
	}
}

func (w *worldNet) lookups() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.resolved...)
}

// TestEscapes makes every attempt as root and as an ordinary user, and as one whose bubblewrap makes the
// mounts itself. Each runs through the shell tool and is judged by the state of the host afterwards.
func TestEscapes(t *testing.T) {
	as := os.Getenv("ESCAPES_AS")
	if as == "" {
		as = "nobody" // whoever we are, if not root
		if os.Getuid() == 0 {
			as = "root"
		}
	}
	for i, f := range attempts {
		t.Run(fmt.Sprintf("%s/%02d", as, i+1), func(t *testing.T) { f(newPrison(t)) })
	}
	if os.Getenv("ESCAPES_AS") != "" {
		return
	}
	if as == "root" {
		nobody := []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}
		elsewhere(t, "nobody", nobody...)
		elsewhere(t, "plain", append(nobody, "env", "ESCAPES_BWRAP="+plainBwrap(t, "/var/tmp"))...)
		return
	}
	if exec.Command("sudo", "-n", "true").Run() != nil {
		t.Error("the attempts as root need root, or sudo without a password")
		return
	}
	elsewhere(t, "root", "sudo", "-n", "--preserve-env=PATH")
	elsewhere(t, "plain", "env", "ESCAPES_BWRAP="+plainBwrap(t, "/var/tmp"))
}

// plainBwrap is a bubblewrap that leaves nobody a right, as one with the set-user-id bit does: it has to make
// the mounts itself.
func plainBwrap(t *testing.T, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "plain-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "bwrap")
	script := `#!/bin/sh
case " $* " in *" --cap-add "*) echo "bwrap: --cap-add in setuid mode can be used only by root" >&2; exit 1 ;; esac
exec bwrap "$@"
`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

var verdictLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): TestEscapes/(\w+)/(\d\d)`)

// elsewhere runs the attempts as another user, with a copy of this program and folders of his own,
// and reports each as a subtest.
func elsewhere(t *testing.T, as string, become ...string) {
	dir, err := os.MkdirTemp("/var/tmp", "escapes-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "escapes.test")
	if err := copyProgram(self, program); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home", "tmp", "prisons"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"", "home", "tmp", "prisons"} {
		if err := os.Chmod(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	args := append(become, "env", "ESCAPES_AS="+as, "ESCAPES_ROOT="+dir+"/prisons", "HOME="+dir+"/home", "TMPDIR="+dir+"/tmp", "PATH="+os.Getenv("PATH"),
		program, "-test.run", "^TestEscapes$", "-test.v", "-test.timeout", "10m")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	verdicts := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if m := verdictLine.FindStringSubmatch(lines.Text()); m != nil {
			verdicts[m[3]] = m[1]
		}
	}
	for i := range attempts {
		n := fmt.Sprintf("%02d", i+1)
		t.Run(as+"/"+n, func(t *testing.T) {
			if verdicts[n] != "PASS" {
				t.Errorf("verdict %q; the whole output is below TestEscapes", verdicts[n])
			}
		})
	}
	if err != nil {
		t.Errorf("as %s: %v\n%s", as, err, out)
	}
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
