package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// helperArg is the argument by which [HelperMain] knows that it is meant.
const helperArg = "__proc-watch"

// watcher is the line to a process that outlives us if we are killed, and then ends what we had
// started. The end of its input without a farewell is our death; then it reads the record, and before
// that it never wakes. Lines that could not be recorded come by the input. A nil watcher does nothing.
type watcher struct {
	line *os.File
	proc *os.Process
}

func startWatcher(opts Options, recordPath string) *watcher {
	theirs, ours, err := os.Pipe()
	if err != nil {
		opts.Report(fmt.Errorf("start watcher: %w", err))
		return nil
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		_ = ours.Close()
		opts.Report(fmt.Errorf("start watcher: %w", err))
		return nil
	}
	defer null.Close()
	argv := append(append([]string{}, opts.Watcher...), helperArg, recordPath, opts.Grace.String())
	attr := &os.ProcAttr{Dir: rootDir(), Env: os.Environ(), Files: []*os.File{theirs, null, null}, Sys: sysAttr(true)}
	p, err := children.start(argv[0], argv, attr)
	if err != nil {
		_ = ours.Close()
		opts.Report(fmt.Errorf("start watcher: %w", err))
		return nil
	}
	go func() { // ends with the watcher, which dismiss sends home
		_, _ = p.Wait()
		children.remove(p.Pid)
	}()
	return &watcher{line: ours, proc: p}
}

// rootDir keeps the watcher from holding a folder that somebody wants to remove.
func rootDir() string { return os.TempDir() }

// tell hands on a line. A watcher that does not read for a while is given up.
func (w *watcher) tell(data []byte) {
	if w == nil || w.line == nil {
		return
	}
	_ = w.line.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := w.line.Write(data); err != nil {
		_ = w.line.Close()
		_ = w.proc.Kill()
		w.line = nil
	}
}

func (w *watcher) dismiss() {
	if w == nil || w.line == nil {
		return
	}
	w.tell([]byte(`{"op":"bye"}` + "\n"))
	if w.line != nil {
		_ = w.line.Close()
	}
}

// HelperMain answers when this process was started as the watcher of another (see
// [Options.Watcher]): it then does that work and returns true, and main must exit. It must be
// called before anything else in main and in TestMain of packages that use a watcher.
func HelperMain() (handled bool) {
	at := -1
	for i, a := range os.Args[1:] {
		if a == helperArg {
			at = i + 1
		}
	}
	if at < 0 || len(os.Args) != at+3 {
		return false
	}
	grace, err := time.ParseDuration(os.Args[at+2])
	if err != nil {
		grace = DefaultGrace
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	watch(os.Args[at+1], grace)
	return true
}

// watch returns when the other process says goodbye or is dead and what it left is ended.
func watch(recordPath string, grace time.Duration) {
	lines := scanLines(os.Stdin) // what could not be recorded; it ends with the other process
	for _, l := range lines {
		if l.Op == "bye" {
			return
		}
	}
	if f, err := os.Open(recordPath); err == nil {
		lines = append(scanLines(f), lines...)
		_ = f.Close()
	}
	found, some := leftover("", lines, table())
	if !some {
		_ = os.Remove(recordPath)
		return
	}
	f, err := os.OpenFile(recordPath, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		defer f.Close()
		// The lock tells a next start that the work is being done. A reader holds it for a moment.
		waitFor(time.Second, func() bool {
			free, err := lockFile(f)
			return free || err != nil
		})
	}
	for _, i := range endTrees(found.query, grace) {
		data, merr := json.Marshal(line{Op: "ended", PID: i.PID, Start: i.Start, Label: i.Name})
		if err == nil && merr == nil {
			_, _ = f.Write(append(data, '\n'))
		}
	}
}
