package proc

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// sysProcess is the job object that holds a program and all it starts. The system ends everything
// in it when the last handle is closed, so also when this process dies in any way. A child that the
// program starts in the moment before it is put into its job is outside.
type sysProcess struct {
	once *sync.Once
	job  windows.Handle
}

func adopt(p *os.Process) sysProcess {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return sysProcess{}
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = withHandle(p.Pid, windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, func(h windows.Handle) error {
			return windows.AssignProcessToJobObject(job, h)
		})
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return sysProcess{}
	}
	return sysProcess{once: &sync.Once{}, job: job}
}

func withHandle(pid int, access uint32, do func(windows.Handle) error) error {
	h, err := windows.OpenProcess(access, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return do(h)
}

// terminateSystem ends the job objects of the roots.
func terminateSystem(roots []root) {
	for _, r := range roots {
		if r.sys == nil || r.sys.once == nil {
			kill(r.pid)
			continue
		}
		r.sys.once.Do(func() {
			_ = windows.TerminateJobObject(r.sys.job, 1)
			_ = windows.CloseHandle(r.sys.job)
		})
	}
}

func sysAttr(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func becomeReaper() {}

func reaping() bool { return false }

func reap(<-chan struct{}) {}

func strays() bool { return false }

func endStrays(time.Duration) []Info { return nil }

// table reads all processes. There are no sessions or groups here in the sense of this package, and
// environments of others cannot be read: jobs do that work.
func table() map[int]row {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = windows.CloseHandle(snap) }()
	out := map[int]row{}
	e := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snap, &e); err == nil; err = windows.Process32Next(snap, &e) {
		pid := int(e.ProcessID)
		out[pid] = row{
			pid: pid, ppid: int(e.ParentProcessID), start: startTime(pid),
			name: windows.UTF16ToString(e.ExeFile[:]),
		}
	}
	return out
}

func readRow(pid int) (row, bool) {
	r, ok := table()[pid]
	return r, ok
}

func startTime(pid int) uint64 {
	var created, exited, kernel, user windows.Filetime
	err := withHandle(pid, windows.PROCESS_QUERY_LIMITED_INFORMATION, func(h windows.Handle) error {
		return windows.GetProcessTimes(h, &created, &exited, &kernel, &user)
	})
	if err != nil {
		return 0
	}
	return uint64(created.Nanoseconds())
}

func marksOf(int) string { return "" }

func nameOf(r row) string { return r.name }

// bootID: KILL_ON_JOB_CLOSE leaves nothing behind, so identities need no start of the machine.
func bootID() string { return "windows" }

// readNow: pipes cannot be asked without waiting here.
func readNow(uintptr, []byte) int { return 0 }

// terminate: there is no polite signal for a program without a window.
func terminate(int) {}

func kill(pid int) {
	_ = withHandle(pid, windows.PROCESS_TERMINATE, func(h windows.Handle) error {
		return windows.TerminateProcess(h, 1)
	})
}

func anyAlive(rows []row) bool {
	for _, r := range rows {
		if s := startTime(r.pid); s != 0 && s == r.start {
			return true
		}
	}
	return false
}

func groupAlive(int) bool { return false }

func signalGroup(p *Process, sig os.Signal) error {
	if sig != os.Kill {
		return fmt.Errorf("signal %v to %s: this system has no such signal", sig, p.id)
	}
	terminateSystem([]root{p.root()})
	return nil
}

func exitOf(state *os.ProcessState, err error) Exit {
	if err != nil {
		return Exit{Code: -1, Signal: err.Error()}
	}
	return Exit{Code: state.ExitCode()}
}

func lockFile(f *os.File) (bool, error) {
	ol := new(windows.Overlapped)
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, ol)
	if err == windows.ERROR_LOCK_VIOLATION {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s (%s): %w", f.Name(), strconv.Itoa(os.Getpid()), err)
	}
	return true, nil
}
