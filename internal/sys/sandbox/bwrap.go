package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// helperInside is where the helper lies in the sandbox: on the empty /run, so that no rule hides it.
const helperInside = "/run/myelin-sandbox"

// bwrapJob is what the command line of bubblewrap is made of.
type bwrapJob struct {
	plan       *plan
	dir        string // working directory
	show       []string
	helper     string // outside
	seccompFD  int
	noUserns   bool // the version knows --disable-userns
	nested     bool
	root       bool // the caller is the machine's root, whatever it is called inside
	stays      bool // outlives this process
	exists     func(string) bool
	helperArgs []string
}

// args is the command line, without the program's name. Mounts come in order: later ones lie on top.
func (j bwrapJob) args() []string {
	a := []string{"--ro-bind", "/", "/"}
	if j.plan.free || slices.Contains(j.plan.write, "/") {
		a[0] = "--bind"
	}
	a = append(a, "--dev", "/dev")
	a = append(a, j.procArgs()...)
	if !j.plan.free {
		a = append(a, "--tmpfs", "/run", "--tmpfs", "/tmp")
		for _, dir := range []string{"/run/current-system"} { // programs of some systems
			if j.exists(dir) {
				a = append(a, "--ro-bind", dir, dir)
			}
		}
	}
	a = append(a, j.fileArgs()...)
	if j.plan.free {
		a = append(a, "--tmpfs", "/run")
	}
	a = append(a, "--ro-bind", j.helper, helperInside)
	a = append(a, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if j.noUserns {
		a = append(a, "--disable-userns")
	}
	a = append(a, "--cap-drop", "ALL", "--new-session")
	if !j.stays {
		a = append(a, "--die-with-parent")
	}
	a = append(a, "--seccomp", strconv.Itoa(j.seccompFD), "--chdir", j.dir, "--", helperInside)
	return append(a, j.helperArgs...)
}

// procArgs mount a /proc of the sandbox's own, whose switches of the kernel are read-only: for a root
// caller they would be the machine's.
func (j bwrapJob) procArgs() []string {
	if j.nested {
		// A fresh one is refused in many containers. The one that is there shows our own process.
		return []string{"--ro-bind", "/proc", "/proc", "--tmpfs", fmt.Sprintf("/proc/%d", os.Getpid())}
	}
	a := []string{"--proc", "/proc"}
	switches := []string{"/proc/sys"}
	if j.root { // bubblewrap itself covers irq, bus and sysrq-trigger where they could be written
		switches = append(switches, "/proc/sysrq-trigger", "/proc/fs", "/proc/acpi", "/proc/scsi")
	}
	for _, p := range switches {
		if j.exists(p) {
			a = append(a, "--ro-bind", p, p)
		}
	}
	return a
}

// fileArgs are the mounts of the plan.
func (j bwrapJob) fileArgs() []string {
	if j.plan.free {
		return nil
	}
	var a, seal []string
	for _, path := range j.show {
		if (within(path, "/tmp") || within(path, "/run")) && !j.plan.writable(path) && j.exists(path) {
			a = append(a, "--ro-bind", path, path)
		}
	}
	for _, m := range j.plan.mounts() {
		switch m.kind {
		case bindRW:
			if m.path != "/" {
				a = append(a, "--bind", m.path, m.path)
			}
		case bindRO:
			a = append(a, "--ro-bind", m.path, m.path)
		case emptyDir:
			a = append(a, "--tmpfs", m.path)
			seal = append(seal, "--remount-ro", m.path)
		case nothing:
			a = append(a, "--ro-bind", "/dev/null", m.path)
		}
	}
	return append(a, seal...)
}

// version reads "bubblewrap 0.8.0"; not readable: 0.
func version(text string) (major, minor int) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return 0, 0
	}
	parts := strings.Split(f[1], ".")
	if len(parts) < 2 {
		return 0, 0
	}
	major, _ = strconv.Atoi(parts[0]) // not a number: 0, the oldest
	minor, _ = strconv.Atoi(parts[1])
	return major, minor
}
