//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// landlockABI is the version of Landlock the kernel offers; 0: none. The folder under
// /sys/kernel/security says nothing where it is not mounted.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Versions of Landlock by what they brought.
const (
	abiTCP    = 4
	abiScopes = 6
)

func fileRules(write []string) []landlock.Rule {
	return []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWDirs("/dev").WithIoctlDev().WithRefer().IgnoreIfMissing(),
		landlock.RWDirs(write...).WithRefer().WithIoctlDev().IgnoreIfMissing(),
	}
}

// secondLayer refuses writes outside once more, by other means than the mounts: what one fault opens
// the other still holds. A kernel without it has the mounts alone.
func secondLayer(write []string) error {
	if landlockABI() == 0 {
		return nil
	}
	all := append([]string{"/proc", "/tmp", "/run"}, write...)
	if err := landlock.V5.BestEffort().RestrictPaths(fileRules(all)...); err != nil {
		return fmt.Errorf("second layer (Landlock): %w", err)
	}
	return nil
}

// onlyLayer is the lesser level: Landlock for files, TCP and signals, as far as this kernel has them,
// and the filter.
func onlyLayer(o orders) error {
	abi := landlockABI()
	if abi == 0 {
		return fmt.Errorf("%w: this kernel has no Landlock", ErrUnavailable)
	}
	rules := fileRules(o.Write)
	tcp := abi >= abiTCP && o.HTTP > 0
	if tcp {
		rules = append(rules, landlock.ConnectTCP(uint16(o.HTTP)), landlock.ConnectTCP(uint16(o.SOCKS)))
	}
	if err := landlock.V6.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("confine with Landlock: %w", err)
	}
	prog, err := partialFilter(tcp)
	if err != nil {
		return err
	}
	return loadFilter(prog)
}

// loadFilter sets the filter for this thread.
func loadFilter(prog []byte) error {
	fprog := unix.SockFprog{Len: uint16(len(prog) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&prog[0]))}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set the filter of system calls: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return fmt.Errorf("set the filter of system calls: %w", errno)
	}
	return nil
}
