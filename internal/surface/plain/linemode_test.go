package plain

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// page is an output that a test can wait for.
type page struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
	news chan struct{}
}

func newPage() *page { return &page{news: make(chan struct{}, 1)} }

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *page) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(10 * time.Second)
	for !strings.Contains(p.String(), text) {
		select {
		case <-p.news:
		case <-late:
			t.Fatalf("%q never came:\n%s", text, p)
		}
	}
}

// typed is a person at a dumb terminal.
type typed struct {
	*rig
	page *page
	in   *io.PipeWriter
}

func startTyped(t *testing.T, change func(*Options)) *typed {
	t.Helper()
	r, w := io.Pipe()
	d := &typed{&rig{t: t, session: newSession(), signals: make(chan os.Signal, 4), code: make(chan int, 1)}, newPage(), w}
	o := Options{In: r, Out: d.page, LineMode: true, Quiet: true, Signals: d.signals, Getenv: env("TERM", "dumb")}
	if change != nil {
		change(&o)
	}
	go func() { d.code <- Run(t.Context(), d.session, o) }()
	t.Cleanup(func() {
		w.Close()
		if !d.ended {
			close(d.session.queue)
			d.exit()
		}
	})
	if _, ok := d.op().(proto.Attach); !ok {
		t.Fatal("the surface did not tell of itself first")
	}
	return d
}

func (d *typed) line(s string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, s+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

func TestLineByLine(t *testing.T) {
	d := startTyped(t, nil)
	d.page.await(t, "> ")
	d.line("hi there")
	if got := d.prompt(); got != "hi there" {
		t.Fatalf("sent %q", got)
	}
	d.session.tell(proto.TurnStarted{}, proto.CallAnnounced{Call: "1", Tool: "Bash", Input: []byte(`{"command":"make"}`)})
	d.session.tell(ask(three()...))
	d.page.await(t, "n: no")
	d.line("what?")
	d.page.await(t, "answers nothing here")
	d.line("3")
	if a := d.op().(proto.Answer); a.Option != "always" {
		t.Errorf("answered %+v", a)
	}
	d.line("") // how far is it?
	d.page.await(t, "running Bash(make)")
	d.line("typed ahead")
	if got := d.prompt(); got != "typed ahead" {
		t.Errorf("sent %q", got)
	}
	d.session.tell(proto.Result{Subtype: "success", Turns: 1, Ended: proto.Ended{Reason: proto.EndCompleted}})
	d.page.await(t, "-- 0.0 s")
	d.line("/exit")
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := d.page.String(); strings.ContainsAny(out, "\x1b\r\t") {
		t.Errorf("control characters in %q", out)
	}
}

func TestLineModeSaysNothingWhileNothingHappens(t *testing.T) {
	d := startTyped(t, nil)
	d.page.await(t, "> ")
	d.session.tell(proto.TurnStarted{}, proto.CallAnnounced{Call: "1", Tool: "Bash"})
	for i := range 60 {
		d.session.tell(proto.CallProgress{Call: "1", Tool: "Bash", Seconds: float64(i)})
	}
	d.session.tell(proto.Notice{Level: "info", Text: "after a minute"})
	d.page.await(t, "after a minute")
	if got := strings.TrimSpace(d.page.String()); got != "> \nafter a minute" {
		t.Errorf("printed %q", got)
	}
}

func TestAScriptThatEndsRefusesQuestions(t *testing.T) {
	d := startTyped(t, func(o *Options) { o.Getenv = env() })
	d.line("go")
	d.prompt()
	d.in.Close()
	d.session.tell(proto.TurnStarted{}, ask(three()...))
	if a := d.op().(proto.Answer); a.Behavior != "deny" {
		t.Errorf("answered %+v", a)
	}
	d.session.tell(proto.Result{Subtype: "success", Turns: 1, Ended: proto.Ended{Reason: proto.EndCompleted}})
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestSignalsInLineMode(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGINT: 0} {
		d := startTyped(t, nil)
		d.signals <- sig
		if code := d.exit(); code != want {
			t.Errorf("%v: exit code %d, want %d", sig, code, want)
		}
	}
	d := startTyped(t, nil)
	d.session.tell(proto.TurnStarted{}, proto.Notice{Text: "runs"})
	d.page.await(t, "runs")
	d.signals <- syscall.SIGINT
	if _, ok := d.op().(proto.Interrupt); !ok {
		t.Error("a running turn was not interrupted")
	}
}

type fullOut struct{}

func (fullOut) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnOutputThatCannotBeWrittenEndsTheSession(t *testing.T) {
	s := newSession()
	if code := Run(t.Context(), s, Options{In: strings.NewReader("a\nb\n"), Out: fullOut{}, LineMode: true}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}
