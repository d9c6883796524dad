package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// The scripts in testdata/script show the program from outside: the real binary (this test binary
// under another name), real processes, files and terminals. Only the model is scripted, behind a
// file or behind a strict fake of its service.
//
// Beside the usual commands of testscript there are:
//
//	exits CODE COMMAND…        run a command that must end with this code
//	fakeapi NAME SCRIPT API    serve a script as a model service and point the program at it; with a
//	                           file as fourth argument over TLS, its certificate in that file
//	serve NAME FOLDER          serve the folder's files over HTTP; the address is in $NAME
//	checkapi NAME [UNUSED]     the service refused nothing, and as many turns of its script are left
//	requests NAME N            so many requests have come
//	request NAME I PATTERN     the body of request I, from 1, matches (with ! it does not)
//	start NAME COMMAND…        run beside the script; output in NAME.out and NAME.err
//	pipe NAME COMMAND…         the same, with standard input left open; say NAME TEXT writes a line
//	tty NAME COMMAND…          the same, in a terminal
//	expect NAME TEXT           wait until it shows TEXT behind what was waited for before
//	send NAME KEYS             type; ^C, ^D, ^G, \r, \e and \t as in Go and on keyboards
//	answer NAME KEYS           type when nothing new was shown for a moment, as a person does
//	leave NAME                 type Ctrl-D, and again, until it ends
//	signal NAME SIGNAL         HUP, INT, TERM or KILL
//	ended NAME CODE            wait until it ends, with this code
//	waitfile FILE              wait until there is such a file and it is not empty
//	gone FILE…                 wait until the processes whose ids are in the files are gone
//	hex FILE BYTES             write a file of these bytes
//	ishex FILE BYTES           its bytes are these
//	mode FILE OCTAL            its permissions are these
//	json FILE PATH VALUE       the JSON object in its last line has this value there
func TestScript(t *testing.T) {
	goCache := outerCache(t)
	testscript.Run(t, testscript.Params{
		Dir:                "../../testdata/script",
		RequireUniqueNames: true,
		Setup:              func(env *testscript.Env) error { return setUp(env, goCache) },
		Cmds:               commands(),
	})
}

// TestMain is the program under its name, and its helper inside of sandboxes under any.
func TestMain(m *testing.M) {
	if code, handled := app.HelperMain(); handled {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){"myelin": main})
}

// patience is how long anything is waited for that should happen soon.
const patience = 30 * time.Second

// outerCache is where built Go packages are: a script that runs "go test" must not build the
// standard library anew.
func outerCache(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// setUp gives a script its own home and an environment without keys. Without settings of its own
// the sandbox is off, so that what is asked does not depend on the machine.
func setUp(env *testscript.Env, goCache string) error {
	home := filepath.Join(env.WorkDir, "home")
	tmp := filepath.Join(env.WorkDir, ".tmp")
	engine, err := filepath.Abs("../../internal/sys/sandbox/testdata/engine") // a container engine for tests
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"FAKE_ENGINE": engine,
		"HOME":        home, "MYELIN_HOME": filepath.Join(home, ".myelin"), "TMPDIR": tmp, "GOCACHE": goCache,
		"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GIT_CONFIG_NOSYSTEM": "1", "SHELL": "/bin/bash", "LANG": "C.UTF-8",
		"IS_SANDBOX": "1", // the tests may run as root
	} {
		env.Setenv(k, v)
	}
	env.Values[runningKey{}] = &running{byName: map[string]*process{}, apis: map[string]*fakeapi.Server{}}
	settings := filepath.Join(home, ".myelin", "settings.json")
	if _, err := os.Stat(settings); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		return err
	}
	return os.WriteFile(settings, []byte("{\"sandbox\": {\"enabled\": false}}\n"), 0o600)
}

// running is what a script has started.
type running struct {
	byName map[string]*process
	apis   map[string]*fakeapi.Server
}

type runningKey struct{}

func of(ts *testscript.TestScript) *running { return ts.Value(runningKey{}).(*running) }

func (r *running) process(ts *testscript.TestScript, name string) *process {
	p := r.byName[name]
	if p == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

func (r *running) api(ts *testscript.TestScript, name string) *fakeapi.Server {
	s := r.apis[name]
	if s == nil {
		ts.Fatalf("there is no service %s", name)
	}
	return s
}

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

func commands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"exits": takes(2, -1, cmdExits), "fakeapi": takes(3, 4, cmdFakeAPI), "checkapi": takes(1, 2, cmdCheckAPI),
		"serve":    takes(2, 2, cmdServe),
		"requests": takes(2, 2, cmdRequests), "request": takes(3, 3, cmdRequest),
		"start": takes(2, -1, cmdStart), "pipe": takes(2, -1, cmdPipe), "tty": takes(2, -1, cmdTTY), "say": takes(2, 2, cmdSay),
		"expect": takes(2, 2, cmdExpect), "send": takes(2, 2, cmdSend), "answer": takes(2, 2, cmdAnswer), "leave": takes(1, 1, cmdLeave), "signal": takes(2, 2, cmdSignal), "ended": takes(2, 2, cmdEnded),
		"waitfile": takes(1, 1, cmdWaitFile), "gone": takes(1, -1, cmdGone),
		"hex": takes(2, 2, cmdHex), "ishex": takes(2, 2, cmdIsHex), "mode": takes(2, 2, cmdMode), "json": takes(3, 3, cmdJSON),
	}
}

// takes checks the number of arguments. Only commands that say so can be turned round with "!".
func takes(least, most int, run scriptCommand) scriptCommand {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) < least || most >= 0 && len(args) > most {
			ts.Fatalf("expected from %d to %d arguments, got %d", least, most, len(args))
		}
		run(ts, neg, args)
	}
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("%s ended with code %d, want %d", args[1], got, want)
	}
}

// addresses are the variables that point the program at a service.
func addresses(api fakeapi.API, url string) map[string]string {
	switch api {
	case fakeapi.Anthropic:
		return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test-key-anthropic"}
	case fakeapi.Gemini:
		return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "test-key-gemini"}
	case fakeapi.OpenAIResponses, fakeapi.OpenAIChat:
		return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "test-key-openai"}
	}
	return nil
}

func cmdFakeAPI(ts *testscript.TestScript, _ bool, args []string) {
	cfg, err := fakeapi.Load(ts.MkAbs(args[1]), args[2])
	ts.Check(err)
	requests, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	cfg.Log = requests
	s, err := fakeapi.New(cfg)
	ts.Check(err)
	ts.Defer(func() { _ = requests.Close() })
	url := ""
	if len(args) == 4 {
		url = listenTLS(ts, s, ts.MkAbs(args[3]))
	} else {
		url = listen(ts, s)
	}
	for k, v := range addresses(fakeapi.API(args[2]), url) {
		ts.Setenv(k, v)
	}
	of(ts).apis[args[0]] = s
}

func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], listen(ts, http.FileServer(http.Dir(ts.MkAbs(args[1])))))
}

// listen serves on a loopback port until the script ends, and returns the address.
func listen(ts *testscript.TestScript, h http.Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: h, ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // ends with Close
	ts.Defer(func() {
		cancel()
		_ = server.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

// listenTLS serves with a certificate that nobody knows, written to a file, and returns the address.
func listenTLS(ts *testscript.TestScript, h http.Handler, certificate string) string {
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are the test
	server.StartTLS()
	ts.Defer(server.Close)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(certificate, block, 0o600))
	return server.URL
}

func cmdCheckAPI(ts *testscript.TestScript, _ bool, args []string) {
	s := of(ts).api(ts, args[0])
	ts.Check(s.Err())
	for i, r := range s.Requests() {
		if r.Refusal != "" && r.Status < http.StatusInternalServerError { // a fault of the script is no refusal
			ts.Fatalf("request %d was refused with %d: %s\n%s", i+1, r.Status, r.Refusal, r.Body)
		}
	}
	want := "0"
	if len(args) == 2 {
		want = args[1]
	}
	if got := strconv.Itoa(s.Unused()); got != want {
		ts.Fatalf("%s turns of the script were not asked for, want %s", got, want)
	}
}

func cmdRequests(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(len(of(ts).api(ts, args[0]).Requests())); got != args[1] {
		ts.Fatalf("%s requests came, want %s", got, args[1])
	}
}

func cmdRequest(ts *testscript.TestScript, neg bool, args []string) {
	all := of(ts).api(ts, args[0]).Requests()
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if n < 1 || n > len(all) {
		ts.Fatalf("there is no request %d, %d came", n, len(all))
	}
	pattern, err := regexp.Compile(args[2])
	ts.Check(err)
	if body := all[n-1].Body; pattern.Match(body) == neg {
		ts.Fatalf("request %d:\n%s", n, body)
	}
}

// wait looks again and again until ready says yes, and fails the script when it takes too long.
func wait(ts *testscript.TestScript, what string, ready func() bool) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

func cmdWaitFile(ts *testscript.TestScript, _ bool, args []string) {
	wait(ts, args[0], func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() > 0
	})
}

func cmdGone(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		for _, pid := range strings.Fields(ts.ReadFile(file)) {
			wait(ts, "the end of process "+pid, func() bool { return !alive(pid) })
		}
	}
}

// alive reports whether a process runs; one that only waits to be reaped does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return ok && len(rest) > 0 && rest[0] != 'Z' && rest[0] != 'X'
}

func cmdHex(ts *testscript.TestScript, _ bool, args []string) {
	raw, err := hex.DecodeString(strings.ReplaceAll(args[1], " ", ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o644))
}

func cmdIsHex(ts *testscript.TestScript, _ bool, args []string) {
	raw, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if got, want := hex.EncodeToString(raw), strings.ReplaceAll(args[1], " ", ""); got != want {
		ts.Fatalf("%s is\n%s, want\n%s", args[0], got, want)
	}
}

func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has permissions %s, want %s", args[0], got, args[1])
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimSpace(ts.ReadFile(args[0]))
	if !json.Valid([]byte(text)) {
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("%s: %v in\n%s", args[0], err, text)
	}
	for _, key := range strings.Split(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(at) {
				ts.Fatalf("no %s in %s", args[1], text)
			}
			v = at[i]
		default:
			v = nil
		}
	}
	got, ok := v.(string)
	if !ok {
		raw, err := json.Marshal(v)
		ts.Check(err)
		got = string(raw)
	}
	if (got == args[2]) == neg {
		ts.Fatalf("%s of %s is %s, want %s, in\n%s", args[1], args[0], got, args[2], text)
	}
}
