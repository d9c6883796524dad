//go:build !unix

package plain

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

func isResize(os.Signal) bool   { return false }
func isContinue(os.Signal) bool { return false }

// stopper would stop the process as a shell's job; here there are no jobs.
type stopper struct{ C chan os.Signal }

func newStopper() *stopper   { return &stopper{} }
func (*stopper) close()      {}
func (*stopper) halt() error { return errNoRaw }
