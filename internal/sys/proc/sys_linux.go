package proc

import (
	"bytes"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sysProcess is what the system keeps beside a process; nothing here.
type sysProcess struct{}

func adopt(*os.Process) sysProcess { return sysProcess{} }

func terminateSystem([]root) {}

func sysAttr(keep bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if !keep {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}

var isReaper atomic.Bool

// becomeReaper makes orphans below this process its children. It holds for the whole process.
func becomeReaper() {
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil {
		isReaper.Store(true)
	}
}

// reaping reports that everything started here is a descendant of this process.
func reaping() bool { return isReaper.Load() }

// reap waits for orphans that came to us and have ended. It ends when quit is closed.
func reap(quit <-chan struct{}) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		select {
		case <-quit:
			return
		case <-ended:
		}
		select {
		case <-quit:
			return
		case <-time.After(100 * time.Millisecond): // many children end at once; one look is enough
		}
		reapNow()
	}
}

func reapNow() {
	children.mu.Lock()
	defer children.mu.Unlock()
	for _, r := range orphans() {
		if r.zombie {
			_, _ = unix.Wait4(r.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// orphans returns the children of this process that it did not make: they lead or belong to a
// session other than ours and this package does not know them. Caller holds children.mu.
func orphans() []row {
	self, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var out []row
	for _, pid := range childPIDs() {
		if children.known[pid] {
			continue
		}
		if r, ok := readRow(pid); ok && r.sid != self {
			out = append(out, r)
		}
	}
	return out
}

// strays reports whether an orphan of ours lives.
func strays() bool {
	children.mu.Lock()
	defer children.mu.Unlock()
	for _, r := range orphans() {
		if !r.zombie {
			return true
		}
	}
	return false
}

// endStrays ends every orphan that came to us, and what is below it.
func endStrays(grace time.Duration) []Info {
	var q query
	children.mu.Lock()
	for _, r := range orphans() {
		if !r.zombie {
			q.roots = append(q.roots, root{pid: r.pid, start: r.start})
		}
	}
	children.mu.Unlock()
	if len(q.roots) == 0 {
		return nil
	}
	ended := endTrees(q, grace)
	reapNow()
	return ended
}

// childPIDs lists those children of this process among which orphans are: the kernel gives an orphan
// to the first living thread of its reaper, which is the main one. It keeps a list for each thread;
// where it keeps none, all processes are looked through.
func childPIDs() []int {
	data, err := readProc("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
	if err != nil {
		return childrenByScan()
	}
	var out []int
	for f := range bytes.FieldsSeq(data) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// readProc reads a file the kernel writes on the spot, without the runtime's own steps, which take longer
// than the reading: such a file is read once or twice for each program.
func readProc(path string) ([]byte, error) {
	fd, err := ignoringInterrupts(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	out := make([]byte, 0, 1024)
	for {
		if len(out) == cap(out) {
			out = slices.Grow(out, len(out))
		}
		n, err := ignoringInterrupts(func() (int, error) { return unix.Read(fd, out[len(out):cap(out)]) })
		if n <= 0 || err != nil {
			return out, err
		}
		out = out[:len(out)+n]
	}
}

func ignoringInterrupts(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

func childrenByScan() []int {
	self := os.Getpid()
	var out []int
	for pid, r := range table() {
		if r.ppid == self {
			out = append(out, pid)
		}
	}
	return out
}

// table reads all processes.
func table() map[int]row {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error still counts
	out := make(map[int]row, len(names))
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if r, ok := readRow(pid); ok {
			out[pid] = r
		}
	}
	return out
}

// readRow reads /proc/PID/stat (proc(5)). The name in brackets may hold anything, so the fields are
// counted from the last bracket.
func readRow(pid int) (row, bool) {
	data, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return row{}, false
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return row{}, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 20 {
		return row{}, false
	}
	r := row{pid: pid, name: string(data[open+1 : end]), zombie: f[0] == "Z" || f[0] == "X"}
	var bad error
	num := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			bad = err
		}
		return n
	}
	r.ppid, r.pgrp, r.sid = num(f[1]), num(f[2]), num(f[3])
	r.start, err = strconv.ParseUint(f[19], 10, 64)
	return r, bad == nil && err == nil
}

func startTime(pid int) uint64 {
	r, _ := readRow(pid) // gone already: 0, which matches nothing by time
	return r.start
}

// marksOf reads the marks a process carries; empty when it carries none or may not be looked at.
func marksOf(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(data, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(MarkerVar+"=")); ok {
			return string(v)
		}
	}
	return ""
}

// nameOf is the command line of a process, shortened, or its short name.
func nameOf(r row) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(r.pid) + "/cmdline")
	line := strings.TrimSpace(strings.ToValidUTF8(string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})), "?"))
	if err != nil || line == "" {
		return r.name
	}
	if len([]rune(line)) > 120 {
		line = string([]rune(line)[:119]) + "…"
	}
	return line
}

// bootID tells one start of the machine from another.
var bootID = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
})
