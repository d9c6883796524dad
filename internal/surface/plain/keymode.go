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
	term    Terminal
	painter painter
	parser  keyParser
	draft   Editor
	answer  Editor // what is typed as the answer to a question
	search  *search
	menu    menu

	pending []string // lines not printed yet
	bytes   int
	aside   string // sequences of hooks that go to the terminal with the next frame
	writing bool
	write   chan []byte
	written chan error

	cells, height int
	lastFrame     time.Time
	byKey         bool // paint at once, as after a key
	dirty         bool // something changed since the last frame
	pastedAt      time.Time
	resizeAt      time.Time // first change of the window that is not painted yet
	leaveArmed    string    // what a second press of the same key would do
	taken         bool      // another program has the terminal
	back          chan func()

	escape, quiet, frame, again timer
	stops                       *stopper
	crashed                     chan any
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
		painter: painter{reflows: reflows(o.Getenv)},
		write:   make(chan []byte),
		written: make(chan error, 1),
		back:    make(chan func(), 1),
		crashed: make(chan any, 4),
	}
	k.cells, k.height = k.term.Size()
	k.face = newFace(ctx, s, o, StyleFor(true, o.Getenv), func() int { return max(k.cells-1, 1) })
	if err := k.enter(); err != nil {
		return k.noTerminal(ctx, s, o, err)
	}
	k.stops = newStopper()
	defer k.stops.close()
	defer k.restore() // on every way out, a panic included, also one in the farewell
	defer k.farewell()
	events := follow(ctx, s, k.crashed)
	keys := k.readKeys(ctx)
	go guarded(k.crashed, func() { // ends with ctx
		for {
			select {
			case data := <-k.write:
				_, err := k.term.Write(data)
				k.written <- err
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
	_, err := k.term.Write([]byte(modesOn))
	return err
}

// farewell prints what is left to print and takes the frame away.
func (k *keyFace) farewell() {
	if k.writing { // what is on its way must not come after the modes are undone
		select {
		case <-k.written:
		case <-time.After(time.Second): // the terminal does not read; nothing can be tidied there
			return
		}
		k.writing = false
	}
	lines := append(k.pending, k.goodbye()...)
	k.pending, k.bytes = nil, 0
	out := k.painter.paint(lines, frame{rows: []string{""}})
	// Nobody is left to hear that the terminal is gone.
	_, _ = k.term.Write(append(out, k.painter.leave()...))
}

// restore leaves the terminal as it was found, with the cursor on a free row. Keys stop coming here
// first: what is typed once the screen shows that the terminal was given back is the next owner's.
func (k *keyFace) restore() {
	_ = k.term.Raw(false)
	_, _ = k.term.Write(append(k.painter.leave(), modesOff...))
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
		if k.bytes > maxPending {
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
				k.aside += b.Sequence
			}
			k.print(k.event(e))
			k.dirty = true
		case err := <-k.written:
			k.writing = false
			if err != nil {
				return exitHangup
			}
		case <-k.escape.C:
			k.escape.stop()
			k.input(k.parser.Flush())
		case <-k.frame.C:
			k.frame.stop()
			k.byKey = true // it waited long enough
		case <-k.quiet.C:
			k.quiet.stop()
			k.measured()
		case <-k.again.C:
			k.again.stop()
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
		k.pending = append(k.pending, l)
		k.bytes += len(l) + 2
	}
	k.dirty = k.dirty || len(lines) > 0
}

// draw sends the next frame when there is something new and the terminal is ready for it.
func (k *keyFace) draw() {
	if !k.dirty || k.writing || k.taken || k.quiet.C != nil || k.frame.C != nil {
		return
	}
	now := k.opt.Now()
	if wait := frameWait - now.Sub(k.lastFrame); wait > 0 && !k.byKey && !k.lastFrame.IsZero() {
		k.frame.set(wait)
		return
	}
	data := k.painter.paint(k.pending, k.compose())
	if k.aside != "" {
		data, k.aside = append([]byte(k.aside), data...), ""
	}
	k.pending, k.bytes, k.dirty, k.byKey = nil, 0, false, false
	if q := k.asked(); q != nil && q.shown.IsZero() {
		q.shown, k.dirty, k.byKey = now, true, true // the next frame says how to answer
	}
	if data == nil {
		return
	}
	k.lastFrame = now
	k.writing = true
	select {
	case k.write <- data:
	case <-k.ctx.Done():
	}
}

// input takes keys in.
func (k *keyFace) input(keys []Key) {
	for _, key := range keys {
		if k.leaving {
			return
		}
		k.key(key)
	}
	if k.parser.Waiting() {
		k.escape.set(escapeWait)
	} else {
		k.escape.stop()
	}
	k.byKey, k.dirty = true, true
	k.frame.stop()
}

// measured takes the window's new size in once it has come to rest.
func (k *keyFace) measured() {
	w, h := k.term.Size()
	if w != k.cells {
		k.painter.resized(w)
	}
	k.cells, k.height, k.resizeAt = w, h, time.Time{}
	k.dirty, k.byKey = true, true
}

func (k *keyFace) signal(sig os.Signal) (code int, over bool) {
	switch {
	case isResize(sig):
		k.resize()
	case isContinue(sig):
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
	k.quiet.set(max(0, min(k.quietTime(), quietMost-now.Sub(k.resizeAt))))
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
	if k.writing {
		if err := <-k.written; err != nil {
			return
		}
		k.writing = false
	}
	k.restore()
	err := k.stops.halt()
	k.resume()
	if err != nil {
		k.print([]string{k.style.red("error: suspend: " + visible.Line(err.Error()))})
	}
}

// resume takes the terminal back and draws the frame below whatever is there.
func (k *keyFace) resume() {
	if err := k.enter(); err != nil {
		k.print([]string{k.style.red("error: " + visible.Line(err.Error()))})
	}
	k.cells, k.height = k.term.Size()
	k.dirty, k.byKey = true, true
}

// interruptKey is Ctrl-C: it ends the nearest thing that can be ended.
func (k *keyFace) interruptKey() {
	switch {
	case k.asked() != nil:
		k.print(k.settle(k.asked().giveUp()))
	case k.search != nil:
		k.endSearch(k.search.draft)
	case !k.draft.Empty():
		k.draft.kill(0, len(k.draft.cells)) // can be put back with Ctrl-Y
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
	k.again.set(againWait)
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
