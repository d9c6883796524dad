//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/sys/sandbox/seccomp"
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
	prog, err := seccomp.Partial(tcp)
	if err != nil {
		return err
	}
	return seccomp.Load(prog)
}
