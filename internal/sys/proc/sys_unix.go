//go:build linux || darwin

package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// readNow reads what lies in a pipe that is in non-blocking mode; 0 or less: nothing, or its end.
func readNow(fd uintptr, buf []byte) int {
	for {
		n, err := unix.Read(int(fd), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0
		}
		return n
	}
}

func terminate(pid int) {
	_ = unix.Kill(pid, unix.SIGTERM) // gone already is what we want
	_ = unix.Kill(pid, unix.SIGCONT) // one that is stopped would never see it
}

func kill(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }

// anyAlive reports whether one of the processes still is the one it was.
func anyAlive(rows []row) bool {
	for _, r := range rows {
		if unix.Kill(r.pid, 0) != nil {
			continue
		}
		if now, ok := readRow(r.pid); ok && !now.zombie && now.start == r.start {
			return true
		}
	}
	return false
}

// groupAlive reports whether the process group of a head that has ended still has members.
func groupAlive(pid int) bool { return unix.Kill(-pid, 0) != unix.ESRCH }

func signalGroup(p *Process, sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v to %s: not a signal of this system", sig, p.id)
	}
	if err := unix.Kill(-p.id.PID, s); err != nil && err != unix.ESRCH {
		return fmt.Errorf("signal %v to %s: %w", sig, p.id, err)
	}
	return nil
}

func exitOf(state *os.ProcessState, err error) Exit {
	if err != nil {
		return Exit{Code: -1, Signal: err.Error()}
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: unix.SignalName(ws.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// lockFile takes the lock that says the record's writer lives; false: somebody else holds it.
func lockFile(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
