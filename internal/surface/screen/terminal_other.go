//go:build !unix

package screen

import (
	"errors"
	"os"
	"syscall"
)

// errNoRaw says that this system's terminals cannot be set up.
var errNoRaw = errors.New("raw mode is not supported on this system")

// OpenTerminal takes the terminal behind two files. Here there is none that can be set up; the
// session goes on line by line.
func OpenTerminal(_, _ *os.File) (Terminal, error) { return nil, errNoRaw }

// Signals are the signals an interactive session heeds.
func Signals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// IsResize reports whether a signal tells of another size of the window.
func IsResize(os.Signal) bool { return false }

// IsContinue reports whether a signal tells that the process goes on after a stop.
func IsContinue(os.Signal) bool { return false }

// Stopper would stop the process as a shell's job; here there are no jobs.
type Stopper struct{ C chan os.Signal }

// NewStopper makes one.
func NewStopper() *Stopper { return &Stopper{} }

// Close ends it.
func (*Stopper) Close() {}

// Halt would stop the process.
func (*Stopper) Halt() error { return errNoRaw }
