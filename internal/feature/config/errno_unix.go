//go:build !windows

package config

import "syscall"

// errNotDir is what opening x/y gives when x is a file.
const errNotDir = syscall.ENOTDIR
