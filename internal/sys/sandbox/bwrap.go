package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/sandbox/mount"
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
	mounts     bool // the helper makes the file system, and gives up its capabilities for that
	nested     bool
	root       bool // the caller is the machine's root, whatever it is called inside
	stays      bool // outlives this process
	exists     func(string) bool
	tmpSize    int64 // of the private /tmp, in bytes
	standIn    func(path string, dir bool, open []string) (string, error)
	helperArgs []string
}

// args is the command line, without the program's name. steps are left to the helper if it makes them.
func (j bwrapJob) args(steps []mount.Step) []string {
	a := []string{"--ro-bind", "/", "/"}
	if j.plan.free || slices.Contains(j.plan.write, "/") {
		a[0] = "--bind"
	}
	if !j.mounts {
		a = append(a, "--dev", "/dev")
	}
	if !j.mounts && j.noUserns && j.tmpSize > 0 { // memory too, and devices alone are written to in the rest
		a = append(a, "--size", strconv.FormatInt(j.tmpSize, 10), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
	}
	if j.nested {
		// A fresh one is refused in many containers. The one that is there shows our own process.
		a = append(a, "--ro-bind", "/proc", "/proc", "--tmpfs", fmt.Sprintf("/proc/%d", os.Getpid()))
	} else {
		a = append(a, "--proc", "/proc")
	}
	helper := j.helper
	if !j.mounts {
		helper = helperInside
		for _, s := range steps {
			a = append(a, mountArgs(s)...)
		}
	}
	a = append(a, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if j.noUserns && !j.mounts { // the helper refuses them in its own way
		a = append(a, "--disable-userns")
	}
	a = append(a, "--cap-drop", "ALL")
	if j.mounts {
		for _, c := range []string{"CAP_SYS_ADMIN", "CAP_SYS_RESOURCE", "CAP_SETPCAP"} {
			a = append(a, "--cap-add", c)
		}
	}
	a = append(a, "--new-session")
	if !j.stays {
		a = append(a, "--die-with-parent")
	}
	dir := j.dir
	if j.mounts {
		dir = "/"
	}
	a = append(a, "--seccomp", strconv.Itoa(j.seccompFD), "--chdir", dir, "--", helper)
	return append(a, j.helperArgs...)
}

// mountArgs are the arguments of bubblewrap for a mount.
func mountArgs(s mount.Step) []string {
	switch s.Kind {
	case mount.Memory:
		if s.Size > 0 {
			return []string{"--size", strconv.FormatInt(s.Size, 10), "--tmpfs", s.Path}
		}
		return []string{"--tmpfs", s.Path}
	case mount.Writable:
		return []string{"--bind", cmp.Or(s.From, s.Path), s.Path}
	}
	return []string{"--ro-bind", cmp.Or(s.From, s.Path), s.Path}
}

// steps are the mounts, in order.
func (j bwrapJob) steps() ([]mount.Step, error) {
	size := j.tmpSize
	if !j.noUserns && !j.mounts {
		size = 0 // an older bubblewrap cannot bound it
	}
	out := []mount.Step{{Kind: mount.Memory, Path: "/run", Size: size / 16}}
	if !j.plan.free {
		out = append(out, mount.Step{Kind: mount.Memory, Path: "/tmp", Size: size})
		for _, path := range append([]string{"/run/current-system"}, j.show...) { // programs of some systems
			if (within(path, "/tmp") || within(path, "/run")) && !j.plan.writable(path) && j.exists(path) {
				out = append(out, mount.Step{Kind: mount.ReadOnly, Path: path})
			}
		}
	}
	self := mount.Step{Kind: mount.ReadOnly, Path: helperInside, From: j.helper}
	if j.mounts {
		self.From = "/proc/self/exe"
	}
	out = append(out, self)
	if !j.plan.free {
		for _, m := range j.plan.mounted {
			s := mount.Step{Kind: m.kind, Path: m.path}
			if m.kind == mount.HiddenDir || m.kind == mount.HiddenFile {
				from, err := j.standIn(m.path, m.kind == mount.HiddenDir, j.plan.ways(m))
				if err != nil {
					return nil, err
				}
				s = mount.Step{Kind: mount.ReadOnly, Path: m.path, From: from}
			}
			if m.path != "/" {
				out = append(out, s)
			}
		}
	}
	return append(out, j.switches()...), nil
}

// switches make the kernel's switches in /proc read-only: for a root caller they would be the machine's.
func (j bwrapJob) switches() []mount.Step {
	if j.nested {
		return nil // all of it is
	}
	paths := []string{"/proc/sys"}
	if j.root { // bubblewrap itself covers irq, bus and sysrq-trigger where they could be written
		paths = append(paths, "/proc/sysrq-trigger", "/proc/fs", "/proc/acpi", "/proc/scsi")
	}
	var out []mount.Step
	for _, p := range paths {
		if j.exists(p) {
			out = append(out, mount.Step{Kind: mount.ReadOnly, Path: p})
		}
	}
	return out
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
