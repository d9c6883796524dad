package plain

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Times of the key mode. None of them runs while nothing happens.
const (
	escapeWait = 50 * time.Millisecond  // for the rest of an escape sequence
	quietWait  = 400 * time.Millisecond // after a change of the window; multiplexers tell late
	quietMost  = time.Second            // of a window that is dragged on and on
	frameWait  = 33 * time.Millisecond  // between two frames that no key caused
	againWait  = 2 * time.Second        // for a second Ctrl-C
	afterPaste = 30 * time.Millisecond  // in which an Enter belongs to the paste
)

// maxPending is how much may wait to be printed before no more events are taken in.
const maxPending = 256 << 10

// keyFace shows a session on a terminal, with a draft of its own below what was printed.
type keyFace struct {
	*face
	term    screen.Terminal
	painter screen.Painter
	parser  screen.KeyParser
	draft   screen.Editor
	answer  screen.Editor // what is typed as the answer to a question
	search  *search
	menu    menu

	out   output
	focus focus

	cells, height int
	lastFrame     time.Time
	byKey         bool // paint at once, as after a key
	dirty         bool // something changed since the last frame
	pastedAt      time.Time
	resizeAt      time.Time // first change of the window that is not painted yet
	leaveArmed    string    // what a second press of the same key would do
	taken         bool      // another program has the terminal
	back          chan func()

	timers  timers
	stops   *screen.Stopper
	crashed chan any
}

// output is what is on its way to the terminal.
type output struct {
	pending []string // lines not printed yet
	bytes   int
	aside   string // sequences of hooks that go to the terminal with the next frame
	writing bool
	write   chan []byte
	written chan error
}

// timers are what is waited for. Most of the time none runs.
type timers struct {
	escape timer // for the rest of an escape sequence
	quiet  timer // for a window that comes to rest
	frame  timer // for the next frame
	again  timer // for a second press of the same key
	rest   timer // for the hands to rest, so that a question may be answered
}

// timer is a timer that costs nothing while it is not set.
type timer struct {
	t *time.Timer
	C <-chan time.Time
}

func (t *timer) set(d time.Duration) {
	t.stop()
	t.t = time.NewTimer(d)
	t.C = t.t.C
}

func (t *timer) stop() {
	if t.t != nil {
		t.t.Stop()
	}
	t.C = nil
}

func runKeys(ctx context.Context, s Session, o Options) (code int) {
	k := &keyFace{
		term:    o.Terminal,
		painter: screen.Painter{Reflows: reflows(o.Getenv)},
		out:     output{write: make(chan []byte), written: make(chan error, 1)},
		back:    make(chan func(), 1),
		crashed: make(chan any, 4),
	}
	k.cells, k.height = k.term.Size()
	k.face = newFace(ctx, s, o, screen.StyleFor(true, o.Getenv), func() int { return max(k.cells-1, 1) })
	k.rows = func() int { return k.height }
	if err := k.enter(); err != nil {
		return k.noTerminal(ctx, s, o, err)
	}
	k.stops = screen.NewStopper()
	defer k.stops.Close()
	defer k.restore() // on every way out, a panic included, also one in the farewell
	defer k.farewell()
	events := follow(ctx, s, k.crashed)
	keys := k.readKeys(ctx)
	go guarded(k.crashed, func() { // ends with ctx
		for {
			select {
			case data := <-k.out.write:
				_, err := k.term.Write(data)
				k.out.written <- err
			case <-ctx.Done():
				return
			}
		}
	})
	k.dirty = true
	k.print(k.banner())
	k.print(k.do(proto.Attach{Surface: surfaceID, Kind: "plain", Answers: true}))
	if o.Prompt != "" {
		k.print(k.submit(o.Prompt))
	}
	return k.loop(events, keys)
}

// noTerminal goes on line by line where the terminal cannot be set up.
func (k *keyFace) noTerminal(ctx context.Context, s Session, o Options, err error) int {
	if o.Out == nil {
		o.Out = k.term
	}
	fmt.Fprintf(o.Out, "myelin: %s; going on line by line\n", visible.Line(err.Error()))
	return runLines(ctx, s, o)
}

// reflows reports whether the terminal wraps its lines anew when its width changes.
func reflows(getenv func(string) string) bool {
	if getenv("TMUX") != "" {
		return true
	}
	term := getenv("TERM")
	return term != "linux" && !strings.HasPrefix(term, "screen") && getenv("TERM_PROGRAM") != "Apple_Terminal" && getenv("XTERM_VERSION") == ""
}

func (k *keyFace) enter() error {
	if err := k.term.Raw(true); err != nil {
		return err
	}
	_, err := k.term.Write([]byte(screen.ModesOn))
	return err
}

// farewell prints what is left to print and takes the frame away.
func (k *keyFace) farewell() {
	if k.out.writing { // what is on its way must not come after the modes are undone
		select {
		case <-k.out.written:
		case <-time.After(time.Second): // the terminal does not read; nothing can be tidied there
			return
		}
		k.out.writing = false
	}
	lines := append(k.out.pending, k.goodbye()...)
	k.out.pending, k.out.bytes = nil, 0
	out := k.painter.Paint(lines, screen.Frame{Rows: []string{""}})
	// Nobody is left to hear that the terminal is gone.
	_, _ = k.term.Write(append(out, k.painter.Leave()...))
}

// restore leaves the terminal as it was found, with the cursor on a free row. Keys stop coming here
// first: what is typed once the screen shows that the terminal was given back is the next owner's.
func (k *keyFace) restore() {
	_ = k.term.Raw(false)
	_, _ = k.term.Write(append(k.painter.Leave(), screen.ModesOff...))
}

func (k *keyFace) readKeys(ctx context.Context) <-chan []byte {
	keys := make(chan []byte)
	go guarded(k.crashed, func() { // ends with the terminal, or with the process
		defer close(keys)
		for {
			buf := make([]byte, 64<<10)
			n, err := k.term.Read(buf)
			if n > 0 {
				select {
				case keys <- buf[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	return keys
}

func (k *keyFace) loop(events <-chan proto.Event, keys <-chan []byte) int {
	for !k.leaving {
		k.draw()
		take := events
		if k.out.bytes > maxPending {
			take = nil // the terminal is slower than the session: let the session's own queue merge
		}
		select {
		case data, ok := <-keys:
			if !ok {
				return exitHangup // the terminal is gone
			}
			k.input(k.parser.Feed(data, k.opt.Now()))
		case e, ok := <-take:
			if !ok {
				return exitDone
			}
			if b, ok := e.Body.(proto.Terminal); ok {
				k.out.aside += b.Sequence
			}
			k.print(k.event(e))
			k.dirty = true
		case err := <-k.out.written:
			k.out.writing = false
			if err != nil {
				return exitHangup
			}
		case <-k.timers.escape.C:
			k.timers.escape.stop()
			k.input(k.parser.Flush())
		case <-k.timers.frame.C:
			k.timers.frame.stop()
			k.byKey = true // it waited long enough
		case <-k.timers.quiet.C:
			k.timers.quiet.stop()
			k.measured()
		case <-k.timers.rest.C:
			k.timers.rest.stop()
			k.dirty, k.byKey = true, true
		case <-k.timers.again.C:
			k.timers.again.stop()
			k.leaveArmed, k.dirty = "", true
		case f := <-k.back:
			f()
		case sig := <-k.opt.Signals:
			if code, over := k.signal(sig); over {
				return code
			}
		case <-k.stops.C:
			k.suspend()
		case r := <-k.crashed:
			panic(r)
		case <-k.ctx.Done():
			return exitFailed
		}
	}
	return exitDone
}

func (k *keyFace) print(lines []string) {
	for _, l := range lines {
		k.out.pending = append(k.out.pending, l)
		k.out.bytes += len(l) + 2
	}
	k.dirty = k.dirty || len(lines) > 0
}

// draw sends the next frame when there is something new and the terminal is ready for it.
func (k *keyFace) draw() {
	if !k.dirty || k.out.writing || k.taken || k.timers.quiet.C != nil || k.timers.frame.C != nil {
		return
	}
	now := k.opt.Now()
	if wait := frameWait - now.Sub(k.lastFrame); wait > 0 && !k.byKey && !k.lastFrame.IsZero() {
		k.timers.frame.set(wait)
		return
	}
	data := k.painter.Paint(k.out.pending, k.compose())
	if k.out.aside != "" {
		data, k.out.aside = append([]byte(k.out.aside), data...), ""
	}
	k.out.pending, k.out.bytes, k.dirty, k.byKey = nil, 0, false, false
	k.attend(now)
	if data == nil {
		k.draw() // nothing is on its way whose end would come back here, and a question may want another frame
		return
	}
	k.lastFrame = now
	k.out.writing = true
	select {
	case k.out.write <- data:
	case <-k.ctx.Done():
	}
}

// input takes keys in.
func (k *keyFace) input(keys []screen.Key) {
	for _, key := range keys {
		if k.leaving {
			return
		}
		k.key(key)
	}
	if k.parser.Waiting() {
		k.timers.escape.set(escapeWait)
	} else {
		k.timers.escape.stop()
	}
	k.byKey, k.dirty = true, true
	k.timers.frame.stop()
}

// measured takes the window's new size in once it has come to rest.
func (k *keyFace) measured() {
	w, h := k.term.Size()
	if w != k.cells {
		k.painter.Resized(w)
	}
	k.cells, k.height, k.resizeAt = w, h, time.Time{}
	k.dirty, k.byKey = true, true
}

func (k *keyFace) signal(sig os.Signal) (code int, over bool) {
	switch {
	case screen.IsResize(sig):
		k.resize()
	case screen.IsContinue(sig):
		if !k.taken {
			k.resume()
		}
	case sig == syscall.SIGTERM:
		return exitTerm, true
	case sig == syscall.SIGHUP:
		return exitHangup, true
	case sig == syscall.SIGINT:
		k.interruptKey()
		k.dirty, k.byKey = true, true
	}
	return 0, false
}

// resize waits until the window has come to rest: a multiplexer announces sizes late and merged,
// and what is painted in between may be painted in the wrong place.
func (k *keyFace) resize() {
	now := k.opt.Now()
	if k.resizeAt.IsZero() {
		k.resizeAt = now
	}
	k.timers.quiet.set(max(0, min(k.quietTime(), quietMost-now.Sub(k.resizeAt))))
}

func (k *keyFace) quietTime() time.Duration {
	for _, key := range []string{"TMUX", "STY", "ZELLIJ", "SSH_TTY"} {
		if k.opt.Getenv(key) != "" {
			return quietWait
		}
	}
	return quietWait / 4
}

// suspend gives the terminal back to the shell and stops, until the shell brings us back.
func (k *keyFace) suspend() {
	if k.out.writing {
		if err := <-k.out.written; err != nil {
			return
		}
		k.out.writing = false
	}
	k.restore()
	err := k.stops.Halt()
	k.resume()
	if err != nil {
		k.print([]string{k.style.Red("error: suspend: " + visible.Line(err.Error()))})
	}
}

// resume takes the terminal back and draws the frame below whatever is there.
func (k *keyFace) resume() {
	if err := k.enter(); err != nil {
		k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
	}
	k.cells, k.height = k.term.Size()
	k.dirty, k.byKey = true, true
}

// interruptKey is Ctrl-C: it ends the nearest thing that can be ended.
func (k *keyFace) interruptKey() {
	switch {
	case k.asked() != nil && (k.draft.Empty() || !k.asked().Shown.IsZero()):
		k.print(k.settle(k.asked().GiveUp()))
	case k.search != nil:
		k.endSearch(k.search.draft)
	case !k.draft.Empty():
		k.draft.CutAll() // can be put back with Ctrl-Y
	case k.busy() && !k.stopping:
		k.print(k.interrupt())
	case k.leaveArmed == "ctrl+c":
		k.leaving = true
	default:
		k.arm("ctrl+c")
	}
}

// arm waits a moment for the same key again.
func (k *keyFace) arm(key string) {
	k.leaveArmed = key
	k.timers.again.set(againWait)
}

func (k *keyFace) leaveKey() {
	v := k.session.View()
	if v.Running == 0 && len(k.queued) == 0 && !k.busy() || k.leaveArmed == "ctrl+d" {
		k.leaving = true
		return
	}
	k.arm("ctrl+d")
}

// leaveHint says what a second press would end.
func (k *keyFace) leaveHint() string {
	switch k.leaveArmed {
	case "ctrl+c":
		if k.busy() {
			return "still stopping; Ctrl-C again leaves"
		}
		return "Ctrl-C again leaves"
	case "ctrl+d":
		var what []string
		if k.busy() {
			what = append(what, "the running turn")
		}
		if n := k.session.View().Running; n > 0 {
			what = append(what, count(n, "task")+" in the background")
		}
		if n := len(k.queued); n > 0 {
			what = append(what, count(n, "queued prompt"))
		}
		return "Ctrl-D again leaves and ends " + strings.Join(what, ", ")
	}
	return ""
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// takeBack puts the newest queued prompt into the draft again.
func (k *keyFace) takeBack() bool {
	if len(k.queued) == 0 || !k.draft.Empty() {
		return false
	}
	last := k.queued[len(k.queued)-1]
	if bad := k.do(proto.Unqueue{ID: last.ID}); bad != nil {
		k.print(bad)
		return true
	}
	k.queued = slices.Clone(k.queued[:len(k.queued)-1])
	k.draft.Set(last.Text)
	return true
}
