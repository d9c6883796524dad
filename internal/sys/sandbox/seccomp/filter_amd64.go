//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var archNever = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT}

// archConditional are the older calls that this machine also has.
func archConditional(setID func(int) []test, makes func(int, int) []test) []rule {
	return []rule{
		{number: unix.SYS_CHMOD, tests: setID(1)},
		{number: unix.SYS_MKDIR, tests: setID(1)},
		{number: unix.SYS_MKNOD, tests: setID(1)},
		{number: unix.SYS_CREAT, tests: setID(1)},
		{number: unix.SYS_OPEN, tests: makes(1, 2)},
	}
}
