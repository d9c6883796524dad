package bash

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// lookAfter is how often what goes on in the background is looked at: a service's file for its size,
// children left behind for their end.
const lookAfter = 2 * time.Second

// toBackground lets the command go on behind the call and returns the call's result. lead says why,
// when it was not asked for.
func (j *job) toBackground(lead string) (tool.Result, error) {
	if j.file == nil {
		if err := j.capture.Spill(); err != nil {
			j.run.Process.Stop("its output cannot be kept")
			j.script.clean()
			return tool.Failed(fmt.Sprintf("The command was ended, since its output cannot be kept: %v", err)), nil
		}
	}
	if !j.listed {
		if err := j.list(true); err != nil {
			j.run.Process.Stop("it could not be listed")
			return tool.Result{}, err
		}
	} else {
		j.shell.world.Board.Edit(j.id, func(t task.Task) task.Task {
			t.Backgrounded, t.OutputFile = true, j.outputPath()
			return t
		})
	}
	limit := j.limit
	if !j.in.RunInBackground {
		limit = j.lim.BackgroundTimeout
	}
	go j.behind(limit)
	return j.backgroundResult(lead, limit), nil
}

// behind ends with the command, which its owner, its time limit, a stop or too much output end.
func (j *job) behind(limit time.Duration) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	tick := time.NewTicker(lookAfter)
	defer tick.Stop()
	how := ending{}
	exit := proc.Exit{}
	for waiting := true; waiting; {
		select {
		case <-j.run.Process.Done():
			exit, waiting = j.run.Process.Exit(), false
		case <-j.capture.Over():
			how.flooded, waiting = true, false
			exit = j.run.Process.Stop("it printed too much")
		case <-timeout.C:
			if j.kept() {
				continue
			}
			how.timedOut, waiting = true, false
			exit = j.run.Process.Stop("its time was over")
		case <-tick.C:
			if j.file != nil {
				shorten(j.file, fileLimit, proc.DefaultTail)
			}
		}
	}
	note := j.after(exit)
	if note != "" {
		_, _ = io.WriteString(j.sink(), "\n"+note+"\n")
	}
	left := j.run.Process.Left()
	if len(left) == 0 {
		_ = j.capture.Close() // what failed was told when it was spilled
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.script.clean()
	if len(left) > 0 {
		j.keepLeft(left)
	}
	j.tell(exit, how)
}

func (j *job) sink() io.Writer {
	if j.file != nil {
		return j.file
	}
	return j.capture
}

// tell tells the end to the board. The first end wins.
func (j *job) tell(exit proc.Exit, how ending) {
	o := task.Outcome{Status: task.Completed}
	if exit.Stopped == "" || exit.Signal == "" {
		code := exit.Code
		o.ExitCode = &code
	}
	switch {
	case how.timedOut:
		o.Status, o.Error = task.Failed, "its time was over"
	case how.flooded:
		o.Status, o.Error = task.Failed, "it printed too much"
	case exit.Stopped != "":
		o.Status, o.Error = task.Killed, exit.Stopped
	case exit.Code != 0 && (exit.Code != 1 || j.sight.harmlessOne() == ""):
		o.Status, o.Error = task.Failed, exitText(exit)
	}
	j.shell.world.Board.End(j.id, o)
	j.shell.world.Live.Leave(j.id)
	close(j.done)
}

// stopTask ends the command and returns when its end was told.
func (j *job) stopTask(why string) {
	j.run.Process.Stop(why)
	limit := time.NewTimer(2 * time.Second)
	defer limit.Stop()
	select {
	case <-j.done:
	case <-limit.C:
	}
}

// newest is the end of the output.
func (j *job) newest(max int) string {
	if j.file != nil {
		return tailOf(j.file.Name(), max)
	}
	front, end, between := j.capture.Ends(4*max, 4*max)
	return shown{front: front, end: end, between: between}.fit(max/3, max-max/3)
}

func (j *job) outputPath() string { return j.output }

func (j *job) backgroundResult(lead string, limit time.Duration) tool.Result {
	var b strings.Builder
	if lead != "" {
		b.WriteString(lead + "\n")
	}
	fmt.Fprintf(&b, "Running in the background as task %s", j.id)
	if j.in.Service != "" {
		fmt.Fprintf(&b, " (service %s)", j.in.Service)
	}
	fmt.Fprintf(&b, ". Output file: %s\nIt ends after %s at the latest, and with the session.", j.outputPath(), seconds(limit))
	res := j.answer(b.String(), structured{
		BackgroundTaskID:   j.id,
		BackgroundedByUser: strings.Contains(lead, "by the user"),
		TimedOutAfterMS:    timedOutAfter(lead, j.limit),
	})
	if j.notice != "" && j.dir != j.call.Dir() {
		res.Cwd = j.dir
	}
	return res
}

func timedOutAfter(lead string, limit time.Duration) int64 {
	if !strings.HasPrefix(lead, "Command did not complete") {
		return 0
	}
	return limit.Milliseconds()
}

// keepLeft enters what a command left running as a task, so that it is seen and can be stopped, and
// returns what to tell of it.
func (j *job) keepLeft(left []proc.Info) string {
	names := make([]string, 0, 3)
	for _, i := range left[:min(len(left), 3)] {
		names = append(names, oneLine(i.String(), 100))
	}
	if more := len(left) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	id := j.shell.world.NewID()
	done := make(chan struct{})
	_ = j.capture.Spill() // without a file it still can be listed and stopped
	err := j.shell.world.Board.Start(task.Task{
		ID: id, Kind: task.Shell, Description: "left running by: " + oneLine(j.in.Command, 90), OutputFile: j.capture.Path(),
		Backgrounded: true, ToolUseID: j.call.ID, ParentAgentID: j.call.Scope.Agent,
	})
	if err != nil {
		return err.Error()
	}
	stop := make(chan string, 1)
	j.shell.world.Live.Enter(id, task.Control{
		Done: done, Output: j.newest, Command: j.in.Command,
		Stop: func(why string) {
			select {
			case stop <- why:
			default:
			}
			<-done
		},
	})
	go j.attend(id, stop, done)
	return fmt.Sprintf("The command has ended but left running: %s. It is task %s and ends with the session.", strings.Join(names, ", "), id)
}

// attend ends when what was left behind is gone.
func (j *job) attend(id string, stop <-chan string, done chan<- struct{}) {
	tick := time.NewTicker(lookAfter)
	defer tick.Stop()
	outcome := task.Outcome{Status: task.Completed}
	for waiting := true; waiting; {
		select {
		case why := <-stop:
			j.run.Process.Stop(why)
			outcome, waiting = task.Outcome{Status: task.Killed, Error: why}, false
		case <-j.run.Process.OwnerDone():
			outcome, waiting = task.Outcome{Status: task.Killed, Error: "its session has ended"}, false
		case <-tick.C:
			waiting = len(j.run.Process.Left()) > 0
		}
	}
	_ = j.capture.Close() // its file, if any, was complete before
	j.shell.world.Board.End(id, outcome)
	j.shell.world.Live.Leave(id)
	close(done)
}

// serviceFile opens the file that a service writes to itself, so that it can outlive us.
func serviceFile(path string) (*os.File, error) {
	f, err := nolink.NewFile(path, os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("make output file: %w", err)
	}
	return f, nil
}

// shorten keeps the end of a file that has grown over limit. Whoever appends to it goes on at its new
// end; what he writes in this very moment is lost.
func shorten(f *os.File, limit int64, keep int) {
	st, err := f.Stat()
	if err != nil || st.Size() <= limit {
		return
	}
	end := make([]byte, keep)
	n, err := f.ReadAt(end, st.Size()-int64(keep))
	if n == 0 && err != nil {
		return
	}
	if f.Truncate(0) == nil {
		_, _ = fmt.Fprintf(f, "[%d bytes left out here]\n%s", st.Size()-int64(n), end[:n])
	}
}

// tailOf reads the last max characters of a file.
func tailOf(path string, max int) string {
	f, err := nolink.Regular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	size := min(st.Size(), int64(4*max))
	buf := make([]byte, size)
	n, _ := f.ReadAt(buf, st.Size()-size) // what could be read counts
	return shown{end: buf[:n], between: st.Size() - size}.fit(0, max)
}

func (j *job) service() *task.Service {
	if j.in.Service == "" {
		return nil
	}
	id := j.run.Process.Identity()
	return &task.Service{Name: j.in.Service, PID: id.PID, PIDStart: id.Start}
}

// keep lets a service outlive the session.
func (j *job) keep() (task.Service, bool) {
	s := j.service()
	if s == nil || !j.run.Process.Release() {
		return task.Service{}, false
	}
	s.Keep = true
	j.shell.world.Board.Edit(j.id, func(t task.Task) task.Task { t.Service = s; return t })
	return *s, true
}

func (j *job) kept() bool {
	t, ok := j.shell.world.Board.Slice.Get().Tasks.Get(j.id)
	return ok && t.Service != nil && t.Service.Keep
}
