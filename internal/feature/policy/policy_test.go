package policy_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// endpoint is an organisation's server without a network: it answers what the test says.
type endpoint struct {
	mu     sync.Mutex
	body   string
	etag   string
	status int
	err    error
	delay  time.Duration
	asked  int
	seen   []string // If-None-Match
}

func (e *endpoint) set(change func(*endpoint)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	e.mu.Lock()
	e.asked++
	match := req.Header.Get("If-None-Match")
	e.seen = append(e.seen, match)
	body, status, err, delay, etag := e.body, e.status, e.err, e.delay, e.etag
	e.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	if status == 0 {
		status = 200
	}
	if etag != "" && match == etag {
		status, body = http.StatusNotModified, ""
	}
	h := http.Header{}
	if etag != "" {
		h.Set("ETag", etag)
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

const host = "limits.example"

// person is a client of the endpoint and what was told.
type person struct {
	*policy.Client
	states  []*policy.State
	reports []string
}

func open(t *testing.T, e *endpoint, dir string, change func(*policy.Options)) *person {
	t.Helper()
	p := &person{}
	var mu sync.Mutex
	opts := policy.Options{
		Setting: policy.Setting{URL: "https://" + host + "/l"}, Dir: dir, HTTP: &http.Client{Transport: e},
		Changed: func(now *policy.State) { mu.Lock(); defer mu.Unlock(); p.states = append(p.states, now) },
		Report:  func(text string) { mu.Lock(); defer mu.Unlock(); p.reports = append(p.reports, text) },
	}
	if change != nil {
		change(&opts)
	}
	var err error
	p.Client, err = policy.Open(opts)
	must(t, err)
	t.Cleanup(p.Close)
	return p
}

// wait lets a stretch of the bubble's time go by.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestAgesOfTheCopies(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{body: `{"version": 1, "models": ["a"]}`, etag: `"1"`}
		p := open(t, e, dir, nil)
		synctest.Wait()
		s := p.State()
		if s.Source != policy.Origin || s.Limits.Models == nil || s.ETag != `"1"` || !s.Expires.Equal(s.FetchedAt.Add(24*time.Hour)) {
			t.Fatalf("%+v", s)
		}
		step := func(d time.Duration, asked int) {
			t.Helper()
			wait(d)
			p.Check()
			synctest.Wait()
			if e.count() != asked {
				t.Errorf("after %s: %d requests, want %d", d, e.count(), asked)
			}
		}
		step(4*time.Minute, 1)  // memory
		step(30*time.Minute, 1) // disk
		step(31*time.Minute, 2) // both older: 304 renews
		if s := p.State(); !s.FetchedAt.Equal(time.Now()) {
			t.Errorf("304 renewed nothing: %+v", s)
		}
		if n := len(p.states); n != 2 {
			t.Errorf("%d announcements", n)
		}
		// Another process begins with the disk.
		p2 := open(t, e, dir, nil)
		synctest.Wait()
		if s := p2.State(); s.Source != policy.Disk || e.count() != 2 {
			t.Errorf("second process: %+v, %d requests", s, e.count())
		}
		e.mu.Lock()
		if diff := cmp.Diff([]string{"", `"1"`}, e.seen); diff != "" {
			t.Error(diff)
		}
		e.mu.Unlock()
		p.Close()
		p2.Close()
	})
	info, err := os.Stat(filepath.Join(dir, "policy-limits.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("disk copy: %v %v", info, err)
	}
}

func TestAnOldCopyIsInForceWhileItIsFetched(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{body: `{"version": 1, "deny": ["Bash"]}`}
		p := open(t, e, dir, nil)
		synctest.Wait()
		wait(2 * time.Hour)
		e.set(func(e *endpoint) { e.body, e.delay = `{"version": 1, "deny": ["Bash", "Edit"]}`, 8*time.Second })
		before := time.Now()
		must(t, p.Gate(t.Context()))
		if !time.Now().Equal(before) || len(p.State().Limits.Deny) != 1 {
			t.Errorf("waited %s, %+v", time.Since(before), p.State())
		}
		wait(9 * time.Second)
		if len(p.State().Limits.Deny) != 2 || len(p.states) != 2 {
			t.Errorf("%+v, %d announced", p.State(), len(p.states))
		}
		p.Close()
	})
}

func TestFirstRunHoldsThreeSecondsAtMost(t *testing.T) {
	for _, c := range []struct {
		onMissing string
		delay     time.Duration
		held      time.Duration
		denied    bool
	}{
		{"", time.Second, time.Second, false},
		{"", time.Minute, 3 * time.Second, false},
		{policy.OnMissingAllow, time.Minute, 3 * time.Second, false},
		{policy.OnMissingDeny, time.Second, time.Second, false},
		{policy.OnMissingDeny, time.Minute, 3 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{body: `{"version": 1}`, delay: c.delay}
			start := time.Now()
			p := open(t, e, t.TempDir(), func(o *policy.Options) { o.Setting.OnMissing = c.onMissing })
			if !time.Now().Equal(start) {
				t.Error("the start was delayed")
			}
			err := p.Gate(t.Context())
			if held := time.Since(start); held != c.held || errors.Is(err, policy.ErrDenied) != c.denied {
				t.Errorf("%+v: held %s, %v", c, held, err)
			}
			p.Close()
		})
	}
}

func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		onMissing              string
		denyBefore, denyAfter  bool
		limitsAfter            bool
		badgeBefore, badgeLast string
	}{
		{policy.OnMissingAllow, false, false, false, "policy: cannot be had", "policy: expired"},
		{policy.OnMissingLastGood, false, false, true, "policy: cannot be had", "policy: expired"},
		{policy.OnMissingDeny, true, true, true, "policy: cannot be had, no requests", "policy: expired, no requests"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{err: errors.New("no route to host")}
			p := open(t, e, t.TempDir(), func(o *policy.Options) { o.Setting.OnMissing = c.onMissing })
			// Down at start.
			err := p.Gate(t.Context())
			if errors.Is(err, policy.ErrDenied) != c.denyBefore || p.Show().Badge != c.badgeBefore {
				t.Errorf("%s, down at start: %v, %q", c.onMissing, err, p.Show().Badge)
			}
			if err != nil && (!strings.Contains(err.Error(), host) || !strings.Contains(err.Error(), "no route")) {
				t.Errorf("the refusal does not say why: %v", err)
			}
			asked := e.count()
			p.Check()
			synctest.Wait()
			if e.count() != asked {
				t.Error("it is asked again at once")
			}
			// Up, then down in mid-session.
			e.set(func(e *endpoint) { e.err, e.body = nil, `{"version": 1, "deny": ["Bash"]}` })
			wait(2 * time.Minute)
			must(t, p.Gate(t.Context()))
			if p.Show().Badge != "" || p.State().Error != "" {
				t.Errorf("%+v", p.Show())
			}
			e.set(func(e *endpoint) { e.err = errors.New("no route to host") })
			wait(20 * time.Hour)
			if err := p.Gate(t.Context()); err != nil || len(p.State().Limits.Deny) != 1 {
				t.Errorf("%s, down in mid-session: %v %+v", c.onMissing, err, p.State())
			}
			synctest.Wait()
			if s := p.Show(); !strings.Contains(s.String(), "no route") || s.Badge != "" || s.Age < 20*time.Hour {
				t.Errorf("status: %s", s)
			}
			// Past expires.
			wait(6 * time.Hour)
			err = p.Gate(t.Context())
			if errors.Is(err, policy.ErrDenied) != c.denyAfter || (len(p.State().Limits.Deny) == 1) != c.limitsAfter || p.Show().Badge != c.badgeLast {
				t.Errorf("%s, past expires: %v %+v %q", c.onMissing, err, p.State(), p.Show().Badge)
			}
			p.Close()
		})
	}
}

func TestAnIdleProcessIsToldToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{body: `{"version": 1}`}
		p := open(t, e, t.TempDir(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		go p.Run(ctx)
		wait(time.Second)
		e.set(func(e *endpoint) { e.body = `{"version": 1, "disableModes": ["bypassPermissions"]}` })
		wait(70 * time.Minute)
		if ok, why := p.State().Limits.AllowsMode("bypassPermissions"); ok || !strings.Contains(why, host) {
			t.Errorf("%+v %s", p.State(), why)
		}
		if len(p.states) != 2 {
			t.Errorf("told %d times", len(p.states))
		}
		cancel()
		p.Close()
	})
}

func TestRefreshAndSetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{body: `{"version": 1, "minVersion": "1.0.0"}`}
		p := open(t, e, t.TempDir(), nil)
		synctest.Wait()
		e.set(func(e *endpoint) { e.body = `{"version": 1, "minVersion": "2.0.0"}` })
		must(t, p.Refresh(t.Context()))
		if got := p.State().Limits.MinVersion; got != "2.0.0" {
			t.Errorf("after refresh: %s", got)
		}
		e.set(func(e *endpoint) { e.status = 500 })
		if err := p.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "500") {
			t.Errorf("error: %v", err)
		}
		if got := p.State().Limits.MinVersion; got != "2.0.0" {
			t.Errorf("a failed refresh lost the copy: %s", got)
		}
		must(t, p.SetSetting(policy.Setting{}))
		if s := p.State(); s.Source != policy.None || s.Limits.MinVersion != "" || p.Gate(t.Context()) != nil {
			t.Errorf("switched off: %+v", s)
		}
		if err := p.Refresh(t.Context()); err == nil {
			t.Error("refreshed nothing")
		}
		// Somebody else's copy on disk is not ours.
		e.set(func(e *endpoint) { e.status, e.body = 200, `{"version": 1, "minVersion": "3.0.0"}` })
		must(t, p.SetSetting(policy.Setting{URL: "https://other.example/", OnMissing: "deny"}))
		must(t, p.Gate(t.Context()))
		if s := p.State(); s.Limits.MinVersion != "3.0.0" || s.Limits.Host != "other.example" {
			t.Errorf("other setting: %+v", s)
		}
		if err := p.SetSetting(policy.Setting{URL: "nonsense"}); err == nil {
			t.Error("a wrong setting was taken")
		}
		p.Close()
		p.Check()
		if err := p.Refresh(context.Background()); err == nil {
			t.Error("refreshed after the end")
		}
	})
}

func TestBodiesThatAreWorthNothing(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"text":          {"<html>", "not a JSON object"},
		"truncated":     {`{"version": 1, "den`, "not a JSON object"},
		"array":         {"[]", "not a JSON object"},
		"null":          {"null", "expected an object"},
		"no version":    {`{"deny": []}`, "no version"},
		"newer":         {`{"version": 2}`, "version 2; this program reads up to 1"},
		"wrong type":    {`{"version": 1, "models": "all"}`, `models: is "all", expected an array of strings`},
		"wrong element": {`{"version": 1, "deny": ["a", 1]}`, "expected an array of strings"},
		"wrong time":    {`{"version": 1, "expires": "tomorrow"}`, "expected a time like"},
		"negative":      {`{"version": 1, "maxBudgetUsd": -1}`, "expected amounts from 0"},
		"odd budget":    {`{"version": 1, "maxBudgetUsd": {"hour": 1}}`, "turn, session and day"},
		"fraction":      {`{"version": 1.5}`, "a whole number"},
		"huge":          {`{"version": 1, "x": "` + strings.Repeat("x", policy.MaxBody) + `"}`, "bigger than"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{body: `{"version": 1, "models": ["good"]}`}
			p := open(t, e, t.TempDir(), nil)
			synctest.Wait()
			e.set(func(e *endpoint) { e.body = c.body })
			err := p.Refresh(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), host) {
				t.Errorf("%s: %v", name, err)
			}
			if ok, _ := p.State().Limits.AllowsModel(nil, "other"); ok {
				t.Errorf("%s: something was widened", name)
			}
			if len(p.reports) != 1 || !strings.Contains(p.reports[0], c.want) {
				t.Errorf("%s: reported %q", name, p.reports)
			}
			p.Close()
		})
	}
}

func TestUnknownFieldsAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{body: `{"version": 1, "allow": ["Bash(*)"], "disableModes": ["default", "auto"], "minVersion": "soon", "models": null}`}
		p := open(t, e, t.TempDir(), nil)
		must(t, p.Gate(t.Context()))
		must(t, p.Refresh(t.Context()))
		if len(p.reports) != 3 || !strings.Contains(strings.Join(p.reports, "\n"), `"allow"`) {
			t.Errorf("reported %q", p.reports)
		}
		l := p.State().Limits
		if l.Models != nil || l.MinVersion != "" || !cmp.Equal(l.DisableModes, []string{"auto"}) {
			t.Errorf("%+v", l)
		}
		p.Close()
	})
}

func sign(t testing.TB, key ed25519.PrivateKey, doc string) string {
	t.Helper()
	return fmt.Sprintf(`{"document": %s, "signature": %q}`, doc, base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(doc))))
}

func TestSignatures(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	_, other, err := ed25519.GenerateKey(nil)
	must(t, err)
	doc := `{ "version": 1,  "deny": ["<Bash>"] }`
	good := sign(t, private, doc)
	for _, encoded := range []string{hex.EncodeToString(public), base64.StdEncoding.EncodeToString(public), base64.RawURLEncoding.EncodeToString(public)} {
		must(t, policy.Setting{URL: "https://x/", PublicKey: encoded}.Check())
	}
	for _, bad := range []policy.Setting{{URL: "https://x/", PublicKey: "abc"}, {URL: "ftp://x"}, {URL: "https://x/", OnMissing: "ask"}, {PublicKey: "x"}} {
		if bad.Check() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for name, c := range map[string]struct{ body, want string }{
		"good":           {good, ""},
		"other key":      {sign(t, other, doc), "signature of the document is wrong"},
		"changed":        {strings.Replace(good, "<Bash>", "Edit", 1), "signature of the document is wrong"},
		"not signed":     {doc, "not signed"},
		"no signature":   {`{"document": ` + doc + `}`, "not signed"},
		"bad base64":     {`{"document": ` + doc + `, "signature": "!"}`, "signature of the document is wrong"},
		"signed nothing": {sign(t, private, "3"), "not a JSON object"},
		"odd":            {`{"document": ` + doc + `, "signature": 3}`, "cannot be read"},
	} {
		p, err := policy.Parse([]byte(c.body), public)
		if c.want == "" {
			if err != nil || !p.Signed || !cmp.Equal(p.Limits.Deny, []string{"<Bash>"}) {
				t.Errorf("%s: %+v %v", name, p, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if p, err := policy.Parse([]byte(sign(t, other, doc)), nil); err != nil || p.Signed {
		t.Errorf("without a key: %+v %v", p, err)
	}
	// A copy that was changed on disk is no copy.
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{body: good}
		withKey := func(o *policy.Options) { o.Setting.PublicKey = hex.EncodeToString(public) }
		p := open(t, e, dir, withKey)
		must(t, p.Gate(t.Context()))
		if p.Show().Signature != "valid" {
			t.Errorf("%+v", p.Show())
		}
		p.Close()
		e.set(func(e *endpoint) { e.err = errors.New("down") })
		path := filepath.Join(dir, "policy-limits.json")
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, bytes.Replace(data, []byte(`"body":"`), []byte(`"body":"A`), 1), 0o600))
		p = open(t, e, dir, withKey)
		if err := p.Gate(t.Context()); err != nil || p.State().Source != policy.None {
			t.Errorf("%v %+v", err, p.State())
		}
		p.Close()
	})
}

func TestRealServer(t *testing.T) {
	var target string
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version": 1, "maxBudgetUsd": 5}`) })
	mux.HandleFunc("/same-host", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		chunk := bytes.Repeat([]byte(" "), 1<<16)
		for range (1 << 30) / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"version": 1`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	other := httptest.NewServer(mux)
	defer other.Close()
	target = other.URL + "/ok"
	client := server.Client()
	defer client.CloseIdleConnections()
	for path, want := range map[string]string{
		"/ok": "", "/same-host": "", "/away": "redirects to another host", "/loop": "more than 5 redirects",
		"/endless": "bigger than", "/cut": "unexpected EOF", "/missing": "404",
	} {
		p, err := policy.Open(policy.Options{Setting: policy.Setting{URL: server.URL + path}, Dir: t.TempDir(), HTTP: client})
		must(t, err)
		err = p.Refresh(t.Context())
		if want == "" && (err != nil || p.State().Limits.Budget.Session == nil) {
			t.Errorf("%s: %v %+v", path, err, p.State())
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		p.Close()
	}
}

func TestCorruptDiskAndReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "policy-limits.json"), []byte("garbage"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		p := open(t, &endpoint{body: `{"version": 1, "deny": ["A"]}`}, dir, nil)
		must(t, p.Gate(t.Context()))
		p.Check()
		synctest.Wait()
		p.Check()
		if len(p.State().Limits.Deny) != 1 || len(p.reports) != 1 || !strings.Contains(p.reports[0], "policy-limits.json") {
			t.Errorf("%+v, reported %q", p.State(), p.reports)
		}
		p.Close()
		p = open(t, &endpoint{body: `{"version": 1, "deny": ["A"]}`}, filepath.Join(dir, "policy-limits.json", "sub"), nil)
		must(t, p.Gate(t.Context()))
		if len(p.State().Limits.Deny) != 1 {
			t.Errorf("%+v", p.State())
		}
		p.Close()
	})
}

func TestLimits(t *testing.T) {
	p, err := policy.Parse([]byte(`{"version": 1, "models": ["claude-*", "opus", "*-mini*x"], "deny": ["Bash(rm *)"], "disableModes": ["auto"],
		"maxBudgetUsd": {"turn": 1, "day": 10}, "minVersion": "v1.2"}`), nil)
	must(t, err)
	l := p.Limits
	l.Host = host
	for _, c := range []struct {
		available []string
		names     []string
		ok        bool
	}{
		{nil, []string{"claude-sonnet"}, true},
		{nil, []string{"x", "OPUS"}, true},
		{nil, []string{"gpt"}, false},
		{nil, []string{"a-minibx"}, true},
		{nil, []string{"a-mini"}, false},
		{nil, nil, false},
		{[]string{"opus"}, []string{"claude-sonnet"}, false},
		{[]string{"gpt"}, []string{"gpt"}, false},
		{[]string{}, []string{"opus"}, false},
		{[]string{"claude-*"}, []string{"claude-sonnet"}, true},
	} {
		if ok, why := l.AllowsModel(c.available, c.names...); ok != c.ok || ok != (why == "") {
			t.Errorf("%v %v: %t %s", c.available, c.names, ok, why)
		}
	}
	if diff := cmp.Diff([]policy.Rule{{Text: "Bash(rm *)", At: origin.Origin{Scope: origin.Policy, File: host}}}, l.DenyRules()); diff != "" {
		t.Error(diff)
	}
	if ok, _ := l.AllowsMode("plan"); !ok {
		t.Error("plan is refused")
	}
	if ok, why := l.AllowsMode("auto"); ok || !strings.Contains(why, host) {
		t.Error(why)
	}
	two, half := 2.0, 0.5
	got := l.Budgets(policy.Budget{Turn: &half, Session: &two})
	if *got.Turn != 0.5 || *got.Session != 2 || *got.Day != 10 {
		t.Errorf("%v", got)
	}
	for version, ok := range map[string]bool{"1.2.0": true, "1.10": true, "1.1.9": false, "v0.9": false, "dev": true, "1.2.0-rc1": true, "2": true} {
		if got, why := l.AllowsVersion(version); got != ok || got != (why == "") {
			t.Errorf("%s: %t %s", version, got, why)
		}
	}
	none := policy.Limits{Models: &[]string{}}
	if ok, _ := none.AllowsModel(nil, "any"); ok {
		t.Error("an empty list is no model")
	}
}

func TestStateIsData(t *testing.T) {
	p, err := policy.Parse([]byte(`{"version": 1, "models": [], "maxBudgetUsd": 0, "expires": "2030-01-01T00:00:00Z"}`), nil)
	must(t, err)
	s := policy.State{Limits: p.Limits, Source: policy.Disk, FetchedAt: time.Unix(1, 0).UTC()}
	raw, err := json.Marshal(s)
	must(t, err)
	var back policy.State
	must(t, json.Unmarshal(raw, &back))
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}
}

// Whatever two documents say: both together never allow what one of them refuses.
func TestLimitsOnlyRestrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "ab", "b", "abc"})
		patterns := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a*", "*b", "*", "a*c", "zz"}), 0, 3)
		available, models := patterns.Draw(t, "available"), patterns.Draw(t, "models")
		l := policy.Limits{Models: &models}
		for range 4 {
			n := names.Draw(t, "name")
			both, _ := l.AllowsModel(available, n)
			one, _ := policy.Limits{}.AllowsModel(available, n)
			two, _ := l.AllowsModel(nil, n)
			if both != (one && two) {
				t.Fatalf("%s: %t, alone %t and %t", n, both, one, two)
			}
		}
		x, y := rapid.Float64Range(0, 10).Draw(t, "x"), rapid.Float64Range(0, 10).Draw(t, "y")
		got := policy.Limits{Budget: policy.Budget{Session: &x}}.Budgets(policy.Budget{Session: &y})
		if *got.Session != min(x, y) {
			t.Fatalf("%v of %v and %v", *got.Session, x, y)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"version":1}`, `{"document":{"version":1},"signature":"AA=="}`, `{"version":1,"maxBudgetUsd":{"turn":1}}`, `{"version":1,"models":null,"x":1}`} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	key := make(ed25519.PublicKey, ed25519.PublicKeySize)
	f.Fuzz(func(t *testing.T, body []byte, signed bool) {
		k := key
		if !signed {
			k = nil
		}
		p, err := policy.Parse(body, k)
		if err == nil && (p.Limits.Version != 1 || p.Signed != signed) {
			t.Fatalf("%+v", p)
		}
	})
}
