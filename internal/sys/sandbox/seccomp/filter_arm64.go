//go:build linux

package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var archNever []uintptr

// archConditional: this machine has none of the older calls.
func archConditional(func(int) []test, func(int, int) []test) []rule { return nil }
