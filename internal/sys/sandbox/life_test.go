//go:build linux

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// running is a command that waits for a file named "go" in the project.
func (c *cell) running(script string) (*sandbox.Command, *buffer) {
	c.t.Helper()
	out := &buffer{}
	if err := os.Remove(filepath.Join(c.dir, "go")); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	cmd, err := c.box.Start(c.owner, proc.Spec{
		Path: "/bin/bash", Args: []string{"-c", "touch ready; until [ -e go ]; do sleep 0.02; done; " + script}, Dir: c.dir,
		Env: os.Environ(), Stdout: out, Stderr: out,
	}, c.cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.await("ready")
	return cmd, out
}

func (c *cell) await(name string) {
	c.t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			return
		}
		if time.Now().After(limit) {
			c.t.Fatalf("%s does not come", name)
		}
	}
}

func (c *cell) put(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cell) text(name string) string {
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (c *cell) end(cmd *sandbox.Command) sandbox.Report {
	c.t.Helper()
	c.put("go", "")
	<-cmd.Process.Done()
	return cmd.Finish("")
}

func TestWhatOthersChangeMeanwhileStays(t *testing.T) {
	c := newCell(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = c.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q")
	c.put(".myelin/settings.local.json", "old")
	c.put(".claude/settings.json", "old")
	cmd, _ := c.running("true")
	c.put(".myelin/settings.local.json", "by us")               // in a folder that is held
	c.put(".claude/settings.json", "by the user")               // the file itself is held
	git("config", "branch.x.remote", "origin")                  // git replaces the file
	git("remote", "add", "origin", "https://example.com/x.git") //
	git("config", "user.name", "x")                             // not on the list of harmless keys: put aside
	report := c.end(cmd)
	for name, want := range map[string]string{
		".myelin/settings.local.json": "by us", ".claude/settings.json": "by the user",
	} {
		if got := c.text(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := c.text(".git/config"); strings.Contains(got, "name = x") || len(report.Violations) != 1 {
		t.Errorf("config %q, %+v", got, report)
	}
	cmd, _ = c.running("true")
	git("config", "branch.y.merge", "refs/heads/y")
	if report := c.end(cmd); len(report.Violations) != 0 || !strings.Contains(c.text(".git/config"), "refs/heads/y") {
		t.Errorf("%+v\n%s", report, c.text(".git/config"))
	}
}

func TestAcceptAndCheckWhileACommandRuns(t *testing.T) {
	c := newCell(t)
	c.put(".claude/skills/x", "old")
	cmd, _ := c.running("true")
	// Made where nothing is mounted: by the command, as far as the box can know.
	c.put(".claude/settings.local.json", "planted")
	found := c.box.Check()
	if len(found) != 1 || !found[0].Certain || found[0].Path != filepath.Join(c.dir, ".claude/settings.local.json") || c.text(".claude/settings.local.json") == "planted" {
		t.Errorf("%+v", found)
	}
	c.put(".claude/settings.local.json", "ours")
	c.box.Accept(filepath.Join(c.dir, ".claude/settings.local.json"), filepath.Join(c.dir, "unprotected"))
	if found := c.box.Check(); len(found) != 0 {
		t.Errorf("what was accepted: %+v", found)
	}
	c.put(".claude/settings.local.json", "changed again")
	report := c.end(cmd)
	if c.text(".claude/settings.local.json") != "ours" || len(report.Violations) != 1 || !strings.Contains(report.Violations[0].Detail, "restored") {
		t.Errorf("%q %+v", c.text(".claude/settings.local.json"), report)
	}
	kept, _ := filepath.Glob(filepath.Join(c.cfg.Quarantine, "*"))
	if len(kept) != 2 {
		t.Errorf("quarantine: %v", kept)
	}
	if again := cmd.Finish("x"); len(again.Violations) != 1 {
		t.Errorf("a second finish says %+v", again)
	}
}

// victimMain starts a confined program and waits to be killed.
func victimMain() bool {
	if len(os.Args) != 4 || os.Args[1] != "victim" {
		return false
	}
	box := sandbox.New(sandbox.Options{StateDir: os.Args[3]})
	_, err := box.Start(proc.NewHost(proc.Options{}).Owner("x"), proc.Spec{
		Path: "/bin/sh", Args: []string{"-c", "touch ready; sleep 334"}, Dir: os.Args[2], Env: os.Environ(),
	}, sandbox.Config{Dir: os.Args[2], Write: []string{os.Args[2]}, Show: []string{filepath.Dir(os.Args[2])}})
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
	}
	select {}
}

func TestStopGivesTheProgramsInsideTheirGrace(t *testing.T) {
	c := newCell(t)
	cmd, out := c.running("trap 'echo polite; exit 7' TERM; touch armed; while :; do sleep 0.02; done")
	c.put("go", "")
	c.await("armed")
	exit := cmd.Process.Stop("the test says so")
	cmd.Finish("")
	if !strings.Contains(out.String(), "polite") || exit.Code != 7 || exit.Stopped == "" {
		t.Errorf("%q %+v", out.String(), exit)
	}
}

func TestBackendThatCannotStart(t *testing.T) {
	c := newCell(t)
	c.box.Probe(context.Background(), c.cfg)
	start := func(cfg sandbox.Config, spec proc.Spec) error {
		cmd, err := c.box.Start(c.owner, spec, cfg)
		if err == nil {
			<-cmd.Process.Done()
			cmd.Finish("")
		}
		return err
	}
	spec := proc.Spec{Path: "/bin/sh", Args: []string{"-c", "echo x > ran"}, Dir: filepath.Join(c.out, "not-there"), Env: os.Environ()}
	if err := start(c.cfg, spec); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "not-there") {
		t.Errorf("no such directory: %v", err)
	}
	missing := c.cfg
	missing.Bwrap = "/nowhere/bwrap"
	spec.Dir = c.dir
	if err := start(missing, spec); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("no backend: %v", err)
	}
	spec.Path = "/nowhere/program"
	if err := start(c.cfg, spec); err == nil {
		t.Error("no program, no error")
	}
	if c.text("ran") == "x\n" {
		t.Error("it ran")
	}
	for _, n := range []string{".mcp.json", ".vscode"} {
		if _, err := os.Lstat(filepath.Join(c.dir, n)); err == nil {
			t.Errorf("%s is left after a failed start", n)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c := newCell(t)
	t.Setenv("SECRET_KEY", "x")
	t.Setenv("NPM_CONFIG_CACHE", "/mine")
	t.Setenv("HTTPS_PROXY", "http://outside:1")
	c.cfg.DropEnv = []string{"*_KEY"}
	c.cfg.Cache = filepath.Join(filepath.Dir(c.dir), "cache")
	c.cfg.Set = []string{"npm_config_cache=" + c.cfg.Cache + "/npm", "XDG_CACHE_HOME=" + c.cfg.Cache + "/xdg"}
	if err := os.Mkdir(c.cfg.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	out, _, _ := c.run("echo [$SECRET_KEY] $npm_config_cache $NPM_CONFIG_CACHE; echo $http_proxy $HTTPS_PROXY $all_proxy $NO_PROXY; echo $GIT_SSH_COMMAND; mkdir -p $XDG_CACHE_HOME && echo cached > $XDG_CACHE_HOME/x && cat $XDG_CACHE_HOME/x")
	want := "[] " + c.cfg.Cache + "/npm\nhttp://127.0.0.1:61128 http://127.0.0.1:61128 socks5h://127.0.0.1:61080 localhost,127.0.0.1,::1\n" +
		"ssh -o ProxyCommand='/run/myelin-sandbox __sandbox connect 127.0.0.1:61128 %h %p'\ncached\n"
	if out != want {
		t.Errorf("got %s\nwant %s", out, want)
	}
}

func TestTunnelForSSH(t *testing.T) {
	c := newCell(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 5)
			n, _ := conn.Read(buf)
			fmt.Fprintf(conn, "got %s", buf[:n])
			conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.cfg.Network = sandbox.Network{
		Decide: func(_ context.Context, to netname.Endpoint) sandbox.Decision {
			return sandbox.Decision{Allow: to.Name == "git.test", Local: true}
		},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	}
	out, exit, _ := c.run("printf hello | /run/myelin-sandbox __sandbox connect 127.0.0.1:61128 git.test " + port)
	if out != "got hello" || exit.Code != 0 {
		t.Errorf("%q %+v", out, exit)
	}
	if out, exit, _ := c.run("/run/myelin-sandbox __sandbox connect 127.0.0.1:61128 other.test 22 </dev/null"); exit.Code == 0 || !strings.Contains(out, "403") {
		t.Errorf("%q %+v", out, exit)
	}
}

func TestOneQuestionAHost(t *testing.T) {
	c := newCell(t)
	var asked atomic.Int32
	release := make(chan struct{})
	c.cfg.Network = sandbox.Network{Decide: func(context.Context, netname.Endpoint) sandbox.Decision {
		if asked.Add(1) == 1 {
			<-release
		}
		return sandbox.Decision{Why: "no"}
	}}
	out := &buffer{}
	var requests strings.Builder
	for range 5 {
		requests.WriteString("(exec 3<>/dev/tcp/127.0.0.1/61128; printf 'GET http://a.test/ HTTP/1.1\\r\\n\\r\\n' >&3; touch sent.$BASHPID; cat <&3) & ")
	}
	cmd, err := c.box.Start(c.owner, proc.Spec{Path: "/bin/bash", Args: []string{"-c", requests.String() + "wait"}, Dir: c.dir, Env: os.Environ(), Stdout: out, Stderr: out}, c.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(20 * time.Second); ; {
		if sent, _ := filepath.Glob(filepath.Join(c.dir, "sent.*")); len(sent) == 5 && asked.Load() > 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the requests were not sent")
		}
	}
	close(release)
	<-cmd.Process.Done()
	report := cmd.Finish("")
	if n := strings.Count(out.String(), "403"); n != 5 {
		t.Errorf("%d answers: %s", n, out.String())
	}
	if len(report.Violations) != 1 || report.Violations[0].Host != "a.test:80" {
		t.Errorf("%+v", report)
	}
}

func TestUpstreamProxy(t *testing.T) {
	c := newCell(t)
	tg := newTarget(t)
	var mu sync.Mutex
	var seen []string
	upstream := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		out, err := net.Dial("tcp", tg.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = out.(*net.TCPConn).ReadFrom(conn) }()
		_, _ = conn.(*net.TCPConn).ReadFrom(out)
		conn.Close()
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = upstream.Serve(l) }()
	defer upstream.Close()
	c.cfg.Network = sandbox.Network{
		Decide: func(_ context.Context, to netname.Endpoint) sandbox.Decision {
			return sandbox.Decision{Allow: to.Name == "public.test"}
		},
		Resolve:  func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("the proxy resolves") },
		Upstream: "http://u:p@" + l.Addr().String(),
	}
	out, _, _ := c.run("/run/myelin-sandbox attack get http://public.test/path; /run/myelin-sandbox attack get http://denied.test/; /run/myelin-sandbox attack get http://127.0.0.1:1/")
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(out, "reached as public.test/path") || len(seen) != 1 || seen[0] != "CONNECT public.test:80 Basic dTpw" {
		t.Errorf("%s %v", out, seen)
	}
}

// TestUpstreamSOCKSProxy sends an allowed connection through a SOCKS proxy of the user's own, with the
// name unresolved, and a refused one not at all.
func TestUpstreamSOCKSProxy(t *testing.T) {
	c := newCell(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 10)
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSOCKS(conn, asked)
		}
	}()
	c.cfg.Network = sandbox.Network{
		Decide: func(_ context.Context, to netname.Endpoint) sandbox.Decision {
			return sandbox.Decision{Allow: to.Name == "public.test"}
		},
		Resolve:  func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("the proxy resolves") },
		Upstream: "socks5://" + l.Addr().String(),
	}
	out, _, _ := c.run("/run/myelin-sandbox attack get http://public.test/path; /run/myelin-sandbox attack get http://denied.test/")
	if !strings.Contains(out, "through the proxy") || len(asked) != 1 || <-asked != "public.test:80" {
		t.Errorf("%s", out)
	}
}

// serveSOCKS answers one connection by name (RFC 1928, no authentication) and then one HTTP request.
func serveSOCKS(conn net.Conn, asked chan<- string) {
	defer conn.Close()
	br := bufio.NewReader(conn)
	head := make([]byte, 2)
	if _, err := io.ReadFull(br, head); err != nil {
		return
	}
	if _, err := br.Discard(int(head[1])); err != nil {
		return
	}
	_, _ = conn.Write([]byte{5, 0})
	request := make([]byte, 5)
	if _, err := io.ReadFull(br, request); err != nil || request[3] != 3 {
		return
	}
	name := make([]byte, int(request[4])+2)
	if _, err := io.ReadFull(br, name); err != nil {
		return
	}
	at := len(name) - 2
	asked <- fmt.Sprintf("%s:%d", name[:at], int(name[at])<<8|int(name[at+1]))
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	if _, err := http.ReadRequest(br); err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 17\r\nConnection: close\r\n\r\nthrough the proxy")
}

// engineHere puts the engine for tests under a name in front of PATH, and returns its log.
func engineHere(t *testing.T, c *cell, name string) (log string) {
	t.Helper()
	bin := filepath.Join(filepath.Dir(c.dir), "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	engine, err := filepath.Abs("testdata/engine")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(engine, filepath.Join(bin, name)); err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(bin, "log")
	t.Setenv("CONTAINER_LOG", log)
	t.Setenv("DOCKER_HOST", "seen by the engine alone")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return log
}

// TestContainerEngine has the strict engine of testdata run commands. No real engine is needed.
func TestContainerEngine(t *testing.T) {
	for _, name := range []string{"podman", "docker"} {
		t.Run(name, func(t *testing.T) {
			c := newCell(t)
			log := engineHere(t, c, name)
			c.cfg.Container = &sandbox.Engine{Image: "an/image"}
			st := c.box.Probe(context.Background(), c.cfg)
			if st.Level != sandbox.Container || st.State() != "on ("+name+")" || len(st.Missing) == 0 || len(st.Checks) != 4 {
				t.Fatalf("%+v", st)
			}
			out, exit, _ := c.run("echo hi; : >made; : >/made-outside; cat /proc/net/dev | wc -l; echo ${DOCKER_HOST-unseen}; exit 4")
			if exit.Code != 4 || !strings.HasPrefix(out, "hi\n") || !strings.Contains(out, "Read-only file system") || !strings.Contains(out, "3\nunseen\n") {
				t.Errorf("%q %+v", out, exit)
			}
			if _, err := os.Stat(filepath.Join(c.dir, "made")); err != nil {
				t.Error(err)
			}
			called, err := os.ReadFile(log)
			if err != nil || strings.Contains(string(called), "--userns=keep-id") != (name == "podman") {
				t.Errorf("%v %s", err, called)
			}
			c.cfg.ReadOnly = true
			if out, _, _ := c.run("cat made && echo read; : >second || echo refused"); !strings.Contains(out, "read\n") || !strings.Contains(out, "refused\n") {
				t.Errorf("reading only: %q", out)
			}
		})
	}
}

// TestContainerThatIsStopped has a container taken away whose command line was ended: that alone may
// leave it running.
func TestContainerThatIsStopped(t *testing.T) {
	c := newCell(t)
	log := engineHere(t, c, "docker")
	c.cfg.Container = &sandbox.Engine{Program: "docker", Image: "an/image"}
	cmd, _ := c.running("sleep 600")
	cmd.Process.Stop("enough")
	cmd.Finish("")
	called, err := os.ReadFile(log)
	if err != nil || !regexp.MustCompile(`(?m)^rm --force myelin-[0-9a-f-]+ $`).Match(called) {
		t.Errorf("%v %s", err, called)
	}
}

func TestContainerEngineThatCannotBeHad(t *testing.T) {
	for want, spoil := range map[string]func(t *testing.T, c *cell, log string){
		"no container engine found":    func(_ *testing.T, c *cell, _ string) { c.cfg.Container.Program = "no-such-engine" },
		"the image other is not there": func(_ *testing.T, c *cell, _ string) { c.cfg.Container.Image = "other" },
		"no image is named":            func(_ *testing.T, c *cell, _ string) { c.cfg.Container.Image = "" },
		"podman does not answer: exit 125 : engine: cannot connect": func(t *testing.T, _ *cell, log string) {
			if err := os.WriteFile(log+".down", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			c := newCell(t)
			c.cfg.Container = &sandbox.Engine{Image: "an/image"}
			spoil(t, c, engineHere(t, c, "podman"))
			if st := c.box.Probe(context.Background(), c.cfg); st.Level != sandbox.None || !strings.Contains(st.State(), "off (unavailable: "+want) || st.Fix == "" {
				t.Errorf("%+v", st)
			}
			if _, err := c.box.Start(c.owner, proc.Spec{Path: "true"}, c.cfg); !errors.Is(err, sandbox.ErrUnavailable) {
				t.Errorf("it was started: %v", err)
			}
		})
	}
}

func TestProbeIsKeptAndForgotten(t *testing.T) {
	c := newCell(t)
	state := filepath.Join(filepath.Dir(c.dir), "state")
	first := c.box.Probe(context.Background(), sandbox.Config{})
	file := filepath.Join(state, "probe.json")
	data, err := os.ReadFile(file)
	if err != nil || first.Level != sandbox.Full {
		t.Fatal(first, err)
	}
	// Another box takes the result; a changed key does not count.
	marked := bytes.Replace(data, []byte(`"Version":"`), []byte(`"Version":"kept `), 1)
	if err := os.WriteFile(file, marked, 0o600); err != nil {
		t.Fatal(err)
	}
	if st := sandbox.New(sandbox.Options{StateDir: state}).Probe(context.Background(), sandbox.Config{}); !strings.HasPrefix(st.Version, "kept ") {
		t.Errorf("not taken: %+v", st)
	}
	other := bytes.Replace(marked, []byte(`"key":"`), []byte(`"key":"x`), 1)
	if err := os.WriteFile(file, other, 0o600); err != nil {
		t.Fatal(err)
	}
	box := sandbox.New(sandbox.Options{StateDir: state})
	if st := box.Probe(context.Background(), sandbox.Config{}); strings.HasPrefix(st.Version, "kept ") || st.Level != sandbox.Full {
		t.Errorf("taken: %+v", st)
	}
	box.Forget()
	if _, err := os.Stat(file); err == nil {
		t.Error("still kept")
	}
}
