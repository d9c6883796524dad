//go:build linux && (amd64 || arm64)

// Package seccomp holds the filters of system calls under which a confined program runs, written directly
// for the machine of seccomp(2). It decides nothing: what is refused is the same for every program, but
// for local sockets. Begin with [Full].
package seccomp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter of system calls is written directly for the machine of seccomp(2). A library that
// assembles filters by name compares arguments as 64 bits, while the kernel looks at the lower 32 of
// most: socket(AF_UNIX) with a high bit set would pass. It also let calls of a foreign architecture
// through.

// Where the machine finds what it looks at (struct seccomp_data); lower halves on little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// test looks at the lower half of one argument of a call.
type test struct {
	arg    int
	mask   uint32   // bits looked at; 0: all
	values []uint32 // holds for one of them
	bits   uint32   // instead of values: holds when any of these bits is set
}

// rule refuses one call: when all of tests hold, or unless all of only do; without either always.
// There is one rule a call.
type rule struct {
	number uintptr
	tests  []test
	only   []test
	errno  uint32 // 0: EPERM
}

const x32Bit = 0x40000000

// filter assembles rules into a program: foreign architectures are killed, numbers of the x32 kind
// refused, what no rule refuses is allowed.
func filter(rules []rule) ([]byte, error) {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1},
		bpf.RetConstant{Val: deny(0)},
	}
	for _, r := range rules {
		prog = append(prog, r.assemble()...)
	}
	prog = append(prog, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return nil, fmt.Errorf("assemble filter of system calls: %w", err)
	}
	var out bytes.Buffer
	for _, in := range raw {
		if err := binary.Write(&out, binary.LittleEndian, in); err != nil {
			return nil, fmt.Errorf("write filter of system calls: %w", err)
		}
	}
	return out.Bytes(), nil
}

func deny(errno uint32) uint32 {
	if errno == 0 {
		errno = uint32(unix.EPERM)
	}
	return unix.SECCOMP_RET_ERRNO | errno
}

// assemble makes a block that begins with the number in the register and leaves it there when the
// call is another one.
func (r rule) assemble() []bpf.Instruction {
	allow, refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: deny(r.errno)}
	var body []bpf.Instruction
	for _, t := range r.tests {
		body = append(body, t.assemble(allow)...)
	}
	for _, t := range r.only {
		body = append(body, t.assemble(refuse)...)
	}
	if len(r.only) > 0 {
		body = append(body, allow)
	} else {
		body = append(body, refuse)
	}
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(r.number), SkipFalse: uint8(len(body))},
	}, body...)
}

// assemble makes a block that falls through when the test holds and else ends with the verdict.
func (t test) assemble(otherwise bpf.RetConstant) []bpf.Instruction {
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: offArgs + 8*uint32(t.arg), Size: 4}}
	if t.mask != 0 {
		out = append(out, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
	}
	if t.bits != 0 {
		return append(out, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: t.bits, SkipTrue: 1}, otherwise)
	}
	for i, v := range t.values {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(t.values) - i)})
	}
	return append(out, otherwise)
}

// never are calls nobody needs inside: they trace or read other processes, change the machine or its
// mounts, or reach what the filter and the mounts hide.
func never() []rule {
	numbers := []uintptr{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETNS,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ACCT, unix.SYS_VHANGUP,
	}
	numbers = append(numbers, archNever...)
	out := make([]rule, 0, len(numbers))
	for _, n := range numbers {
		out = append(out, rule{number: n})
	}
	return out
}

// Bits of flags and modes that x/sys has no name for.
const (
	modeSetID = 0o6000     // set-user-id and set-group-id
	openMakes = 0o20000100 // O_CREAT and __O_TMPFILE
	newSpaces = 0x7e020080 // CLONE_NEW* of namespaces: time, mount, cgroup, uts, ipc, user, pid, net
	tiocsti   = 0x5412
	tioclinux = 0x541c
	typeMask  = 0xf // kind of socket, without its flags
	fchmodat2 = 452 // not yet in x/sys for every machine
	noSyscall = uint32(unix.ENOSYS)
)

// conditional are calls refused for some arguments.
func conditional() []rule {
	setID := func(arg int) []test { return []test{{arg: arg, bits: modeSetID}} }
	makes := func(flags, mode int) []test {
		return []test{{arg: flags, bits: openMakes}, {arg: mode, bits: modeSetID}}
	}
	out := []rule{
		{number: unix.SYS_FCHMOD, tests: setID(1)},
		{number: unix.SYS_FCHMODAT, tests: setID(2)},
		{number: fchmodat2, tests: setID(2)},
		{number: unix.SYS_MKDIRAT, tests: setID(2)},
		{number: unix.SYS_MKNODAT, tests: setID(2)},
		{number: unix.SYS_OPENAT, tests: makes(2, 3)},
		{number: unix.SYS_OPENAT2, errno: noSyscall}, // its mode lies in memory, where nobody can look; libraries fall back
		{number: unix.SYS_CLONE3, errno: noSyscall},  // so do its flags
		{number: unix.SYS_CLONE, tests: []test{{arg: 0, bits: newSpaces &^ 0x80}}},
		{number: unix.SYS_UNSHARE, tests: []test{{arg: 0, bits: newSpaces}}},
		{number: unix.SYS_IOCTL, tests: []test{{arg: 1, values: []uint32{tiocsti, tioclinux}}}},
	}
	return append(out, archConditional(setID, makes)...)
}

// families of sockets that reach the kernel, other machines past the proxy, or services of the host.
func families(unixSockets bool) []uint32 {
	out := []uint32{
		unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG, unix.AF_KEY, unix.AF_BLUETOOTH, unix.AF_XDP,
		unix.AF_TIPC, unix.AF_CAN, unix.AF_RDS, unix.AF_NFC, unix.AF_QIPCRTR, unix.AF_IB, unix.AF_PPPOX, unix.AF_LLC, unix.AF_SMC,
	}
	if !unixSockets {
		out = append(out, unix.AF_UNIX)
	}
	return out
}

// Setup is the filter of everything inside, bubblewrap's own init included, but for the calls by
// which the helper makes the file system. What it becomes has [Full] on top.
func Setup(unixSockets bool) ([]byte, error) {
	rules := slices.DeleteFunc(never(), func(r rule) bool { return slices.Contains(mounting(), r.number) })
	return withSockets(append(rules, conditional()...), unixSockets)
}

// mounting are the calls that Setup leaves to the helper.
func mounting() []uintptr {
	return []uintptr{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR}
}

// Full is the filter of the program.
func Full(unixSockets bool) ([]byte, error) {
	return withSockets(append(never(), conditional()...), unixSockets)
}

func withSockets(rules []rule, unixSockets bool) ([]byte, error) {
	rules = append(rules, rule{number: unix.SYS_SOCKET, tests: []test{{arg: 0, values: families(unixSockets)}}})
	return filter(rules)
}

// Partial is the filter where nothing but Landlock stands beside it: the only sockets are those
// for TCP, which Landlock confines to the proxies; without its help, none.
func Partial(tcp bool) ([]byte, error) {
	rules := append(never(), conditional()...)
	if !tcp {
		return filter(append(rules, rule{number: unix.SYS_SOCKET}))
	}
	return filter(append(rules, rule{number: unix.SYS_SOCKET, only: []test{
		{arg: 0, values: []uint32{unix.AF_INET, unix.AF_INET6}},
		{arg: 1, mask: typeMask, values: []uint32{unix.SOCK_STREAM}},
		{arg: 2, values: []uint32{0, unix.IPPROTO_TCP}}, // Landlock does not see multipath TCP
	}}))
}

// Load sets the filter for this thread.
func Load(prog []byte) error {
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
