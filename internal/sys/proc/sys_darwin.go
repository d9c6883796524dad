package proc

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sysProcess is what the system keeps beside a process; nothing here.
type sysProcess struct{}

func adopt(*os.Process) sysProcess { return sysProcess{} }

func terminateSystem([]root) {}

// sysAttr: this system sends no signal at the death of a parent; the watcher and the record do.
func sysAttr(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func becomeReaper() {}

// reaping: orphans go to launchd here.
func reaping() bool { return false }

func reap(<-chan struct{}) {}

func strays() bool { return false }

func endStrays(time.Duration) []Info { return nil }

// table reads all processes (sysctl kern.proc.all).
func table() map[int]row {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	out := make(map[int]row, len(list))
	for i := range list {
		r := rowOf(&list[i])
		out[r.pid] = r
	}
	return out
}

func readRow(pid int) (row, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || k == nil || int(k.Proc.P_pid) != pid {
		return row{}, false
	}
	return rowOf(k), true
}

func rowOf(k *unix.KinfoProc) row {
	const zombie = 5 // SZOMB of <sys/proc.h>
	pid := int(k.Proc.P_pid)
	sid, err := unix.Getsid(pid)
	if err != nil {
		sid = 0
	}
	start := k.Proc.P_starttime
	return row{
		pid: pid, ppid: int(k.Eproc.Ppid), pgrp: int(k.Eproc.Pgid), sid: sid,
		start:  uint64(start.Sec)*1e6 + uint64(start.Usec),
		zombie: k.Proc.P_stat == zombie,
		name:   unix.ByteSliceToString(k.Proc.P_comm[:]),
	}
}

func startTime(pid int) uint64 {
	r, _ := readRow(pid) // gone already: 0, which matches nothing by time
	return r.start
}

// marksOf reads the environment from kern.procargs2: argc, program path, padding, argc arguments,
// then the environment, each ended by a NUL.
func marksOf(pid int) string {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return ""
	}
	for kv := range bytes.SplitSeq(data[4:], []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(MarkerVar+"=")); ok {
			return string(v)
		}
	}
	return ""
}

func nameOf(r row) string { return r.name }

// bootID tells one start of the machine from another.
var bootID = sync.OnceValue(func() string {
	data, err := unix.SysctlRaw("kern.boottime")
	if err != nil || len(data) < 8 {
		return ""
	}
	return strconv.FormatUint(binary.LittleEndian.Uint64(data), 10)
})
