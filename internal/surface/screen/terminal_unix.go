//go:build unix

package screen

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// osTerminal is a terminal of the operating system.
type osTerminal struct {
	in, out    *os.File
	wakeR, own *os.File // a byte on own ends a wait for keys

	mu    sync.Mutex // guards the rest
	cond  *sync.Cond // raw changed
	found *term.State
	raw   bool
	ahead int // bytes that were typed before; in them the terminal has made Enter a line feed
}

// OpenTerminal takes the terminal behind two files. It changes nothing yet.
func OpenTerminal(in, out *os.File) (Terminal, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	t := &osTerminal{in: in, out: out, wakeR: r, own: w}
	t.cond = sync.NewCond(&t.mu)
	return t, nil
}

// Raw implements Terminal.
func (t *osTerminal) Raw(on bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	fd := int(t.in.Fd())
	if on == t.raw {
		return nil
	}
	if !on {
		t.raw = false
		_, err := t.own.Write([]byte{0}) // stop reading before the next owner of the terminal begins
		if bad := term.Restore(fd, t.found); err == nil {
			err = bad
		}
		return err
	}
	ahead := waiting(fd)
	state, err := term.MakeRaw(fd)
	if err != nil {
		return fmt.Errorf("set the terminal to raw mode: %w", err)
	}
	t.ahead = ahead
	t.found, t.raw = state, true
	t.cond.Broadcast()
	return nil
}

// Read waits without a wake-up until a key is there.
func (t *osTerminal) Read(p []byte) (int, error) {
	for {
		t.mu.Lock()
		for !t.raw {
			t.cond.Wait()
		}
		t.mu.Unlock()
		fds := []unix.PollFd{
			{Fd: int32(t.in.Fd()), Events: unix.POLLIN},
			{Fd: int32(t.wakeR.Fd()), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, -1); err != nil {
			if err == unix.EINTR {
				continue
			}
			return 0, fmt.Errorf("wait for keys: %w", err)
		}
		if fds[1].Revents != 0 {
			var one [1]byte
			if _, err := t.wakeR.Read(one[:]); err != nil {
				return 0, err
			}
			continue
		}
		if n, mine, err := t.take(p); mine {
			return n, err
		}
	}
}

// take reads the keys that are there, unless the terminal has another owner by now: they are its.
func (t *osTerminal) take(p []byte) (n int, mine bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.raw {
		return 0, false, nil
	}
	// Somebody else on this terminal may have taken them; a read would then wait, and with it Raw.
	there := []unix.PollFd{{Fd: int32(t.in.Fd()), Events: unix.POLLIN}}
	if some, err := unix.Poll(there, 0); err != nil || some == 0 {
		return 0, false, nil // the wait that follows meets the same error
	}
	n, err = t.in.Read(p)
	t.mend(p[:n])
	return n, true, err
}

// mend makes Enter of the line ends in what was typed before keys came one by one. Caller holds mu.
func (t *osTerminal) mend(p []byte) {
	n := min(t.ahead, len(p))
	t.ahead -= n
	for i, b := range p[:n] {
		if b == '\n' {
			p[i] = '\r'
		}
	}
}

// Write implements Terminal.
func (t *osTerminal) Write(p []byte) (int, error) { return t.out.Write(p) }

// Size implements Terminal.
func (t *osTerminal) Size() (int, int) {
	w, h, err := term.GetSize(int(t.out.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// Signals are the signals an interactive session heeds. The terminal's stop signal is none of them:
// key mode watches for it itself, since it must be let go for a moment to take effect.
func Signals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGWINCH, syscall.SIGCONT}
}

// IsResize reports whether a signal tells of another size of the window.
func IsResize(s os.Signal) bool { return s == syscall.SIGWINCH }

// IsContinue reports whether a signal tells that the process goes on after a stop.
func IsContinue(s os.Signal) bool { return s == syscall.SIGCONT }

// Stopper holds back the terminal's stop signal until the modes are undone.
type Stopper struct {
	C    chan os.Signal // somebody asks us to stop
	cont chan os.Signal
}

// NewStopper begins to hold the stop signal back.
func NewStopper() *Stopper {
	s := &Stopper{C: make(chan os.Signal, 1), cont: make(chan os.Signal, 1)}
	signal.Notify(s.C, syscall.SIGTSTP)
	signal.Notify(s.cont, syscall.SIGCONT)
	return s
}

// Close lets the signal through again.
func (s *Stopper) Close() {
	signal.Stop(s.C)
	signal.Stop(s.cont)
}

// errNoShell says that stopping would be for ever.
var errNoShell = errors.New("there is no shell to go back to")

// Halt stops the process group as the terminal's own Ctrl-Z would, and returns when it goes on. It
// uses the signal that cannot be caught, because the runtime does not give up the one it once
// caught (signal.Reset leaves its handler in place). So it must see by itself, as the system
// would, whether a shell is there to let the group go on: a group led by the session's own leader
// has none.
func (s *Stopper) Halt() error {
	sid, err := unix.Getsid(0)
	if err != nil {
		return fmt.Errorf("find the session's leader: %w", err)
	}
	if unix.Getpgrp() == sid {
		return errNoShell
	}
	select {
	case <-s.cont: // of an earlier stop
	default:
	}
	if err := syscall.Kill(0, syscall.SIGSTOP); err != nil {
		return err
	}
	select { // the stop may take effect a moment after the signal was sent
	case <-s.cont:
	case <-time.After(300 * time.Millisecond):
	}
	return nil
}
